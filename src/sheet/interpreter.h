/* A sheet being worked out, statement by statement. */
#ifndef ATT_SHEET_INTERPRETER_H
#define ATT_SHEET_INTERPRETER_H

#include "sheet/eval.h"
#include "sheet/parse.h"

typedef struct att_interpreter {
    att_sheet *sheet;
    att_sheet_source source;
    att_symbol_table symbols;
    att_scope scope;      /* of the three above */
    size_t nodes_left;    /* expression nodes the sheet may still make */
    size_t statement;     /* offset of the statement being worked on */
    att_string paragraph; /* prose collected so far */
    int paragraph_line;
} att_interpreter;

/* A line of the sheet without its indentation and trailing blanks. */
typedef struct att_sheet_line {
    const char *text;
    size_t offset; /* of `text` in the sheet */
    size_t length;
    int number;
    int column; /* of its first character */
} att_sheet_line;

/* Carries out one statement; the parser is after its keyword, or at the name to assign. */
typedef att_status att_statement(att_interpreter *interpreter, att_parser *parser);

att_statement att_run_assign; /* name = expression */
att_statement att_run_show;   /* statements.c */
att_statement att_run_plot;
att_statement att_run_label;   /* label.c */
att_statement att_run_expect;  /* expect.c */
att_statement att_run_compare; /* compare.c */

/* What a line is, if not text: NULL for text, which has been checked not to be a statement gone
 * wrong. */
att_status att_sheet_line_statement(att_interpreter *interpreter, const att_sheet_line *line,
                                    att_statement **out);

/* att_sheet_read() with another limit on the bytes that the trace may take: for tests and fuzzing.
 */
att_status att_sheet_read_limited(att_sheet **out, const char *text, size_t length,
                                  const char *name, const char *folder, size_t limit,
                                  att_error *err);

/* Ends the statement: adds its step, with what was written and the note after it. */
att_status att_interpreter_add_step(att_interpreter *interpreter, const att_parser *parser,
                                    const att_trace_step *step);

#endif
