/* Overviews of many attention maps, a row of small panels for each layer: as SVG, and as a text
 * table of where each head attends. */
#include "base/math.h"
#include "base/minmax.h"
#include "render/map.h"
#include "render/number.h"
#include "render/svg.h"
#include "render/svg_layout.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
    MAX_SIDE = 48, /* cells of a panel */
    PANEL_SIZE = 116,
    PANEL_SPACE = 14,
    MARGIN = 16,
    LEFT = 58, /* the numbers of the layers */
    TOP = 26,  /* the numbers of the heads */
    TITLE = 28,
    LEGEND = 44
};

/* ---- SVG */

/* Cells of one color that follow each other are one rect. */
static void put_row(att_writer *out, const att_map *map, const att_color_scale *scale,
                    int64_t panel, int64_t query, int64_t cell)
{
    for (int64_t key = 0; key < map->keys;) {
        bool value = att_map_cell(map, panel, query, key) == ATT_MAP_CELL_VALUE;
        int level =
            value ? att_color_scale_level(scale, att_map_value(map, panel, query, key)) : -1;
        int64_t end = key + 1;
        while (end < map->keys) {
            bool same = att_map_cell(map, panel, query, end) == ATT_MAP_CELL_VALUE;
            int next =
                same ? att_color_scale_level(scale, att_map_value(map, panel, query, end)) : -1;
            if (next != level)
                break;
            end++;
        }
        att_putf(out,
                 "<rect x=\"%" PRId64 "\" y=\"%" PRId64 "\" width=\"%" PRId64 "\" height=\"%" PRId64
                 "\" fill=\"",
                 key * cell, query * cell, (end - key) * cell, cell);
        if (value)
            att_put_color(out, att_colormap_color(scale->diverging ? ATT_COLORMAP_DIVERGING
                                                                   : ATT_COLORMAP_PAPER,
                                                  level));
        else
            att_put(out, "#e8e8e8");
        att_put(out, "\"/>\n");
        key = end;
    }
}

static void put_panel(att_writer *out, const att_map *map, const att_color_scale *scale,
                      int64_t panel, int64_t cell)
{
    char number[ATT_LABEL_SIZE];
    att_put(out, "<title>");
    att_put_xml(out, att_map_label(map->panel_labels, panel, number));
    att_put(out, "</title>\n");
    for (int64_t query = 0; query < map->queries && out->status == ATT_OK; query++)
        put_row(out, map, scale, panel, query, cell);
    att_putf(out,
             "<rect width=\"%" PRId64 "\" height=\"%" PRId64
             "\" fill=\"none\" stroke=\"#999\" shape-rendering=\"auto\"/>\n",
             map->keys * cell, map->queries * cell);
}

static void put_legend(att_writer *out, const att_map *map, const att_color_scale *scale, int64_t y)
{
    char high[ATT_NUMBER_SIZE];
    att_number_short(high, scale->high, 3);
    att_put(out, "<defs><linearGradient id=\"grid-scale\">\n");
    att_put_colormap_stops(out, ATT_COLORMAP_PAPER);
    att_putf(out,
             "</linearGradient></defs>\n<rect x=\"%d\" y=\"%" PRId64
             "\" width=\"120\" height=\"10\" fill=\"url(#grid-scale)\" stroke=\"#999\"/>\n",
             MARGIN + LEFT, y);
    att_putf(out, "<text x=\"%d\" y=\"%" PRId64 "\" text-anchor=\"end\">0</text>\n",
             MARGIN + LEFT - 6, y + 10);
    att_putf(out, "<text x=\"%d\" y=\"%" PRId64 "\">%s", MARGIN + LEFT + 126, y + 10, high);
    att_put(out, map->allowed ? ";  gray: masked;  down: " : ";  down: ");
    att_put_xml(out, att_map_query_name(map));
    att_put(out, ", across: ");
    att_put_xml(out, att_map_key_name(map));
    att_put(out, "</text>\n");
}

