/* Shuffling, buckets by length and batches of pairs, window by window; see pair_window.h. */
#include "data/pair_window.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/progress.h"
#include "base/random.h"
#include "data/batch_internal.h"
#include "data/permutation.h"

#include <stdlib.h>

/* Pairs are sorted by length within a bucket of about this many batches: enough for rows of nearly
 * the same length, few enough that the neighbors of a pair change from epoch to epoch. */
enum { BUCKET_BATCHES = 64 };

/* A window of 2^20 pairs needs 60 MB to arrange it; 2^26 tokens of a token file are 256 MB. A block
 * of 4096 pairs is read at once, some hundred kilobytes. */
static const att_window_size usual_size = { .block_pairs = 4096,
                                            .window_blocks = 256,
                                            .window_tokens = INT64_C(1) << 26 };

struct att_pair_windows {
    const att_corpus *corpus;
    int64_t batch_tokens;
    uint64_t seed;
    int64_t bucket_pairs; /* pairs of a bucket */
    int64_t block_pairs, blocks;
    int64_t window_blocks, windows;
    bool sequential;
    int64_t epoch;
    int64_t *window_first; /* [windows + 1] the first batch of each window */
    int64_t largest, largest_cells;
    /* the current window, or -1 */
    int64_t current;
    bool has_ids;            /* of a token file: the tokens are loaded, not only the lengths */
    int64_t pairs;           /* of the window */
    att_window_item *items;  /* [pairs] in the order of the epoch */
    int64_t count;           /* batches of the window */
    int64_t *first;          /* [count + 1] the first item of each batch */
    int64_t *order;          /* [count] the batches in the order of the epoch */
    att_loaded_pairs loaded; /* of a token file */
};

/* ---- making */

/* Windows have as many blocks as fit into window_tokens on average: the mean of the corpus counts,
 * so that the same pairs give the same windows wherever they are. */
static void choose_windows(att_pair_windows *w, const att_window_size *size)
{
    const att_corpus *corpus = w->corpus;
    int64_t tokens = corpus->stats.source.tokens + corpus->stats.target.tokens;
    if (corpus->pairs <= size->block_pairs * size->window_blocks && tokens <= size->window_tokens) {
        w->block_pairs = att_max_i64(corpus->pairs, 1);
        w->blocks = w->window_blocks = w->windows = 1;
        return;
    }
    int64_t mean = att_max_i64(tokens / corpus->pairs, 1);
    w->block_pairs = size->block_pairs;
    w->blocks = att_ceil_div_i64(corpus->pairs, size->block_pairs);
    w->window_blocks =
        att_clamp_i64(size->window_tokens / mean / size->block_pairs, 1, size->window_blocks);
    w->windows = att_ceil_div_i64(w->blocks, w->window_blocks);
}

att_status att_pair_windows_new(att_pair_windows **out, const att_corpus *corpus,
                                int64_t batch_tokens, uint64_t seed, const att_window_size *size)
{
    att_pair_windows *w = *out = att_alloc_zero(1, sizeof *w);
    if (!w)
        return ATT_NO_MEMORY;
    *w = (att_pair_windows){
        .corpus = corpus, .batch_tokens = batch_tokens, .seed = seed, .current = -1
    };
    int64_t cells =
        att_max_i64(corpus->stats.source.tokens, corpus->stats.target.tokens + corpus->pairs);
    int64_t mean = corpus->pairs ? att_max_i64(cells / corpus->pairs, 1) : 1;
    w->bucket_pairs = att_max_i64(batch_tokens / mean, 1) * BUCKET_BATCHES;
    choose_windows(w, size ? size : &usual_size);
    size_t pairs = (size_t)att_min_i64(w->block_pairs * w->window_blocks, corpus->pairs);
    w->window_first = att_alloc_zero((size_t)w->windows + 1, sizeof *w->window_first);
    w->items = att_alloc(pairs, sizeof *w->items);
    w->first = att_alloc(pairs + 1, sizeof *w->first);
    w->order = att_alloc(pairs, sizeof *w->order);
    if (w->window_first && w->items && w->first && w->order)
        return ATT_OK;
    att_pair_windows_free(w);
    *out = NULL;
    return ATT_NO_MEMORY;
}

