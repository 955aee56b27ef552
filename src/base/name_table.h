/* A set of names, numbered in the order of insertion and found by hashing. */
#ifndef ATT_BASE_NAME_TABLE_H
#define ATT_BASE_NAME_TABLE_H

#include "base/arena.h"

typedef struct att_name_table {
    const char **items; /* [count] */
    size_t count;
    size_t capacity;
    size_t *slots;     /* [slot_count] 1 + the number of a name, or 0 */
    size_t slot_count; /* a power of two, at least twice `count` */
    att_arena arena;   /* owns the names */
} att_name_table;

enum { ATT_NO_NAME = -1 };

/* The number of a name, or ATT_NO_NAME. */
ptrdiff_t att_name_table_find(const att_name_table *names, const char *name);

/* Adds a copy of a name that is not in the table; its number is the old count. Returns false, and
 * changes nothing, when memory is out. */
bool att_name_table_add(att_name_table *names, const char *name);

void att_name_table_free(att_name_table *names);

#endif
