/* Terminal styles, padding, truncation and wrapping by display width. */
#include "render/terminal.h"

#include "text/display_width.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

att_terminal att_terminal_for(att_writer *out, const att_render_options *options)
{
    int width = options->width > 0 ? options->width : ATT_WIDTH_DEFAULT;
    return (att_terminal){ .out = out,
                           .color = options->color,
                           .ascii = options->ascii,
                           .width = width > ATT_WIDTH_MIN ? width : ATT_WIDTH_MIN };
}

void att_terminal_style(const att_terminal *terminal, att_style style)
{
    static const char *const codes[] = {
        [ATT_STYLE_NONE] = "\033[0m",    [ATT_STYLE_BOLD] = "\033[1m",
        [ATT_STYLE_DIM] = "\033[2m",     [ATT_STYLE_NAME] = "\033[1;36m",
        [ATT_STYLE_PASSED] = "\033[32m", [ATT_STYLE_FAILED] = "\033[1;31m",
    };
    if (terminal->color != ATT_COLOR_NONE)
        att_put(terminal->out, codes[style]);
}

void att_terminal_level(const att_terminal *terminal, att_colormap colormap, int level)
{
    att_rgb c = att_colormap_color(colormap, level);
    bool dark = att_rgb_is_dark(c);
    if (terminal->color == ATT_COLOR_TRUE)
        att_putf(terminal->out, "\033[48;2;%d;%d;%d;38;2;%sm", c.red, c.green, c.blue,
                 dark ? "255;255;255" : "16;16;16");
    else if (terminal->color == ATT_COLOR_256)
        att_putf(terminal->out, "\033[48;5;%d;38;5;%dm", att_colormap_256(colormap, level),
                 dark ? 231 : 16);
}

const char *att_terminal_shade(const att_terminal *terminal, int level)
{
    static const char *const characters[] = { " ", ".", ":", "-", "=", "+", "*", "#", "%", "@" };
    static const char *const blocks[] = { " ", "░", "▒", "▓", "█" };
    const char *const *shades = terminal->ascii ? characters : blocks;
    int count = terminal->ascii ? 10 : 5;
    return shades[(level * (count - 1) + ATT_COLOR_LEVELS / 2) / (ATT_COLOR_LEVELS - 1)];
}

/* Writes at most `columns` columns of the text and returns how many it used. */
static int put_truncated(const att_terminal *terminal, const char *text, int columns)
{
    int width = att_display_width(text);
    if (width <= columns) {
        att_put_plain(terminal->out, text);
        return width;
    }
    if (columns < 1)
        return 0;
    const char *at = text;
    const char *end = text + att_display_width_fit(text, columns - 1);
    int used = 0;
    while (at < end) {
        const char *next = at;
        used += att_display_width_next(&next);
        for (uint32_t c; at < next && (c = att_next_in_line(&at)) != 0;)
            att_put_char(terminal->out, c);
    }
    att_put(terminal->out, terminal->ascii ? "~" : "…");
    return used + 1;
}

void att_terminal_padded(const att_terminal *terminal, const char *text, int columns)
{
    int used = put_truncated(terminal, text, columns);
    att_put_repeat(terminal->out, " ", columns - used);
}

void att_terminal_right(const att_terminal *terminal, const char *text, int columns)
{
    att_put_repeat(terminal->out, " ", columns - att_display_width(text));
    put_truncated(terminal, text, columns);
}

void att_terminal_centered(const att_terminal *terminal, const char *text, int columns)
{
    int room = columns - att_display_width(text);
    int before = room > 0 ? room / 2 : 0;
    att_put_repeat(terminal->out, " ", before);
    att_terminal_padded(terminal, text, columns - before);
}

void att_terminal_numbered(const att_terminal *terminal, const char *word, int64_t number,
                           int columns)
{
    char text[64];
    snprintf(text, sizeof text, "%s %" PRId64, word, number);
    att_terminal_centered(terminal, text, columns);
}

void att_terminal_wrapped(const att_terminal *terminal, const char *text, int column, int hang)
{
    bool fresh = true; /* at the start of a line */
    while (*text) {
        size_t space = strspn(text, " \n\t");
        size_t length = strcspn(text + space, " \n\t");
        text += space;
        if (length == 0)
            break;
        int width = 0;
        for (const char *at = text; at < text + length;)
            width += att_display_width_next(&at);
        if (!fresh && column + 1 + width > terminal->width) {
            att_put(terminal->out, "\n");
            att_put_repeat(terminal->out, " ", hang);
            column = hang;
            fresh = true;
        }
        att_put(terminal->out, fresh ? "" : " ");
        column += width + (fresh ? 0 : 1);
        fresh = false;
        for (const char *end = text + length; text < end;)
            att_put_char(terminal->out, att_next_char(&text));
    }
    att_put(terminal->out, "\n");
}

void att_terminal_end_line(const att_terminal *terminal)
{
    att_writer *out = terminal->out;
    while (out->status == ATT_OK && out->text->length > out->start &&
           out->text->data[out->text->length - 1] == ' ')
        out->text->length--;
    att_put(out, "\n");
}
