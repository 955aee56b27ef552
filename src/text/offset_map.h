/* From bytes of a normalized text back to bytes of the text it was made of. Most bytes are copied;
 * the map lists only the ranges that normalization (NFC, lowercasing) rewrote. */
#ifndef ATT_TEXT_OFFSET_MAP_H
#define ATT_TEXT_OFFSET_MAP_H

#include "attend.h"

/* Bytes [start, end) of the normalized text were made of bytes [source_start, source_end). */
typedef struct att_offset_change {
    size_t start, end;
    size_t source_start, source_end;
} att_offset_change;

/* Start from {0}. Changes are in the order of the text. */
typedef struct att_offset_map {
    att_offset_change *changes;
    size_t count, capacity;
    size_t inserted; /* bytes put before the normalized text; `changes` do not count them */
} att_offset_map;

/* Appends a change; a NULL map ignores it. */
att_status att_offset_map_add(att_offset_map *map, att_offset_change change);

/* Replaces bytes [*start, *end) of the normalized text by the smallest range of the source that
 * produced them. A range that covers a part of a change gets all of the change's source; an
 * inserted byte has an empty range at 0. An empty range stays empty. */
void att_offset_map_to_source(const att_offset_map *map, size_t *start, size_t *end);

void att_offset_map_free(att_offset_map *map);

#endif
