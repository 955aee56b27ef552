/* UTF-8 in texts: validation that finds the first invalid byte, decoding that replaces invalid
 * bytes, and the characters of identifiers. */
#ifndef ATT_TEXT_UTF8_H
#define ATT_TEXT_UTF8_H

#include "base/utf8.h"

#define ATT_UTF8_REPLACEMENT 0xFFFDu /* what an invalid byte decodes to */

/* The offset of the first byte that is not part of well-formed UTF-8; `length` if there is none. */
size_t att_utf8_valid_prefix(const char *text, size_t length);

/* Decodes the code point at `text` into *code and returns its length in bytes, at least 1.
 * `length`, the bytes left, must not be 0. An invalid byte decodes to ATT_UTF8_REPLACEMENT with
 * length 1. */
size_t att_utf8_decode_lossy(const char *text, size_t length, uint32_t *code);

/* Letters, marks and subscripts of any script, and '_', may start an identifier; digits may follow.
 * The rule does not depend on the version of Unicode: it is a small table of excluded ranges. */
bool att_utf8_identifier_start(uint32_t code);
bool att_utf8_identifier_part(uint32_t code);

/* Control characters other than tab and newline, and the two code points that XML excludes. */
bool att_utf8_is_control(uint32_t code);

#endif
