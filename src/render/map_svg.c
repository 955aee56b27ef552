/* Attention maps as SVG. One rect per cell carries its query, key and value as data attributes and,
 * up to TITLES_UP_TO cells, as a title that viewers show under the pointer. All coordinates are
 * whole numbers, so that edges are crisp and the bytes depend only on the map.
 *
 * The flat form is the same image for rasterizers: cells of one color are one path. A million rects
 * take 2.4 GB in librsvg, which rejects larger documents; as paths they take 0.1 GB. */
#include "render/svg_layout.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/minmax.h"
#include "render/number.h"
#include "render/svg.h"
#include "text/display_width.h"

#include <inttypes.h>
#include <string.h>

enum {
    MAX_CELLS_WITH_TITLES = 40000,
    FONT_VALUE = 12,
    MIN_CELL_FOR_VALUES = 30, /* cells at least this large show their value */
    CELL_COLUMNS = 6,         /* of a value in its cell */
    LEVEL_MASKED = 253,       /* in addition to the ATT_COLOR_LEVELS colors, in the flat form */
    LEVEL_NAN = 254,
    LEVEL_INFINITE = 255,
};

struct drawing {
    att_writer *out;
    const att_map *map;
    const att_svg_options *options;
    att_color_scale scale;
    att_colormap colormap;
    att_svg_layout layout;
};

static void put_attribute(att_writer *out, const char *name, int64_t value)
{
    att_put(out, name);
    att_put_integer(out, value);
    att_put(out, "\"");
}

/* A label, truncated if it is very long. */
static void put_label(att_writer *out, const char *label)
{
    if (att_display_width(label) <= ATT_SVG_LABEL_COLUMNS) {
        att_put_xml(out, label);
        return;
    }
    char cut[ATT_SVG_LABEL_COLUMNS * 32];
    size_t length = att_display_width_fit(label, ATT_SVG_LABEL_COLUMNS - 1);
    if (length >= sizeof cut)
        length = 0;
    memcpy(cut, label, length);
    cut[length] = '\0';
    att_put_xml(out, cut);
    att_put(out, "…");
}

static void put_fill(struct drawing *d, int level)
{
    static const char *const patterns[] = { "masked", "nan", "infinite" };
    if (level >= LEVEL_MASKED)
        att_putf(d->out, "url(#%s-%s)", d->options->id, patterns[level - LEVEL_MASKED]);
    else
        att_put_color(d->out, att_colormap_color(d->colormap, level));
}

static int cell_level(const struct drawing *d, int64_t panel, int64_t query, int64_t key)
{
    static const int special[] = { [ATT_MAP_CELL_MASKED] = LEVEL_MASKED,
                                   [ATT_MAP_CELL_NAN] = LEVEL_NAN,
                                   [ATT_MAP_CELL_INFINITE] = LEVEL_INFINITE };
    att_map_cell_kind kind = att_map_cell(d->map, panel, query, key);
    if (kind != ATT_MAP_CELL_VALUE)
        return special[kind];
    return att_color_scale_level(&d->scale, att_map_value(d->map, panel, query, key));
}

static void put_value(struct drawing *d, int64_t panel, int64_t query, int64_t key)
{
    if (att_map_cell(d->map, panel, query, key) == ATT_MAP_CELL_MASKED) {
        att_put(d->out, "masked");
        return;
    }
    char text[ATT_NUMBER_SIZE];
    size_t length = att_number_short(text, att_map_value(d->map, panel, query, key), 6);
    att_put_bytes(d->out, text, length);
}

static void put_cell_title(struct drawing *d, int64_t panel, int64_t query, int64_t key)
{
    char number[ATT_LABEL_SIZE];
    att_put(d->out, "<title>query &quot;");
    att_put_xml(d->out, att_map_label(d->map->query_labels, query, number));
    att_put(d->out, "&quot;, key &quot;");
    att_put_xml(d->out, att_map_label(d->map->key_labels, key, number));
    att_put(d->out, "&quot;: ");
    put_value(d, panel, query, key);
    att_put(d->out, "</title></rect>\n");
}

