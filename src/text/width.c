/* Display widths; see width.h. Unicode's properties come from utf8proc; a build without it knows
 * the common wide and combining ranges only. */
#include "text/width.h"

#include "text/utf8.h"

#include <string.h>

#ifdef ATT_HAVE_UTF8PROC
#include <utf8proc.h>
#endif

uint32_t att_utf8_next(const char **cursor)
{
    uint32_t code = 0;
    if (**cursor)
        *cursor += att_utf8_take(*cursor, strnlen(*cursor, 4), &code);
    return code;
}

#ifdef ATT_HAVE_UTF8PROC

static int char_width(uint32_t c)
{
    return utf8proc_charwidth((utf8proc_int32_t)c);
}

static bool breaks_between(uint32_t before, uint32_t after, int32_t *state)
{
    return utf8proc_grapheme_break_stateful((utf8proc_int32_t)before, (utf8proc_int32_t)after,
                                            state);
}

/* utf8proc follows the base rules of grapheme clusters, which break after a virama; a conjunct is
 * one shape to the reader and the terminal alike, so a consonant joined by one stays attached. */
static bool is_virama(uint32_t c)
{
    return utf8proc_get_property((utf8proc_int32_t)c)->combining_class == 9;
}

#else

struct range {
    uint32_t first, last;
};

static bool within(const struct range *ranges, size_t count, uint32_t c)
{
    for (size_t i = 0; i < count; i++)
        if (c >= ranges[i].first && c <= ranges[i].last)
            return true;
    return false;
}

static int char_width(uint32_t c)
{
    static const struct range marks[] = {
        { 0x300, 0x36F },   { 0x591, 0x5BD },     { 0x64B, 0x65F },   { 0x900, 0x903 },
        { 0x93A, 0x93C },   { 0x93E, 0x94F },     { 0x981, 0x983 },   { 0x9BC, 0x9BC },
        { 0x9BE, 0x9CD },   { 0x9D7, 0x9D7 },     { 0x200B, 0x200F }, { 0x20D0, 0x20FF },
        { 0xFE00, 0xFE0F }, { 0x1F3FB, 0x1F3FF },
    };
    static const struct range wide[] = {
        { 0x1100, 0x115F }, { 0x2E80, 0xA4CF }, { 0xAC00, 0xD7A3 },   { 0xF900, 0xFAFF },
        { 0xFE30, 0xFE6F }, { 0xFF00, 0xFF60 }, { 0x1F300, 0x1FAFF }, { 0x20000, 0x3FFFD },
    };
    if (c < 0x20 || within(marks, sizeof marks / sizeof *marks, c))
        return 0;
    return within(wide, sizeof wide / sizeof *wide, c) ? 2 : 1;
}

static bool breaks_between(uint32_t before, uint32_t after, int32_t *state)
{
    (void)state;
    return before != 0x200D && char_width(after) != 0;
}

static bool is_virama(uint32_t c)
{
    return c == 0x94D || c == 0x9CD;
}

#endif

int att_width_next(const char **cursor)
{
    uint32_t before = att_utf8_next(cursor);
    if (before == 0)
        return 0;
    int width = char_width(before);
    int32_t state = 0;
    for (;;) {
        const char *ahead = *cursor;
        uint32_t after = att_utf8_next(&ahead);
        if (after == 0)
            break;
        bool joined = is_virama(before) && after > 0x900 && char_width(after) == 1;
        if (breaks_between(before, after, &state) && !joined)
            break;
        int own = char_width(after);
        if (joined)
            width += own; /* terminals give each letter of a conjunct its own column */
        else if (after == 0xFE0F || own > width)
            width = after == 0xFE0F ? 2 : own; /* the emoji form of a text symbol is wide */
        before = after;
        *cursor = ahead;
    }
    return width;
}

int att_width(const char *text)
{
    int width = 0;
    while (*text)
        width += att_width_next(&text);
    return width;
}

size_t att_width_fit(const char *text, int columns)
{
    const char *end = text;
    const char *at = text;
    int width = 0;
    while (*at) {
        width += att_width_next(&at);
        if (width > columns)
            break;
        end = at;
    }
    return (size_t)(end - text);
}
