/* Text made safe for one line of output; see escape.h. */
#include "escape.h"

#include <stdio.h>

/* The letter after the backslash for some; 0: none. */
static char letter_of(unsigned char byte)
{
    return byte == '\n' ? 'n' : byte == '\t' ? 't' : byte == '\r' ? 'r' : 0;
}

static att_status put_letter(att_string *out, char letter)
{
    return att_string_append(out, (char[]){ '\\', letter }, 2);
}

/* Bytes of the character that stands first, 0 where it is none: by the shape of UTF-8. */
static size_t character(const char *text, size_t length)
{
    unsigned char lead = (unsigned char)text[0];
    size_t wanted = lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (lead >= 0xF5 || wanted > length)
        return 0;
    for (size_t i = 1; i < wanted; i++)
        if (((unsigned char)text[i] & 0xC0) != 0x80)
            return 0;
    return wanted;
}

att_status escape_json(att_string *out, const char *text, size_t length)
{
    att_status status = att_string_append(out, "\"", 1);
    for (size_t i = 0, bytes; i < length && status == ATT_OK; i += bytes > 0 ? bytes : 1) {
        unsigned char byte = (unsigned char)text[i];
        char code[8];
        bytes = character(text + i, length - i);
        if (byte == '"' || byte == '\\')
            status = put_letter(out, text[i]);
        else if (letter_of(byte))
            status = put_letter(out, letter_of(byte));
        else if (byte < ' ')
            status =
                att_string_append(out, code, (size_t)snprintf(code, sizeof code, "\\u%04X", byte));
        else if (bytes == 0)
            status = att_string_append(out, "\xEF\xBF\xBD", 3);
        else
            status = att_string_append(out, text + i, bytes);
    }
    return status == ATT_OK ? att_string_append(out, "\"", 1) : status;
}

att_status escape_token(att_string *out, const char *text, size_t length)
{
    att_status status = ATT_OK;
    for (size_t i = 0, bytes; i < length && status == ATT_OK; i += bytes > 0 ? bytes : 1) {
        unsigned char byte = (unsigned char)text[i];
        char code[8];
        bytes = character(text + i, length - i);
        if (byte == '\\' || letter_of(byte))
            status = put_letter(out, byte == '\\' ? '\\' : letter_of(byte));
        else if (bytes == 0 || byte < ' ' || byte == 0x7F)
            status =
                att_string_append(out, code, (size_t)snprintf(code, sizeof code, "\\x%02X", byte));
        else
            status = att_string_append(out, text + i, bytes);
    }
    return status;
}