static void put_cell(struct drawing *d, int64_t panel, int64_t query, int64_t key, bool titled)
{
    char number[ATT_LABEL_SIZE];
    att_writer *out = d->out;
    put_attribute(out, "<rect x=\"", key * d->layout.cell_width);
    put_attribute(out, " y=\"", query * d->layout.cell_height);
    put_attribute(out, " width=\"", d->layout.cell_width - d->layout.cell_gap);
    put_attribute(out, " height=\"", d->layout.cell_height - d->layout.cell_gap);
    att_put(out, " fill=\"");
    put_fill(d, cell_level(d, panel, query, key));
    att_put(out, "\" data-query=\"");
    att_put_xml(out, att_map_label(d->map->query_labels, query, number));
    att_put(out, "\" data-key=\"");
    att_put_xml(out, att_map_label(d->map->key_labels, key, number));
    att_put(out, "\" data-value=\"");
    put_value(d, panel, query, key);
    att_put(out, titled ? "\">" : "\"/>\n");
    if (titled)
        put_cell_title(d, panel, query, key);
}

static void put_cells(struct drawing *d, int64_t panel)
{
    const att_map *map = d->map;
    bool titled = map->panels * map->queries * map->keys <= MAX_CELLS_WITH_TITLES;
    for (int64_t i = 0; i < map->queries; i++)
        for (int64_t j = 0; j < map->keys && d->out->status == ATT_OK; j++)
            put_cell(d, panel, i, j, titled);
}

/* The part of a path that covers cells `first` to `last` of a row; cells touch unless there is a
 * gap. */
static void put_run(struct drawing *d, int64_t query, int64_t first, int64_t last)
{
    int64_t width = (last - first + 1) * d->layout.cell_width - d->layout.cell_gap;
    att_putf(d->out, "M%" PRId64 " %" PRId64 "h%" PRId64 "v%" PRId64 "h-%" PRId64 "z",
             first * d->layout.cell_width, query * d->layout.cell_height, width,
             d->layout.cell_height - d->layout.cell_gap, width);
}

static void put_level(struct drawing *d, const uint8_t *levels, int level)
{
    int64_t keys = d->map->keys;
    size_t count = (size_t)(d->map->queries * keys);
    const uint8_t *end = levels + count;
    const uint8_t *at = memchr(levels, level, count);
    if (!at)
        return;
    att_put(d->out, "<path fill=\"");
    put_fill(d, level);
    att_put(d->out, "\" d=\"");
    while (at) {
        int64_t query = (at - levels) / keys;
        int64_t first = (at - levels) % keys;
        int64_t last = first;
        while (!d->layout.cell_gap && last + 1 < keys && levels[query * keys + last + 1] == level)
            last++;
        put_run(d, query, first, last);
        at += last - first + 1;
        at = at < end ? memchr(at, level, (size_t)(end - at)) : NULL;
    }
    att_put(d->out, "\"/>\n");
}

static void put_cells_flat(struct drawing *d, int64_t panel)
{
    const att_map *map = d->map;
    uint8_t *levels = att_alloc((size_t)map->queries, (size_t)map->keys);
    if (!levels) {
        d->out->status = ATT_NO_MEMORY;
        return;
    }
    for (int64_t i = 0; i < map->queries; i++)
        for (int64_t j = 0; j < map->keys; j++)
            levels[i * map->keys + j] = (uint8_t)cell_level(d, panel, i, j);
    for (int level = 0; level <= LEVEL_INFINITE && d->out->status == ATT_OK; level++)
        put_level(d, levels, level);
    att_free(levels);
}

/* The number of one cell, in white or black for contrast; infinity as a symbol. */
static void put_cell_number(struct drawing *d, int64_t panel, int64_t query, int64_t key)
{
    char text[ATT_NUMBER_SIZE];
    att_map_cell_kind kind = att_map_cell(d->map, panel, query, key);
    double value = att_map_value(d->map, panel, query, key);
    bool dark = false;
    if (kind == ATT_MAP_CELL_MASKED || kind == ATT_MAP_CELL_NAN)
        return;
    if (kind == ATT_MAP_CELL_INFINITE) {
        strcpy(text, value > 0 ? "∞" : "-∞");
    } else {
        att_map_number(text, value, &d->scale, d->options->digits,
                       (int)att_max_i64(CELL_COLUMNS, d->options->digits + 3));
        dark = att_rgb_is_dark(att_colormap_color(d->colormap, cell_level(d, panel, query, key)));
    }
    put_attribute(d->out, "<text x=\"", key * d->layout.cell_width + d->layout.cell_width / 2);
    put_attribute(d->out, " y=\"", query * d->layout.cell_height + d->layout.cell_height / 2 + 4);
    att_put(d->out, dark ? " fill=\"#fff\">" : " fill=\"#1a1a1a\">");
    att_put(d->out, text);
    att_put(d->out, "</text>\n");
}

