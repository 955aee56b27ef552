/* Plots for a terminal: curves of dots, eight to a character (braille), each in its colour. Where
 * there are no colours to tell several apart, or nothing but ASCII, a curve is drawn with a
 * character of its own. */
#include "render/plot.h"

#include "base/arena.h"
#include "render/paint.h"

#include <math.h>
#include <stdio.h>

enum { ROWS = 14, GUTTER = 8, BRAILLE = 0x2800, MOST_COLUMNS = 120 };

/* Colours that stay apart for colour-blind eyes (Okabe and Ito), nearest of 256. */
static const int colours[ATT_PLOT_CURVES] = { 208, 39, 36, 175, 227, 25, 166, 250 };
static const char letters[ATT_PLOT_CURVES + 1] = "*o+x#%@&";

typedef struct cell {
    uint8_t dots;  /* of braille */
    uint8_t curve; /* that it belongs to, from 1; 0: none */
} cell;

typedef struct canvas {
    const att_paint *paint;
    const att_plot *plot;
    att_decades decades;
    bool braille;
    int columns;
    int across, down; /* dots to a cell */
    cell *cells;      /* [ROWS, columns] */
} canvas;

static void set_dot(canvas *at, int x, int y, size_t curve)
{
    static const uint8_t bits[4][2] = {
        { 0x01, 0x08 }, { 0x02, 0x10 }, { 0x04, 0x20 }, { 0x40, 0x80 }
    };
    int column = x / at->across, row = y / at->down;
    if (column < 0 || column >= at->columns || row < 0 || row >= ROWS)
        return;
    cell *here = &at->cells[row * at->columns + column];
    if (here->curve != curve + 1)
        *here = (cell){ .curve = (uint8_t)(curve + 1) };
    here->dots |= bits[y % at->down][x % at->across];
}

static int dot_row(const canvas *at, double height)
{
    int last = ROWS * at->down - 1;
    return last - (int)lround(height * last);
}

/* A column of dots from the row before to this one, so that steep curves have no gaps. */
static void draw_column(canvas *at, int x, int before, int row, size_t curve)
{
    int step = row > before ? 1 : -1;
    for (int y = before == row ? row : before + step; y != row; y += step)
        set_dot(at, x, y, curve);
    set_dot(at, x, row, curve);
}

static void draw_curve(canvas *at, size_t curve)
{
    enum { NOWHERE = -1 };
    int width = at->columns * at->across, before = NOWHERE;
    for (int x = 0; x < width; x++) {
        int64_t place = att_plot_place(at->plot, (double)x / (width > 1 ? width - 1 : 1));
        double height = att_plot_height(&at->decades, at->plot->curves[curve].values[place]);
        if (!(height >= 0)) {
            before = NOWHERE;
            continue;
        }
        int row = dot_row(at, height);
        draw_column(at, x, before == NOWHERE || !at->braille ? row : before, row, curve);
        before = row;
    }
}

static void put_colour(const canvas *at, size_t curve)
{
    if (at->paint->colour != ATT_COLOUR_NONE)
        att_putf(at->paint->out, "\033[38;5;%dm", colours[curve]);
}

static void put_sign(const canvas *at, const cell *here)
{
    att_writer *out = at->paint->out;
    if (here->curve == 0) {
        att_put(out, " ");
        return;
    }
    put_colour(at, (size_t)here->curve - 1);
    if (at->braille)
        att_put_char(out, BRAILLE + here->dots);
    else
        att_put_char(out, (uint32_t)letters[here->curve - 1]);
    att_paint_style(at->paint, ATT_STYLE_NONE);
}

/* "1e-03" beside the rows where a power of ten is. */
static void put_gutter(const canvas *at, int row)
{
    const att_decades *scale = &at->decades;
    char label[GUTTER] = "";
    for (int power = scale->high; power >= scale->low; power -= scale->step) {
        double height = (double)(power - scale->low) / (scale->high - scale->low);
        if (dot_row(at, height) / at->down == row)
            snprintf(label, sizeof label, "1e%+03d", power);
    }
    att_paint_style(at->paint, ATT_STYLE_DIM);
    att_paint_right(at->paint, label, GUTTER - 2);
    att_put(at->paint->out,
            label[0] ? (at->paint->ascii ? " +" : " ┤") : (at->paint->ascii ? " |" : " │"));
    att_paint_style(at->paint, ATT_STYLE_NONE);
}

static void put_foot(const canvas *at)
{
    att_writer *out = at->paint->out;
    char last[32];
    int length = snprintf(last, sizeof last, "%lld", (long long)at->plot->count);
    att_paint_style(at->paint, ATT_STYLE_DIM);
    att_put_repeat(out, " ", GUTTER - 1);
    att_put(out, at->paint->ascii ? "+" : "└");
    att_put_repeat(out, at->paint->ascii ? "-" : "─", at->columns);
    att_put(out, "\n");
    att_put_repeat(out, " ", GUTTER);
    att_put(out, "1");
    att_paint_centred(at->paint, at->plot->across, at->columns - 1 - length);
    att_put(out, last);
    att_paint_style(at->paint, ATT_STYLE_NONE);
    att_put(out, "\n");
}

static void put_legend(const canvas *at)
{
    att_writer *out = at->paint->out;
    for (size_t c = 0; c < at->plot->curve_count; c++) {
        att_put_repeat(out, " ", GUTTER);
        put_colour(at, c);
        if (at->braille)
            att_put(out, "⠤⠤");
        else
            att_putf(out, "%c%c", letters[c], letters[c]);
        att_paint_style(at->paint, ATT_STYLE_NONE);
        att_put(out, " ");
        att_put_plain(out, at->plot->curves[c].name);
        att_put(out, "\n");
    }
}

static void put_all(canvas *at)
{
    const att_paint *paint = at->paint;
    for (size_t c = 0; c < at->plot->curve_count; c++)
        draw_curve(at, c);
    if (at->plot->title) {
        att_paint_style(paint, ATT_STYLE_BOLD);
        att_put_plain(paint->out, at->plot->title);
        att_paint_style(paint, ATT_STYLE_NONE);
        att_put(paint->out, "\n");
    }
    att_put_plain(paint->out, at->plot->up);
    att_put(paint->out, "\n");
    for (int row = 0; row < ROWS; row++) {
        put_gutter(at, row);
        for (int c = 0; c < at->columns; c++)
            put_sign(at, &at->cells[row * at->columns + c]);
        att_paint_end_line(paint);
    }
    put_foot(at);
    put_legend(at);
}

att_status att_plot_text(att_text *text, const att_plot *plot, const att_render_options *options,
                         att_error *err)
{
    att_arena arena = { 0 };
    att_writer out = att_writer_on(text);
    const att_paint paint = att_paint_on(&out, options);
    int columns = (paint.width < MOST_COLUMNS ? paint.width : MOST_COLUMNS) - GUTTER;
    bool braille = !paint.ascii && (plot->curve_count == 1 || paint.colour != ATT_COLOUR_NONE);
    canvas at = { .paint = &paint,
                  .plot = plot,
                  .decades = att_plot_decades(plot),
                  .braille = braille,
                  .columns = columns,
                  .across = braille ? 2 : 1,
                  .down = braille ? 4 : 1,
                  .cells = att_arena_take(&arena, ROWS * (size_t)columns, sizeof(cell)) };
    if (at.cells)
        put_all(&at);
    else
        out.status = ATT_NO_MEMORY;
    att_arena_free(&arena);
    return att_writer_finish(&out, err);
}
