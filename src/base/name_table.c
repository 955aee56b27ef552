/* The hash table of names: open addressing with linear probing. Files may hold a hundred thousand
 * tensors, for which a linear search per name would take hours. */
#include "base/name_table.h"

#include "base/alloc.h"
#include "base/hash.h"

#include <stdint.h>
#include <string.h>

enum { INITIAL_CAPACITY = 8 };

/* The slot that holds the name, or the free slot where it belongs. */
static size_t find_slot(const att_name_table *names, const char *name)
{
    size_t mask = names->slot_count - 1;
    size_t slot = (size_t)att_hash(name, strlen(name)) & mask;
    while (names->slots[slot] && strcmp(names->items[names->slots[slot] - 1], name) != 0)
        slot = (slot + 1) & mask;
    return slot;
}

ptrdiff_t att_name_table_find(const att_name_table *names, const char *name)
{
    if (names->slot_count == 0)
        return ATT_NO_NAME;
    return (ptrdiff_t)names->slots[find_slot(names, name)] - 1;
}

/* Doubles the capacity. Both blocks are allocated before anything changes. */
static bool grow(att_name_table *names)
{
    size_t capacity = names->capacity ? names->capacity * 2 : INITIAL_CAPACITY;
    const char **items = att_alloc(capacity, sizeof *items);
    size_t *slots = att_alloc_zero(capacity * 2, sizeof *slots);
    if (!items || !slots) {
        att_free(items);
        att_free(slots);
        return false;
    }
    if (names->count > 0)
        memcpy(items, names->items, names->count * sizeof *items);
    att_free(names->items);
    att_free(names->slots);
    names->items = items;
    names->capacity = capacity;
    names->slots = slots;
    names->slot_count = capacity * 2;
    for (size_t i = 0; i < names->count; i++)
        slots[find_slot(names, items[i])] = i + 1;
    return true;
}

bool att_name_table_add(att_name_table *names, const char *name)
{
    if (names->count == names->capacity && !grow(names))
        return false;
    const char *copy = att_arena_strndup(&names->arena, name, strlen(name));
    if (!copy)
        return false;
    names->slots[find_slot(names, copy)] = names->count + 1;
    names->items[names->count++] = copy;
    return true;
}

void att_name_table_free(att_name_table *names)
{
    att_free(names->items);
    att_free(names->slots);
    att_arena_free(&names->arena);
    *names = (att_name_table){ 0 };
}
