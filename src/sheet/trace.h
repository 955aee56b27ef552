/* The trace: the result of running a sheet. The interpreter writes it and renderers read it.
 * Everything lives in the sheet's arena and is constant once made. */
#ifndef ATT_SHEET_TRACE_H
#define ATT_SHEET_TRACE_H

#include "attend.h"
#include "base/arena.h"
#include "sheet/expr.h"

/* A matrix of a sheet. Scalars are 1 × 1. */
typedef struct att_matrix {
    int64_t rows;
    int64_t cols;
    double *data;                  /* [rows, cols] */
    const uint8_t *allowed;        /* [rows, cols], 0: masked, shown as masked; NULL: no mask */
    const char *const *row_labels; /* [rows], entries may be NULL; or NULL */
    const char *const *col_labels; /* [cols]; or NULL */
} att_matrix;

/* The calculation of one element with its numbers: left = right = value. */
typedef struct att_calculation {
    const att_expr *left;
    const att_expr *right;
    const att_matrix *value;
    int64_t row; /* row (query) of the element, from 1; 0: no row */
} att_calculation;

/* A named intermediate result of a step, which the sheet can read as a field. */
typedef struct att_trace_part {
    const char *name;        /* "scores" */
    int64_t head;            /* from 1; 0 where there are no heads */
    const char *description; /* one sentence: "one score per query and key"; or NULL */
    const att_expr *formula; /* NULL: an input */
    const att_matrix *value;
    const att_calculation *calculations;
    size_t calculation_count;
} att_trace_part;

typedef enum att_rule {
    ATT_RULE_WITHIN,  /* |actual - expected| <= tolerance */
    ATT_RULE_PERCENT, /* |actual - expected| <= tolerance / 100 * |expected| */
    ATT_RULE_DIGITS, /* within half a unit of digit `digits` (significant) of the expected number */
    ATT_RULE_DECIMALS, /* within half a unit of decimal `digits` */
    ATT_RULE_PRINTED,  /* within half a unit of the last digit of each written number */
    ATT_RULE_DEFAULT,  /* no rule given: |actual - expected| <= tolerance * (1 + |expected|) */
    ATT_RULE_ERROR,    /* expect error: evaluating `left` must fail with `error_contains` */
} att_rule;

/* The outcome of an `expect` or `compare` statement. */
typedef struct att_check {
    bool passed;
    bool negated;          /* expect not */
    const att_expr *left;  /* the checked expression; NULL: compare all */
    const att_expr *right; /* the expected expression; NULL for a comparison with a file and for
                              ATT_RULE_ERROR */
    const char *file;      /* comparison: the file, else NULL */
    const char *array;     /* comparison: name of the array if given, else NULL */
    const att_expr *load;  /* comparison: file, array and indices, as ATT_EXPR_LOAD; else NULL */
    att_rule rule;
    double tolerance;           /* ATT_RULE_WITHIN, ATT_RULE_PERCENT, ATT_RULE_DEFAULT */
    int digits;                 /* ATT_RULE_DIGITS, ATT_RULE_DECIMALS */
    const char *error_contains; /* ATT_RULE_ERROR: text that the error must contain, or NULL */
    const att_matrix *actual;
    const att_matrix *expected;
    const char *part;       /* comparison of several: the first step or field that differs */
    int64_t mismatch_count; /* elements out of tolerance */
    int64_t row;            /* place of the first one, from 1; 0: none */
    int64_t col;
    double max_difference; /* the largest difference */
    const char *message;   /* the outcome in one sentence: element and difference */
} att_check;

typedef enum att_step_kind {
    ATT_STEP_HEADING, /* `text`, `level` 1 to 3 */
    ATT_STEP_PROSE,   /* `text`: a paragraph; consecutive lines are joined with '\n' */
    ATT_STEP_VALUE,   /* `name` = `formula`: `value`, with `parts`; name NULL: `show`; value NULL: a
                         list, whose items are the parts, called W[1], W[2], … */
    ATT_STEP_CHECK,   /* `check` */
    ATT_STEP_ERROR,   /* expect error that passed: `formula`, and the error message in `text` */
    ATT_STEP_PLOT,    /* `map` of `formula` */
} att_step_kind;

typedef struct att_trace_step {
    att_step_kind kind;
    int line;            /* in the sheet, from 1 */
    const char *source;  /* the statement as in the sheet */
    const char *comment; /* the comment behind the statement, or NULL */
    const char *text;
    int level;
    const char *name;
    const att_expr *formula;
    const att_matrix *value;
    const att_trace_part *parts;
    size_t part_count;
    const att_check *check;
    const att_map *map;
} att_trace_step;

struct att_sheet {
    att_arena arena;
    const char *name; /* the file, as given */
    att_trace_step *steps;
    size_t step_count;
    size_t step_capacity;
    const att_map **maps;
    size_t map_count;
    const char **files; /* files that the sheet reads; the capacity is a power of two */
    size_t file_count;
    size_t checks;
    size_t failures;
};

#endif
