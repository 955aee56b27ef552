/* Terminal styles and padding; see paint.h. */
#include "render/paint.h"

#include "text/width.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

att_paint att_paint_on(att_writer *out, const att_render_options *options)
{
    int width = options->width > 0 ? options->width : ATT_WIDTH_DEFAULT;
    return (att_paint){ .out = out,
                        .colour = options->colour,
                        .ascii = options->ascii,
                        .width = width > ATT_WIDTH_LEAST ? width : ATT_WIDTH_LEAST };
}

void att_paint_style(const att_paint *paint, att_style style)
{
    static const char *const codes[] = {
        [ATT_STYLE_NONE] = "\033[0m",    [ATT_STYLE_BOLD] = "\033[1m",
        [ATT_STYLE_DIM] = "\033[2m",     [ATT_STYLE_NAME] = "\033[1;36m",
        [ATT_STYLE_PASSED] = "\033[32m", [ATT_STYLE_FAILED] = "\033[1;31m",
    };
    if (paint->colour != ATT_COLOUR_NONE)
        att_put(paint->out, codes[style]);
}

void att_paint_level(const att_paint *paint, att_ramp ramp, int level)
{
    att_rgb c = att_ramp_colour(ramp, level);
    bool dark = att_rgb_is_dark(c);
    if (paint->colour == ATT_COLOUR_TRUE)
        att_putf(paint->out, "\033[48;2;%d;%d;%d;38;2;%sm", c.red, c.green, c.blue,
                 dark ? "255;255;255" : "16;16;16");
    else if (paint->colour == ATT_COLOUR_256)
        att_putf(paint->out, "\033[48;5;%d;38;5;%dm", att_ramp_256(ramp, level), dark ? 231 : 16);
}

const char *att_paint_shade(const att_paint *paint, int level)
{
    static const char *const characters[] = { " ", ".", ":", "-", "=", "+", "*", "#", "%", "@" };
    static const char *const blocks[] = { " ", "░", "▒", "▓", "█" };
    const char *const *shades = paint->ascii ? characters : blocks;
    int count = paint->ascii ? 10 : 5;
    return shades[(level * (count - 1) + ATT_LEVELS / 2) / (ATT_LEVELS - 1)];
}

/* Writes at most `columns` of the text and gives how many it took. */
static int put_cut(const att_paint *paint, const char *text, int columns)
{
    int width = att_width(text);
    if (width <= columns) {
        att_put_plain(paint->out, text);
        return width;
    }
    if (columns < 1)
        return 0;
    const char *at = text;
    const char *end = text + att_width_fit(text, columns - 1);
    int used = 0;
    while (at < end) {
        const char *next = at;
        used += att_width_next(&next);
        for (uint32_t c; at < next && (c = att_next_in_line(&at)) != 0;)
            att_put_char(paint->out, c);
    }
    att_put(paint->out, paint->ascii ? "~" : "…");
    return used + 1;
}

void att_paint_padded(const att_paint *paint, const char *text, int columns)
{
    int used = put_cut(paint, text, columns);
    att_put_repeat(paint->out, " ", columns - used);
}

void att_paint_right(const att_paint *paint, const char *text, int columns)
{
    att_put_repeat(paint->out, " ", columns - att_width(text));
    put_cut(paint, text, columns);
}

void att_paint_centred(const att_paint *paint, const char *text, int columns)
{
    int room = columns - att_width(text);
    int before = room > 0 ? room / 2 : 0;
    att_put_repeat(paint->out, " ", before);
    att_paint_padded(paint, text, columns - before);
}

void att_paint_numbered(const att_paint *paint, const char *word, int64_t number, int columns)
{
    char text[64];
    snprintf(text, sizeof text, "%s %" PRId64, word, number);
    att_paint_centred(paint, text, columns);
}

void att_paint_wrapped(const att_paint *paint, const char *text, int column, int hang)
{
    bool fresh = true; /* at the beginning of a line */
    while (*text) {
        size_t space = strspn(text, " \n\t");
        size_t length = strcspn(text + space, " \n\t");
        text += space;
        if (length == 0)
            break;
        int width = 0;
        for (const char *at = text; at < text + length;)
            width += att_width_next(&at);
        if (!fresh && column + 1 + width > paint->width) {
            att_put(paint->out, "\n");
            att_put_repeat(paint->out, " ", hang);
            column = hang;
            fresh = true;
        }
        att_put(paint->out, fresh ? "" : " ");
        column += width + (fresh ? 0 : 1);
        fresh = false;
        for (const char *end = text + length; text < end;)
            att_put_char(paint->out, att_next_char(&text));
    }
    att_put(paint->out, "\n");
}

void att_paint_end_line(const att_paint *paint)
{
    att_writer *out = paint->out;
    while (out->status == ATT_OK && out->text->length > out->start &&
           out->text->data[out->text->length - 1] == ' ')
        out->text->length--;
    att_put(out, "\n");
}
