/* The truth, backward: the reference's row is worked out again, then walked from its end to its
 * start: combine, dropout, normalise, bias, soft cap, scale, score. Sums run in double and reach
 * the caller's gradients once, whatever their type. A key that no query may attend, and a query
 * that may attend none, are never touched: NaN there cannot leak. */
#include "attention/element.h"
#include "attention/normalise.h"
#include "attention/work.h"
#include "base/error.h"
#include "base/math.h"

#include <string.h>

/* What the backward adds to the working area. */
typedef struct gradients {
    const att_tensor *output_grad;
    const att_attention_grads *grads;
    att_tensor totals[ATT_SLOTS]; /* parameters and biases, in their own shapes; else no data */
    att_score_vars g;             /* of the score's variables; w, u, b and v lie in totals */
    double *values;               /* [S,M] of the group at hand */
    bool *used;                   /* [S] some query of the head at hand attends the key */
    double *output;               /* [M] of the query at hand */
    double *weights;              /* [S] of its row */
    double *scores;               /* [S] */
} gradients;

static bool take_total(att_work *work, att_tensor *total, const att_tensor *input)
{
    int64_t count = 1;
    for (int d = 0; d < input->rank; d++)
        if (__builtin_mul_overflow(count, input->shape[d], &count))
            return false;
    *total = att_tensor_view(att_take_numbers(&work->arena, count, 1), ATT_F64, input->rank,
                             input->shape);
    return total->data != NULL;
}

/* A score adds to the gradients of all its parameters, asked for or not; biases may be as large as
 * T·S and get room only on request. */
static bool take_totals(att_work *work, gradients *r)
{
    for (int s = ATT_SLOT_SCORE_W; s < ATT_SLOTS; s++) {
        const att_tensor *input = att_problem_input(work->problem->in, (att_slot)s);
        bool wanted = s < ATT_SLOT_BIAS || att_problem_grad(r->grads, (att_slot)s);
        if (input && wanted && !take_total(work, &r->totals[s], input))
            return false;
    }
    return true;
}

/* Stops at the first refusal: what follows may be far too large. */
static bool take_gradients(att_work *work, gradients *r)
{
    const att_problem *p = work->problem;
    att_arena *arena = &work->arena;
    return (r->g.q = att_take_numbers(arena, p->Kq, 1)) &&
           (r->g.k = att_take_numbers(arena, p->S, p->Kk)) &&
           (r->g.of_query = att_take_numbers(arena, att_query_room(p), 1)) &&
           (r->g.of_keys = att_take_numbers(arena, p->S, att_key_room(p))) &&
           (r->values = att_take_numbers(arena, p->S, p->M)) &&
           (r->used = att_arena_take(arena, (size_t)p->S, sizeof *r->used)) &&
           (r->output = att_take_numbers(arena, p->M, 1)) &&
           (r->weights = att_take_numbers(arena, p->S, 1)) &&
           (r->scores = att_take_numbers(arena, p->S, 1)) && take_totals(work, r);
}

static void clear(double *numbers, int64_t count)
{
    for (int64_t n = 0; n < count; n++)
        numbers[n] = 0;
}

/* output = Σ weight · factor · value, backward. */
static void combine_back(const att_work *work, const gradients *r)
{
    const att_row *row = &work->row;
    int64_t M = work->problem->M;
    for (int64_t n = 0; n < row->count; n++) {
        const double *value = work->values + row->keys[n] * M;
        double *value_grad = r->values + row->keys[n] * M;
        double weight = row->weights[n] * row->factors[n];
        double sum = 0;
        for (int64_t m = 0; m < M; m++) {
            sum += r->output[m] * value[m];
            value_grad[m] += weight * r->output[m];
        }
        r->weights[n] = row->factors[n] * sum;
    }
}

/* bias ← soft cap ← scale ← score, backward. 1/cosh² is the derivative of tanh without
 * cancellation. */
static void score_back(const att_work *work, const gradients *r)
{
    const att_problem *p = work->problem;
    const att_row *row = &work->row;
    double cap = p->how->soft_cap;
    for (int64_t n = 0; n < row->count; n++) {
        int64_t j = row->keys[n];
        att_pair pair = att_work_pair(work, n);
        double grad = r->scores[n];
        att_bias_back(&r->totals[ATT_SLOT_BIAS], &r->totals[ATT_SLOT_ALIBI],
                      &r->totals[ATT_SLOT_RELATIVE], &pair, grad);
        if (cap > 0) {
            double cosine = att_cosh(row->plain[n] / cap);
            grad = grad / cosine / cosine;
        }
        p->score->pair_back(p, &work->x, &r->g, j, j - work->span.key_start, grad * p->scale);
        r->used[j] = true;
    }
    if (p->score->query_back)
        p->score->query_back(p, &work->x, &r->g);
}

