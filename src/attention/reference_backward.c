/* The reference, backward: each row is recomputed, then differentiated from its end to its start:
 * combine, dropout, normalize, bias, soft cap, scale, score. Sums run in double and are added to
 * the caller's gradients once, whatever their dtype. A key that no query may attend, and a query
 * that may attend no key, are never read: NaN there cannot leak. */
#include "attention/normalize.h"
#include "attention/paths.h"
#include "attention/reference_row.h"
#include "attention/tensor_element.h"
#include "base/error.h"
#include "base/math.h"
#include "base/progress.h"

#include <string.h>

/* What the backward adds to the state. */
typedef struct reference_grads {
    const att_tensor *output_grad;
    const att_attention_grads *grads;
    const att_pair_grads *pairs;       /* or NULL */
    att_tensor totals[ATT_SLOT_COUNT]; /* of parameters and biases; no data for other slots */
    att_score_vars g;                  /* of the score's variables; w, u, b and v are in totals */
    double *values;                    /* [S,M] of the current group */
    bool *used;                        /* [S] some query of the current head attends the key */
    double *output;                    /* [M] of the current query */
    double *weights;                   /* [S] of its row */
    double *scores;                    /* [S] */
} reference_grads;

static bool alloc_total(att_reference_state *state, att_tensor *total, const att_tensor *input)
{
    int64_t count = 1;
    for (int d = 0; d < input->rank; d++)
        if (__builtin_mul_overflow(count, input->shape[d], &count))
            return false;
    *total = att_tensor_view(att_arena_alloc_doubles(&state->arena, count, 1), ATT_F64, input->rank,
                             input->shape);
    return total->data != NULL;
}

/* A score adds to the gradients of all its parameters, requested or not; those of biases may have
 * T·S elements and are allocated only on request. */
static bool alloc_totals(att_reference_state *state, reference_grads *r)
{
    for (int s = ATT_SLOT_SCORE_W; s < ATT_SLOT_COUNT; s++) {
        const att_tensor *input = att_problem_input(state->problem->in, (att_slot)s);
        bool wanted = s < ATT_SLOT_BIAS || att_problem_grad(r->grads, (att_slot)s);
        if (input && wanted && !alloc_total(state, &r->totals[s], input))
            return false;
    }
    return true;
}

/* Stops at the first failure: the later arrays may be far too large. */
static bool alloc_grads(att_reference_state *state, reference_grads *r)
{
    const att_problem *p = state->problem;
    att_arena *arena = &state->arena;
    return (r->g.q = att_arena_alloc_doubles(arena, p->Kq, 1)) &&
           (r->g.k = att_arena_alloc_doubles(arena, p->S, p->Kk)) &&
           (r->g.projected_query =
                att_arena_alloc_doubles(arena, att_score_projected_query_size(p), 1)) &&
           (r->g.projected_keys =
                att_arena_alloc_doubles(arena, p->S, att_score_projected_key_size(p))) &&
           (r->values = att_arena_alloc_doubles(arena, p->S, p->M)) &&
           (r->used = att_arena_alloc(arena, (size_t)p->S, sizeof *r->used)) &&
           (r->output = att_arena_alloc_doubles(arena, p->M, 1)) &&
           (r->weights = att_arena_alloc_doubles(arena, p->S, 1)) &&
           (r->scores = att_arena_alloc_doubles(arena, p->S, 1)) && alloc_totals(state, r);
}

static void clear(double *numbers, int64_t count)
{
    for (int64_t n = 0; n < count; n++)
        numbers[n] = 0;
}

/* Backward of output = Σ weight · factor · value. */
static void combine_backward(const att_reference_state *state, const reference_grads *r)
{
    const att_reference_row *row = &state->row;
    int64_t M = state->problem->M;
    for (int64_t n = 0; n < row->count; n++) {
        const double *value = state->values + row->keys[n] * M;
        double *value_grad = r->values + row->keys[n] * M;
        double weight = row->weights[n] * row->dropout_factors[n];
        double sum = 0;
        for (int64_t m = 0; m < M; m++) {
            sum += r->output[m] * value[m];
            value_grad[m] += weight * r->output[m];
        }
        r->weights[n] = row->dropout_factors[n] * sum;
    }
}

/* Adds what reaches the row's pairs from elsewhere to `grads` and stores the totals; both are
 * [B,H,T,S] or NULL. */
static void exchange_pairs(const att_reference_state *state, const double *from, double *to,
                           double *grads)
{
    const att_problem *p = state->problem;
    int64_t row = ((state->b * p->H + state->h) * p->T + state->i) * p->S;
    for (int64_t n = 0; n < state->row.count; n++) {
        int64_t at = row + state->row.keys[n];
        if (from)
            grads[n] += from[at];
        if (to)
            to[at] = grads[n];
    }
}

static void store_product_grad(const att_reference_state *state, const reference_grads *r,
                               int64_t n, double grad)
{
    const att_problem *p = state->problem;
    int64_t row = ((state->b * p->H + state->h) * p->T + state->i) * p->S;
    if (r->pairs && r->pairs->products_total)
        r->pairs->products_total[row + state->row.keys[n]] = grad;
}

/* Backward of bias, soft cap, scale and score. 1/cosh² is the derivative of tanh without
 * cancellation. */
