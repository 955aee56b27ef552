/* Attention maps in a terminal: cells as colors, shades or characters, with the value in each cell
 * if there is room. Panels are side by side as far as the width allows; a map with more cells than
 * the terminal has room for is averaged down, and a line states both sizes. */
#include "render/map.h"

#include "render/number.h"
#include "render/terminal.h"
#include "text/display_width.h"

#include <inttypes.h>
#include <string.h>

enum {
    COMPACT_CELL = 2,    /* two columns are about as wide as a line is tall */
    CELL_ROOM = 5,       /* of a cell beside its decimals: "  0." and a column apart */
    MAX_CELL_WIDTH = 14, /* maximum with long labels */
    LABEL_COLUMNS = 20,  /* longer query labels are truncated */
    MAX_LINES = 60,      /* maximum of rows before averaging */
    PANEL_GAP = 4,
    SCALE_COLUMNS = 24,
};

struct grid {
    const att_terminal *terminal;
    const att_map *map;
    att_color_scale scale;
    att_colormap colormap;
    int digits;
    int indent;
    int width;       /* of the terminal */
    int label_width; /* of the query labels */
    int cell;
    bool values;            /* values in the cells */
    bool numbered;          /* keys are numbered along the top, with a legend below */
    int64_t panels_per_row; /* panels side by side */
    int64_t panel_width;    /* columns of one */
};

static int longest(const char *const *labels, int64_t count)
{
    char number[ATT_LABEL_SIZE];
    int max = 0;
    for (int64_t i = 0; i < count; i++) {
        int width = att_display_width(att_map_label(labels, i, number));
        max = width > max ? width : max;
    }
    return max;
}

static int digits_of(int64_t number)
{
    int digits = 1;
    for (; number > 9; number /= 10)
        digits++;
    return digits;
}

static int64_t cells_that_fit(const struct grid *g, int cell)
{
    int64_t room = g->width - g->indent - g->label_width - 1;
    return room / cell > 1 ? room / cell : 1;
}

/* Chooses the size of cells: wide with values if that fits the terminal, compact otherwise. */
static void size_cells(struct grid *g, const att_map *map)
{
    g->label_width = longest(map->query_labels, map->queries);
    if (map->queries > MAX_LINES) /* these will be averaged and labeled 991-1000 */
        g->label_width = digits_of(map->queries) * 2 + 1;
    if (g->label_width > LABEL_COLUMNS)
        g->label_width = LABEL_COLUMNS;
    int name = att_display_width(att_map_query_name(map)); /* printed above the labels */
    if (g->label_width < name)
        g->label_width = name;
    int key_width = longest(map->key_labels, map->keys);
    int narrow = CELL_ROOM + (g->digits > ATT_MAP_DIGITS ? g->digits : ATT_MAP_DIGITS);
    int roomy = key_width + 2 > narrow ? key_width + 2 : narrow;
    g->values = true;
    if (roomy > MAX_CELL_WIDTH || map->keys > cells_that_fit(g, roomy)) {
        g->numbered = map->key_labels != NULL;
        roomy = narrow;
    }
    g->cell = roomy;
    if (map->keys <= cells_that_fit(g, roomy) && map->queries <= MAX_LINES)
        return;
    g->values = false;
    g->cell = COMPACT_CELL;
    g->numbered = map->key_labels != NULL && key_width > COMPACT_CELL;
}

static void put_number(const struct grid *g, double value, int room)
{
    char text[ATT_NUMBER_SIZE];
    att_map_number(text, value, &g->scale, g->digits, room);
    att_terminal_centered(g->terminal, text, room);
}

static void put_masked(const struct grid *g, int columns)
{
    att_terminal_style(g->terminal, ATT_STYLE_DIM);
    att_put_repeat(g->terminal->out, g->terminal->ascii ? "/" : "╱", columns);
    att_terminal_style(g->terminal, ATT_STYLE_NONE);
}

/* A cell that is not on the scale (masked, NaN, infinite): as a word or symbol if there is room,
 * else in two columns. */
static void put_special(const struct grid *g, double value, int columns)
{
    static const char *const marks[2][2][3] = { { { "nan", "∞", "-∞" }, { "??", "+∞", "-∞" } },
                                                { { "nan", "inf", "-inf" },
                                                  { "??", "^^", "vv" } } };
    int which = value > 0 ? 1 : value < 0 ? 2 : 0;
    att_terminal_style(g->terminal, ATT_STYLE_FAILED);
    att_terminal_centered(g->terminal, marks[g->terminal->ascii][!g->values][which], columns);
    att_terminal_style(g->terminal, ATT_STYLE_NONE);
}

