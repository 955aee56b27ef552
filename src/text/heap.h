/* A priority queue of any size, the smallest item first, for training and applying BPE merges. (The
 * k best of many are kept by att_topk in decode.) */
#ifndef ATT_TEXT_HEAP_H
#define ATT_TEXT_HEAP_H

#include "attend.h"

/* Compared by `priority`, then by `tie_breaker`, so that the order is the same in every run. */
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

/* ATT_NO_MEMORY leaves the heap unchanged. */
att_status att_heap_push(att_heap *heap, att_heap_item item);

/* Removes the smallest item; false if the heap is empty. */
bool att_heap_pop(att_heap *heap, att_heap_item *smallest);

void att_heap_free(att_heap *heap);

#endif
