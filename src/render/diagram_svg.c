/* The shapes of a diagram as SVG. */
#include "render/diagram.h"

#include "render/svg.h"

#include <inttypes.h>

static const char *const anchors[] = {
    [ATT_TEXT_MIDDLE] = "middle", [ATT_TEXT_START] = "start", [ATT_TEXT_END] = "end"
};

static void put_box(att_writer *out, const att_canvas_shape *s, const char *id)
{
    (void)id;
    att_putf(out,
             "<rect x=\"%" PRId64 "\" y=\"%" PRId64 "\" width=\"%" PRId64 "\" height=\"%" PRId64
             "\" fill=\"",
             s->x, s->y, s->width, s->height);
    att_put_color(out, s->fill);
    if (!s->square) {
        att_put(out, "\" rx=\"6\" stroke=\"");
        att_put_color(out, s->stroke);
    }
    att_put(out, s->dashed ? "\" stroke-dasharray=\"6 4\"/>\n" : "\"/>\n");
}

static void put_text(att_writer *out, const att_canvas_shape *s, const char *id)
{
    (void)id;
    att_putf(out,
             "<text x=\"%" PRId64 "\" y=\"%" PRId64 "\" font-size=\"%d\" text-anchor=\"%s\"%s "
             "fill=\"",
             s->x, s->y, s->size, anchors[s->anchor], s->bold ? " font-weight=\"bold\"" : "");
    att_put_color(out, s->stroke);
    att_put(out, "\">");
    att_put_xml(out, s->text);
    att_put(out, "</text>\n");
}

/* A curve leaves and arrives vertically, so that it stays between the layers. */
static void put_line(att_writer *out, const att_canvas_shape *s, const char *id)
{
    att_putf(out, "<path d=\"M%" PRId64 " %" PRId64, s->points[0].x, s->points[0].y);
    for (size_t i = 1; i < s->point_count; i++) {
        att_point a = s->points[i - 1], b = s->points[i];
        int64_t y = (a.y + b.y) / 2;
        if (s->curved && a.x != b.x)
            att_putf(out, "C%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64,
                     a.x, y, b.x, y, b.x, b.y);
        else
            att_putf(out, "L%" PRId64 " %" PRId64, b.x, b.y);
    }
    att_putf(out,
             "\" fill=\"none\" stroke=\"#4a5260\" stroke-width=\"1.3\" "
             "marker-end=\"url(#%s-arrow)\"%s/>\n",
             id, s->dashed ? " stroke-dasharray=\"4 3\"" : "");
}

void att_canvas_svg(att_writer *out, const att_canvas *canvas, int64_t width, int64_t height,
                    const char *title, const char *id)
{
    static void (*const writers[])(att_writer * out, const att_canvas_shape *s, const char *id) = {
        [ATT_SHAPE_BOX] = put_box, [ATT_SHAPE_TEXT] = put_text, [ATT_SHAPE_LINE] = put_line
    };
    att_put_svg_begin(out, width, height, title);
    att_putf(out,
             "<defs><marker id=\"%s-arrow\" viewBox=\"0 0 8 8\" refX=\"7.5\" refY=\"4\" "
             "markerWidth=\"8\" markerHeight=\"8\" markerUnits=\"userSpaceOnUse\" "
             "orient=\"auto\"><path d=\"M0 0.8L8 4L0 7.2z\" fill=\"#4a5260\"/></marker></defs>\n",
             id);
    for (size_t i = 0; i < canvas->count; i++)
        writers[canvas->shapes[i].kind](out, &canvas->shapes[i], id);
    att_put(out, "</svg>\n");
}
