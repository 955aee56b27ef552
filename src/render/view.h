/* Selects the part of a trace that is displayed: steps and fields by name, rows and heads by
 * number, and the first and last rows and columns of large matrices. */
#ifndef ATT_RENDER_VIEW_H
#define ATT_RENDER_VIEW_H

#include "render/number.h"
#include "sheet/trace.h"

/* Every table of formats has this dimension, so that a row beyond it does not compile. */
enum { ATT_FORMAT_COUNT = ATT_FORMAT_SVG + 1 };

/* The shown entries of `count` rows or columns: `head` entries from `first` on, then the last
 * `tail`. */
typedef struct att_axis {
    int64_t count;
    int64_t first;
    int64_t head;
    int64_t tail;
} att_axis;

/* The first and the last entries, `shown` in total, at least one of each. */
att_axis att_axis_ends(int64_t count, int64_t shown);

/* All entries up to `max`; if there are more, three fifths of `max`. */
att_axis att_axis_abridged(int64_t count, int64_t max);

static inline int64_t att_axis_shown(const att_axis *axis)
{
    return axis->head + axis->tail;
}

/* The index of the k-th shown entry. */
static inline int64_t att_axis_at(const att_axis *axis, int64_t k)
{
    return k < axis->head ? axis->first + k : axis->count - axis->tail + (k - axis->head);
}

/* Whether entries are omitted directly before the k-th shown entry. */
static inline bool att_axis_gap(const att_axis *axis, int64_t k)
{
    return axis->tail > 0 && k == axis->head;
}

/* A matrix as shown. */
typedef struct att_view {
    const att_matrix *matrix;
    att_axis rows;
    att_axis cols;
    att_number_format format;
} att_view;

/* At most max_rows × max_cols entries, and only the row that the options select. A matrix of one
 * row is always shown; a matrix without the selected row shows no row. */
att_view att_view_of(const att_matrix *matrix, const att_render_options *options, int64_t most_rows,
                     int64_t most_cols);

/* The text of a cell, in `buffer` of ATT_NUMBER_SIZE; NULL if it is masked. */
const char *att_view_cell(const att_view *view, int64_t row, int64_t col, char *buffer);

bool att_matrix_has_masked(const att_matrix *matrix);

const char *att_row_label(const att_matrix *matrix, int64_t row); /* or NULL */
const char *att_col_label(const att_matrix *matrix, int64_t col);

bool att_step_is_shown(const att_trace_step *step, const att_render_options *options);

/* The selected head, by its number or in the name m.head[2].weights; 0: all. */
int64_t att_render_head(const att_render_options *options);

/* A part x = x is not shown. */
bool att_part_is_shown(const att_trace_part *part, const att_render_options *options);

/* The value to show with a part. NULL if the part is only another name of a value shown before, as
 * in q = s, and is not selected by name. */
const att_matrix *att_part_value(const att_trace_part *part, const att_render_options *options);

bool att_calculation_is_shown(const att_calculation *calculation,
                              const att_render_options *options);

/* Copies the options of a caller and fills the defaults in: `digits` is then the number of digits.
 * `formats` has the bit 1 << format for each format that the object has; another format fails, with
 * `object` in the message ("an attention map"). */
att_status att_render_options_resolve(att_render_options *out, const att_render_options *options,
                                      int formats, const char *object, att_error *err);

/* Fails if the options select a name, row or head that no sheet has. */
att_status att_render_options_check(const att_sheet *const *sheets, size_t count,
                                    const att_render_options *options, att_error *err);

#endif
