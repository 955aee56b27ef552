/* Batches of pairs; see batch.h. */
#include "text/batch_way.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/random.h"

#include <stdlib.h>
#include <string.h>

/* A stretch, which is sorted by length, has about so many batches: many enough for rows of nearly
 * the same length, few enough that neighbours in it change from epoch to epoch. */
enum { STRETCH_BATCHES = 64 };

/* Shuffles draw from streams of their own, one per epoch, counted from these. */
#define PAIRS_STREAM   (UINT64_C(1) << 42)
#define BATCHES_STREAM (UINT64_C(1) << 43)

/* A pair with what it is sorted by. `place`, its place before sorting, makes the order complete. */
typedef struct item {
    int64_t longer; /* of source and target with its end */
    int64_t shorter;
    int64_t place;
    int64_t pair;
} item;

typedef struct pair_batches {
    att_batches base;
    const att_corpus *corpus;
    int64_t tokens;
    uint64_t seed;
    int64_t stretch; /* pairs in one */
    item *items;     /* [pairs] in the order of the epoch */
    int64_t *first;  /* [count + 1] the first item of each batch */
    int64_t *order;  /* [count] the batches in the order of the epoch */
    int32_t *source, *target_in, *target_out, *align; /* of the batch shown */
    int64_t *source_lengths, *target_lengths, *pair;
} pair_batches;

/* ---- lengths */

static int64_t source_length(const att_corpus *corpus, int64_t pair)
{
    return corpus->source.at[pair + 1] - corpus->source.at[pair];
}

