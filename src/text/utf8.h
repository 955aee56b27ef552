/* UTF-8 in texts: checking with the place of the first fault, decoding that always moves on, and
 * which characters may make up a name. */
#ifndef ATT_TEXT_UTF8_H
#define ATT_TEXT_UTF8_H

#include "base/utf8.h"

#define ATT_UTF8_REPLACEMENT 0xFFFDu /* what a byte that is not UTF-8 decodes to */

/* The offset of the first byte that is not part of well-formed UTF-8; `length` where all of it is.
 */
size_t att_utf8_valid_prefix(const char *text, size_t length);

/* Decodes the character at `text` into *code and gives its length in bytes, at least 1. `length`
 * is what is left and not 0. A byte that does not belong gives ATT_UTF8_REPLACEMENT and 1. */
size_t att_utf8_decode_lossy(const char *text, size_t length, uint32_t *code);

/* Letters, marks and subscripts of any script, and '_', may start a name; digits may follow. The
 * answer is the same in every build, so it comes from a small table of what is excluded. */
bool att_utf8_identifier_start(uint32_t code);
bool att_utf8_identifier_part(uint32_t code);

/* Control characters other than tab and newline, and the two code points that no XML may hold. */
bool att_utf8_is_control(uint32_t code);

#endif
