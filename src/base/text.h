/* Writing into an att_text. A failed allocation leaves the text as it was. */
#ifndef ATT_BASE_TEXT_H
#define ATT_BASE_TEXT_H

#include "attend.h"

att_status att_text_add(att_text *text, const char *bytes, size_t length);
att_status att_text_puts(att_text *text, const char *string);
att_status att_text_print(att_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* `count` copies of `string`. */
att_status att_text_repeat(att_text *text, const char *string, int64_t count);

#endif
