/* Matrices in HTML: MathML in brackets, or a table where rows or columns have labels. */
#ifndef ATT_RENDER_MATRIX_HTML_H
#define ATT_RENDER_MATRIX_HTML_H

#include "render/formula.h"
#include "render/view.h"

/* Whether the matrix has labels, which MathML's brackets have no place for. */
bool att_matrix_is_table(const att_matrix *matrix);

void att_matrix_put_mathml(att_writer *out, const att_view *view);
void att_matrix_put_table(att_writer *out, const att_view *view);

#endif
