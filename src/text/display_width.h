/* How many columns of a terminal a text takes, and where it may be cut. A grapheme cluster (a
 * letter with its marks, an emoji sequence, a Bengali conjunct) is never split. */
#ifndef ATT_TEXT_DISPLAY_WIDTH_H
#define ATT_TEXT_DISPLAY_WIDTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The code point at *cursor, which moves past it; 0 at the terminator, where it stays. A byte that
 * does not begin a well-formed sequence counts as one U+FFFD. */
uint32_t att_utf8_decode_next(const char **cursor);

/* Columns of one grapheme cluster, the one at *cursor, which moves past it; 0 columns also for a
 * lone mark. At the terminator the cursor stays. */
int att_display_width_next(const char **cursor);

/* Columns of a terminated UTF-8 text. */
int att_display_width(const char *text);

/* The bytes of the longest start of `text`, whole clusters only, that takes at most `columns`. */
size_t att_display_width_fit(const char *text, int columns);

#endif
