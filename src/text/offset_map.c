/* Offsets are looked up by binary search among the changes. */
#include "text/offset_map.h"

#include "base/alloc.h"
#include "base/error.h"

att_status att_offset_map_add(att_offset_map *map, att_offset_change change)
{
    if (!map)
        return ATT_OK;
    void *changes = map->changes;
    if (!att_array_grow(&changes, &map->capacity, map->count, sizeof change))
        return ATT_NO_MEMORY;
    map->changes = changes;
    map->changes[map->count++] = change;
    return ATT_OK;
}

/* The last change that starts before `offset`, or NULL. */
static const att_offset_change *change_before(const att_offset_map *map, size_t offset)
{
    size_t low = 0, high = map->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (map->changes[middle].start < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? &map->changes[low - 1] : NULL;
}

/* The source offset of the first byte at `offset`. */
static size_t map_start(const att_offset_map *map, size_t offset)
{
    const att_offset_change *change = change_before(map, offset + 1);
    if (!change)
        return offset;
    return offset < change->end ? change->source_start
                                : change->source_end + (offset - change->end);
}

/* The source offset after the last byte before `offset`. */
static size_t map_end(const att_offset_map *map, size_t offset)
{
    const att_offset_change *change = change_before(map, offset);
    if (!change)
        return offset;
    return offset <= change->end ? change->source_end : change->source_end + (offset - change->end);
}

void att_offset_map_to_source(const att_offset_map *map, size_t *start, size_t *end)
{
    size_t from = *start > map->inserted ? *start - map->inserted : 0;
    size_t to = *end > map->inserted ? *end - map->inserted : 0;
    *end = map_end(map, to);
    *start = from == to ? *end : map_start(map, from);
}

void att_offset_map_free(att_offset_map *map)
{
    att_free(map->changes);
    *map = (att_offset_map){ 0 };
}
