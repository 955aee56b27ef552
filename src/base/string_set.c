/* The set of strings that synthetic data, metrics and tokenizers look strings up in. */
#include "base/string_set.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/progress.h"

#include <string.h>

enum { FIRST_CAPACITY = 64, MAX_CAPACITY = 1 << 30, STRINGS_PER_POLL = 4096 };

/* The slot that holds the string, or the free slot where it belongs. */
static uint32_t *slot_of(const att_string_set *set, const char *text, size_t length)
{
    size_t mask = 2 * set->capacity - 1;
    size_t slot = (size_t)att_hash(text, length) & mask;
    for (; set->slots[slot]; slot = (slot + 1) & mask) {
        const att_string_set_item *item = &set->items[set->slots[slot] - 1];
        if (item->length == length && memcmp(item->text, text, length) == 0)
            break;
    }
    return &set->slots[slot];
}

/* Doubles the capacity. Both blocks are allocated before the set changes. */
static att_status grow(att_string_set *set)
{
    size_t capacity = set->capacity ? set->capacity * 2 : FIRST_CAPACITY;
    uint32_t *slots = capacity <= MAX_CAPACITY ? att_alloc_zero(capacity * 2, sizeof *slots) : NULL;
    att_string_set_item *items =
        slots ? att_realloc(set->items, set->count * sizeof *items, capacity, sizeof *items) : NULL;
    if (!items) {
        att_free(slots);
        return ATT_NO_MEMORY;
    }
    att_free(set->slots);
    set->slots = slots;
    set->items = items;
    set->capacity = capacity;
    for (size_t i = 0; i < set->count; i++) {
        *slot_of(set, items[i].text, items[i].length) = (uint32_t)i + 1;
        if (i % STRINGS_PER_POLL == STRINGS_PER_POLL - 1)
            att_progress_poll();
    }
    return ATT_OK;
}

ptrdiff_t att_string_set_find(const att_string_set *set, const char *text, size_t length)
{
    return set->capacity == 0 ? -1 : (ptrdiff_t)*slot_of(set, text, length) - 1;
}

att_status att_string_set_add(att_string_set *set, const char *text, size_t length, size_t *index)
{
    if (set->count == set->capacity)
        ATT_TRY(grow(set));
    uint32_t *slot = slot_of(set, text, length);
    if (*slot == 0) {
        const char *copy = att_arena_strndup(&set->strings, text, length);
        if (!copy)
            return ATT_NO_MEMORY;
        set->items[set->count++] = (att_string_set_item){ copy, length };
        *slot = (uint32_t)set->count;
    }
    *index = *slot - 1;
    return ATT_OK;
}

void att_string_set_free(att_string_set *set)
{
    att_free(set->items);
    att_free(set->slots);
    att_arena_free(&set->strings);
    *set = (att_string_set){ 0 };
}
