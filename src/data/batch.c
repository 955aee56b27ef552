/* Batches of any kind, and batches of pairs; see batch.h. */
#include "data/batch_internal.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/random.h"

#include <stdlib.h>
#include <string.h>

/* ---- batches of any kind */

void att_batches_free(att_batches *batches)
{
    if (batches)
        batches->methods->free(batches);
}

void att_batches_start_epoch(att_batches *batches, int64_t epoch)
{
    batches->methods->start_epoch(batches, epoch);
}

void att_batches_start_sequential(att_batches *batches)
{
    batches->methods->start_sequential(batches);
}

int64_t att_batches_count(const att_batches *batches)
{
    return batches->count;
}

const att_batch *att_batches_get(att_batches *batches, int64_t index)
{
    return batches->methods->get(batches, index);
}

att_batch_limits att_batches_limits(const att_batches *batches)
{
    return batches->limits;
}

/* ---- batches of pairs */

/* Pairs are sorted by length within a bucket of about this many batches: enough for rows of nearly
 * the same length, few enough that the neighbors of a pair change from epoch to epoch. */
enum { BUCKET_BATCHES = 64 };

/* A pair with its sort keys. The position before sorting makes the order total. */
typedef struct item {
    int64_t max_length; /* of source and target, end token included */
    int64_t min_length;
    int64_t original_position;
    int64_t pair;
} item;

