/* Row-wise attention, backward; see rowwise.h. Rows are recomputed from queries and keys. */
#include "attention/paths.h"
#include "attention/rowwise.h"
#include "attention/tensor_element.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/progress.h"
#include "base/parallel.h"

#include <string.h>

static void backward_queries(const att_rowwise_attention *work, const att_sequence_head *head,
                             att_rowwise_buffers *s, int64_t first, int64_t last)
{
    att_query_block *q = &s->queries;
    const att_tensor *grad = work->output_grad;
    att_rowwise_query_block(work, head, first, last, q);
    if (q->key_begin >= q->key_end)
        return;
    memset(s->mask_bits + (q->key_begin - head->key_start), 0,
           (size_t)(q->key_end - q->key_begin) * sizeof *s->mask_bits);
    work->score->scores(work, head, s);
    att_matrix_view grads =
        att_tensor_head_rows(grad, head->b, first, head->h, q->count, s->row_buffer);
    work->kernels->tile_pack(s->packed, q->lanes, grads, 1.0f);
    att_rowwise_dot(work, head, s, work->problem->in->value, head->g, false, s->grads);
    for (size_t n = 0; n < q->count; n++) {
        att_query_scores_forward(work, head, s, n);
        att_query_scores_backward(work, head, s, n);
    }
    if (work->grads->value)
        att_rowwise_combine_transposed(work, head, s, s->weights, grads, s->value_sums,
                                       work->m_stride);
    work->score->backward(work, head, s);
}

/* Adds the sums of each key to its gradient and clears them. */
static void flush_key_grads(const att_rowwise_attention *work, const att_sequence_head *head,
                            const att_tensor *grad, int64_t grad_head, bool by_position,
                            float *sums, size_t stride)
{
    int64_t first = by_position ? 0 : head->key_start;
    for (int64_t j = 0; grad && grad->data && j < head->keys; j++)
        att_tensor_row_axpy(work->kernels, grad,
                            att_element_offset(grad, head->b, first + j, grad_head, 0), 1,
                            sums + (size_t)j * stride);
    memset(sums, 0, (size_t)head->keys * stride * sizeof(float));
}

static void flush_shift_grads(const att_rowwise_attention *work, const att_sequence_head *head,
                              float *sums)
{
    const att_tensor *grad = &work->operands.shift_grad;
    for (int64_t j = 0; grad->data && j < head->keys; j++) {
        int64_t h = grad->shape[0] == 1 ? 0 : head->h;
        ((float *)grad->data)[h * grad->stride[0] + j * grad->stride[1]] += sums[j];
    }
    memset(sums, 0, (size_t)head->keys * sizeof(float));
}

static void backward_head(const att_rowwise_attention *work, const att_sequence_head *head,
                          int64_t sequence, att_rowwise_buffers *s)
{
    const att_score_operands *x = &work->operands;
    int64_t last = head->query_start + head->queries;
    if (x->v_sums)
        s->v_sums = x->v_sums + (sequence * work->problem->H + head->h) * x->query.shape[3];
    for (int64_t first = head->query_start; first < last && !att_progress_abandoned();
         first += ATT_ROWWISE_QUERIES) {
        backward_queries(work, head, s, first, last);
        att_progress_poll();
    }
    if (x->key.shape[2] != work->problem->G)
        flush_key_grads(work, head, &x->key_grad, head->h, work->score->by_position, s->key_sums,
                        work->x_stride);
    flush_shift_grads(work, head, s->shift_sums);
}

