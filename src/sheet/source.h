/* Where things were written: a sheet's name and text, errors that show the line with a caret
 * beneath, and expressions quoted as they were written. */
#ifndef ATT_SHEET_SOURCE_H
#define ATT_SHEET_SOURCE_H

#include "base/error.h"
#include "sheet/expr.h"

#include <stdarg.h>

/* Lines end in '\n'. The anchor is the start of the statement being worked on, so that finding a
 * place in it does not walk through a long sheet again. */
typedef struct att_sheet_source {
    const char *name; /* the sheet, in errors */
    const char *text; /* all of it, zero-terminated */
    size_t length;
    size_t anchor; /* offset of a line's first byte */
    int anchor_line;
} att_sheet_source;

/* ATT_BAD_INPUT at a place, lines and columns (in characters) from 1. */
att_status att_sheet_source_vfail(const att_sheet_source *origin, att_error *err, int line,
                                  int column, const char *format, va_list args);
att_status att_sheet_source_fail(const att_sheet_source *origin, att_error *err, int line,
                                 int column, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

enum { ATT_QUOTE_SIZE = 256 };

/* The expression as written, on one line and cut where it is long, into `out`; gives `out`. */
const char *att_sheet_source_quote(const att_sheet_source *origin, const att_expr *node,
                                   char out[ATT_QUOTE_SIZE]);

#endif
