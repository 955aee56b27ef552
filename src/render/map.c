/* Cells, color scales and reduction of attention maps. */
#include "render/map.h"

#include "base/minmax.h"
#include "base/error.h"
#include "render/number.h"
#include "render/view.h"
#include "tensor/tensor.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static int64_t offset_of(const att_map *map, int64_t panel, int64_t query, int64_t key)
{
    return (panel * map->queries + query) * map->keys + key;
}

double att_map_value(const att_map *map, int64_t panel, int64_t query, int64_t key)
{
    return map->weights[offset_of(map, panel, query, key)];
}

static att_map_cell_kind cell_at(const att_map *map, int64_t at)
{
    if (map->allowed && !map->allowed[at])
        return ATT_MAP_CELL_MASKED;
    if (isnan(map->weights[at]))
        return ATT_MAP_CELL_NAN;
    return isinf(map->weights[at]) ? ATT_MAP_CELL_INFINITE : ATT_MAP_CELL_VALUE;
}

att_map_cell_kind att_map_cell(const att_map *map, int64_t panel, int64_t query, int64_t key)
{
    return cell_at(map, offset_of(map, panel, query, key));
}

bool att_map_has(const att_map *map, att_map_cell_kind kind)
{
    int64_t count = map->panels * map->queries * map->keys;
    for (int64_t i = 0; i < count; i++)
        if (cell_at(map, i) == kind)
            return true;
    return false;
}

att_color_scale att_map_color_scale(const att_map *map)
{
    const double rounding = 1e-9; /* weights may exceed 1 by rounding */
    const double least_visible =
        0.2; /* a map whose largest weight is below this would look empty on a scale from 0 to 1 */
    double low = INFINITY, high = -INFINITY;
    int64_t count = map->panels * map->queries * map->keys;
    for (int64_t i = 0; i < count; i++) {
        if (cell_at(map, i) != ATT_MAP_CELL_VALUE)
            continue;
        low = fmin(low, map->weights[i]);
        high = fmax(high, map->weights[i]);
    }
    if (low < 0) {
        double reach = fmax(-low, high);
        return (att_color_scale){ -reach, reach, true };
    }
    if (high > 1 + rounding)
        return (att_color_scale){ low < high ? low : 0, high, false };
    bool visible = high >= least_visible || !(high > 0);
    return (att_color_scale){ 0, visible ? 1 : high, false };
}

size_t att_map_number(char *buffer, double value, const att_color_scale *scale, int digits,
                      int room)
{
    const double least_reach = 0.05; /* below it too many cells would show 0.00 */
    const att_number_format fixed = { .decimals = digits };
    size_t length = att_number_print(buffer, value, fixed);
    if (att_number_rounds_to_zero(value, fixed.decimals) && scale->high >= least_reach)
        length = att_number_print(buffer, 0, fixed);
    else if (att_number_rounds_to_zero(value, fixed.decimals))
        length = att_number_short(buffer, value, 2);
    for (int significant = 2; significant > 0 && length > (size_t)room; significant--)
        length = att_number_short(buffer, value, significant);
    return length;
}

const char *att_map_label(const char *const *labels, int64_t index, char buffer[ATT_LABEL_SIZE])
{
    if (labels && labels[index])
        return labels[index];
    snprintf(buffer, ATT_LABEL_SIZE, "%" PRId64, index + 1);
    return buffer;
}

/* The start of block `index` when `count` items are divided evenly into `blocks`. */
static int64_t block_start(int64_t index, int64_t blocks, int64_t count)
{
    return index * (count / blocks) + index * (count % blocks) / blocks;
}

/* The mean over one block of cells; false if all of them are masked. */
static bool block_mean(const att_map *map, int64_t panel, const int64_t query[2],
                       const int64_t key[2], double *mean)
{
    double sum = 0;
    int64_t used = 0;
    for (int64_t i = query[0]; i < query[1]; i++) {
        for (int64_t j = key[0]; j < key[1]; j++) {
            if (att_map_cell(map, panel, i, j) == ATT_MAP_CELL_MASKED)
                continue;
            sum += att_map_value(map, panel, i, j);
            used++;
        }
    }
    *mean = used ? sum / (double)used : 0;
    return used > 0;
}

