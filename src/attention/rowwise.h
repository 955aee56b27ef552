/* Row-wise attention in float32, for normalizers and scores that need a query's whole row of
 * scores: every normalizer but softmax, and every score that is not a dot product. A block of up to
 * 32 queries is scored against all its keys; the rows of scores take memory that grows with the
 * sequence length and never with its square.
 *
 *   score_transform.c    what is computed once per query and per key (W q, U k, unit vectors)
 *   rowwise_plan.c       units, workers, buffers
 *   rowwise_score.c      rows of raw scores: dot products, additive, concat; and their backward
 *   rowwise_row.c        one row: scale, soft cap, biases, mask, normalizer, dropout; and backward
 *   rowwise_normalize.c  the normalizers
 *   rowwise_forward.c    blocks of queries, weighted sums of values, the other outputs
 *   rowwise_backward.c   gradients
 *
 * Results have the same bits at any number of threads, in any batch, packed or padded, because a
 * row depends on its own query and the keys it may attend, in their order. Gradients of keys and
 * values are summed over the queries of a sequence in order, so one worker has all heads that share
 * them. */
#ifndef ATT_ATTENTION_ROWWISE_H
#define ATT_ATTENTION_ROWWISE_H

#include "attention/dropout.h"
#include "attention/score_transform.h"

#include <stdatomic.h>

enum { ATT_ROWWISE_QUERIES = ATT_TILE_LANES }; /* queries in a block */

/* The row of one query: entry n is the n-th key that it may attend, so masks leave no gaps. The
 * arrays have room for all keys. */
typedef struct att_query_scores {
    int64_t count;
    int64_t *keys; /* [count] */
    float *raw;    /* the score before the scale */
    float *capped; /* after scale and soft cap */
    float *scores; /* after the biases */
    float *weights;
    float *grads;   /* of the weights, then of the scores */
    float *scratch; /* room for two rows */
} att_query_scores;

/* A block of queries of one head. */
typedef struct att_query_block {
    int64_t first; /* row of the first query */
    size_t count, lanes;
    int64_t key_begin, key_end; /* union of the key ranges; empty where end <= begin */
    att_key_range key_range[ATT_ROWWISE_QUERIES];
} att_query_block;

/* The buffers of one worker thread. Arrays over keys start at the sequence's first key. */
typedef struct att_rowwise_buffers {
    att_query_block queries;
    att_query_scores row;
    float *scores;     /* [ATT_ROWWISE_QUERIES][key_stride] raw scores; later their gradients */
    float *weights;    /* [ATT_ROWWISE_QUERIES][key_stride] after dropout */
    float *tile;       /* [ATT_BLOCK_KEYS][ATT_ROWWISE_QUERIES] */
    float *packed;     /* [X or M][ATT_ROWWISE_QUERIES] */
    float *sums;       /* [ATT_ROWWISE_QUERIES][X or M padded] */
    float *gathered;   /* [ATT_BLOCK_KEYS][X or M] copies of rows not usable in place */
    float *row_buffer; /* [ATT_ROWWISE_QUERIES][X or M] likewise, of queries */
    att_additive_exps query_exps; /* additive: [ATT_ROWWISE_QUERIES][X] */
    att_additive_exps key_exps;   /* [ATT_BLOCK_KEYS][X] of a block of keys */
    bool *small_queries;          /* [ATT_ROWWISE_QUERIES] att_additive */
    bool *small_keys;             /* [ATT_BLOCK_KEYS] */
    uint32_t *mask_bits;          /* [keys] a bit per query of the block: may attend the key */
    uint32_t *dropout_bits;       /* [keys] */
    double *key_totals;           /* [keys]; only for key_totals */
    float *grads;                 /* backward: [ATT_ROWWISE_QUERIES][key_stride] of the weights */
    float *key_sums;              /* [keys][x_stride] */
    float *value_sums;            /* [keys][m_stride] */
    float *shift_sums;            /* [keys] */
    float *v_sums;                /* [X] of the current head, inside the operands' v_sums */
} att_rowwise_buffers;

typedef struct att_rowwise_attention {
    const att_problem *problem;
    const struct att_rowwise_score *score;
    const struct att_rowwise_normalizer *normalizer;
    const att_attention_outputs *out; /* NULL in the backward */
    const att_tensor *output_grad;
    const att_attention_grads *grads;
    att_score_operands operands;
    att_tensor bias_grad_totals[ATT_SLOT_COUNT]; /* in double; no data where not requested */
    const att_kernels *kernels;
    att_mask mask;
    att_attention_dropout dropout;
    size_t key_stride, x_stride, m_stride;
    int64_t sequences, units;
    int64_t *unit_offsets; /* [sequences + 1] forward: units per head of the preceding sequences */
    int workers;
    char *buffers;
    size_t buffers_size;
    atomic_int_least64_t next_unit;
} att_rowwise_attention;

