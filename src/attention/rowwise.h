/* Attention in float for what needs a query's whole row of scores: every normaliser but softmax,
 * and every score that is not a dot product. A block of up to 32 queries meets all its keys; their
 * scores are kept as rows, in memory that grows with the sequence and never with its square.
 *
 *   rows_plan.c       how the work is cut into units, and its memory
 *   rows_score.c      rows of plain scores: dot products, additive, sums; and back
 *   rows_line.c       one row: scale, soft cap, biases, mask, normalise, dropout; and back
 *   rows_normalise.c  the normalisers
 *   rows_forward.c    blocks of queries, the weighted sums, what is wanted beside the output
 *   rows_backward.c   gradients
 *   fold.c            what is done once per query and key before they meet (W q, unit vectors)
 *
 * The same bits at any number of threads, in any batch, packed or padded, because a row is worked
 * out from its own query and the keys it may attend, in their order. Gradients of keys and values
 * are summed over the queries of a sequence in order, so one worker has all heads that share them.
 */
#ifndef ATT_ATTENTION_ROWWISE_H
#define ATT_ATTENTION_ROWWISE_H

#include "attention/bias.h"
#include "attention/dropout.h"
#include "attention/fused.h"
#include "kern/kern.h"

enum { ATT_ROWWISE_QUERIES = ATT_TILE_LANES }; /* queries in a block */

/* What scores are worked out from, once folded (fold.h), and where their gradients go. */
typedef struct att_rowwise_operands {
    att_tensor query;      /* [B,T,H,X] */
    att_tensor key;        /* [B,S,N,X], N = G or H; [1|B,P,N,X] where it goes by position */
    att_tensor shift;      /* location: [H|1,P], added to the scores; else no data */
    const float *v;        /* additive: [H|1][X] */
    int64_t v_stride;      /* 0 where heads share it */
    att_tensor query_grad; /* of the same shapes; no data where not wanted */
    att_tensor key_grad;
    att_tensor shift_grad;
    float *v_sums; /* [sequences][H][X], one part for each; NULL where not wanted */
} att_rowwise_operands;

/* The row of one query. Its line is what it may attend, key by key without the gaps; arrays have
 * room for all keys. */
typedef struct att_query_scores {
    int64_t count;
    int64_t *keys; /* [count] */
    float *raw;    /* the score itself, before the scale */
    float *capped; /* with scale and soft cap */
    float *scores; /* with biases */
    float *weights;
    float *grads;   /* of the weights, then of the scores */
    float *scratch; /* two of them, one after the other */
} att_query_scores;

/* A block of queries of one head. */
typedef struct att_query_block {
    int64_t first; /* row of the first query */
    size_t count, lanes;
    int64_t key_begin, key_end; /* keys that some query could see; none where end <= begin */
    att_key_range key_range[ATT_ROWWISE_QUERIES];
} att_query_block;

/* What a worker has to itself. Rows of keys begin at the sequence's first key. */
typedef struct att_rowwise_buffers {
    att_query_block queries;
    att_query_scores row;
    float *scores;       /* [ATT_ROWWISE_QUERIES][key_room] plain scores; in the backward then their
                            gradients */
    float *weights;      /* [ATT_ROWWISE_QUERIES][key_room] after dropout */
    float *tile;         /* [ATT_BLOCK_KEYS][ATT_ROWWISE_QUERIES] */
    float *packed;       /* [X or M][ATT_ROWWISE_QUERIES] */
    float *sums;         /* [ATT_ROWWISE_QUERIES][X or M rounded up] */
    float *gathered;     /* [ATT_BLOCK_KEYS][X or M] rows brought together */
    float *row_buffer;   /* [ATT_ROWWISE_QUERIES][X or M] likewise */
    uint32_t *mask_bits; /* [keys] a bit for each query of the block */
    uint32_t *dropout_bits; /* [keys] */
    double *key_totals;     /* [keys] where the keys' totals are wanted */
    float *grads;           /* backward: [ATT_ROWWISE_QUERIES][key_room] of the weights */
    float *key_sums;        /* [keys][x_stride] */
    float *value_sums;      /* [keys][m_stride] */
    float *shift_sums;      /* [keys] */
    float *v_sums;          /* [X] of the head at hand, among those of the operands */
} att_rowwise_buffers;

typedef struct att_rowwise_attention {
    const att_problem *problem;
    const struct att_rowwise_score *score;
    const struct att_rowwise_normalizer *normalizer;
    const att_attention_outputs *out; /* NULL in the backward */
    const att_tensor *output_grad;
    const att_attention_grads *grads;
    att_rowwise_operands operands;
    att_tensor
        bias_grad_totals[ATT_SLOT_COUNT]; /* of biases, in double; no data where not wanted */
    const att_kernels *kernels;
    att_mask mask;
    att_attention_dropout dropout;
    size_t key_stride, x_stride, m_stride;
    int64_t sequences, units;
    int64_t *unit_offsets; /* [sequences + 1] forward: units of one head in the sequences before */
    int workers;
    char *buffers;
    size_t buffers_size;
    atomic_int_least64_t next_unit;
} att_rowwise_attention;

