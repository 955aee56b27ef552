/* One query's row, from raw scores to weights, and its backward; see rowwise.h. */
#include "attention/rowwise.h"
#include "attention/tensor_element.h"

#include <string.h>

/* Collects the keys that query q may attend and their raw scores, and sets bit q of mask_bits. */
static void gather_row(const att_rowwise_attention *work, const att_sequence_head *head,
                       att_rowwise_buffers *s, size_t q)
{
    const att_attention_options *options = work->problem->options;
    att_key_range span = s->queries.key_range[q];
    att_query_scores *row = &s->row;
    const float *all = s->scores + q * work->key_stride;
    uint32_t bit = (uint32_t)1 << q;
    if (options->blocks || options->mask) {
        row->count = att_mask_keys(&work->mask, span, head->b, head->h,
                                   s->queries.first + (int64_t)q, row->keys);
    } else {
        row->count = span.end > span.begin ? span.end - span.begin : 0;
        for (int64_t n = 0; n < row->count; n++)
            row->keys[n] = span.begin + n;
    }
    for (int64_t n = 0; n < row->count; n++) {
        int64_t at = row->keys[n] - head->key_start;
        row->raw[n] = all[at];
        s->mask_bits[at] |= bit;
    }
}

/* Location score: adds b at the key's position. */
static void add_shift(const att_rowwise_attention *work, const att_sequence_head *head,
                      att_query_scores *row)
{
    const att_tensor *shift = &work->operands.shift;
    if (!shift->data)
        return;
    int64_t h = shift->shape[0] == 1 ? 0 : head->h;
    const float *at = (const float *)shift->data + h * shift->stride[0];
    for (int64_t n = 0; n < row->count; n++)
        row->raw[n] += at[(row->keys[n] - head->key_start) * shift->stride[1]];
}

static att_qk_pair pair_of(const att_sequence_head *head, const att_rowwise_buffers *s, size_t q,
                           int64_t n)
{
    int64_t j = s->row.keys[n];
    const att_key_range *span = &s->queries.key_range[q];
    return (att_qk_pair){ .b = head->b,
                          .h = head->h,
                          .i = s->queries.first + (int64_t)q,
                          .j = j,
                          .distance = j - span->key_start - span->query_position };
}

static bool has_bias(const att_attention_inputs *in)
{
    return in->bias || in->alibi || in->relative;
}

/* scale → soft cap → biases */
static void finish_scores(const att_rowwise_attention *work, const att_sequence_head *head,
                          att_rowwise_buffers *s, size_t q)
{
    const att_problem *p = work->problem;
    att_query_scores *row = &s->row;
    float scale = (float)p->scale;
    double cap = p->options->soft_cap;
    for (int64_t n = 0; n < row->count; n++)
        row->capped[n] = row->raw[n] * scale;
    if (cap > 0)
        work->kernels->tile_soft_cap(row->capped, (size_t)row->count, (float)cap, (float)(1 / cap));
    for (int64_t n = 0; n < row->count; n++)
        row->scores[n] = row->capped[n];
    for (int64_t n = 0; has_bias(p->in) && n < row->count; n++) {
        att_qk_pair pair = pair_of(head, s, q, n);
        row->scores[n] += (float)att_bias_get(p->in, &pair);
    }
}

/* Draws which keys of its range dropout keeps for query q. */
static void draw_dropout(const att_rowwise_attention *work, const att_sequence_head *head,
                         att_rowwise_buffers *s, size_t q)
{
    att_key_range span = s->queries.key_range[q];
    att_tile_dropout draw = att_attention_dropout_draw(&work->dropout, head->b, head->h,
                                                       s->queries.first + (int64_t)q, span.begin);
    work->kernels->tile_dropout_mask(s->dropout_bits + (span.begin - head->key_start), 1,
                                     (size_t)(span.end - span.begin), &draw);
}

