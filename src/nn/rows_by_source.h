/* Rows of a batch grouped by the source they attend to. In beam search several hypotheses (rows)
 * belong to one source, whose encoder states are stored once. Rows of one source become the queries
 * of one attention to it. A query has the same bits whatever other queries are beside it, so a
 * row's result does not depend on the grouping.
 *
 * Two layouts of the same order are in use: packed, the rows of source 0, then of source 1, … (the
 * Transformer); and padded, [sources, max_rows] with unused slots (the RNN decoder's attention). */
#ifndef ATT_NN_ROWS_BY_SOURCE_H
#define ATT_NN_ROWS_BY_SOURCE_H

#include "tape/ops.h"

typedef struct att_rows_by_source {
    int64_t rows;
    int64_t sources;        /* B */
    int64_t max_rows;       /* T: rows of the source that has most */
    const int64_t *counts;  /* [B] rows of each source */
    const int64_t *offsets; /* [B + 1] packed place of the first row of each source */
    const int32_t *order;   /* [rows] the row at each packed place */
    const int32_t *place;   /* [rows] the packed place of each row */
    const int64_t *source;  /* [rows] the source of each row; not copied */
    bool in_order;          /* rows already lie in packed order: order[r] = r */
} att_rows_by_source;

/* Groups rows, of which row r belongs to source source_of[r]; rows of one source keep their order.
 * In the tape's memory, and refers to source_of. NULL on failure, which fails the tape. */
const att_rows_by_source *att_rows_by_source_make(att_tape *tape, int64_t sources, int64_t rows,
                                                  const int64_t *source_of);

/* Whether row r belongs to source r, for all sources: nothing has to be moved. */
bool att_rows_by_source_is_identity(const att_rows_by_source *grouped);

/* From rows x [rows,…] of n elements each to the padded layout [B,T,n], zeros in unused slots; and
 * back, [rows,1,n]. With `grouped` NULL, both return x. */
att_node *att_rows_by_source_pad(att_tape *tape, const att_rows_by_source *grouped, att_node *x);
att_node *att_rows_by_source_unpad(att_tape *tape, const att_rows_by_source *grouped, att_node *x);

#endif
