/* Painting on a terminal: styles, colours and padding by display width. Without colour the styles
 * are nothing, so that callers need not ask. */
#ifndef ATT_RENDER_PAINT_H
#define ATT_RENDER_PAINT_H

#include "render/colour.h"
#include "render/writer.h"

enum { ATT_WIDTH_DEFAULT = 100, ATT_WIDTH_LEAST = 20 };

typedef struct att_paint {
    att_writer *out;
    att_colour colour;
    bool ascii;
    int width;
} att_paint;

typedef enum att_style {
    ATT_STYLE_NONE,
    ATT_STYLE_BOLD,
    ATT_STYLE_DIM,
    ATT_STYLE_NAME,
    ATT_STYLE_PASSED,
    ATT_STYLE_FAILED,
} att_style;

att_paint att_paint_on(att_writer *out, const att_render_options *options);

/* Everything from here on in this style. */
void att_paint_style(const att_paint *paint, att_style style);

/* A level of a ramp as the background, with a foreground that can be read on it. */
void att_paint_level(const att_paint *paint, att_ramp ramp, int level);

/* One column that looks as dark as the level: a block, or a character of " .:-=+*#%@". */
const char *att_paint_shade(const att_paint *paint, int level);

/* A user's text in so many columns: cut with a mark where it is longer. */
void att_paint_padded(const att_paint *paint, const char *text, int columns);
void att_paint_right(const att_paint *paint, const char *text, int columns);
void att_paint_centred(const att_paint *paint, const char *text, int columns);
void att_paint_numbered(const att_paint *paint, const char *word, int64_t number, int columns);

/* A user's text in lines of the terminal's width, broken at spaces and ended; the first line begins
 * at column `column`, the others at `hang`. */
void att_paint_wrapped(const att_paint *paint, const char *text, int column, int hang);

/* Ends the line without the spaces that padding left at its end. */
void att_paint_end_line(const att_paint *paint);

#endif
