/* Counting with bounded memory (att_vocab_prune in vocab.h): lossy counting, with buckets that end
 * when the table is full.
 *
 * `undercount` is u, at first 0. An entry with count c that was added at u = m occurred at most c +
 * m times so far. Pruning raises u and drops the entries with c + m <= u. So a token that was
 * dropped, or never seen, occurred at most u times, and every count is at most u too low. */
#include "text/vocab.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/minmax.h"
#include "text/vocab_internal.h"

#include <string.h>

/* Entries that stay when `undercount` is u. */
static size_t count_kept(const att_vocab *vocab, int64_t u)
{
    size_t kept = 0;
    for (size_t i = 0; i < vocab->count; i++)
        kept += vocab->entries[i].is_tag || vocab->entries[i].count + vocab->entries[i].missed > u;
    return kept;
}

/* The least u beyond the present one at which at most `wanted` entries stay. */
static int64_t choose_undercount(const att_vocab *vocab, size_t wanted)
{
    int64_t low = vocab->undercount + 1, high = low;
    while (high < INT32_MAX / 2 && count_kept(vocab, high) > wanted)
        high *= 2;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (count_kept(vocab, middle) <= wanted)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Moves the entries that stay to new blocks: the texts of the others give their memory back.
 * `equal` of those with c + m = u stay. */
static att_status keep_entries(att_vocab *vocab, int64_t u, size_t kept, size_t equal)
{
    att_arena strings = { 0 };
    att_vocab_entry *entries = att_alloc(kept + equal, sizeof *entries);
    att_status status = entries ? ATT_OK : ATT_NO_MEMORY;
    size_t count = 0;
    for (size_t i = 0; status == ATT_OK && i < vocab->count; i++) {
        att_vocab_entry entry = vocab->entries[i];
        bool is_equal = !entry.is_tag && entry.count + entry.missed == u;
        if (!entry.is_tag && entry.count + entry.missed <= u && !(is_equal && equal > 0))
            continue;
        equal -= is_equal;
        entry.text = att_arena_strndup(&strings, entry.text, entry.length);
        if (!entry.text)
            status = ATT_NO_MEMORY;
        entries[count++] = entry;
    }
    if (status != ATT_OK) {
        att_free(entries);
        att_arena_free(&strings);
        return status;
    }
    att_free(vocab->entries);
    att_arena_free(&vocab->strings);
    vocab->entries = entries;
    vocab->strings = strings;
    vocab->count = vocab->capacity = count;
    return att_vocab_index_entries(vocab);
}

att_status att_vocab_prune(att_vocab *vocab, size_t limit, att_vocab_pruned *pruned, att_error *err)
{
    if (vocab->count <= limit || att_vocab_is_subword(vocab))
        return ATT_OK;
    int64_t u = choose_undercount(vocab, limit / 2);
    size_t before = vocab->count, kept = count_kept(vocab, u);
    size_t equal = count_kept(vocab, u - 1) - kept;
    if (keep_entries(vocab, u, kept,
                     att_min_size(equal, limit / 2 - att_min_size(kept, limit / 2))) != ATT_OK)
        return att_fail_memory(err);
    vocab->undercount = (int32_t)u;
    pruned->tokens += (int64_t)(before - vocab->count);
    pruned->undercount = u;
    return ATT_OK;
}
