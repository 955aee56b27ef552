/* What the files of the program share: verbs, exit codes and error reports. The program stands on
 * attend.h alone; one cmd_<verb>.c per verb, each a row of the table in main.c. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <stddef.h>

#include "attend.h"

#include "options.h"

typedef enum exit_code {
    EXIT_DONE = 0,
    EXIT_CHECK_FAILED = 1, /* an expected value or a check failed */
    EXIT_BAD_INPUT = 2,    /* bad usage, or an unusable file */
    EXIT_SYSTEM = 3,       /* out of memory, or a system error */
    EXIT_STOPPED = 4,      /* stopped by a signal after saving; can be resumed */
} exit_code;

struct verb {
    const char *name;
    const char *operands; /* for the usage line: "[SHEET…]" */
    const char *help;     /* one line, for the list of verbs */
    const char *details;  /* paragraphs of its help, separated by empty lines */
    const option *options;
    bool takes_settings;             /* every training setting is an option, */
    size_t settings_offset;          /* stored in this att_settings * of the verb's settings */
    const char *const *setting_keys; /* only these, ended by NULL; NULL: all */
    const char *operand_suffix;      /* shell completion: "att" files; "": all files */
    const char *(*operand_word)(size_t index); /* shell completion: words for the first operand */
    bool lists_operands;                       /* shell completion: VERB --list prints them */
    bool is_shared;                            /* by the processes that mpirun starts */
    void (*print_extra_help)(void);            /* printed after the options, or NULL */
    /* Called before the help is printed, for settings that depend on the operands; or NULL. */
    exit_code (*before_help)(void *settings, const struct verb *verb, int count, char **operands);
    exit_code (*run)(const struct verb *verb, int count, char **args);
};

/* The table of verbs, ended by a NULL name. */
extern const struct verb verbs[];
const struct verb *verb_find(const char *name);
const char *verb_name(size_t index); /* NULL after the last */

/* Reports an unknown verb, with a suggestion if a name is close. */
exit_code unknown_verb(const char *name);

exit_code explain_run(const struct verb *verb, int count, char **args);
extern const option explain_options[];
extern const char explain_details[];

exit_code exercise_run(const struct verb *verb, int count, char **args);
extern const option exercise_options[];
extern const char exercise_details[];

exit_code grade_run(const struct verb *verb, int count, char **args);
extern const option grade_options[];
extern const char grade_details[];

exit_code bench_run(const struct verb *verb, int count, char **args);
extern const option bench_options[];
extern const char bench_details[];

exit_code selftest_run(const struct verb *verb, int count, char **args);
extern const option selftest_options[];
extern const char selftest_details[];

exit_code gradcheck_run(const struct verb *verb, int count, char **args);
extern const option gradcheck_options[];
extern const char gradcheck_details[];

exit_code train_run(const struct verb *verb, int count, char **args);
extern const option train_options[];
extern const char train_details[];
const char *train_task(size_t index);
exit_code train_set_task(void *settings, const struct verb *verb, int count, char **operands);

exit_code shortlist_run(const struct verb *verb, int count, char **args);
extern const option shortlist_options[];
extern const char shortlist_details[];

exit_code quantize_run(const struct verb *verb, int count, char **args);
extern const option quantize_options[];
extern const char quantize_details[];

exit_code prepare_run(const struct verb *verb, int count, char **args);
extern const option prepare_options[];
extern const char prepare_details[];
extern const char *const prepare_setting_keys[];
const char *prepare_task(size_t index);
exit_code prepare_set_task(void *settings, const struct verb *verb, int count, char **operands);

exit_code info_run(const struct verb *verb, int count, char **args);
extern const option info_options[];
extern const char info_details[];

exit_code run_run(const struct verb *verb, int count, char **args);
extern const option run_options[];
extern const char run_details[];

exit_code eval_run(const struct verb *verb, int count, char **args);
extern const option eval_options[];
extern const char eval_details[];
void eval_print_metrics(void);

exit_code score_run(const struct verb *verb, int count, char **args);
extern const option score_options[];
extern const char score_details[];

exit_code show_run(const struct verb *verb, int count, char **args);
extern const option show_options[];
extern const char show_details[];

exit_code import_run(const struct verb *verb, int count, char **args);
extern const option import_options[];
extern const char import_details[];
const char *import_format(size_t index);
void import_print_formats(void);

exit_code cells_run(const struct verb *verb, int count, char **args);
extern const option cells_options[];
extern const char cells_details[];
extern const char *const signal_choices[]; /* NULL-ended, in the order of att_unit_signal */

exit_code features_run(const struct verb *verb, int count, char **args);
extern const option features_options[];
extern const char features_details[];

exit_code help_run(const struct verb *verb, int count, char **args);
extern const option help_options[];
extern const char help_details[];

/* Prints the help of one verb to standard output. Training settings are listed with their values in
 * `settings` (NULL: their defaults); `used_only` leaves out those that the task and the
 * architecture chosen there do not use. */
exit_code help_verb(const struct verb *verb, const att_settings *settings, bool used_only);

/* Prints the list of verbs. */
exit_code help_program(void);

/* Appends a document made from the option tables (option_documents.c). */
typedef att_status option_document(att_string *out);
option_document completion_bash, completion_zsh, completion_mdoc;

/* Parses options into `settings` wherever they stand among `args`, and moves the operands to the
 * front; *operands receives their number. `--` ends the options; `-` is an operand. Returns true if
 * the verb is to run. Otherwise the help was printed or an error reported, and *code is the exit
 * code. */
bool options_parse(exit_code *code, const struct verb *verb, int count, char **args, void *settings,
                   int *operands);

/* Reports an option that was given and does not apply to models of this type. */
exit_code options_check_model_type(const struct verb *verb, att_model_type type,
                                   const void *settings, const void *defaults);

/* Reports an error on standard error as `file:line:column: message`, with the line and a caret
 * where they are known, and returns the exit code for it. */
exit_code report(att_status status, const att_error *err);

/* The exit code alone. */
exit_code report_code(att_status status);

/* Reports a mistake in the command line, and which help to read. `verb` may be NULL. */
exit_code report_usage(const struct verb *verb, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Fills *err and returns `status`, for errors that the program itself finds. */
att_status error_set(att_error *err, att_status status, const char *place, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The same for errno `code`: "cannot <doing>: <reason>". ATT_BAD_INPUT where another path or other
 * permissions would help, otherwise ATT_SYSTEM. */
att_status error_system(att_error *err, const char *place, const char *doing, int code);

att_status error_memory(att_error *err);

/* Names the place of bad input if the library, which only saw a string, could not. */
void error_set_place(att_error *err, att_status status, const char *place);

/* Names the model at `path` as the place of an error that the model has caused, by its weights or
 * by its type, where the input is not a file that could be named. */
void error_blame_model(att_error *err, att_status status, const char *path);

/* The worse of two outcomes. */
exit_code worse(exit_code a, exit_code b);

#endif
