/* Attention with several heads: queries, keys and values made by matrices, the heads' results side
 * by side, multiplied by one more (Vaswani et al. 2017, 3.2.2; handouts 001 and 003).
 *
 * Rows are tokens in use, sequences end to end: [1,N,D]. No row is spent on padding. */
#ifndef ATT_NN_MULTIHEAD_ATTENTION_H
#define ATT_NN_MULTIHEAD_ATTENTION_H

#include "nn/param_builder.h"
#include "tape/ops.h"

/* A matrix and, where the model has biases, what is added after it. */
typedef struct att_linear_layer {
    int w;    /* [in,out] */
    int bias; /* [out], or ATT_NO_PARAM */
} att_linear_layer;

typedef struct att_multihead_attention {
    int64_t heads, kv_heads; /* H, G */
    int64_t head_size;       /* K, of one head's query, key and value */
    bool scaled;             /* scores are divided by sqrt(K) */
    bool rope;               /* queries and keys are turned by their positions */
    float dropout;           /* of weights */
    uint64_t dropout_id;     /* tells its draws from those of others */
    bool is_cross;           /* keys and values come from elsewhere */
    att_linear_layer qkv;    /* [D, (H + 2 G) K] queries, keys and values; across: queries alone */
    att_linear_layer kv;     /* [D, 2 G K] keys and values, across */
    att_linear_layer output; /* [H K, D] */
} att_multihead_attention;

/* `name` of the matrix, and with "_bias" of what is added. */
void att_linear_layer_build(att_linear_layer *out, att_param_builder *builder, int64_t in,
                            int64_t width, bool bias, const char *prefix, const char *name);
att_node *att_linear_layer_run(const att_linear_layer *affine, att_tape *tape, att_node *x,
                               att_activation activation);

/* Adds the parameters of heads that say all else, for rows of width `in`, named after `prefix`. */
void att_multihead_attention_build(att_multihead_attention *heads, att_param_builder *builder,
                                   int64_t in, bool biases, const char *prefix);

/* Queries, keys and values of rows x, side by side; across: their queries. */
att_node *att_multihead_attention_qkv(const att_multihead_attention *heads, att_tape *tape,
                                      att_node *x, const int32_t *positions);

/* Across: keys and values, [1,S,2 G K]. */
att_node *att_multihead_attention_kv(const att_multihead_attention *heads, att_tape *tape,
                                     att_node *memory);

/* Which queries see which keys: sequences end to end, each seeing its own. */
typedef struct att_sequence_offsets {
    int64_t sequences;
    const int64_t *query_offsets, *key_offsets; /* [sequences + 1] */
    bool causal;
} att_sequence_offsets;

/* The heads' results side by side, [1,N,H K]: an att_attention_op() node. `into` as
 * att_multihead_attention_qkv() gave it; `keys` is NULL where it has keys and values too, else
 * [1,S,2 G K]. */
att_node *att_multihead_attention_run(const att_multihead_attention *heads, att_tape *tape,
                                      att_node *into, att_node *keys,
                                      const att_sequence_offsets *sight);

/* The last matrix. */
att_node *att_multihead_attention_output(const att_multihead_attention *heads, att_tape *tape,
                                         att_node *results);

#endif
