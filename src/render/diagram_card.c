/* Cards: measuring and drawing them. */
#include "render/diagram_card.h"

#include "base/minmax.h"
#include "base/string.h"
#include "render/formula.h"
#include "text/display_width.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    CELL_HEIGHT = 15,
    MAX_CELLS_DOWN = 4,
    MAX_CELLS_ACROSS = 6,
    MAX_FORMULA = 30, /* columns of a formula */
};

static const struct card_colors {
    att_rgb fill, stroke;
} colors[] = {
    [ATT_CARD_GIVEN] = { { 0xf3, 0xf4, 0xf6 }, { 0x9a, 0xa3, 0xaf } },
    [ATT_CARD_RESULT] = { { 0xea, 0xf2, 0xfb }, { 0x2f, 0x6f, 0xb2 } },
    [ATT_CARD_QUERY] = { { 0xfd, 0xe8, 0xd7 }, { 0xc4, 0x6a, 0x1b } },
    [ATT_CARD_KEY] = { { 0xe2, 0xf3, 0xe6 }, { 0x2e, 0x86, 0x4b } },
    [ATT_CARD_VALUE] = { { 0xf0, 0xe7, 0xf7 }, { 0x7d, 0x4b, 0xa3 } },
};

static const att_rgb ink = { 0x1a, 0x1a, 0x1a }, gray = { 0x5b, 0x64, 0x70 },
                     block_fill = { 0xfc, 0xfb, 0xf7 }, block_stroke = { 0xb5, 0xa2, 0x6d },
                     masked_fill = { 0xe3, 0xe5, 0xe8 };

/* ---------------------------------------------------------------- a card: text and numbers */

static bool has_numbers(const att_matrix *m)
{
    return m && m->rows > 0 && m->cols > 0 && m->rows <= MAX_CELLS_DOWN &&
           m->cols <= MAX_CELLS_ACROSS;
}

/* Round-off beside larger numbers is shown as zero. */
static double shown_value(const att_matrix *m, int64_t i)
{
    double largest = 0;
    for (int64_t j = 0; j < m->rows * m->cols; j++)
        if (isfinite(m->data[j]))
            largest = fmax(largest, fabs(m->data[j]));
    return fabs(m->data[i]) < 1e-12 * largest ? 0 : m->data[i];
}

static void print_cell(char text[ATT_NUMBER_SIZE], const att_card *c, int64_t i)
{
    if (c->numbers->allowed && !c->numbers->allowed[i])
        snprintf(text, ATT_NUMBER_SIZE, "\xC2\xB7"); /* a masked pair */
    else
        att_number_print(text, shown_value(c->numbers, i), c->format);
}

void att_card_measure(att_card *c)
{
    int64_t width =
        att_max_i64(att_diagram_text_width(c->title, ATT_CARD_TITLE) + 8,
                    c->note && c->note[0] ? att_diagram_text_width(c->note, ATT_CARD_SMALL) : 0);
    c->height = ATT_CARD_PADDING + ATT_CARD_LINE + (c->note && c->note[0] ? ATT_CARD_LINE : 0);
    c->numbers = has_numbers(c->numbers) ? c->numbers : NULL;
    if (c->numbers) {
        const att_matrix *m = c->numbers;
        char text[ATT_NUMBER_SIZE];
        c->format = att_number_choose(m->data, m->allowed, m->rows * m->cols, 2);
        for (int64_t i = 0; i < m->rows * m->cols; i++) {
            print_cell(text, c, i);
            c->cell_width =
                att_max_i64(c->cell_width, att_diagram_text_width(text, ATT_CARD_CELL) + 8);
        }
        width = att_max_i64(width, m->cols * c->cell_width);
        c->height += m->rows * CELL_HEIGHT + 4;
    }
    c->width = (width + 2 * ATT_CARD_PADDING + 1) / 2 * 2;
    c->height += 2;
}

static void draw_cells(att_canvas *canvas, const att_card *c, int64_t top)
{
    const att_matrix *m = c->numbers;
    int64_t left = c->x + (c->width - m->cols * c->cell_width) / 2;
    for (int64_t i = 0; i < m->rows * m->cols; i++) {
        char text[ATT_NUMBER_SIZE];
        int64_t x = left + i % m->cols * c->cell_width, y = top + i / m->cols * CELL_HEIGHT;
        const att_color_scale scale = { 0, 1, false };
        bool masked = m->allowed && !m->allowed[i];
        bool colored = c->heat && !masked && isfinite(m->data[i]);
        att_rgb color = masked ? masked_fill : (att_rgb){ 0xff, 0xff, 0xff };
        if (colored)
            color =
                att_colormap_color(ATT_COLORMAP_PAPER, att_color_scale_level(&scale, m->data[i]));
        bool dark = colored && att_rgb_is_dark(color);
        print_cell(text, c, i);
        const char *copy = att_arena_strndup(canvas->arena, text, strlen(text));
        att_canvas_add(canvas, &(att_canvas_shape){ .kind = ATT_SHAPE_BOX,
                                                    .x = x,
                                                    .y = y,
                                                    .width = c->cell_width - 1,
                                                    .height = CELL_HEIGHT - 1,
                                                    .fill = color,
                                                    .square = true });
        att_canvas_text(canvas, x + c->cell_width / 2, y + CELL_HEIGHT - 4, ATT_CARD_CELL, false,
                        dark ? (att_rgb){ 0xff, 0xff, 0xff } : ink, copy);
    }
}

