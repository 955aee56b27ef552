/* What the program's files share: verbs, exit codes, and how failures are told. The program stands
 * on attend.h alone; one cmd_<verb>.c per verb, each a row of the table in main.c. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include "attend.h"

#include "options.h"

typedef enum exit_code {
    EXIT_DONE = 0,
    EXIT_CHECK_FAILED = 1, /* an expectation does not hold, or a check */
    EXIT_BAD_INPUT = 2,    /* usage, or a file that cannot be used */
    EXIT_SYSTEM = 3,       /* out of memory, or the system refused */
} exit_code;

struct verb {
    const char *name;
    const char *operands; /* for the usage line: "[SHEET…]" */
    const char *help;     /* one line, for the list of verbs */
    const char *details;  /* paragraphs for its help */
    const option *options;
    void (*print_extra_help)(const void *about); /* help after the options, or NULL */
    exit_code (*run)(const struct verb *verb, int count, char **args);
};

/* The table of verbs, ended by a NULL name. */
extern const struct verb verbs[];
const struct verb *verb_find(const char *name);

/* Tells that there is no such verb, and the nearest if one is near. */
exit_code unknown_verb(const char *name);

exit_code explain_run(const struct verb *verb, int count, char **args);
extern const option explain_options[];
extern const char explain_details[];

exit_code bench_run(const struct verb *verb, int count, char **args);
extern const option bench_options[];
extern const char bench_details[];

exit_code gradcheck_run(const struct verb *verb, int count, char **args);
extern const option gradcheck_options[];
extern const char gradcheck_details[];

exit_code train_run(const struct verb *verb, int count, char **args);
extern const option train_options[];
extern const char train_details[];
void train_print_settings(const void *request);

exit_code info_run(const struct verb *verb, int count, char **args);
extern const option info_options[];
extern const char info_details[];

exit_code run_run(const struct verb *verb, int count, char **args);
extern const option run_options[];
extern const char run_details[];

exit_code eval_run(const struct verb *verb, int count, char **args);
extern const option eval_options[];
extern const char eval_details[];

exit_code score_run(const struct verb *verb, int count, char **args);
extern const option score_options[];
extern const char score_details[];

exit_code show_run(const struct verb *verb, int count, char **args);
extern const option show_options[];
extern const char show_details[];

exit_code import_run(const struct verb *verb, int count, char **args);
extern const option import_options[];
extern const char import_details[];
void import_print_formats(const void *about);

exit_code cells_run(const struct verb *verb, int count, char **args);
extern const option cells_options[];
extern const char cells_details[];
extern const char *const signal_choices[]; /* NULL-ended, in the order of att_unit_signal */

exit_code features_run(const struct verb *verb, int count, char **args);
extern const option features_options[];
extern const char features_details[];

exit_code help_run(const struct verb *verb, int count, char **args);

/* Writes the help of one verb, or the list of verbs, to standard output. */
exit_code help_verb(const struct verb *verb);
exit_code help_verb_about(const struct verb *verb, const void *about); /* told to print_more */
exit_code help_program(void);

/* Tells a failure on standard error as `file:line:column: message`, with the line and a caret where
 * they are known, and gives the exit code for it. */
exit_code report(att_status status, const att_error *err);

/* Tells a mistake in how the program was called, and where to read on. `verb` may be NULL. */
exit_code report_usage(const struct verb *verb, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Fills *err and returns `status`, for failures that the program itself finds. */
att_status error_set(att_error *err, att_status status, const char *place, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

att_status error_memory(att_error *err);

/* Names the place of bad input where the library, which was given a text, could not. */
void error_set_place(att_error *err, att_status status, const char *place);

/* The worse of two outcomes. */
exit_code worse(exit_code a, exit_code b);

#endif
