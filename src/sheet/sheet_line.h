/* What the files that classify lines share: parts of a line, and a line tried as an expression. */
#ifndef ATT_SHEET_SHEET_LINE_H
#define ATT_SHEET_SHEET_LINE_H

#include "sheet/interpreter.h"

/* Fails at the line's first character. */
att_status att_sheet_line_fail(const att_interpreter *interpreter, const att_sheet_line *line,
                               const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The length in bytes of the name that the line starts with, or 0. */
size_t att_sheet_line_leading_name(const att_sheet_line *line);

/* The line without its first `bytes` bytes and the blanks behind them; its column is unchanged. */
att_sheet_line att_sheet_line_rest(const att_sheet_line *line, size_t bytes);

/* Whether the line begins with a known name or function. */
bool att_sheet_line_begins_known(const att_interpreter *interpreter, const att_sheet_line *line);

/* The result of parsing a line as an expression on trial. */
typedef struct att_expression_trial {
    bool intended;   /* an expression that is unlikely to be prose */
    bool fills_line; /* the expression is the whole line */
    bool assigned;   /* a '=' follows the expression */
    bool continues;  /* as `gradient` does: `with`, `for` or `check` follows the expression */
    bool ends_early; /* incomplete: it may continue on the next line */
    bool quoted;     /* a string follows the expression */
} att_expression_trial;

/* Parses the line as an expression and discards it. Lines longer than people write are not
 * tried. */
att_status att_sheet_line_try(const att_interpreter *interpreter, const att_sheet_line *line,
                              att_expression_trial *out);

#endif
