/* Subwords applied to a piece of text; see subwords.h.
 *
 * The letters of a piece are a linked list; its pairs that merge stand in a queue by the age of the
 * merge, then by place. The first is merged, its new neighbours join the queue, and what has become
 * void meanwhile is passed over: n log n for a piece of n letters, which matters where a script
 * has no spaces. Most pieces have been met before, and cost one look. */
#include "text/bpe.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "text/bpe_internal.h"

#include <string.h>

enum { MAX_CACHED = 1 << 16, CACHE_SLOTS = MAX_CACHED * 2, MAX_CACHED_LENGTH = 64 };

/* ---- one piece */

/* The merge of two tokens, or -1. */
static int32_t find_merge(const att_bpe *s, int32_t left, int32_t right)
{
    size_t slot = att_bpe_pair_hash(left, right, s->slot_count);
    for (; s->slots[slot]; slot = (slot + 1) & (s->slot_count - 1)) {
        const att_bpe_merge *merge = &s->merges[s->slots[slot] - 1];
        if (merge->left == left && merge->right == right)
            return (int32_t)s->slots[slot] - 1;
    }
    return -1;
}

static att_status reserve_symbols(att_bpe *s, size_t count)
{
    if (count <= s->symbol_capacity)
        return ATT_OK;
    att_bpe_symbol *cells = att_realloc(s->symbols, 0, count * 2, sizeof *cells);
    if (!cells)
        return ATT_NO_MEMORY;
    s->symbols = cells;
    s->symbol_capacity = count * 2;
    return ATT_OK;
}

/* Lays the letters of the piece out and gives how many there are. */
static size_t init_symbols(att_bpe *s, const char *piece, size_t length)
{
    size_t count = 0;
    for (size_t at = 0, more; at < length;) {
        int32_t tokens[4];
        at += att_bpe_encode_character(s, tokens, &more, piece + at, length - at);
        for (size_t i = 0; i < more; i++)
            s->symbols[count++].token = tokens[i];
    }
    for (size_t i = 0; i < count; i++) {
        s->symbols[i].prev = (int32_t)i - 1;
        s->symbols[i].next = i + 1 < count ? (int32_t)i + 1 : -1;
    }
    return count;
}

/* Puts the pair that starts at a place into the queue, if it merges. */
static att_status queue_pair(att_bpe *s, int32_t at)
{
    if (at < 0 || s->symbols[at].next < 0)
        return ATT_OK;
    int32_t merge = find_merge(s, s->symbols[at].token, s->symbols[s->symbols[at].next].token);
    if (merge < 0)
        return ATT_OK;
    return att_heap_push(
        &s->queue,
        (att_heap_item){ .priority = (uint64_t)merge, .tie_breaker = (uint64_t)at, .value = at });
}

/* Whether the pair that was put into the queue still stands there. */
static bool still_merges(const att_bpe *s, const att_heap_item *item)
{
    const att_bpe_symbol *cell = &s->symbols[item->value];
    const att_bpe_merge *merge = &s->merges[item->priority];
    return cell->token == merge->left && cell->next >= 0 &&
           s->symbols[cell->next].token == merge->right;
}

static void merge_symbols(att_bpe *s, int32_t at, int32_t token)
{
    att_bpe_symbol *cell = &s->symbols[at], *gone = &s->symbols[cell->next];
    cell->token = token;
    cell->next = gone->next;
    gone->token = -1;
    if (cell->next >= 0)
        s->symbols[cell->next].prev = at;
}

static att_status merge_all(att_bpe *s, size_t count)
{
    const int32_t first = (int32_t)(ATT_BPE_BYTES + s->character_count);
    s->queue.count = 0;
    for (size_t i = 0; i + 1 < count; i++)
        ATT_TRY(queue_pair(s, (int32_t)i));
    att_heap_item item;
    while (att_heap_pop(&s->queue, &item)) {
        if (!still_merges(s, &item))
            continue;
        merge_symbols(s, item.value, first + (int32_t)item.priority);
        ATT_TRY(queue_pair(s, s->symbols[item.value].prev));
        ATT_TRY(queue_pair(s, item.value));
    }
    return ATT_OK;
}

/* ---- pieces met before */

/* The slot of a piece, or the free one where it belongs. */
static uint32_t *cache_slot(const att_bpe *s, const char *piece, size_t length)
{
    size_t slot = (size_t)att_hash(piece, length) & (CACHE_SLOTS - 1);
    for (; s->cache_slots[slot]; slot = (slot + 1) & (CACHE_SLOTS - 1)) {
        const att_bpe_cached_piece *known = &s->cache[s->cache_slots[slot] - 1];
        if (known->length == length && memcmp(known->text, piece, length) == 0)
            break;
    }
    return &s->cache_slots[slot];
}

static att_status open_cache(att_bpe *s)
{
    if (s->cache)
        return ATT_OK;
    att_free(s->cache_slots);
    s->cache_slots = att_alloc_zero(CACHE_SLOTS, sizeof *s->cache_slots);
    if (s->cache_slots)
        s->cache = att_alloc(MAX_CACHED, sizeof *s->cache);
    return s->cache ? ATT_OK : ATT_NO_MEMORY;
}

/* Once there are enough pieces, the others, which must be rarer, are worked out each time. */
static att_status cache_piece(att_bpe *s, uint32_t *slot, const char *piece, size_t length,
                              const int32_t *tokens, size_t count)
{
    if (s->cache_count == MAX_CACHED)
        return ATT_OK;
    const char *text = att_arena_strndup(&s->arena, piece, length);
    int32_t *own = text ? att_arena_alloc(&s->arena, count, sizeof *own) : NULL;
    if (!own)
        return ATT_NO_MEMORY;
    memcpy(own, tokens, count * sizeof *own);
    s->cache[s->cache_count] =
        (att_bpe_cached_piece){ text, own, (uint32_t)length, (uint32_t)count };
    *slot = (uint32_t)++s->cache_count;
    return ATT_OK;
}

static att_status add_tokens(att_ids *ids, int32_t first, const int32_t *tokens, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ATT_TRY(att_ids_add(ids, tokens[i] + first));
    return ATT_OK;
}

/* ---- all of it */

/* Works a piece out and appends its tokens; what is appended starts at the list's old end. */
static att_status encode_uncached(att_bpe *s, att_ids *ids, const char *piece, size_t length)
{
    ATT_TRY(reserve_symbols(s, length));
    size_t count = init_symbols(s, piece, length);
    ATT_TRY(merge_all(s, count));
    for (int32_t at = 0; count > 0 && at >= 0; at = s->symbols[at].next)
        ATT_TRY(att_ids_add(ids, s->symbols[at].token));
    return ATT_OK;
}

att_status att_bpe_encode(att_bpe *s, att_ids *ids, int32_t first, const char *piece, size_t length)
{
    if (length > INT32_MAX)
        return ATT_NO_MEMORY;
    uint32_t *slot = NULL;
    if (length <= MAX_CACHED_LENGTH) {
        ATT_TRY(open_cache(s));
        slot = cache_slot(s, piece, length);
        if (*slot) {
            const att_bpe_cached_piece *known = &s->cache[*slot - 1];
            return add_tokens(ids, first, known->tokens, known->count);
        }
    }
    size_t start = ids->count;
    ATT_TRY(encode_uncached(s, ids, piece, length));
    if (slot)
        ATT_TRY(cache_piece(s, slot, piece, length, ids->items + start, ids->count - start));
    for (size_t i = start; i < ids->count; i++)
        ids->items[i] += first;
    return ATT_OK;
}
