/* The table of names: open addressing, never more than half full. */
#include "sheet/names.h"

#include <string.h>

/* FNV-1a. */
static size_t hash(const char *name)
{
    uint64_t value = UINT64_C(14695981039346656037);
    for (; *name; name++)
        value = (value ^ (unsigned char)*name) * UINT64_C(1099511628211);
    return (size_t)(value ^ value >> 32);
}

/* The row that holds `name`, or the free one where it belongs. */
static att_name *find(const att_names *names, const char *name)
{
    size_t at = hash(name) & (names->room - 1);
    while (names->rows[at].name && strcmp(names->rows[at].name, name) != 0)
        at = (at + 1) & (names->room - 1);
    return &names->rows[at];
}

static bool grow(att_names *names, att_arena *arena)
{
    att_names larger = { .room = names->room ? names->room * 2 : 64, .count = names->count };
    larger.rows = att_arena_take(arena, larger.room, sizeof *larger.rows);
    if (!larger.rows)
        return false;
    for (size_t i = 0; i < names->room; i++)
        if (names->rows[i].name)
            *find(&larger, names->rows[i].name) = names->rows[i];
    *names = larger;
    return true;
}

att_name *att_names_get(const att_names *names, const char *name)
{
    if (names->room == 0)
        return NULL;
    att_name *row = find(names, name);
    return row->name ? row : NULL;
}

bool att_names_set(att_names *names, att_arena *arena, const char *name, const att_value *value,
                   size_t step)
{
    if (2 * (names->count + 1) > names->room && !grow(names, arena))
        return false;
    att_name *row = find(names, name);
    if (!row->name)
        names->count++;
    *row = (att_name){ name, *value, step };
    return true;
}

const char *att_names_suggest(const att_names *names, const char *name)
{
    enum { MOST = 1024 };
    const char *known[MOST];
    size_t count = 0;
    for (size_t i = 0; i < names->room && count < MOST; i++)
        if (names->rows[i].name)
            known[count++] = names->rows[i].name;
    return att_suggest(name, known, count);
}
