/* Parts of words from a list; see parts.h. */
#include "text/sentencepiece.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/quote.h"
#include "text/heap.h"
#include "text/utf8.h"

#include <string.h>

typedef struct piece {
    const char *bytes;
    size_t length;
} piece;

/* A part of the text being worked on, linked to its neighbours. */
typedef struct symbol {
    size_t start, length; /* in the text */
    int32_t piece;        /* -1: it was merged into the one before it */
    int32_t prev, next;
} symbol;

struct att_sentencepiece {
    piece *items; /* [count] */
    size_t count;
    size_t max_length;
    uint32_t *slots; /* [slot_count] one more than the part's number, or 0 */
    size_t slot_count;
    symbol *symbols;
    size_t symbol_capacity;
    att_heap queue;
    att_arena arena;
};

/* ---- the list */

/* The slot of a text, or the free one where it belongs. */
static uint32_t *slot_of(const att_sentencepiece *parts, const char *text, size_t length)
{
    size_t slot = (size_t)att_hash(text, length) & (parts->slot_count - 1);
    for (; parts->slots[slot]; slot = (slot + 1) & (parts->slot_count - 1)) {
        const piece *item = &parts->items[parts->slots[slot] - 1];
        if (item->length == length && memcmp(item->bytes, text, length) == 0)
            break;
    }
    return &parts->slots[slot];
}

/* The part that a text is, or -1. */
static int32_t find_piece(const att_sentencepiece *parts, const char *text, size_t length)
{
    return length > parts->max_length ? -1 : (int32_t)*slot_of(parts, text, length) - 1;
}

static att_status alloc_tables(att_sentencepiece *parts, size_t count, att_error *err)
{
    parts->slot_count = 1024;
    while (parts->slot_count < 2 * count)
        parts->slot_count *= 2;
    parts->items = att_alloc(count + ATT_SENTENCEPIECE_BYTES, sizeof *parts->items);
    parts->slots = att_alloc_zero(parts->slot_count, sizeof *parts->slots);
    char *bytes = att_arena_alloc(&parts->arena, ATT_SENTENCEPIECE_BYTES, 1);
    if (!parts->items || !parts->slots || !bytes)
        return att_fail_memory(err);
    for (int i = 0; i < ATT_SENTENCEPIECE_BYTES; i++) {
        bytes[i] = (char)i;
        parts->items[i] = (piece){ &bytes[i], 1 };
    }
    parts->count = ATT_SENTENCEPIECE_BYTES;
    return ATT_OK;
}

static att_status add_piece(att_sentencepiece *parts, const char *text, const char *name,
                            att_error *err)
{
    size_t length = strlen(text), number = parts->count - ATT_SENTENCEPIECE_BYTES + 1;
    char quoted[ATT_QUOTED_SIZE];
    if (length == 0 || !att_utf8_valid(text, length))
        return att_fail(err, ATT_BAD_INPUT, name, "part %zu of a vocabulary is %s", number,
                        length == 0 ? "empty" : "not UTF-8");
    uint32_t *slot = slot_of(parts, text, length);
    if (*slot)
        return att_fail(err, ATT_BAD_INPUT, name, "a vocabulary has the part '%s' twice",
                        att_quote(quoted, text, length));
    const char *own = att_arena_strndup(&parts->arena, text, length);
    if (!own)
        return att_fail_memory(err);
    parts->items[parts->count++] = (piece){ own, length };
    *slot = (uint32_t)parts->count;
    parts->max_length = length > parts->max_length ? length : parts->max_length;
    return ATT_OK;
}

static att_status add_pieces(att_sentencepiece *parts, const char *const *texts, size_t count,
                             const char *name, att_error *err)
{
    if (count > INT32_MAX / 2)
        return att_fail(err, ATT_BAD_INPUT, name, "a vocabulary has %zu parts", count);
    ATT_TRY(alloc_tables(parts, count, err));
    for (size_t i = 0; i < count; i++)
        ATT_TRY(add_piece(parts, texts[i], name, err));
    return ATT_OK;
}

att_status att_sentencepiece_new(att_sentencepiece **out, const char *const *texts, size_t count,
                                 const char *name, att_error *err)
{
    *out = att_alloc_zero(1, sizeof **out);
    if (!*out)
        return att_fail_memory(err);
    att_status status = add_pieces(*out, texts, count, name, err);
    if (status != ATT_OK) {
        att_sentencepiece_free(*out);
        *out = NULL;
    }
    return status;
}

void att_sentencepiece_free(att_sentencepiece *parts)
{
    if (!parts)
        return;
    att_free(parts->items);
    att_free(parts->slots);
    att_free(parts->symbols);
    att_heap_free(&parts->queue);
    att_arena_free(&parts->arena);
    att_free(parts);
}

