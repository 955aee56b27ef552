/* Rows of a batch that look at fewer memories than there are rows: the beams of one source look at
 * what was read of it once. Rows of one memory take seats beside each other and become the queries
 * of one item of an attention. A query has the same bits in any company, so a row's result does not
 * show who sat beside it. */
#ifndef ATT_NN_SEATS_H
#define ATT_NN_SEATS_H

#include "tape/ops.h"

typedef struct att_seats {
    int64_t rows;
    int64_t items;          /* B: memories */
    int64_t most;           /* T: seats before each */
    const int64_t *taken;   /* [B] of them in use, the first ones: the lengths of queries */
    const int32_t *row_at;  /* [B,T] which row sits there; -1: none */
    const int32_t *seat_of; /* [rows] its place in [B T] */
} att_seats;

/* Seats for rows of which r looks at memory item_of[r]. NULL where row r looks at memory r, all of
 * them, and nobody has to move; and on failure, which the tape keeps. */
const att_seats *att_seats_make(att_tape *tape, int64_t items, int64_t rows,
                                const int64_t *item_of);

/* A vector for each row, x of [rows,…], to its seat, [B,T,n]; empty seats have zeros. And back,
 * [rows,1,n]. Where `seats` is NULL, x itself. */
att_node *att_seats_put(att_tape *tape, const att_seats *seats, att_node *x);
att_node *att_seats_back(att_tape *tape, const att_seats *seats, att_node *x);

#endif
