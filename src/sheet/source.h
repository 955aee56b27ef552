/* The source text of a sheet: errors that show the line with a caret below, and expressions quoted
 * as they were written. */
#ifndef ATT_SHEET_SOURCE_H
#define ATT_SHEET_SOURCE_H

#include "base/error.h"
#include "sheet/expr.h"

#include <stdarg.h>

/* Lines end in '\n'. The anchor is the start of the current statement: a search for a place starts
 * there instead of at the start of a long sheet. */
typedef struct att_sheet_source {
    const char *name; /* name of the sheet, for errors */
    const char *text; /* the whole text, zero-terminated */
    size_t length;
    size_t anchor; /* offset of a line's first byte */
    int anchor_line;
} att_sheet_source;

/* Fails with ATT_BAD_INPUT at a line and column (in code points), both from 1. */
att_status att_sheet_source_vfail(const att_sheet_source *origin, att_error *err, int line,
                                  int column, const char *format, va_list args);
att_status att_sheet_source_fail(const att_sheet_source *origin, att_error *err, int line,
                                 int column, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

enum { ATT_QUOTE_SIZE = 256 };

/* Writes the expression as in the source, on one line and truncated if it is long, into `out`;
 * returns `out`. */
const char *att_sheet_source_quote(const att_sheet_source *origin, const att_expr *node,
                                   char out[ATT_QUOTE_SIZE]);

#endif
