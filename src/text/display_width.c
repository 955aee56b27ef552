/* Display widths; see width.h. Unicode's properties come from utf8proc; a build without it knows
 * the common wide and combining ranges only. */
#include "text/display_width.h"

#include "text/utf8.h"

#include <string.h>

#ifdef ATT_HAVE_UTF8PROC
#include <utf8proc.h>
#endif

uint32_t att_utf8_decode_next(const char **cursor)
{
    uint32_t code = 0;
    if (**cursor)
        *cursor += att_utf8_decode_lossy(*cursor, strnlen(*cursor, 4), &code);
    return code;
}

struct range {
    uint32_t first, last;
};

static bool in_ranges(const struct range *ranges, size_t count, uint32_t c)
{
    for (size_t i = 0; i < count; i++)
        if (c >= ranges[i].first && c <= ranges[i].last)
            return true;
    return false;
}

#define IN_RANGES(ranges, c) in_ranges(ranges, sizeof(ranges) / sizeof *(ranges), c)

/* Control characters are never sent; a replacement or a space is, one column wide. */
static bool is_control(uint32_t c)
{
    return c < 0x20 || (c >= 0x7F && c < 0xA0);
}

#ifdef ATT_HAVE_UTF8PROC

/* Terminals give a spacing mark, such as a vowel sign beside its consonant, a column of its own,
 * and the vowels and finals of a Hangul syllable none; utf8proc has it the other way round. */
static int char_width(uint32_t c)
{
    if (is_control(c))
        return 1;
    static const struct range inner_jamo[] = { { 0x1160, 0x11FF }, { 0xD7B0, 0xD7FF } };
    if (utf8proc_category((utf8proc_int32_t)c) == UTF8PROC_CATEGORY_MC)
        return 1;
    return IN_RANGES(inner_jamo, c) ? 0 : utf8proc_charwidth((utf8proc_int32_t)c);
}

static bool breaks_between(uint32_t before, uint32_t after, int32_t *state)
{
    return utf8proc_grapheme_break_stateful((utf8proc_int32_t)before, (utf8proc_int32_t)after,
                                            state);
}

static bool is_virama(uint32_t c)
{
    return utf8proc_get_property((utf8proc_int32_t)c)->combining_class == 9;
}

#else

static int char_width(uint32_t c)
{
    static const struct range marks[] = {
        { 0x300, 0x36F },   { 0x591, 0x5BD },   { 0x64B, 0x65F },   { 0x900, 0x902 },
        { 0x93C, 0x93C },   { 0x941, 0x948 },   { 0x94D, 0x94D },   { 0x981, 0x981 },
        { 0x9BC, 0x9BC },   { 0x9C1, 0x9C4 },   { 0x9CD, 0x9CD },   { 0x1160, 0x11FF },
        { 0x200B, 0x200F }, { 0x20D0, 0x20FF }, { 0xFE00, 0xFE0F },
    };
    static const struct range wide[] = {
        { 0x1100, 0x115F }, { 0x2E80, 0xA4CF }, { 0xAC00, 0xD7A3 },   { 0xF900, 0xFAFF },
        { 0xFE30, 0xFE6F }, { 0xFF00, 0xFF60 }, { 0x1F300, 0x1FAFF }, { 0x20000, 0x3FFFD },
    };
    if (WITHIN(marks, c))
        return 0;
    return WITHIN(wide, c) ? 2 : 1;
}

static bool is_virama(uint32_t c)
{
    return c == 0x94D || c == 0x9CD;
}

/* Marks without a width join, and the spacing marks of the Indic scripts. */
static bool breaks_between(uint32_t before, uint32_t after, int32_t *state)
{
    static const struct range spacing[] = {
        { 0x903, 0x903 }, { 0x93E, 0x940 }, { 0x949, 0x94C }, { 0x982, 0x983 },
        { 0x9BE, 0x9C0 }, { 0x9C7, 0x9CC }, { 0x9D7, 0x9D7 }, { 0x1F3FB, 0x1F3FF },
    };
    (void)state;
    if (is_control(before) || is_control(after))
        return true;
    return before != 0x200D && char_width(after) != 0 && !WITHIN(spacing, after);
}

#endif

/* The columns that `after` adds to its cluster: emoji joined to one before, and skin tones, are
 * drawn into the same two columns. */
static int added_width(uint32_t before, uint32_t after)
{
    bool drawn_together = before == 0x200D || (after >= 0x1F3FB && after <= 0x1F3FF);
    return drawn_together ? 0 : char_width(after);
}

int att_display_width_next(const char **cursor)
{
    uint32_t before = att_utf8_decode_next(cursor);
    if (before == 0)
        return 0;
    int width = char_width(before);
    int32_t state = 0;
    for (;;) {
        const char *ahead = *cursor;
        uint32_t after = att_utf8_decode_next(&ahead);
        if (after == 0)
            return width;
        /* Grapheme clusters break behind a virama; a conjunct is one shape to the reader. */
        bool conjunct = is_virama(before) && after > 0x900 && char_width(after) == 1;
        if (breaks_between(before, after, &state) && !conjunct)
            return width;
        width += added_width(before, after);
        if (after == 0xFE0F && width == 1)
            width = 2; /* the emoji form of a text symbol */
        before = after;
        *cursor = ahead;
    }
}

int att_display_width(const char *text)
{
    int width = 0;
    while (*text)
        width += att_display_width_next(&text);
    return width;
}

size_t att_display_width_fit(const char *text, int columns)
{
    const char *end = text;
    const char *at = text;
    int width = 0;
    while (*at) {
        width += att_display_width_next(&at);
        if (width > columns)
            break;
        end = at;
    }
    return (size_t)(end - text);
}