/* A cell without color: its shade, and its value if there is room. */
static void put_plain_cell(const struct grid *g, double value, int columns)
{
    const char *shade = att_terminal_shade(g->terminal, att_color_scale_level(&g->scale, value));
    if (!g->values) {
        att_put_repeat(g->terminal->out, shade, columns);
        return;
    }
    att_put(g->terminal->out, " ");
    att_put(g->terminal->out, shade);
    put_number(g, value, columns - 2);
}

static void put_colored_cell(const struct grid *g, double value, int columns)
{
    att_terminal_level(g->terminal, g->colormap, att_color_scale_level(&g->scale, value));
    if (g->values)
        put_number(g, value, columns);
    else
        att_put_repeat(g->terminal->out, " ", columns);
    att_terminal_style(g->terminal, ATT_STYLE_NONE);
}

static void put_cell(const struct grid *g, int64_t panel, int64_t query, int64_t key)
{
    int apart = g->values ? 1 : 0; /* wide cells do not touch */
    int columns = g->cell - apart;
    double value = att_map_value(g->map, panel, query, key);
    switch (att_map_cell(g->map, panel, query, key)) {
    case ATT_MAP_CELL_MASKED:
        put_masked(g, columns);
        break;
    case ATT_MAP_CELL_NAN:
    case ATT_MAP_CELL_INFINITE:
        put_special(g, value, columns);
        break;
    case ATT_MAP_CELL_VALUE:
        if (g->terminal->color == ATT_COLOR_NONE)
            put_plain_cell(g, value, columns);
        else
            put_colored_cell(g, value, columns);
        break;
    }
    att_put_repeat(g->terminal->out, " ", apart);
}

/* The keys along the top: labels, or as many numbers as fit. */
static void put_key_line(const struct grid *g)
{
    char number[ATT_LABEL_SIZE];
    const char *const *labels = g->numbered ? NULL : g->map->key_labels;
    bool decades = !labels && g->map->keys > 9 && g->cell == COMPACT_CELL;
    int64_t column = 0;
    for (int64_t j = 0; j < g->map->keys; j++) {
        const char *label = att_map_label(labels, j, number);
        int width = att_display_width(label);
        int64_t start = j * g->cell + (width < g->cell - 1 ? (g->cell - 1 - width) / 2 : 0);
        bool skipped = decades && j > 0 && (j + 1) % 10 != 0;
        if (skipped || start < column || start + width > g->map->keys * g->cell)
            continue;
        att_put_repeat(g->terminal->out, " ", start - column);
        att_put_plain(g->terminal->out, label);
        column = start + width + 1;
        att_put(g->terminal->out, " ");
    }
    att_put_repeat(g->terminal->out, " ", g->map->keys * g->cell - column);
}

static void put_query_label(const struct grid *g, int64_t query)
{
    char number[ATT_LABEL_SIZE];
    att_terminal_padded(g->terminal, att_map_label(g->map->query_labels, query, number),
                        g->label_width);
    att_put(g->terminal->out, " ");
}

/* Line `line` of a panel: its title, the title of the keys, the keys, then the queries. */
static void put_panel_line(const struct grid *g, int64_t panel, int64_t line)
{
    static const char *const empty = "";
    if (line >= 3) {
        put_query_label(g, line - 3);
        for (int64_t j = 0; j < g->map->keys; j++)
            put_cell(g, panel, line - 3, j);
        return;
    }
    const char *left[] = { empty, empty, att_map_query_name(g->map) };
    att_terminal_style(g->terminal, line == 0 ? ATT_STYLE_BOLD : ATT_STYLE_DIM);
    att_terminal_padded(g->terminal, left[line], g->label_width);
    att_put(g->terminal->out, " ");
    int columns = (int)(g->map->keys * g->cell);
    if (line == 0 && g->map->panel_labels && g->map->panel_labels[panel])
        att_terminal_centered(g->terminal, g->map->panel_labels[panel], columns);
    else if (line == 0)
        att_terminal_numbered(g->terminal, "head", panel + 1, columns);
    else if (line == 1)
        att_terminal_centered(g->terminal, att_map_key_name(g->map), columns);
    else
        put_key_line(g);
    att_terminal_style(g->terminal, ATT_STYLE_NONE);
}

static void put_panels(const struct grid *g, int64_t first, int64_t count)
{
    bool named = g->map->panels > 1 || g->map->panel_labels;
    for (int64_t line = named ? 0 : 1; line < g->map->queries + 3; line++) {
        att_put_repeat(g->terminal->out, " ", g->indent);
        for (int64_t p = first; p < first + count; p++) {
            put_panel_line(g, p, line);
            if (p + 1 < first + count)
                att_put_repeat(g->terminal->out, " ", PANEL_GAP);
        }
        att_terminal_end_line(g->terminal);
    }
}

