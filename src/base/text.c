/* The growing string; see text.h. */
#include "base/text.h"

#include "base/alloc.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

att_status att_text_reserve(att_text *text, size_t more)
{
    if (more >= SIZE_MAX / 2 - text->length)
        return ATT_NO_MEMORY;
    size_t needed = text->length + more + 1;
    if (needed <= text->capacity)
        return ATT_OK;
    size_t capacity = text->capacity ? text->capacity * 2 : 256;
    if (capacity < needed)
        capacity = needed;
    char *data = att_realloc(text->data, text->length, capacity, 1);
    if (!data)
        return ATT_NO_MEMORY;
    data[text->length] = '\0';
    text->data = data;
    text->capacity = capacity;
    return ATT_OK;
}

att_status att_text_add(att_text *text, const char *bytes, size_t length)
{
    if (att_text_reserve(text, length) != ATT_OK)
        return ATT_NO_MEMORY;
    if (length > 0)
        memcpy(text->data + text->length, bytes, length);
    text->length += length;
    text->data[text->length] = '\0';
    return ATT_OK;
}

att_status att_text_puts(att_text *text, const char *string)
{
    return att_text_add(text, string, strlen(string));
}

att_status att_text_vprint(att_text *text, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    att_status status = length < 0 ? ATT_NO_MEMORY : att_text_reserve(text, (size_t)length);
    if (status == ATT_OK) {
        vsnprintf(text->data + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    }
    va_end(again);
    return status;
}

att_status att_text_print(att_text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    att_status status = att_text_vprint(text, format, args);
    va_end(args);
    return status;
}

att_status att_text_repeat(att_text *text, const char *string, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (att_text_puts(text, string) != ATT_OK)
            return ATT_NO_MEMORY;
    return ATT_OK;
}

int att_text_sink(const char *bytes, size_t size, void *text)
{
    return att_text_add(text, bytes, size) == ATT_OK ? 0 : -1;
}

void att_text_free(att_text *text)
{
    if (!text)
        return;
    att_free(text->data);
    *text = (att_text){ 0 };
}
