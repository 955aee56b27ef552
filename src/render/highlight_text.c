/* Highlighted text for a terminal: glyphs on colored backgrounds, or without colors a second line
 * below each line of text that shows the values as blocks of different height. */
#include "render/highlight.h"

#include "base/minmax.h"
#include "render/number.h"
#include "render/terminal.h"

typedef struct drawing {
    const att_terminal *terminal;
    const att_highlight *highlight;
    const att_glyphs *glyphs;
    att_color_scale scale;
} drawing;

/* A glyph in its columns. Invisible characters get a mark, except in ASCII mode. */
static void put_glyph(const drawing *d, const att_glyph *glyph)
{
    att_writer *out = d->terminal->out;
    bool ascii = d->terminal->ascii;
    switch ((att_glyph_kind)glyph->kind) {
    case ATT_GLYPH_TAB:
        att_put(out, ascii ? ">" : "→");
        att_put_repeat(out, " ", glyph->columns - 1);
        break;
    case ATT_GLYPH_NEWLINE:
        att_put(out, ascii ? "$" : "↵");
        break;
    default:
        att_glyph_put(out, glyph);
    }
}

/* One line with its backgrounds; escape sequences are written only where the color changes. */
static void put_colored(const drawing *d, const att_glyph_line *line)
{
    const att_terminal *terminal = d->terminal;
    att_colormap colormap =
        d->scale.diverging ? ATT_COLORMAP_SCREEN_DIVERGING : ATT_COLORMAP_SCREEN;
    enum { NONE = -2 };
    int painted = NONE;
    bool underlined = false;
    for (int64_t i = line->first; i < line->end; i++) {
        const att_glyph *glyph = &d->glyphs->all[i];
        int level = att_glyph_level(d->highlight, &d->scale, glyph);
        bool marked = att_glyph_marked(d->highlight, glyph);
        if (level != painted || marked != underlined) {
            if (painted != NONE)
                att_terminal_style(terminal, ATT_STYLE_NONE);
            if (level >= 0)
                att_terminal_level(terminal, colormap, level);
            if (marked)
                att_put(terminal->out, "\033[4m");
            painted = level;
            underlined = marked;
        }
        put_glyph(d, glyph);
    }
    att_terminal_style(terminal, ATT_STYLE_NONE);
    att_put(terminal->out, "\n");
}

/* A block as high as the level, or in ASCII a character as dark as the level. */
static const char *height(const drawing *d, int level)
{
    static const char *const blocks[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
    enum { HEIGHTS = ATT_COUNT(blocks) };
    if (level < 0)
        return " ";
    if (d->terminal->ascii)
        return att_terminal_shade(d->terminal, level);
    return blocks[level * HEIGHTS / ATT_COLOR_LEVELS];
}

static void put_plain(const drawing *d, const att_glyph_line *line)
{
    const att_terminal *terminal = d->terminal;
    for (int64_t i = line->first; i < line->end; i++)
        put_glyph(d, &d->glyphs->all[i]);
    att_terminal_end_line(terminal);
    for (int64_t i = line->first; i < line->end; i++) {
        const att_glyph *glyph = &d->glyphs->all[i];
        att_put_repeat(terminal->out, height(d, att_glyph_level(d->highlight, &d->scale, glyph)),
                       glyph->columns);
    }
    att_terminal_end_line(terminal);
}

static void put_bound(const drawing *d, double value)
{
    char text[ATT_NUMBER_SIZE];
    att_number_short(text, value, 4);
    att_put(d->terminal->out, text);
}

/* The legend of the colors, from the lowest to the highest value. */
static void put_legend(const drawing *d)
{
    enum { STEPS = 16 };
    const att_terminal *terminal = d->terminal;
    att_colormap colormap =
        d->scale.diverging ? ATT_COLORMAP_SCREEN_DIVERGING : ATT_COLORMAP_SCREEN;
    put_bound(d, d->scale.low);
    att_put(terminal->out, " ");
    for (int i = 0; i < STEPS; i++) {
        int level = i * (ATT_COLOR_LEVELS - 1) / (STEPS - 1);
        if (terminal->color == ATT_COLOR_NONE) {
            att_put(terminal->out, height(d, level));
        } else {
            att_terminal_level(terminal, colormap, level);
            att_put(terminal->out, " ");
        }
    }
    att_terminal_style(terminal, ATT_STYLE_NONE);
    att_put(terminal->out, " ");
    put_bound(d, d->scale.high);
    att_put(terminal->out, "\n");
}

static void put_all(const drawing *d)
{
    const att_terminal *terminal = d->terminal;
    if (d->highlight->title) {
        att_terminal_style(terminal, ATT_STYLE_BOLD);
        att_put_plain(terminal->out, d->highlight->title);
        att_terminal_style(terminal, ATT_STYLE_NONE);
        att_put(terminal->out, "\n");
    }
    for (int64_t i = 0; i < d->glyphs->line_count && terminal->out->status == ATT_OK; i++) {
        if (terminal->color == ATT_COLOR_NONE)
            put_plain(d, &d->glyphs->lines[i]);
        else
            put_colored(d, &d->glyphs->lines[i]);
    }
    put_legend(d);
}

att_status att_highlight_text(att_string *text, const att_highlight *highlight,
                              const att_render_options *options, att_error *err)
{
    att_arena arena = { 0 };
    att_glyphs glyphs;
    att_writer out = att_writer_on(text);
    const att_terminal terminal = att_terminal_for(&out, options);
    if (att_glyphs_lay_out(&glyphs, highlight, terminal.width, &arena))
        put_all(&(drawing){ &terminal, highlight, &glyphs, att_highlight_scale(highlight) });
    else
        out.status = ATT_NO_MEMORY;
    att_arena_free(&arena);
    return att_writer_finish(&out, err);
}
