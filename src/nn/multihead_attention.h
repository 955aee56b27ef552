/* Multi-head attention (Vaswani et al. 2017, 3.2.2; handouts 001 and 003), self-attention or cross
 * attention: input projections, attention per head, output projection. kv_heads < heads is
 * grouped-query attention (GQA); one of them is multi-query attention.
 *
 * Sequences are packed, one after the other without padding: [1,N,D] for N tokens in all. */
#ifndef ATT_NN_MULTIHEAD_ATTENTION_H
#define ATT_NN_MULTIHEAD_ATTENTION_H

#include "nn/linear_layer.h"

typedef struct att_multihead_attention {
    int64_t heads, kv_heads; /* H, G */
    int64_t head_size;       /* K, of a query, key and value of one head */
    bool scaled;             /* scores are divided by sqrt(K) */
    bool rope;               /* queries and keys are rotated by their positions */
    float dropout;           /* of the attention weights */
    uint64_t dropout_id;
    bool is_cross;           /* keys and values come from the encoder */
    att_linear_layer qkv;    /* [D, (H + 2 G) K]; of cross attention [D, H K], queries alone */
    att_linear_layer kv;     /* [D, 2 G K] of cross attention */
    att_linear_layer output; /* [H K, D] */
} att_multihead_attention;

/* Adds the parameters, named after `prefix`, of an attention whose other members are set, for rows
 * of width `in`. */
void att_multihead_attention_build(att_multihead_attention *attention, att_param_builder *builder,
                                   int64_t in, bool biases, const char *prefix);

/* Queries, keys and values of rows x side by side, rotated by their positions with RoPE; of cross
 * attention, the queries alone. */
att_node *att_multihead_attention_qkv(const att_multihead_attention *attention, att_tape *tape,
                                      att_node *x, const int32_t *positions);

/* Cross attention: keys and values of the encoder states `memory`, [1,S,2 G K]. */
att_node *att_multihead_attention_kv(const att_multihead_attention *attention, att_tape *tape,
                                     att_node *memory);

/* Packed sequences: the queries of a sequence attend to the keys of the same sequence. */
typedef struct att_sequence_offsets {
    int64_t sequences;
    const int64_t *query_offsets, *key_offsets; /* [sequences + 1] */
    bool causal;
} att_sequence_offsets;

/* The outputs of the heads side by side, [1,N,H K]: an att_attention_op() node. `qkv` is the result
 * of att_multihead_attention_qkv(); `kv` is NULL in self attention, else [1,S,2 G K]. */
att_node *att_multihead_attention_run(const att_multihead_attention *attention, att_tape *tape,
                                      att_node *qkv, att_node *kv,
                                      const att_sequence_offsets *sequences);

/* The output projection. */
att_node *att_multihead_attention_output(const att_multihead_attention *attention, att_tape *tape,
                                         att_node *heads_output);

#endif
