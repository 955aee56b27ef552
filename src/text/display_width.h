/* The number of terminal columns of a text, and where it may be cut. A grapheme cluster (a letter
 * with its marks, an emoji sequence, a Bengali conjunct) is never split. */
#ifndef ATT_TEXT_DISPLAY_WIDTH_H
#define ATT_TEXT_DISPLAY_WIDTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the code point at *cursor and moves the cursor past it; 0 at the terminator, where the
 * cursor stays. A byte that does not start a well-formed sequence counts as one U+FFFD. */
uint32_t att_utf8_decode_next(const char **cursor);

/* Returns the columns of the grapheme cluster at *cursor and moves the cursor past it. A mark
 * without a letter has 0 columns. At the terminator the cursor stays. */
int att_display_width_next(const char **cursor);

/* Columns of a terminated UTF-8 text. */
int att_display_width(const char *text);

/* The length in bytes of the longest prefix of whole clusters that takes at most `columns`. */
size_t att_display_width_fit(const char *text, int columns);

#endif
