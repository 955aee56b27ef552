/* Terminal output: styles, colors and padding by display width. Without color, styles write
 * nothing, so that callers need no check. */
#ifndef ATT_RENDER_TERMINAL_H
#define ATT_RENDER_TERMINAL_H

#include "render/color.h"
#include "render/writer.h"

enum { ATT_WIDTH_DEFAULT = 100, ATT_WIDTH_MIN = 20 };

typedef struct att_terminal {
    att_writer *out;
    att_color color;
    bool ascii;
    int width;
} att_terminal;

typedef enum att_style {
    ATT_STYLE_NONE,
    ATT_STYLE_BOLD,
    ATT_STYLE_DIM,
    ATT_STYLE_NAME,
    ATT_STYLE_PASSED,
    ATT_STYLE_FAILED,
} att_style;

att_terminal att_terminal_for(att_writer *out, const att_render_options *options);

/* Switches to this style. */
void att_terminal_style(const att_terminal *terminal, att_style style);

/* Sets a level of a colormap as the background, with a readable foreground. */
void att_terminal_level(const att_terminal *terminal, att_colormap colormap, int level);

/* One column as dark as the level: a block, or a character of " .:-=+*#%@". */
const char *att_terminal_shade(const att_terminal *terminal, int level);

/* A user's text in exactly `columns` columns, truncated with a mark if it is longer. */
void att_terminal_padded(const att_terminal *terminal, const char *text, int columns);
void att_terminal_right(const att_terminal *terminal, const char *text, int columns);
void att_terminal_centered(const att_terminal *terminal, const char *text, int columns);
void att_terminal_numbered(const att_terminal *terminal, const char *word, int64_t number,
                           int columns);

/* A user's text wrapped at spaces to the terminal's width, with a final newline; the first line
 * begins at column `column`, the others at `hang`. */
void att_terminal_wrapped(const att_terminal *terminal, const char *text, int column, int hang);

/* Ends the line and removes the trailing spaces of padding. */
void att_terminal_end_line(const att_terminal *terminal);

#endif
