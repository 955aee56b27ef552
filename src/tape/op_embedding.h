/* Options of the embedding lookup. The RNN operation reads them too: where its input is an
 * embedding lookup in a small table, it multiplies the table by its weights once instead of every
 * step (rnn_input_table.c). */
#ifndef ATT_TAPE_OP_EMBEDDING_H
#define ATT_TAPE_OP_EMBEDDING_H

#include "tape/op.h"

typedef struct att_embedding_options {
    int64_t rows, columns;
    const int32_t *ids; /* [rows, columns]; an id below 0 yields zeros */
} att_embedding_options;

extern const att_op att_op_embedding;

/* sums[ids[i]] += x[i] for each of `count` rows with an id of 0 or more. Every sum is added up in
 * the order of i, whatever the number of threads. */
void att_scatter_add_rows(float *sums, const float *x, const int32_t *ids, int64_t count,
                          int64_t width);

#endif