/* ---- rows_plan.c */

/* Plans the forward, or with `grads` the backward; gives the bytes of workspace. Of the results and
 * gradients it counts only which are wanted. */
size_t att_rowwise_plan(att_rowwise_attention *work, const att_problem *problem,
                        const att_attention_outputs *out, const att_attention_grads *grads);
void att_rowwise_set_workspace(att_rowwise_attention *work, void *workspace);
att_rowwise_buffers att_rowwise_worker_buffers(const att_rowwise_attention *work, int64_t worker);

/* The head of a forward unit and its queries, from the first up to but not including the last. */
void att_rowwise_unit(const att_rowwise_attention *work, int64_t unit, att_sequence_head *head,
                      int64_t *first, int64_t *last);
att_sequence_head att_rowwise_sequence_head(const att_problem *problem, int64_t sequence,
                                            int64_t h);

/* Turns to the queries from `first` on, up to `last`, ATT_ROWWISE_QUERIES at most: what they could
 * see. */
void att_rowwise_query_block(const att_rowwise_attention *work, const att_sequence_head *head,
                             int64_t first, int64_t last, att_query_block *queries);

/* ---- rows_score.c */

typedef struct att_rowwise_score {
    /* Rows of plain scores of the block, from queries.begin to its end. */
    void (*scores)(const att_rowwise_attention *work, const att_sequence_head *head,
                   att_rowwise_buffers *s);
    /* Their gradients, in s->scores, carried on to the sums of keys and to the queries. */
    void (*backward)(const att_rowwise_attention *work, const att_sequence_head *head,
                     att_rowwise_buffers *s);
    bool by_position; /* the key tensor goes by position, not by index */
    /* What the plain score goes through before the scale, and its derivative from the result. */
    void (*activation)(const att_kernels *kern, float *scores, int64_t count);
    void (*activation_backward)(float *grads, const float *scores, int64_t count);
} att_rowwise_score;

const att_rowwise_score *att_rowwise_score_get(att_score score);

/* out[q][j] = left[q] · right[j] for the keys of the block; `left` is packed already. */
void att_rowwise_dot(const att_rowwise_attention *work, const att_sequence_head *head,
                     att_rowwise_buffers *s, const att_tensor *right, int64_t right_head,
                     bool by_position, float *out);

/* s->sums[q] = Σ_j rows[q][j] right[j], rows of `stride` floats; pairs that are not allowed are
 * skipped. */
void att_rowwise_combine(const att_rowwise_attention *work, const att_sequence_head *head,
                         att_rowwise_buffers *s, const float *rows, const att_tensor *right,
                         int64_t right_head, bool by_position, size_t stride);

/* Adds Σ_q rows[q][j] left[q] to the sums of each key, likewise. */
void att_rowwise_combine_transposed(const att_rowwise_attention *work,
                                    const att_sequence_head *head, att_rowwise_buffers *s,
                                    const float *rows, att_matrix_view left, float *sums,
                                    size_t stride);

/* to[0 … width-1] += from, with any stride. */
void att_row_accumulate(const att_kernels *kern, const att_tensor *to, int64_t at,
                        const float *from);

/* ---- rows_normalise.c */

typedef struct att_rowwise_normalizer {
    void (*forward)(const att_kernels *kern, att_query_scores *line);
    void (*backward)(const att_kernels *kern, att_query_scores *line); /* of weights → of scores */
} att_rowwise_normalizer;

const att_rowwise_normalizer *att_rowwise_normalizer_get(att_normalizer normalizer);

/* Of the line's scores, in the spare room; NaN, +inf and -inf as the reference has them. */
float att_query_scores_log_sum_exp(const att_kernels *kern, const att_query_scores *line);

/* ---- rows_line.c */

/* Query `q` of the block: its line, from the plain scores to the weights, which go to s->weights
 * with dropout. Notes in s->allow what it may attend. */
void att_query_scores_forward(const att_rowwise_attention *work, const att_sequence_head *head,
                              att_rowwise_buffers *s, size_t q);

/* After att_query_scores_forward(): the gradients of its weights in s->grads become those of its
 * plain scores in s->scores, and those of biases are added up on the way. */
void att_query_scores_backward(const att_rowwise_attention *work, const att_sequence_head *head,
                               att_rowwise_buffers *s, size_t q);

/* ---- rows_forward.c, rows_backward.c */

/* Room for all results, or all gradients, that a problem may be asked for. */
size_t att_rowwise_workspace(const att_problem *problem, bool backward);

att_status att_rowwise_forward(const att_problem *problem, const att_rowwise_operands *operands,
                               const att_attention_outputs *out, void *workspace, att_error *err);

/* Gradients of the value and the biases go to `grads`, those of the score to the operands'. */
att_status att_rowwise_backward(const att_problem *problem, const att_rowwise_operands *operands,
                                const att_tensor *output_grad, const att_attention_grads *grads,
                                void *workspace, att_error *err);

#endif
