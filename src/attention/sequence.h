/* The sequences of a problem: the members of the batch, or packed sequences (B = 1). Work is split
 * along them, and positions count from the start of each. */
#ifndef ATT_ATTENTION_SEQUENCE_H
#define ATT_ATTENTION_SEQUENCE_H

#include "attention/problem.h"

/* One query head of one sequence, as rows of the tensors. */
typedef struct att_sequence_head {
    int64_t b, h, g;              /* batch index, query head, key/value head */
    int64_t query_start, queries; /* rows of the query and the output */
    int64_t key_start, keys;      /* rows of key and value; blocks of keys count from key_start */
} att_sequence_head;

/* The number of sequences: `sequences` of the options, or B. */
int64_t att_sequence_count(const att_problem *problem);

/* The number of queries of a sequence. */
int64_t att_sequence_queries(const att_problem *problem, int64_t sequence);

att_sequence_head att_sequence_head_get(const att_problem *problem, int64_t sequence, int64_t h);

/* The last sequence s with starts[s] <= index; starts[0] <= index. Empty sequences, which start
 * where the next one does, are never found. */
int64_t att_sequence_find(const int64_t *starts, int64_t sequences, int64_t index);

#endif
