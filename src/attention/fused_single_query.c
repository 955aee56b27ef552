/* Queries that go through the keys alone: one new token of each sequence, over a cache. There is
 * one multiply-add for each number of the cache, so this takes as long as reading it does, if it is
 * read as memory likes it: once, nearly in order, and asked for early.
 *
 * In [B,S,G,K] the heads of a key lie side by side. So all heads meet a few keys before any meets
 * the next ones, then likewise the values of the block; and each asks for its own rows of what it
 * will meet a few steps later (docs/kernels.md, "One query"). */
#include "attention/fused.h"

#include <string.h>

enum {
    STEP_KEYS = 16, /* keys that each query meets in turn: those of a vector */
    PREFETCH_KEYS =
        3 * STEP_KEYS, /* what is asked for is so many keys away: 96 KB with 8 heads of 64 */
    VALUES_OFFSET = ATT_BLOCK_KEYS, /* A block is read in this order: its keys, its values, */
    NEXT_BLOCK_OFFSET = 2 * ATT_BLOCK_KEYS /* and then the keys of what comes next. */
};

_Static_assert((int)ATT_MAX_TILES <= (int)ATT_TILE_LANES,
               "scores of all queries fit into a tile's");

/* A query and the block that it meets. */
typedef struct single_query {
    att_query_tile *tile;
    att_fused_buffers buffers; /* with scores and pairs allowed of its own */
    int64_t from;              /* the keys that it could see */
    size_t count;
    int64_t begin, end; /* the same, counted from the block's start */
    att_block_mask block_mask;
    bool values_are_safe; /* values that it must not see do no harm */
    bool does_prefetch;   /* it is the first on its head */
    att_matrix_view keys, values,
        next;    /* from the block's start to the head's end, and what comes next */
    float *sums; /* of the block at hand */
} single_query;

/* Rows of a head from its key `first` on; none where they are at an end, or not next to each other.
 */
static att_matrix_view rows_from(const att_tensor *tensor, const att_sequence_head *head,
                                 int64_t first)
{
    if (first >= head->keys || tensor->stride[3] != 1)
        return (att_matrix_view){ 0 };
    return att_tensor_head_rows(tensor, head->b, head->key_start + first, head->g,
                                (size_t)(head->keys - first), NULL);
}

/* The keys of the next block, or those that this query's place in the next unit is likely to meet.
 */
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
    s->sums = tile->sums + fused->sum_stride; /* a tile has room for many queries */
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
    rows.rows = (size_t)(end - at < STEP_KEYS ? end - at : STEP_KEYS);
    return rows;
}

/* The rows of a step that the query could see. */
static att_matrix_view rows_of_step(const att_tensor *tensor, att_matrix_view rows,
                                    const single_query *s, int64_t at)
{
    const att_sequence_head *head = &s->tile->head;
    rows = step_of(rows, at, s->end);
    if (tensor->stride[3] == 1)
        return rows;
    return att_tensor_head_rows(tensor, head->b, s->from - s->begin + at, head->g, rows.rows,
                                s->buffers.gathered);
}

/* What lies AHEAD of a place in the order of reading. */
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

/* Scores become weights. */
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

/* The block's sums join those of the blocks before. */
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

void att_single_query_block(const att_fused_attention *fused, att_fused_buffers *scratch,
                            int64_t count, int64_t block, bool last)
{
    single_query each[ATT_MAX_TILES];
    for (int64_t t = 0; t < count; t++)
        begin_block(fused, &each[t], scratch, t, block, last);
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
