/* Masks of tiles: which pairs of some queries and some keys are allowed, as one bit per pair, or
 * better, none at all where all or no pairs are. Spans and lists of blocks come from mask.c. */
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

/* All queries see the same keys. */
static void share_span(att_tile *tile, att_span span)
{
    for (size_t q = 0; q < tile->queries; q++, span.query_position++)
        tile->span[q] = span;
    if (span.begin >= span.end)
        return;
    tile->live = (uint32_t)(((uint64_t)1 << tile->queries) - 1);
    tile->begin = tile->common_begin = span.begin;
    tile->end = tile->common_end = span.end;
}

static void add_span(att_tile *tile, size_t q, att_span span)
{
    tile->span[q] = span;
    if (span.begin >= span.end)
        return;
    tile->live |= (uint32_t)1 << q;
    tile->begin = smaller(tile->begin, span.begin);
    tile->end = larger(tile->end, span.end);
    tile->common_begin = larger(tile->common_begin, span.begin);
    tile->common_end = smaller(tile->common_end, span.end);
}

void att_tile_spans(const att_fused *fused, const att_head *head, att_tile *tile)
{
    const att_problem *p = fused->problem;
    tile->live = tile->seen = 0;
    tile->begin = tile->common_end = INT64_MAX;
    tile->end = tile->common_begin = INT64_MIN;
    if (!spans_differ(p->how))
        share_span(tile, att_mask_span(p, head->b, tile->first));
    else
        for (size_t q = 0; q < tile->queries; q++)
            add_span(tile, q, att_mask_span(p, head->b, tile->first + (int64_t)q));
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

/* Keeps what the list of blocks allows. Queries of one row of blocks share it: it is asked for once
 * for all of them. */
static void keep_listed(const att_fused *fused, const att_head *head, const att_tile *tile,
                        int64_t from, size_t count, uint32_t *allow)
{
    int64_t keys[ATT_BLOCK_KEYS], tall = fused->problem->how->block_queries;
    uint32_t listed[ATT_BLOCK_KEYS] = { 0 };
    att_span span = { .begin = from, .end = from + (int64_t)count };
    for (int64_t i = tile->first, last = i + (int64_t)tile->queries, next; i < last; i = next) {
        next = smaller(i - i % tall + tall, last);
        int64_t found = att_mask_keys(&fused->lists, span, head->b, head->h, i, keys);
        uint32_t queries =
            (uint32_t)(((uint64_t)1 << (next - tile->first)) - ((uint64_t)1 << (i - tile->first)));
        for (int64_t n = 0; n < found; n++)
            listed[keys[n] - from] |= queries;
    }
    for (size_t j = 0; j < count; j++)
        allow[j] &= listed[j];
}

static void keep_dense(const att_fused *fused, const att_head *head, const att_tile *tile,
                       int64_t from, size_t count, uint32_t *allow)
{
    const int64_t *stride = fused->problem->how->allow_stride;
    const uint8_t *at = fused->problem->how->allow + head->b * stride[0] + head->h * stride[1] +
                        tile->first * stride[2] + from * stride[3];
    if (stride[3] == 1) {
        fused->kern->tile_allow(allow, count, at, (ptrdiff_t)stride[2], tile->queries);
        return;
    }
    for (size_t j = 0; j < count; j++)
        for (size_t q = 0; q < tile->queries; q++)
            if (!at[(int64_t)q * stride[2] + (int64_t)j * stride[3]])
                allow[j] &= ~((uint32_t)1 << q);
}

att_allowed att_tile_allowed(const att_fused *fused, const att_head *head, att_tile *tile,
                             int64_t from, size_t count, uint32_t *allow)
{
    const att_attention *how = fused->problem->how;
    bool common = from >= tile->common_begin && from + (int64_t)count <= tile->common_end;
    if (common && !how->blocks && !how->allow) {
        tile->seen = tile->live;
        return tile->live ? ATT_ALLOWED_ALL : ATT_ALLOWED_NONE;
    }
    allow_spans(tile, from, count, allow);
    if (how->blocks)
        keep_listed(fused, head, tile, from, count, allow);
    if (how->allow)
        keep_dense(fused, head, tile, from, count, allow);
    uint32_t some = 0, all = tile->live;
    for (size_t j = 0; j < count; j++) {
        some |= allow[j];
        all &= allow[j];
    }
    tile->seen |= some;
    return !some ? ATT_ALLOWED_NONE : all == tile->live ? ATT_ALLOWED_ALL : ATT_ALLOWED_SOME;
}