/* Numbers in the cells, if there is room. */
static void put_numbers(struct drawing *d, int64_t panel)
{
    if (d->layout.cell_height < MIN_CELL_FOR_VALUES)
        return;
    att_putf(d->out, "<g font-size=\"%d\" text-anchor=\"middle\" pointer-events=\"none\">\n",
             d->layout.cell_height < 40 ? FONT_VALUE - 2 : FONT_VALUE);
    for (int64_t i = 0; i < d->map->queries; i++)
        for (int64_t j = 0; j < d->map->keys; j++)
            put_cell_number(d, panel, i, j);
    att_put(d->out, "</g>\n");
}

static void put_query_labels(struct drawing *d)
{
    char number[ATT_LABEL_SIZE];
    att_put(d->out, "<g text-anchor=\"end\">\n");
    for (int64_t i = 0; i < d->map->queries; i++) {
        if (!att_svg_label_is_shown(d->map->query_labels, i, d->layout.query_step))
            continue;
        put_attribute(d->out, "<text x=\"", -ATT_SVG_TICK_GAP);
        put_attribute(d->out, " y=\"", i * d->layout.cell_height + d->layout.cell_height / 2 + 5);
        att_put(d->out, ">");
        put_label(d->out, att_map_label(d->map->query_labels, i, number));
        att_put(d->out, "</text>\n");
    }
    att_put(d->out, "</g>\n");
}

static void put_key_labels(struct drawing *d)
{
    char number[ATT_LABEL_SIZE];
    att_put(d->out, d->layout.slanted ? "<g>\n" : "<g text-anchor=\"middle\">\n");
    for (int64_t j = 0; j < d->map->keys; j++) {
        if (!att_svg_label_is_shown(d->map->key_labels, j, d->layout.key_step))
            continue;
        int64_t x = j * d->layout.cell_width + d->layout.cell_width / 2;
        if (d->layout.slanted)
            att_putf(d->out, "<text transform=\"translate(%" PRId64 ",%d) rotate(-45)\">", x + 4,
                     -ATT_SVG_TICK_GAP);
        else
            att_putf(d->out, "<text x=\"%" PRId64 "\" y=\"%d\">", x, -ATT_SVG_TICK_GAP);
        put_label(d->out, att_map_label(d->map->key_labels, j, number));
        att_put(d->out, "</text>\n");
    }
    att_put(d->out, "</g>\n");
}

/* The titles of both axes, and the title of the panel. */
static void put_axes(struct drawing *d, int64_t panel)
{
    const att_map *map = d->map;
    int64_t labeled = map->panels > 1 || map->panel_labels;
    int64_t key_y = -d->layout.top + (labeled ? ATT_SVG_PANEL_LABEL_ROOM : 0) + ATT_SVG_FONT;
    att_put(d->out, "<g fill=\"#666\" text-anchor=\"middle\">\n");
    att_putf(d->out, "<text x=\"%" PRId64 "\" y=\"%" PRId64 "\">",
             map->keys * d->layout.cell_width / 2, key_y);
    att_put_xml(d->out, att_map_key_name(map));
    att_putf(d->out, "</text>\n<text transform=\"translate(%" PRId64 ",%" PRId64 ") rotate(-90)\">",
             -d->layout.left + ATT_SVG_FONT, map->queries * d->layout.cell_height / 2);
    att_put_xml(d->out, att_map_query_name(map));
    att_put(d->out, "</text>\n</g>\n");
    if (!labeled)
        return;
    att_putf(d->out,
             "<text x=\"%" PRId64 "\" y=\"%" PRId64
             "\" text-anchor=\"middle\" font-weight=\"bold\">",
             map->keys * d->layout.cell_width / 2, -d->layout.top + ATT_SVG_FONT);
    if (map->panel_labels && map->panel_labels[panel])
        put_label(d->out, map->panel_labels[panel]);
    else
        att_putf(d->out, "head %" PRId64, panel + 1);
    att_put(d->out, "</text>\n");
}

