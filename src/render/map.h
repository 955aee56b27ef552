/* Shared by the renderings of attention maps: kinds of cells, color scale, reduction to fewer
 * cells; and the drawing functions for embedding in documents. */
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

/* The color scale: 0 to 1 if all values are in that range and the largest is visible on it; 0 to
 * the largest value if it is too small for that; smallest to largest if some exceed 1; symmetric
 * around zero if some are negative. */
att_color_scale att_map_color_scale(const att_map *map);

/* The text of a cell of at most `room` columns, in `buffer` of ATT_NUMBER_SIZE: `digits` decimals,
 * at most two. A value that is negligible on the map's scale is 0.00; if the whole scale is that
 * small, or if the number is too long, it has one or two significant digits instead. */
size_t att_map_number(char *buffer, double value, const att_color_scale *scale, int digits,
                      int room);

/* The name of a query or key: its label, or its number from 1 written into `buffer`. */
enum { ATT_LABEL_SIZE = 24 };
const char *att_map_label(const char *const *labels, int64_t index, char buffer[ATT_LABEL_SIZE]);

/* The titles of the axes. */
const char *att_map_query_name(const att_map *map);
const char *att_map_key_name(const att_map *map);

/* Reduces a map to at most max_queries × max_keys cells; each is the mean of its unmasked cells.
 * *out is allocated in the arena, or is the map itself if it is small enough. False when memory is
 * out. */
bool att_map_shrink(att_map *out, const att_map *map, int64_t max_queries, int64_t max_keys,
                    att_arena *arena);

/* The map with a star after the labels of marked queries, and its meaning after the name of the
 * axis. *out is allocated in the arena, or is the map itself if none is marked. False when memory
 * is out. */
bool att_map_mark_labels(att_map *out, const att_map *map, att_arena *arena);

/* One panel, or one query of all panels, as a map; `index` is from 0. */
att_map att_map_panel(const att_map *map, int64_t index);
bool att_map_query(att_map *out, const att_map *map, int64_t index, att_arena *arena);

/* "1000 × 1000 shown as 60 × 40, each cell the mean" */
void att_map_put_reduction(att_writer *out, const att_map *full, const att_map *shown,
                           const char *times);

enum { ATT_MAP_DIGITS = 2 }; /* after the point, unless more are asked for */

typedef struct att_svg_options {
    const char *id; /* prefix of every id in the document, so that several maps can share a page */
    bool flat;      /* cells of one color as one path, without data attributes, for rasterizers */
    int digits;     /* after the point, in cells that show their value */
} att_svg_options;

/* A map as a whole document; `options` is resolved (view.h). */
att_status att_map_svg(att_string *out, const att_map *map, const att_render_options *options,
                       att_error *err);
att_status att_map_text(att_string *out, const att_map *map, const att_render_options *options,
                        att_error *err);

att_status att_map_json(att_string *out, const att_map *map, const att_render_options *options,
                        att_error *err);
att_status att_map_html(att_string *out, const att_map *map, const att_render_options *options,
                        att_error *err);

/* The drawing of a map that the options ask for, as an svg element. */
void att_map_put_drawing(att_writer *out, const att_map *map, const att_render_options *options);

/* Arcs between words, a picture for each panel; and an overview, a small picture for each panel. */
void att_map_put_arcs(att_writer *out, const att_map *map);
void att_map_put_grid(att_writer *out, const att_map *map);

/* An overview as text: where each panel attends. */
void att_map_put_grid_text(att_writer *out, const att_map *map);

void att_map_put_svg(att_writer *out, const att_map *map, const att_svg_options *options);

void att_map_put_text(att_writer *out, const att_map *map, const att_render_options *options,
                      int indent, att_arena *scratch);

#endif
