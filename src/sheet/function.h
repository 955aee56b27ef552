/* What a sheet function gets and gives. Functions are rows of tables (functions.c for the plain
 * ones, blocks.c for attention and other layers); the evaluator checks counts and option names
 * against the row before it calls. */
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

/* A call being worked out. */
typedef struct att_call {
    att_arena *arena;
    const struct att_function *function;
    const att_expr *node; /* the call as written: child i is argument i, then options */
    const att_value *args;
    size_t arg_count;
    const att_value *options; /* one per row of function->options; kind WORD with word NULL: absent;
                                 a flag that is present is the WORD of its own name */
    const struct att_sheet_source *source; /* for att_call_fail(): the sheet's name and text */
    att_error *err;
} att_call;

/* `takes` says what the option takes, for errors, help and the evaluator alike. Alternatives are
 * separated by commas and "or"; one of a single word is a word to write as it is, one of several
 * describes an expression: "dot, scaled or general", "a matrix", "causal or a matrix of 0 and 1".
 * NULL: a flag, written without a value, such as `causal`. */
typedef struct att_option_spec {
    const char *name;
    const char *accepts;
} att_option_spec;

typedef struct att_function {
    const char *name;
    const char *usage; /* "attention(q, k, v, score = …)" */
    size_t min_args;
    size_t max_args;
    const att_option_spec *options; /* ends with a NULL name; NULL: none */
    att_status (*run)(const att_call *call, att_value *out);
} att_function;

/* The tables; each ends with a NULL name. */
extern const att_function att_plain_functions[]; /* functions.c: softmax, tanh, sum, permute, … */
extern const att_function att_block_functions[]; /* blocks.c: attention, multihead, rnn, … */

/* Fails with the sheet's name, the place of `at` (or of the call, if NULL), the line and a caret.
 */
att_status att_call_fail(const att_call *call, const att_expr *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Argument `index` as a matrix; a record counts as its result. Fails with what was found. */
att_status att_call_matrix(const att_call *call, size_t index, const att_matrix **out);

/* The option called `name`, or NULL where it is absent. */
const att_value *att_call_option(const att_call *call, const char *name);

/* Multiplications that one operation of a sheet may take: beyond it, plain loops are no longer a
 * matter of a minute. */
#define ATT_MAX_MULTIPLICATIONS 1e11

/* Parses a formula for a part, such as "softmax(q * k' / sqrt(d_k))"; NULL only when memory is out.
 * The text is ours, so it always parses. */
const att_expr *att_formula(att_arena *arena, const char *text);

/* NULL where there is none of that name. */
const att_function *att_function_find(const char *name);
const att_option_spec *att_option_find(const att_function *function, const char *name);

/* True where `word` is one of the words that the option takes; where it takes nothing but words. */
bool att_option_accepts_word(const att_option_spec *row, const char *word);
bool att_option_accepts_only_words(const att_option_spec *row);

#endif