static int64_t target_length(const att_corpus *corpus, int64_t pair)
{
    return corpus->target.at[pair + 1] - corpus->target.at[pair] + !corpus->labels;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* A batch of several rows has at most `tokens` cells on each side, and one of a single row as many
 * as the longest. */
static att_batch_limits find_limits(const att_corpus *corpus, int64_t tokens)
{
    att_batch_limits limits = { 0 };
    int64_t least = INT64_MAX;
    for (int64_t p = 0; p < corpus->pairs; p++) {
        int64_t source = source_length(corpus, p), target = target_length(corpus, p);
        limits.source_length = larger(limits.source_length, source);
        limits.target_length = larger(limits.target_length, target);
        least = smaller(least, larger(source, target));
    }
    limits.rows = corpus->pairs ? smaller(corpus->pairs, larger(tokens / least, 1)) : 0;
    limits.source_cells = larger(tokens, limits.source_length);
    limits.target_cells = larger(tokens, limits.target_length);
    return limits;
}

/* ---- life */

static void *room(bool *good, int64_t count, size_t size)
{
    void *block = att_alloc((size_t)count, size);
    *good = *good && block;
    return block;
}

static bool allocate(pair_batches *batches)
{
    const att_batch_limits *most = &batches->base.limits;
    int64_t pairs = batches->corpus->pairs;
    bool good = true;
    batches->items = room(&good, pairs, sizeof *batches->items);
    batches->first = room(&good, pairs + 1, sizeof *batches->first);
    batches->order = room(&good, pairs, sizeof *batches->order);
    batches->source = room(&good, most->source_cells, sizeof *batches->source);
    batches->target_in = room(&good, most->target_cells, sizeof *batches->target_in);
    batches->target_out = room(&good, most->target_cells, sizeof *batches->target_out);
    batches->align = room(&good, most->target_cells, sizeof *batches->align);
    batches->source_lengths = room(&good, most->rows, sizeof *batches->source_lengths);
    batches->target_lengths = room(&good, most->rows, sizeof *batches->target_lengths);
    batches->pair = room(&good, most->rows, sizeof *batches->pair);
    return good;
}

static void free_batches(att_batches *base)
{
    pair_batches *batches = (pair_batches *)base;
    att_free(batches->items);
    att_free(batches->first);
    att_free(batches->order);
    att_free(batches->source);
    att_free(batches->target_in);
    att_free(batches->target_out);
    att_free(batches->align);
    att_free(batches->source_lengths);
    att_free(batches->target_lengths);
    att_free(batches->pair);
    att_free(batches);
}

/* ---- arranging */

/* Fisher and Yates: where element i is exchanged with, among those not yet placed. */
static int64_t partner(const pair_batches *batches, uint64_t stream, int64_t i)
{
    return (int64_t)(att_random_double(batches->seed, stream, (uint64_t)i) * (double)(i + 1));
}

static void list_items(pair_batches *batches)
{
    for (int64_t p = 0; p < batches->corpus->pairs; p++) {
        int64_t source = source_length(batches->corpus, p);
        int64_t target = target_length(batches->corpus, p);
        batches->items[p] = (item){ larger(source, target), smaller(source, target), p, p };
    }
}

static void shuffle_items(pair_batches *batches, uint64_t stream)
{
    for (int64_t i = batches->corpus->pairs - 1; i > 0; i--) {
        int64_t j = partner(batches, stream, i);
        item other = batches->items[j];
        batches->items[j] = batches->items[i];
        batches->items[i] = other;
    }
    for (int64_t i = 0; i < batches->corpus->pairs; i++)
        batches->items[i].place = i;
}

static int by_length(const void *left, const void *right)
{
    const item *a = left, *b = right;
    if (a->longer != b->longer)
        return a->longer < b->longer ? -1 : 1;
    if (a->shorter != b->shorter)
        return a->shorter < b->shorter ? -1 : 1;
    return (a->place > b->place) - (a->place < b->place);
}

/* Sorts items [begin, end) and cuts them into batches. Since lengths rise, the one being added is
 * the longest so far. */
static void cut_stretch(pair_batches *batches, int64_t begin, int64_t end)
{
    qsort(batches->items + begin, (size_t)(end - begin), sizeof *batches->items, by_length);
    for (int64_t i = begin; i < end; i++) {
        int64_t rows = i - batches->first[batches->base.count] + 1;
        if (i > begin && rows * batches->items[i].longer > batches->tokens)
            batches->first[++batches->base.count] = i;
    }
    batches->first[++batches->base.count] = end;
}

static void cut(pair_batches *batches, int64_t stretch)
{
    int64_t pairs = batches->corpus->pairs;
    batches->base.count = 0;
    batches->first[0] = 0;
    for (int64_t begin = 0; begin < pairs; begin += smaller(stretch, pairs - begin))
        cut_stretch(batches, begin, begin + smaller(stretch, pairs - begin));
    for (int64_t i = 0; i < batches->base.count; i++)
        batches->order[i] = i;
}

static void start(att_batches *base, int64_t epoch)
{
    pair_batches *batches = (pair_batches *)base;
    list_items(batches);
    shuffle_items(batches, PAIRS_STREAM + (uint64_t)epoch);
    cut(batches, batches->stretch);
    for (int64_t i = batches->base.count - 1; i > 0; i--) {
        int64_t j = partner(batches, BATCHES_STREAM + (uint64_t)epoch, i);
        int64_t other = batches->order[j];
        batches->order[j] = batches->order[i];
        batches->order[i] = other;
    }
}

static void in_order(att_batches *base)
{
    pair_batches *batches = (pair_batches *)base;
    list_items(batches);
    cut(batches, larger(batches->corpus->pairs, 1));
}

/* ---- filling */

/* A sequence as a row, filled up to `width`. */
static void fill_row(int32_t *row, const int32_t *ids, int64_t length, int64_t width)
{
    memcpy(row, ids, (size_t)length * sizeof *row);
    for (int64_t i = length; i < width; i++)
        row[i] = ATT_ID_NONE;
}

static void fill_target(pair_batches *batches, int64_t row, int64_t pair, int64_t width)
{
    const att_corpus *corpus = batches->corpus;
    int64_t length;
    const int32_t *ids = att_side_get(&corpus->target, pair, &length);
    int32_t *in = batches->target_in + row * width, *out = batches->target_out + row * width;
    in[0] = ATT_ID_START;
    fill_row(in + 1, ids, length - corpus->labels, width - 1);
    fill_row(out, ids, length, width);
    if (!corpus->labels)
        out[length] = ATT_ID_END;
    if (corpus->align)
        fill_row(batches->align + row * width, corpus->align + corpus->target.at[pair], length,
                 width);
}

/* The longest of each side, and the tokens in use. */
static void measure(pair_batches *batches, const item *items)
{
    att_batch *shown = &batches->base.shown;
    for (int64_t r = 0; r < shown->rows; r++) {
        int64_t pair = items[r].pair;
        batches->pair[r] = pair;
        batches->source_lengths[r] = source_length(batches->corpus, pair);
        batches->target_lengths[r] = target_length(batches->corpus, pair);
        shown->source_length = larger(shown->source_length, batches->source_lengths[r]);
        shown->target_length = larger(shown->target_length, batches->target_lengths[r]);
        shown->source_tokens += batches->source_lengths[r];
        shown->target_tokens += batches->target_lengths[r];
    }
}

static const att_batch *get(att_batches *base, int64_t index)
{
    pair_batches *batches = (pair_batches *)base;
    int64_t begin = batches->first[batches->order[index]];
    int64_t end = batches->first[batches->order[index] + 1];
    att_batch *shown = &batches->base.shown;
    *shown = (att_batch){ .rows = end - begin,
                          .source = batches->source,
                          .source_lengths = batches->source_lengths,
                          .target_in = batches->target_in,
                          .target_out = batches->target_out,
                          .target_lengths = batches->target_lengths,
                          .align = batches->corpus->align ? batches->align : NULL,
                          .pair = batches->pair };
    measure(batches, batches->items + begin);
    for (int64_t r = 0; r < shown->rows; r++) {
        int64_t length;
        const int32_t *ids = att_side_get(&batches->corpus->source, batches->pair[r], &length);
        fill_row(batches->source + r * shown->source_length, ids, length, shown->source_length);
        fill_target(batches, r, batches->pair[r], shown->target_length);
    }
    return shown;
}

/* ---- making */

static const att_batch_way way = { free_batches, start, in_order, get };

att_status att_batches_new(att_batches **out, const att_corpus *corpus, int64_t tokens,
                           uint64_t seed, att_error *err)
{
    *out = NULL;
    pair_batches *batches = att_alloc_zero(1, sizeof *batches);
    if (!batches)
        return att_fail_memory(err);
    *batches = (pair_batches){ .base = { .way = &way, .limits = find_limits(corpus, tokens) },
                               .corpus = corpus,
                               .tokens = tokens,
                               .seed = seed };
    int64_t cells =
        larger(corpus->facts.source.tokens, corpus->facts.target.tokens + corpus->pairs);
    int64_t mean = corpus->pairs ? larger(cells / corpus->pairs, 1) : 1;
    batches->stretch = larger(tokens / mean, 1) * STRETCH_BATCHES;
    if (!allocate(batches)) {
        free_batches(&batches->base);
        return att_fail_memory(err);
    }
    in_order(&batches->base);
    *out = &batches->base;
    return ATT_OK;
}