size_t att_sentencepiece_size(const att_sentencepiece *parts)
{
    return parts->count;
}

const char *att_sentencepiece_piece(const att_sentencepiece *parts, size_t part, size_t *length)
{
    *length = parts->items[part].length;
    return parts->items[part].bytes;
}

bool att_sentencepiece_equal(const att_sentencepiece *a, const att_sentencepiece *b)
{
    if (!a || !b)
        return a == b;
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++)
        same = a->items[i].length == b->items[i].length &&
               memcmp(a->items[i].bytes, b->items[i].bytes, a->items[i].length) == 0;
    return same;
}

/* ---- applying: neighbours that merge stand in a queue, the earliest part first, and what has
 * become void meanwhile is passed over: n log n for n letters. */

static att_status reserve_symbols(att_sentencepiece *parts, size_t count)
{
    if (count <= parts->symbol_capacity)
        return ATT_OK;
    symbol *cells = att_realloc(parts->symbols, 0, count, sizeof *cells);
    if (!cells)
        return ATT_NO_MEMORY;
    parts->symbols = cells;
    parts->symbol_capacity = count;
    return ATT_OK;
}

static size_t init_symbols(att_sentencepiece *parts, const char *text, size_t length)
{
    size_t count = 0;
    for (size_t at = 0, bytes; at < length; at += bytes) {
        uint32_t code;
        bytes = att_utf8_decode_lossy(text + at, length - at, &code);
        int32_t part = find_piece(parts, text + at, bytes);
        if (part >= 0)
            parts->symbols[count++] = (symbol){ .start = at, .length = bytes, .piece = part };
        for (size_t i = 0; part < 0 && i < bytes; i++)
            parts->symbols[count++] =
                (symbol){ .start = at + i, .length = 1, .piece = (unsigned char)text[at + i] };
    }
    for (size_t i = 0; i < count; i++) {
        parts->symbols[i].prev = (int32_t)i - 1;
        parts->symbols[i].next = i + 1 < count ? (int32_t)i + 1 : -1;
    }
    return count;
}

/* What the cell at a place and its neighbour are together, or -1. */
static int32_t find_merge(const att_sentencepiece *parts, const char *text, int32_t at)
{
    const symbol *left = &parts->symbols[at];
    if (left->next < 0)
        return -1;
    const symbol *right = &parts->symbols[left->next];
    if (left->piece < ATT_SENTENCEPIECE_BYTES || right->piece < ATT_SENTENCEPIECE_BYTES)
        return -1;
    return find_piece(parts, text + left->start, left->length + right->length);
}

static att_status queue_pair(att_sentencepiece *parts, const char *text, int32_t at)
{
    int32_t part = at < 0 ? -1 : find_merge(parts, text, at);
    if (part < 0)
        return ATT_OK;
    return att_heap_push(
        &parts->queue,
        (att_heap_item){ .priority = (uint64_t)part, .tie_breaker = (uint64_t)at, .value = at });
}

static void merge_symbols(att_sentencepiece *parts, int32_t at, int32_t part)
{
    symbol *left = &parts->symbols[at], *gone = &parts->symbols[left->next];
    left->piece = part;
    left->length += gone->length;
    left->next = gone->next;
    gone->piece = -1;
    if (left->next >= 0)
        parts->symbols[left->next].prev = at;
}

static att_status merge_all(att_sentencepiece *parts, const char *text, size_t count)
{
    att_heap_item item;
    parts->queue.count = 0;
    for (size_t i = 0; i + 1 < count; i++)
        ATT_TRY(queue_pair(parts, text, (int32_t)i));
    while (att_heap_pop(&parts->queue, &item)) {
        bool stands = parts->symbols[item.value].piece >= 0 &&
                      find_merge(parts, text, item.value) == (int32_t)item.priority;
        if (!stands)
            continue;
        merge_symbols(parts, item.value, (int32_t)item.priority);
        ATT_TRY(queue_pair(parts, text, parts->symbols[item.value].prev));
        ATT_TRY(queue_pair(parts, text, item.value));
    }
    return ATT_OK;
}

att_status att_sentencepiece_encode(att_sentencepiece *parts, att_ids *ids, int32_t first,
                                    const char *text, size_t length)
{
    if (length > INT32_MAX)
        return ATT_NO_MEMORY;
    ATT_TRY(reserve_symbols(parts, length));
    size_t count = init_symbols(parts, text, length);
    ATT_TRY(merge_all(parts, text, count));
    for (int32_t at = 0; count > 0 && at >= 0; at = parts->symbols[at].next)
        ATT_TRY(att_ids_add(ids, parts->symbols[at].piece + first));
    return ATT_OK;
}
