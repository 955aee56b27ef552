/* Matrices in LaTeX and, with MathJax, in Markdown. */
#include "render/matrix.h"

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

/* MathJax supports no escapes in \text, so a label is written in math mode there. */
static void put_label(att_writer *out, const char *label, const att_notation *notation)
{
    if (!label)
        return;
    if (notation->raw_unicode) {
        notation->word(out, label, notation);
        return;
    }
    att_put(out, "\\text{");
    att_put_tex(out, label);
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
}

static void put_column_labels(att_writer *out, const att_view *view, const att_notation *notation)
{
    const att_matrix *m = view->matrix;
    att_put(out, m->row_labels ? " & " : "");
    for (int64_t k = 0; k < att_axis_shown(&view->cols); k++) {
        att_put(out, k > 0 ? " & " : "");
        if (att_axis_gap(&view->cols, k))
            att_put(out, "\\cdots & ");
        put_label(out, att_col_label(m, att_axis_at(&view->cols, k)), notation);
    }
    att_put(out, " \\\\ \\hline\n");
}

/* The rows: labels and cells, only labels, or only cells. */
static void put_rows(att_writer *out, const att_view *view, const att_notation *notation,
                     bool labels, bool cells)
{
    for (int64_t r = 0; r < att_axis_shown(&view->rows); r++) {
        int64_t i = att_axis_at(&view->rows, r);
        if (att_axis_gap(&view->rows, r)) {
            att_put(out, labels ? "\\vdots" : "");
            att_put(out, labels && cells ? " & " : "");
            if (cells)
                put_gap_row(out, view);
            att_put(out, " \\\\\n");
        }
        if (labels)
            put_label(out, view->matrix->row_labels[i], notation);
        att_put(out, labels && cells ? " & " : "");
        if (cells)
            put_cells(out, view, i, notation);
        att_put(out, " \\\\\n");
    }
}

static void put_columns(att_writer *out, const att_view *view)
{
    att_put_repeat(out, "r", att_axis_shown(&view->cols) + (view->cols.tail > 0));
    att_put(out, "}\n");
}

/* Row labels are left of the bracket. */
static void put_bracketed(att_writer *out, const att_view *view, const att_notation *notation)
{
    if (view->matrix->row_labels) {
        att_put(out, "\\begin{array}{l}\n");
        put_rows(out, view, notation, true, false);
        att_put(out, "\\end{array}\n");
    }
    att_put(out, "\\left[\\begin{array}{");
    put_columns(out, view);
    put_rows(out, view, notation, false, true);
    att_put(out, "\\end{array}\\right]");
}

/* Column labels need a table. */
static void put_table(att_writer *out, const att_view *view, const att_notation *notation)
{
    bool labels = view->matrix->row_labels != NULL;
    att_put(out, labels ? "\\begin{array}{l|" : "\\begin{array}{");
    put_columns(out, view);
    put_column_labels(out, view, notation);
    put_rows(out, view, notation, labels, true);
    att_put(out, "\\end{array}");
}

void att_matrix_put_tex(att_writer *out, const att_view *view, const att_notation *notation)
{
    const att_matrix *m = view->matrix;
    if (m->rows == 1 && m->cols == 1)
        put_cell(out, view, 0, 0, notation);
    else if (att_axis_shown(&view->rows) == 0 || m->cols == 0)
        att_putf(out, "(%" PRId64 "\\times%" PRId64 "\\mathrm{%s})", m->rows, m->cols,
                 m->rows == 0 || m->cols == 0 ? ",\\ empty" : ",\\ without\\ this\\ row");
    else if (m->col_labels)
        put_table(out, view, notation);
    else
        put_bracketed(out, view, notation);
    if (view->rows.tail > 0 || view->cols.tail > 0)
        att_putf(out, "\\quad(%" PRId64 "\\times%" PRId64 ")", m->rows, m->cols);
    if (att_matrix_has_masked(m))
        att_put(out, "\\quad(\\cdot\\mathrm{\\ is\\ masked})");
}
