/* Working an attention row out, the formula per query and key; see work.h. */
#include "attention/reference_row.h"

#include "attention/tensor_element.h"
#include "attention/normalize.h"
#include "base/error.h"
#include "base/math.h"

double *att_arena_alloc_doubles(att_arena *arena, int64_t a, int64_t b)
{
    int64_t count;
    if (__builtin_mul_overflow(a, b, &count))
        return NULL;
    return att_arena_alloc(arena, (size_t)count, sizeof(double));
}

/* Room for one head's copy of a parameter. */
static bool alloc_param(att_reference_state *work, double **out, const att_tensor *tensor)
{
    if (!tensor)
        return true;
    *out = att_arena_alloc_doubles(&work->arena, tensor->shape[1],
                                   tensor->rank == 3 ? tensor->shape[2] : 1);
    return *out != NULL;
}

/* Stops at the first refusal: what follows may be far too large. */
static bool alloc_score_vars(att_reference_state *work)
{
    const att_problem *p = work->problem;
    att_arena *arena = &work->arena;
    att_score_vars *x = &work->score_vars;
    return (x->q = att_arena_alloc_doubles(arena, p->Kq, 1)) &&
           (x->k = att_arena_alloc_doubles(arena, p->S, p->Kk)) &&
           (x->projected_query =
                att_arena_alloc_doubles(arena, att_score_projected_query_size(p), 1)) &&
           (x->projected_keys =
                att_arena_alloc_doubles(arena, p->S, att_score_projected_key_size(p))) &&
           alloc_param(work, &x->w, p->in->score_w) && alloc_param(work, &x->u, p->in->score_u) &&
           alloc_param(work, &x->b, p->in->score_b) && alloc_param(work, &x->v, p->in->score_v);
}

static bool alloc_row(att_reference_state *work)
{
    int64_t S = work->problem->S;
    att_arena *arena = &work->arena;
    att_reference_row *row = &work->row;
    return (row->keys = att_arena_alloc(arena, (size_t)S, sizeof *row->keys)) &&
           (row->scaled = att_arena_alloc_doubles(arena, S, 1)) &&
           (row->scores = att_arena_alloc_doubles(arena, S, 1)) &&
           (row->weights = att_arena_alloc_doubles(arena, S, 1)) &&
           (row->dropout_factors = att_arena_alloc_doubles(arena, S, 1)) &&
           (row->scratch = att_arena_alloc_doubles(arena, S, 1));
}

att_status att_reference_state_new(att_reference_state *work, const att_problem *problem,
                                   att_error *err)
{
    *work = (att_reference_state){ .problem = problem,
                                   .dropout = att_attention_dropout_new(problem->options) };
    ATT_TRY(att_mask_new(&work->mask, problem, err));
    work->values = att_arena_alloc_doubles(&work->arena, problem->S, problem->M);
    if (!work->values || !alloc_score_vars(work) || !alloc_row(work))
        return att_fail_memory(err);
    return ATT_OK;
}

void att_reference_state_free(att_reference_state *work)
{
    att_mask_free(&work->mask);
    att_arena_free(&work->arena);
}

void att_reference_load_group(att_reference_state *work, int64_t b, int64_t g)
{
    const att_problem *p = work->problem;
    work->b = b;
    work->g = g;
    for (int64_t j = 0; j < p->S; j++) {
        att_row_get(work->score_vars.k + j * p->Kk, p->in->key,
                    att_element_offset(p->in->key, b, j, g, 0));
        att_row_get(work->values + j * p->M, p->in->value,
                    att_element_offset(p->in->value, b, j, g, 0));
    }
}

/* Copies head h, or the only one, of a parameter [H|1,…]. */
static void get_parameter(double *to, const att_tensor *tensor, int64_t h)
{
    if (!tensor)
        return;
    int64_t head = tensor->shape[0] == 1 ? 0 : h;
    if (tensor->rank == 2) {
        att_row_get(to, tensor, att_element_offset(tensor, head, 0, 0, 0));
        return;
    }
    for (int64_t r = 0; r < tensor->shape[1]; r++)
        att_row_get(to + r * tensor->shape[2], tensor, att_element_offset(tensor, head, r, 0, 0));
}

void att_reference_load_head(att_reference_state *work, int64_t h)
{
    const att_problem *p = work->problem;
    work->h = h;
    get_parameter(work->score_vars.w, p->in->score_w, h);
    get_parameter(work->score_vars.u, p->in->score_u, h);
    get_parameter(work->score_vars.b, p->in->score_b, h);
    get_parameter(work->score_vars.v, p->in->score_v, h);
    for (int64_t j = 0; p->score->project_key && j < p->S; j++)
        p->score->project_key(p, &work->score_vars, j);
}

att_qk_pair att_reference_qk_pair(const att_reference_state *work, int64_t n)
{
    int64_t j = work->row.keys[n];
    return (att_qk_pair){ .b = work->b,
                          .h = work->h,
                          .i = work->i,
                          .j = j,
                          .distance =
                              j - work->key_range.key_start - work->key_range.query_position };
}

/* score → scale → soft cap → bias, for every key of the row. */
static void score_row(att_reference_state *work)
{
    const att_problem *p = work->problem;
    att_reference_row *row = &work->row;
    double cap = p->options->soft_cap;
    for (int64_t n = 0; n < row->count; n++) {
        int64_t j = row->keys[n];
        att_qk_pair pair = att_reference_qk_pair(work, n);
        double score =
            p->scale * p->score->score(p, &work->score_vars, j, j - work->key_range.key_start);
        row->scaled[n] = score;
        if (cap > 0)
            score = cap * att_tanh(score / cap);
        row->scores[n] = score + att_bias_get(p->in, &pair);
        row->dropout_factors[n] =
            att_attention_dropout_factor(&work->dropout, work->b, work->h, work->i, j);
    }
}

void att_reference_compute_row(att_reference_state *work, int64_t i)
{
    const att_problem *p = work->problem;
    att_reference_row *row = &work->row;
    work->i = i;
    work->key_range = att_mask_key_range(p, work->b, i);
    row->count = att_mask_keys(&work->mask, work->key_range, work->b, work->h, i, row->keys);
    if (row->count == 0)
        return;
    att_row_get(work->score_vars.q, p->in->query,
                att_element_offset(p->in->query, work->b, i, work->h, 0));
    if (p->score->project_query)
        p->score->project_query(p, &work->score_vars);
    score_row(work);
    p->normalizer->forward(row->weights, row->scores, row->count, row->scratch);
}
