/* Row-wise attention, forward; see rowwise.h. */
#include "attention/paths.h"
#include "attention/rowwise.h"
#include "attention/tensor_element.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/progress.h"
#include "base/parallel.h"

#include <math.h>
#include <string.h>

/* Writes one row of a [B,H,T,S] output: `masked` everywhere but at the keys of the row. */
static void write_map(const att_tensor *map, const att_sequence_head *head, int64_t i,
                      const att_query_scores *row, const float *numbers, float masked)
{
    if (!map)
        return;
    int64_t at = att_element_offset(map, head->b, head->h, i, 0);
    att_row_fill(map, at, (double)masked);
    for (int64_t n = 0; n < row->count; n++)
        att_element_set(map, at + row->keys[n] * map->stride[3], (double)numbers[n]);
}

static void write_number(const att_tensor *tensor, const att_sequence_head *head, int64_t n,
                         float number)
{
    att_element_set(tensor, att_element_offset(tensor, head->b, head->h, n, 0), (double)number);
}

/* -Σ w ln w, summed in double in the order of keys. */
static float entropy_of(const att_kernels *kern, const att_query_scores *row)
{
    double entropy = 0;
    kern->log(row->scratch, row->weights, (size_t)row->count);
    for (int64_t n = 0; n < row->count; n++)
        if (row->weights[n] != 0)
            entropy -= (double)row->weights[n] * (double)row->scratch[n];
    return (float)entropy;
}

static void write_row_outputs(const att_rowwise_attention *work, const att_sequence_head *head,
                              const att_rowwise_buffers *s, int64_t i)
{
    const att_attention_outputs *out = work->out;
    const att_query_scores *row = &s->row;
    write_map(out->scores, head, i, row, row->scores, -INFINITY);
    write_map(out->weights, head, i, row, row->weights, 0);
    if (out->log_sum_exp)
        write_number(out->log_sum_exp, head, i, att_query_scores_log_sum_exp(work->kernels, row));
    if (out->entropy)
        write_number(out->entropy, head, i, entropy_of(work->kernels, row));
    for (int64_t n = 0; s->key_totals && n < row->count; n++)
        s->key_totals[row->keys[n] - head->key_start] += (double)row->weights[n];
}

/* Adding 0.0f turns -0 into 0: whether a masked key is skipped or multiplied by 0 must not show. */
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
        for (; first < last; first += ATT_ROWWISE_QUERIES) {
            attention_queries(work, &head, &scratch, first, last);
            att_progress_poll();
            if (att_progress_abandoned()) {
                atomic_store(&work->next_unit, work->units); /* the workers stop too */
                return;
            }
        }
        write_totals(work, &head, &scratch);
    }
}

static att_status forward(const att_problem *problem, const att_score_operands *operands,
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

bool att_rowwise_supports(const att_problem *problem)
{
    return att_rowwise_score_get(problem->options->score)->scores &&
           att_rowwise_normalizer_get(problem->options->normalizer)->forward;
}

/* Bytes for any choice of outputs or gradients, without the score transform. */
static size_t rows_workspace(const att_problem *problem, bool backward)
{
    att_tensor some = { 0 };
    const att_attention_outputs totals = { .key_totals = &some }, none = { 0 };
    const att_attention_grads unordered = { 0 };
    att_rowwise_attention work;
    if (backward)
        return att_rowwise_plan(&work, problem, NULL, &unordered);
    size_t with_totals = att_rowwise_plan(&work, problem, &totals, NULL);
    return att_max_size(with_totals, att_rowwise_plan(&work, problem, &none, NULL));
}

size_t att_rowwise_workspace(const att_problem *problem, bool backward)
{
    att_score_transform transform;
    att_workspace counting = { 0 };
    if (att_score_transform_overflows(problem))
        return 0;
    att_score_transform_layout(&transform, &counting, problem, backward, NULL);
    return counting.used + rows_workspace(problem, backward) + ATT_WORKSPACE_ALIGNMENT;
}

att_status att_rowwise_forward(const att_problem *problem, const att_attention_outputs *out,
                               void *workspace, att_error *err)
{
    size_t size = att_rowwise_workspace(problem, false);
    void *own = NULL, *room = size ? att_workspace_get(workspace, size, &own) : NULL;
    if (!room)
        return att_fail_memory(err);
    att_score_transform transform;
    att_workspace layout = { .base = room };
    att_score_transform_layout(&transform, &layout, problem, false, NULL);
    att_status status = att_score_transform_forward(&transform, err);
    if (status == ATT_OK)
        status = forward(problem, &transform.operands, out, (char *)room + layout.used, err);
    att_free(own);
    return status;
}