/* The legend: the ends of the scale with the colors between, and the marks in use. */
static void put_scale(const struct grid *g)
{
    char low[ATT_NUMBER_SIZE], high[ATT_NUMBER_SIZE];
    att_number_short(low, g->scale.low, 4);
    att_number_short(high, g->scale.high, 4);
    att_writer *out = g->terminal->out;
    att_put_repeat(out, " ", g->indent + g->label_width + 1);
    att_put(out, low);
    att_put(out, " ");
    for (int i = 0; i < SCALE_COLUMNS; i++) {
        int level = i * (ATT_COLOR_LEVELS - 1) / (SCALE_COLUMNS - 1);
        if (g->terminal->color == ATT_COLOR_NONE) {
            att_put(out, att_terminal_shade(g->terminal, level));
        } else {
            att_terminal_level(g->terminal, g->colormap, level);
            att_put(out, " ");
        }
    }
    att_terminal_style(g->terminal, ATT_STYLE_NONE);
    att_put(out, " ");
    att_put(out, high);
    if (att_map_has(g->map, ATT_MAP_CELL_MASKED)) {
        att_put(out, "   ");
        put_masked(g, 2);
        att_put(out, " masked");
    }
    att_terminal_end_line(g->terminal);
}

/* The legend of numbered keys. */
static void put_legend(const struct grid *g)
{
    if (!g->numbered)
        return;
    int64_t start = g->indent + g->label_width + 1;
    int64_t column = start;
    att_writer *out = g->terminal->out;
    att_put_repeat(out, " ", start);
    for (int64_t j = 0; j < g->map->keys; j++) {
        char number[ATT_LABEL_SIZE];
        const char *label = g->map->key_labels[j] ? g->map->key_labels[j] : "";
        const char *digits = att_map_label(NULL, j, number);
        int64_t width = (int64_t)strlen(digits) + 1 + att_display_width(label) + 3;
        if (column + width > g->width && column > start) {
            att_terminal_end_line(g->terminal);
            att_put_repeat(out, " ", start);
            column = start;
        }
        att_putf(out, "%s ", digits);
        att_put_plain(out, label);
        att_put(out, "   ");
        column += width;
    }
    att_terminal_end_line(g->terminal);
}

static void put_title(const struct grid *g, const att_map *full)
{
    att_writer *out = g->terminal->out;
    if (full->title) {
        att_put_repeat(out, " ", g->indent);
        att_terminal_style(g->terminal, ATT_STYLE_BOLD);
        att_put_plain(out, full->title);
        att_terminal_style(g->terminal, ATT_STYLE_NONE);
        att_terminal_end_line(g->terminal);
    }
    if (full->queries != g->map->queries || full->keys != g->map->keys) {
        att_put_repeat(out, " ", g->indent);
        att_map_put_reduction(out, full, g->map, g->terminal->ascii ? "x" : "×");
        att_terminal_end_line(g->terminal);
    }
}

void att_map_put_text(att_writer *out, const att_map *map, const att_render_options *options,
                      int indent, att_arena *scratch)
{
    att_terminal terminal = att_terminal_for(out, options);
    struct grid g = { .terminal = &terminal, .indent = indent, .width = terminal.width };
    g.digits = options->digits;
    size_cells(&g, map);
    att_map shown;
    if (!att_map_shrink(&shown, map, MAX_LINES, cells_that_fit(&g, g.cell), scratch)) {
        out->status = ATT_NO_MEMORY;
        return;
    }
    g.map = &shown;
    if (shown.keys != map->keys)
        g.numbered = false; /* its labels give the range of keys of each cell */
    g.scale = att_map_color_scale(&shown);
    g.colormap = g.scale.diverging ? ATT_COLORMAP_DIVERGING : ATT_COLORMAP_SCREEN;
    g.panel_width = g.label_width + 1 + shown.keys * g.cell;
    int64_t fit = (g.width - indent + PANEL_GAP) / (g.panel_width + PANEL_GAP);
    g.panels_per_row = fit > 1 ? fit : 1;
    put_title(&g, map);
    for (int64_t p = 0; p < shown.panels && out->status == ATT_OK; p += g.panels_per_row) {
        int64_t left = shown.panels - p;
        put_panels(&g, p, left < g.panels_per_row ? left : g.panels_per_row);
    }
    put_scale(&g);
    put_legend(&g);
}

att_status att_map_text(att_string *text, const att_map *map, const att_render_options *options,
                        att_error *err)
{
    att_writer out = att_writer_on(text);
    att_arena scratch = { 0 };
    att_map_put_text(&out, map, options, 0, &scratch);
    att_arena_free(&scratch);
    return att_writer_finish(&out, err);
}
