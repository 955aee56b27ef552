/* A binary min-heap in an array: the children of item i are items 2i + 1 and 2i + 2. */
#include "text/heap.h"

#include "base/alloc.h"

static bool is_less(const att_heap_item *a, const att_heap_item *b)
{
    return a->priority != b->priority ? a->priority < b->priority : a->tie_breaker < b->tie_breaker;
}

att_status att_heap_push(att_heap *heap, att_heap_item item)
{
    void *items = heap->items;
    if (!att_array_grow(&items, &heap->capacity, heap->count, sizeof item))
        return ATT_NO_MEMORY;
    heap->items = items;
    size_t at = heap->count++;
    for (size_t above; at > 0 && is_less(&item, &heap->items[above = (at - 1) / 2]); at = above)
        heap->items[at] = heap->items[above];
    heap->items[at] = item;
    return ATT_OK;
}

bool att_heap_pop(att_heap *heap, att_heap_item *smallest)
{
    if (heap->count == 0)
        return false;
    *smallest = heap->items[0];
    const att_heap_item last = heap->items[--heap->count];
    size_t at = 0;
    for (size_t below; (below = 2 * at + 1) < heap->count; at = below) {
        if (below + 1 < heap->count && is_less(&heap->items[below + 1], &heap->items[below]))
            below++;
        if (!is_less(&heap->items[below], &last))
            break;
        heap->items[at] = heap->items[below];
    }
    heap->items[at] = last;
    return true;
}

void att_heap_free(att_heap *heap)
{
    att_free(heap->items);
    *heap = (att_heap){ 0 };
}