typedef struct pair_batches {
    att_batches base;
    const att_corpus *corpus;
    int64_t batch_tokens;
    uint64_t seed;
    int64_t bucket_pairs; /* pairs of a bucket */
    item *items;          /* [pairs] in the order of the epoch */
    int64_t *first;       /* [count + 1] the first item of each batch */
    int64_t *order;       /* [count] the batches in the order of the epoch */
    int32_t *source, *target_in, *target_out, *alignment; /* of the current batch */
    int32_t *copy_ids;                                    /* or NULL */
    int64_t *source_lengths, *target_lengths, *pair_index;
    const char **source_words; /* or NULL */
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

/* A batch of several rows has at most `tokens` padded tokens on each side; a batch of one row at
 * most as many as the longest sequence. */
static att_batch_limits find_limits(const att_corpus *corpus, int64_t tokens)
{
    att_batch_limits limits = { 0 };
    int64_t shortest = INT64_MAX;
    for (int64_t p = 0; p < corpus->pairs; p++) {
        int64_t source = source_length(corpus, p), target = target_length(corpus, p);
        limits.source_length = att_max_i64(limits.source_length, source);
        limits.target_length = att_max_i64(limits.target_length, target);
        shortest = att_min_i64(shortest, att_max_i64(source, target));
    }
    limits.rows = corpus->pairs ? att_min_i64(corpus->pairs, att_max_i64(tokens / shortest, 1)) : 0;
    limits.source_padded_tokens = att_max_i64(tokens, limits.source_length);
    limits.target_padded_tokens = att_max_i64(tokens, limits.target_length);
    return limits;
}

/* ---- memory */

static void *alloc_or_fail(bool *good, int64_t count, size_t size)
{
    void *block = att_alloc((size_t)count, size);
    *good = *good && block;
    return block;
}

static bool allocate(pair_batches *batches)
{
    const att_batch_limits *limits = &batches->base.limits;
    int64_t pairs = batches->corpus->pairs;
    bool good = true;
    batches->items = alloc_or_fail(&good, pairs, sizeof *batches->items);
    batches->first = alloc_or_fail(&good, pairs + 1, sizeof *batches->first);
    batches->order = alloc_or_fail(&good, pairs, sizeof *batches->order);
    batches->source = alloc_or_fail(&good, limits->source_padded_tokens, sizeof *batches->source);
    batches->target_in =
        alloc_or_fail(&good, limits->target_padded_tokens, sizeof *batches->target_in);
    batches->target_out =
        alloc_or_fail(&good, limits->target_padded_tokens, sizeof *batches->target_out);
    batches->alignment =
        alloc_or_fail(&good, limits->target_padded_tokens, sizeof *batches->alignment);
    batches->source_lengths = alloc_or_fail(&good, limits->rows, sizeof *batches->source_lengths);
    batches->target_lengths = alloc_or_fail(&good, limits->rows, sizeof *batches->target_lengths);
    batches->pair_index = alloc_or_fail(&good, limits->rows, sizeof *batches->pair_index);
    if (batches->corpus->copy.source)
        batches->copy_ids =
            alloc_or_fail(&good, limits->source_padded_tokens, sizeof *batches->copy_ids);
    if (batches->corpus->source_words)
        batches->source_words =
            alloc_or_fail(&good, limits->source_padded_tokens, sizeof *batches->source_words);
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
    att_free(batches->source_words);
    att_free(batches->copy_ids);
    att_free(batches);
}

/* ---- arranging */

static void list_items(pair_batches *batches)
{
    for (int64_t p = 0; p < batches->corpus->pairs; p++) {
        int64_t source = source_length(batches->corpus, p);
        int64_t target = target_length(batches->corpus, p);
        batches->items[p] =
            (item){ att_max_i64(source, target), att_min_i64(source, target), p, p };
    }
}

static void shuffle_items(pair_batches *batches, uint64_t stream)
{
    for (int64_t i = batches->corpus->pairs - 1; i > 0; i--) {
        int64_t j = att_shuffle_partner(batches->seed, stream, i);
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

/* Sorts items [begin, end) and cuts them into batches. Lengths rise, so the item that is added is
 * the longest of its batch so far. */
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

static void cut_batches(pair_batches *batches, int64_t bucket)
{
    int64_t pairs = batches->corpus->pairs;
    batches->base.count = 0;
    batches->first[0] = 0;
    for (int64_t begin = 0; begin < pairs; begin += att_min_i64(bucket, pairs - begin))
        cut_bucket(batches, begin, begin + att_min_i64(bucket, pairs - begin));
    for (int64_t i = 0; i < batches->base.count; i++)
        batches->order[i] = i;
}

static void start_epoch(att_batches *base, int64_t epoch)
{
    pair_batches *batches = (pair_batches *)base;
    list_items(batches);
    shuffle_items(batches, ATT_STREAM_PAIR_ORDER + (uint64_t)epoch);
    cut_batches(batches, batches->bucket_pairs);
    for (int64_t i = batches->base.count - 1; i > 0; i--) {
        int64_t j = att_shuffle_partner(batches->seed, ATT_STREAM_BATCH_ORDER + (uint64_t)epoch, i);
        int64_t other = batches->order[j];
        batches->order[j] = batches->order[i];
        batches->order[i] = other;
    }
}

static void start_sequential(att_batches *base)
{
    pair_batches *batches = (pair_batches *)base;
    list_items(batches);
    cut_batches(batches, att_max_i64(batches->corpus->pairs, 1));
}

/* ---- filling */

/* Copies a sequence into a row and pads it to `width`. */
static void fill_row(int32_t *row, const int32_t *ids, int64_t length, int64_t width)
{
    memcpy(row, ids, (size_t)length * sizeof *row);
    for (int64_t i = length; i < width; i++)
        row[i] = ATT_ID_PAD;
}

static void fill_words(pair_batches *batches, int64_t row, int64_t pair, int64_t width)
{
    const att_corpus *corpus = batches->corpus;
    int64_t first = corpus->source.offsets[pair];
    int64_t length = corpus->source.offsets[pair + 1] - first;
    for (int64_t i = 0; i < width; i++)
        batches->source_words[row * width + i] =
            i < length ? corpus->source_words + corpus->source_word_offsets[first + i] : NULL;
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
    if (corpus->copy.target)
        memcpy(out, corpus->copy.target + corpus->target.offsets[pair],
               (size_t)length * sizeof *out);
    if (!corpus->has_labels)
        out[length] = ATT_ID_EOS;
    if (corpus->alignment)
        fill_row(batches->alignment + row * width, corpus->alignment + corpus->target.offsets[pair],
                 length, width);
}

/* Sets the lengths of the rows, the longest of each side, and the tokens without padding. */
static void measure_batch(pair_batches *batches, const item *items)
{
    att_batch *current = &batches->base.current;
    for (int64_t r = 0; r < current->rows; r++) {
        int64_t pair = items[r].pair;
        batches->pair_index[r] = pair;
        batches->source_lengths[r] = source_length(batches->corpus, pair);
        batches->target_lengths[r] = target_length(batches->corpus, pair);
        current->source_length = att_max_i64(current->source_length, batches->source_lengths[r]);
        current->target_length = att_max_i64(current->target_length, batches->target_lengths[r]);
        current->source_tokens += batches->source_lengths[r];
        current->target_tokens += batches->target_lengths[r];
    }
}

static const att_batch *get(att_batches *base, int64_t index)
{
    pair_batches *batches = (pair_batches *)base;
    int64_t begin = batches->first[batches->order[index]];
    int64_t end = batches->first[batches->order[index] + 1];
    att_batch *current = &batches->base.current;
    *current = (att_batch){ .rows = end - begin,
                            .source = batches->source,
                            .source_lengths = batches->source_lengths,
                            .source_words = batches->source_words,
                            .copy_ids = batches->copy_ids,
                            .target_in = batches->target_in,
                            .target_out = batches->target_out,
                            .target_lengths = batches->target_lengths,
                            .alignment = batches->corpus->alignment ? batches->alignment : NULL,
                            .pair_index = batches->pair_index };
    measure_batch(batches, batches->items + begin);
    for (int64_t r = 0; r < current->rows; r++) {
        int64_t length;
        const int32_t *ids =
            att_sequences_get(&batches->corpus->source, batches->pair_index[r], &length);
        fill_row(batches->source + r * current->source_length, ids, length, current->source_length);
        if (batches->copy_ids)
            fill_row(batches->copy_ids + r * current->source_length,
                     batches->corpus->copy.source + (ids - batches->corpus->source.ids), length,
                     current->source_length);
        if (batches->source_words)
            fill_words(batches, r, batches->pair_index[r], current->source_length);
        fill_target(batches, r, batches->pair_index[r], current->target_length);
    }
    return current;
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
        att_max_i64(corpus->stats.source.tokens, corpus->stats.target.tokens + corpus->pairs);
    int64_t mean = corpus->pairs ? att_max_i64(cells / corpus->pairs, 1) : 1;
    batches->bucket_pairs = att_max_i64(tokens / mean, 1) * BUCKET_BATCHES;
    if (!allocate(batches)) {
        free_batches(&batches->base);
        return att_fail_memory(err);
    }
    start_sequential(&batches->base);
    *out = &batches->base;
    return ATT_OK;
}
