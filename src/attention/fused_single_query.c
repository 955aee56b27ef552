/* Tiles of one query: decoding one new token of each sequence over a KV cache. There is one
 * multiply-add per element of the cache, so the time is that of reading it, provided that it is
 * read once, nearly in order, and prefetched early.
 *
 * In [B,S,G,K] the heads of a key are adjacent. So all heads process a few keys before any of them
 * processes the next ones, then likewise the values of the block; and each head prefetches its own
 * rows of a few steps ahead (docs/kernels.md, "One query"). */
#include "attention/fused.h"
#include "base/minmax.h"

#include <string.h>

enum {
    STEP_KEYS = 16,                 /* keys that each query processes in turn: one vector */
    PREFETCH_KEYS = 6 * STEP_KEYS,  /* prefetch distance in keys: 192 KB with 8 heads of 64 */
    VALUES_OFFSET = ATT_BLOCK_KEYS, /* reading order of a block: its keys, its values, */
    NEXT_BLOCK_OFFSET = 2 * ATT_BLOCK_KEYS /* then the keys of the next block or unit */
};

_Static_assert((int)ATT_MAX_TILES <= (int)ATT_TILE_LANES,
               "the scores of all single queries fit in one tile buffer");

/* A single-query tile and the current block. */
typedef struct single_query {
    att_query_tile *tile;
    att_fused_buffers buffers; /* with its own scores and mask bits */
    int64_t from;              /* keys of the block inside its key range */
    size_t count;
    int64_t begin, end; /* the same, counted from the start of the block */
    att_block_mask block_mask;
    bool values_are_safe;         /* masked values may be multiplied by weight 0 */
    bool does_prefetch;           /* it is the first tile of its key/value head */
    att_matrix_view keys, values; /* from the start of the block to the end of the sequence */
    att_matrix_view next;         /* keys that are read after this block */
    float *sums;                  /* of the current block */
} single_query;

/* Rows of a head from its key `first` on; none past the end, or where they cannot be used in place.
 */
static att_matrix_view rows_from(const att_tensor *tensor, const att_sequence_head *head,
                                 int64_t first)
{
    if (first >= head->keys || !att_tensor_rows_in_place(tensor))
        return (att_matrix_view){ 0 };
    return att_tensor_head_rows(tensor, head->b, head->key_start + first, head->g,
                                (size_t)(head->keys - first), NULL);
}

/* The keys of the next block, or after the last block those that the tile in the same place of the
 * next unit will probably read. */
static att_matrix_view rows_after(const att_fused_attention *fused, const att_query_tile *tile,
                                  const att_query_tile *first, int64_t block, bool last)
{
    const att_tensor *key = fused->problem->in->key;
    if (!last)
        return rows_from(key, &tile->head, (block + 1) * ATT_BLOCK_KEYS);
    att_prefetch_target ahead = att_prefetch_unit(fused);
    ahead.head.g += tile->head.g - first->head.g;
    if (ahead.count == 0 || ahead.head.g >= fused->problem->G)
        return (att_matrix_view){ 0 };
    return rows_from(key, &ahead.head, 0);
}

static void begin_block(const att_fused_attention *fused, single_query *s, att_fused_buffers *all,
                        int64_t t, int64_t block, bool last)
{
    att_query_tile *tile = &all->tile[t];
    const att_attention_inputs *in = fused->problem->in;
    int64_t before = block * ATT_BLOCK_KEYS, start = tile->head.key_start + before;
    *s = (single_query){ .tile = tile, .buffers = *all };
    s->buffers.scores += t * ATT_BLOCK_KEYS;
    s->buffers.mask_bits += t * ATT_BLOCK_KEYS;
    s->sums = tile->sums + fused->sum_stride; /* the buffer has rows for 32 queries */
    if (!att_tile_key_range(tile, start, ATT_BLOCK_KEYS, &s->from, &s->count))
        return;
    s->block_mask =
        att_tile_block_mask(fused, &tile->head, tile, s->from, s->count, s->buffers.mask_bits);
    if (s->block_mask == ATT_BLOCK_MASK_EMPTY)
        return;
    s->begin = s->from - start;
    s->end = s->begin + (int64_t)s->count;
    s->keys = rows_from(in->key, &tile->head, before);
    s->values = rows_from(in->value, &tile->head, before);
    s->does_prefetch = t == 0 || tile->head.g != all->tile[t - 1].head.g;
    if (s->does_prefetch)
        s->next = rows_after(fused, tile, &all->tile[0], block, last);
}

static att_matrix_view step_of(att_matrix_view rows, int64_t at, int64_t end)
{
    rows.data += at * rows.stride;
    rows.rows = (size_t)att_min_i64(end - at, STEP_KEYS);
    return rows;
}

/* Rows that must be converted, as of a float16 KV cache, a few steps ahead. */
static void prefetch_copied(const att_tensor *tensor, const att_sequence_head *head, int64_t first)
{
    int64_t left = head->key_start + head->keys - first;
    att_tensor_prefetch_rows(tensor, head->b, first, head->g, att_clamp_i64(left, 0, STEP_KEYS));
}

