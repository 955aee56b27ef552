/* What the pictures of maps share: kinds of cells, the range of the colours, reduction to fewer
 * cells, and the drawings themselves as other renderers embed them. */
#ifndef ATT_RENDER_MAP_H
#define ATT_RENDER_MAP_H

#include "base/arena.h"
#include "render/color.h"
#include "render/writer.h"

typedef enum att_map_cell_kind {
    ATT_MAP_CELL_VALUE,
    ATT_MAP_CELL_MASKED,
    ATT_MAP_CELL_NAN,
    ATT_MAP_CELL_INFINITE
} att_map_cell_kind;

att_map_cell_kind att_map_cell(const att_map *map, int64_t panel, int64_t query, int64_t key);
double att_map_value(const att_map *map, int64_t panel, int64_t query, int64_t key);

/* Whether the map has cells of this kind. */
bool att_map_has(const att_map *map, att_map_cell_kind kind);

/* 0 to 1 where all values lie in it and the largest can be seen on that scale; 0 to the largest
 * where it could not; the smallest to the largest where some exceed 1; symmetric around zero where
 * some are negative. */
att_color_scale att_map_color_scale(const att_map *map);

/* What stands in a cell of at most `room` columns, in `buffer` of ATT_NUMBER_SIZE: `digits`
 * decimals, two at most. What is nothing on the map's scale shows as 0.00; where the whole scale is
 * that small, and where the number is too long, it has one or two significant digits instead. */
size_t att_map_number(char *buffer, double value, const att_color_scale *scale, int digits,
                      int room);

/* The name of a query or key: its label, or its number from 1 written into `buffer`. */
enum { ATT_LABEL_SIZE = 24 };
const char *att_map_label(const char *const *labels, int64_t index, char buffer[ATT_LABEL_SIZE]);

/* What stands at the axes. */
const char *att_map_query_name(const att_map *map);
const char *att_map_key_name(const att_map *map);

/* A map of at most max_queries × max_keys cells, each the mean of the cells it stands for that are
 * not masked. *out lives in the arena, or is the map itself where it is small enough already.
 * False when memory is out. */
bool att_map_shrink(att_map *out, const att_map *map, int64_t max_queries, int64_t max_keys,
                    att_arena *arena);

/* One panel, or one query of all panels, as a map of its own; the rest is not copied. `index` is
 * from 0. */
att_map att_map_panel(const att_map *map, int64_t index);
bool att_map_query(att_map *out, const att_map *map, int64_t index, att_arena *arena);

/* "1000 × 1000 shown as 60 × 40, each cell the mean" */
void att_map_put_reduction(att_writer *out, const att_map *full, const att_map *shown,
                           const char *times);

typedef struct att_svg_options {
    const char *id; /* before every id in the document, so that several can share a page */
    bool flat;      /* cells of one colour as one path, without data, for rasterisers */
} att_svg_options;

void att_map_put_svg(att_writer *out, const att_map *map, const att_svg_options *options);

void att_map_put_text(att_writer *out, const att_map *map, const att_render_options *options,
                      int indent, att_arena *scratch);

#endif
