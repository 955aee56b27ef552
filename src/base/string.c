/* The growing string att_string: append, format, release. Capacity doubles, so that appending costs
 * amortized constant time. */
#include "base/string.h"

#include "base/alloc.h"
#include "base/minmax.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

att_status att_string_reserve(att_string *text, size_t more)
{
    if (more >= SIZE_MAX / 2 - text->length)
        return ATT_NO_MEMORY;
    size_t needed = text->length + more + 1;
    if (needed <= text->capacity)
        return ATT_OK;
    size_t capacity = att_max_size(text->capacity ? text->capacity * 2 : 256, needed);
    char *data = att_realloc(text->data, text->length, capacity, 1);
    if (!data)
        return ATT_NO_MEMORY;
    data[text->length] = '\0';
    text->data = data;
    text->capacity = capacity;
    return ATT_OK;
}

att_status att_string_append(att_string *text, const char *bytes, size_t length)
{
    if (att_string_reserve(text, length) != ATT_OK)
        return ATT_NO_MEMORY;
    if (length > 0)
        memcpy(text->data + text->length, bytes, length);
    text->length += length;
    text->data[text->length] = '\0';
    return ATT_OK;
}

att_status att_string_puts(att_string *text, const char *string)
{
    return att_string_append(text, string, strlen(string));
}

att_status att_string_vprintf(att_string *text, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    att_status status = length < 0 ? ATT_NO_MEMORY : att_string_reserve(text, (size_t)length);
    if (status == ATT_OK) {
        vsnprintf(text->data + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    }
    va_end(again);
    return status;
}

att_status att_string_printf(att_string *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    att_status status = att_string_vprintf(text, format, args);
    va_end(args);
    return status;
}

att_status att_string_repeat(att_string *text, const char *string, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (att_string_puts(text, string) != ATT_OK)
            return ATT_NO_MEMORY;
    return ATT_OK;
}

void att_string_free(att_string *text)
{
    if (!text)
        return;
    att_free(text->data);
    *text = (att_string){ 0 };
}