static void score_backward(const att_reference_state *state, const reference_grads *r)
{
    const att_problem *p = state->problem;
    const att_reference_row *row = &state->row;
    double cap = p->options->soft_cap;
    for (int64_t n = 0; n < row->count; n++) {
        int64_t j = row->keys[n];
        att_qk_pair pair = att_reference_qk_pair(state, n);
        double grad = r->scores[n];
        att_bias_backward(&r->totals[ATT_SLOT_BIAS], &r->totals[ATT_SLOT_ALIBI],
                          &r->totals[ATT_SLOT_RELATIVE], &pair, grad);
        if (cap > 0) {
            double cosine = att_cosh(row->scaled[n] / cap);
            grad = grad / cosine / cosine;
        }
        store_product_grad(state, r, n, grad * p->scale);
        p->score->score_backward(p, &state->score_vars, &r->g, j, j - state->key_range.key_start,
                                 grad * p->scale);
        r->used[j] = true;
    }
    if (p->score->project_query_backward)
        p->score->project_query_backward(p, &state->score_vars, &r->g);
}

static void backward_query(att_reference_state *state, int64_t i, const reference_grads *r)
{
    const att_problem *p = state->problem;
    const att_reference_row *row = &state->row;
    att_reference_compute_row(state, i);
    if (row->count == 0)
        return;
    clear(r->g.q, p->Kq);
    clear(r->g.projected_query, att_score_projected_query_size(p));
    att_row_get(r->output, r->output_grad,
                att_element_offset(r->output_grad, state->b, i, state->h, 0));
    combine_backward(state, r);
    if (r->pairs)
        exchange_pairs(state, r->pairs->weights, r->pairs->weights_total, r->weights);
    p->normalizer->backward(r->scores, r->weights, row->scores, row->weights, row->count);
    if (r->pairs)
        exchange_pairs(state, r->pairs->scores, r->pairs->scores_total, r->scores);
    score_backward(state, r);
    if (r->grads->query)
        att_row_add(r->grads->query, att_element_offset(r->grads->query, state->b, i, state->h, 0),
                    r->g.q);
}

/* The part of a parameter's gradient for head h. */
static double *head_total(const att_tensor *total, int64_t h)
{
    if (!total->data || total->shape[0] == 1)
        return total->data;
    return (double *)total->data + h * total->stride[0];
}

static void backward_head(att_reference_state *state, int64_t h, reference_grads *r)
{
    const att_problem *p = state->problem;
    att_reference_load_head(state, h);
    r->g.w = head_total(&r->totals[ATT_SLOT_SCORE_W], h);
    r->g.u = head_total(&r->totals[ATT_SLOT_SCORE_U], h);
    r->g.b = head_total(&r->totals[ATT_SLOT_SCORE_B], h);
    r->g.v = head_total(&r->totals[ATT_SLOT_SCORE_V], h);
    clear(r->g.projected_keys, p->S * att_score_projected_key_size(p));
    memset(r->used, 0, (size_t)p->S * sizeof *r->used);
    for (int64_t i = 0; i < p->T && !att_progress_abandoned(); i++) {
        backward_query(state, i, r);
        att_progress_poll();
    }
    for (int64_t j = 0; p->score->project_key_backward && j < p->S; j++)
        if (r->used[j])
            p->score->project_key_backward(p, &state->score_vars, &r->g, j);
}

static void backward_group(att_reference_state *state, int64_t b, int64_t g, reference_grads *r)
{
    const att_problem *p = state->problem;
    const att_tensor *key = r->grads->key;
    const att_tensor *value = r->grads->value;
    int64_t heads = p->H / p->G;
    att_reference_load_group(state, b, g);
    clear(r->g.k, p->S * p->Kk);
    clear(r->values, p->S * p->M);
    for (int64_t h = g * heads; h < (g + 1) * heads; h++)
        backward_head(state, h, r);
    for (int64_t j = 0; j < p->S; j++) {
        if (key)
            att_row_add(key, att_element_offset(key, b, j, g, 0), r->g.k + j * p->Kk);
        if (value)
            att_row_add(value, att_element_offset(value, b, j, g, 0), r->values + j * p->M);
    }
}

static att_status backward(att_reference_state *state, reference_grads *r, att_error *err)
{
    const att_problem *p = state->problem;
    if (!alloc_grads(state, r))
        return att_fail_memory(err);
    for (int64_t b = 0; b < p->B; b++)
        for (int64_t g = 0; g < p->G; g++)
            backward_group(state, b, g, r);
    for (int s = ATT_SLOT_SCORE_W; s < ATT_SLOT_COUNT; s++) {
        const att_tensor *grad = att_problem_grad(r->grads, (att_slot)s);
        if (grad)
            att_grad_accumulate(grad, &r->totals[s]);
    }
    return ATT_OK;
}

att_status att_reference_backward(const att_problem *problem, const att_attention_outputs *forward,
                                  const att_tensor *output_grad, const att_attention_grads *grads,
                                  void *workspace, att_error *err)
{
    (void)forward; /* recomputed in double */
    (void)workspace;
    return att_reference_backward_pairs(problem, output_grad, grads, NULL, err);
}

att_status att_reference_backward_pairs(const att_problem *problem, const att_tensor *output_grad,
                                        const att_attention_grads *grads,
                                        const att_pair_grads *pairs, att_error *err)
{
    att_reference_state state;
    reference_grads r = { .output_grad = output_grad, .grads = grads, .pairs = pairs };
    att_status status = att_reference_state_new(&state, problem, err);
    if (status == ATT_OK)
        status = backward(&state, &r, err);
    att_reference_state_free(&state);
    return status;
}
