/* Attention by rows, backward; see rows.h. Rows are worked out again from queries and keys. */
#include "attention/element.h"
#include "attention/rows.h"
#include "base/error.h"
#include "base/parallel.h"

#include <string.h>

static void back_queries(const att_rows_work *work, const att_head *head, att_rows_scratch *s,
                         int64_t first, int64_t last)
{
    att_queries *q = &s->queries;
    const att_tensor *grad = work->output_grad;
    att_rows_queries(work, head, first, last, q);
    if (q->begin >= q->end)
        return;
    memset(s->allow + (q->begin - head->key_start), 0,
           (size_t)(q->end - q->begin) * sizeof *s->allow);
    work->score->scores(work, head, s);
    att_rows grads = att_tensor_rows(grad, head->b, first, head->h, q->count, s->rows_room);
    work->kern->tile_pack(s->packed, q->lanes, grads, 1.0f);
    att_rows_products(work, head, s, work->problem->in->value, head->g, false, s->grads);
    for (size_t n = 0; n < q->count; n++) {
        att_line_forward(work, head, s, n);
        att_line_backward(work, head, s, n);
    }
    if (work->grads->value)
        att_rows_spread(work, head, s, s->weights, grads, s->value_sums, work->m_stride);
    work->score->back(work, head, s);
}

/* Adds what each key has summed up to its gradient, and clears it. */
static void flush(const att_rows_work *work, const att_head *head, const att_tensor *grad,
                  int64_t grad_head, bool by_position, float *sums, size_t stride)
{
    int64_t first = by_position ? 0 : head->key_start;
    for (int64_t j = 0; grad && grad->data && j < head->keys; j++)
        att_rows_add(work->kern, grad, att_element_at(grad, head->b, first + j, grad_head, 0),
                     sums + (size_t)j * stride);
    memset(sums, 0, (size_t)head->keys * stride * sizeof(float));
}

static void flush_shift(const att_rows_work *work, const att_head *head, float *sums)
{
    const att_tensor *grad = &work->x.shift_grad;
    for (int64_t j = 0; grad->data && j < head->keys; j++) {
        int64_t h = grad->shape[0] == 1 ? 0 : head->h;
        ((float *)grad->data)[h * grad->stride[0] + j * grad->stride[1]] += sums[j];
    }
    memset(sums, 0, (size_t)head->keys * sizeof(float));
}

static void back_head(const att_rows_work *work, const att_head *head, int64_t sequence,
                      att_rows_scratch *s)
{
    const att_operands *x = &work->x;
    int64_t last = head->query_start + head->queries;
    if (x->v_sums)
        s->v_sums = x->v_sums + (sequence * work->problem->H + head->h) * x->query.shape[3];
    for (int64_t first = head->query_start; first < last; first += ATT_ROWS)
        back_queries(work, head, s, first, last);
    if (x->key.shape[2] != work->problem->G)
        flush(work, head, &x->key_grad, head->h, work->score->by_position, s->key_sums,
              work->x_stride);
    flush_shift(work, head, s->shift_sums);
}

static void back_group(const att_rows_work *work, int64_t sequence, int64_t g, att_rows_scratch *s)
{
    const att_problem *p = work->problem;
    int64_t heads = p->H / p->G;
    att_head head = att_rows_head(p, sequence, g * heads);
    memset(s->key_sums, 0, (size_t)head.keys * work->x_stride * sizeof(float));
    memset(s->value_sums, 0, (size_t)head.keys * work->m_stride * sizeof(float));
    memset(s->shift_sums, 0, (size_t)head.keys * sizeof(float));
    for (int64_t n = 0; n < heads; n++, head.h++)
        back_head(work, &head, sequence, s);
    if (work->x.key.shape[2] == p->G)
        flush(work, &head, &work->x.key_grad, g, work->score->by_position, s->key_sums,
              work->x_stride);
    flush(work, &head, work->grads->value, g, false, s->value_sums, work->m_stride);
}

static void work_groups(void *context, int64_t worker, int64_t end)
{
    (void)end;
    att_rows_work *work = context;
    att_rows_scratch scratch = att_rows_scratch_of(work, worker);
    int64_t G = work->problem->G, unit;
    while ((unit = atomic_fetch_add(&work->next, 1)) < work->units)
        back_group(work, unit / G, unit % G, &scratch);
}

/* Biases are summed up in double, in their own shape, as far as their gradients are wanted. */
static att_status new_totals(att_rows_work *work, att_error *err)
{
    for (int slot = ATT_SLOT_BIAS; slot < ATT_SLOTS; slot++) {
        const att_tensor *grad = att_problem_grad(work->grads, (att_slot)slot);
        if (grad && att_problem_input(work->problem->in, (att_slot)slot))
            ATT_TRY(att_tensor_new(&work->totals[slot], ATT_F64, grad->rank, grad->shape, err));
    }
    return ATT_OK;
}

static void add_totals(const att_rows_work *work)
{
    for (int slot = ATT_SLOT_BIAS; slot < ATT_SLOTS; slot++)
        if (work->totals[slot].data)
            att_total_add(att_problem_grad(work->grads, (att_slot)slot), &work->totals[slot]);
}

att_status att_rows_backward(const att_problem *problem, const att_operands *operands,
                             const att_tensor *output_grad, const att_attention_grads *grads,
                             void *workspace, att_error *err)
{
    att_rows_work work;
    (void)att_rows_plan(&work, problem, NULL, grads);
    work.x = *operands;
    work.output_grad = output_grad;
    att_rows_place(&work, workspace);
    att_status status = att_mask_new(&work.mask, problem, err);
    if (status == ATT_OK)
        status = new_totals(&work, err);
    if (status == ATT_OK) {
        att_parallel_for(work.workers, 1, work_groups, &work);
        add_totals(&work);
    }
    for (int slot = ATT_SLOT_BIAS; slot < ATT_SLOTS; slot++)
        att_tensor_free(&work.totals[slot]);
    att_mask_free(&work.mask);
    return status;
}
