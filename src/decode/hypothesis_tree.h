/* The tree of all hypotheses of a search (backpointers). A hypothesis is a chain of nodes from its
 * last token to its first: hypotheses with a common prefix share nodes, and are dropped, forked and
 * reordered without copying. The attention of a row is stored once for all nodes chosen from it. */
#ifndef ATT_DECODE_HYPOTHESIS_TREE_H
#define ATT_DECODE_HYPOTHESIS_TREE_H

#include "base/arena.h"
#include "model/model.h"

typedef struct att_hypothesis_node {
    int64_t parent;        /* the node of the token before; ATT_HYPOTHESIS_ROOT: none */
    int64_t attention_row; /* the row it was chosen from, counted over all steps */
    int32_t token;
    float log_prob;
    float copied; /* the part of copying in its probability */
} att_hypothesis_node;

enum { ATT_HYPOTHESIS_ROOT = -1 };

/* A growing array of floats. */
typedef struct att_float_buffer {
    float *data;
    size_t capacity;
} att_float_buffer;

/* Which attention weights to keep. */
typedef struct att_keep_attention {
    bool selected;  /* one row of weights per token: of `layer` and `head` */
    bool all_heads; /* also the weights of every layer and head */
    int64_t layer;  /* from 1; 0: the last */
    int64_t head;   /* from 1; 0: the mean of the layer's heads */
} att_keep_attention;

typedef struct att_hypothesis_tree {
    att_hypothesis_node *nodes;
    int64_t count, capacity;
    att_keep_attention keep;
    int64_t source_length;  /* S of the batch */
    int64_t attention_rows; /* stored so far */
    bool has_attention;     /* of the model */
    int64_t attention_maps, heads_per_layer;
    att_float_buffer attention;      /* [rows,S] */
    att_float_buffer head_attention; /* [rows,maps,S] */
} att_hypothesis_tree;

/* Drops all nodes and rows, and keeps their memory. */
void att_hypothesis_tree_reset(att_hypothesis_tree *tree, const att_keep_attention *keep,
                               int64_t source_length);
void att_hypothesis_tree_free(att_hypothesis_tree *tree);

/* Stores the attention of the rows of a step. A layer or head that the model lacks is
 * ATT_BAD_INPUT.
 */
att_status att_hypothesis_tree_add_attention(att_hypothesis_tree *tree,
                                             const att_decoder_output *decoded, int64_t rows,
                                             att_error *err);

/* Adds a node and returns its index in *out. */
att_status att_hypothesis_tree_add(att_hypothesis_tree *tree, int64_t *out,
                                   att_hypothesis_node node, att_error *err);

/* The number of tokens of the chain that ends in `last`, and a copy of its last `count` tokens. */
int64_t att_hypothesis_tree_length(const att_hypothesis_tree *tree, int64_t last);
void att_hypothesis_tree_tokens(const att_hypothesis_tree *tree, int64_t last, int32_t *out,
                                int64_t count);

/* A result of the search. */
typedef struct att_hypothesis {
    int64_t count;               /* tokens, the end token included where it was reached */
    bool truncated;              /* the end token was not reached */
    double log_prob_sum;         /* sum of log_probs */
    double normalized_score;     /* what it is ranked by */
    const int32_t *ids;          /* [count] */
    const float *log_probs;      /* [count] */
    const float *copied;         /* [count] the part of copying in the probability of each */
    const float *attention;      /* [count, length of its source]; NULL: not kept, or none */
    const float *head_attention; /* [count, maps, length of its source]; likewise */
} att_hypothesis;

/* Copies the chain that ends in `last` into the arena, with the first `length` weights of each row
 * of attention. */
att_status att_hypothesis_tree_copy(const att_hypothesis_tree *tree, att_hypothesis *out,
                                    int64_t last, int64_t length, att_arena *arena, att_error *err);

#endif
