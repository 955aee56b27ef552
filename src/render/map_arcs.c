/* Attention maps as arcs between words: of self-attention over one row of words, of cross-attention
 * from a row of queries to a row of keys. Wider and darker arcs have larger weights. */
#include "base/minmax.h"
#include "render/map.h"
#include "render/svg.h"
#include "render/svg_layout.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
    MAX_WORDS = 80,
    MARGIN = 24,
    WORD_SPACE = 22,
    MIN_WORD = 26,
    ROW_GAP = 190, /* between keys and queries */
    ARC_STEP = 15, /* height of an arc per word */
    MAX_ARC = 170,
    TITLE = 28,
    PANEL_LABEL = 24,
    FONT_HEIGHT = 14
};

static const double least_weight = 0.03; /* lighter arcs would be invisible */

typedef struct arcs {
    att_writer *out;
    const att_map *map;
    int64_t *keys, *queries; /* centers of the words */
    int64_t width;
    bool self;
} arcs;

/* The centers of the words of a row; returns its width. */
static int64_t lay_out(int64_t *centers, const char *const *labels, int64_t count)
{
    char number[ATT_LABEL_SIZE];
    int64_t x = MARGIN;
    for (int64_t i = 0; i < count; i++) {
        int64_t length =
            att_max_i64(MIN_WORD, att_svg_text_length(att_map_label(labels, i, number)));
        centers[i] = x + length / 2;
        x += length + WORD_SPACE;
    }
    return x - WORD_SPACE + MARGIN;
}

static void put_words(arcs *a, const int64_t *centers, const char *const *labels, int64_t count,
                      int64_t y)
{
    char number[ATT_LABEL_SIZE];
    att_put(a->out, "<g text-anchor=\"middle\">\n");
    for (int64_t i = 0; i < count; i++) {
        att_putf(a->out, "<text x=\"%" PRId64 "\" y=\"%" PRId64 "\">", centers[i], y);
        att_put_xml(a->out, att_map_label(labels, i, number));
        att_put(a->out, "</text>\n");
    }
    att_put(a->out, "</g>\n");
}

/* Stroke, width and opacity by the weight, in hundredths: whole numbers in any locale. */
static void put_stroke(arcs *a, double weight, const char *color)
{
    int percent = (int)lround(100 * fmin(weight, 1));
    int width = 60 + 4 * percent;
    att_putf(a->out, "\" fill=\"none\" stroke=\"%s\" stroke-width=\"%d.%02d\" opacity=\"%d.%02d\"",
             color, width / 100, width % 100, percent == 100, percent % 100);
}

static void put_title(arcs *a, int64_t panel, int64_t query, int64_t key)
{
    char number[ATT_LABEL_SIZE];
    int percent = (int)lround(100 * att_map_value(a->map, panel, query, key));
    att_put(a->out, "><title>");
    att_put_xml(a->out, att_map_label(a->map->query_labels, query, number));
    att_put(a->out, " → ");
    att_put_xml(a->out, att_map_label(a->map->key_labels, key, number));
    att_putf(a->out, ": %d %%</title></path>\n", percent);
}

static int64_t arc_height(int64_t query, int64_t key)
{
    int64_t distance = query > key ? query - key : key - query;
    return att_min_i64(14 + ARC_STEP * distance, MAX_ARC);
}

/* An arc to an earlier word is above the words, to a later one below them; a word that attends to
 * itself has a small loop. */
static void put_self_arc(arcs *a, int64_t panel, int64_t query, int64_t key, int64_t y)
{
    double weight = att_map_value(a->map, panel, query, key);
    int64_t from = a->queries[query], to = a->keys[key];
    bool above = key <= query;
    int64_t edge = above ? y - FONT_HEIGHT : y + 6;
    if (query == key) {
        att_putf(a->out, "<path d=\"M%" PRId64 " %" PRId64 "c-10 -19 18 -19 8 0", from - 4, edge);
    } else {
        int64_t bend = above ? -arc_height(query, key) : arc_height(query, key);
        att_putf(a->out,
                 "<path d=\"M%" PRId64 " %" PRId64 "C%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64
                 " %" PRId64 " %" PRId64,
                 from, edge, from, edge + bend, to, edge + bend, to, edge);
    }
    put_stroke(a, weight, query == key ? "#666666" : above ? "#0b5394" : "#b45309");
    put_title(a, panel, query, key);
}

