/* Batches of any kind, and batches of pairs; see batch.h. Which pairs are in which batch is decided
 * in pair_window.c. */
#include "data/batch_internal.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/minmax.h"
#include "data/pair_window.h"

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

int64_t att_batches_largest(att_batches *batches)
{
    return batches->methods->largest(batches);
}

att_status att_batches_status(const att_batches *batches, att_error *err)
{
    if (batches->status != ATT_OK && err)
        *err = batches->err;
    return batches->status;
}

void att_batches_keep_failure(att_batches *batches, att_status status, const att_error *err)
{
    if (batches->status == ATT_OK && status != ATT_OK) {
        batches->status = status;
        batches->err = *err;
    }
}

att_batch_limits att_batches_limits(const att_batches *batches)
{
    return batches->limits;
}

/* ---- batches of pairs */

typedef struct pair_batches {
    att_batches base;
    const att_corpus *corpus;
    att_pair_windows *windows;
    int32_t *source, *target_in, *target_out, *alignment; /* of the current batch */
    int32_t *copy_ids;                                    /* or NULL */
    int64_t *source_lengths, *target_lengths, *pair_index, *slots;
    const char **source_words; /* or NULL */
} pair_batches;

/* A batch of several rows has at most `tokens` padded tokens on each side; a batch of one row at
 * most as many as the longest sequence. */
