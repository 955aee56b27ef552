/* A set of byte strings, numbered 0, 1, … in the order in which they were added. */
#ifndef ATT_BASE_STRING_SET_H
#define ATT_BASE_STRING_SET_H

#include "attend.h"
#include "base/arena.h"

typedef struct att_string_set_item {
    const char *text; /* terminated; the set's own copy */
    size_t length;
} att_string_set_item;

/* A hash table with open addressing; start from {0}. */
typedef struct att_string_set {
    att_string_set_item *items; /* [count] */
    size_t count, capacity;
    uint32_t *slots; /* [2 * capacity], capacity a power of two: index + 1 of an item, or 0 */
    att_arena strings;
} att_string_set;

/* The index of a string, or -1. */
ptrdiff_t att_string_set_find(const att_string_set *set, const char *text, size_t length);

/* Stores the index of a string in *index, after adding a copy if the set lacks it. A failed
 * allocation (ATT_NO_MEMORY) leaves the set unchanged. */
att_status att_string_set_add(att_string_set *set, const char *text, size_t length, size_t *index);

/* Removes all strings and their memory. */
void att_string_set_free(att_string_set *set);

#endif
