/* Highlighted text as grapheme clusters and lines, for the text, SVG and HTML renderings. */
#include "render/highlight.h"

#include "base/error.h"
#include "render/view.h"
#include "text/display_width.h"

#include <math.h>
#include <string.h>

static att_glyph_kind kind_of(char first)
{
    switch (first) {
    case ' ':
        return ATT_GLYPH_SPACE;
    case '\t':
        return ATT_GLYPH_TAB;
    case '\n':
        return ATT_GLYPH_NEWLINE;
    default:
        return ATT_GLYPH_PLAIN;
    }
}

/* The grapheme cluster at *cursor, which moves past it; "\r\n" is one cluster. */
static att_glyph take_glyph(const char **cursor, int64_t token)
{
    const char *start = *cursor;
    bool dos = start[0] == '\r' && start[1] == '\n';
    int columns = dos ? 1 : att_display_width_next(cursor);
    if (dos)
        *cursor += 2;
    size_t bytes = (size_t)(*cursor - start);
    return (att_glyph){ .text = start,
                        .token = token,
                        .columns = columns,
                        .bytes = bytes < UINT16_MAX ? (uint16_t)bytes : UINT16_MAX,
                        .kind = (uint8_t)(dos ? ATT_GLYPH_NEWLINE : kind_of(*start)) };
}

static bool split(att_glyphs *out, const att_highlight *highlight, att_arena *arena)
{
    size_t room = 1;
    for (int64_t i = 0; i < highlight->count; i++)
        room += strlen(highlight->tokens[i]);
    out->all = att_arena_alloc(arena, room, sizeof *out->all);
    out->lines = att_arena_alloc(arena, room, sizeof *out->lines); /* every token has a glyph */
    if (!out->all || !out->lines)
        return false;
    for (int64_t i = 0; i < highlight->count; i++)
        for (const char *at = highlight->tokens[i]; *at;)
            out->all[out->count++] = take_glyph(&at, i);
    return true;
}

/* Where a line that is full before glyph `at` ends: behind its last blank, or here if the rest
 * would be more than a third of the line. */
static int64_t break_before(const att_glyphs *glyphs, int64_t first, int64_t at, int columns)
{
    for (int64_t i = at; i > first; i--) {
        const att_glyph *before = &glyphs->all[i - 1];
        if (glyphs->all[at - 1].column - before->column > columns / 3)
            break;
        if (before->kind == ATT_GLYPH_SPACE || before->kind == ATT_GLYPH_TAB)
            return i;
    }
    return at;
}

static void end_line(att_glyphs *out, int64_t first, int64_t end)
{
    out->lines[out->line_count++] = (att_glyph_line){ first, end };
}

static void break_lines(att_glyphs *out, int columns)
{
    int64_t first = 0;
    int column = 0;
    for (int64_t i = 0; i < out->count; i++) {
        att_glyph *glyph = &out->all[i];
        if (glyph->kind == ATT_GLYPH_TAB)
            glyph->columns = ATT_TAB_COLUMNS - column % ATT_TAB_COLUMNS;
        if (i > first && glyph->kind != ATT_GLYPH_NEWLINE && column + glyph->columns > columns) {
            int64_t end = break_before(out, first, i, columns);
            end_line(out, first, end);
            i = end - 1; /* the glyphs behind the break are laid out again on the next line */
            first = end;
            column = 0;
            continue;
        }
        glyph->column = column;
        column += glyph->columns;
        if (glyph->kind != ATT_GLYPH_NEWLINE)
            continue;
        end_line(out, first, i + 1);
        first = i + 1;
        column = 0;
    }
    if (first < out->count)
        end_line(out, first, out->count);
}

bool att_glyphs_lay_out(att_glyphs *out, const att_highlight *highlight, int columns,
                        att_arena *arena)
{
    *out = (att_glyphs){ 0 };
    if (!split(out, highlight, arena))
        return false;
    break_lines(out, columns);
    return true;
}

void att_glyph_put(att_writer *out, const att_glyph *glyph)
{
    for (const char *at = glyph->text, *end = at + glyph->bytes; at < end;)
        att_put_char(out, att_next_in_line(&at));
}

void att_glyph_put_xml(att_writer *out, const att_glyph *glyph)
{
    char cluster[64];
    if (glyph->bytes >= sizeof cluster) {
        att_put(out, "\xEF\xBF\xBD"); /* too many combining marks for one character of any script */
        return;
    }
    memcpy(cluster, glyph->text, glyph->bytes);
    cluster[glyph->bytes] = '\0';
    att_put_xml(out, cluster);
}

att_color_scale att_highlight_scale(const att_highlight *highlight)
{
    double max = 0;
    bool negative = false;
    for (int64_t i = 0; i < highlight->count; i++) {
        double value = highlight->values[i];
        if (!isfinite(value))
            continue;
        negative = negative || value < 0;
        max = fmax(max, fabs(value));
    }
    if (highlight->max_value > 0)
        max = highlight->max_value;
    if (max == 0)
        max = 1;
    return (att_color_scale){ .low = negative ? -max : 0, .high = max, .diverging = negative };
}

int att_glyph_level(const att_highlight *highlight, const att_color_scale *scale,
                    const att_glyph *glyph)
{
    double value = highlight->values[glyph->token];
    return isnan(value) ? -1 : att_color_scale_level(scale, value);
}

att_status att_highlight_render(att_string *out, const att_highlight *highlight,
                                const att_render_options *options, att_error *err)
{
    enum { FORMATS = 1 << ATT_FORMAT_TEXT | 1 << ATT_FORMAT_SVG | 1 << ATT_FORMAT_HTML };
    att_render_options resolved;
    ATT_TRY(att_render_options_resolve(&resolved, options, FORMATS, "highlighted text", err));
    switch (resolved.format) {
    case ATT_FORMAT_SVG:
        return att_highlight_svg(out, highlight, &resolved, err);
    case ATT_FORMAT_HTML:
        return att_highlight_html(out, highlight, &resolved, err);
    default:
        return att_highlight_text(out, highlight, &resolved, err);
    }
}
