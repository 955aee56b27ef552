/* Matrices in a terminal. Cells are formatted twice, to measure the columns and to write them, so
 * that nothing is stored. */
#include "render/matrix.h"

#include "base/minmax.h"
#include "text/display_width.h"

#include <string.h>

enum {
    MAX_ROWS = 20,
    MAX_COLS = 24,
    LABEL_COLUMNS = 16,
    GAP = 2, /* between columns */
};

/* The width of a column: the longest part before the decimal point plus the longest part behind
 * it. */
struct column {
    int before;
    int after;
    int width;
};

static const char *mask_mark(const att_terminal *terminal)
{
    return terminal->ascii ? "." : "·";
}

/* A cell's text and the length of its part before the decimal point. */
static const char *cell_text(const att_view *view, int64_t i, int64_t j, char *buffer, int *before)
{
    const char *text = att_view_cell(view, i, j, buffer);
    *before = text ? (int)strcspn(text, ".") : 1;
    return text;
}

static struct column measure(const att_view *view, int64_t j)
{
    char buffer[ATT_NUMBER_SIZE];
    struct column column = { 0 };
    for (int64_t k = 0; k < att_axis_shown(&view->rows); k++) {
        int before;
        const char *text = cell_text(view, att_axis_at(&view->rows, k), j, buffer, &before);
        int after = text ? (int)strlen(text) - before : 0;
        column.before = (int)att_max_i64(column.before, before);
        column.after = (int)att_max_i64(column.after, after);
    }
    const char *label = att_col_label(view->matrix, j);
    column.width = column.before + column.after;
    if (label) {
        int width = att_display_width(label);
        column.width =
            (int)att_max_i64(column.width, width < LABEL_COLUMNS ? width : LABEL_COLUMNS);
    }
    return column;
}

static int row_label_width(const att_view *view)
{
    int max = 0;
    for (int64_t k = 0; k < att_axis_shown(&view->rows); k++) {
        const char *label = att_row_label(view->matrix, att_axis_at(&view->rows, k));
        max = (int)att_max_i64(max, label ? att_display_width(label) : 0);
    }
    return max < LABEL_COLUMNS ? max : LABEL_COLUMNS;
}

att_view att_matrix_text_view(const att_terminal *terminal, const att_matrix *matrix,
                              const att_render_options *options, int indent)
{
    att_view view = att_view_of(matrix, options, MAX_ROWS, MAX_COLS);
    int room = terminal->width - indent - row_label_width(&view) - 5;
    int used = 0;
    for (int64_t k = 0; k < att_axis_shown(&view.cols); k++)
        used += measure(&view, att_axis_at(&view.cols, k)).width + GAP;
    int64_t shown = att_axis_shown(&view.cols);
    if (used > room && shown > 0) {
        int64_t fit = room / (used / shown + 1);
        view.cols = att_axis_ends(matrix->cols, fit);
    }
    return view;
}

static void put_cell(const att_terminal *terminal, const att_view *view, int64_t i, int64_t j,
                     const struct column *column)
{
    char buffer[ATT_NUMBER_SIZE];
    int before;
    const char *text = cell_text(view, i, j, buffer, &before);
    int length = text ? (int)strlen(text) : 1;
    int lead = column->width - column->after - before;
    att_put_repeat(terminal->out, " ", lead);
    if (text) {
        att_put(terminal->out, text);
    } else {
        att_terminal_style(terminal, ATT_STYLE_DIM);
        att_put(terminal->out, mask_mark(terminal));
        att_terminal_style(terminal, ATT_STYLE_NONE);
    }
    att_put_repeat(terminal->out, " ", column->width - lead - length);
}

static const char *ellipsis(const att_terminal *terminal)
{
    return terminal->ascii ? "..." : "…";
}

/* The cells of one row, with a mark for omitted columns. */
static void put_cells(const att_terminal *terminal, const att_view *view, int64_t i)
{
    for (int64_t k = 0; k < att_axis_shown(&view->cols); k++) {
        int64_t j = att_axis_at(&view->cols, k);
        struct column column = measure(view, j);
        att_put_repeat(terminal->out, " ", k > 0 ? GAP : 0);
        if (att_axis_gap(&view->cols, k))
            att_putf(terminal->out, "%s  ", ellipsis(terminal));
        put_cell(terminal, view, i, j, &column);
    }
}

