/* Plots for a terminal: curves of braille dots, eight per character, each in its color. Without
 * colors to distinguish several curves, or in ASCII mode, each curve has its own character. */
#include "render/plot.h"

#include "base/arena.h"
#include "render/terminal.h"

#include <math.h>
#include <stdio.h>

enum { ROWS = 14, GUTTER = 8, BRAILLE = 0x2800, MAX_COLUMNS = 120 };

/* Colors that color-blind readers can distinguish (Okabe and Ito), nearest of 256. */
static const int colors[ATT_PLOT_CURVES] = { 208, 39, 36, 175, 227, 25, 166, 250 };
static const char curve_characters[ATT_PLOT_CURVES + 1] = "*o+x#%@&";

typedef struct canvas_cell {
    uint8_t dots;  /* bits of the braille pattern */
    uint8_t curve; /* number of its curve, from 1; 0: empty */
} canvas_cell;

typedef struct canvas {
    const att_terminal *terminal;
    const att_plot *plot;
    att_decades decades;
    bool braille;
    int columns;
    int dots_across, dots_down; /* dots per cell */
    canvas_cell *cells;         /* [ROWS, columns] */
} canvas;

static void set_dot(canvas *at, int x, int y, size_t curve)
{
    static const uint8_t bits[4][2] = {
        { 0x01, 0x08 }, { 0x02, 0x10 }, { 0x04, 0x20 }, { 0x40, 0x80 }
    };
    int column = x / at->dots_across, row = y / at->dots_down;
    if (column < 0 || column >= at->columns || row < 0 || row >= ROWS)
        return;
    canvas_cell *here = &at->cells[row * at->columns + column];
    if (here->curve != curve + 1)
        *here = (canvas_cell){ .curve = (uint8_t)(curve + 1) };
    here->dots |= bits[y % at->dots_down][x % at->dots_across];
}

static int dot_row(const canvas *at, double height)
{
    int last = ROWS * at->dots_down - 1;
    return last - (int)lround(height * last);
}

/* A column of dots from the previous row to this one, so that steep curves have no gaps. */
static void draw_column(canvas *at, int x, int before, int row, size_t curve)
{
    int step = row > before ? 1 : -1;
    for (int y = before == row ? row : before + step; y != row; y += step)
        set_dot(at, x, y, curve);
    set_dot(at, x, row, curve);
}

static void draw_curve(canvas *at, size_t curve)
{
    enum { NO_ROW = -1 };
    int width = at->columns * at->dots_across, before = NO_ROW;
    for (int x = 0; x < width; x++) {
        int64_t place = att_plot_index(at->plot, (double)x / (width > 1 ? width - 1 : 1));
        double height = att_plot_height(&at->decades, at->plot->curves[curve].values[place]);
        if (!(height >= 0)) {
            before = NO_ROW;
            continue;
        }
        int row = dot_row(at, height);
        draw_column(at, x, before == NO_ROW || !at->braille ? row : before, row, curve);
        before = row;
    }
}

static void put_color(const canvas *at, size_t curve)
{
    if (at->terminal->color != ATT_COLOR_NONE)
        att_putf(at->terminal->out, "\033[38;5;%dm", colors[curve]);
}

static void put_cell(const canvas *at, const canvas_cell *here)
{
    att_writer *out = at->terminal->out;
    if (here->curve == 0) {
        att_put(out, " ");
        return;
    }
    put_color(at, (size_t)here->curve - 1);
    if (at->braille)
        att_put_char(out, BRAILLE + here->dots);
    else
        att_put_char(out, (uint32_t)curve_characters[here->curve - 1]);
    att_terminal_style(at->terminal, ATT_STYLE_NONE);
}