static const char **block_labels(att_arena *arena, const char *const *labels, int64_t blocks,
                                 int64_t count)
{
    const char **names = att_arena_alloc(arena, (size_t)blocks, sizeof *names);
    for (int64_t i = 0; names && i < blocks; i++) {
        int64_t first = block_start(i, blocks, count);
        int64_t last = block_start(i + 1, blocks, count) - 1;
        if (first == last && labels)
            names[i] = labels[first];
        else if (first == last)
            names[i] = att_arena_printf(arena, "%" PRId64, first + 1);
        else
            names[i] = att_arena_printf(arena, "%" PRId64 "-%" PRId64, first + 1, last + 1);
        if (!names[i] && !(first == last && labels))
            return NULL;
    }
    return names;
}

const char *att_map_query_name(const att_map *map)
{
    return map->query_name ? map->query_name : "query";
}

const char *att_map_key_name(const att_map *map)
{
    return map->key_name ? map->key_name : "key";
}

bool att_map_shrink(att_map *out, const att_map *map, int64_t max_queries, int64_t max_keys,
                    att_arena *arena)
{
    *out = *map;
    if (map->queries <= max_queries && map->keys <= max_keys)
        return true;
    out->queries = att_min_i64(map->queries, max_queries);
    out->keys = att_min_i64(map->keys, max_keys);
    size_t count = (size_t)(out->panels * out->queries * out->keys);
    double *weights = att_arena_alloc(arena, count, sizeof *weights);
    uint8_t *allowed = att_arena_alloc(arena, count, 1);
    out->query_labels = block_labels(arena, map->query_labels, out->queries, map->queries);
    out->key_labels = block_labels(arena, map->key_labels, out->keys, map->keys);
    if (!weights || !allowed || !out->query_labels || !out->key_labels)
        return false;
    size_t at = 0;
    for (int64_t p = 0; p < out->panels; p++) {
        for (int64_t i = 0; i < out->queries; i++) {
            int64_t query[2] = { block_start(i, out->queries, map->queries),
                                 block_start(i + 1, out->queries, map->queries) };
            for (int64_t j = 0; j < out->keys; j++, at++) {
                int64_t key[2] = { block_start(j, out->keys, map->keys),
                                   block_start(j + 1, out->keys, map->keys) };
                allowed[at] = block_mean(map, p, query, key, &weights[at]);
            }
        }
    }
    out->weights = weights;
    out->allowed = allowed;
    return true;
}

bool att_map_mark_labels(att_map *out, const att_map *map, att_arena *arena)
{
    int64_t count = 0;
    for (int64_t i = 0; map->marked && i < map->queries; i++)
        count += map->marked[i] != 0;
    *out = *map;
    out->marked = NULL;
    if (count == 0)
        return true;
    char number[ATT_LABEL_SIZE];
    const char **labels = att_arena_alloc(arena, (size_t)map->queries, sizeof *labels);
    for (int64_t i = 0; labels && i < map->queries; i++) {
        labels[i] = att_arena_printf(arena, "%s%s", att_map_label(map->query_labels, i, number),
                                     map->marked[i] ? "*" : "");
        if (!labels[i])
            return false;
    }
    out->query_labels = labels;
    out->query_name = att_arena_printf(arena, "%s (* %s)", att_map_query_name(map),
                                       map->mark_name ? map->mark_name : "marked");
    return labels && out->query_name;
}

att_map att_map_panel(const att_map *map, int64_t index)
{
    att_map one = *map;
    int64_t start = offset_of(map, index, 0, 0);
    one.panels = 1;
    one.panel_columns = 0;
    one.weights += start;
    one.allowed = map->allowed ? map->allowed + start : NULL;
    one.panel_labels = map->panel_labels ? map->panel_labels + index : NULL;
    return one;
}