void att_pair_windows_free(att_pair_windows *w)
{
    if (!w)
        return;
    att_free(w->window_first);
    att_free(w->items);
    att_free(w->first);
    att_free(w->order);
    att_loaded_pairs_free(&w->loaded);
    att_free(w);
}

/* ---- the pairs of a window */

static const att_sequences *sequences(const att_pair_windows *w, bool target)
{
    if (!w->corpus->stored)
        return target ? &w->corpus->target : &w->corpus->source;
    return target ? &w->loaded.target : &w->loaded.source;
}

/* A token file states the lengths by which memory was allocated: a pair that is shorter or longer
 * must not pass. */
static att_status check_lengths(const att_pair_windows *w, int64_t pair, int64_t source,
                                int64_t target, att_error *err)
{
    const att_corpus *corpus = w->corpus;
    int64_t longer = att_max_i64(source, target + !corpus->has_labels);
    if (source >= 1 && source <= corpus->stats.source.max_length && target >= 1 &&
        target <= corpus->stats.target.max_length && longer >= corpus->stored->shortest)
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, corpus->stored->file->name,
                    "pair %lld of the epoch has %lld source and %lld target tokens, which "
                    "contradicts the lengths in the metadata",
                    (long long)pair + 1, (long long)source, (long long)target);
}

static att_status add_item(att_pair_windows *w, int64_t pair, int64_t slot, att_error *err)
{
    int64_t source = att_sequences_length(sequences(w, false), slot);
    int64_t target = att_sequences_length(sequences(w, true), slot);
    if (w->corpus->stored)
        ATT_TRY(check_lengths(w, pair, source, target, err));
    target += !w->corpus->has_labels;
    w->items[w->pairs++] = (att_window_item){ .max_length = att_max_i64(source, target),
                                              .min_length = att_min_i64(source, target),
                                              .original_position = w->pairs,
                                              .pair = pair,
                                              .slot = slot };
    return ATT_OK;
}

static att_status list_items(att_pair_windows *w, int64_t window, bool with_ids, att_error *err)
{
    int64_t begin = window * w->window_blocks;
    int64_t end = att_min_i64(begin + w->window_blocks, w->blocks);
    w->pairs = w->loaded.pairs = 0;
    for (int64_t b = begin; b < end; b++) {
        int64_t block =
            w->sequential || w->blocks == 1
                ? b
                : att_permutation_at(w->seed, ATT_STREAM_BLOCK_ORDER + (uint64_t)w->epoch,
                                     w->blocks, b);
        int64_t pair = block * w->block_pairs, slot = w->loaded.pairs;
        int64_t count = att_min_i64(w->block_pairs, w->corpus->pairs - pair);
        if (w->corpus->stored) {
            ATT_TRY(att_token_corpus_load(w->corpus->stored, w->epoch, pair, count, with_ids,
                                          &w->loaded, err));
            ATT_TRY(att_progress_check(err));
        }
        for (int64_t i = 0; i < count; i++)
            ATT_TRY(add_item(w, pair + i, w->corpus->stored ? slot + i : pair + i, err));
    }
    return ATT_OK;
}

/* ---- arranging them */

/* Random numbers of a window are those of its index, so that no two windows share any. The first
 * has those of a corpus in one window. */
static int64_t partner(const att_pair_windows *w, uint64_t stream, int64_t window, int64_t i)
{
    uint64_t index = ((uint64_t)window << 32) + (uint64_t)i;
    return (int64_t)(att_random_double(w->seed, stream + (uint64_t)w->epoch, index) *
                     (double)(i + 1));
}

static void shuffle_items(att_pair_windows *w, int64_t window)
{
    for (int64_t i = w->pairs - 1; i > 0; i--) {
        int64_t j = partner(w, ATT_STREAM_PAIR_ORDER, window, i);
        att_window_item other = w->items[j];
        w->items[j] = w->items[i];
        w->items[i] = other;
    }
    for (int64_t i = 0; i < w->pairs; i++)
        w->items[i].original_position = i;
}

static int by_length(const void *left, const void *right)
{
    const att_window_item *a = left, *b = right;
    if (a->max_length != b->max_length)
        return a->max_length < b->max_length ? -1 : 1;
    if (a->min_length != b->min_length)
        return a->min_length < b->min_length ? -1 : 1;
    return (a->original_position > b->original_position) -
           (a->original_position < b->original_position);
}

