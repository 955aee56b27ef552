/* Masks of tiles: one bit per pair of query and key, or no bits at all where all pairs or none are
 * allowed. Key ranges and block lists come from mask.c. */
#include "attention/fused.h"
#include "base/minmax.h"

/* Whether queries of one tile can have different key ranges. */
static bool key_ranges_differ(const att_attention_options *options)
{
    return options->causal || options->window || options->query_lengths;
}

static void set_shared_key_range(att_query_tile *tile, att_key_range range)
{
    for (size_t q = 0; q < tile->queries; q++, range.query_position++)
        tile->key_range[q] = range;
    if (range.begin >= range.end)
        return;
    tile->active = (uint32_t)(((uint64_t)1 << tile->queries) - 1);
    tile->key_begin = tile->common_key_begin = range.begin;
    tile->key_end = tile->common_key_end = range.end;
}

static void add_key_range(att_query_tile *tile, size_t q, att_key_range range)
{
    tile->key_range[q] = range;
    if (range.begin >= range.end)
        return;
    tile->active |= (uint32_t)1 << q;
    tile->key_begin = att_min_i64(tile->key_begin, range.begin);
    tile->key_end = att_max_i64(tile->key_end, range.end);
    tile->common_key_begin = att_max_i64(tile->common_key_begin, range.begin);
    tile->common_key_end = att_min_i64(tile->common_key_end, range.end);
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

/* Each range toggles its bit at its begin and at its end; the running XOR gives the bits. */
static void mask_from_key_ranges(const att_query_tile *tile, int64_t from, size_t count,
                                 uint32_t *allow)
{
    for (size_t j = 0; j < count; j++)
        allow[j] = 0;
    for (size_t q = 0; q < tile->queries; q++) {
        int64_t begin = att_max_i64(tile->key_range[q].begin, from) - from;
        int64_t end = att_min_i64(tile->key_range[q].end - from, (int64_t)count);
        if (begin >= end)
            continue;
        allow[begin] ^= (uint32_t)1 << q;
        if (end < (int64_t)count)
            allow[end] ^= (uint32_t)1 << q;
    }
    for (size_t j = 1; j < count; j++)
        allow[j] ^= allow[j - 1];
}

/* Clears the bits of pairs outside the block list. The queries of one row of blocks share one
 * lookup. */
static void apply_block_list(const att_fused_attention *fused, const att_sequence_head *head,
                             const att_query_tile *tile, int64_t from, size_t count,
                             uint32_t *allow)
{
    int64_t keys[ATT_BLOCK_KEYS], tall = fused->problem->options->block_queries;
    uint32_t listed[ATT_BLOCK_KEYS] = { 0 };
    att_key_range range = { .begin = from, .end = from + (int64_t)count };
    for (int64_t i = tile->first, last = i + (int64_t)tile->queries, next; i < last; i = next) {
        next = att_min_i64(i - i % tall + tall, last);
        int64_t found = att_mask_keys(&fused->block_list_mask, range, head->b, head->h, i, keys);
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