static void backward_query(att_work *work, int64_t i, const gradients *r)
{
    const att_problem *p = work->problem;
    const att_row *row = &work->row;
    att_work_query(work, i);
    if (row->count == 0)
        return;
    clear(r->g.q, p->Kq);
    clear(r->g.of_query, att_query_room(p));
    att_row_get(r->output, r->output_grad, att_element_at(r->output_grad, work->b, i, work->h, 0));
    combine_back(work, r);
    p->normaliser->backward(r->scores, r->weights, row->scores, row->weights, row->count);
    score_back(work, r);
    if (r->grads->query)
        att_row_add(r->grads->query, att_element_at(r->grads->query, work->b, i, work->h, 0),
                    r->g.q);
}

/* Where head h of a parameter's gradient is summed. */
static double *head_total(const att_tensor *total, int64_t h)
{
    if (!total->data || total->shape[0] == 1)
        return total->data;
    return (double *)total->data + h * total->stride[0];
}

static void backward_head(att_work *work, int64_t h, gradients *r)
{
    const att_problem *p = work->problem;
    att_work_head(work, h);
    r->g.w = head_total(&r->totals[ATT_SLOT_SCORE_W], h);
    r->g.u = head_total(&r->totals[ATT_SLOT_SCORE_U], h);
    r->g.b = head_total(&r->totals[ATT_SLOT_SCORE_B], h);
    r->g.v = head_total(&r->totals[ATT_SLOT_SCORE_V], h);
    clear(r->g.of_keys, p->S * att_key_room(p));
    memset(r->used, 0, (size_t)p->S * sizeof *r->used);
    for (int64_t i = 0; i < p->T; i++)
        backward_query(work, i, r);
    for (int64_t j = 0; p->score->key_back && j < p->S; j++)
        if (r->used[j])
            p->score->key_back(p, &work->x, &r->g, j);
}

static void backward_group(att_work *work, int64_t b, int64_t g, gradients *r)
{
    const att_problem *p = work->problem;
    const att_tensor *key = r->grads->key;
    const att_tensor *value = r->grads->value;
    int64_t heads = p->H / p->G;
    att_work_group(work, b, g);
    clear(r->g.k, p->S * p->Kk);
    clear(r->values, p->S * p->M);
    for (int64_t h = g * heads; h < (g + 1) * heads; h++)
        backward_head(work, h, r);
    for (int64_t j = 0; j < p->S; j++) {
        if (key)
            att_row_add(key, att_element_at(key, b, j, g, 0), r->g.k + j * p->Kk);
        if (value)
            att_row_add(value, att_element_at(value, b, j, g, 0), r->values + j * p->M);
    }
}

static att_status backward(att_work *work, gradients *r, att_error *err)
{
    const att_problem *p = work->problem;
    if (!take_gradients(work, r))
        return att_fail_memory(err);
    for (int64_t b = 0; b < p->B; b++)
        for (int64_t g = 0; g < p->G; g++)
            backward_group(work, b, g, r);
    for (int s = ATT_SLOT_SCORE_W; s < ATT_SLOTS; s++) {
        const att_tensor *grad = att_problem_grad(r->grads, (att_slot)s);
        if (grad)
            att_total_add(grad, &r->totals[s]);
    }
    return ATT_OK;
}

att_status att_attention_backward_ref(const att_attention *how, const att_attention_inputs *in,
                                      const att_tensor *output_grad,
                                      const att_attention_grads *grads, att_error *err)
{
    att_problem problem;
    ATT_TRY(att_problem_new(&problem, how, in, err));
    ATT_TRY(att_problem_check_grads(&problem, output_grad, grads, err));
    if (!att_problem_wants(grads))
        return ATT_OK;
    att_work work;
    gradients r = { .output_grad = output_grad, .grads = grads };
    att_status status = att_work_new(&work, &problem, err);
    if (status == ATT_OK)
        status = backward(&work, &r, err);
    att_work_free(&work);
    return status;
}