/* "1e-03" beside the rows of powers of ten. */
static void put_gutter(const canvas *at, int row)
{
    const att_decades *scale = &at->decades;
    char label[GUTTER] = "";
    for (int power = scale->high; power >= scale->low; power -= scale->step) {
        double height = (double)(power - scale->low) / (scale->high - scale->low);
        if (dot_row(at, height) / at->dots_down == row)
            snprintf(label, sizeof label, "1e%+03d", power);
    }
    att_terminal_style(at->terminal, ATT_STYLE_DIM);
    att_terminal_right(at->terminal, label, GUTTER - 2);
    att_put(at->terminal->out,
            label[0] ? (at->terminal->ascii ? " +" : " ┤") : (at->terminal->ascii ? " |" : " │"));
    att_terminal_style(at->terminal, ATT_STYLE_NONE);
}

static void put_axis(const canvas *at)
{
    att_writer *out = at->terminal->out;
    char last[32];
    int length = snprintf(last, sizeof last, "%lld", (long long)at->plot->count);
    att_terminal_style(at->terminal, ATT_STYLE_DIM);
    att_put_repeat(out, " ", GUTTER - 1);
    att_put(out, at->terminal->ascii ? "+" : "└");
    att_put_repeat(out, at->terminal->ascii ? "-" : "─", at->columns);
    att_put(out, "\n");
    att_put_repeat(out, " ", GUTTER);
    att_put(out, "1");
    att_terminal_centered(at->terminal, at->plot->x_label, at->columns - 1 - length);
    att_put(out, last);
    att_terminal_style(at->terminal, ATT_STYLE_NONE);
    att_put(out, "\n");
}

static void put_legend(const canvas *at)
{
    att_writer *out = at->terminal->out;
    for (size_t c = 0; c < at->plot->curve_count; c++) {
        att_put_repeat(out, " ", GUTTER);
        put_color(at, c);
        if (at->braille)
            att_put(out, "⠤⠤");
        else
            att_putf(out, "%c%c", curve_characters[c], curve_characters[c]);
        att_terminal_style(at->terminal, ATT_STYLE_NONE);
        att_put(out, " ");
        att_put_plain(out, at->plot->curves[c].name);
        att_put(out, "\n");
    }
}

static void put_all(canvas *at)
{
    const att_terminal *terminal = at->terminal;
    for (size_t c = 0; c < at->plot->curve_count; c++)
        draw_curve(at, c);
    if (at->plot->title) {
        att_terminal_style(terminal, ATT_STYLE_BOLD);
        att_put_plain(terminal->out, at->plot->title);
        att_terminal_style(terminal, ATT_STYLE_NONE);
        att_put(terminal->out, "\n");
    }
    att_put_plain(terminal->out, at->plot->y_label);
    att_put(terminal->out, "\n");
    for (int row = 0; row < ROWS; row++) {
        put_gutter(at, row);
        for (int c = 0; c < at->columns; c++)
            put_cell(at, &at->cells[row * at->columns + c]);
        att_terminal_end_line(terminal);
    }
    put_axis(at);
    put_legend(at);
}

att_status att_plot_text(att_string *text, const att_plot *plot, const att_render_options *options,
                         att_error *err)
{
    att_arena arena = { 0 };
    att_writer out = att_writer_on(text);
    const att_terminal terminal = att_terminal_for(&out, options);
    int columns = (terminal.width < MAX_COLUMNS ? terminal.width : MAX_COLUMNS) - GUTTER;
    bool braille = !terminal.ascii && (plot->curve_count == 1 || terminal.color != ATT_COLOR_NONE);
    canvas at = { .terminal = &terminal,
                  .plot = plot,
                  .decades = att_plot_decades(plot),
                  .braille = braille,
                  .columns = columns,
                  .dots_across = braille ? 2 : 1,
                  .dots_down = braille ? 4 : 1,
                  .cells = att_arena_alloc(&arena, ROWS * (size_t)columns, sizeof(canvas_cell)) };
    if (at.cells)
        put_all(&at);
    else
        out.status = ATT_NO_MEMORY;
    att_arena_free(&arena);
    return att_writer_finish(&out, err);
}