/* The rows of a step inside the query's key range. */
static att_matrix_view rows_of_step(const att_tensor *tensor, att_matrix_view rows,
                                    const single_query *s, int64_t at)
{
    const att_sequence_head *head = &s->tile->head;
    rows = step_of(rows, at, s->end);
    if (att_tensor_rows_in_place(tensor))
        return rows;
    if (s->does_prefetch) /* copied rows: those in place are prefetched by the kernels */
        prefetch_copied(tensor, head, s->from - s->begin + at + PREFETCH_KEYS);
    return att_tensor_head_rows(tensor, head->b, s->from - s->begin + at, head->g, rows.rows,
                                s->buffers.gathered);
}

/* The rows PREFETCH_KEYS ahead of a place in the reading order. */
static att_matrix_view rows_to_prefetch(const single_query *s, int64_t place)
{
    place += PREFETCH_KEYS;
    const att_matrix_view *rows = place < VALUES_OFFSET       ? &s->keys
                                  : place < NEXT_BLOCK_OFFSET ? &s->values
                                                              : &s->next;
    int64_t at = place % ATT_BLOCK_KEYS;
    if (!s->does_prefetch || at >= (int64_t)rows->rows)
        return (att_matrix_view){ 0 };
    return step_of(*rows, at, (int64_t)rows->rows);
}

static void score_step(const att_fused_attention *fused, const single_query *s, int64_t at)
{
    if (at >= s->begin && at < s->end)
        fused->kernels->single_query_scores(s->buffers.scores + (at - s->begin), s->tile->query,
                                            rows_of_step(fused->problem->in->key, s->keys, s, at),
                                            rows_to_prefetch(s, at));
}

static void combine_step(const att_fused_attention *fused, const single_query *s, int64_t at)
{
    if (at >= s->begin && at < s->end && s->values_are_safe)
        fused->kernels->single_query_combine(
            s->sums, s->buffers.scores + (at - s->begin),
            rows_of_step(fused->problem->in->value, s->values, s, at),
            rows_to_prefetch(s, VALUES_OFFSET + at));
}

static att_matrix_view all_values(const att_fused_attention *fused, const single_query *s)
{
    const att_sequence_head *head = &s->tile->head;
    return att_tensor_head_rows(fused->problem->in->value, head->b, s->from, head->g, s->count,
                                s->buffers.gathered);
}

static void softmax_block(const att_fused_attention *fused, single_query *s)
{
    att_query_tile *tile = s->tile;
    if (s->block_mask == ATT_BLOCK_MASK_EMPTY)
        return;
    att_tile_scores_finish(fused, &tile->head, tile, &s->buffers, s->from, s->count, s->block_mask);
    fused->kernels->tile_softmax(s->buffers.scores, 1, s->count, tile->state);
    if (fused->dropout.threshold > 0) {
        att_tile_dropout_bits(fused, &tile->head, tile, &s->buffers, s->from, s->count);
        fused->kernels->tile_mask(s->buffers.scores, 1, s->count, s->buffers.dropout_bits, 0);
    }
    s->values_are_safe = s->block_mask == ATT_BLOCK_MASK_FULL ||
                         fused->kernels->all_finite(all_values(fused, s)) > 0;
    memset(s->sums, 0, fused->sum_stride * sizeof(float));
}

/* Adds the block's sums to those of the preceding blocks. */
static void add_block_sums(const att_fused_attention *fused, const single_query *s)
{
    att_query_tile *tile = s->tile;
    if (s->block_mask == ATT_BLOCK_MASK_EMPTY)
        return;
    const float *keep = tile->has_sums ? tile->state->rescale : NULL;
    tile->has_sums = true;
    if (!s->values_are_safe) {
        fused->kernels->tile_combine_masked(tile->sums, fused->sum_stride, 1, keep,
                                            s->buffers.scores, 1, all_values(fused, s),
                                            s->buffers.mask_bits);
        return;
    }
    size_t width = (size_t)fused->problem->M;
    if (keep)
        fused->kernels->axpy(s->sums, keep[0], tile->sums, width);
    memcpy(tile->sums, s->sums, width * sizeof(float));
}

void att_single_query_block(const att_fused_attention *fused, att_fused_buffers *buffers,
                            int64_t count, int64_t block, bool last)
{
    single_query each[ATT_MAX_TILES];
    for (int64_t t = 0; t < count; t++)
        begin_block(fused, &each[t], buffers, t, block, last);
    for (int64_t at = 0; at < ATT_BLOCK_KEYS; at += STEP_KEYS)
        for (int64_t t = 0; t < count; t++)
            score_step(fused, &each[t], at);
    for (int64_t t = 0; t < count; t++)
        softmax_block(fused, &each[t]);
    for (int64_t at = 0; at < ATT_BLOCK_KEYS; at += STEP_KEYS)
        for (int64_t t = 0; t < count; t++)
            combine_step(fused, &each[t], at);
    for (int64_t t = 0; t < count; t++)
        add_block_sums(fused, &each[t]);
}
