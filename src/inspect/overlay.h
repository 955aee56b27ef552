/* The overlay of a caption: one copy of the image per word, shaded by the attention of that word.
 * Shared by the terminal (overlay_text.c), SVG and HTML (overlay_svg.c) forms. */
#ifndef ATT_INSPECT_OVERLAY_H
#define ATT_INSPECT_OVERLAY_H

#include "attend.h"
#include "render/writer.h"

/* The attention weight of a grid cell relative to the largest weight of the word, in [0, 1]. Rows
 * and columns outside the grid are clamped to it. */
double att_overlay_weight(const att_output *output, int64_t word, int64_t row, int64_t column);

/* Refuses an output that is not a caption or has no attention weights. */
att_status att_overlay_check(const att_output *output, att_error *err);

void att_overlay_put_svg(att_writer *out, const att_output *output, const att_overlay_image *image);

/* The forms of att_output_overlay_render(). */
att_status att_overlay_svg(att_string *text, const att_output *output,
                           const att_overlay_image *image, att_error *err);
att_status att_overlay_html(att_string *text, const att_output *output,
                            const att_overlay_image *image, att_error *err);

#endif
