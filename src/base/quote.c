/* Quoting of untrusted names for messages. */
#include "base/quote.h"

#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

/* Each step writes at most 4 bytes ("\xNN" or a UTF-8 character); the ellipsis (3 bytes) and the
 * terminator follow. */
enum { MAX_ESCAPE = 4, LAST_ESCAPE_START = ATT_QUOTED_SIZE - MAX_ESCAPE - 4 };

/* The length in bytes of the printable character at `text`, or 0 where there is none. U+0080 to
 * U+009F are control characters too. */
static size_t printable(const char *text, size_t length)
{
    uint32_t code;
    size_t size = att_utf8_decode(&code, text, length);
    return code < 0x20 || (code >= 0x7F && code < 0xA0) ? 0 : size;
}

const char *att_quote(char out[ATT_QUOTED_SIZE], const char *text, size_t length)
{
    size_t used = 0, at = 0;
    while (at < length && used <= LAST_ESCAPE_START) {
        size_t size = printable(text + at, length - at);
        if (size > 0)
            memcpy(out + used, text + at, size);
        else
            snprintf(out + used, MAX_ESCAPE + 1, "\\x%02X", (unsigned char)text[at]);
        used += size > 0 ? size : MAX_ESCAPE;
        at += size > 0 ? size : 1;
    }
    strcpy(out + used, at < length ? "…" : "");
    return out;
}