/* The dropout factor of entry n of the row, after draw_dropout(). */
static float dropout_factor(const att_rowwise_attention *work, const att_sequence_head *head,
                            const att_rowwise_buffers *s, int64_t n)
{
    if (work->dropout.threshold == 0)
        return 1;
    return s->dropout_bits[s->row.keys[n] - head->key_start] ? (float)work->dropout.keep_scale : 0;
}

/* Row q of an array [queries][key_stride], set to 0 over the key range of the block. */
static float *clear_key_range(const att_rowwise_attention *work, const att_sequence_head *head,
                              const att_rowwise_buffers *s, float *rows, size_t q)
{
    float *to = rows + q * work->key_stride;
    memset(to + (s->queries.key_begin - head->key_start), 0,
           (size_t)(s->queries.key_end - s->queries.key_begin) * sizeof(float));
    return to;
}

void att_query_scores_forward(const att_rowwise_attention *work, const att_sequence_head *head,
                              att_rowwise_buffers *s, size_t q)
{
    att_query_scores *row = &s->row;
    gather_row(work, head, s, q);
    float *to = clear_key_range(work, head, s, s->weights, q);
    if (row->count == 0)
        return;
    add_shift(work, head, row);
    if (work->score->activation)
        work->score->activation(work->kernels, row->raw, row->count);
    finish_scores(work, head, s, q);
    work->normalizer->forward(work->kernels, row);
    if (work->dropout.threshold > 0)
        draw_dropout(work, head, s, q);
    for (int64_t n = 0; n < row->count; n++)
        to[row->keys[n] - head->key_start] = row->weights[n] * dropout_factor(work, head, s, n);
}

static void add_bias_grads(const att_rowwise_attention *work, const att_sequence_head *head,
                           att_rowwise_buffers *s, size_t q)
{
    const att_tensor *to = work->bias_grad_totals;
    if (!to[ATT_SLOT_BIAS].data && !to[ATT_SLOT_ALIBI].data && !to[ATT_SLOT_RELATIVE].data)
        return;
    for (int64_t n = 0; n < s->row.count; n++) {
        att_qk_pair pair = pair_of(head, s, q, n);
        att_bias_backward(&to[ATT_SLOT_BIAS], &to[ATT_SLOT_ALIBI], &to[ATT_SLOT_RELATIVE], &pair,
                          (double)s->row.grads[n]);
    }
}

/* Backward of scale, soft cap and activation: from gradients of scores to those of raw scores. */
static void scores_backward(const att_rowwise_attention *work, att_query_scores *row)
{
    float scale = (float)work->problem->scale;
    double cap = work->problem->options->soft_cap;
    if (cap > 0) {
        work->kernels->tile_soft_cap_derivative(row->scratch, row->capped, (size_t)row->count,
                                                (float)(1 / cap));
        for (int64_t n = 0; n < row->count; n++)
            row->grads[n] *= row->scratch[n];
    }
    for (int64_t n = 0; n < row->count; n++)
        row->grads[n] *= scale;
    if (work->score->activation_backward)
        work->score->activation_backward(row->grads, row->raw, row->count);
}

void att_query_scores_backward(const att_rowwise_attention *work, const att_sequence_head *head,
                               att_rowwise_buffers *s, size_t q)
{
    att_query_scores *row = &s->row;
    const float *of_weights = s->grads + q * work->key_stride;
    float *to = clear_key_range(work, head, s, s->scores, q);
    if (row->count == 0)
        return;
    for (int64_t n = 0; n < row->count; n++)
        row->grads[n] =
            of_weights[row->keys[n] - head->key_start] * dropout_factor(work, head, s, n);
    work->normalizer->backward(work->kernels, row);
    add_bias_grads(work, head, s, q);
    scores_backward(work, row);
    for (int64_t n = 0; n < row->count; n++) {
        int64_t at = row->keys[n] - head->key_start;
        to[at] = row->grads[n];
        s->shift_sums[at] += row->grads[n];
    }
}
