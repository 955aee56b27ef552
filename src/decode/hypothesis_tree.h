/* Where hypotheses came from. Each is a chain of links from its last token to its first, so that
 * those which begin alike share their beginnings, and beams can be dropped, doubled and exchanged
 * without copying. What a row of a step looked at is kept once for all that follow from it. */
#ifndef ATT_DECODE_HYPOTHESIS_TREE_H
#define ATT_DECODE_HYPOTHESIS_TREE_H

#include "base/arena.h"
#include "model/model.h"

typedef struct att_hypothesis_node {
    int64_t parent;        /* the link before; ATT_HYPOTHESIS_ROOT: none */
    int64_t attention_row; /* the row of all rows so far that it was chosen from */
    int32_t token;
    float log_prob;
} att_hypothesis_node;

enum { ATT_HYPOTHESIS_ROOT = -1 };

/* Floats in a block that grows. */
typedef struct att_float_buffer {
    float *data;
    size_t capacity;
} att_float_buffer;

/* What is kept of the attention. */
typedef struct att_keep_attention {
    bool selected;  /* one row over the source for each token: of `layer` and `head` */
    bool all_heads; /* that of every layer and head too */
    int64_t layer;  /* from 1; 0: the last */
    int64_t head;   /* from 1; 0: the mean of the layer's */
} att_keep_attention;

typedef struct att_hypothesis_tree {
    att_hypothesis_node *nodes;
    int64_t count, capacity;
    att_keep_attention keep;
    int64_t source_length;  /* S of the batch */
    int64_t attention_rows; /* looked at so far */
    bool has_attention;     /* the model has attention */
    int64_t attention_maps, heads_per_layer;
    att_float_buffer attention;      /* [rows,S] */
    att_float_buffer head_attention; /* [rows,maps,S] */
} att_hypothesis_tree;

/* Forgets everything but the memory. */
void att_hypothesis_tree_reset(att_hypothesis_tree *trail, const att_keep_attention *keep,
                               int64_t source_length);
void att_hypothesis_tree_free(att_hypothesis_tree *trail);

/* Keeps what the rows of a step looked at. A layer or head that there is not is ATT_BAD_INPUT. */
att_status att_hypothesis_tree_add_attention(att_hypothesis_tree *trail,
                                             const att_decoder_output *decoded, int64_t rows,
                                             att_error *err);

/* Adds a link and gives its number in *out. */
att_status att_hypothesis_tree_add(att_hypothesis_tree *trail, int64_t *out,
                                   att_hypothesis_node link, att_error *err);

/* Tokens of the chain that ends in `last`, and a copy of the last `count` of them, in order. */
int64_t att_hypothesis_tree_length(const att_hypothesis_tree *trail, int64_t last);
void att_hypothesis_tree_tokens(const att_hypothesis_tree *trail, int64_t last, int32_t *out,
                                int64_t count);

/* What came out of one source. */
typedef struct att_hypothesis {
    int64_t count;               /* tokens, the end included where it was reached */
    bool truncated;              /* the end was not reached */
    double log_prob_sum;         /* of the log-probabilities */
    double normalized_score;     /* what it is ranked by */
    const int32_t *ids;          /* [count] */
    const float *log_probs;      /* [count] */
    const float *attention;      /* [count, its source's length]; NULL where not kept, or none */
    const float *head_attention; /* [count, maps, its source's length]; likewise */
} att_hypothesis;

/* Copies the chain that ends in `last` out, with the first `length` places of each row looked at;
 * all of it in the arena. */
att_status att_hypothesis_tree_copy(const att_hypothesis_tree *trail, att_hypothesis *out,
                                    int64_t last, int64_t length, att_arena *memory,
                                    att_error *err);

#endif
