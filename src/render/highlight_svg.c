/* Highlighted text as SVG. Glyphs are in a grid of whole pixels: backgrounds are rects, one for a
 * run of one color, with the characters above them. Characters are placed word by word, so that a
 * font that is slightly wider or narrower than a column is misplaced only within a word. */
#include "render/highlight.h"

#include "render/number.h"
#include "render/svg.h"

#include <inttypes.h>

enum {
    MARGIN = 16,
    TITLE_ROOM = 30,
    LEGEND_ROOM = 44,
    COLUMN = 9, /* width of a character of FONT pixels in common monospace fonts */
    LINE = 20,
    BASELINE = 15, /* from the top of a line to its baseline */
    FONT = 15,
    BAR_WIDTH = 160,
    BAR_HEIGHT = 12,
};

typedef struct drawing {
    att_writer *out;
    const att_highlight *highlight;
    const att_glyphs *glyphs;
    att_color_scale scale;
    att_colormap colormap;
} drawing;

/* The end of the run of glyphs from `first` on that are `like` the first. */
typedef bool alike(const drawing *d, const att_glyph *a, const att_glyph *b);

static int64_t run_end(const drawing *d, int64_t first, int64_t end, alike *like)
{
    int64_t at = first + 1;
    while (at < end && like(d, &d->glyphs->all[first], &d->glyphs->all[at]))
        at++;
    return at;
}

static int level_of(const drawing *d, const att_glyph *glyph)
{
    return att_glyph_level(d->highlight, &d->scale, glyph);
}

static bool same_level(const drawing *d, const att_glyph *a, const att_glyph *b)
{
    return level_of(d, a) == level_of(d, b);
}

static bool on_dark(const drawing *d, const att_glyph *glyph)
{
    int level = level_of(d, glyph);
    return level >= 0 && att_rgb_is_dark(att_colormap_color(d->colormap, level));
}

/* An underline has the color of the characters above it. */
static bool same_mark(const drawing *d, const att_glyph *a, const att_glyph *b)
{
    return att_glyph_marked(d->highlight, a) == att_glyph_marked(d->highlight, b) &&
           on_dark(d, a) == on_dark(d, b);
}

/* ASCII characters of one color are one text element; other characters get one each, because their
 * width depends on the font. */
static bool same_word(const drawing *d, const att_glyph *a, const att_glyph *b)
{
    return a->kind == ATT_GLYPH_PLAIN && b->kind == ATT_GLYPH_PLAIN && a->bytes == 1 &&
           b->bytes == 1 && on_dark(d, a) == on_dark(d, b);
}

/* Width of a run of glyphs in pixels. */
static int run_width(const drawing *d, int64_t first, int64_t end)
{
    const att_glyph *last = &d->glyphs->all[end - 1];
    return (last->column + last->columns - d->glyphs->all[first].column) * COLUMN;
}

static void put_backgrounds(const drawing *d, const att_glyph_line *line, int64_t y)
{
    for (int64_t i = line->first, end; i < line->end; i = end) {
        end = run_end(d, i, line->end, same_level);
        int level = level_of(d, &d->glyphs->all[i]);
        if (level < 0)
            continue;
        att_putf(d->out, "<rect x=\"%d\" y=\"%" PRId64 "\" width=\"%d\" height=\"%d\" fill=\"",
                 MARGIN + d->glyphs->all[i].column * COLUMN, y, run_width(d, i, end), LINE);
        att_put_color(d->out, att_colormap_color(d->colormap, level));
        att_put(d->out, "\"/>\n");
    }
}

static void put_marks(const drawing *d, const att_glyph_line *line, int64_t y)
{
    for (int64_t i = line->first, end; i < line->end; i = end) {
        const att_glyph *first = &d->glyphs->all[i];
        end = run_end(d, i, line->end, same_mark);
        if (att_glyph_marked(d->highlight, first))
            att_putf(d->out, "<rect x=\"%d\" y=\"%" PRId64 "\" width=\"%d\" height=\"2\"%s/>\n",
                     MARGIN + first->column * COLUMN, y + LINE - 2, run_width(d, i, end),
                     on_dark(d, first) ? " fill=\"#fff\"" : "");
    }
}

