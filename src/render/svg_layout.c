/* The layout of an attention map as SVG, in whole pixels. */
#include "render/svg_layout.h"

#include "base/minmax.h"
#include "text/display_width.h"

enum {
    MAX_CELL_SIZE = 48,
    MAX_CELL_WIDTH = 84,    /* maximum with long labels */
    PANEL_TARGET = 720,     /* side of a panel whose cells are smaller than MAX_CELL_SIZE */
    PAGE_WIDTH = 1200,      /* panels beyond this width go to the next row */
    MIN_LEGEND_WIDTH = 400, /* the color bar and two marks beside it, */
    LEGEND_THIRD = 110,     /* and the third */
    TITLE_ROOM = 30,
    AXIS_ROOM = 22, /* the title "query" or "key" beside the labels */
    GAP_FROM = 12,  /* cells at least this large have a gap of a pixel */
};

int64_t att_svg_text_length(const char *label)
{
    int columns = att_display_width(label);
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

/* Labels that would overlap are thinned out: every 2nd, 5th, 10th, 20th, … */
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

/* Cells are square, but grow slightly wider if that allows horizontal labels, or more digits. */
static void layout_cells(att_svg_layout *at, const att_map *map, int digits)
{
    int64_t longer = att_max_i64(att_max_i64(map->queries, map->keys), 1);
    int64_t side = PANEL_TARGET / longer;
    at->cell_height = att_clamp_i64(side, 1, MAX_CELL_SIZE);
    at->cell_width = at->cell_height;
    at->cell_gap = at->cell_height >= GAP_FROM ? 1 : 0;
    int64_t needed = longest_label(map->key_labels, map->keys) + ATT_SVG_TICK_GAP;
    if (at->cell_height == MAX_CELL_SIZE && needed > at->cell_width && needed <= MAX_CELL_WIDTH)
        at->cell_width = needed;
    int64_t number = (digits + 3) * (int64_t)(ATT_SVG_FONT / 2 + 1);
    if (digits > ATT_MAP_DIGITS && at->cell_height >= ATT_SVG_FONT)
        at->cell_width = att_max_i64(at->cell_width, number);
}

/* The reach of slanted labels beyond the right edge; they rise at 45 degrees. */
static int64_t overhang(const att_svg_layout *at, const att_map *map)
{
    char number[ATT_LABEL_SIZE];
    int64_t reach = 0;
    for (int64_t j = 0; j < map->keys; j += at->key_step) {
        int64_t length = att_svg_text_length(att_map_label(map->key_labels, j, number));
        int64_t end = j * at->cell_width + at->cell_width / 2 + length * 5 / 7 + ATT_SVG_FONT / 2;
        reach = att_max_i64(end - map->keys * at->cell_width, reach);
    }
    return reach;
}

static void layout_panel(att_svg_layout *at, const att_map *map, int digits)
{
    layout_cells(at, map, digits);
    int64_t key_label = longest_label(map->key_labels, map->keys);
    at->query_step = label_step(at->cell_height, ATT_SVG_FONT + 3);
    at->key_step = label_step(at->cell_width, map->key_labels ? ATT_SVG_FONT + 5 : key_label + 8);
    at->slanted = key_label + ATT_SVG_TICK_GAP > at->cell_width * at->key_step;
    at->left = AXIS_ROOM + longest_label(map->query_labels, map->queries) + ATT_SVG_TICK_GAP;
    at->top = AXIS_ROOM + ATT_SVG_TICK_GAP +
              (at->slanted ? key_label * 5 / 7 + ATT_SVG_FONT / 2 : ATT_SVG_FONT);
    at->right = at->slanted ? overhang(at, map) : 0;
    if (map->panels > 1 || map->panel_labels)
        at->top += ATT_SVG_PANEL_LABEL_ROOM;
    at->panel_width = at->left + map->keys * at->cell_width + at->right;
    at->panel_height = at->top + map->queries * at->cell_height;
}

att_svg_layout att_svg_lay_out(const att_map *map, int digits)
{
    att_svg_layout at = { 0 };
    layout_panel(&at, map, digits);
    int64_t fit = (PAGE_WIDTH - 2 * ATT_SVG_MARGIN + ATT_SVG_PANEL_GAP) /
                  (at.panel_width + ATT_SVG_PANEL_GAP);
    fit = att_max_i64(fit, 1);
    at.panels_per_row = att_max_i64(att_min_i64(map->panels, fit), 1);
    int64_t rows = (map->panels + at.panels_per_row - 1) / at.panels_per_row;
    at.panels_top = ATT_SVG_MARGIN + (map->title ? TITLE_ROOM : 0);
    at.width = 2 * ATT_SVG_MARGIN + at.panels_per_row * (at.panel_width + ATT_SVG_PANEL_GAP) -
               ATT_SVG_PANEL_GAP;
    bool infinite = att_map_has(map, ATT_MAP_CELL_INFINITE);
    bool marks =
        infinite || att_map_has(map, ATT_MAP_CELL_MASKED) || att_map_has(map, ATT_MAP_CELL_NAN);
    int64_t legend = marks ? MIN_LEGEND_WIDTH + (infinite ? LEGEND_THIRD : 0) : ATT_SVG_BAR_WIDTH;
    at.width = att_max_i64(at.width, at.left + legend + 2 * ATT_SVG_MARGIN);
    if (map->title)
        at.width =
            att_max_i64(at.width, 2 * ATT_SVG_MARGIN + (int64_t)att_display_width(map->title) * 10);
    at.height = at.panels_top + rows * (at.panel_height + ATT_SVG_PANEL_GAP) + ATT_SVG_LEGEND_ROOM;
    return at;
}
