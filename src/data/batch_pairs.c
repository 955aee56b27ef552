/* Batches of pairs; see batch.h. */
#include "data/batch_internal.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/random.h"

#include <stdlib.h>
#include <string.h>

/* A stretch, which is sorted by length, has about so many batches: many enough for rows of nearly
 * the same length, few enough that neighbours in it change from epoch to epoch. */
enum { BUCKET_BATCHES = 64 };

/* Shuffles draw from streams of their own, one per epoch, counted from these. */
#define PAIRS_STREAM   (UINT64_C(1) << 42)
#define BATCHES_STREAM (UINT64_C(1) << 43)

/* A pair with what it is sorted by. `place`, its place before sorting, makes the order complete. */
typedef struct item {
    int64_t max_length; /* of source and target with its end */
    int64_t min_length;
    int64_t original_position;
    int64_t pair;
} item;

typedef struct pair_batches {
    att_batches base;
    const att_corpus *corpus;
    int64_t batch_tokens;
    uint64_t seed;
    int64_t bucket_pairs; /* pairs in one */
    item *items;          /* [pairs] in the order of the epoch */
    int64_t *first;       /* [count + 1] the first item of each batch */
    int64_t *order;       /* [count] the batches in the order of the epoch */
    int32_t *source, *target_in, *target_out, *alignment; /* of the batch shown */
    int64_t *source_lengths, *target_lengths, *pair_index;
} pair_batches;

/* ---- lengths */

static int64_t source_length(const att_corpus *corpus, int64_t pair)
{
    return corpus->source.offsets[pair + 1] - corpus->source.offsets[pair];
}

static int64_t target_length(const att_corpus *corpus, int64_t pair)
{
    return corpus->target.offsets[pair + 1] - corpus->target.offsets[pair] + !corpus->has_labels;
}

static int64_t max_i64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t min_i64(int64_t a, int64_t b)
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
        limits.source_length = max_i64(limits.source_length, source);
        limits.target_length = max_i64(limits.target_length, target);
        least = min_i64(least, max_i64(source, target));
    }
    limits.rows = corpus->pairs ? min_i64(corpus->pairs, max_i64(tokens / least, 1)) : 0;
    limits.source_padded_tokens = max_i64(tokens, limits.source_length);
    limits.target_padded_tokens = max_i64(tokens, limits.target_length);
    return limits;
}

/* ---- life */

static void *alloc_or_fail(bool *good, int64_t count, size_t size)
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
    batches->items = alloc_or_fail(&good, pairs, sizeof *batches->items);
    batches->first = alloc_or_fail(&good, pairs + 1, sizeof *batches->first);
    batches->order = alloc_or_fail(&good, pairs, sizeof *batches->order);
    batches->source = alloc_or_fail(&good, most->source_padded_tokens, sizeof *batches->source);
    batches->target_in =
        alloc_or_fail(&good, most->target_padded_tokens, sizeof *batches->target_in);
    batches->target_out =
        alloc_or_fail(&good, most->target_padded_tokens, sizeof *batches->target_out);
    batches->alignment =
        alloc_or_fail(&good, most->target_padded_tokens, sizeof *batches->alignment);
    batches->source_lengths = alloc_or_fail(&good, most->rows, sizeof *batches->source_lengths);
    batches->target_lengths = alloc_or_fail(&good, most->rows, sizeof *batches->target_lengths);
    batches->pair_index = alloc_or_fail(&good, most->rows, sizeof *batches->pair_index);
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
    att_free(batches->alignment);
    att_free(batches->source_lengths);
    att_free(batches->target_lengths);
    att_free(batches->pair_index);
    att_free(batches);
}

/* ---- arranging */

/* Fisher and Yates: where element i is exchanged with, among those not yet placed. */
static int64_t shuffle_partner(const pair_batches *batches, uint64_t stream, int64_t i)
{
    return (int64_t)(att_random_double(batches->seed, stream, (uint64_t)i) * (double)(i + 1));
}

static void list_items(pair_batches *batches)
{
    for (int64_t p = 0; p < batches->corpus->pairs; p++) {
        int64_t source = source_length(batches->corpus, p);
        int64_t target = target_length(batches->corpus, p);
        batches->items[p] = (item){ max_i64(source, target), min_i64(source, target), p, p };
    }
}

static void shuffle_items(pair_batches *batches, uint64_t stream)
{
    for (int64_t i = batches->corpus->pairs - 1; i > 0; i--) {
        int64_t j = shuffle_partner(batches, stream, i);
        item other = batches->items[j];
        batches->items[j] = batches->items[i];
        batches->items[i] = other;
    }
    for (int64_t i = 0; i < batches->corpus->pairs; i++)
        batches->items[i].original_position = i;
}

static int by_length(const void *left, const void *right)
{
    const item *a = left, *b = right;
    if (a->max_length != b->max_length)
        return a->max_length < b->max_length ? -1 : 1;
    if (a->min_length != b->min_length)
        return a->min_length < b->min_length ? -1 : 1;
    return (a->original_position > b->original_position) -
           (a->original_position < b->original_position);
}

/* Sorts items [begin, end) and cuts them into batches. Since lengths rise, the one being added is
 * the longest so far. */
static void cut_bucket(pair_batches *batches, int64_t begin, int64_t end)
{
    qsort(batches->items + begin, (size_t)(end - begin), sizeof *batches->items, by_length);
    for (int64_t i = begin; i < end; i++) {
        int64_t rows = i - batches->first[batches->base.count] + 1;
        if (i > begin && rows * batches->items[i].max_length > batches->batch_tokens)
            batches->first[++batches->base.count] = i;
    }
    batches->first[++batches->base.count] = end;
}

