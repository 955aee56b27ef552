/* Attention in the textbook form softmax(Q Kᵀ) V: whole matrices and plain matrix products, in
 * double, for comparison with the reference. It differs from the reference in two ways: it needs
 * memory for T·S numbers, and a masked key has weight 0, so that NaN or infinity in its value
 * reaches the output. */
#include "attention/normalize.h"
#include "attention/paths.h"
#include "attention/reference_row.h"
#include "attention/tensor_element.h"
#include "base/error.h"
#include "base/math.h"

#include <math.h>

/* The matrices of one head, row-major. */
typedef struct head_matrices {
    double *query;           /* [T,Kq] */
    double *key;             /* [S,Kk] */
    double *value;           /* [S,M] */
    double *score_w;         /* [Kq,Kk], general score only */
    double *projected_query; /* [T,Kk] Q W, general score only */
    double *scores;          /* [T,S] */
    double *weights;         /* [T,S] */
    double *output;          /* [T,M] */
    double *totals;          /* [S] */
    double *row;             /* [3,S] scores, weights and scratch of the keys a query may attend */
    int64_t *keys;           /* [S] */
} head_matrices;

/* c [n,m] = a [n,k] b [k,m] */
static void matmul(double *c, const double *a, const double *b, int64_t n, int64_t k, int64_t m)
{
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < m; j++)
            c[i * m + j] = 0;
        for (int64_t r = 0; r < k; r++)
            for (int64_t j = 0; j < m; j++)
                c[i * m + j] += a[i * k + r] * b[r * m + j];
    }
}

/* c [n,m] = a [n,k] bᵀ, b [m,k] */
static void matmul_transposed(double *c, const double *a, const double *b, int64_t n, int64_t k,
                              int64_t m)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++) {
            double sum = 0;
            for (int64_t r = 0; r < k; r++)
                sum += a[i * k + r] * b[j * k + r];
            c[i * m + j] = sum;
        }
}

/* The rows [b, 0…, head] of a tensor [B,N,heads,width]. */
static void get_matrix(double *to, const att_tensor *tensor, int64_t b, int64_t head)
{
    for (int64_t n = 0; n < tensor->shape[1]; n++)
        att_row_get(to + n * tensor->shape[3], tensor, att_element_offset(tensor, b, n, head, 0));
}

static void get_weights(double *to, const att_tensor *tensor, int64_t h)
{
    int64_t head = tensor->shape[0] == 1 ? 0 : h;
    for (int64_t r = 0; r < tensor->shape[1]; r++)
        att_row_get(to + r * tensor->shape[2], tensor, att_element_offset(tensor, head, r, 0, 0));
}

/* Q Kᵀ or Q W Kᵀ with scale and soft cap, before biases and mask. */
static void make_scores(const att_problem *p, const head_matrices *m, int64_t h)
{
    const double *left = m->query;
    if (p->options->score == ATT_SCORE_GENERAL) {
        get_weights(m->score_w, p->in->score_w, h);
        matmul(m->projected_query, m->query, m->score_w, p->T, p->Kq, p->Kk);
        left = m->projected_query;
    }
    matmul_transposed(m->scores, left, m->key, p->T, p->Kk, p->S);
    double cap = p->options->soft_cap;
    for (int64_t n = 0; n < p->T * p->S; n++) {
        m->scores[n] *= p->scale;
        if (cap > 0)
            m->scores[n] = cap * att_tanh(m->scores[n] / cap);
    }
}

/* Adds the biases, sets masked scores to -inf and normalizes row i; returns its log-sum-exp. */
static double finish_row(const att_mask *mask, const head_matrices *m, int64_t b, int64_t h,
                         int64_t i)
{
    const att_problem *p = mask->problem;
    double *scores = m->scores + i * p->S;
    double *weights = m->weights + i * p->S;
    double *own_scores = m->row;
    double *own_weights = m->row + p->S;
    att_key_range range = att_mask_key_range(p, b, i);
    int64_t count = att_mask_keys(mask, range, b, h, i, m->keys);
    for (int64_t n = 0; n < count; n++) {
        int64_t j = m->keys[n];
        att_qk_pair pair = { b, h, i, j, j - range.key_start - range.query_position };
        own_scores[n] = scores[j] + att_bias_get(p->in, &pair);
    }
    for (int64_t j = 0; j < p->S; j++) {
        scores[j] = -INFINITY;
        weights[j] = 0;
    }
    if (count > 0)
        p->normalizer->forward(own_weights, own_scores, count, m->row + 2 * p->S);
    for (int64_t n = 0; n < count; n++) {
        scores[m->keys[n]] = own_scores[n];
        weights[m->keys[n]] = own_weights[n];
    }
    return att_log_sum_exp(own_scores, count);
}