static void put_panel(struct drawing *d, int64_t panel)
{
    int64_t column = panel % d->layout.panels_per_row;
    int64_t row = panel / d->layout.panels_per_row;
    int64_t x =
        ATT_SVG_MARGIN + column * (d->layout.panel_width + ATT_SVG_PANEL_GAP) + d->layout.left;
    int64_t y =
        d->layout.panels_top + row * (d->layout.panel_height + ATT_SVG_PANEL_GAP) + d->layout.top;
    att_putf(d->out, "<g transform=\"translate(%" PRId64 ",%" PRId64 ")\">\n", x, y);
    put_axes(d, panel);
    put_query_labels(d);
    put_key_labels(d);
    att_put(d->out, "<g shape-rendering=\"crispEdges\">\n");
    if (d->options->flat)
        put_cells_flat(d, panel);
    else
        put_cells(d, panel);
    att_put(d->out, "</g>\n");
    put_numbers(d, panel);
    att_put(d->out, "</g>\n");
}

static void put_definitions(struct drawing *d)
{
    const char *id = d->options->id;
    att_putf(d->out, "<defs>\n<linearGradient id=\"%s-scale\">\n", id);
    att_put_colormap_stops(d->out, d->colormap);
    att_putf(d->out,
             "</linearGradient>\n"
             "<pattern id=\"%s-masked\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
             "patternTransform=\"rotate(45)\"><rect width=\"6\" height=\"6\" fill=\"#eeeeee\"/>"
             "<rect width=\"2\" height=\"6\" fill=\"#c4c4c4\"/></pattern>\n",
             id);
    att_putf(d->out,
             "<pattern id=\"%s-nan\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\" "
             "patternTransform=\"rotate(45)\"><rect width=\"8\" height=\"8\" fill=\"#ffd9d9\"/>"
             "<path d=\"M0 0h8v2h-8zM0 0h2v8h-2z\" fill=\"#d02020\"/></pattern>\n",
             id);
    att_putf(d->out,
             "<pattern id=\"%s-infinite\" width=\"6\" height=\"6\" "
             "patternUnits=\"userSpaceOnUse\"><rect width=\"6\" height=\"6\" fill=\"#ffe9c7\"/>"
             "<rect width=\"6\" height=\"1\" fill=\"#f4c97f\"/></pattern>\n</defs>\n",
             id);
}

static void put_swatch(struct drawing *d, int64_t *x, int64_t y, const char *id, const char *word)
{
    att_putf(d->out,
             "<rect x=\"%" PRId64 "\" y=\"%" PRId64
             "\" width=\"18\" height=\"%d\" fill=\"url(#%s-%s)\"/>\n",
             *x, y, ATT_SVG_BAR_HEIGHT, d->options->id, id);
    att_putf(d->out, "<text x=\"%" PRId64 "\" y=\"%" PRId64 "\">%s</text>\n", *x + 24,
             y + ATT_SVG_BAR_HEIGHT - 1, word);
    *x += 24 + att_svg_text_length(word) + 16;
}

/* The color bar with its ends, and the legend of hatched cells. */
static void put_legend(struct drawing *d)
{
    char low[ATT_NUMBER_SIZE], high[ATT_NUMBER_SIZE];
    att_number_short(low, d->scale.low, 4);
    att_number_short(high, d->scale.high, 4);
    int64_t x = ATT_SVG_MARGIN + d->layout.left;
    int64_t y = d->layout.height - ATT_SVG_LEGEND_ROOM + 4;
    att_putf(d->out,
             "<rect x=\"%" PRId64 "\" y=\"%" PRId64
             "\" width=\"%d\" height=\"%d\" fill=\"url(#%s-scale)\" stroke=\"#999\"/>\n",
             x, y, ATT_SVG_BAR_WIDTH, ATT_SVG_BAR_HEIGHT, d->options->id);
    int64_t below = y + ATT_SVG_BAR_HEIGHT + ATT_SVG_FONT + 4;
    att_putf(d->out, "<text x=\"%" PRId64 "\" y=\"%" PRId64 "\">%s</text>\n", x, below, low);
    if (d->scale.diverging)
        att_putf(d->out,
                 "<text x=\"%" PRId64 "\" y=\"%" PRId64 "\" text-anchor=\"middle\">0</text>\n",
                 x + ATT_SVG_BAR_WIDTH / 2, below);
    att_putf(d->out, "<text x=\"%" PRId64 "\" y=\"%" PRId64 "\" text-anchor=\"end\">%s</text>\n",
             x + ATT_SVG_BAR_WIDTH, below, high);
    x += ATT_SVG_BAR_WIDTH + 24;
    if (att_map_has(d->map, ATT_MAP_CELL_MASKED))
        put_swatch(d, &x, y, "masked", "masked");
    if (att_map_has(d->map, ATT_MAP_CELL_NAN))
        put_swatch(d, &x, y, "nan", "not a number");
    if (att_map_has(d->map, ATT_MAP_CELL_INFINITE))
        put_swatch(d, &x, y, "infinite", "infinite");
}