bool att_map_query(att_map *out, const att_map *map, int64_t index, att_arena *arena)
{
    *out = *map;
    out->queries = 1;
    const char **label = att_arena_alloc(arena, 1, sizeof *label);
    char number[ATT_LABEL_SIZE];
    const char *name = att_map_label(map->query_labels, index, number);
    size_t count = (size_t)(map->panels * map->keys);
    double *weights = att_arena_alloc(arena, count, sizeof *weights);
    uint8_t *allowed = att_arena_alloc(arena, count, 1);
    if (!label || !weights || !allowed)
        return false;
    label[0] = att_arena_printf(arena, "%s", name);
    size_t at = 0;
    for (int64_t p = 0; p < map->panels; p++) {
        for (int64_t j = 0; j < map->keys; j++, at++) {
            weights[at] = att_map_value(map, p, index, j);
            allowed[at] = att_map_cell(map, p, index, j) != ATT_MAP_CELL_MASKED;
        }
    }
    out->weights = weights;
    out->allowed = allowed;
    out->query_labels = label;
    return label[0] != NULL;
}

void att_map_put_reduction(att_writer *out, const att_map *full, const att_map *shown,
                           const char *times)
{
    att_putf(out, "%" PRId64 " %s %" PRId64 " shown as %" PRId64 " %s %" PRId64, full->queries,
             times, full->keys, shown->queries, times, shown->keys);
    att_put(out, ", each cell the mean");
}

/* Loops over each size, also where another is 0, and byte offsets of weights must not overflow. */
static att_status check_sizes(const att_map *map, att_error *err)
{
    const int64_t sizes[] = { map->panels, map->queries, map->keys };
    char text[3 * 21 + 8];
    snprintf(text, sizeof text, "%" PRId64 " × %" PRId64 " × %" PRId64, sizes[0], sizes[1],
             sizes[2]);
    if (sizes[0] < 0 || sizes[1] < 0 || sizes[2] < 0)
        return att_fail(err, ATT_BAD_INPUT, "map", "%s weights: expected no negative size", text);
    int64_t count = att_shape_count(3, sizes, PTRDIFF_MAX / (int64_t)sizeof *map->weights);
    if (count < 0)
        return att_fail(err, ATT_BAD_INPUT, "map", "%s weights are more than fit in memory", text);
    if (count > 0 && !map->weights)
        return att_fail(err, ATT_BAD_INPUT, "map", "has %s weights, but `weights` is NULL", text);
    return ATT_OK;
}

att_status att_map_render(att_string *out, const att_map *map, const att_render_options *options,
                          att_error *err)
{
    static att_status (*const renderers[])(att_string *, const att_map *,
                                           const att_render_options *, att_error *) = {
        [ATT_FORMAT_TEXT] = att_map_text,
        [ATT_FORMAT_HTML] = att_map_html,
        [ATT_FORMAT_JSON] = att_map_json,
        [ATT_FORMAT_SVG] = att_map_svg,
    };
    enum {
        FORMATS =
            1 << ATT_FORMAT_TEXT | 1 << ATT_FORMAT_HTML | 1 << ATT_FORMAT_JSON | 1 << ATT_FORMAT_SVG
    };
    att_render_options resolved;
    ATT_TRY(att_render_options_resolve(&resolved, options, FORMATS, "an attention map", err));
    if (!options || options->digits == 0)
        resolved.digits = ATT_MAP_DIGITS;
    ATT_TRY(check_sizes(map, err));
    if (resolved.head < 0 || resolved.head > map->panels)
        return att_fail(err, ATT_BAD_INPUT, "map",
                        "head %" PRId64 " is out of range: the map has %" PRId64, resolved.head,
                        map->panels);
    const att_map shown = resolved.head > 0 ? att_map_panel(map, resolved.head - 1) : *map;
    att_arena arena = { 0 };
    att_map marked;
    if (resolved.format == ATT_FORMAT_TEXT && shown.panel_columns > 0 && shown.panels > 1) {
        att_writer table = att_writer_on(out);
        att_map_put_grid_text(&table, &shown);
        return att_writer_finish(&table, err);
    }
    att_status status = att_map_mark_labels(&marked, &shown, &arena)
                            ? renderers[resolved.format](out, &marked, &resolved, err)
                            : att_fail_memory(err);
    att_arena_free(&arena);
    return status;
}
