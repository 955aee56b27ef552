/* Attention with several heads: queries, keys and values made by matrices, the heads' results side
 * by side, multiplied by one more (Vaswani et al. 2017, 3.2.2; handouts 001 and 003).
 *
 * Rows are tokens in use, sequences end to end: [1,N,D]. No row is spent on padding. */
#ifndef ATT_NN_HEADS_H
#define ATT_NN_HEADS_H

#include "nn/build.h"
#include "tape/ops.h"

/* A matrix and, where the model has biases, what is added after it. */
typedef struct att_affine {
    int w;    /* [in,out] */
    int bias; /* [out], or ATT_NO_PARAM */
} att_affine;

typedef struct att_heads {
    int64_t heads, key_heads; /* H, G */
    int64_t width;            /* K, of one head's query, key and value */
    bool scaled;              /* scores are divided by sqrt(K) */
    bool rotary;              /* queries and keys are turned by their positions */
    float dropout;            /* of weights */
    uint64_t place;           /* tells its draws from those of others */
    bool across;              /* keys and values come from elsewhere */
    att_affine into;          /* [D, (H + 2 G) K] queries, keys and values; across: queries alone */
    att_affine keys;          /* [D, 2 G K] keys and values, across */
    att_affine out;           /* [H K, D] */
} att_heads;

/* `name` of the matrix, and with "_bias" of what is added. */
void att_affine_build(att_affine *out, att_builder *builder, int64_t in, int64_t width, bool bias,
                      const char *prefix, const char *name);
att_node *att_affine_run(const att_affine *affine, att_tape *tape, att_node *x,
                         att_activation activation);

/* Adds the parameters of heads that say all else, for rows of width `in`, named after `prefix`. */
void att_heads_build(att_heads *heads, att_builder *builder, int64_t in, bool biases,
                     const char *prefix);

/* Queries, keys and values of rows x, side by side; across: their queries. */
att_node *att_heads_into(const att_heads *heads, att_tape *tape, att_node *x,
                         const int32_t *positions);

/* Across: keys and values, [1,S,2 G K]. */
att_node *att_heads_keys(const att_heads *heads, att_tape *tape, att_node *memory);

/* Which queries see which keys: sequences end to end, each seeing its own. */
typedef struct att_sight {
    int64_t sequences;
    const int64_t *query_offsets, *key_offsets; /* [sequences + 1] */
    bool causal;
} att_sight;

/* The heads' results side by side, [1,N,H K]: an att_attend() node. `into` as att_heads_into() gave
 * it; `keys` is NULL where it has keys and values too, else [1,S,2 G K]. */
att_node *att_heads_attend(const att_heads *heads, att_tape *tape, att_node *into, att_node *keys,
                           const att_sight *sight);

/* The last matrix. */
att_node *att_heads_out(const att_heads *heads, att_tape *tape, att_node *results);

#endif
