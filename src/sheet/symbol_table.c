/* The hash table of a sheet's names: open addressing, at most half full. */
#include "sheet/symbol_table.h"

#include "base/hash.h"

#include <string.h>

/* The row that holds `name`, or the free one where it belongs. */
static att_symbol *find_slot(const att_symbol_table *names, const char *name)
{
    size_t at = (size_t)att_hash(name, strlen(name)) & (names->capacity - 1);
    while (names->slots[at].name && strcmp(names->slots[at].name, name) != 0)
        at = (at + 1) & (names->capacity - 1);
    return &names->slots[at];
}

static bool grow(att_symbol_table *names, att_arena *arena)
{
    att_symbol_table larger = { .capacity = names->capacity ? names->capacity * 2 : 64,
                                .count = names->count,
                                .outer = names->outer };
    larger.slots = att_arena_alloc(arena, larger.capacity, sizeof *larger.slots);
    if (!larger.slots)
        return false;
    for (size_t i = 0; i < names->capacity; i++)
        if (names->slots[i].name)
            *find_slot(&larger, names->slots[i].name) = names->slots[i];
    *names = larger;
    return true;
}

att_symbol *att_symbol_table_get(const att_symbol_table *names, const char *name)
{
    if (names->capacity == 0)
        return NULL;
    att_symbol *row = find_slot(names, name);
    return row->name ? row : NULL;
}

att_symbol *att_symbol_table_find(const att_symbol_table *names, const char *name)
{
    att_symbol *row = NULL;
    for (; names && !row; names = names->outer)
        row = att_symbol_table_get(names, name);
    return row;
}

bool att_symbol_table_set(att_symbol_table *names, att_arena *arena, const char *name,
                          const att_value *value, size_t step)
{
    if (2 * (names->count + 1) > names->capacity && !grow(names, arena))
        return false;
    att_symbol *row = find_slot(names, name);
    if (!row->name)
        names->count++;
    *row = (att_symbol){ name, *value, step };
    return true;
}

const char *att_symbol_table_suggest(const att_symbol_table *names, const char *name)
{
    enum { MAX_NAMES = 1024 };
    const char *known[MAX_NAMES];
    size_t count = 0;
    for (; names; names = names->outer)
        for (size_t i = 0; i < names->capacity && count < MAX_NAMES; i++)
            if (names->slots[i].name)
                known[count++] = names->slots[i].name;
    return att_suggest(name, known, count);
}