/* ---- rowwise_plan.c */

/* Plans the forward, or with `grads` the backward; returns the bytes of workspace. Only whether an
 * output or gradient is requested matters, not its data. */
size_t att_rowwise_plan(att_rowwise_attention *work, const att_problem *problem,
                        const att_attention_outputs *out, const att_attention_grads *grads);
void att_rowwise_set_workspace(att_rowwise_attention *work, void *workspace);
att_rowwise_buffers att_rowwise_worker_buffers(const att_rowwise_attention *work, int64_t worker);

/* The head and the queries *first … *last-1 of a forward unit. */
void att_rowwise_unit(const att_rowwise_attention *work, int64_t unit, att_sequence_head *head,
                      int64_t *first, int64_t *last);

/* Sets `queries` to those from `first` on, below `last` and at most ATT_ROWWISE_QUERIES, with their
 * key ranges. */
void att_rowwise_query_block(const att_rowwise_attention *work, const att_sequence_head *head,
                             int64_t first, int64_t last, att_query_block *queries);

/* ---- rowwise_score.c */

typedef struct att_rowwise_score {
    /* Writes the rows of raw scores of the block of queries, over its key range. */
    void (*scores)(const att_rowwise_attention *work, const att_sequence_head *head,
                   att_rowwise_buffers *s);
    /* Propagates their gradients, in s->scores, to the key sums and the query gradients. */
    void (*backward)(const att_rowwise_attention *work, const att_sequence_head *head,
                     att_rowwise_buffers *s);
    bool by_position; /* the key operand is indexed by position, not by key */
    /* Applied to the raw score before the scale, or NULL; the backward uses its result. */
    void (*activation)(const att_kernels *kern, float *scores, int64_t count);
    void (*activation_backward)(float *grads, const float *scores, int64_t count);
} att_rowwise_score;

const att_rowwise_score *att_rowwise_score_get(att_score score);

/* out[q][j] = packed[q] · right[j] over the key range of the block. */
void att_rowwise_dot(const att_rowwise_attention *work, const att_sequence_head *head,
                     att_rowwise_buffers *s, const att_tensor *right, int64_t right_head,
                     bool by_position, float *out);

/* s->sums[q] = Σ_j rows[q][j] right[j], rows of `stride` floats; masked pairs are skipped. */
void att_rowwise_combine(const att_rowwise_attention *work, const att_sequence_head *head,
                         att_rowwise_buffers *s, const float *rows, const att_tensor *right,
                         int64_t right_head, bool by_position, size_t stride);

/* sums[j] += Σ_q rows[q][j] left[q], likewise. */
void att_rowwise_combine_transposed(const att_rowwise_attention *work,
                                    const att_sequence_head *head, att_rowwise_buffers *s,
                                    const float *rows, att_matrix_view left, float *sums,
                                    size_t stride);

/* ---- rowwise_normalize.c */

typedef struct att_rowwise_normalizer {
    void (*forward)(const att_kernels *kern, att_query_scores *row);
    /* row->grads: from gradients of the weights to gradients of the scores */
    void (*backward)(const att_kernels *kern, att_query_scores *row);
} att_rowwise_normalizer;

const att_rowwise_normalizer *att_rowwise_normalizer_get(att_normalizer normalizer);

/* log Σ exp(scores), with the reference's rules for NaN, +inf and -inf; uses row->scratch. */
float att_query_scores_log_sum_exp(const att_kernels *kern, const att_query_scores *row);

/* ---- rowwise_row.c */

/* Computes the row of query `q` of the block, from raw scores to weights; writes the weights after
 * dropout to s->weights and sets bit q of s->mask_bits. */
void att_query_scores_forward(const att_rowwise_attention *work, const att_sequence_head *head,
                              att_rowwise_buffers *s, size_t q);

/* After att_query_scores_forward(): from the gradients of the weights in s->grads to those of the
 * raw scores in s->scores; adds the gradients of the biases. */
void att_query_scores_backward(const att_rowwise_attention *work, const att_sequence_head *head,
                               att_rowwise_buffers *s, size_t q);

#endif
