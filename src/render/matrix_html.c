/* Matrices as HTML tables with brackets and labels. */
#include "render/matrix.h"

#include <inttypes.h>

static bool is_abridged(const att_view *view)
{
    return view->rows.tail > 0 || view->cols.tail > 0;
}

static void put_header(att_writer *out, const char *label, const char *scope)
{
    att_putf(out, "<th scope=\"%s\">", scope);
    att_put_xml(out, label ? label : "");
    att_put(out, "</th>");
}

/* One bracket: an empty cell that spans all rows, written in the first row. */
static void put_bracket(att_writer *out, const char *side, int64_t row, int64_t rows)
{
    if (row == 0)
        att_putf(out, "<td class=\"%s\" rowspan=\"%" PRId64 "\"></td>", side, rows);
}

static void put_table_row(att_writer *out, const att_view *view, int64_t r)
{
    char buffer[ATT_NUMBER_SIZE];
    int64_t i = att_axis_at(&view->rows, r);
    int64_t rows = att_axis_shown(&view->rows) + (view->rows.tail > 0);
    att_put(out, "<tr>");
    if (view->matrix->row_labels)
        put_header(out, att_row_label(view->matrix, i), "row");
    put_bracket(out, "open", r, rows);
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
    put_bracket(out, "close", r, rows);
    att_put(out, "</tr>\n");
}

static void put_column_labels(att_writer *out, const att_view *view)
{
    att_put(out,
            view->matrix->row_labels ? "<thead><tr><td></td><td></td>" : "<thead><tr><td></td>");
    for (int64_t k = 0; k < att_axis_shown(&view->cols); k++) {
        if (att_axis_gap(&view->cols, k))
            att_put(out, "<td></td>");
        put_header(out, att_col_label(view->matrix, att_axis_at(&view->cols, k)), "col");
    }
    att_put(out, "<td></td></tr></thead>\n");
}

static void put_gap_row(att_writer *out, const att_view *view)
{
    att_put(out, view->matrix->row_labels ? "<tr><th>⋮</th>" : "<tr>");
    att_put_repeat(out, "<td>⋮</td>", att_axis_shown(&view->cols) + (view->cols.tail > 0));
    att_put(out, "</tr>\n");
}

void att_matrix_put_html(att_writer *out, const att_view *view)
{
    const att_matrix *m = view->matrix;
    bool empty = m->rows == 0 || m->cols == 0;
    if (empty || att_axis_shown(&view->rows) == 0) {
        att_putf(out, "<span class=\"note\">%" PRId64 " × %" PRId64 "%s</span>\n", m->rows, m->cols,
                 empty ? ", empty" : ", without this row");
        return;
    }
    att_put(out, "<table class=\"matrix\">\n");
    if (m->col_labels)
        put_column_labels(out, view);
    att_put(out, "<tbody>\n");
    for (int64_t r = 0; r < att_axis_shown(&view->rows); r++) {
        if (att_axis_gap(&view->rows, r))
            put_gap_row(out, view);
        put_table_row(out, view, r);
    }
    att_put(out, "</tbody></table>\n");
    if (is_abridged(view))
        att_putf(out, "<span class=\"note\">%" PRId64 " × %" PRId64 "</span>\n", view->matrix->rows,
                 view->matrix->cols);
}
