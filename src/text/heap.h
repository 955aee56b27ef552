/* A queue that gives the least first: what learning and applying merges of subwords share. */
#ifndef ATT_TEXT_HEAP_H
#define ATT_TEXT_HEAP_H

#include "attend.h"

/* Compared by `rank`, then by `tie`, so that the order is the same in every run. */
typedef struct att_heap_item {
    uint64_t priority;
    uint64_t tie_breaker;
    int32_t value;
} att_heap_item;

/* A binary heap; start from {0}. */
typedef struct att_heap {
    att_heap_item *items;
    size_t count;
    size_t capacity;
} att_heap;

/* ATT_NO_MEMORY leaves the heap as it was. */
att_status att_heap_push(att_heap *heap, att_heap_item item);

/* Takes the least out; false where there is none. */
bool att_heap_pop(att_heap *heap, att_heap_item *least);

void att_heap_free(att_heap *heap);

#endif
