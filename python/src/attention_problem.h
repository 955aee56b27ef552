/* The arguments of attention and its backward as a problem of attend.h. */
#ifndef ATTEND_PYTHON_ATTENTION_PROBLEM_H
#define ATTEND_PYTHON_ATTENTION_PROBLEM_H

#include "core.h"

/* Arguments by index; the tensors first, as they are members of `problem`. */
enum {
    QUERY,
    KEY,
    VALUE,
    OUTPUT_GRAD,
    SCORE_W,
    SCORE_U,
    SCORE_B,
    SCORE_V,
    BIAS,
    ALIBI,
    RELATIVE,
    MASK,
    OUT,
    OUTPUT,
    LOG_SUM_EXP,
    TENSORS,
    SCORE = TENSORS,
    NORMALIZER,
    SCALE,
    SOFT_CAP,
    CAUSAL,
    OFFSET,
    WINDOW,
    QUERY_LENGTHS,
    KEY_LENGTHS,
    QUERY_OFFSETS,
    KEY_OFFSETS,
    BLOCKS,
    BLOCK_SIZE,
    DROPOUT,
    DROPOUT_SEED,
    DROPOUT_STEP,
    DROPOUT_LAYER,
    LAYOUT,
    ROWS,
    RETURN_WEIGHTS,
    RETURNS,
    WANTED,
    ARGUMENTS,
};
extern const char *const attention_forward_names[], *const attention_backward_names[];

enum { LISTS = 5 }; /* query_lengths, key_lengths, offsets, query_offsets, key_offsets */

typedef struct attention_problem {
    PyObject *given[ARGUMENTS];
    core_input in[TENSORS];
    att_tensor tensor[TENSORS]; /* the inputs in the shapes of attend.h */
    bool used[TENSORS];
    att_attention_options options;
    att_attention_inputs inputs;
    int64_t *lists[LISTS];
    att_block *blocks;
    int rank;         /* of query, key, value and output: 2, 3 or 4 */
    bool heads_first; /* layout "bhtd" */
    int64_t first_row, row_count;
    att_dtype result; /* float64 if any input is */
} attention_problem;

/* Fills the problem from p->given, whose other members are 0; attention_problem_free() in any case.
 */
bool attention_problem_get(attention_problem *p, const char *const *names);
void attention_problem_free(attention_problem *p);

/* [T,K], [B,T,K], [B,T,H,K] or [B,H,T,K] as [B,T,H,K]. */
void attention_lift_sequence(att_tensor *tensor, bool heads_first);
/* An array of the shape of argument `which` as attend.h has it. */
void attention_lift(att_tensor *tensor, int which, bool heads_first);

#endif
