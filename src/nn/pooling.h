/* Pooling of a sentence's token states into one vector, in one of five ways (handout 004, "sentence
 * classification"). */
#ifndef ATT_NN_POOLING_H
#define ATT_NN_POOLING_H

#include "nn/linear_layer.h"
#include "settings/settings.h"

typedef struct att_pooling {
    att_pool_kind kind;
    int64_t hidden_size;  /* N */
    int64_t heads;        /* of attention pooling, N / heads columns each */
    bool scaled;          /* scores are divided by sqrt(N / heads) */
    int query;            /* [N] learned query of attention pooling */
    att_linear_layer key; /* [N,N] keys are tanh(states w + bias); no w: the states themselves */
} att_pooling;

/* Adds its parameters, named "pool.…", for states of `width` columns. */
void att_pooling_build(att_pooling *out, att_param_builder *builder, const att_settings *settings,
                       int64_t width);

/* The encoder states of several sentences, packed or padded. */
typedef struct att_encoded_batch {
    att_node *states; /* [1,tokens,N] packed, or [B,S,N] padded */
    int64_t sequences;
    const int64_t *offsets; /* [B + 1] first row of each sentence; the last entry, their end, is
                               read of packed states alone */
    const int64_t *lengths; /* [B] */
    int64_t max_length;     /* S */
    bool packed;
    att_node *final_states; /* [B,N] of an RNN encoder; NULL: pooling "last" takes the last row */
} att_encoded_batch;

/* The vectors [B,N]. `weights`, if not NULL, receives the attention weights [B,heads,S] in the
 * tape's memory; NULL for the other kinds of pooling. */
att_node *att_pooling_run(const att_pooling *pooling, att_tape *tape,
                          const att_encoded_batch *batch, const float **weights);

#endif
