/* Worksheet functions: values, calls and the tables of functions (functions.c for element-wise and
 * row-wise functions, blocks.c for attention and other layers). The evaluator checks the number of
 * arguments and the options against the table before it calls a function. */
#ifndef ATT_SHEET_FUNCTION_H
#define ATT_SHEET_FUNCTION_H

#include "sheet/matrix.h"

typedef enum att_value_kind {
    ATT_VALUE_MATRIX, /* `matrix` */
    ATT_VALUE_LIST,   /* `items`: heads */
    ATT_VALUE_RECORD, /* `matrix` is the result, `parts` its fields */
    ATT_VALUE_WORD,   /* `word`: an option such as `dot` or "dot" */
} att_value_kind;

typedef struct att_value {
    att_value_kind kind;
    const att_matrix *matrix;
    const struct att_value *items;
    size_t item_count;
    const att_trace_part *parts;
    size_t part_count;
    const char *word;
} att_value;

/* A call during its evaluation. */
typedef struct att_call {
    att_arena *arena;
    const struct att_function *function;
    const att_expr *node; /* the call as written: child i is argument i, then options */
    const att_value *args;
    size_t arg_count;
    const att_value *options; /* one per row of function->options; kind WORD with word NULL: absent;
                                 a flag that is present is the WORD of its name */
    const struct att_sheet_source *source; /* for att_call_fail(): the sheet's name and text */
    att_error *err;
    const att_rounding *rounding;  /* parts of layers are rounded; NULL: exact */
    struct att_scenario *scenario; /* scenario.h; NULL: none */
} att_call;

/* `accepts` describes the values of an option, for error messages, help and the evaluator.
 * Alternatives are separated by commas and "or"; an alternative of one word is a literal word, one
 * of several words describes an expression: "rows or columns", "a matrix", "causal or a matrix of 0
 * and 1". An option whose words are the names of a table has `word` instead: word(0), word(1), … up
 * to NULL. Neither: a flag, written without a value, such as `causal`. */
typedef struct att_option_spec {
    const char *name;
    const char *accepts;
    const char *(*word)(size_t index);
} att_option_spec;

typedef struct att_function {
    const char *name;
    const char *usage; /* "attention(q, k, v, score = …)" */
    size_t min_args;
    size_t max_args;
    const att_option_spec *options; /* terminated by a NULL name; NULL: no options */
    att_status (*run)(const att_call *call, att_value *out);
} att_function;

/* The tables, each terminated by a NULL name. */
extern const att_function att_plain_functions[]; /* functions.c: softmax, tanh, sum, permute, … */
extern const att_function att_choice_functions[]; /* functions_choose.c: where, sort, random, … */
extern const att_function att_block_functions[];  /* blocks.c: attention, multihead, rnn, … */

/* Fails at the place of `at` (of the call if NULL): sheet, line and column, with the line and a
 * caret as excerpt. */
att_status att_call_fail(const att_call *call, const att_expr *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Argument `index` as a matrix; for a record, its result. */
att_status att_call_matrix(const att_call *call, size_t index, const att_matrix **out);

/* The option called `name`, or NULL if it is absent. */
const att_value *att_call_option(const att_call *call, const char *name);

/* Whether dropout with probability `p` keeps element `index` of a matrix, counted row by row. */
bool att_dropout_keeps(int64_t seed, int64_t index, double p);

/* The largest number of multiplications of one operation: about a minute in plain loops. */
#define ATT_MAX_MULTIPLICATIONS 1e11

/* Parses the formula of a part, such as "softmax(q * k' / sqrt(d_k))"; NULL only when memory is
 * out, because the text is a constant of the library and always parses. */
const att_expr *att_formula(att_arena *arena, const char *text);

/* Function `index` of all tables, from 0; NULL past the last. */
const att_function *att_function_get(size_t index);

/* The function or option of that name, or NULL. */
const att_function *att_function_find(const char *name);
const att_option_spec *att_option_find(const att_function *function, const char *name);

bool att_option_is_flag(const att_option_spec *row);

/* Whether the option accepts the word `word`; whether it accepts only words. */
bool att_option_accepts_word(const att_option_spec *row, const char *word);
bool att_option_accepts_only_words(const att_option_spec *row);

#endif
