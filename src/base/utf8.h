/* UTF-8 as it must be: no overlong forms, no surrogates, nothing beyond U+10FFFF. */
#ifndef ATT_BASE_UTF8_H
#define ATT_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The character at `text`; gives its bytes, or 0 where there is none. */
size_t att_utf8_decode(uint32_t *out, const char *text, size_t length);

/* Writes the character, which is no surrogate and at most U+10FFFF; gives its bytes, 1 to 4. */
size_t att_utf8_encode(char *out, uint32_t code);

/* Whether all of it is UTF-8. */
bool att_utf8_valid(const char *text, size_t length);

#endif
