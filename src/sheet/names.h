/* The names a sheet has given to values so far. */
#ifndef ATT_SHEET_NAMES_H
#define ATT_SHEET_NAMES_H

#include "sheet/function.h"

/* A hash table in an arena; start from {0}. */
typedef struct att_names {
    struct att_name *rows;
    size_t room; /* a power of two, or 0 */
    size_t count;
} att_names;

typedef struct att_name {
    const char *name; /* NULL: free */
    att_value value;
    size_t step; /* the step that shows it */
} att_name;

/* The row of `name`, or NULL. */
att_name *att_names_get(const att_names *names, const char *name);

/* Gives `name`, which must live as long as the arena, a value. False when memory is out. */
bool att_names_set(att_names *names, att_arena *arena, const char *name, const att_value *value,
                   size_t step);

/* The known name nearest to `name`, or NULL. */
const char *att_names_suggest(const att_names *names, const char *name);

#endif
