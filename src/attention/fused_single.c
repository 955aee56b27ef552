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
    STEP = 16,                /* keys that each query meets in turn: those of a vector */
    AHEAD = 3 * STEP,         /* what is asked for is so many keys away: 96 KB with 8 heads of 64 */
    VALUES = ATT_BLOCK_KEYS,  /* A block is read in this order: its keys, its values, */
    NEXT = 2 * ATT_BLOCK_KEYS /* and then the keys of what comes next. */
};

_Static_assert((int)ATT_TILES <= (int)ATT_TILE_LANES, "scores of all queries fit into a tile's");

/* A query and the block that it meets. */
typedef struct single {
    att_tile *tile;
    att_scratch scratch; /* with scores and pairs allowed of its own */
    int64_t from;        /* the keys that it could see */
    size_t count;
    int64_t begin, end; /* the same, counted from the block's start */
    att_allowed allowed;
    bool finite;                 /* values that it must not see do no harm */
    bool fetches;                /* it is the first on its head */
    att_rows keys, values, next; /* from the block's start to the head's end, and what comes next */
    float *sums;                 /* of the block at hand */
} single;

/* Rows of a head from its key `first` on; none where they are at an end, or not next to each other.
 */
static att_rows rows_from(const att_tensor *tensor, const att_head *head, int64_t first)
{
    if (first >= head->keys || tensor->stride[3] != 1)
        return (att_rows){ 0 };
    return att_tensor_rows(tensor, head->b, head->key_start + first, head->g,
                           (size_t)(head->keys - first), NULL);
}

/* The keys of the next block, or those that this query's place in the next unit is likely to meet.
 */
static att_rows rows_after(const att_fused *fused, const att_tile *tile, const att_tile *first,
                           int64_t block, bool last)
{
    const att_tensor *key = fused->problem->in->key;
    if (!last)
        return rows_from(key, &tile->head, (block + 1) * ATT_BLOCK_KEYS);
    att_ahead ahead = att_ahead_unit(fused);
    ahead.head.g += tile->head.g - first->head.g;
    if (ahead.count == 0 || ahead.head.g >= fused->problem->G)
        return (att_rows){ 0 };
    return rows_from(key, &ahead.head, 0);
}

static void meet(const att_fused *fused, single *s, att_scratch *all, int64_t t, int64_t block,
                 bool last)
{
    att_tile *tile = &all->tile[t];
    const att_attention_inputs *in = fused->problem->in;
    int64_t before = block * ATT_BLOCK_KEYS, start = tile->head.key_start + before;
    *s = (single){ .tile = tile, .scratch = *all };
    s->scratch.scores += t * ATT_BLOCK_KEYS;
    s->scratch.allow += t * ATT_BLOCK_KEYS;
    s->sums = tile->sums + fused->sum_stride; /* a tile has room for many queries */
    if (!att_tile_reach(tile, start, ATT_BLOCK_KEYS, &s->from, &s->count))
        return;
    s->allowed = att_tile_allowed(fused, &tile->head, tile, s->from, s->count, s->scratch.allow);
    if (s->allowed == ATT_ALLOWED_NONE)
        return;
    s->begin = s->from - start;
    s->end = s->begin + (int64_t)s->count;
    s->keys = rows_from(in->key, &tile->head, before);
    s->values = rows_from(in->value, &tile->head, before);
    s->fetches = t == 0 || tile->head.g != all->tile[t - 1].head.g;
    if (s->fetches)
        s->next = rows_after(fused, tile, &all->tile[0], block, last);
}

static att_rows step_of(att_rows rows, int64_t at, int64_t end)
{
    rows.at += at * rows.stride;
    rows.count = (size_t)(end - at < STEP ? end - at : STEP);
    return rows;
}

/* The rows of a step that the query could see. */
static att_rows rows_of_step(const att_tensor *tensor, att_rows rows, const single *s, int64_t at)
{
    const att_head *head = &s->tile->head;
    rows = step_of(rows, at, s->end);
    if (tensor->stride[3] == 1)
        return rows;
    return att_tensor_rows(tensor, head->b, s->from - s->begin + at, head->g, rows.count,
                           s->scratch.gather);
}

