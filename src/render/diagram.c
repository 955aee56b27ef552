/* Diagrams: the canvas, the arrows between nodes, and the public call. */
#include "render/diagram.h"

#include "base/minmax.h"
#include "text/display_width.h"

#include <string.h>

/* ---- The canvas */

void att_canvas_add(att_canvas *canvas, const att_canvas_shape *shape)
{
    void *shapes = canvas->shapes;
    if (canvas->failed || !att_arena_array_grow(canvas->arena, &shapes, &canvas->capacity,
                                                canvas->count, sizeof *shape)) {
        canvas->failed = true;
        return;
    }
    canvas->shapes = shapes;
    canvas->shapes[canvas->count++] = *shape;
}

void att_canvas_text(att_canvas *canvas, int64_t x, int64_t y, int size, bool bold, att_rgb color,
                     const char *text)
{
    canvas->failed = canvas->failed || !text;
    att_canvas_add(canvas, &(att_canvas_shape){ .kind = ATT_SHAPE_TEXT,
                                                .x = x,
                                                .y = y,
                                                .size = size,
                                                .bold = bold,
                                                .stroke = color,
                                                .text = text });
}

void att_canvas_arrow(att_canvas *canvas, const att_point *points, size_t count, bool curved,
                      bool dashed)
{
    att_point *copy = att_arena_alloc(canvas->arena, count, sizeof *copy);
    canvas->failed = canvas->failed || !copy;
    if (copy)
        memcpy(copy, points, count * sizeof *copy);
    att_canvas_add(canvas, &(att_canvas_shape){ .kind = ATT_SHAPE_LINE,
                                                .points = copy,
                                                .point_count = count,
                                                .curved = curved,
                                                .dashed = dashed });
}

/* A letter is about 0.62 as wide as the font is high. */
int64_t att_diagram_text_width(const char *text, int size)
{
    return ((int64_t)att_display_width(text) * size * 62 + 99) / 100;
}

/* ---- Drawing */

static void draw_node(att_canvas *canvas, const att_diagram_node *node)
{
    for (size_t i = 0; i < node->picture.count; i++) {
        att_canvas_shape shape = node->picture.shapes[i];
        shape.x += node->x;
        shape.y += node->y;
        if (shape.kind == ATT_SHAPE_LINE) {
            att_point *points = att_arena_alloc(canvas->arena, shape.point_count, sizeof *points);
            canvas->failed = canvas->failed || !points;
            for (size_t p = 0; points && p < shape.point_count; p++)
                points[p] = (att_point){ shape.points[p].x + node->x, shape.points[p].y + node->y };
            shape.points = points;
        }
        att_canvas_add(canvas, &shape);
    }
}

/* The part that an arrow takes is named at its end, where arrows stand apart. */
static void draw_edge(att_canvas *canvas, const att_diagram_edge *edge)
{
    static const att_rgb gray = { 0x5b, 0x64, 0x70 };
    att_canvas_arrow(canvas, edge->path, edge->path_length, true, false);
    if (!edge->part || edge->side == 0)
        return;
    att_point end = edge->path[edge->path_length - 1];
    int64_t width = att_diagram_text_width(edge->part, 10);
    att_canvas_add(canvas, &(att_canvas_shape){ .kind = ATT_SHAPE_BOX,
                                                .x = edge->side > 0 ? end.x + 4 : end.x - 5 - width,
                                                .y = end.y - 18,
                                                .width = width + 1,
                                                .height = 11,
                                                .fill = { 0xff, 0xff, 0xff },
                                                .square = true });
    att_canvas_add(canvas,
                   &(att_canvas_shape){ .kind = ATT_SHAPE_TEXT,
                                        .x = end.x + 5 * edge->side,
                                        .y = end.y - 9,
                                        .size = 10,
                                        .stroke = gray,
                                        .anchor = edge->side > 0 ? ATT_TEXT_START : ATT_TEXT_END,
                                        .text = edge->part });
}

att_status att_diagram_draw(att_diagram *diagram, att_canvas *canvas)
{
    for (size_t i = 0; i < diagram->node_count; i++)
        if (!att_diagram_draw_node(&diagram->nodes[i], diagram->arena))
            return ATT_NO_MEMORY;
    if (!att_diagram_arrange(diagram))
        return diagram->too_large ? ATT_BAD_INPUT : ATT_NO_MEMORY;
    for (size_t i = 0; i < diagram->node_count; i++)
        draw_node(canvas, &diagram->nodes[i]);
    for (size_t i = 0; i < diagram->edge_count; i++)
        draw_edge(canvas, &diagram->edges[i]);
    return canvas->failed ? ATT_NO_MEMORY : ATT_OK;
}

att_status att_sheet_diagram(att_string *out, const att_sheet *sheet, const char *only,
                             att_format format, att_error *err)
{
    if (format != ATT_FORMAT_SVG && format != ATT_FORMAT_LATEX)
        return att_fail(err, ATT_BAD_INPUT, NULL, "a diagram has the formats SVG and LaTeX");
    att_arena arena = { 0 };
    att_diagram diagram = { .arena = &arena };
    att_canvas canvas = { .arena = &arena };
    att_writer writer = att_writer_on(out);
    att_status status = att_diagram_build(&diagram, sheet, sheet->step_count, only, err);
    if (status == ATT_OK) {
        status = att_diagram_draw(&diagram, &canvas);
        if (status == ATT_BAD_INPUT)
            att_fail(err, status, sheet->name,
                     "too many values and arrows for a diagram: choose a value");
        else
            writer.status = status;
        if (status == ATT_OK && format == ATT_FORMAT_SVG) {
            att_put(&writer, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
            att_canvas_svg(&writer, &canvas, diagram.width, diagram.height, sheet->name, "diagram");
        } else if (status == ATT_OK)
            att_canvas_tikz(&writer, &canvas, diagram.width, diagram.height);
        if (status != ATT_BAD_INPUT)
            status = att_writer_finish(&writer, err);
    }
    att_arena_free(&arena);
    return status;
}
