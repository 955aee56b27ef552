/* One query's row, from plain scores to weights and back; see rows.h. */
#include "attention/element.h"
#include "attention/rows.h"

#include <string.h>

/* Bit q of allow, for what the query may attend; the line's keys and their plain scores. Where
 * masks leave gaps, the line closes them. */
static void take_line(const att_rows_work *work, const att_head *head, att_rows_scratch *s,
                      size_t q)
{
    const att_attention *how = work->problem->how;
    att_span span = s->queries.span[q];
    att_line *line = &s->line;
    const float *row = s->scores + q * work->key_room;
    uint32_t bit = (uint32_t)1 << q;
    if (how->blocks || how->allow) {
        line->count = att_mask_keys(&work->mask, span, head->b, head->h,
                                    s->queries.first + (int64_t)q, line->keys);
    } else {
        line->count = span.end > span.begin ? span.end - span.begin : 0;
        for (int64_t n = 0; n < line->count; n++)
            line->keys[n] = span.begin + n;
    }
    for (int64_t n = 0; n < line->count; n++) {
        int64_t at = line->keys[n] - head->key_start;
        line->inner[n] = row[at];
        s->allow[at] |= bit;
    }
}

/* Location: (W q + b) at the key's position. */
static void add_shift(const att_rows_work *work, const att_head *head, att_line *line)
{
    const att_tensor *shift = &work->x.shift;
    if (!shift->data)
        return;
    int64_t h = shift->shape[0] == 1 ? 0 : head->h;
    const float *at = (const float *)shift->data + h * shift->stride[0];
    for (int64_t n = 0; n < line->count; n++)
        line->inner[n] += at[(line->keys[n] - head->key_start) * shift->stride[1]];
}

static att_pair pair_of(const att_head *head, const att_rows_scratch *s, size_t q, int64_t n)
{
    int64_t j = s->line.keys[n];
    const att_span *span = &s->queries.span[q];
    return (att_pair){ .b = head->b,
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
static void finish_scores(const att_rows_work *work, const att_head *head, att_rows_scratch *s,
                          size_t q)
{
    const att_problem *p = work->problem;
    att_line *line = &s->line;
    float scale = (float)p->scale;
    double cap = p->how->soft_cap;
    for (int64_t n = 0; n < line->count; n++)
        line->capped[n] = line->inner[n] * scale;
    if (cap > 0)
        work->kern->tile_cap(line->capped, (size_t)line->count, (float)cap, (float)(1 / cap));
    for (int64_t n = 0; n < line->count; n++)
        line->scores[n] = line->capped[n];
    for (int64_t n = 0; has_bias(p->in) && n < line->count; n++) {
        att_pair pair = pair_of(head, s, q, n);
        line->scores[n] += (float)att_bias_get(p->in, &pair);
    }
}

/* Which keys of the block's reach dropout leaves to query q. */
static void draw(const att_rows_work *work, const att_head *head, att_rows_scratch *s, size_t q)
{
    const att_drop_mask *drop = &work->drop;
    att_span span = s->queries.span[q];
    att_tile_draw draw = { .key = (uint64_t)drop->key[1] << 32 | drop->key[0],
                           .threshold = drop->threshold,
                           .b = (uint32_t)head->b,
                           .h = (uint32_t)head->h,
                           .i = (uint32_t)(s->queries.first + (int64_t)q),
                           .j = (uint32_t)span.begin };
    work->kern->tile_draw(s->kept + (span.begin - head->key_start), 1,
                          (size_t)(span.end - span.begin), &draw);
}

/* Dropout's factor of the line's n-th weight, once drawn. */
static float factor_of(const att_rows_work *work, const att_head *head, const att_rows_scratch *s,
                       int64_t n)
{
    if (work->drop.threshold == 0)
        return 1;
    return s->kept[s->line.keys[n] - head->key_start] ? (float)work->drop.kept : 0;
}

/* The block's reach of a row, emptied. */
static float *clear_row(const att_rows_work *work, const att_head *head, const att_rows_scratch *s,
                        float *rows, size_t q)
{
    float *row = rows + q * work->key_room;
    memset(row + (s->queries.begin - head->key_start), 0,
           (size_t)(s->queries.end - s->queries.begin) * sizeof(float));
    return row;
}

void att_line_forward(const att_rows_work *work, const att_head *head, att_rows_scratch *s,
                      size_t q)
{
    att_line *line = &s->line;
    take_line(work, head, s, q);
    float *row = clear_row(work, head, s, s->weights, q);
    if (line->count == 0)
        return;
    add_shift(work, head, line);
    if (work->score->outer)
        work->score->outer(work->kern, line->inner, line->count);
    finish_scores(work, head, s, q);
    work->normaliser->forward(work->kern, line);
    if (work->drop.threshold > 0)
        draw(work, head, s, q);
    for (int64_t n = 0; n < line->count; n++)
        row[line->keys[n] - head->key_start] = line->weights[n] * factor_of(work, head, s, n);
}

static void add_bias_grads(const att_rows_work *work, const att_head *head, att_rows_scratch *s,
                           size_t q)
{
    const att_tensor *to = work->totals;
    if (!to[ATT_SLOT_BIAS].data && !to[ATT_SLOT_ALIBI].data && !to[ATT_SLOT_RELATIVE].data)
        return;
    for (int64_t n = 0; n < s->line.count; n++) {
        att_pair pair = pair_of(head, s, q, n);
        att_bias_back(&to[ATT_SLOT_BIAS], &to[ATT_SLOT_ALIBI], &to[ATT_SLOT_RELATIVE], &pair,
                      (double)s->line.grads[n]);
    }
}

/* biases ← soft cap ← scale ← what the plain score goes through */
static void scores_back(const att_rows_work *work, att_line *line)
{
    float scale = (float)work->problem->scale;
    double cap = work->problem->how->soft_cap;
    if (cap > 0) {
        work->kern->tile_cap_slope(line->spare, line->capped, (size_t)line->count,
                                   (float)(1 / cap));
        for (int64_t n = 0; n < line->count; n++)
            line->grads[n] *= line->spare[n];
    }
    for (int64_t n = 0; n < line->count; n++)
        line->grads[n] *= scale;
    if (work->score->outer_back)
        work->score->outer_back(line->grads, line->inner, line->count);
}

void att_line_backward(const att_rows_work *work, const att_head *head, att_rows_scratch *s,
                       size_t q)
{
    att_line *line = &s->line;
    const float *of_weights = s->grads + q * work->key_room;
    float *row = clear_row(work, head, s, s->scores, q);
    if (line->count == 0)
        return;
    for (int64_t n = 0; n < line->count; n++)
        line->grads[n] = of_weights[line->keys[n] - head->key_start] * factor_of(work, head, s, n);
    work->normaliser->backward(work->kern, line);
    add_bias_grads(work, head, s, q);
    scores_back(work, line);
    for (int64_t n = 0; n < line->count; n++) {
        int64_t at = line->keys[n] - head->key_start;
        row[at] = line->grads[n];
        s->shift_sums[at] += line->grads[n];
    }
}
