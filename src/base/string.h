/* Appending to an att_string; att_string_append() and att_string_free() are in attend.h. A failed
 * allocation leaves the string unchanged. */
#ifndef ATT_BASE_STRING_H
#define ATT_BASE_STRING_H

#include "attend.h"

#include <stdarg.h>

/* Ensures capacity for `more` bytes beyond `length` and the terminator. */
att_status att_string_reserve(att_string *text, size_t more);

att_status att_string_puts(att_string *text, const char *string);
att_status att_string_printf(att_string *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
att_status att_string_vprintf(att_string *text, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

/* Appends `count` copies of `string`. */
att_status att_string_repeat(att_string *text, const char *string, int64_t count);

#endif