static void cut_batches(pair_batches *batches, int64_t stretch)
{
    int64_t pairs = batches->corpus->pairs;
    batches->base.count = 0;
    batches->first[0] = 0;
    for (int64_t begin = 0; begin < pairs; begin += min_i64(stretch, pairs - begin))
        cut_bucket(batches, begin, begin + min_i64(stretch, pairs - begin));
    for (int64_t i = 0; i < batches->base.count; i++)
        batches->order[i] = i;
}

static void start_epoch(att_batches *base, int64_t epoch)
{
    pair_batches *batches = (pair_batches *)base;
    list_items(batches);
    shuffle_items(batches, PAIRS_STREAM + (uint64_t)epoch);
    cut_batches(batches, batches->bucket_pairs);
    for (int64_t i = batches->base.count - 1; i > 0; i--) {
        int64_t j = shuffle_partner(batches, BATCHES_STREAM + (uint64_t)epoch, i);
        int64_t other = batches->order[j];
        batches->order[j] = batches->order[i];
        batches->order[i] = other;
    }
}

static void start_sequential(att_batches *base)
{
    pair_batches *batches = (pair_batches *)base;
    list_items(batches);
    cut_batches(batches, max_i64(batches->corpus->pairs, 1));
}

/* ---- filling */

/* A sequence as a row, filled up to `width`. */
static void fill_row(int32_t *row, const int32_t *ids, int64_t length, int64_t width)
{
    memcpy(row, ids, (size_t)length * sizeof *row);
    for (int64_t i = length; i < width; i++)
        row[i] = ATT_ID_PAD;
}

static void fill_target(pair_batches *batches, int64_t row, int64_t pair, int64_t width)
{
    const att_corpus *corpus = batches->corpus;
    int64_t length;
    const int32_t *ids = att_sequences_get(&corpus->target, pair, &length);
    int32_t *in = batches->target_in + row * width, *out = batches->target_out + row * width;
    in[0] = ATT_ID_BOS;
    fill_row(in + 1, ids, length - corpus->has_labels, width - 1);
    fill_row(out, ids, length, width);
    if (!corpus->has_labels)
        out[length] = ATT_ID_EOS;
    if (corpus->alignment)
        fill_row(batches->alignment + row * width, corpus->alignment + corpus->target.offsets[pair],
                 length, width);
}

/* The longest of each side, and the tokens in use. */
static void measure_batch(pair_batches *batches, const item *items)
{
    att_batch *shown = &batches->base.current;
    for (int64_t r = 0; r < shown->rows; r++) {
        int64_t pair = items[r].pair;
        batches->pair_index[r] = pair;
        batches->source_lengths[r] = source_length(batches->corpus, pair);
        batches->target_lengths[r] = target_length(batches->corpus, pair);
        shown->source_length = max_i64(shown->source_length, batches->source_lengths[r]);
        shown->target_length = max_i64(shown->target_length, batches->target_lengths[r]);
        shown->source_tokens += batches->source_lengths[r];
        shown->target_tokens += batches->target_lengths[r];
    }
}

static const att_batch *get(att_batches *base, int64_t index)
{
    pair_batches *batches = (pair_batches *)base;
    int64_t begin = batches->first[batches->order[index]];
    int64_t end = batches->first[batches->order[index] + 1];
    att_batch *shown = &batches->base.current;
    *shown = (att_batch){ .rows = end - begin,
                          .source = batches->source,
                          .source_lengths = batches->source_lengths,
                          .target_in = batches->target_in,
                          .target_out = batches->target_out,
                          .target_lengths = batches->target_lengths,
                          .alignment = batches->corpus->alignment ? batches->alignment : NULL,
                          .pair_index = batches->pair_index };
    measure_batch(batches, batches->items + begin);
    for (int64_t r = 0; r < shown->rows; r++) {
        int64_t length;
        const int32_t *ids =
            att_sequences_get(&batches->corpus->source, batches->pair_index[r], &length);
        fill_row(batches->source + r * shown->source_length, ids, length, shown->source_length);
        fill_target(batches, r, batches->pair_index[r], shown->target_length);
    }
    return shown;
}

/* ---- making */

static const att_batches_methods methods = { free_batches, start_epoch, start_sequential, get };

att_status att_pair_batches_new(att_batches **out, const att_corpus *corpus, int64_t tokens,
                                uint64_t seed, att_error *err)
{
    *out = NULL;
    pair_batches *batches = att_alloc_zero(1, sizeof *batches);
    if (!batches)
        return att_fail_memory(err);
    *batches =
        (pair_batches){ .base = { .methods = &methods, .limits = find_limits(corpus, tokens) },
                        .corpus = corpus,
                        .batch_tokens = tokens,
                        .seed = seed };
    int64_t cells =
        max_i64(corpus->stats.source.tokens, corpus->stats.target.tokens + corpus->pairs);
    int64_t mean = corpus->pairs ? max_i64(cells / corpus->pairs, 1) : 1;
    batches->bucket_pairs = max_i64(tokens / mean, 1) * BUCKET_BATCHES;
    if (!allocate(batches)) {
        free_batches(&batches->base);
        return att_fail_memory(err);
    }
    start_sequential(&batches->base);
    *out = &batches->base;
    return ATT_OK;
}
