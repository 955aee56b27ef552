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
#ifndef ATT_ATTENTION_ROWS_H
#define ATT_ATTENTION_ROWS_H

#include "attention/bias.h"
#include "attention/dropout.h"
#include "attention/fused.h"
#include "kern/kern.h"

enum { ATT_ROWS = ATT_TILE_LANES }; /* queries in a block */

/* What scores are worked out from, once folded (fold.h), and where their gradients go. */
typedef struct att_operands {
    att_tensor query;      /* [B,T,H,X] */
    att_tensor key;        /* [B,S,N,X], N = G or H; [1|B,P,N,X] where it goes by position */
    att_tensor shift;      /* location: [H|1,P], added to the scores; else no data */
    const float *v;        /* additive: [H|1][X] */
    int64_t v_stride;      /* 0 where heads share it */
    att_tensor query_grad; /* of the same shapes; no data where not wanted */
    att_tensor key_grad;
    att_tensor shift_grad;
    float *v_sums; /* [sequences][H][X], one part for each; NULL where not wanted */
} att_operands;

/* The row of one query. Its line is what it may attend, key by key without the gaps; arrays have
 * room for all keys. */
typedef struct att_line {
    int64_t count;
    int64_t *keys; /* [count] */
    float *inner;  /* the score itself, before the scale */
    float *capped; /* with scale and soft cap */
    float *scores; /* with biases */
    float *weights;
    float *grads; /* of the weights, then of the scores */
    float *spare; /* two of them, one after the other */
} att_line;

/* A block of queries of one head. */
typedef struct att_queries {
    int64_t first; /* row of the first query */
    size_t count, lanes;
    int64_t begin, end; /* keys that some query could see; none where end <= begin */
    att_span span[ATT_ROWS];
} att_queries;

/* What a worker has to itself. Rows of keys begin at the sequence's first key. */
typedef struct att_rows_scratch {
    att_queries queries;
    att_line line;
    float *scores;     /* [ATT_ROWS][key_room] plain scores; in the backward then their gradients */
    float *weights;    /* [ATT_ROWS][key_room] after dropout */
    float *tile;       /* [ATT_BLOCK_KEYS][ATT_ROWS] */
    float *packed;     /* [X or M][ATT_ROWS] */
    float *sums;       /* [ATT_ROWS][X or M rounded up] */
    float *gather;     /* [ATT_BLOCK_KEYS][X or M] rows brought together */
    float *rows_room;  /* [ATT_ROWS][X or M] likewise */
    uint32_t *allow;   /* [keys] a bit for each query of the block */
    uint32_t *kept;    /* [keys] */
    double *totals;    /* [keys] where the keys' totals are wanted */
    float *grads;      /* backward: [ATT_ROWS][key_room] of the weights */
    float *key_sums;   /* [keys][x_stride] */
    float *value_sums; /* [keys][m_stride] */
    float *shift_sums; /* [keys] */
    float *v_sums;     /* [X] of the head at hand, among those of the operands */
} att_rows_scratch;

typedef struct att_rows_work {
    const att_problem *problem;
    const struct att_rows_score *score;
    const struct att_rows_normaliser *normaliser;
    const att_attention_outputs *out; /* NULL in the backward */
    const att_tensor *output_grad;
    const att_attention_grads *grads;
    att_operands x;
    att_tensor totals[ATT_SLOTS]; /* of biases, in double; no data where not wanted */
    const att_kernels *kern;
    att_mask mask;
    att_drop_mask drop;
    size_t key_room, x_stride, m_stride;
    int64_t sequences, units;
    int64_t *units_before; /* [sequences + 1] forward: units of one head in the sequences before */
    int workers;
    char *scratch;
    size_t scratch_size;
    atomic_int_least64_t next;
} att_rows_work;

/* ---- rows_plan.c */

/* Plans the forward, or with `grads` the backward; gives the bytes of workspace. Of the results and
 * gradients it counts only which are wanted. */
size_t att_rows_plan(att_rows_work *work, const att_problem *problem,
                     const att_attention_outputs *out, const att_attention_grads *grads);
