/* Attention by rows, forward; see rows.h. */
#include "attention/tensor_element.h"
#include "attention/rowwise.h"
#include "base/parallel.h"

#include <math.h>
#include <string.h>

/* Writes one row of a [B,H,T,S] result: `masked` everywhere but at the keys of the line. */
static void write_map(const att_tensor *map, const att_sequence_head *head, int64_t i,
                      const att_query_scores *line, const float *numbers, float masked)
{
    if (!map)
        return;
    int64_t at = att_element_offset(map, head->b, head->h, i, 0);
    att_row_fill(map, at, (double)masked);
    float *row = (float *)map->data + at;
    for (int64_t n = 0; n < line->count; n++)
        row[line->keys[n] * map->stride[3]] = numbers[n];
}

static void write_number(const att_tensor *tensor, const att_sequence_head *head, int64_t i,
                         float number)
{
    ((float *)tensor->data)[att_element_offset(tensor, head->b, head->h, i, 0)] = number;
}

/* -Σ w ln w, summed in double in the order of keys. */
static float entropy_of(const att_kernels *kern, const att_query_scores *line)
{
    double entropy = 0;
    kern->log(line->scratch, line->weights, (size_t)line->count);
    for (int64_t n = 0; n < line->count; n++)
        if (line->weights[n] != 0)
            entropy -= (double)line->weights[n] * (double)line->scratch[n];
    return (float)entropy;
}

static void write_row_outputs(const att_rowwise_attention *work, const att_sequence_head *head,
                              const att_rowwise_buffers *s, int64_t i)
{
    const att_attention_outputs *out = work->out;
    const att_query_scores *line = &s->row;
    write_map(out->scores, head, i, line, line->scores, -INFINITY);
    write_map(out->weights, head, i, line, line->weights, 0);
    if (out->log_sum_exp)
        write_number(out->log_sum_exp, head, i, att_query_scores_log_sum_exp(work->kernels, line));
    if (out->entropy)
        write_number(out->entropy, head, i, entropy_of(work->kernels, line));
    for (int64_t n = 0; s->key_totals && n < line->count; n++)
        s->key_totals[line->keys[n] - head->key_start] += (double)line->weights[n];
}

/* Never -0, which differs from 0 where a key that adds nothing is skipped. */
static void write_output(const att_rowwise_attention *work, const att_sequence_head *head,
                         const att_rowwise_buffers *s)
{
    const att_tensor *out = work->out->output;
    for (size_t q = 0; q < s->queries.count; q++) {
        float *row = (float *)out->data +
                     att_element_offset(out, head->b, s->queries.first + (int64_t)q, head->h, 0);
        const float *sums = s->sums + q * work->m_stride;
        for (int64_t m = 0; m < out->shape[3]; m++)
            row[m * out->stride[3]] = sums[m] + 0.0f;
    }
}

static void attention_queries(const att_rowwise_attention *work, const att_sequence_head *head,
                              att_rowwise_buffers *s, int64_t first, int64_t last)
{
    att_query_block *q = &s->queries;
    att_rowwise_query_block(work, head, first, last, q);
    if (q->key_begin < q->key_end) {
        memset(s->mask_bits + (q->key_begin - head->key_start), 0,
               (size_t)(q->key_end - q->key_begin) * sizeof *s->mask_bits);
        work->score->scores(work, head, s);
    }
    for (size_t n = 0; n < q->count; n++) {
        s->row.count = 0;
        if (q->key_begin < q->key_end)
            att_query_scores_forward(work, head, s, n);
        write_row_outputs(work, head, s, first + (int64_t)n);
    }
    if (q->key_begin < q->key_end)
        att_rowwise_combine(work, head, s, s->weights, work->problem->in->value, head->g, false,
                            work->m_stride);
    else
        memset(s->sums, 0, q->count * work->m_stride * sizeof(float));
    write_output(work, head, s);
}

static void write_totals(const att_rowwise_attention *work, const att_sequence_head *head,
                         const att_rowwise_buffers *s)
{
    const att_tensor *totals = work->out->key_totals;
    for (int64_t j = 0; totals && j < head->keys; j++)
        write_number(totals, head, head->key_start + j, (float)s->key_totals[j]);
}

static void run_units(void *context, int64_t worker, int64_t end)
{
    (void)end;
    att_rowwise_attention *work = context;
    att_rowwise_buffers scratch = att_rowwise_worker_buffers(work, worker);
    int64_t unit;
    while ((unit = atomic_fetch_add(&work->next_unit, 1)) < work->units) {
        att_sequence_head head;
        int64_t first, last;
        att_rowwise_unit(work, unit, &head, &first, &last);
        for (int64_t j = 0; scratch.key_totals && j < head.keys; j++)
            scratch.key_totals[j] = 0;
        for (; first < last; first += ATT_ROWWISE_QUERIES)
            attention_queries(work, &head, &scratch, first, last);
        write_totals(work, &head, &scratch);
    }
}

att_status att_rowwise_forward(const att_problem *problem, const att_rowwise_operands *operands,
                               const att_attention_outputs *out, void *workspace, att_error *err)
{
    att_rowwise_attention work;
    (void)att_rowwise_plan(&work, problem, out, NULL);
    work.operands = *operands;
    att_rowwise_set_workspace(&work, workspace);
    att_status status = att_mask_new(&work.mask, problem, err);
    if (status == ATT_OK)
        att_parallel_for(work.workers, 1, run_units, &work);
    att_mask_free(&work.mask);
    return status;
}

size_t att_rowwise_workspace(const att_problem *problem, bool backward)
{
    att_tensor some = { 0 };
    const att_attention_outputs all = { .key_totals = &some }, none = { 0 };
    const att_attention_grads unordered = { 0 };
    att_rowwise_attention work;
    if (backward)
        return att_rowwise_plan(&work, problem, NULL, &unordered);
    size_t max = att_rowwise_plan(&work, problem, &all, NULL);
    size_t min = att_rowwise_plan(&work, problem, &none, NULL);
    return max > min ? max : min;
}
