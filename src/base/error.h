/* Reporting failures: functions return a status and put the detail into an optional att_error. */
#ifndef ATT_BASE_ERROR_H
#define ATT_BASE_ERROR_H

#include "attend.h"

#include <stdarg.h>

/* Returns from the calling function where `expr` is not ATT_OK. */
#define ATT_TRY(expr)                                                                              \
    do {                                                                                           \
        att_status try_status_ = (expr);                                                           \
        if (try_status_ != ATT_OK)                                                                 \
            return try_status_;                                                                    \
    } while (0)

/* Fills *err, if given, and returns `status`, so that a failure is one line:
 *     return att_fail(err, ATT_BAD_INPUT, name, "header ends after %zu bytes", n);
 * `place` may be NULL. Text too long for the struct is cut at a character boundary. */
att_status att_fail(att_error *err, att_status status, const char *place, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The same with a line, a column and (may be NULL) the excerpt to show. */
att_status att_fail_at(att_error *err, att_status status, const char *place, int line, int column,
                       const char *excerpt, const char *format, ...)
    __attribute__((format(printf, 7, 8)));

/* Reports a failed allocation, always with the same message. */
att_status att_fail_memory(att_error *err);

#endif
