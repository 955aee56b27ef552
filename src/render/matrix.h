/* Matrices as the three kinds of documents write them: on a terminal, in LaTeX's mathematics (for
 * LaTeX and Markdown) and in HTML. */
#ifndef ATT_RENDER_MATRIX_H
#define ATT_RENDER_MATRIX_H

#include "render/formula.h"
#include "render/terminal.h"
#include "render/view.h"

/* ---- Terminal: aligned on the decimal point, in brackets, with labels (matrix_text.c) */

/* The view that fits the terminal beside `indent` columns. */
att_view att_matrix_text_view(const att_terminal *terminal, const att_matrix *matrix,
                              const att_render_options *options, int indent);

/* Writes the matrix line by line, each line indented. */
void att_matrix_put_text(const att_terminal *terminal, const att_view *view, int indent);

/* Columns of a matrix of one row without labels, including its brackets. */
int att_matrix_line_width(const att_view *view);

/* Writes that row in brackets and does not end the line. */
void att_matrix_put_line(const att_terminal *terminal, const att_view *view);

/* ---- LaTeX (matrix_tex.c) */

/* In brackets; with labels, as a table with rules between labels and cells. A single number has no
 * brackets. */
void att_matrix_put_tex(att_writer *out, const att_view *view, const att_notation *notation);

/* ---- HTML: a table with brackets, aligned columns and labels as headers (matrix_html.c) */

void att_matrix_put_html(att_writer *out, const att_view *view);

#endif
