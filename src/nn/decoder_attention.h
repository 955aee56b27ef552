/* A decoder's look at the source: attention with the parameters of its score, its window or its
 * memory of what was looked at before. */
#ifndef ATT_NN_DECODER_ATTENTION_H
#define ATT_NN_DECODER_ATTENTION_H

#include "nn/param_builder.h"
#include "nn/shared_source.h"
#include "settings/settings.h"
#include "tape/ops.h"

typedef struct att_decoder_attention {
    att_attention_mechanism mechanism;
    att_normalizer normalizer;
    int64_t hidden_size; /* N, of states, keys and values */
    int key_projection;  /* [N,N] makes keys of values, once; or ATT_NO_PARAM: they are the same */
    int w, u, b, v;      /* of the score, where it has them */
    int window_w;        /* [N,N] and */
    int window_v;        /* [N,1]: where the window is, local attention alone */
    int coverage_weight; /* [1] weight of what was attended before, coverage alone */
    float window;        /* deviation of the window, in source tokens */
    int64_t max_source_length; /* source positions that it knows; 0: any */
    bool guided_alignment;     /* weights are taught: they are nodes of their own */
} att_decoder_attention;

/* Adds its parameters, named "attention.…". A mechanism without scores has none. */
void att_decoder_attention_build(att_decoder_attention *out, att_param_builder *builder,
                                 const att_settings *settings);

/* What is looked at. */
typedef struct att_memory {
    att_node *values;       /* [B,S,N] */
    att_node *keys;         /* [B,S,N] */
    const int64_t *lengths; /* [B] */
    const att_shared_source
        *shared_source; /* which item each row looks at; NULL: row b at item b */
} att_memory;

/* The keys for values. */
att_node *att_decoder_attention_keys(const att_decoder_attention *attention, att_tape *tape,
                                     att_node *values);

/* What a look gives and takes along. */
typedef struct att_decoder_attention_step {
    bool want_weights;
    att_node *coverage; /* in, out: [rows,S] weights so far; coverage alone, NULL: none */
    att_node *context;  /* out: [rows,T,N] */
    att_node
        *weights; /* out: [rows,T,S], with a gradient where they are taught; NULL if unwanted */
} att_decoder_attention_step;

/* Looks with queries [rows,T,N], one after the other. Rows that share a memory have one each. */
void att_decoder_attention_run(const att_decoder_attention *attention, att_tape *tape,
                               const att_memory *memory, att_node *query,
                               att_decoder_attention_step *step);

#endif
