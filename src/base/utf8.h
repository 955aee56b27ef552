/* Strict UTF-8: no overlong forms, no surrogates, nothing beyond U+10FFFF. */
#ifndef ATT_BASE_UTF8_H
#define ATT_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decodes the character at `text`. Returns its length in bytes, or 0 where there is no valid one;
 * *out is then the first byte, if there is any. */
size_t att_utf8_decode(uint32_t *out, const char *text, size_t length);

/* Encodes a character, which is not a surrogate and at most U+10FFFF. Returns its length in bytes,
 * 1 to 4. */
size_t att_utf8_encode(char *out, uint32_t code);

/* Whether the whole text is valid UTF-8. */
bool att_utf8_valid(const char *text, size_t length);

#endif
