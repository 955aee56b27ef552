/* What the formats share to show an `ask`: its terms in words, and blanks in the shape of the
 * answer. */
#ifndef ATT_RENDER_ASK_H
#define ATT_RENDER_ASK_H

#include "render/page.h"

/* Larger answers have no blanks: they are handed in as a file. */
enum { ATT_BLANK_ROWS = 12, ATT_BLANK_COLS = 8 };

bool att_ask_has_blanks(const att_ask *ask);

/* "3 points; within 0.01" */
void att_ask_put_terms(att_writer *out, const att_ask *ask);

/* "a 3 × 40 matrix", for an answer without blanks; `times` is the sign. */
void att_ask_put_shape(att_writer *out, const att_ask *ask, const char *times);

/* A matrix of empty boxes as LaTeX mathematics, each of them `blank`. */
void att_blank_put_tex(att_writer *out, const att_matrix *value, const char *blank);
void att_blank_put_html(att_writer *out, const att_matrix *value);

/* One row of blanks for a terminal: "[ ______  ______ ]". */
void att_blank_put_text(att_writer *out, int64_t cols, bool scalar);

#endif
