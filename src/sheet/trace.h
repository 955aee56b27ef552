/* The trace: what a worked-out sheet is. The sheet's evaluator writes it, renderers read it, and
 * neither knows the other. Everything lives in the sheet's arena and is constant once made. */
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
    const uint8_t *allowed;        /* [rows, cols], 0: masked, shown as such; NULL: none is */
    const char *const *row_labels; /* [rows], entries may be NULL; or NULL */
    const char *const *col_labels; /* [cols]; or NULL */
} att_matrix;

/* One element's sum written out, as on the chalkboard: left = right = value. */
typedef struct att_calculation {
    const att_expr *left;
    const att_expr *right;
    const att_matrix *value;
    int64_t row; /* the row (query) it belongs to, from 1; 0: none */
} att_calculation;

/* A named intermediate result of a step, usable in the sheet as a field. */
typedef struct att_trace_part {
    const char *name; /* "scores" */
    int64_t head;     /* from 1; 0 where there are no heads */
    const char
        *description; /* what happens here, in words: "one score per query and key"; or NULL */
    const att_expr *formula; /* how it comes about; NULL: an input as given */
    const att_matrix *value;
    const att_calculation *calculations;
    size_t calculation_count;
} att_trace_part;

typedef enum att_rule {
    ATT_RULE_WITHIN,   /* |found - wanted| <= tolerance */
    ATT_RULE_DIGITS,   /* within half a unit of so many significant digits of what was wanted */
    ATT_RULE_DECIMALS, /* within half a unit of so many digits after the point */
    ATT_RULE_PRINTED,  /* within half a unit of the last digit that was written, each number */
    ATT_RULE_DEFAULT,  /* no rule was given: |found - wanted| <= tolerance * (1 + |wanted|) */
    ATT_RULE_ERROR,    /* expect error: `left` should have been refused, with the words `saying` */
} att_rule;

/* An expectation or comparison, decided. */
typedef struct att_check {
    bool passed;
    bool negated;          /* expect not */
    const att_expr *left;  /* what was checked */
    const att_expr *right; /* what it should be; NULL for a comparison with a file, and for
                              ATT_RULE_ERROR */
    const char *file;      /* comparison: the file, else NULL */
    const char *array;     /* comparison: the array's name in the file, if it was said, or NULL */
    att_rule rule;
    double tolerance;           /* ATT_RULE_WITHIN, ATT_RULE_DEFAULT */
    int digits;                 /* ATT_RULE_DIGITS, ATT_RULE_DECIMALS */
    const char *error_contains; /* ATT_RULE_ERROR: words that the error should have held, or NULL */
    const att_matrix *actual;
    const att_matrix *expected;
    const char *part;       /* comparison of many: the first step or field that differs */
    int64_t mismatch_count; /* elements out of tolerance */
    int64_t row;            /* the first of them, from 1; 0: none */
    int64_t col;
    double max_difference; /* the largest difference */
    const char *message;   /* the outcome in one sentence: which element, by how much */
} att_check;

typedef enum att_step_kind {
    ATT_STEP_HEADING, /* `text`, `level` 1 to 3 */
    ATT_STEP_PROSE,   /* `text`: a paragraph; consecutive lines are joined with '\n' */
    ATT_STEP_VALUE,   /* `name` = `formula`: `value`, with `parts`; name NULL: `show`; value NULL: a
                         list, whose items are the parts, called W[1], W[2], … */
    ATT_STEP_CHECK,   /* `check` */
    ATT_STEP_ERROR,   /* expect error: `formula` and, in `text`, the error it rightly raised */
    ATT_STEP_PLOT,    /* `map` of `formula` */
} att_step_kind;

typedef struct att_trace_step {
    att_step_kind kind;
    int line;            /* in the sheet, from 1 */
    const char *source;  /* the statement as written */
    const char *comment; /* a comment after the statement, or NULL */
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
    const char **files; /* that were named to be read; room for the next power of two */
    size_t file_count;
    size_t checks;
    size_t failures;
};

#endif