/* Sorts items [begin, end) and cuts them into batches. Lengths rise, so the item that is added is
 * the longest of its batch so far. */
static void cut_bucket(att_pair_windows *w, int64_t begin, int64_t end)
{
    qsort(w->items + begin, (size_t)(end - begin), sizeof *w->items, by_length);
    for (int64_t i = begin; i < end; i++) {
        int64_t rows = i - w->first[w->count] + 1;
        if (i > begin && rows * w->items[i].max_length > w->batch_tokens)
            w->first[++w->count] = i;
    }
    w->first[++w->count] = end;
}

static void cut_batches(att_pair_windows *w)
{
    int64_t bucket = w->sequential ? att_max_i64(w->pairs, 1) : w->bucket_pairs;
    w->count = 0;
    w->first[0] = 0;
    for (int64_t begin = 0; begin < w->pairs; begin += att_min_i64(bucket, w->pairs - begin))
        cut_bucket(w, begin, begin + att_min_i64(bucket, w->pairs - begin));
    for (int64_t i = 0; i < w->count; i++)
        w->order[i] = i;
}

static att_status arrange_window(att_pair_windows *w, int64_t window, bool with_ids, att_error *err)
{
    w->current = -1;
    ATT_TRY(list_items(w, window, with_ids, err));
    if (!w->sequential)
        shuffle_items(w, window);
    cut_batches(w);
    for (int64_t i = w->count - 1; i > 0 && !w->sequential; i--) {
        int64_t j = partner(w, ATT_STREAM_BATCH_ORDER, window, i);
        int64_t other = w->order[j];
        w->order[j] = w->order[i];
        w->order[i] = other;
    }
    w->current = window;
    w->has_ids = with_ids;
    return ATT_OK;
}

/* Remembers the largest batch of the window. */
static void measure_window(att_pair_windows *w)
{
    for (int64_t i = 0; i < w->count; i++) {
        int64_t begin = w->first[w->order[i]], end = w->first[w->order[i] + 1];
        int64_t source = 0, target = 0;
        for (int64_t k = begin; k < end; k++) {
            int64_t slot = w->items[k].slot;
            source = att_max_i64(source, att_sequences_length(sequences(w, false), slot));
            target = att_max_i64(target, att_sequences_length(sequences(w, true), slot));
        }
        int64_t cells = (end - begin) * (source + target + !w->corpus->has_labels);
        if (cells > w->largest_cells) {
            w->largest_cells = cells;
            w->largest = w->window_first[w->current] + i;
        }
    }
}

att_status att_pair_windows_arrange(att_pair_windows *w, bool sequential, int64_t epoch,
                                    att_error *err)
{
    w->sequential = sequential;
    w->epoch = epoch;
    w->largest = w->largest_cells = 0;
    for (int64_t i = 0; i < w->windows; i++) {
        ATT_TRY(arrange_window(w, i, false, err));
        w->window_first[i + 1] = w->window_first[i] + w->count;
        measure_window(w);
    }
    return ATT_OK;
}

/* ---- using */

int64_t att_pair_windows_count(const att_pair_windows *w)
{
    return w->window_first[w->windows];
}

int64_t att_pair_windows_largest(const att_pair_windows *w)
{
    return w->largest;
}

static int64_t window_of(const att_pair_windows *w, int64_t index)
{
    int64_t low = 0, high = w->windows - 1;
    while (low < high) {
        int64_t middle = (low + high + 1) / 2;
        if (w->window_first[middle] <= index)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

att_status att_pair_windows_get(att_pair_windows *w, int64_t index, att_window_batch *out,
                                att_error *err)
{
    int64_t window = window_of(w, index);
    if (w->current != window || (w->corpus->stored && !w->has_ids))
        ATT_TRY(arrange_window(w, window, true, err));
    int64_t batch = w->order[index - w->window_first[window]];
    *out = (att_window_batch){ .items = w->items + w->first[batch],
                               .count = w->first[batch + 1] - w->first[batch],
                               .source = sequences(w, false),
                               .target = sequences(w, true) };
    return ATT_OK;
}
