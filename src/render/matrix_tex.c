/* Matrices in LaTeX; see matrix_tex.h. */
#include "render/matrix_tex.h"

#include "render/tex.h"

#include <inttypes.h>

static void put_cell(att_writer *out, const att_view *view, int64_t i, int64_t j,
                     const att_notation *notation)
{
    char buffer[ATT_NUMBER_SIZE];
    const char *text = att_view_cell(view, i, j, buffer);
    if (text)
        notation->number(out, text, notation);
    else
        att_put(out, "\\cdot");
}

static void put_label(att_writer *out, const char *label)
{
    att_put(out, "\\text{");
    att_put_tex(out, label ? label : "");
    att_put(out, "}");
}

static void put_cells(att_writer *out, const att_view *view, int64_t i,
                      const att_notation *notation)
{
    for (int64_t k = 0; k < att_axis_shown(&view->cols); k++) {
        att_put(out, k > 0 ? " & " : "");
        if (att_axis_gap(&view->cols, k))
            att_put(out, "\\cdots & ");
        put_cell(out, view, i, att_axis_at(&view->cols, k), notation);
    }
}

static void put_gap_row(att_writer *out, const att_view *view)
{
    for (int64_t k = 0; k < att_axis_shown(&view->cols); k++) {
        att_put(out, k > 0 ? " & " : "");
        if (att_axis_gap(&view->cols, k))
            att_put(out, "\\ddots & ");
        att_put(out, "\\vdots");
    }
    att_put(out, " \\\\\n");
}

static void put_column_labels(att_writer *out, const att_view *view)
{
    const att_matrix *m = view->matrix;
    att_put(out, m->row_labels ? " & " : "");
    for (int64_t k = 0; k < att_axis_shown(&view->cols); k++) {
        att_put(out, k > 0 ? " & " : "");
        if (att_axis_gap(&view->cols, k))
            att_put(out, "\\cdots & ");
        put_label(out, att_col_label(m, att_axis_at(&view->cols, k)));
    }
    att_put(out, " \\\\ \\hline\n");
}

static void put_rows(att_writer *out, const att_view *view, const att_notation *notation)
{
    const att_matrix *m = view->matrix;
    for (int64_t r = 0; r < att_axis_shown(&view->rows); r++) {
        int64_t i = att_axis_at(&view->rows, r);
        if (att_axis_gap(&view->rows, r)) {
            att_put(out, m->row_labels ? "\\vdots & " : "");
            put_gap_row(out, view);
        }
        if (m->row_labels) {
            put_label(out, m->row_labels[i]);
            att_put(out, " & ");
        }
        put_cells(out, view, i, notation);
        att_put(out, " \\\\\n");
    }
}

void att_matrix_put_tex(att_writer *out, const att_view *view, const att_notation *notation)
{
    const att_matrix *m = view->matrix;
    bool labelled = m->row_labels || m->col_labels;
    if (m->rows == 1 && m->cols == 1) {
        put_cell(out, view, 0, 0, notation);
        return;
    }
    if (att_axis_shown(&view->rows) == 0) {
        att_putf(out, "\\mathrm{(%" PRId64 "\\times%" PRId64 ",\\ without\\ this\\ row)}", m->rows,
                 m->cols);
        return;
    }
    att_put(out, labelled ? "\\begin{array}{" : "\\left[\\begin{array}{");
    att_put(out, m->row_labels ? "l|" : "");
    att_put_repeat(out, "r", att_axis_shown(&view->cols) + (view->cols.tail > 0));
    att_put(out, "}\n");
    if (m->col_labels)
        put_column_labels(out, view);
    put_rows(out, view, notation);
    att_put(out, labelled ? "\\end{array}" : "\\end{array}\\right]");
}
