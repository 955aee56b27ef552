/* Working an attention row out, the formula per query and key; see work.h. */
#include "attention/work.h"

#include "attention/element.h"
#include "attention/normalise.h"
#include "base/error.h"
#include "base/math.h"

double *att_take_numbers(att_arena *arena, int64_t a, int64_t b)
{
    int64_t count;
    if (__builtin_mul_overflow(a, b, &count))
        return NULL;
    return att_arena_take(arena, (size_t)count, sizeof(double));
}

/* Room for one head's copy of a parameter. */
static bool take_parameter(att_work *work, double **out, const att_tensor *tensor)
{
    if (!tensor)
        return true;
    *out =
        att_take_numbers(&work->arena, tensor->shape[1], tensor->rank == 3 ? tensor->shape[2] : 1);
    return *out != NULL;
}

/* Stops at the first refusal: what follows may be far too large. */
static bool take_score(att_work *work)
{
    const att_problem *p = work->problem;
    att_arena *arena = &work->arena;
    att_score_vars *x = &work->x;
    return (x->q = att_take_numbers(arena, p->Kq, 1)) &&
           (x->k = att_take_numbers(arena, p->S, p->Kk)) &&
           (x->of_query = att_take_numbers(arena, att_query_room(p), 1)) &&
           (x->of_keys = att_take_numbers(arena, p->S, att_key_room(p))) &&
           take_parameter(work, &x->w, p->in->score_w) &&
           take_parameter(work, &x->u, p->in->score_u) &&
           take_parameter(work, &x->b, p->in->score_b) &&
           take_parameter(work, &x->v, p->in->score_v);
}

static bool take_row(att_work *work)
{
    int64_t S = work->problem->S;
    att_arena *arena = &work->arena;
    att_row *row = &work->row;
    return (row->keys = att_arena_take(arena, (size_t)S, sizeof *row->keys)) &&
           (row->plain = att_take_numbers(arena, S, 1)) &&
           (row->scores = att_take_numbers(arena, S, 1)) &&
           (row->weights = att_take_numbers(arena, S, 1)) &&
           (row->factors = att_take_numbers(arena, S, 1)) &&
           (row->scratch = att_take_numbers(arena, S, 1));
}

att_status att_work_new(att_work *work, const att_problem *problem, att_error *err)
{
    *work = (att_work){ .problem = problem, .drop = att_drop_mask_new(problem->how) };
    ATT_TRY(att_mask_new(&work->mask, problem, err));
    work->values = att_take_numbers(&work->arena, problem->S, problem->M);
    if (!work->values || !take_score(work) || !take_row(work))
        return att_fail_memory(err);
    return ATT_OK;
}

void att_work_free(att_work *work)
{
    att_mask_free(&work->mask);
    att_arena_free(&work->arena);
}

void att_work_group(att_work *work, int64_t b, int64_t g)
{
    const att_problem *p = work->problem;
    work->b = b;
    work->g = g;
    for (int64_t j = 0; j < p->S; j++) {
        att_row_get(work->x.k + j * p->Kk, p->in->key, att_element_at(p->in->key, b, j, g, 0));
        att_row_get(work->values + j * p->M, p->in->value,
                    att_element_at(p->in->value, b, j, g, 0));
    }
}

/* Copies head h, or the only one, of a parameter [H|1,…]. */
static void get_parameter(double *to, const att_tensor *tensor, int64_t h)
{
    if (!tensor)
        return;
    int64_t head = tensor->shape[0] == 1 ? 0 : h;
    if (tensor->rank == 2) {
        att_row_get(to, tensor, att_element_at(tensor, head, 0, 0, 0));
        return;
    }
    for (int64_t r = 0; r < tensor->shape[1]; r++)
        att_row_get(to + r * tensor->shape[2], tensor, att_element_at(tensor, head, r, 0, 0));
}

void att_work_head(att_work *work, int64_t h)
{
    const att_problem *p = work->problem;
    work->h = h;
    get_parameter(work->x.w, p->in->score_w, h);
    get_parameter(work->x.u, p->in->score_u, h);
    get_parameter(work->x.b, p->in->score_b, h);
    get_parameter(work->x.v, p->in->score_v, h);
    for (int64_t j = 0; p->score->key && j < p->S; j++)
        p->score->key(p, &work->x, j);
}

att_pair att_work_pair(const att_work *work, int64_t n)
{
    int64_t j = work->row.keys[n];
    return (att_pair){ .b = work->b,
                       .h = work->h,
                       .i = work->i,
                       .j = j,
                       .distance = j - work->span.key_start - work->span.query_position };
}

/* score → scale → soft cap → bias, for every key of the row. */
static void score_row(att_work *work)
{
    const att_problem *p = work->problem;
    att_row *row = &work->row;
    double cap = p->how->soft_cap;
    for (int64_t n = 0; n < row->count; n++) {
        int64_t j = row->keys[n];
        att_pair pair = att_work_pair(work, n);
        double score = p->scale * p->score->pair(p, &work->x, j, j - work->span.key_start);
        row->plain[n] = score;
        if (cap > 0)
            score = cap * att_tanh(score / cap);
        row->scores[n] = score + att_bias_get(p->in, &pair);
        row->factors[n] = att_drop_mask_factor(&work->drop, work->b, work->h, work->i, j);
    }
}

void att_work_query(att_work *work, int64_t i)
{
    const att_problem *p = work->problem;
    att_row *row = &work->row;
    work->i = i;
    work->span = att_mask_span(p, work->b, i);
    row->count = att_mask_keys(&work->mask, work->span, work->b, work->h, i, row->keys);
    if (row->count == 0)
        return;
    att_row_get(work->x.q, p->in->query, att_element_at(p->in->query, work->b, i, work->h, 0));
    if (p->score->query)
        p->score->query(p, &work->x);
    score_row(work);
    p->normaliser->forward(row->weights, row->scores, row->count, row->scratch);
}
