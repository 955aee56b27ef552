/* Validation sources that are also trained on; see known_sources.h. */
#include "data/known_sources.h"

#include "base/alloc.h"
#include "base/error.h"

#include <stdlib.h>

static int by_hash(const void *left, const void *right)
{
    int64_t a = ((const att_known_source *)left)->hash, b = ((const att_known_source *)right)->hash;
    return (a > b) - (a < b);
}

att_status att_known_sources_add(att_known_sources *all, const int64_t *hashes, int64_t count,
                                 att_error *err)
{
    size_t needed = all->count + (size_t)count;
    if (needed > all->capacity) {
        size_t capacity = 2 * needed;
        att_known_source *more =
            att_realloc(all->items, all->count * sizeof *more, capacity, sizeof *more);
        if (!more)
            return att_fail_memory(err);
        all->items = more;
        all->capacity = capacity;
    }
    for (int64_t i = 0; i < count; i++)
        all->items[all->count++] = (att_known_source){ .hash = hashes[i], .pairs = 1 };
    return ATT_OK;
}

static void sort_and_merge(att_known_sources *all)
{
    size_t kept = 0;
    if (all->count > 0)
        qsort(all->items, all->count, sizeof *all->items, by_hash);
    for (size_t i = 0; i < all->count; i++)
        if (kept > 0 && all->items[kept - 1].hash == all->items[i].hash)
            all->items[kept - 1].pairs++;
        else
            all->items[kept++] = all->items[i];
    all->count = kept;
    all->is_sorted = true;
}

void att_known_sources_find(att_known_sources *all, const int64_t *hashes, int64_t count)
{
    if (!all->is_sorted)
        sort_and_merge(all);
    for (int64_t i = 0; all->count > 0 && i < count; i++) {
        const att_known_source wanted = { .hash = hashes[i] };
        att_known_source *item = bsearch(&wanted, all->items, all->count, sizeof wanted, by_hash);
        if (item)
            item->found = true;
    }
}

int64_t att_known_sources_found(const att_known_sources *all)
{
    int64_t pairs = 0;
    for (size_t i = 0; i < all->count; i++)
        pairs += all->items[i].found ? all->items[i].pairs : 0;
    return pairs;
}

void att_known_sources_free(att_known_sources *all)
{
    att_free(all->items);
    *all = (att_known_sources){ 0 };
}
