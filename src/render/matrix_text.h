/* Matrices on a terminal: aligned on the decimal point, in brackets, with labels. */
#ifndef ATT_RENDER_MATRIX_TEXT_H
#define ATT_RENDER_MATRIX_TEXT_H

#include "render/terminal.h"
#include "render/view.h"

/* The view that fits the terminal beside `indent` columns. */
att_view att_matrix_text_view(const att_terminal *paint, const att_tensor_matrix *matrix,
                              const att_render_options *options, int indent);

/* The matrix, line by line, each indented. */
void att_matrix_put_text(const att_terminal *paint, const att_view *view, int indent);

/* Columns of a matrix of one row without labels, brackets included. */
int att_matrix_line_width(const att_view *view);

/* That row, in brackets, without ending the line. */
void att_matrix_put_line(const att_terminal *paint, const att_view *view);

#endif
