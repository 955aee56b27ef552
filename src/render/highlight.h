/* Shared by the renderings of highlighted text: the text as glyphs, each with the token whose value
 * it shows, broken into lines; and the color scale. */
#ifndef ATT_RENDER_HIGHLIGHT_H
#define ATT_RENDER_HIGHLIGHT_H

#include "base/arena.h"
#include "render/color.h"
#include "render/writer.h"

enum { ATT_HIGHLIGHT_COLUMNS = 100, ATT_TAB_COLUMNS = 8 };

typedef enum att_glyph_kind {
    ATT_GLYPH_PLAIN,
    ATT_GLYPH_SPACE,
    ATT_GLYPH_TAB,     /* reaches to the next multiple of ATT_TAB_COLUMNS */
    ATT_GLYPH_NEWLINE, /* ends its line, and may stand beyond the last column */
} att_glyph_kind;

/* One grapheme cluster. */
typedef struct att_glyph {
    const char *text;
    int64_t token;
    int column; /* first column */
    int columns;
    uint16_t bytes;
    uint8_t kind;
} att_glyph;

/* Glyphs first … end-1. */
typedef struct att_glyph_line {
    int64_t first, end;
} att_glyph_line;

typedef struct att_glyphs {
    att_glyph *all;
    int64_t count;
    att_glyph_line *lines;
    int64_t line_count;
} att_glyphs;

/* Lays the text out in lines of `columns`, broken behind a blank if one is near the end. Allocates
 * in the arena; false when memory is out. */
bool att_glyphs_lay_out(att_glyphs *out, const att_highlight *highlight, int columns,
                        att_arena *arena);

/* The cluster as text; empty for newlines and tabs. */
void att_glyph_put(att_writer *out, const att_glyph *glyph);
void att_glyph_put_xml(att_writer *out, const att_glyph *glyph);

/* The range that the colors cover. */
att_color_scale att_highlight_scale(const att_highlight *highlight);

/* The color level of a glyph; below 0: no color. */
int att_glyph_level(const att_highlight *highlight, const att_color_scale *scale,
                    const att_glyph *glyph);

/* Whether a glyph is underlined. */
static inline bool att_glyph_marked(const att_highlight *highlight, const att_glyph *glyph)
{
    return highlight->underlined && highlight->underlined[glyph->token];
}

/* Highlighted text as a whole document; `options` is resolved (view.h). */
att_status att_highlight_text(att_string *out, const att_highlight *highlight,
                              const att_render_options *options, att_error *err);
att_status att_highlight_svg(att_string *out, const att_highlight *highlight,
                             const att_render_options *options, att_error *err);
att_status att_highlight_html(att_string *out, const att_highlight *highlight,
                              const att_render_options *options, att_error *err);

/* Highlighted text inside a page: its style rules, needed once, and the text. */
extern const char att_highlight_style[];
void att_put_highlight_rules(att_writer *out); /* one rule for each color */
void att_put_highlight_html(att_writer *out, const att_highlight *highlight);

#endif
