/* One query's row, from plain scores to weights and back; see rows.h. */
#include "attention/tensor_element.h"
#include "attention/rowwise.h"

#include <string.h>

/* Bit q of allow, for what the query may attend; the line's keys and their plain scores. Where
 * masks leave gaps, the line closes them. */
static void gather_row(const att_rowwise_attention *work, const att_sequence_head *head,
                       att_rowwise_buffers *s, size_t q)
{
    const att_attention_options *options = work->problem->options;
    att_key_range span = s->queries.key_range[q];
    att_query_scores *line = &s->row;
    const float *row = s->scores + q * work->key_stride;
    uint32_t bit = (uint32_t)1 << q;
    if (options->blocks || options->mask) {
        line->count = att_mask_keys(&work->mask, span, head->b, head->h,
                                    s->queries.first + (int64_t)q, line->keys);
    } else {
        line->count = span.end > span.begin ? span.end - span.begin : 0;
        for (int64_t n = 0; n < line->count; n++)
            line->keys[n] = span.begin + n;
    }
    for (int64_t n = 0; n < line->count; n++) {
        int64_t at = line->keys[n] - head->key_start;
        line->raw[n] = row[at];
        s->mask_bits[at] |= bit;
    }
}

/* Location: (W q + b) at the key's position. */
static void add_shift(const att_rowwise_attention *work, const att_sequence_head *head,
                      att_query_scores *line)
{
    const att_tensor *shift = &work->operands.shift;
    if (!shift->data)
        return;
    int64_t h = shift->shape[0] == 1 ? 0 : head->h;
    const float *at = (const float *)shift->data + h * shift->stride[0];
    for (int64_t n = 0; n < line->count; n++)
        line->raw[n] += at[(line->keys[n] - head->key_start) * shift->stride[1]];
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
    att_query_scores *line = &s->row;
    float scale = (float)p->scale;
    double cap = p->options->soft_cap;
    for (int64_t n = 0; n < line->count; n++)
        line->capped[n] = line->raw[n] * scale;
    if (cap > 0)
        work->kernels->tile_soft_cap(line->capped, (size_t)line->count, (float)cap,
                                     (float)(1 / cap));
    for (int64_t n = 0; n < line->count; n++)
        line->scores[n] = line->capped[n];
    for (int64_t n = 0; has_bias(p->in) && n < line->count; n++) {
        att_qk_pair pair = pair_of(head, s, q, n);
        line->scores[n] += (float)att_bias_get(p->in, &pair);
    }
}

/* Which keys of the block's reach dropout leaves to query q. */
static void draw_dropout(const att_rowwise_attention *work, const att_sequence_head *head,
                         att_rowwise_buffers *s, size_t q)
{
    const att_attention_dropout *drop = &work->dropout;
    att_key_range span = s->queries.key_range[q];
    att_tile_dropout draw_dropout = { .key = (uint64_t)drop->key[1] << 32 | drop->key[0],
                                      .threshold = drop->threshold,
                                      .b = (uint32_t)head->b,
                                      .h = (uint32_t)head->h,
                                      .i = (uint32_t)(s->queries.first + (int64_t)q),
                                      .j = (uint32_t)span.begin };
    work->kernels->tile_dropout_mask(s->dropout_bits + (span.begin - head->key_start), 1,
                                     (size_t)(span.end - span.begin), &draw_dropout);
}

/* Dropout's factor of the line's n-th weight, once drawn. */
static float dropout_factor(const att_rowwise_attention *work, const att_sequence_head *head,
                            const att_rowwise_buffers *s, int64_t n)
{
    if (work->dropout.threshold == 0)
        return 1;
    return s->dropout_bits[s->row.keys[n] - head->key_start] ? (float)work->dropout.keep_scale : 0;
}

/* The block's reach of a row, emptied. */
static float *clear_key_range(const att_rowwise_attention *work, const att_sequence_head *head,
                              const att_rowwise_buffers *s, float *rows, size_t q)
{
    float *row = rows + q * work->key_stride;
    memset(row + (s->queries.key_begin - head->key_start), 0,
           (size_t)(s->queries.key_end - s->queries.key_begin) * sizeof(float));
    return row;
}

void att_query_scores_forward(const att_rowwise_attention *work, const att_sequence_head *head,
                              att_rowwise_buffers *s, size_t q)
{
    att_query_scores *line = &s->row;
    gather_row(work, head, s, q);
    float *row = clear_key_range(work, head, s, s->weights, q);
    if (line->count == 0)
        return;
    add_shift(work, head, line);
    if (work->score->activation)
        work->score->activation(work->kernels, line->raw, line->count);
    finish_scores(work, head, s, q);
    work->normalizer->forward(work->kernels, line);
    if (work->dropout.threshold > 0)
        draw_dropout(work, head, s, q);
    for (int64_t n = 0; n < line->count; n++)
        row[line->keys[n] - head->key_start] = line->weights[n] * dropout_factor(work, head, s, n);
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

/* biases ← soft cap ← scale ← what the plain score goes through */
static void scores_backward(const att_rowwise_attention *work, att_query_scores *line)
{
    float scale = (float)work->problem->scale;
    double cap = work->problem->options->soft_cap;
    if (cap > 0) {
        work->kernels->tile_soft_cap_derivative(line->scratch, line->capped, (size_t)line->count,
                                                (float)(1 / cap));
        for (int64_t n = 0; n < line->count; n++)
            line->grads[n] *= line->scratch[n];
    }
    for (int64_t n = 0; n < line->count; n++)
        line->grads[n] *= scale;
    if (work->score->activation_backward)
        work->score->activation_backward(line->grads, line->raw, line->count);
}

void att_query_scores_backward(const att_rowwise_attention *work, const att_sequence_head *head,
                               att_rowwise_buffers *s, size_t q)
{
    att_query_scores *line = &s->row;
    const float *of_weights = s->grads + q * work->key_stride;
    float *row = clear_key_range(work, head, s, s->scores, q);
    if (line->count == 0)
        return;
    for (int64_t n = 0; n < line->count; n++)
        line->grads[n] =
            of_weights[line->keys[n] - head->key_start] * dropout_factor(work, head, s, n);
    work->normalizer->backward(work->kernels, line);
    add_bias_grads(work, head, s, q);
    scores_backward(work, line);
    for (int64_t n = 0; n < line->count; n++) {
        int64_t at = line->keys[n] - head->key_start;
        row[at] = line->grads[n];
        s->shift_sums[at] += line->grads[n];
    }
}
