/* Writing into an att_text (att_text_add is in attend.h). A failed allocation leaves the text as it
 * was. */
#ifndef ATT_BASE_TEXT_H
#define ATT_BASE_TEXT_H

#include "attend.h"

#include <stdarg.h>

/* Makes room for `more` bytes beyond `length`, and the terminator. */
att_status att_text_reserve(att_text *text, size_t more);

att_status att_text_puts(att_text *text, const char *string);
att_status att_text_print(att_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
att_status att_text_vprint(att_text *text, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

/* `count` copies of `string`. */
att_status att_text_repeat(att_text *text, const char *string, int64_t count);

/* Appends bytes to the att_text at `text`; 0, or -1 when memory is out: the form in which writers
 * of other libraries want it. */
int att_text_sink(const char *bytes, size_t size, void *text);

#endif