/* Writes the requested outputs besides `output`; the weights are still without dropout. */
static void write_maps(const att_problem *p, const head_matrices *m,
                       const att_attention_outputs *out, int64_t b, int64_t h)
{
    for (int64_t j = 0; j < p->S; j++)
        m->totals[j] = 0;
    for (int64_t i = 0; i < p->T; i++) {
        const double *weights = m->weights + i * p->S;
        if (out->scores)
            att_row_set(out->scores, att_element_offset(out->scores, b, h, i, 0),
                        m->scores + i * p->S);
        if (out->weights)
            att_row_set(out->weights, att_element_offset(out->weights, b, h, i, 0), weights);
        if (out->entropy)
            att_element_set(out->entropy, att_element_offset(out->entropy, b, h, i, 0),
                            att_entropy(weights, p->S));
        for (int64_t j = 0; j < p->S; j++)
            m->totals[j] += weights[j];
    }
    if (out->key_totals)
        att_row_set(out->key_totals, att_element_offset(out->key_totals, b, h, 0, 0), m->totals);
}

static void apply_dropout(const att_problem *p, const att_attention_dropout *drop,
                          const head_matrices *m, int64_t b, int64_t h)
{
    for (int64_t i = 0; i < p->T; i++)
        for (int64_t j = 0; j < p->S; j++)
            m->weights[i * p->S + j] *= att_attention_dropout_factor(drop, b, h, i, j);
}

static void forward_head(const att_mask *mask, const att_attention_dropout *drop,
                         const head_matrices *m, const att_attention_outputs *out, int64_t b,
                         int64_t h)
{
    const att_problem *p = mask->problem;
    int64_t group = h / (p->H / p->G);
    get_matrix(m->query, p->in->query, b, h);
    get_matrix(m->key, p->in->key, b, group);
    get_matrix(m->value, p->in->value, b, group);
    make_scores(p, m, h);
    for (int64_t i = 0; i < p->T; i++) {
        double log_sum_exp = finish_row(mask, m, b, h, i);
        if (out->log_sum_exp)
            att_element_set(out->log_sum_exp, att_element_offset(out->log_sum_exp, b, h, i, 0),
                            log_sum_exp);
    }
    write_maps(p, m, out, b, h);
    apply_dropout(p, drop, m, b, h);
    matmul(m->output, m->weights, m->value, p->T, p->S, p->M);
    for (int64_t i = 0; i < p->T; i++)
        att_row_set(out->output, att_element_offset(out->output, b, i, h, 0), m->output + i * p->M);
}

/* Stops at the first failure: the later arrays may be far too large. */
static bool alloc_matrices(head_matrices *m, att_arena *arena, const att_problem *p)
{
    bool general = p->options->score == ATT_SCORE_GENERAL;
    return (m->query = att_arena_alloc_doubles(arena, p->T, p->Kq)) &&
           (m->key = att_arena_alloc_doubles(arena, p->S, p->Kk)) &&
           (m->value = att_arena_alloc_doubles(arena, p->S, p->M)) &&
           (m->score_w = att_arena_alloc_doubles(arena, general ? p->Kq : 0, p->Kk)) &&
           (m->projected_query = att_arena_alloc_doubles(arena, general ? p->T : 0, p->Kk)) &&
           (m->scores = att_arena_alloc_doubles(arena, p->T, p->S)) &&
           (m->weights = att_arena_alloc_doubles(arena, p->T, p->S)) &&
           (m->output = att_arena_alloc_doubles(arena, p->T, p->M)) &&
           (m->totals = att_arena_alloc_doubles(arena, p->S, 1)) &&
           (m->row = att_arena_alloc_doubles(arena, p->S, 3)) &&
           (m->keys = att_arena_alloc(arena, (size_t)p->S, sizeof *m->keys));
}

bool att_matrix_supports(const att_problem *p)
{
    return p->options->score <= ATT_SCORE_GENERAL;
}

att_status att_matrix_forward(const att_problem *p, const att_attention_outputs *out,
                              void *workspace, att_error *err)
{
    (void)workspace;
    att_mask mask;
    att_arena arena = { 0 };
    head_matrices m;
    att_attention_dropout drop = att_attention_dropout_new(p->options);
    ATT_TRY(att_mask_new(&mask, p, err));
    att_status status = ATT_OK;
    if (!alloc_matrices(&m, &arena, p)) {
        status = att_fail_memory(err);
        goto done;
    }
    for (int64_t b = 0; b < p->B; b++)
        for (int64_t h = 0; h < p->H; h++)
            forward_head(&mask, &drop, &m, out, b, h);
done:
    att_arena_free(&arena);
    att_mask_free(&mask);
    return status;
}
