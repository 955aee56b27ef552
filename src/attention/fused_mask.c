/* Masks of tiles: which pairs of some queries and some keys are allowed. Everything is asked of
 * mask.c; here it is only turned into one bit per pair, or better, into none at all. */
#include "attention/fused.h"

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Whether the span of a query depends on which one it is. */
static bool spans_differ(const att_attention *how)
{
    return how->causal || how->window || how->query_lengths;
}

void att_tile_spans(const att_fused *fused, const att_head *head, att_tile *tile)
{
    const att_problem *p = fused->problem;
    bool differ = spans_differ(p->how);
    tile->live = tile->seen = 0;
    tile->begin = tile->common_end = INT64_MAX;
    tile->end = tile->common_begin = INT64_MIN;
    for (size_t q = 0; q < tile->queries; q++) {
        att_span span = tile->span[0];
        if (q == 0 || differ)
            span = att_mask_span(p, head->b, tile->first + (int64_t)q);
        else
            span.query_position += (int64_t)q;
        tile->span[q] = span;
        if (span.begin >= span.end)
            continue;
        tile->live |= (uint32_t)1 << q;
        tile->begin = smaller(tile->begin, span.begin);
        tile->end = larger(tile->end, span.end);
        tile->common_begin = larger(tile->common_begin, span.begin);
        tile->common_end = smaller(tile->common_end, span.end);
    }
}

/* Each span flips its bit where it begins and where it ends; summing the flips up gives the bits.
 */
static void allow_spans(const att_tile *tile, int64_t from, size_t count, uint32_t *allow)
{
    for (size_t j = 0; j < count; j++)
        allow[j] = 0;
    for (size_t q = 0; q < tile->queries; q++) {
        int64_t begin = larger(tile->span[q].begin, from) - from;
        int64_t end = smaller(tile->span[q].end - from, (int64_t)count);
        if (begin >= end)
            continue;
        allow[begin] ^= (uint32_t)1 << q;
        if (end < (int64_t)count)
            allow[end] ^= (uint32_t)1 << q;
    }
    for (size_t j = 1; j < count; j++)
        allow[j] ^= allow[j - 1];
}

/* Query by query, for block lists and dense masks. */
static void allow_listed(const att_fused *fused, const att_head *head, const att_tile *tile,
                         int64_t from, size_t count, uint32_t *allow)
{
    int64_t keys[ATT_BLOCK_KEYS];
    for (size_t j = 0; j < count; j++)
        allow[j] = 0;
    for (size_t q = 0; q < tile->queries; q++) {
        att_span span = tile->span[q];
        span.begin = larger(span.begin, from);
        span.end = smaller(span.end, from + (int64_t)count);
        int64_t found =
            att_mask_keys(&fused->mask, span, head->b, head->h, tile->first + (int64_t)q, keys);
        for (int64_t n = 0; n < found; n++)
            allow[keys[n] - from] |= (uint32_t)1 << q;
    }
}

att_allowed att_tile_allowed(const att_fused *fused, const att_head *head, att_tile *tile,
                             int64_t from, size_t count, uint32_t *allow)
{
    const att_attention *how = fused->problem->how;
    bool listed = how->blocks || how->allow;
    bool common = from >= tile->common_begin && from + (int64_t)count <= tile->common_end;
    if (common && !listed) {
        tile->seen = tile->live;
        return tile->live ? ATT_ALLOWED_ALL : ATT_ALLOWED_NONE;
    }
    if (listed)
        allow_listed(fused, head, tile, from, count, allow);
    else
        allow_spans(tile, from, count, allow);
    uint32_t some = 0, all = tile->live;
    for (size_t j = 0; j < count; j++) {
        some |= allow[j];
        all &= allow[j];
    }
    tile->seen |= some;
    return !some ? ATT_ALLOWED_NONE : all == tile->live ? ATT_ALLOWED_ALL : ATT_ALLOWED_SOME;
}