/* What lies AHEAD of a place in the order of reading. */
static att_rows wanted(const single *s, int64_t place)
{
    place += AHEAD;
    const att_rows *rows = place < VALUES ? &s->keys : place < NEXT ? &s->values : &s->next;
    int64_t at = place % ATT_BLOCK_KEYS;
    if (!s->fetches || at >= (int64_t)rows->count)
        return (att_rows){ 0 };
    return step_of(*rows, at, (int64_t)rows->count);
}

static void score_step(const att_fused *fused, const single *s, int64_t at)
{
    if (at >= s->begin && at < s->end)
        fused->kern->row_scores(s->scratch.scores + (at - s->begin), s->tile->query,
                                rows_of_step(fused->problem->in->key, s->keys, s, at),
                                wanted(s, at));
}

static void combine_step(const att_fused *fused, const single *s, int64_t at)
{
    if (at >= s->begin && at < s->end && s->finite)
        fused->kern->row_add(s->sums, s->scratch.scores + (at - s->begin),
                             rows_of_step(fused->problem->in->value, s->values, s, at),
                             wanted(s, VALUES + at));
}

static att_rows all_values(const att_fused *fused, const single *s)
{
    const att_head *head = &s->tile->head;
    return att_tensor_rows(fused->problem->in->value, head->b, s->from, head->g, s->count,
                           s->scratch.gather);
}

/* Scores become weights. */
static void weigh(const att_fused *fused, single *s)
{
    att_tile *tile = s->tile;
    if (s->allowed == ATT_ALLOWED_NONE)
        return;
    att_tile_block_finish(fused, &tile->head, tile, &s->scratch, s->from, s->count, s->allowed);
    fused->kern->tile_softmax(s->scratch.scores, 1, s->count, tile->state);
    if (fused->drop.threshold > 0) {
        att_tile_kept(fused, &tile->head, tile, &s->scratch, s->from, s->count);
        fused->kern->tile_mask(s->scratch.scores, 1, s->count, s->scratch.kept, 0);
    }
    s->finite = s->allowed == ATT_ALLOWED_ALL || fused->kern->rows_finite(all_values(fused, s)) > 0;
    memset(s->sums, 0, fused->sum_stride * sizeof(float));
}

/* The block's sums join those of the blocks before. */
static void join(const att_fused *fused, const single *s)
{
    att_tile *tile = s->tile;
    if (s->allowed == ATT_ALLOWED_NONE)
        return;
    const float *keep = tile->started ? tile->state->keep : NULL;
    tile->started = true;
    if (!s->finite) {
        fused->kern->tile_combine_allowed(tile->sums, fused->sum_stride, 1, keep, s->scratch.scores,
                                          1, all_values(fused, s), s->scratch.allow);
        return;
    }
    size_t width = (size_t)fused->problem->M;
    if (keep)
        fused->kern->add_scaled(s->sums, keep[0], tile->sums, width);
    memcpy(tile->sums, s->sums, width * sizeof(float));
}

void att_single_block(const att_fused *fused, att_scratch *scratch, int64_t count, int64_t block,
                      bool last)
{
    single each[ATT_TILES];
    for (int64_t t = 0; t < count; t++)
        meet(fused, &each[t], scratch, t, block, last);
    for (int64_t at = 0; at < ATT_BLOCK_KEYS; at += STEP)
        for (int64_t t = 0; t < count; t++)
            score_step(fused, &each[t], at);
    for (int64_t t = 0; t < count; t++)
        weigh(fused, &each[t]);
    for (int64_t at = 0; at < ATT_BLOCK_KEYS; at += STEP)
        for (int64_t t = 0; t < count; t++)
            combine_step(fused, &each[t], at);
    for (int64_t t = 0; t < count; t++)
        join(fused, &each[t]);
}