static att_batch_limits find_limits(const att_corpus *corpus, int64_t tokens)
{
    att_batch_limits limits = { 0 };
    int64_t shortest = INT64_MAX;
    for (int64_t p = 0; !corpus->stored && p < corpus->pairs; p++) {
        int64_t source = att_sequences_length(&corpus->source, p);
        int64_t target = att_sequences_length(&corpus->target, p) + !corpus->has_labels;
        limits.source_length = att_max_i64(limits.source_length, source);
        limits.target_length = att_max_i64(limits.target_length, target);
        shortest = att_min_i64(shortest, att_max_i64(source, target));
    }
    if (corpus->stored) {
        limits.source_length = corpus->stats.source.max_length;
        limits.target_length = corpus->stats.target.max_length + !corpus->has_labels;
        shortest = corpus->stored->shortest;
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
    bool good = true;
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
    batches->slots = alloc_or_fail(&good, limits->rows, sizeof *batches->slots);
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
    att_pair_windows_free(batches->windows);
    att_free(batches->source);
    att_free(batches->target_in);
    att_free(batches->target_out);
    att_free(batches->alignment);
    att_free(batches->source_lengths);
    att_free(batches->target_lengths);
    att_free(batches->pair_index);
    att_free(batches->slots);
    att_free(batches->source_words);
    att_free(batches->copy_ids);
    att_free(batches);
}

/* ---- arranging */

static void arrange(pair_batches *batches, bool sequential, int64_t epoch)
{
    att_error err = { 0 };
    att_batches_keep_failure(
        &batches->base, att_pair_windows_arrange(batches->windows, sequential, epoch, &err), &err);
    batches->base.count =
        batches->base.status == ATT_OK ? att_pair_windows_count(batches->windows) : 1;
}

static void start_epoch(att_batches *base, int64_t epoch)
{
    arrange((pair_batches *)base, false, epoch);
}

static void start_sequential(att_batches *base)
{
    arrange((pair_batches *)base, true, 0);
}

static int64_t largest(att_batches *base)
{
    return att_pair_windows_largest(((pair_batches *)base)->windows);
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

static void fill_target(pair_batches *batches, const att_sequences *side, int64_t row, int64_t pair,
                        int64_t width)
{
    const att_corpus *corpus = batches->corpus;
    int64_t length;
    const int32_t *ids = att_sequences_get(side, pair, &length);
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
static void measure_batch(pair_batches *batches, const att_window_batch *rows)
{
    att_batch *current = &batches->base.current;
    for (int64_t r = 0; r < current->rows; r++) {
        const att_window_item *item = &rows->items[r];
        batches->slots[r] = item->slot;
        batches->pair_index[r] = item->pair;
        batches->source_lengths[r] = att_sequences_length(rows->source, item->slot);
        batches->target_lengths[r] =
            att_sequences_length(rows->target, item->slot) + !batches->corpus->has_labels;
        current->source_length = att_max_i64(current->source_length, batches->source_lengths[r]);
        current->target_length = att_max_i64(current->target_length, batches->target_lengths[r]);
        current->source_tokens += batches->source_lengths[r];
        current->target_tokens += batches->target_lengths[r];
    }
}

/* What stands for a batch that could not be read: one row, of one unknown token on each side. */
static const att_batch *unread_batch(pair_batches *batches)
{
    att_batch *current = &batches->base.current;
    current->rows = current->source_length = current->target_length = 1;
    current->source_tokens = current->target_tokens = 1;
    batches->source[0] = batches->target_in[0] = batches->target_out[0] = ATT_ID_UNK;
    batches->source_lengths[0] = batches->target_lengths[0] = 1;
    batches->pair_index[0] = 0;
    return current;
}

static const att_batch *get(att_batches *base, int64_t index)
{
    pair_batches *batches = (pair_batches *)base;
    att_batch *current = &batches->base.current;
    att_window_batch rows = { 0 };
    att_error err = { 0 };
    att_status status = batches->base.status != ATT_OK
                            ? batches->base.status
                            : att_pair_windows_get(batches->windows, index, &rows, &err);
    att_batches_keep_failure(base, status, &err);
    *current = (att_batch){ .rows = rows.count,
                            .source = batches->source,
                            .source_lengths = batches->source_lengths,
                            .source_words = batches->source_words,
                            .copy_ids = batches->copy_ids,
                            .target_in = batches->target_in,
                            .target_out = batches->target_out,
                            .target_lengths = batches->target_lengths,
                            .alignment = batches->corpus->alignment ? batches->alignment : NULL,
                            .pair_index = batches->pair_index };
    if (status != ATT_OK)
        return unread_batch(batches);
    measure_batch(batches, &rows);
    for (int64_t r = 0; r < current->rows; r++) {
        int64_t length, slot = batches->slots[r];
        const int32_t *ids = att_sequences_get(rows.source, slot, &length);
        fill_row(batches->source + r * current->source_length, ids, length, current->source_length);
        if (batches->copy_ids)
            fill_row(batches->copy_ids + r * current->source_length,
                     batches->corpus->copy.source + (ids - batches->corpus->source.ids), length,
                     current->source_length);
        if (batches->source_words)
            fill_words(batches, r, slot, current->source_length);
        fill_target(batches, rows.target, r, slot, current->target_length);
    }
    return current;
}

/* ---- making */

static const att_batches_methods methods = { free_batches, start_epoch, start_sequential, largest,
                                             get };

att_status att_pair_batches_new(att_batches **out, const att_corpus *corpus, int64_t tokens,
                                uint64_t seed, att_error *err)
{
    return att_pair_batches_in_windows(out, corpus, tokens, seed, NULL, err);
}

att_status att_pair_batches_in_windows(att_batches **out, const att_corpus *corpus, int64_t tokens,
                                       uint64_t seed, const att_window_size *size, att_error *err)
{
    *out = NULL;
    pair_batches *batches = att_alloc_zero(1, sizeof *batches);
    if (!batches)
        return att_fail_memory(err);
    *batches =
        (pair_batches){ .base = { .methods = &methods, .limits = find_limits(corpus, tokens) },
                        .corpus = corpus };
    if (!allocate(batches) ||
        att_pair_windows_new(&batches->windows, corpus, tokens, seed, size) != ATT_OK) {
        free_batches(&batches->base);
        return att_fail_memory(err);
    }
    start_sequential(&batches->base);
    att_status status = att_batches_status(&batches->base, err);
    if (status != ATT_OK) {
        free_batches(&batches->base);
        return status;
    }
    *out = &batches->base;
    return ATT_OK;
}
