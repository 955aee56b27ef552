/* One row of attention in double, by the formula per query and key; see reference_row.h. */
#include "attention/reference_row.h"

#include "attention/tensor_element.h"
#include "attention/normalize.h"
#include "base/error.h"
#include "base/math.h"
#include "base/progress.h"

/* Keys copied or projected between two polls of the callback: at most some milliseconds. */
enum { KEYS_PER_POLL = 256 };

double *att_arena_alloc_doubles(att_arena *arena, int64_t a, int64_t b)
{
    int64_t count;
    if (__builtin_mul_overflow(a, b, &count))
        return NULL;
    return att_arena_alloc(arena, (size_t)count, sizeof(double));
}

/* Allocates one head's copy of a parameter. */
static bool alloc_param(att_reference_state *state, double **out, const att_tensor *tensor)
{
    if (!tensor)
        return true;
    *out = att_arena_alloc_doubles(&state->arena, tensor->shape[1],
                                   tensor->rank == 3 ? tensor->shape[2] : 1);
    return *out != NULL;
}

/* Stops at the first failure: the later arrays may be far too large. */
static bool alloc_score_vars(att_reference_state *state)
{
    const att_problem *p = state->problem;
    att_arena *arena = &state->arena;
    att_score_vars *x = &state->score_vars;
    return (x->q = att_arena_alloc_doubles(arena, p->Kq, 1)) &&
           (x->k = att_arena_alloc_doubles(arena, p->S, p->Kk)) &&
           (x->projected_query =
                att_arena_alloc_doubles(arena, att_score_projected_query_size(p), 1)) &&
           (x->projected_keys =
                att_arena_alloc_doubles(arena, p->S, att_score_projected_key_size(p))) &&
           alloc_param(state, &x->w, p->in->score_w) && alloc_param(state, &x->u, p->in->score_u) &&
           alloc_param(state, &x->b, p->in->score_b) && alloc_param(state, &x->v, p->in->score_v);
}

static bool alloc_row(att_reference_state *state)
{
    int64_t S = state->problem->S;
    att_arena *arena = &state->arena;
    att_reference_row *row = &state->row;
    return (row->keys = att_arena_alloc(arena, (size_t)S, sizeof *row->keys)) &&
           (row->scaled = att_arena_alloc_doubles(arena, S, 1)) &&
           (row->scores = att_arena_alloc_doubles(arena, S, 1)) &&
           (row->weights = att_arena_alloc_doubles(arena, S, 1)) &&
           (row->dropout_factors = att_arena_alloc_doubles(arena, S, 1)) &&
           (row->scratch = att_arena_alloc_doubles(arena, S, 1));
}

att_status att_reference_state_new(att_reference_state *state, const att_problem *problem,
                                   att_error *err)
{
    *state = (att_reference_state){ .problem = problem,
                                    .dropout = att_attention_dropout_new(problem->options) };
    ATT_TRY(att_mask_new(&state->mask, problem, err));
    state->values = att_arena_alloc_doubles(&state->arena, problem->S, problem->M);
    if (!state->values || !alloc_score_vars(state) || !alloc_row(state))
        return att_fail_memory(err);
    return ATT_OK;
}

void att_reference_state_free(att_reference_state *state)
{
    att_mask_free(&state->mask);
    att_arena_free(&state->arena);
}

void att_reference_load_group(att_reference_state *state, int64_t b, int64_t g)
{
    const att_problem *p = state->problem;
    state->b = b;
    state->g = g;
    for (int64_t j = 0; j < p->S && !att_progress_abandoned(); j++) {
        att_row_get(state->score_vars.k + j * p->Kk, p->in->key,
                    att_element_offset(p->in->key, b, j, g, 0));
        att_row_get(state->values + j * p->M, p->in->value,
                    att_element_offset(p->in->value, b, j, g, 0));
        if (j % KEYS_PER_POLL == KEYS_PER_POLL - 1)
            att_progress_poll();
    }
}

/* Copies head h, or the only head, of a parameter [H|1,…]. */
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

void att_reference_load_head(att_reference_state *state, int64_t h)
{
    const att_problem *p = state->problem;
    state->h = h;
    get_parameter(state->score_vars.w, p->in->score_w, h);
    get_parameter(state->score_vars.u, p->in->score_u, h);
    get_parameter(state->score_vars.b, p->in->score_b, h);
    get_parameter(state->score_vars.v, p->in->score_v, h);
    for (int64_t j = 0; p->score->project_key && j < p->S && !att_progress_abandoned(); j++) {
        p->score->project_key(p, &state->score_vars, j);
        if (j % KEYS_PER_POLL == KEYS_PER_POLL - 1)
            att_progress_poll();
    }
}

att_qk_pair att_reference_qk_pair(const att_reference_state *state, int64_t n)
{
    int64_t j = state->row.keys[n];
    return (att_qk_pair){ .b = state->b,
                          .h = state->h,
                          .i = state->i,
                          .j = j,
                          .distance =
                              j - state->key_range.key_start - state->key_range.query_position };
}

/* score → scale → soft cap → bias, for every key of the row. */
static void score_row(att_reference_state *state)
{
    const att_problem *p = state->problem;
    att_reference_row *row = &state->row;
    double cap = p->options->soft_cap;
    for (int64_t n = 0; n < row->count; n++) {
        int64_t j = row->keys[n];
        att_qk_pair pair = att_reference_qk_pair(state, n);
        double score =
            p->scale * p->score->score(p, &state->score_vars, j, j - state->key_range.key_start);
        row->scaled[n] = score;
        if (cap > 0)
            score = cap * att_tanh(score / cap);
        row->scores[n] = score + att_bias_get(p->in, &pair);
        row->dropout_factors[n] =
            att_attention_dropout_factor(&state->dropout, state->b, state->h, state->i, j);
    }
}

void att_reference_compute_row(att_reference_state *state, int64_t i)
{
    const att_problem *p = state->problem;
    att_reference_row *row = &state->row;
    state->i = i;
    state->key_range = att_mask_key_range(p, state->b, i);
    row->count = att_mask_keys(&state->mask, state->key_range, state->b, state->h, i, row->keys);
    if (row->count == 0)
        return;
    att_row_get(state->score_vars.q, p->in->query,
                att_element_offset(p->in->query, state->b, i, state->h, 0));
    if (p->score->project_query)
        p->score->project_query(p, &state->score_vars);
    score_row(state);
    p->normalizer->forward(row->weights, row->scores, row->count, row->scratch);
}
