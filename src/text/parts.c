/* Parts of words from a list; see parts.h. */
#include "text/parts.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/quote.h"
#include "text/heap.h"
#include "text/utf8.h"

#include <string.h>

typedef struct spelling {
    const char *bytes;
    size_t length;
} spelling;

/* A part of the text being worked on, linked to its neighbours. */
typedef struct cell {
    size_t start, length; /* in the text */
    int32_t part;         /* -1: it was merged into the one before it */
    int32_t before, after;
} cell;

struct att_parts {
    spelling *items; /* [count] */
    size_t count;
    size_t longest;
    uint32_t *slots; /* [slot_count] one more than the part's number, or 0 */
    size_t slot_count;
    cell *cells;
    size_t cell_capacity;
    att_heap queue;
    att_arena memory;
};

/* ---- the list */

/* The slot of a text, or the free one where it belongs. */
static uint32_t *slot_of(const att_parts *parts, const char *text, size_t length)
{
    size_t slot = (size_t)att_hash(text, length) & (parts->slot_count - 1);
    for (; parts->slots[slot]; slot = (slot + 1) & (parts->slot_count - 1)) {
        const spelling *item = &parts->items[parts->slots[slot] - 1];
        if (item->length == length && memcmp(item->bytes, text, length) == 0)
            break;
    }
    return &parts->slots[slot];
}

/* The part that a text is, or -1. */
static int32_t find(const att_parts *parts, const char *text, size_t length)
{
    return length > parts->longest ? -1 : (int32_t)*slot_of(parts, text, length) - 1;
}

static att_status make_room(att_parts *parts, size_t count, att_error *err)
{
    parts->slot_count = 1024;
    while (parts->slot_count < 2 * count)
        parts->slot_count *= 2;
    parts->items = att_alloc(count + ATT_PARTS_BYTES, sizeof *parts->items);
    parts->slots = att_alloc_zero(parts->slot_count, sizeof *parts->slots);
    char *bytes = att_arena_take(&parts->memory, ATT_PARTS_BYTES, 1);
    if (!parts->items || !parts->slots || !bytes)
        return att_fail_memory(err);
    for (int i = 0; i < ATT_PARTS_BYTES; i++) {
        bytes[i] = (char)i;
        parts->items[i] = (spelling){ &bytes[i], 1 };
    }
    parts->count = ATT_PARTS_BYTES;
    return ATT_OK;
}

static att_status add(att_parts *parts, const char *text, const char *name, att_error *err)
{
    size_t length = strlen(text), number = parts->count - ATT_PARTS_BYTES + 1;
    char quoted[ATT_QUOTED];
    if (length == 0 || !att_utf8_valid(text, length))
        return att_fail(err, ATT_BAD_INPUT, name, "part %zu of a vocabulary is %s", number,
                        length == 0 ? "empty" : "not UTF-8");
    uint32_t *slot = slot_of(parts, text, length);
    if (*slot)
        return att_fail(err, ATT_BAD_INPUT, name, "a vocabulary has the part '%s' twice",
                        att_quote(quoted, text, length));
    const char *own = att_arena_copy(&parts->memory, text, length);
    if (!own)
        return att_fail_memory(err);
    parts->items[parts->count++] = (spelling){ own, length };
    *slot = (uint32_t)parts->count;
    parts->longest = length > parts->longest ? length : parts->longest;
    return ATT_OK;
}

static att_status fill(att_parts *parts, const char *const *texts, size_t count, const char *name,
                       att_error *err)
{
    if (count > INT32_MAX / 2)
        return att_fail(err, ATT_BAD_INPUT, name, "a vocabulary has %zu parts", count);
    ATT_TRY(make_room(parts, count, err));
    for (size_t i = 0; i < count; i++)
        ATT_TRY(add(parts, texts[i], name, err));
    return ATT_OK;
}

att_status att_parts_new(att_parts **out, const char *const *texts, size_t count, const char *name,
                         att_error *err)
{
    *out = att_alloc_zero(1, sizeof **out);
    if (!*out)
        return att_fail_memory(err);
    att_status status = fill(*out, texts, count, name, err);
    if (status != ATT_OK) {
        att_parts_free(*out);
        *out = NULL;
    }
    return status;
}

