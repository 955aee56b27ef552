/* The strip of a picture: one copy for each word that was said of it, with the attention laid over.
 * What its forms share. */
#ifndef ATT_RENDER_STRIP_H
#define ATT_RENDER_STRIP_H

#include "attend.h"
#include "render/writer.h"

/* The weight of a cell on the scale of its word: 1 where the word looked most. Rows and columns
 * beyond the grid count as the nearest. */
double att_strip_weight(const att_answer *answer, int64_t word, int64_t row, int64_t column);

/* Whether the answer has what a strip shows; if not, the error says what is missing. */
att_status att_strip_check(const att_answer *answer, att_error *err);

void att_strip_put_svg(att_writer *out, const att_answer *answer, const att_backdrop *backdrop);

#endif
