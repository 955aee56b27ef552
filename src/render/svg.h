/* What every SVG document of ours shares. */
#ifndef ATT_RENDER_SVG_H
#define ATT_RENDER_SVG_H

#include "render/color.h"
#include "render/writer.h"

/* The root element, left open, on white, with the title that readers of screens say. */
void att_put_svg_begin(att_writer *out, int64_t width, int64_t height, const char *title);

/* A colour as #rrggbb. */
void att_put_color(att_writer *out, att_rgb color);

/* The stops of a gradient that shows a ramp. */
void att_put_colormap_stops(att_writer *out, att_colormap ramp);

#endif
