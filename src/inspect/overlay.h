/* The strip of a picture: one copy for each word that was said of it, with the attention laid over.
 * What its forms share. */
#ifndef ATT_INSPECT_OVERLAY_H
#define ATT_INSPECT_OVERLAY_H

#include "attend.h"
#include "render/writer.h"

/* The weight of a cell on the scale of its word: 1 where the word looked most. Rows and columns
 * beyond the grid count as the nearest. */
double att_overlay_weight(const att_output *answer, int64_t word, int64_t row, int64_t column);

/* Whether the answer has what a strip shows; if not, the error says what is missing. */
att_status att_overlay_check(const att_output *answer, att_error *err);

void att_overlay_put_svg(att_writer *out, const att_output *answer,
                         const att_overlay_image *backdrop);

/* The forms of att_output_overlay_render(). */
att_status att_overlay_svg(att_string *text, const att_output *output,
                           const att_overlay_image *image, att_error *err);
att_status att_overlay_html(att_string *text, const att_output *output,
                            const att_overlay_image *image, att_error *err);

#endif
