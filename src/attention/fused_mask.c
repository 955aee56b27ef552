/* Masks of tiles: which pairs of some queries and some keys are allowed, as one bit per pair, or
 * better, none at all where all or no pairs are. Spans and lists of blocks come from mask.c. */
#include "attention/fused.h"

static int64_t min_int64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t max_int64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Whether the span of a query depends on which one it is. */
static bool key_ranges_differ(const att_attention_options *options)
{
    return options->causal || options->window || options->query_lengths;
}

/* All queries see the same keys. */
static void set_shared_key_range(att_query_tile *tile, att_key_range span)
{
    for (size_t q = 0; q < tile->queries; q++, span.query_position++)
        tile->key_range[q] = span;
    if (span.begin >= span.end)
        return;
    tile->active = (uint32_t)(((uint64_t)1 << tile->queries) - 1);
    tile->key_begin = tile->common_key_begin = span.begin;
    tile->key_end = tile->common_key_end = span.end;
}

static void add_key_range(att_query_tile *tile, size_t q, att_key_range span)
{
    tile->key_range[q] = span;
    if (span.begin >= span.end)
        return;
    tile->active |= (uint32_t)1 << q;
    tile->key_begin = min_int64(tile->key_begin, span.begin);
    tile->key_end = max_int64(tile->key_end, span.end);
    tile->common_key_begin = max_int64(tile->common_key_begin, span.begin);
    tile->common_key_end = min_int64(tile->common_key_end, span.end);
}

void att_tile_set_key_ranges(const att_fused_attention *fused, const att_sequence_head *head,
                             att_query_tile *tile)
{
    const att_problem *p = fused->problem;
    tile->active = tile->attended = 0;
    tile->key_begin = tile->common_key_end = INT64_MAX;
    tile->key_end = tile->common_key_begin = INT64_MIN;
    if (!key_ranges_differ(p->options))
        set_shared_key_range(tile, att_mask_key_range(p, head->b, tile->first));
    else
        for (size_t q = 0; q < tile->queries; q++)
            add_key_range(tile, q, att_mask_key_range(p, head->b, tile->first + (int64_t)q));
}

/* Each span flips its bit where it begins and where it ends; summing the flips up gives the bits.
 */
static void mask_from_key_ranges(const att_query_tile *tile, int64_t from, size_t count,
                                 uint32_t *allow)
{
    for (size_t j = 0; j < count; j++)
        allow[j] = 0;
    for (size_t q = 0; q < tile->queries; q++) {
        int64_t begin = max_int64(tile->key_range[q].begin, from) - from;
        int64_t end = min_int64(tile->key_range[q].end - from, (int64_t)count);
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
static void apply_block_list(const att_fused_attention *fused, const att_sequence_head *head,
                             const att_query_tile *tile, int64_t from, size_t count,
                             uint32_t *allow)
{
    int64_t keys[ATT_BLOCK_KEYS], tall = fused->problem->options->block_queries;
    uint32_t listed[ATT_BLOCK_KEYS] = { 0 };
    att_key_range span = { .begin = from, .end = from + (int64_t)count };
    for (int64_t i = tile->first, last = i + (int64_t)tile->queries, next; i < last; i = next) {
        next = min_int64(i - i % tall + tall, last);
        int64_t found = att_mask_keys(&fused->block_list_mask, span, head->b, head->h, i, keys);
        uint32_t queries =
            (uint32_t)(((uint64_t)1 << (next - tile->first)) - ((uint64_t)1 << (i - tile->first)));
        for (int64_t n = 0; n < found; n++)
            listed[keys[n] - from] |= queries;
    }
    for (size_t j = 0; j < count; j++)
        allow[j] &= listed[j];
}

static void apply_dense_mask(const att_fused_attention *fused, const att_sequence_head *head,
                             const att_query_tile *tile, int64_t from, size_t count,
                             uint32_t *allow)
{
    const int64_t *stride = fused->problem->options->mask_stride;
    const uint8_t *at = fused->problem->options->mask + head->b * stride[0] + head->h * stride[1] +
                        tile->first * stride[2] + from * stride[3];
    if (stride[3] == 1) {
        fused->kernels->tile_mask_from_bytes(allow, count, at, (ptrdiff_t)stride[2], tile->queries);
        return;
    }
    for (size_t j = 0; j < count; j++)
        for (size_t q = 0; q < tile->queries; q++)
            if (!at[(int64_t)q * stride[2] + (int64_t)j * stride[3]])
                allow[j] &= ~((uint32_t)1 << q);
}

att_block_mask att_tile_block_mask(const att_fused_attention *fused, const att_sequence_head *head,
                                   att_query_tile *tile, int64_t from, size_t count,
                                   uint32_t *allow)
{
    const att_attention_options *options = fused->problem->options;
    bool common = from >= tile->common_key_begin && from + (int64_t)count <= tile->common_key_end;
    if (common && !options->blocks && !options->mask) {
        tile->attended = tile->active;
        return tile->active ? ATT_BLOCK_MASK_FULL : ATT_BLOCK_MASK_EMPTY;
    }
    mask_from_key_ranges(tile, from, count, allow);
    if (options->blocks)
        apply_block_list(fused, head, tile, from, count, allow);
    if (options->mask)
        apply_dense_mask(fused, head, tile, from, count, allow);
    uint32_t some = 0, all = tile->active;
    for (size_t j = 0; j < count; j++) {
        some |= allow[j];
        all &= allow[j];
    }
    tile->attended |= some;
    return !some                 ? ATT_BLOCK_MASK_EMPTY
           : all == tile->active ? ATT_BLOCK_MASK_FULL
                                 : ATT_BLOCK_MASK_PARTIAL;
}