void att_rows_place(att_rows_work *work, void *workspace);
att_rows_scratch att_rows_scratch_of(const att_rows_work *work, int64_t worker);

/* The head of a forward unit and its queries, from the first up to but not including the last. */
void att_rows_unit(const att_rows_work *work, int64_t unit, att_head *head, int64_t *first,
                   int64_t *last);
att_head att_rows_head(const att_problem *problem, int64_t sequence, int64_t h);

/* Turns to the queries from `first` on, up to `last`, ATT_ROWS at most: what they could see. */
void att_rows_queries(const att_rows_work *work, const att_head *head, int64_t first, int64_t last,
                      att_queries *queries);

/* ---- rows_score.c */

typedef struct att_rows_score {
    /* Rows of plain scores of the block, from queries.begin to its end. */
    void (*scores)(const att_rows_work *work, const att_head *head, att_rows_scratch *s);
    /* Their gradients, in s->scores, carried on to the sums of keys and to the queries. */
    void (*back)(const att_rows_work *work, const att_head *head, att_rows_scratch *s);
    bool by_position; /* the key tensor goes by position, not by index */
    /* What the plain score goes through before the scale, and its derivative from the result. */
    void (*outer)(const att_kernels *kern, float *scores, int64_t count);
    void (*outer_back)(float *grads, const float *scores, int64_t count);
} att_rows_score;

const att_rows_score *att_rows_score_get(att_score score);

/* out[q][j] = left[q] · right[j] for the keys of the block; `left` is packed already. */
void att_rows_products(const att_rows_work *work, const att_head *head, att_rows_scratch *s,
                       const att_tensor *right, int64_t right_head, bool by_position, float *out);

/* s->sums[q] = Σ_j rows[q][j] right[j], rows of `stride` floats; pairs that are not allowed are
 * skipped. */
void att_rows_combine(const att_rows_work *work, const att_head *head, att_rows_scratch *s,
                      const float *rows, const att_tensor *right, int64_t right_head,
                      bool by_position, size_t stride);

/* Adds Σ_q rows[q][j] left[q] to the sums of each key, likewise. */
void att_rows_spread(const att_rows_work *work, const att_head *head, att_rows_scratch *s,
                     const float *rows, att_rows left, float *sums, size_t stride);

/* to[0 … width-1] += from, with any stride. */
void att_rows_add(const att_kernels *kern, const att_tensor *to, int64_t at, const float *from);

/* ---- rows_normalise.c */

typedef struct att_rows_normaliser {
    void (*forward)(const att_kernels *kern, att_line *line);
    void (*backward)(const att_kernels *kern, att_line *line); /* of weights → of scores */
} att_rows_normaliser;

const att_rows_normaliser *att_rows_normaliser_get(att_normaliser normaliser);

/* Of the line's scores, in the spare room; NaN, +inf and -inf as the reference has them. */
float att_line_log_sum_exp(const att_kernels *kern, const att_line *line);

/* ---- rows_line.c */

/* Query `q` of the block: its line, from the plain scores to the weights, which go to s->weights
 * with dropout. Notes in s->allow what it may attend. */
void att_line_forward(const att_rows_work *work, const att_head *head, att_rows_scratch *s,
                      size_t q);

/* After att_line_forward(): the gradients of its weights in s->grads become those of its plain
 * scores in s->scores, and those of biases are added up on the way. */
void att_line_backward(const att_rows_work *work, const att_head *head, att_rows_scratch *s,
                       size_t q);

/* ---- rows_forward.c, rows_backward.c */

/* Room for all results, or all gradients, that a problem may be asked for. */
size_t att_rows_room(const att_problem *problem, bool backward);

att_status att_rows_forward(const att_problem *problem, const att_operands *operands,
                            const att_attention_outputs *out, void *workspace, att_error *err);

/* Gradients of the value and the biases go to `grads`, those of the score to the operands'. */
att_status att_rows_backward(const att_problem *problem, const att_operands *operands,
                             const att_tensor *output_grad, const att_attention_grads *grads,
                             void *workspace, att_error *err);

#endif
