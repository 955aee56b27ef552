/* The filter for text on terminals; see terminal.h. It allocates nothing: it also writes the
 * message that memory is out. */
#include "terminal.h"

#include <stdint.h>
#include <string.h>
#include <unistd.h>

static bool raw, styles;

/* The first bytes of a character whose other bytes have not come yet, by stream: standard output
 * and standard error. */
typedef struct pending_bytes {
    char bytes[4];
    size_t length;
} pending_bytes;

static pending_bytes pending_of[2];

void terminal_set_raw(void)
{
    raw = true;
}

void terminal_allow_styles(void)
{
    styles = true;
}

static bool put_visibly(FILE *stream, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (fprintf(stream, "\\x%02x", (unsigned char)bytes[i]) < 0)
            return false;
    return true;
}

/* Bytes of the UTF-8 character that this byte begins; 0: it begins none. */
static size_t length_of_lead(unsigned char lead)
{
    return lead < 0x80   ? 1
           : lead < 0xC2 ? 0
           : lead < 0xE0 ? 2
           : lead < 0xF0 ? 3
           : lead < 0xF5 ? 4
                         : 0;
}

/* U+0000 to U+001F except tab and line end, U+007F, and U+0080 to U+009F, of which some terminals
 * obey U+009B as they do ESC [; also in more bytes than UTF-8 allows. */
static bool is_control(const char *character)
{
    unsigned char first = (unsigned char)character[0], second = (unsigned char)character[1];
    if (first < 0x80)
        return (first < ' ' && first != '\t' && first != '\n') || first == 0x7F;
    bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
    return overlong || (first == 0xC2 && second < 0xA0);
}

/* Length of the style sequence, ESC [ digits and semicolons m, that the bytes begin with; 0: none.
 */
static size_t style_length(const char *bytes, size_t length)
{
    if (length < 3 || bytes[0] != '\033' || bytes[1] != '[')
        return 0;
    size_t i = 2;
    while (i < length && ((bytes[i] >= '0' && bytes[i] <= '9') || bytes[i] == ';'))
        i++;
    return i < length && bytes[i] == 'm' ? i + 1 : 0;
}

/* Adds one byte to the pending character, and writes it when it is complete or wrong. */
static bool put_byte(FILE *stream, pending_bytes *pending, char byte)
{
    bool continues = ((unsigned char)byte & 0xC0) == 0x80;
    bool written = true;
    if (pending->length > 0 && !continues) {
        written = put_visibly(stream, pending->bytes, pending->length);
        pending->length = 0;
    }
    if (pending->length == 0 && length_of_lead((unsigned char)byte) == 0)
        return put_visibly(stream, &byte, 1) && written;
    pending->bytes[pending->length++] = byte;
    if (pending->length < length_of_lead((unsigned char)pending->bytes[0]))
        return written;
    written &= is_control(pending->bytes)
                   ? put_visibly(stream, pending->bytes, pending->length)
                   : fwrite(pending->bytes, 1, pending->length, stream) == pending->length;
    pending->length = 0;
    return written;
}

static bool is_filtered(FILE *stream)
{
    return !(raw && stream == stdout) && isatty(fileno(stream));
}

bool terminal_write(FILE *stream, const char *bytes, size_t length)
{
    if (length == 0)
        return true;
    if (!is_filtered(stream))
        return fwrite(bytes, 1, length, stream) == length;
    pending_bytes *pending = &pending_of[stream == stderr];
    for (size_t i = 0; i < length; i++) {
        size_t style = styles && stream == stdout ? style_length(bytes + i, length - i) : 0;
        bool written = style > 0 ? fwrite(bytes + i, 1, style, stream) == style
                                 : put_byte(stream, pending, bytes[i]);
        if (!written)
            return false;
        i += style > 0 ? style - 1 : 0;
    }
    return true;
}

void terminal_puts(FILE *stream, const char *text)
{
    (void)terminal_write(stream, text, strlen(text));
}

void terminal_vprintf(FILE *stream, const char *format, va_list args)
{
    if (!is_filtered(stream)) {
        vfprintf(stream, format, args);
    } else {
        char text[8192];
        vsnprintf(text, sizeof text, format, args);
        terminal_puts(stream, text);
    }
}

void terminal_printf(FILE *stream, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    terminal_vprintf(stream, format, args);
    va_end(args);
}