static void backward_group(const att_rowwise_attention *work, int64_t sequence, int64_t g,
                           att_rowwise_buffers *s)
{
    const att_problem *p = work->problem;
    int64_t heads = p->H / p->G;
    att_sequence_head head = att_sequence_head_get(p, sequence, g * heads);
    memset(s->key_sums, 0, (size_t)head.keys * work->x_stride * sizeof(float));
    memset(s->value_sums, 0, (size_t)head.keys * work->m_stride * sizeof(float));
    memset(s->shift_sums, 0, (size_t)head.keys * sizeof(float));
    for (int64_t n = 0; n < heads; n++, head.h++)
        backward_head(work, &head, sequence, s);
    if (work->operands.key.shape[2] == p->G)
        flush_key_grads(work, &head, &work->operands.key_grad, g, work->score->by_position,
                        s->key_sums, work->x_stride);
    flush_key_grads(work, &head, work->grads->value, g, false, s->value_sums, work->m_stride);
}

static void run_groups(void *context, int64_t worker, int64_t end)
{
    (void)end;
    att_rowwise_attention *work = context;
    att_rowwise_buffers scratch = att_rowwise_worker_buffers(work, worker);
    int64_t G = work->problem->G, unit;
    while ((unit = atomic_fetch_add(&work->next_unit, 1)) < work->units) {
        backward_group(work, unit / G, unit % G, &scratch);
        if (att_progress_abandoned())
            atomic_store(&work->next_unit, work->units); /* the workers stop too */
    }
}

/* Gradients of biases are summed in double, in the shape of the bias, where requested. */
static att_status new_totals(att_rowwise_attention *work, att_error *err)
{
    for (int slot = ATT_SLOT_BIAS; slot < ATT_SLOT_COUNT; slot++) {
        const att_tensor *grad = att_problem_grad(work->grads, (att_slot)slot);
        if (grad && att_problem_input(work->problem->in, (att_slot)slot))
            ATT_TRY(att_tensor_new(&work->bias_grad_totals[slot], ATT_F64, grad->rank, grad->shape,
                                   err));
    }
    return ATT_OK;
}

static void add_totals(const att_rowwise_attention *work)
{
    for (int slot = ATT_SLOT_BIAS; slot < ATT_SLOT_COUNT; slot++)
        if (work->bias_grad_totals[slot].data)
            att_grad_accumulate(att_problem_grad(work->grads, (att_slot)slot),
                                &work->bias_grad_totals[slot]);
}

static att_status backward(const att_problem *problem, const att_score_operands *operands,
                           const att_tensor *output_grad, const att_attention_grads *grads,
                           void *workspace, att_error *err)
{
    att_rowwise_attention work;
    (void)att_rowwise_plan(&work, problem, NULL, grads);
    work.operands = *operands;
    work.output_grad = output_grad;
    att_rowwise_set_workspace(&work, workspace);
    att_status status = att_mask_new(&work.mask, problem, err);
    if (status == ATT_OK)
        status = new_totals(&work, err);
    if (status == ATT_OK) {
        att_parallel_for(work.workers, 1, run_groups, &work);
        add_totals(&work);
    }
    for (int slot = ATT_SLOT_BIAS; slot < ATT_SLOT_COUNT; slot++)
        att_tensor_free(&work.bias_grad_totals[slot]);
    att_mask_free(&work.mask);
    return status;
}

att_status att_rowwise_backward(const att_problem *problem, const att_attention_outputs *forward,
                                const att_tensor *output_grad, const att_attention_grads *grads,
                                void *workspace, att_error *err)
{
    (void)forward; /* rows are recomputed */
    size_t size = att_rowwise_workspace(problem, true);
    void *own = NULL, *room = size ? att_workspace_get(workspace, size, &own) : NULL;
    if (!room)
        return att_fail_memory(err);
    att_score_transform transform;
    att_workspace layout = { .base = room };
    att_score_transform_layout(&transform, &layout, problem, true, grads);
    att_status status = att_score_transform_forward(&transform, err);
    if (status == ATT_OK)
        status = backward(problem, &transform.operands, output_grad, grads,
                          (char *)room + layout.used, err);
    if (status == ATT_OK)
        status = att_score_transform_backward(&transform, grads, err);
    att_free(own);
    return status;
}
