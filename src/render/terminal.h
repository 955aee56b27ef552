/* Painting on a terminal: styles, colours and padding by display width. Without colour the styles
 * are nothing, so that callers need not ask. */
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

/* Everything from here on in this style. */
void att_terminal_style(const att_terminal *terminal, att_style style);

/* A level of a ramp as the background, with a foreground that can be read on it. */
void att_terminal_level(const att_terminal *terminal, att_colormap ramp, int level);

/* One column that looks as dark as the level: a block, or a character of " .:-=+*#%@". */
const char *att_terminal_shade(const att_terminal *terminal, int level);

/* A user's text in so many columns: cut with a mark where it is longer. */
void att_terminal_padded(const att_terminal *terminal, const char *text, int columns);
void att_terminal_right(const att_terminal *terminal, const char *text, int columns);
void att_terminal_centered(const att_terminal *terminal, const char *text, int columns);
void att_terminal_numbered(const att_terminal *terminal, const char *word, int64_t number,
                           int columns);

/* A user's text in lines of the terminal's width, broken at spaces and ended; the first line begins
 * at column `column`, the others at `hang`. */
void att_terminal_wrapped(const att_terminal *terminal, const char *text, int column, int hang);

/* Ends the line without the spaces that padding left at its end. */
void att_terminal_end_line(const att_terminal *terminal);

#endif
