/* The outputs beside `output`. The log-sum-exp follows from the softmax state; for everything else
 * the finished tile visits its keys a second time, now that the sums of its weights are known. */
#include "attention/fused.h"
#include "attention/tensor_element.h"

#include <math.h>

static float *element(const att_tensor *tensor, int64_t b, int64_t h, int64_t n)
{
    return (float *)tensor->data + att_element_offset(tensor, b, h, n, 0);
}

/* Keys that no query may attend keep the total 0. */
void att_fused_outputs_begin(const att_fused_attention *fused)
{
    const att_tensor *totals = fused->out->key_totals;
    for (int64_t b = 0; totals && b < fused->problem->B; b++)
        for (int64_t h = 0; h < fused->problem->H; h++)
            att_row_fill(totals, att_element_offset(totals, b, h, 0, 0), 0);
}

void att_fused_outputs_head_begin(const att_fused_attention *fused, att_fused_buffers *buffers)
{
    for (int64_t j = 0; buffers->key_totals && j < fused->problem->S; j++)
        buffers->key_totals[j] = 0;
}

void att_fused_outputs_head_end(const att_fused_attention *fused, const att_sequence_head *head,
                                att_fused_buffers *buffers)
{
    const att_tensor *totals = fused->out->key_totals;
    for (int64_t j = head->key_start; totals && j < head->key_start + head->keys; j++)
        *element(totals, head->b, head->h, j) = (float)buffers->key_totals[j];
}

/* Writes the scores or weights of one block into a [B,H,T,S] output. */
static void write_map(const att_tensor *map, const att_sequence_head *head,
                      const att_query_tile *tile, const float *numbers, int64_t from, size_t count,
                      const uint32_t *allow, float factor)
{
    for (size_t q = 0; q < tile->queries; q++) {
        if (!(tile->active >> q & 1))
            continue;
        float *to = element(map, head->b, head->h, tile->first + (int64_t)q);
        for (size_t j = 0; j < count; j++)
            if (!allow || allow[j] >> q & 1)
                to[(from + (int64_t)j) * map->stride[3]] = numbers[j * tile->lanes + q] * factor;
    }
}

/* -Σ w ln w of each query, and Σ w of each key. */
static void accumulate_totals(const att_fused_attention *fused, const att_query_tile *tile,
                              att_fused_buffers *buffers, int64_t from, size_t count,
                              const uint32_t *allow, double *entropy)
{
    size_t lanes = tile->lanes;
    if (fused->out->entropy)
        fused->kernels->log(buffers->log_weights, buffers->scores, count * lanes);
    for (size_t j = 0; j < count; j++)
        for (size_t q = 0; q < tile->queries; q++) {
            double weight = (double)buffers->scores[j * lanes + q];
            if (weight == 0 || !(tile->active >> q & 1) || (allow && !(allow[j] >> q & 1)))
                continue;
            if (fused->out->entropy)
                entropy[q] -= weight * (double)buffers->log_weights[j * lanes + q];
            if (buffers->key_totals)
                buffers->key_totals[from + (int64_t)j] += weight;
        }
}

/* A row whose largest score is +inf has log-sum-exp +inf, unless it also contains a NaN. */
static void find_nan(const att_query_tile *tile, const att_fused_buffers *buffers, size_t count,
                     const uint32_t *allow, float *log_sum_exp)
{
    for (size_t j = 0; j < count; j++)
        for (size_t q = 0; q < tile->queries; q++)
            if ((allow ? allow[j] : tile->active) >> q & 1 &&
                isnan(buffers->scores[j * tile->lanes + q]))
                log_sum_exp[q] = NAN;
}

static void second_pass(const att_fused_attention *fused, const att_sequence_head *head,
                        att_query_tile *tile, att_fused_buffers *buffers, double *entropy,
                        float *log_sum_exp)
{
    const att_attention_outputs *out = fused->out;
    float factor[ATT_TILE_LANES], shift[ATT_TILE_LANES];
    for (size_t q = 0; q < tile->lanes; q++) {
        shift[q] = tile->state->max[q];
        factor[q] = 1 / tile->state->sum[q];
    }
    for (int64_t block = 0; block * ATT_BLOCK_KEYS < head->keys; block++) {
        int64_t from;
        size_t count;
        if (!att_tile_key_range(tile, head->key_start + block * ATT_BLOCK_KEYS, ATT_BLOCK_KEYS,
                                &from, &count))
            continue;
        att_block_mask allowed = att_tile_scores(fused, head, tile, buffers, from, count);
        const uint32_t *allow = allowed == ATT_BLOCK_MASK_PARTIAL ? buffers->mask_bits : NULL;
        if (allowed == ATT_BLOCK_MASK_EMPTY)
            continue;
        find_nan(tile, buffers, count, allow, log_sum_exp);
        if (out->scores)
            write_map(out->scores, head, tile, buffers->scores, from, count, allow, (float)M_LN2);
        fused->kernels->tile_weights(buffers->scores, tile->lanes, count, shift, factor);
        if (out->weights)
            write_map(out->weights, head, tile, buffers->scores, from, count, allow, 1);
        accumulate_totals(fused, tile, buffers, from, count, allow, entropy);
    }
}

/* log Σ exp(score) = max · ln 2 + ln(sum of weights); returns whether a maximum is +inf. */
static bool log_sums(const att_fused_attention *fused, const att_query_tile *tile,
                     float *log_sum_exp)
{
    bool infinite = false;
    fused->kernels->log(log_sum_exp, tile->state->sum, tile->queries);
    for (size_t q = 0; q < tile->queries; q++) {
        double max = (double)tile->state->max[q];
        if (!(tile->attended >> q & 1))
            log_sum_exp[q] = -INFINITY;
        else if (isinf(max))
            log_sum_exp[q] = (float)max;
        else
            log_sum_exp[q] = (float)(max * M_LN2 + (double)log_sum_exp[q]);
        infinite |= max > 0 && isinf(max);
    }
    return infinite;
}

bool att_fused_outputs_tile(const att_fused_attention *fused, const att_sequence_head *head,
                            att_query_tile *tile, att_fused_buffers *buffers)
{
    const att_attention_outputs *out = fused->out;
    bool again = out->scores || out->weights || out->entropy || out->key_totals;
    if (!again && !out->log_sum_exp)
        return false;
    float log_sum_exp[ATT_TILE_LANES];
    double entropy[ATT_TILE_LANES] = { 0 };
    again |= log_sums(fused, tile, log_sum_exp);
    for (size_t q = 0; q < tile->queries; q++) {
        int64_t i = tile->first + (int64_t)q;
        if (out->scores)
            att_row_fill(out->scores, att_element_offset(out->scores, head->b, head->h, i, 0),
                         -INFINITY);
        if (out->weights)
            att_row_fill(out->weights, att_element_offset(out->weights, head->b, head->h, i, 0), 0);
    }
    if (again)
        second_pass(fused, head, tile, buffers, entropy, log_sum_exp);
    for (size_t q = 0; q < tile->queries; q++) {
        int64_t i = tile->first + (int64_t)q;
        if (out->log_sum_exp)
            *element(out->log_sum_exp, head->b, head->h, i) = log_sum_exp[q];
        if (out->entropy)
            *element(out->entropy, head->b, head->h, i) = (float)entropy[q];
    }
    return again;
}