static void put_characters(const drawing *d, const att_glyph_line *line, int64_t y)
{
    for (int64_t i = line->first, end; i < line->end; i = end) {
        const att_glyph *first = &d->glyphs->all[i];
        end = run_end(d, i, line->end, same_word);
        if (first->kind == ATT_GLYPH_SPACE)
            continue;
        att_putf(d->out, "<text x=\"%d\" y=\"%" PRId64 "\"", MARGIN + first->column * COLUMN,
                 y + BASELINE);
        if (first->kind != ATT_GLYPH_PLAIN)
            att_put(d->out, " fill-opacity=\"0.35\"");
        att_put(d->out, on_dark(d, first) ? " fill=\"#fff\">" : ">");
        if (first->kind == ATT_GLYPH_PLAIN)
            for (int64_t k = i; k < end; k++)
                att_glyph_put_xml(d->out, &d->glyphs->all[k]);
        else
            att_put(d->out, first->kind == ATT_GLYPH_TAB ? "→" : "↵");
        att_put(d->out, "</text>\n");
    }
}

static void put_bound(const drawing *d, int x, int64_t y, const char *anchor, double value)
{
    char number[ATT_NUMBER_SIZE];
    att_number_short(number, value, 4);
    att_putf(d->out, "<text x=\"%d\" y=\"%" PRId64 "\" text-anchor=\"%s\">%s</text>\n", x, y,
             anchor, number);
}

static void put_legend(const drawing *d, int64_t y)
{
    int64_t below = y + BAR_HEIGHT + 15;
    att_put(d->out, "<defs><linearGradient id=\"scale\">\n");
    att_put_colormap_stops(d->out, d->colormap);
    att_put(d->out, "</linearGradient></defs>\n<g font-size=\"13\">\n");
    att_putf(d->out,
             "<rect x=\"%d\" y=\"%" PRId64
             "\" width=\"%d\" height=\"%d\" fill=\"url(#scale)\" stroke=\"#999\"/>\n",
             MARGIN, y, BAR_WIDTH, BAR_HEIGHT);
    put_bound(d, MARGIN, below, "start", d->scale.low);
    if (d->scale.diverging)
        put_bound(d, MARGIN + BAR_WIDTH / 2, below, "middle", 0);
    put_bound(d, MARGIN + BAR_WIDTH, below, "end", d->scale.high);
    att_put(d->out, "</g>\n");
}

static int widest(const att_glyphs *glyphs)
{
    int max = 2 * BAR_WIDTH / COLUMN;
    for (int64_t i = 0; i < glyphs->count; i++) {
        int end = glyphs->all[i].column + glyphs->all[i].columns;
        max = end > max ? end : max;
    }
    return max;
}

static void put_document(const drawing *d)
{
    const char *title = d->highlight->title;
    int64_t top = MARGIN + (title ? TITLE_ROOM : 0);
    int64_t foot = top + d->glyphs->line_count * LINE;
    int width = 2 * MARGIN + widest(d->glyphs) * COLUMN;
    att_put(d->out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    att_put_svg_begin(d->out, width, foot + LEGEND_ROOM + MARGIN,
                      title ? title : "Highlighted text");
    if (title) {
        att_putf(d->out, "<text x=\"%d\" y=\"%d\" font-size=\"16\" font-weight=\"bold\">", MARGIN,
                 MARGIN + 16);
        att_put_xml(d->out, title);
        att_put(d->out, "</text>\n");
    }
    att_putf(d->out,
             "<g font-family=\"DejaVu Sans Mono, Noto Sans Mono, monospace\" font-size=\"%d\" "
             "shape-rendering=\"crispEdges\">\n",
             FONT);
    for (int64_t i = 0; i < d->glyphs->line_count && d->out->status == ATT_OK; i++) {
        put_backgrounds(d, &d->glyphs->lines[i], top + i * LINE);
        put_marks(d, &d->glyphs->lines[i], top + i * LINE);
        put_characters(d, &d->glyphs->lines[i], top + i * LINE);
    }
    att_put(d->out, "</g>\n");
    put_legend(d, foot + 14);
    att_put(d->out, "</svg>\n");
}

att_status att_highlight_svg(att_string *text, const att_highlight *highlight,
                             const att_render_options *options, att_error *err)
{
    int columns = options->width > 0 ? options->width : ATT_HIGHLIGHT_COLUMNS;
    att_arena arena = { 0 };
    att_glyphs glyphs;
    att_writer out = att_writer_on(text);
    if (att_glyphs_lay_out(&glyphs, highlight, columns, &arena)) {
        att_color_scale scale = att_highlight_scale(highlight);
        put_document(&(drawing){ &out, highlight, &glyphs, scale,
                                 scale.diverging ? ATT_COLORMAP_DIVERGING : ATT_COLORMAP_PAPER });
    } else {
        out.status = ATT_NO_MEMORY;
    }
    att_arena_free(&arena);
    return att_writer_finish(&out, err);
}
