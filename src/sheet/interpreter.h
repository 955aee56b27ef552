/* The interpreter of a sheet: its state while it runs statement after statement. */
#ifndef ATT_SHEET_INTERPRETER_H
#define ATT_SHEET_INTERPRETER_H

#include "sheet/eval.h"
#include "sheet/own.h"
#include "sheet/parse.h"
#include "sheet/record.h"

typedef struct att_interpreter {
    att_sheet *sheet;
    att_sheet_source source;
    att_symbol_table symbols;
    att_record record;
    att_scope scope;      /* environment made of the members above */
    size_t nodes_left;    /* expression nodes that the sheet may still allocate */
    size_t statement;     /* byte offset of the current statement */
    att_string paragraph; /* prose collected so far */
    int paragraph_line;
    att_detail detail;            /* of the statements from here on */
    const att_rounding *rounding; /* of the steps from here on; NULL: exact alone */
    att_own_functions functions;  /* own functions, own.h */
    att_symbol_table by_hand;     /* the names whose values were rounded, or follow from such */
    const char *variant;          /* of an exercise: what its random values depend on */
    uint64_t draw; /* 0, 1, …: the random values are drawn again until `require` holds */
    bool rejected; /* a `require` does not hold for this draw */
} att_interpreter;

/* A line of the sheet without leading and trailing blanks. */
typedef struct att_sheet_line {
    const char *text;
    size_t offset; /* of `text` in the sheet */
    size_t length;
    int number;
    int column; /* of its first character */
} att_sheet_line;

/* Runs one statement; the parser is behind its keyword, or at the name that is assigned. */
typedef att_status att_statement(att_interpreter *interpreter, att_parser *parser);

att_statement att_run_assign; /* name = expression */
att_statement att_run_show;   /* statements.c */
att_statement att_run_plot;
att_statement att_run_label;  /* statements.c */
att_statement att_run_detail; /* settings.c */
att_statement att_run_round;
att_statement att_run_define;  /* own.c: f(x, W) = … */
att_statement att_run_for;     /* loop.c: for x of X: y = … */
att_statement att_run_expect;  /* expect.c */
att_statement att_run_compare; /* compare.c */
att_statement att_run_given;   /* exercise.c */
att_statement att_run_ask;
att_statement att_run_hint;
att_statement att_run_require;
att_statement att_run_gradient; /* gradient.c */
att_statement att_run_diagram;  /* diagram_statement.c */

/* The statement that a line starts; *out is NULL for text. A line of text that looks like a
 * misspelled statement is an error. */
att_status att_sheet_line_statement(att_interpreter *interpreter, const att_sheet_line *line,
                                    att_statement **out);

/* The same for statements whose first word is often a word of prose: `detail all` is a statement,
 * "detail all of it" is text. */
att_status att_sheet_line_setting(const att_interpreter *interpreter, const att_sheet_line *line,
                                  att_statement **out);

/* The same for `diagram`, which draws what was computed so far. */
att_status att_sheet_line_diagram(const att_interpreter *interpreter, const att_sheet_line *line,
                                  att_statement **out);

/* The offset behind the blanks, or the name, at `at`: `at` where there is none (own.c). */
size_t att_sheet_line_skip_blanks(const att_sheet_line *line, size_t at);
size_t att_sheet_line_skip_name(const att_sheet_line *line, size_t at);

/* Whether the line defines a function: f(x, W) = …. */
bool att_sheet_line_is_definition(const att_sheet_line *line);

/* Whether the line is a loop: for x of X: y = …. A line that only begins like one is text, or, if
 * it has a '=' or a ':' where a loop has them, an error. *body is the offset of its ':'. */
att_status att_sheet_line_loop(const att_interpreter *interpreter, const att_sheet_line *line,
                               size_t *body);

/* Refuses a line of text, or a heading, that has a claim in it: nobody would check it. */
att_status att_sheet_line_reject_claim(const att_interpreter *interpreter,
                                       const att_sheet_line *line);

/* att_sheet_read() with another limit on the bytes of the trace, for tests and fuzzing. */
att_status att_sheet_read_limited(att_sheet **out, const char *text, size_t length,
                                  const char *name, const char *folder, size_t limit,
                                  att_error *err);

/* att_sheet_read() for a variant of an exercise. */
att_status att_sheet_run_variant(att_sheet **out, const char *text, size_t length, const char *name,
                                 const char *folder, const char *variant, att_error *err);

/* Ends the statement: adds its step, with the source text and the comment behind it. */
att_status att_interpreter_add_step(att_interpreter *interpreter, const att_parser *parser,
                                    const att_trace_step *step);

#endif
