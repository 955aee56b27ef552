/* A sentence as one vector: what was read of its tokens, summed up in one of five ways (handout
 * 004, "sentence classification"). */
#ifndef ATT_NN_POOLING_H
#define ATT_NN_POOLING_H

#include "nn/multihead_attention.h"
#include "settings/settings.h"

typedef struct att_pooling {
    att_pool_kind kind;
    int64_t hidden_size;  /* N */
    int64_t heads;        /* of attention, each looking at N / heads columns */
    bool scaled;          /* its scores are divided by the root of those */
    int query;            /* [N] learned, of attention alone */
    att_linear_layer key; /* [N,N] keys are tanh(rows w + bias); no w: the rows themselves */
} att_pooling;

/* Adds its parameters, named "pool.…", for rows of `width`. */
void att_pooling_build(att_pooling *out, att_param_builder *builder, const att_settings *settings,
                       int64_t width);

/* What was read of several sentences: rows of a node, end to end or with padding. */
typedef struct att_encoded_batch {
    att_node *states; /* [1,tokens,N] end to end, or [B,S,N] */
    int64_t sequences;
    const int64_t *offsets; /* [B + 1] row where each begins; the last counts where end to end */
    const int64_t *lengths; /* [B] */
    int64_t max_length;     /* S */
    bool packed;            /* they lie end to end */
    att_node *final_states; /* [B,N] what the reader ended in; NULL: the last row */
} att_encoded_batch;

/* The vectors [B,N]. `weights`, if not NULL, receives how much each row counts, [B,heads,S] in the
 * tape's memory: for attention alone, else NULL. */
att_node *att_pooling_run(const att_pooling *pooling, att_tape *tape, const att_encoded_batch *read,
                          const float **weights);

#endif
