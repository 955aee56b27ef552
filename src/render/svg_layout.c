/* The layout of a map's SVG; see svg_layout.h. */
#include "render/svg_layout.h"

#include "text/width.h"

enum {
    CELL_LARGEST = 48,
    CELL_WIDEST = 84,   /* as far as labels stretch it */
    PANEL_TARGET = 720, /* a panel's side where its cells are smaller than CELL_LARGEST */
    PAGE_WIDTH = 1200,  /* panels beyond this go to the next row */
    LEGEND_LEAST = 400, /* the colour bar and two marks beside it, */
    LEGEND_THIRD = 110, /* and the third */
    TITLE_ROOM = 30,
    AXIS_ROOM = 22, /* the word "query" or "key" beside the labels */
    GAP_FROM = 12,  /* cells at least this large are set apart by a pixel */
};

int64_t att_svg_text_length(const char *label)
{
    int columns = att_width(label);
    if (columns > ATT_SVG_LABEL_COLUMNS)
        columns = ATT_SVG_LABEL_COLUMNS;
    return (int64_t)columns * ATT_SVG_FONT * 16 / 25;
}

static int64_t longest_label(const char *const *labels, int64_t count)
{
    char number[ATT_LABEL_SIZE];
    int64_t longest = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t length = att_svg_text_length(att_map_label(labels, i, number));
        longest = length > longest ? length : longest;
    }
    return longest;
}

/* Labels that would run into each other are thinned: every 2nd, 5th, 10th, 20th, … */
static int64_t label_step(int64_t cell, int64_t needed)
{
    static const int64_t factors[] = { 2, 5, 10 };
    int64_t decade = 1, step = 1;
    for (size_t i = 0; step * cell < needed; i++) {
        step = decade * factors[i % 3];
        if (i % 3 == 2)
            decade *= 10;
    }
    return step;
}

bool att_svg_label_is_shown(const char *const *labels, int64_t index, int64_t step)
{
    if (labels)
        return index % step == 0;
    return (index + 1) % step == 0 || (index == 0 && step > 2);
}

static int64_t at_least(int64_t value, int64_t least)
{
    return value > least ? value : least;
}

/* Cells are square, but grow a little wider where that lets labels lie flat. */
static void lay_cells(att_svg_layout *at, const att_map *map)
{
    int64_t longer = at_least(at_least(map->queries, map->keys), 1);
    int64_t side = PANEL_TARGET / longer;
    at->down = side > CELL_LARGEST ? CELL_LARGEST : at_least(side, 1);
    at->across = at->down;
    at->apart = at->down >= GAP_FROM ? 1 : 0;
    int64_t needed = longest_label(map->key_labels, map->keys) + ATT_SVG_TICK_GAP;
    if (at->down == CELL_LARGEST && needed > at->across && needed <= CELL_WIDEST)
        at->across = needed;
}

/* How far slanted labels reach beyond the right edge; they rise at 45 degrees. */
static int64_t overhang(const att_svg_layout *at, const att_map *map)
{
    char number[ATT_LABEL_SIZE];
    int64_t reach = 0;
    for (int64_t j = 0; j < map->keys; j += at->key_step) {
        int64_t length = att_svg_text_length(att_map_label(map->key_labels, j, number));
        int64_t end = j * at->across + at->across / 2 + length * 5 / 7 + ATT_SVG_FONT / 2;
        reach = at_least(end - map->keys * at->across, reach);
    }
    return reach;
}

static void lay_panel(att_svg_layout *at, const att_map *map)
{
    lay_cells(at, map);
    int64_t key_label = longest_label(map->key_labels, map->keys);
    at->query_step = label_step(at->down, ATT_SVG_FONT + 3);
    at->key_step = label_step(at->across, map->key_labels ? ATT_SVG_FONT + 5 : key_label + 8);
    at->slanted = key_label + ATT_SVG_TICK_GAP > at->across * at->key_step;
    at->left = AXIS_ROOM + longest_label(map->query_labels, map->queries) + ATT_SVG_TICK_GAP;
    at->top = AXIS_ROOM + ATT_SVG_TICK_GAP +
              (at->slanted ? key_label * 5 / 7 + ATT_SVG_FONT / 2 : ATT_SVG_FONT);
    at->right = at->slanted ? overhang(at, map) : 0;
    if (map->panels > 1 || map->panel_labels)
        at->top += ATT_SVG_PANEL_LABEL_ROOM;
    at->panel_width = at->left + map->keys * at->across + at->right;
    at->panel_height = at->top + map->queries * at->down;
}

att_svg_layout att_svg_lay_out(const att_map *map)
{
    att_svg_layout at = { 0 };
    lay_panel(&at, map);
    int64_t fit = (PAGE_WIDTH - 2 * ATT_SVG_MARGIN + ATT_SVG_PANEL_GAP) /
                  (at.panel_width + ATT_SVG_PANEL_GAP);
    fit = at_least(fit, 1);
    at.panels_per_row = at_least(map->panels < fit ? map->panels : fit, 1);
    int64_t rows = (map->panels + at.panels_per_row - 1) / at.panels_per_row;
    at.first = ATT_SVG_MARGIN + (map->title ? TITLE_ROOM : 0);
    at.width = 2 * ATT_SVG_MARGIN + at.panels_per_row * (at.panel_width + ATT_SVG_PANEL_GAP) -
               ATT_SVG_PANEL_GAP;
    bool infinite = att_map_has(map, ATT_CELL_INFINITE);
    bool marks = infinite || att_map_has(map, ATT_CELL_MASKED) || att_map_has(map, ATT_CELL_NAN);
    int64_t legend = marks ? LEGEND_LEAST + (infinite ? LEGEND_THIRD : 0) : ATT_SVG_BAR_WIDTH;
    at.width = at_least(at.width, at.left + legend + 2 * ATT_SVG_MARGIN);
    if (map->title)
        at.width = at_least(at.width, 2 * ATT_SVG_MARGIN + (int64_t)att_width(map->title) * 10);
    at.height = at.first + rows * (at.panel_height + ATT_SVG_PANEL_GAP) + ATT_SVG_LEGEND_ROOM;
    return at;
}