static void put_grid(att_writer *out, const att_map *map)
{
    const att_color_scale scale = att_map_color_scale(map);
    int64_t columns = map->panel_columns, rows = (map->panels + columns - 1) / columns;
    int64_t cell =
        att_max_i64(1, PANEL_SIZE / att_max_i64(1, att_max_i64(map->queries, map->keys)));
    int64_t across = map->keys * cell + PANEL_SPACE, down = map->queries * cell + PANEL_SPACE;
    int64_t top = MARGIN + (map->title ? TITLE : 0) + TOP;
    int64_t height = top + rows * down + LEGEND;
    att_put_svg_begin(out, att_max_i64(2 * MARGIN + LEFT + columns * across, 460), height,
                      map->title ? map->title : "Attention overview");
    if (map->title) {
        att_putf(out, "<text x=\"%d\" y=\"%d\" font-size=\"16\" font-weight=\"bold\">", MARGIN,
                 MARGIN + 16);
        att_put_xml(out, map->title);
        att_put(out, "</text>\n");
    }
    for (int64_t h = 0; h < columns; h++)
        att_putf(out,
                 "<text x=\"%" PRId64 "\" y=\"%" PRId64 "\" text-anchor=\"middle\">head %" PRId64
                 "</text>\n",
                 MARGIN + LEFT + h * across + map->keys * cell / 2, top - 8, h + 1);
    for (int64_t l = 0; l < rows; l++)
        att_putf(out,
                 "<text x=\"%d\" y=\"%" PRId64 "\" text-anchor=\"end\">layer %" PRId64 "</text>\n",
                 MARGIN + LEFT - 8, top + l * down + map->queries * cell / 2 + 5, l + 1);
    for (int64_t p = 0; p < map->panels && out->status == ATT_OK; p++) {
        att_putf(out,
                 "<g transform=\"translate(%" PRId64 ",%" PRId64
                 ")\" shape-rendering=\"crispEdges\">\n",
                 MARGIN + LEFT + p % columns * across, top + p / columns * down);
        put_panel(out, map, &scale, p, cell);
        att_put(out, "</g>\n");
    }
    put_legend(out, map, &scale, height - LEGEND + 14);
    att_put(out, "</svg>\n");
}

void att_map_put_grid(att_writer *out, const att_map *map)
{
    att_arena arena = { 0 };
    att_map shown;
    if (att_map_shrink(&shown, map, MAX_SIDE, MAX_SIDE, &arena))
        put_grid(out, &shown);
    else
        out->status = ATT_NO_MEMORY;
    att_arena_free(&arena);
}

/* ---- text */

/* The mean weight that a panel's queries give to the key at `offset` from their own place; or to
 * one place, for all of them. */
static double mean_weight(const att_map *map, int64_t panel, int64_t offset, bool relative)
{
    double sum = 0;
    int64_t count = 0;
    for (int64_t i = 0; i < map->queries; i++) {
        int64_t key = relative ? i + offset : offset;
        if (key < 0 || key >= map->keys)
            continue;
        sum += att_map_value(map, panel, i, key);
        count++;
    }
    return count > 0 ? sum / (double)count : 0;
}

/* The mean number of keys that a query attends to: exp of the entropy of its weights. */
static double mean_spread(const att_map *map, int64_t panel)
{
    double sum = 0;
    for (int64_t i = 0; i < map->queries; i++) {
        double entropy = 0;
        for (int64_t j = 0; j < map->keys; j++) {
            double w = att_map_value(map, panel, i, j);
            entropy -= w > 0 ? w * att_log(w) : 0;
        }
        sum += att_exp(entropy);
    }
    return map->queries > 0 ? sum / (double)map->queries : 0;
}

static void put_number(att_writer *out, double value, int decimals, int width)
{
    char text[ATT_NUMBER_SIZE];
    size_t length = att_number_print(text, value, (att_number_format){ .decimals = decimals });
    att_put_repeat(out, " ", att_max_i64(0, width - (int64_t)length));
    att_put(out, text);
}

void att_map_put_grid_text(att_writer *out, const att_map *map)
{
    bool self = map->queries == map->keys && map->query_name && map->key_name &&
                strcmp(map->query_name, map->key_name) == 0;
    att_put(out, self ? "layer  head  itself  previous    next   first    last  tokens attended\n"
                      : "layer  head  diagonal   first    last  tokens attended\n");
    for (int64_t p = 0; p < map->panels; p++) {
        put_number(out, (double)(p / map->panel_columns + 1), 0, 5);
        put_number(out, (double)(p % map->panel_columns + 1), 0, 6);
        put_number(out, mean_weight(map, p, 0, true), 2, self ? 8 : 10);
        if (self) {
            put_number(out, mean_weight(map, p, -1, true), 2, 10);
            put_number(out, mean_weight(map, p, 1, true), 2, 8);
        }
        put_number(out, mean_weight(map, p, 0, false), 2, 8);
        put_number(out, mean_weight(map, p, map->keys - 1, false), 2, 8);
        put_number(out, mean_spread(map, p), 1, 17);
        att_put(out, "\n");
    }
    att_put(out, "Mean attention weights; the last column is the mean of exp(entropy).\n");
}
