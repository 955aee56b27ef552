/* The truth: attention forward in double precision, one query and one key at a time, without a
 * matrix product (handout 003, question 2). Every other implementation is tested against this one.
 */
#include "attention/tensor_element.h"
#include "attention/normalize.h"
#include "attention/reference_row.h"
#include "base/error.h"

#include <math.h>

/* What the forward adds to the working area: one output row and the keys' totals. */
typedef struct reference_outputs {
    const att_attention_outputs *out;
    double *output; /* [M] */
    double *totals; /* [S] of the head at hand */
} reference_outputs;

/* output = Σ weight · value over the keys of the row. */
static void combine(const att_reference_state *work, double *output)
{
    const att_reference_row *row = &work->row;
    int64_t M = work->problem->M;
    for (int64_t m = 0; m < M; m++)
        output[m] = 0;
    for (int64_t n = 0; n < row->count; n++) {
        double weight = row->weights[n] * row->dropout_factors[n];
        const double *value = work->values + row->keys[n] * M;
        for (int64_t m = 0; m < M; m++)
            output[m] += weight * value[m];
    }
}

/* Writes one row of a [B,H,T,S] result: `masked` everywhere but at the keys of the row. */
static void write_map(const att_reference_state *work, const att_tensor *map, const double *numbers,
                      double masked)
{
    if (!map)
        return;
    int64_t at = att_element_offset(map, work->b, work->h, work->i, 0);
    att_row_fill(map, at, masked);
    for (int64_t n = 0; n < work->row.count; n++)
        att_element_set(map, at + work->row.keys[n] * map->stride[3], numbers[n]);
}

/* Writes one element of a [B,H,T] result. */
static void write_number(const att_reference_state *work, const att_tensor *tensor, double number)
{
    att_element_set(tensor, att_element_offset(tensor, work->b, work->h, work->i, 0), number);
}

static void write_query(const att_reference_state *work, const reference_outputs *r)
{
    const att_reference_row *row = &work->row;
    combine(work, r->output);
    att_setting_spec_set(r->out->output,
                         att_element_offset(r->out->output, work->b, work->i, work->h, 0),
                         r->output);
    write_map(work, r->out->scores, row->scores, -INFINITY);
    write_map(work, r->out->weights, row->weights, 0);
    if (r->out->log_sum_exp)
        write_number(work, r->out->log_sum_exp, att_log_sum_exp(row->scores, row->count));
    if (r->out->entropy)
        write_number(work, r->out->entropy, att_entropy(row->weights, row->count));
    for (int64_t n = 0; n < row->count; n++)
        r->totals[row->keys[n]] += row->weights[n];
}

static void forward_head(att_reference_state *work, int64_t h, const reference_outputs *r)
{
    const att_problem *p = work->problem;
    att_reference_load_head(work, h);
    for (int64_t j = 0; j < p->S; j++)
        r->totals[j] = 0;
    for (int64_t i = 0; i < p->T; i++) {
        att_reference_compute_row(work, i);
        write_query(work, r);
    }
    if (r->out->key_totals)
        att_setting_spec_set(r->out->key_totals,
                             att_element_offset(r->out->key_totals, work->b, h, 0, 0), r->totals);
}

static att_status forward(att_reference_state *work, const att_attention_outputs *out,
                          att_error *err)
{
    const att_problem *p = work->problem;
    reference_outputs r = { .out = out,
                            .output = att_arena_alloc_doubles(&work->arena, p->M, 1),
                            .totals = att_arena_alloc_doubles(&work->arena, p->S, 1) };
    if (!r.output || !r.totals)
        return att_fail_memory(err);
    int64_t heads = p->H / p->G;
    for (int64_t b = 0; b < p->B; b++)
        for (int64_t g = 0; g < p->G; g++) {
            att_reference_load_group(work, b, g);
            for (int64_t h = g * heads; h < (g + 1) * heads; h++)
                forward_head(work, h, &r);
        }
    return ATT_OK;
}

att_status att_attention_forward_reference(const att_attention_options *options,
                                           const att_attention_inputs *in,
                                           const att_attention_outputs *out, att_error *err)
{
    att_problem problem;
    ATT_TRY(att_problem_new(&problem, options, in, err));
    ATT_TRY(att_problem_check_outputs(&problem, out, err));
    att_reference_state work;
    att_status status = att_reference_state_new(&work, &problem, err);
    if (status == ATT_OK)
        status = forward(&work, out, err);
    att_reference_state_free(&work);
    return status;
}
