/* Matrices in LaTeX's mathematics, for documents and for Markdown. */
#ifndef ATT_RENDER_MATRIX_TEX_H
#define ATT_RENDER_MATRIX_TEX_H

#include "render/formula.h"
#include "render/view.h"

/* In brackets; with labels, as a table with a rule beneath and beside them. A single number stands
 * without brackets. */
void att_matrix_put_tex(att_writer *out, const att_view *view, const att_notation *notation);

#endif