/* A line of dots for omitted rows. */
static void put_gap_line(const att_terminal *terminal, const att_view *view)
{
    for (int64_t k = 0; k < att_axis_shown(&view->cols); k++) {
        struct column column = measure(view, att_axis_at(&view->cols, k));
        att_put_repeat(terminal->out, " ", k > 0 ? GAP : 0);
        if (att_axis_gap(&view->cols, k))
            att_putf(terminal->out, "%s  ", ellipsis(terminal));
        att_terminal_right(terminal, terminal->ascii ? ":" : "⋮", column.width);
    }
}

static void put_column_labels(const att_terminal *terminal, const att_view *view, int indent)
{
    att_put_repeat(terminal->out, " ", indent);
    att_terminal_style(terminal, ATT_STYLE_DIM);
    for (int64_t k = 0; k < att_axis_shown(&view->cols); k++) {
        int64_t j = att_axis_at(&view->cols, k);
        const char *label = att_col_label(view->matrix, j);
        att_put_repeat(terminal->out, " ", k > 0 ? GAP : 0);
        if (att_axis_gap(&view->cols, k))
            att_put_repeat(terminal->out, " ", att_display_width(ellipsis(terminal)) + 2);
        att_terminal_right(terminal, label ? label : "", measure(view, j).width);
    }
    att_terminal_style(terminal, ATT_STYLE_NONE);
    att_terminal_end_line(terminal);
}

/* Brackets of line `k` of `count`. */
static const char *bracket(const att_terminal *terminal, int64_t k, int64_t count, bool left)
{
    static const char *const signs[2][4] = { { "[", "⎡", "⎢", "⎣" }, { "]", "⎤", "⎥", "⎦" } };
    const char *const *side = signs[left ? 0 : 1];
    if (terminal->ascii || count == 1)
        return side[0];
    return k == 0 ? side[1] : k == count - 1 ? side[3] : side[2];
}

static void put_line(const att_terminal *terminal, const att_view *view, int64_t k, int indent,
                     int labels)
{
    bool gap = att_axis_gap(&view->rows, k);
    int64_t lines = att_axis_shown(&view->rows) + (view->rows.tail > 0);
    int64_t line = k + (view->rows.tail > 0 && k >= view->rows.head);
    for (int pass = gap ? 0 : 1; pass < 2; pass++) {
        int64_t i = att_axis_at(&view->rows, k);
        const char *label = pass ? att_row_label(view->matrix, i) : NULL;
        int64_t at = pass ? line : line - 1;
        att_put_repeat(terminal->out, " ", indent);
        if (labels > 0) {
            att_terminal_style(terminal, ATT_STYLE_DIM);
            att_terminal_padded(terminal, label ? label : "", labels);
            att_terminal_style(terminal, ATT_STYLE_NONE);
            att_put(terminal->out, " ");
        }
        att_putf(terminal->out, "%s ", bracket(terminal, at, lines, true));
        if (pass)
            put_cells(terminal, view, i);
        else
            put_gap_line(terminal, view);
        att_putf(terminal->out, " %s", bracket(terminal, at, lines, false));
        att_terminal_end_line(terminal);
    }
}

void att_matrix_put_text(const att_terminal *terminal, const att_view *view, int indent)
{
    int labels = row_label_width(view);
    if (view->matrix->col_labels)
        put_column_labels(terminal, view, indent + labels + (labels > 0) + 2);
    for (int64_t k = 0; k < att_axis_shown(&view->rows); k++)
        put_line(terminal, view, k, indent, labels);
}

int att_matrix_line_width(const att_view *view)
{
    int width = 4 - GAP;
    for (int64_t k = 0; k < att_axis_shown(&view->cols); k++)
        width += GAP + measure(view, att_axis_at(&view->cols, k)).width;
    return width + (view->cols.tail > 0 ? 3 : 0);
}

void att_matrix_put_line(const att_terminal *terminal, const att_view *view)
{
    att_put(terminal->out, "[ ");
    put_cells(terminal, view, att_axis_at(&view->rows, 0));
    att_put(terminal->out, " ]");
}