void att_card_draw(att_canvas *canvas, const att_card *c)
{
    canvas->failed = canvas->failed || c->broken;
    int64_t middle = c->x + c->width / 2, y = c->y + ATT_CARD_PADDING / 2 + ATT_CARD_TITLE;
    att_canvas_add(canvas, &(att_canvas_shape){ .kind = ATT_SHAPE_BOX,
                                                .x = c->x,
                                                .y = c->y,
                                                .width = c->width,
                                                .height = c->height,
                                                .fill = colors[c->color].fill,
                                                .stroke = colors[c->color].stroke,
                                                .dashed = c->dashed });
    att_canvas_text(canvas, middle, y, ATT_CARD_TITLE, true, ink, c->title);
    if (c->note && c->note[0])
        att_canvas_text(canvas, middle, y += ATT_CARD_LINE, ATT_CARD_SMALL, false, gray, c->note);
    if (c->numbers)
        draw_cells(canvas, c, y + 7);
}

/* ---------------------------------------------------------------- texts */

static const char *shape_of(att_arena *arena, const att_matrix *m)
{
    if (!m || (m->rows == 1 && m->cols == 1))
        return "";
    return att_arena_printf(arena, "%" PRId64 " × %" PRId64, m->rows, m->cols);
}

/* The formula on one line, cut if it is long; NULL when memory is out. */
const char *att_card_formula(att_arena *arena, const att_expr *formula)
{
    att_string text = { 0 };
    att_writer out = att_writer_on(&text);
    att_put_formula(&out, formula, &att_notation_unicode, 2);
    const char *copy = NULL;
    if (out.status == ATT_OK && text.data) {
        bool fits = att_display_width(text.data) <= MAX_FORMULA;
        size_t length = fits ? text.length : att_display_width_fit(text.data, MAX_FORMULA - 1);
        copy = att_arena_printf(arena, "%.*s%s", (int)length, text.data, fits ? "" : "…");
    }
    att_string_free(&text);
    return copy;
}

/* "formula, 3 × 4", or one of both. */
const char *att_card_note(att_arena *arena, const char *formula, const att_matrix *m)
{
    const char *shape = shape_of(arena, m);
    if (!shape || !formula || !shape[0])
        return shape && formula ? formula : shape;
    return att_arena_printf(arena, "%s, %s", formula, shape);
}

/* ---------------------------------------------------------------- shared by blocks */

void att_card_set_port(att_diagram_node *node, size_t port, const att_card *c)
{
    node->ports[port] = (att_diagram_port){ c->x + c->width / 2, c->y, c->width };
    if (port >= node->port_count)
        node->port_count = port + 1;
}

/* A frame around the picture, drawn before it. */
void att_card_draw_frame(att_diagram_node *node, const char *title)
{
    att_canvas *canvas = &node->picture;
    att_canvas_add(canvas, &(att_canvas_shape){ .kind = ATT_SHAPE_BOX,
                                                .width = node->width,
                                                .height = node->height,
                                                .fill = block_fill,
                                                .stroke = block_stroke,
                                                .dashed = true });
    att_canvas_add(canvas, &(att_canvas_shape){ .kind = ATT_SHAPE_TEXT,
                                                .x = ATT_CARD_PADDING,
                                                .y = node->height - 9,
                                                .size = ATT_CARD_TITLE,
                                                .bold = true,
                                                .stroke = ink,
                                                .anchor = ATT_TEXT_START,
                                                .text = title });
}

void att_card_arrow(att_canvas *canvas, int64_t x0, int64_t y0, int64_t x1, int64_t y1)
{
    att_canvas_arrow(canvas, (att_point[]){ { x0, y0 }, { x1, y1 } }, 2, x0 != x1, false);
}

int64_t att_card_middle(const att_card *c)
{
    return c->x + c->width / 2;
}

int64_t att_card_foot(const att_card *c)
{
    return c->y + c->height;
}
