/* Attention by rows, forward; see rows.h. */
#include "attention/element.h"
#include "attention/rows.h"
#include "base/parallel.h"

#include <math.h>
#include <string.h>

/* Writes one row of a [B,H,T,S] result: `masked` everywhere but at the keys of the line. */
static void write_map(const att_tensor *map, const att_head *head, int64_t i, const att_line *line,
                      const float *numbers, float masked)
{
    if (!map)
        return;
    int64_t at = att_element_at(map, head->b, head->h, i, 0);
    att_row_fill(map, at, (double)masked);
    float *row = (float *)map->data + at;
    for (int64_t n = 0; n < line->count; n++)
        row[line->keys[n] * map->stride[3]] = numbers[n];
}

static void write_number(const att_tensor *tensor, const att_head *head, int64_t i, float number)
{
    ((float *)tensor->data)[att_element_at(tensor, head->b, head->h, i, 0)] = number;
}

/* -Σ w ln w, summed in double in the order of keys. */
static float entropy_of(const att_kernels *kern, const att_line *line)
{
    double entropy = 0;
    kern->log(line->spare, line->weights, (size_t)line->count);
    for (int64_t n = 0; n < line->count; n++)
        if (line->weights[n] != 0)
            entropy -= (double)line->weights[n] * (double)line->spare[n];
    return (float)entropy;
}

static void report(const att_rows_work *work, const att_head *head, const att_rows_scratch *s,
                   int64_t i)
{
    const att_attention_outputs *out = work->out;
    const att_line *line = &s->line;
    write_map(out->scores, head, i, line, line->scores, -INFINITY);
    write_map(out->weights, head, i, line, line->weights, 0);
    if (out->log_sum_exp)
        write_number(out->log_sum_exp, head, i, att_line_log_sum_exp(work->kern, line));
    if (out->entropy)
        write_number(out->entropy, head, i, entropy_of(work->kern, line));
    for (int64_t n = 0; s->totals && n < line->count; n++)
        s->totals[line->keys[n] - head->key_start] += (double)line->weights[n];
}

/* Never -0, which differs from 0 where a key that adds nothing is skipped. */
static void write_output(const att_rows_work *work, const att_head *head, const att_rows_scratch *s)
{
    const att_tensor *out = work->out->output;
    for (size_t q = 0; q < s->queries.count; q++) {
        float *row = (float *)out->data +
                     att_element_at(out, head->b, s->queries.first + (int64_t)q, head->h, 0);
        const float *sums = s->sums + q * work->m_stride;
        for (int64_t m = 0; m < out->shape[3]; m++)
            row[m * out->stride[3]] = sums[m] + 0.0f;
    }
}

static void attend_queries(const att_rows_work *work, const att_head *head, att_rows_scratch *s,
                           int64_t first, int64_t last)
{
    att_queries *q = &s->queries;
    att_rows_queries(work, head, first, last, q);
    if (q->begin < q->end) {
        memset(s->allow + (q->begin - head->key_start), 0,
               (size_t)(q->end - q->begin) * sizeof *s->allow);
        work->score->scores(work, head, s);
    }
    for (size_t n = 0; n < q->count; n++) {
        s->line.count = 0;
        if (q->begin < q->end)
            att_line_forward(work, head, s, n);
        report(work, head, s, first + (int64_t)n);
    }
    if (q->begin < q->end)
        att_rows_combine(work, head, s, s->weights, work->problem->in->value, head->g, false,
                         work->m_stride);
    else
        memset(s->sums, 0, q->count * work->m_stride * sizeof(float));
    write_output(work, head, s);
}

static void write_totals(const att_rows_work *work, const att_head *head, const att_rows_scratch *s)
{
    const att_tensor *totals = work->out->key_totals;
    for (int64_t j = 0; totals && j < head->keys; j++)
        write_number(totals, head, head->key_start + j, (float)s->totals[j]);
}

static void work_units(void *context, int64_t worker, int64_t end)
{
    (void)end;
    att_rows_work *work = context;
    att_rows_scratch scratch = att_rows_scratch_of(work, worker);
    int64_t unit;
    while ((unit = atomic_fetch_add(&work->next, 1)) < work->units) {
        att_head head;
        int64_t first, last;
        att_rows_unit(work, unit, &head, &first, &last);
        for (int64_t j = 0; scratch.totals && j < head.keys; j++)
            scratch.totals[j] = 0;
        for (; first < last; first += ATT_ROWS)
            attend_queries(work, &head, &scratch, first, last);
        write_totals(work, &head, &scratch);
    }
}

att_status att_rows_forward(const att_problem *problem, const att_operands *operands,
                            const att_attention_outputs *out, void *workspace, att_error *err)
{
    att_rows_work work;
    (void)att_rows_plan(&work, problem, out, NULL);
    work.x = *operands;
    att_rows_place(&work, workspace);
    att_status status = att_mask_new(&work.mask, problem, err);
    if (status == ATT_OK)
        att_parallel_for(work.workers, 1, work_units, &work);
    att_mask_free(&work.mask);
    return status;
}

size_t att_rows_room(const att_problem *problem, bool backward)
{
    att_tensor some = { 0 };
    const att_attention_outputs all = { .key_totals = &some }, none = { 0 };
    const att_attention_grads unordered = { 0 };
    att_rows_work work;
    if (backward)
        return att_rows_plan(&work, problem, NULL, &unordered);
    size_t most = att_rows_plan(&work, problem, &all, NULL);
    size_t least = att_rows_plan(&work, problem, &none, NULL);
    return most > least ? most : least;
}
