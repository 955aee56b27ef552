/* Our SVG as PNG or PDF, by librsvg and cairo: shaped text in any script that has a font. */
#ifndef PICTURE_H
#define PICTURE_H

#include "attend.h"

/* Appends `svg` drawn as PNG, `scale` pixels to its pixel, or as a one-page PDF, to *out. The same
 * SVG gives the same bytes. ATT_UNSUPPORTED where the program was built without librsvg. */
att_status rasterize_png(att_string *out, const att_string *svg, double scale, att_error *err);
att_status rasterize_pdf(att_string *out, const att_string *svg, att_error *err);

#endif