void att_parts_free(att_parts *parts)
{
    if (!parts)
        return;
    att_free(parts->items);
    att_free(parts->slots);
    att_free(parts->cells);
    att_heap_free(&parts->queue);
    att_arena_free(&parts->memory);
    att_free(parts);
}

size_t att_parts_count(const att_parts *parts)
{
    return parts->count;
}

const char *att_parts_spell(const att_parts *parts, size_t part, size_t *length)
{
    *length = parts->items[part].length;
    return parts->items[part].bytes;
}

bool att_parts_same(const att_parts *a, const att_parts *b)
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

static att_status reserve_cells(att_parts *parts, size_t count)
{
    if (count <= parts->cell_capacity)
        return ATT_OK;
    cell *cells = att_realloc(parts->cells, 0, count, sizeof *cells);
    if (!cells)
        return ATT_NO_MEMORY;
    parts->cells = cells;
    parts->cell_capacity = count;
    return ATT_OK;
}

static size_t spread(att_parts *parts, const char *text, size_t length)
{
    size_t count = 0;
    for (size_t at = 0, bytes; at < length; at += bytes) {
        uint32_t code;
        bytes = att_utf8_take(text + at, length - at, &code);
        int32_t part = find(parts, text + at, bytes);
        if (part >= 0)
            parts->cells[count++] = (cell){ .start = at, .length = bytes, .part = part };
        for (size_t i = 0; part < 0 && i < bytes; i++)
            parts->cells[count++] =
                (cell){ .start = at + i, .length = 1, .part = (unsigned char)text[at + i] };
    }
    for (size_t i = 0; i < count; i++) {
        parts->cells[i].before = (int32_t)i - 1;
        parts->cells[i].after = i + 1 < count ? (int32_t)i + 1 : -1;
    }
    return count;
}

/* What the cell at a place and its neighbour are together, or -1. */
static int32_t merged(const att_parts *parts, const char *text, int32_t at)
{
    const cell *left = &parts->cells[at];
    if (left->after < 0)
        return -1;
    const cell *right = &parts->cells[left->after];
    if (left->part < ATT_PARTS_BYTES || right->part < ATT_PARTS_BYTES)
        return -1;
    return find(parts, text + left->start, left->length + right->length);
}

static att_status queue_pair(att_parts *parts, const char *text, int32_t at)
{
    int32_t part = at < 0 ? -1 : merged(parts, text, at);
    if (part < 0)
        return ATT_OK;
    return att_heap_push(
        &parts->queue, (att_heap_item){ .rank = (uint64_t)part, .tie = (uint64_t)at, .value = at });
}

static void join(att_parts *parts, int32_t at, int32_t part)
{
    cell *left = &parts->cells[at], *gone = &parts->cells[left->after];
    left->part = part;
    left->length += gone->length;
    left->after = gone->after;
    gone->part = -1;
    if (left->after >= 0)
        parts->cells[left->after].before = at;
}

static att_status merge_all(att_parts *parts, const char *text, size_t count)
{
    att_heap_item item;
    parts->queue.count = 0;
    for (size_t i = 0; i + 1 < count; i++)
        ATT_TRY(queue_pair(parts, text, (int32_t)i));
    while (att_heap_pop(&parts->queue, &item)) {
        bool stands = parts->cells[item.value].part >= 0 &&
                      merged(parts, text, item.value) == (int32_t)item.rank;
        if (!stands)
            continue;
        join(parts, item.value, (int32_t)item.rank);
        ATT_TRY(queue_pair(parts, text, parts->cells[item.value].before));
        ATT_TRY(queue_pair(parts, text, item.value));
    }
    return ATT_OK;
}

att_status att_parts_apply(att_parts *parts, att_ids *ids, int32_t first, const char *text,
                           size_t length)
{
    if (length > INT32_MAX)
        return ATT_NO_MEMORY;
    ATT_TRY(reserve_cells(parts, length));
    size_t count = spread(parts, text, length);
    ATT_TRY(merge_all(parts, text, count));
    for (int32_t at = 0; count > 0 && at >= 0; at = parts->cells[at].after)
        ATT_TRY(att_ids_add(ids, parts->cells[at].part + first));
    return ATT_OK;
}
