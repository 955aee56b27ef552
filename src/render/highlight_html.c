/* Highlighted text as HTML. A glyph is an element with one of STEPS classes per kind of scale, so
 * that the page is small and follows the light or dark mode of the reader. The title of an element
 * is its value, which browsers show under the pointer. */
#include "render/highlight.h"

#include "base/minmax.h"
#include "render/html_page.h"
#include "render/number.h"
#include "render/svg.h"

enum { STEPS = 32, NO_WRAP = 1 << 20, VALUE_DIGITS = 3 };

const char att_highlight_style[] =
    ".highlight{font:.86rem/1.55 \"DejaVu Sans Mono\",\"Noto Sans Mono\",ui-monospace,monospace;"
    "white-space:pre-wrap;overflow-wrap:anywhere;tab-size:8;padding:.8rem 1rem;"
    "border:1px solid var(--line);border-radius:6px}\n"
    ".highlight i{font-style:normal;padding:.14rem 0}\n"
    ".highlight .end::after{content:\"↵\";opacity:.35}\n"
    ".highlight u{text-decoration:underline 2px;text-underline-offset:.1rem}\n"
    ".bar{display:flex;align-items:center;gap:.5rem;margin:.5rem "
    "0;color:var(--soft);font-size:.88rem}\n"
    ".bar span{display:flex}\n"
    ".bar i{width:.35rem;height:.8rem}\n";

/* The two kinds of scale: the first character of their classes, and their colormaps in light and
 * dark mode. */
static const struct scale_class {
    char class_letter;
    att_colormap light, dark;
} scale_classes[] = { { 's', ATT_COLORMAP_PAPER, ATT_COLORMAP_SCREEN },
                      { 'd', ATT_COLORMAP_DIVERGING, ATT_COLORMAP_SCREEN_DIVERGING } };

static void put_rules(att_writer *out, char letter, att_colormap colormap)
{
    for (int i = 0; i <= STEPS; i++) {
        att_rgb color = att_colormap_color(colormap, i * (ATT_COLOR_LEVELS - 1) / STEPS);
        att_putf(out, ".%c%d{background:", letter, i);
        att_put_color(out, color);
        att_put(out, att_rgb_is_dark(color) ? ";color:#fff}\n" : ";color:#111}\n");
    }
}

void att_put_highlight_rules(att_writer *out)
{
    for (size_t i = 0; i < ATT_COUNT(scale_classes); i++)
        put_rules(out, scale_classes[i].class_letter, scale_classes[i].light);
    att_put(out, "@media (prefers-color-scheme:dark){\n");
    for (size_t i = 0; i < ATT_COUNT(scale_classes); i++)
        put_rules(out, scale_classes[i].class_letter, scale_classes[i].dark);
    att_put(out, "}\n");
}

static int step_of(int level)
{
    return (level * STEPS + (ATT_COLOR_LEVELS - 1) / 2) / (ATT_COLOR_LEVELS - 1);
}

static void put_number(att_writer *out, double value)
{
    char text[ATT_NUMBER_SIZE];
    att_number_short(text, value, VALUE_DIGITS);
    att_put(out, text);
}

static void put_content(att_writer *out, const att_glyph *glyph, bool marked)
{
    att_put(out, marked ? "<u>" : "");
    if (glyph->kind == ATT_GLYPH_TAB)
        att_put(out, "\t");
    else if (glyph->kind != ATT_GLYPH_NEWLINE)
        att_glyph_put_xml(out, glyph);
    att_put(out, marked ? "</u>" : "");
}

/* Glyphs of one token share one element. */
static void put_glyph(att_writer *out, const att_highlight *highlight, const att_color_scale *scale,
                      const att_glyphs *glyphs, int64_t index)
{
    const att_glyph *glyph = &glyphs->all[index];
    int level = att_glyph_level(highlight, scale, glyph);
    bool ends = glyph->kind == ATT_GLYPH_NEWLINE;
    bool first = index == 0 || glyph[-1].token != glyph->token;
    bool last = index + 1 == glyphs->count || glyph[1].token != glyph->token;
    if (level >= 0 && first) {
        att_putf(out, "<i class=\"%c%d%s\" title=\"", scale_classes[scale->diverging].class_letter,
                 step_of(level), ends ? " end" : "");
        put_number(out, highlight->values[glyph->token]);
        att_put(out, "\">");
    }
    put_content(out, glyph, att_glyph_marked(highlight, glyph));
    att_put(out, level >= 0 && last ? "</i>" : "");
    att_put(out, ends ? "\n" : "");
}

static void put_bar(att_writer *out, const att_color_scale *scale)
{
    att_put(out, "<div class=\"bar\">");
    put_number(out, scale->low);
    att_put(out, "<span>");
    for (int i = 0; i <= STEPS; i++)
        att_putf(out, "<i class=\"%c%d\"></i>", scale_classes[scale->diverging].class_letter, i);
    att_put(out, "</span>");
    put_number(out, scale->high);
    att_put(out, "</div>\n");
}

void att_put_highlight_html(att_writer *out, const att_highlight *highlight)
{
    att_arena arena = { 0 };
    att_glyphs glyphs;
    const att_color_scale scale = att_highlight_scale(highlight);
    if (!att_glyphs_lay_out(&glyphs, highlight, NO_WRAP, &arena)) {
        out->status = ATT_NO_MEMORY;
    } else {
        att_put(out, "<div class=\"highlight\">");
        for (int64_t i = 0; i < glyphs.count && out->status == ATT_OK; i++)
            put_glyph(out, highlight, &scale, &glyphs, i);
        att_put(out, "</div>\n");
        put_bar(out, &scale);
    }
    att_arena_free(&arena);
}

att_status att_highlight_html(att_string *text, const att_highlight *highlight,
                              const att_render_options *options, att_error *err)
{
    (void)options; /* a browser wraps the text itself */
    const char *title = highlight->title ? highlight->title : "Highlighted text";
    att_writer out = att_writer_on(text);
    att_put_html_head(&out, title, att_highlight_style);
    att_put_highlight_rules(&out);
    att_put_html_body(&out);
    att_put(&out, "<h1>");
    att_put_xml(&out, title);
    att_put(&out, "</h1>\n<p>Point at a character or a word to see its value.</p>\n");
    att_put_highlight_html(&out, highlight);
    att_put_html_end(&out);
    return att_writer_finish(&out, err);
}
