/* The embedding's settings, which the recurrent operation looks at too: where its inputs are rows
 * of a small table, it multiplies the table instead (recur_table.c). */
#ifndef ATT_TAPE_OP_EMBEDDING_H
#define ATT_TAPE_OP_EMBEDDING_H

#include "tape/op.h"

typedef struct att_embedding_options {
    int64_t rows, columns;
    const int32_t *ids; /* [rows, columns] below 0: zeros */
} att_embedding_options;

extern const att_op att_op_embedding;

/* sums[ids[i]] += x[i] for each of `count` rows, in order at any number of threads. */
void att_scatter_add_rows(float *sums, const float *x, const int32_t *ids, int64_t count,
                          int64_t width);

#endif
