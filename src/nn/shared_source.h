/* Rows of a batch that look at fewer memories than there are rows: the beams of one source look at
 * what was read of it once. Rows of one memory take seats beside each other and become the queries
 * of one item of an attention. A query has the same bits in any company, so a row's result does not
 * show who sat beside it. */
#ifndef ATT_NN_SHARED_SOURCE_H
#define ATT_NN_SHARED_SOURCE_H

#include "tape/ops.h"

typedef struct att_shared_source {
    int64_t rows;
    int64_t sources;             /* B: memories */
    int64_t max_rows_per_source; /* T: seats before each */
    const int64_t *row_counts;   /* [B] of them in use, the first ones: the lengths of queries */
    const int32_t *row_of_slot;  /* [B,T] which row sits there; -1: none */
    const int32_t *slot_of_row;  /* [rows] its place in [B T] */
} att_shared_source;

/* Seats for rows of which r looks at memory item_of[r]. NULL where row r looks at memory r, all of
 * them, and nobody has to move; and on failure, which the tape keeps. */
const att_shared_source *att_shared_source_make(att_tape *tape, int64_t items, int64_t rows,
                                                const int64_t *item_of);

/* A vector for each row, x of [rows,…], to its seat, [B,T,n]; empty seats have zeros. And back,
 * [rows,1,n]. Where `seats` is NULL, x itself. */
att_node *att_shared_source_group(att_tape *tape, const att_shared_source *shared, att_node *x);
att_node *att_shared_source_ungroup(att_tape *tape, const att_shared_source *shared, att_node *x);

#endif