static void put_cross_arc(arcs *a, int64_t panel, int64_t query, int64_t key, int64_t top,
                          int64_t bottom)
{
    int64_t from = a->queries[query], to = a->keys[key], middle = (top + bottom) / 2;
    att_putf(a->out,
             "<path d=\"M%" PRId64 " %" PRId64 "C%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64
             " %" PRId64 " %" PRId64,
             from, bottom, from, middle, to, middle, to, top);
    put_stroke(a, att_map_value(a->map, panel, query, key), "#0b5394");
    put_title(a, panel, query, key);
}

static int64_t highest_arc(const arcs *a, int64_t panel, bool above)
{
    int64_t highest = 18;
    for (int64_t i = 0; i < a->map->queries; i++)
        for (int64_t j = 0; j < a->map->keys; j++)
            if (i != j && (j <= i) == above && att_map_value(a->map, panel, i, j) >= least_weight)
                highest = att_max_i64(highest, arc_height(i, j) * 3 / 4 + 6);
    return highest;
}

/* Draws a panel from y on, or measures it (`out` NULL). Returns where it ends. */
static int64_t put_panel(arcs *a, int64_t panel, int64_t y, bool draw)
{
    const att_map *map = a->map;
    bool labeled = map->panels > 1 || map->panel_labels;
    char name[ATT_LABEL_SIZE];
    int64_t top = y + (labeled ? PANEL_LABEL : 0);
    int64_t words = a->self ? top + highest_arc(a, panel, true) + FONT_HEIGHT : top + FONT_HEIGHT;
    int64_t end = a->self ? words + highest_arc(a, panel, false) + 14 : words + ROW_GAP + 14;
    if (!draw)
        return end;
    if (labeled) {
        att_putf(a->out, "<text x=\"%d\" y=\"%" PRId64 "\" font-weight=\"bold\">", MARGIN, y + 12);
        if (map->panel_labels)
            att_put_xml(a->out, att_map_label(map->panel_labels, panel, name));
        else
            att_putf(a->out, "head %" PRId64, panel + 1);
        att_put(a->out, "</text>\n");
    }
    for (int64_t i = 0; i < map->queries && a->out->status == ATT_OK; i++)
        for (int64_t j = 0; j < map->keys; j++) {
            if (att_map_cell(map, panel, i, j) != ATT_MAP_CELL_VALUE ||
                att_map_value(map, panel, i, j) < least_weight)
                continue;
            if (a->self)
                put_self_arc(a, panel, i, j, words);
            else
                put_cross_arc(a, panel, i, j, words + 6, words + ROW_GAP - FONT_HEIGHT);
        }
    put_words(a, a->keys, map->key_labels, map->keys, words);
    if (!a->self)
        put_words(a, a->queries, map->query_labels, map->queries, words + ROW_GAP);
    return end;
}

static bool is_self_attention(const att_map *map)
{
    return map->queries == map->keys && map->query_name && map->key_name &&
           strcmp(map->query_name, map->key_name) == 0;
}

static void put_arcs(att_writer *out, const att_map *map, att_arena *arena)
{
    arcs a = { .out = out, .map = map, .self = is_self_attention(map) };
    a.keys = att_arena_alloc(arena, (size_t)map->keys + 1, sizeof *a.keys);
    a.queries = att_arena_alloc(arena, (size_t)map->queries + 1, sizeof *a.queries);
    if (!a.keys || !a.queries) {
        out->status = ATT_NO_MEMORY;
        return;
    }
    a.width = att_max_i64(lay_out(a.keys, map->key_labels, map->keys),
                          lay_out(a.queries, map->query_labels, map->queries));
    int64_t top = MARGIN + (map->title ? TITLE : 0), height = top;
    for (int64_t p = 0; p < map->panels; p++)
        height = put_panel(&a, p, height, false);
    att_put_svg_begin(out, att_max_i64(a.width, 240), height + MARGIN / 2,
                      map->title ? map->title : "Attention as arcs");
    if (map->title) {
        att_putf(out, "<text x=\"%d\" y=\"%d\" font-size=\"16\" font-weight=\"bold\">", MARGIN,
                 MARGIN + 8);
        att_put_xml(out, map->title);
        att_put(out, "</text>\n");
    }
    for (int64_t p = 0; p < map->panels && out->status == ATT_OK; p++)
        top = put_panel(&a, p, top, true);
    att_put(out, "</svg>\n");
}

void att_map_put_arcs(att_writer *out, const att_map *map)
{
    att_arena arena = { 0 };
    att_map shown;
    if (att_map_shrink(&shown, map, MAX_WORDS, MAX_WORDS, &arena))
        put_arcs(out, &shown, &arena);
    else
        out->status = ATT_NO_MEMORY;
    att_arena_free(&arena);
}
