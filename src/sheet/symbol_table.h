/* The symbol table: the named values of a sheet so far. */
#ifndef ATT_SHEET_SYMBOL_TABLE_H
#define ATT_SHEET_SYMBOL_TABLE_H

#include "sheet/function.h"

/* A hash table in an arena; start from {0}. */
typedef struct att_symbol_table {
    struct att_symbol *slots;
    size_t capacity; /* a power of two, or 0 */
    size_t count;
    const struct att_symbol_table *outer; /* for names that this one lacks; or NULL */
} att_symbol_table;

typedef struct att_symbol {
    const char *name; /* NULL: free */
    att_value value;
    size_t step; /* index of the step that shows it */
} att_symbol;

/* The row of `name`, or NULL; in this table, and in this one and the outer ones. */
att_symbol *att_symbol_table_get(const att_symbol_table *names, const char *name);
att_symbol *att_symbol_table_find(const att_symbol_table *names, const char *name);

/* Sets the value of `name`, which must live as long as the arena. False when memory is out. */
bool att_symbol_table_set(att_symbol_table *names, att_arena *arena, const char *name,
                          const att_value *value, size_t step);

/* The known name nearest to `name`, or NULL. */
const char *att_symbol_table_suggest(const att_symbol_table *names, const char *name);

#endif
