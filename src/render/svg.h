/* The parts that all SVG documents share: root element, colors, gradients. */
#ifndef ATT_RENDER_SVG_H
#define ATT_RENDER_SVG_H

#include "render/color.h"
#include "render/writer.h"

/* Opens the root element, with a white background and a title for screen readers. */
void att_put_svg_begin(att_writer *out, int64_t width, int64_t height, const char *title);

/* A color as #rrggbb. */
void att_put_color(att_writer *out, att_rgb color);

/* The stops of a gradient that shows a colormap. */
void att_put_colormap_stops(att_writer *out, att_colormap colormap);

#endif
