/* Subwords applied to a piece of text; see subwords.h.
 *
 * The letters of a piece are a linked list; its pairs that merge stand in a queue by the age of the
 * merge, then by place. The first is merged, its new neighbours join the queue, and what has become
 * void meanwhile is passed over: n log n for a piece of n letters, which matters where a script
 * has no spaces. Most pieces have been met before, and cost one look. */
#include "text/subwords.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "text/subwords_table.h"

#include <string.h>

enum { MOST_KNOWN = 1 << 16, KNOWN_SLOTS = MOST_KNOWN * 2, LONGEST_KNOWN = 64 };

/* ---- one piece */

/* The merge of two tokens, or -1. */
static int32_t merge_of(const att_subwords *s, int32_t left, int32_t right)
{
    size_t slot = att_merge_hash(left, right, s->slot_count);
    for (; s->slots[slot]; slot = (slot + 1) & (s->slot_count - 1)) {
        const att_merge *merge = &s->merges[s->slots[slot] - 1];
        if (merge->left == left && merge->right == right)
            return (int32_t)s->slots[slot] - 1;
    }
    return -1;
}

static att_status reserve_cells(att_subwords *s, size_t count)
{
    if (count <= s->cell_capacity)
        return ATT_OK;
    att_merge_cell *cells = att_realloc(s->cells, 0, count * 2, sizeof *cells);
    if (!cells)
        return ATT_NO_MEMORY;
    s->cells = cells;
    s->cell_capacity = count * 2;
    return ATT_OK;
}

/* Lays the letters of the piece out and gives how many there are. */
static size_t spread(att_subwords *s, const char *piece, size_t length)
{
    size_t count = 0;
    for (size_t at = 0, more; at < length;) {
        int32_t tokens[4];
        at += att_subwords_take(s, tokens, &more, piece + at, length - at);
        for (size_t i = 0; i < more; i++)
            s->cells[count++].token = tokens[i];
    }
    for (size_t i = 0; i < count; i++) {
        s->cells[i].before = (int32_t)i - 1;
        s->cells[i].after = i + 1 < count ? (int32_t)i + 1 : -1;
    }
    return count;
}

/* Puts the pair that starts at a place into the queue, if it merges. */
static att_status queue_pair(att_subwords *s, int32_t at)
{
    if (at < 0 || s->cells[at].after < 0)
        return ATT_OK;
    int32_t merge = merge_of(s, s->cells[at].token, s->cells[s->cells[at].after].token);
    if (merge < 0)
        return ATT_OK;
    return att_heap_push(
        &s->queue, (att_heap_item){ .rank = (uint64_t)merge, .tie = (uint64_t)at, .value = at });
}

/* Whether the pair that was put into the queue still stands there. */
static bool still_merges(const att_subwords *s, const att_heap_item *item)
{
    const att_merge_cell *cell = &s->cells[item->value];
    const att_merge *merge = &s->merges[item->rank];
    return cell->token == merge->left && cell->after >= 0 &&
           s->cells[cell->after].token == merge->right;
}

static void join(att_subwords *s, int32_t at, int32_t token)
{
    att_merge_cell *cell = &s->cells[at], *gone = &s->cells[cell->after];
    cell->token = token;
    cell->after = gone->after;
    gone->token = -1;
    if (cell->after >= 0)
        s->cells[cell->after].before = at;
}

static att_status merge_all(att_subwords *s, size_t count)
{
    const int32_t first = (int32_t)(ATT_SUBWORD_BYTES + s->letter_count);
    s->queue.count = 0;
    for (size_t i = 0; i + 1 < count; i++)
        ATT_TRY(queue_pair(s, (int32_t)i));
    att_heap_item item;
    while (att_heap_pop(&s->queue, &item)) {
        if (!still_merges(s, &item))
            continue;
        join(s, item.value, first + (int32_t)item.rank);
        ATT_TRY(queue_pair(s, s->cells[item.value].before));
        ATT_TRY(queue_pair(s, item.value));
    }
    return ATT_OK;
}

/* ---- pieces met before */

/* The slot of a piece, or the free one where it belongs. */
static uint32_t *known_slot(const att_subwords *s, const char *piece, size_t length)
{
    size_t slot = (size_t)att_hash(piece, length) & (KNOWN_SLOTS - 1);
    for (; s->known_slots[slot]; slot = (slot + 1) & (KNOWN_SLOTS - 1)) {
        const att_known_piece *known = &s->known[s->known_slots[slot] - 1];
        if (known->length == length && memcmp(known->text, piece, length) == 0)
            break;
    }
    return &s->known_slots[slot];
}

static att_status open_memory(att_subwords *s)
{
    if (s->known)
        return ATT_OK;
    att_free(s->known_slots);
    s->known_slots = att_alloc_zero(KNOWN_SLOTS, sizeof *s->known_slots);
    if (s->known_slots)
        s->known = att_alloc(MOST_KNOWN, sizeof *s->known);
    return s->known ? ATT_OK : ATT_NO_MEMORY;
}

/* Once there are enough pieces, the others, which must be rarer, are worked out each time. */
static att_status remember(att_subwords *s, uint32_t *slot, const char *piece, size_t length,
                           const int32_t *tokens, size_t count)
{
    if (s->known_count == MOST_KNOWN)
        return ATT_OK;
    const char *text = att_arena_copy(&s->arena, piece, length);
    int32_t *own = text ? att_arena_take(&s->arena, count, sizeof *own) : NULL;
    if (!own)
        return ATT_NO_MEMORY;
    memcpy(own, tokens, count * sizeof *own);
    s->known[s->known_count] = (att_known_piece){ text, own, (uint32_t)length, (uint32_t)count };
    *slot = (uint32_t)++s->known_count;
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
static att_status work_out(att_subwords *s, att_ids *ids, const char *piece, size_t length)
{
    ATT_TRY(reserve_cells(s, length));
    size_t count = spread(s, piece, length);
    ATT_TRY(merge_all(s, count));
    for (int32_t at = 0; count > 0 && at >= 0; at = s->cells[at].after)
        ATT_TRY(att_ids_add(ids, s->cells[at].token));
    return ATT_OK;
}

att_status att_subwords_apply(att_subwords *s, att_ids *ids, int32_t first, const char *piece,
                              size_t length)
{
    if (length > INT32_MAX)
        return ATT_NO_MEMORY;
    uint32_t *slot = NULL;
    if (length <= LONGEST_KNOWN) {
        ATT_TRY(open_memory(s));
        slot = known_slot(s, piece, length);
        if (*slot) {
            const att_known_piece *known = &s->known[*slot - 1];
            return add_tokens(ids, first, known->tokens, known->count);
        }
    }
    size_t start = ids->count;
    ATT_TRY(work_out(s, ids, piece, length));
    if (slot)
        ATT_TRY(remember(s, slot, piece, length, ids->items + start, ids->count - start));
    for (size_t i = start; i < ids->count; i++)
        ids->items[i] += first;
    return ATT_OK;
}
