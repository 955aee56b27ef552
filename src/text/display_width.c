/* Display widths as terminals have them; see display_width.h. */
#include "text/display_width.h"

#include "text/unicode.h"
#include "text/utf8.h"

#include <string.h>

enum { VIRAMA = 9 }; /* the combining class of viramas */

uint32_t att_utf8_decode_next(const char **cursor)
{
    uint32_t code = 0;
    if (**cursor)
        *cursor += att_utf8_decode_lossy(*cursor, strnlen(*cursor, 4), &code);
    return code;
}

/* Control characters are printed as a replacement or a space, which has one column. */
static bool is_control(uint32_t c)
{
    return c < 0x20 || (c >= 0x7F && c < 0xA0);
}

static int char_width(uint32_t c)
{
    return is_control(c) ? 1 : att_unicode_width(c);
}

/* The columns that `after` adds to its cluster: none for a skin tone or an emoji that is joined to
 * the one before it. */
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
        /* Grapheme clusters break after a virama, but a conjunct is displayed as one shape. */
        bool conjunct = att_unicode_combining_class(before) == VIRAMA && after > 0x900 &&
                        char_width(after) == 1;
        if (att_unicode_breaks(before, after, &state) && !conjunct)
            return width;
        width += added_width(before, after);
        if (after == 0xFE0F && width == 1)
            width = 2; /* emoji presentation of a text symbol */
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
