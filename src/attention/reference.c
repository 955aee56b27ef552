/* The reference: attention forward in double precision, one query and one key at a time, without
 * matrix products (handout 003, question 2). Every other path is tested against it. */
#include "attention/normalize.h"
#include "attention/paths.h"
#include "attention/reference_row.h"
#include "attention/tensor_element.h"
#include "base/error.h"
#include "base/progress.h"

#include <math.h>

/* What the forward adds to the state: one output row and the key totals. */
typedef struct reference_outputs {
    const att_attention_outputs *out;
    double *output; /* [M] */
    double *totals; /* [S] of the current head */
} reference_outputs;

/* output = Σ weight · value over the keys of the row. */
static void combine(const att_reference_state *state, double *output)
{
    const att_reference_row *row = &state->row;
    int64_t M = state->problem->M;
    for (int64_t m = 0; m < M; m++)
        output[m] = 0;
    for (int64_t n = 0; n < row->count; n++) {
        double weight = row->weights[n] * row->dropout_factors[n];
        const double *value = state->values + row->keys[n] * M;
        for (int64_t m = 0; m < M; m++)
            output[m] += weight * value[m];
    }
}

/* Writes one row of a [B,H,T,S] output: `masked` everywhere but at the keys of the row. */
static void write_map(const att_reference_state *state, const att_tensor *map,
                      const double *numbers, double masked)
{
    if (!map)
        return;
    int64_t at = att_element_offset(map, state->b, state->h, state->i, 0);
    att_row_fill(map, at, masked);
    for (int64_t n = 0; n < state->row.count; n++)
        att_element_set(map, at + state->row.keys[n] * map->stride[3], numbers[n]);
}

static void write_number(const att_reference_state *state, const att_tensor *tensor, double number)
{
    att_element_set(tensor, att_element_offset(tensor, state->b, state->h, state->i, 0), number);
}

static void write_query(const att_reference_state *state, const reference_outputs *r)
{
    const att_reference_row *row = &state->row;
    combine(state, r->output);
    att_row_set(r->out->output, att_element_offset(r->out->output, state->b, state->i, state->h, 0),
                r->output);
    write_map(state, r->out->scores, row->scores, -INFINITY);
    write_map(state, r->out->weights, row->weights, 0);
    if (r->out->log_sum_exp)
        write_number(state, r->out->log_sum_exp, att_log_sum_exp(row->scores, row->count));
    if (r->out->entropy)
        write_number(state, r->out->entropy, att_entropy(row->weights, row->count));
    for (int64_t n = 0; n < row->count; n++)
        r->totals[row->keys[n]] += row->weights[n];
}

static void forward_head(att_reference_state *state, int64_t h, const reference_outputs *r)
{
    const att_problem *p = state->problem;
    att_reference_load_head(state, h);
    for (int64_t j = 0; j < p->S; j++)
        r->totals[j] = 0;
    for (int64_t i = 0; i < p->T && !att_progress_abandoned(); i++) {
        att_reference_compute_row(state, i);
        write_query(state, r);
        att_progress_poll();
    }
    if (r->out->key_totals)
        att_row_set(r->out->key_totals, att_element_offset(r->out->key_totals, state->b, h, 0, 0),
                    r->totals);
}

static att_status forward(att_reference_state *state, const att_attention_outputs *out,
                          att_error *err)
{
    const att_problem *p = state->problem;
    reference_outputs r = { .out = out,
                            .output = att_arena_alloc_doubles(&state->arena, p->M, 1),
                            .totals = att_arena_alloc_doubles(&state->arena, p->S, 1) };
    if (!r.output || !r.totals)
        return att_fail_memory(err);
    int64_t heads = p->H / p->G;
    for (int64_t b = 0; b < p->B; b++)
        for (int64_t g = 0; g < p->G && !att_progress_abandoned(); g++) {
            att_reference_load_group(state, b, g);
            for (int64_t h = g * heads; h < (g + 1) * heads; h++)
                forward_head(state, h, &r);
        }
    return ATT_OK;
}

bool att_reference_supports(const att_problem *problem)
{
    (void)problem;
    return true;
}

/* The reference allocates what it needs. */
size_t att_reference_workspace(const att_problem *problem, bool backward)
{
    (void)problem;
    (void)backward;
    return 0;
}

att_status att_reference_forward(const att_problem *problem, const att_attention_outputs *out,
                                 void *workspace, att_error *err)
{
    (void)workspace;
    att_reference_state state;
    att_status status = att_reference_state_new(&state, problem, err);
    if (status == ATT_OK)
        status = forward(&state, out, err);
    att_reference_state_free(&state);
    return status;
}