void att_map_put_svg(att_writer *out, const att_map *map, const att_svg_options *options)
{
    struct drawing d = { out,
                         map,
                         options,
                         att_map_color_scale(map),
                         ATT_COLORMAP_PAPER,
                         att_svg_lay_out(map, options->digits) };
    if (d.scale.diverging)
        d.colormap = ATT_COLORMAP_DIVERGING;
    att_putf(out,
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%" PRId64 "\" height=\"%" PRId64
             "\" viewBox=\"0 0 %" PRId64 " %" PRId64 "\" role=\"img\" "
             "font-family=\"Noto Sans, DejaVu Sans, sans-serif\" font-size=\"%d\" "
             "fill=\"#1a1a1a\">\n<title>",
             d.layout.width, d.layout.height, d.layout.width, d.layout.height, ATT_SVG_FONT);
    att_put_xml(out, map->title ? map->title : "Attention map");
    att_put(out, "</title>\n");
    put_definitions(&d);
    att_put(out, "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n");
    if (map->title) {
        att_putf(out, "<text x=\"%d\" y=\"%d\" font-size=\"16\" font-weight=\"bold\">",
                 ATT_SVG_MARGIN, ATT_SVG_MARGIN + 16);
        att_put_xml(out, map->title);
        att_put(out, "</text>\n");
    }
    for (int64_t p = 0; p < map->panels && out->status == ATT_OK; p++)
        put_panel(&d, p);
    put_legend(&d);
    att_put(out, "</svg>\n");
}

void att_map_put_drawing(att_writer *out, const att_map *map, const att_render_options *options)
{
    if (options->arcs) {
        att_map_put_arcs(out, map);
        return;
    }
    if (map->panel_columns > 0) {
        att_map_put_grid(out, map);
        return;
    }
    att_map_put_svg(
        out, map,
        &(att_svg_options){ .id = "map", .flat = options->flat, .digits = options->digits });
}

/* The most cells on a side: a cell takes about 100 bytes, and a line of 3,000 characters would be a
 * drawing of gigabytes that nothing opens. */
static int64_t max_side(const att_map *map)
{
    enum { SIDE = 1000, CELLS = SIDE * SIDE };
    int64_t side = SIDE;
    while (side > 1 && map->panels > CELLS / (side * side))
        side /= 2;
    return side;
}

/* The title of a reduced map says so. NULL when memory is out. */
static const char *reduced_title(const att_map *map, const att_map *shown, att_arena *arena)
{
    att_string text = { 0 };
    att_writer out = att_writer_on(&text);
    att_put(&out, map->title ? map->title : "");
    att_put(&out, map->title ? ": " : "");
    att_map_put_reduction(&out, map, shown, "×");
    const char *title = att_writer_finish(&out, NULL) == ATT_OK
                            ? att_arena_strndup(arena, text.data, text.length)
                            : NULL;
    att_string_free(&text);
    return title;
}

att_status att_map_svg(att_string *text, const att_map *map, const att_render_options *options,
                       att_error *err)
{
    att_arena arena = { 0 };
    att_map shown;
    int64_t side = max_side(map);
    bool ok = att_map_shrink(&shown, map, side, side, &arena);
    if (ok && (shown.queries < map->queries || shown.keys < map->keys))
        ok = (shown.title = reduced_title(map, &shown, &arena)) != NULL;
    att_status status = ATT_OK;
    if (ok) {
        att_writer out = att_writer_on(text);
        att_put(&out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        att_map_put_drawing(&out, &shown, options);
        status = att_writer_finish(&out, err);
    }
    att_arena_free(&arena);
    return ok ? status : att_fail_memory(err);
}
