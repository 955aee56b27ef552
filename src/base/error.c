/* Filling in att_error. Nothing here allocates, so that running out of memory can be reported. */
#include "base/error.h"

#include "base/minmax.h"

#include <stdio.h>
#include <string.h>

/* `wanted` is the length that the string would have had. Where that did not fit into `size` bytes,
 * removes a UTF-8 character that was cut in the middle. */
static void trim_utf8(char *text, size_t size, size_t wanted)
{
    if (wanted < size)
        return;
    size_t n = strlen(text);
    size_t start = n;
    while (start > 0 && ((unsigned char)text[start - 1] & 0xC0) == 0x80)
        start--;
    if (start == 0)
        return;
    unsigned char lead = (unsigned char)text[start - 1];
    size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
    if (start - 1 + length > n)
        text[start - 1] = '\0';
}

static void copy_string(char *to, size_t size, const char *from)
{
    int wanted = snprintf(to, size, "%s", from ? from : "");
    trim_utf8(to, size, wanted < 0 ? 0 : (size_t)wanted);
}

static att_status fail(att_error *err, att_status status, const char *place, int line, int column,
                       const char *excerpt, const char *format, va_list args)
{
    if (!err)
        return status;
    err->status = status;
    err->line = line;
    err->column = column;
    copy_string(err->place, sizeof err->place, place);
    copy_string(err->excerpt, sizeof err->excerpt, excerpt);
    int wanted = vsnprintf(err->message, sizeof err->message, format, args);
    trim_utf8(err->message, sizeof err->message, wanted < 0 ? 0 : (size_t)wanted);
    return status;
}

att_status att_fail(att_error *err, att_status status, const char *place, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fail(err, status, place, 0, 0, NULL, format, args);
    va_end(args);
    return status;
}

att_status att_fail_at(att_error *err, att_status status, const char *place, int line, int column,
                       const char *excerpt, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fail(err, status, place, line, column, excerpt, format, args);
    va_end(args);
    return status;
}

att_status att_fail_memory(att_error *err)
{
    return att_fail(err, ATT_NO_MEMORY, NULL, "out of memory");
}

const char *att_status_name(att_status status)
{
    static const char *const names[] = {
        [ATT_OK] = "ok",
        [ATT_BAD_INPUT] = "bad input",
        [ATT_NO_MEMORY] = "out of memory",
        [ATT_SYSTEM] = "system error",
        [ATT_UNSUPPORTED] = "not supported by this build",
        [ATT_CANCELLED] = "cancelled",
    };
    size_t index = (size_t)status;
    return index < ATT_COUNT(names) ? names[index] : "unknown status";
}

const char *att_version(void)
{
    return ATT_VERSION;
}
