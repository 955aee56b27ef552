/* Matrices in HTML; see matrix_html.h. */
#include "render/matrix_html.h"

#include <inttypes.h>

bool att_matrix_is_table(const att_matrix *matrix)
{
    return matrix->row_labels || matrix->col_labels;
}

static void put_math_cell(att_writer *out, const att_view *view, int64_t i, int64_t j)
{
    char buffer[ATT_NUMBER_SIZE];
    const char *text = att_view_cell(view, i, j, buffer);
    if (text)
        att_notation_mathml.number(out, text, &att_notation_mathml);
    else
        att_put(out, "<mtext class=\"masked\">masked</mtext>");
}

static void put_math_row(att_writer *out, const att_view *view, int64_t i)
{
    att_put(out, "<mtr>");
    for (int64_t k = 0; k < att_axis_shown(&view->cols); k++) {
        if (att_axis_gap(&view->cols, k))
            att_put(out, "<mtd><mo>⋯</mo></mtd>");
        att_put(out, "<mtd>");
        put_math_cell(out, view, i, att_axis_at(&view->cols, k));
        att_put(out, "</mtd>");
    }
    att_put(out, "</mtr>\n");
}

/* "1000 × 1000" beneath a matrix of which only a part is shown. */
static void put_shape(att_writer *out, const att_view *view)
{
    att_putf(out, "%" PRId64 " × %" PRId64, view->matrix->rows, view->matrix->cols);
}

static bool is_abridged(const att_view *view)
{
    return view->rows.tail > 0 || view->cols.tail > 0 || att_axis_shown(&view->rows) == 0;
}

void att_matrix_put_mathml(att_writer *out, const att_view *view)
{
    if (view->matrix->rows == 1 && view->matrix->cols == 1) {
        put_math_cell(out, view, 0, 0);
        return;
    }
    att_put(out, "<mrow><mo>[</mo><mtable>\n");
    int64_t columns = att_axis_shown(&view->cols) + (view->cols.tail > 0);
    for (int64_t r = 0; r < att_axis_shown(&view->rows); r++) {
        if (att_axis_gap(&view->rows, r)) {
            att_put(out, "<mtr>");
            att_put_repeat(out, "<mtd><mo>⋮</mo></mtd>", columns);
            att_put(out, "</mtr>\n");
        }
        put_math_row(out, view, att_axis_at(&view->rows, r));
    }
    att_put(out, "</mtable><mo>]</mo></mrow>");
    if (is_abridged(view)) {
        att_put(out, "<mspace width=\"1em\"/><mtext class=\"note\">");
        put_shape(out, view);
        att_put(out, "</mtext>");
    }
}

static void put_header(att_writer *out, const char *label, const char *scope)
{
    att_putf(out, "<th scope=\"%s\">", scope);
    att_put_xml(out, label ? label : "");
    att_put(out, "</th>");
}

static void put_table_row(att_writer *out, const att_view *view, int64_t i)
{
    char buffer[ATT_NUMBER_SIZE];
    att_put(out, "<tr>");
    put_header(out, att_row_label(view->matrix, i), "row");
    for (int64_t k = 0; k < att_axis_shown(&view->cols); k++) {
        const char *cell = att_view_cell(view, i, att_axis_at(&view->cols, k), buffer);
        if (att_axis_gap(&view->cols, k))
            att_put(out, "<td>⋯</td>");
        if (cell && cell[0] == '-')
            att_putf(out, "<td>−%s</td>", cell + 1);
        else if (cell)
            att_putf(out, "<td>%s</td>", cell);
        else
            att_put(out, "<td class=\"masked\">masked</td>");
    }
    att_put(out, "</tr>\n");
}

static void put_column_labels(att_writer *out, const att_view *view)
{
    att_put(out, "<thead><tr><td></td>");
    for (int64_t k = 0; k < att_axis_shown(&view->cols); k++) {
        if (att_axis_gap(&view->cols, k))
            att_put(out, "<td></td>");
        put_header(out, att_col_label(view->matrix, att_axis_at(&view->cols, k)), "col");
    }
    att_put(out, "</tr></thead>\n");
}

void att_matrix_put_table(att_writer *out, const att_view *view)
{
    int64_t columns = att_axis_shown(&view->cols) + (view->cols.tail > 0);
    att_put(out, "<div class=\"eq\"><table class=\"matrix\">\n");
    if (view->matrix->col_labels)
        put_column_labels(out, view);
    att_put(out, "<tbody>\n");
    for (int64_t r = 0; r < att_axis_shown(&view->rows); r++) {
        if (att_axis_gap(&view->rows, r)) {
            att_put(out, "<tr><th>⋮</th>");
            att_put_repeat(out, "<td>⋮</td>", columns);
            att_put(out, "</tr>\n");
        }
        put_table_row(out, view, att_axis_at(&view->rows, r));
    }
    att_put(out, "</tbody></table>");
    if (is_abridged(view)) {
        att_put(out, "<p class=\"note\">");
        put_shape(out, view);
        att_put(out, "</p>");
    }
    att_put(out, "</div>\n");
}
