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
    bool numbered; /* the labels are positions from 0: selections keep them, arithmetic does not */
    double magnitude; /* of the terms that were added up to its numbers, so that round-off beside
                         them is shown as 0; or 0 */
} att_matrix;

/* How the steps of a sheet are rounded (rounding.h). */
typedef struct att_rounding {
    int decimals;
    bool cut; /* decimals are cut off instead of rounded */
} att_rounding;

/* The calculation of one element with its numbers: left = right = value. */
typedef struct att_calculation {
    const att_expr *left;
    const att_expr *right;
    const att_matrix *value;
    int64_t row;  /* row (query) of the element, from 1; 0: no row */
    bool rounded; /* the value is rounded as by hand: left = right ≈ value */
} att_calculation;

/* A named intermediate result of a step, which the sheet can read as a field. */
typedef struct att_trace_part {
    const char *name;        /* "scores" */
    bool inner;              /* an inner result of the statement, shown with its derivation */
    const char *path;        /* of a gradient: how the sheet reads it, "a.grad.scores"; or NULL */
    int64_t head;            /* from 1; 0 where there are no heads */
    const char *description; /* one sentence: "one score per query and key"; or NULL */
    const att_expr *formula; /* NULL: an input */
    const att_matrix *value;
    const att_matrix *rounded; /* the value with each step rounded; or NULL */
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
    ATT_RULE_GRADIENT, /* gradient … check: gradients and central differences of `left` agree:
                          |difference| <= tolerance * (1 + |gradient|) */
    ATT_RULE_ERROR,    /* expect error: evaluating `left` must fail with `error_contains` */
} att_rule;

/* The outcome of an `expect` or `compare` statement. */
typedef struct att_check {
    bool passed;
    bool negated;                 /* expect not */
    bool by_hand;                 /* about the results with each step rounded */
    const att_rounding *rounding; /* by_hand: how */
    const att_expr *left;         /* the checked expression; NULL: compare all */
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

/* An `ask` of an exercise: a value that students compute. */
typedef struct att_ask {
    size_t number;           /* from 1, in the order of the sheet */
    const char *name;        /* the expression as written: "a.weights" */
    const char *description; /* "the weights" */
    const att_expr *formula;
    const att_matrix *value;
    double points;
    bool partial; /* points by element */
    bool rounded; /* the rule is `as rounded`; otherwise `rule`, `tolerance` and `digits` */
    att_rule rule;
    double tolerance;
    int digits;
    const char *hints[4]; /* NULL after the last */
    /* Where the value is computed, so that a student's numbers can take its place (scenario.h): the
     * elements `places` of the value, or of the part, that is assigned to `target` at `line`.
     * target NULL: it is an expression, which nothing later uses. */
    const char *target;
    const char *part;
    int64_t head;
    int line;
    const int64_t *places; /* one per element of `value`, row-major */
} att_ask;

/* The loop that a value is computed in. */
typedef struct att_trace_loop {
    const char *variable;
    const att_expr *over;
    bool rows;    /* `of`: rows or items; otherwise numbers */
    size_t index; /* of the assignment in the loop, from 0, */
    size_t count; /* of so many */
} att_trace_loop;

typedef enum att_step_kind {
    ATT_STEP_HEADING, /* `text`, `level` 1 to 3 */
    ATT_STEP_PROSE,   /* `text`: a paragraph; consecutive lines are joined with '\n' */
    ATT_STEP_VALUE,   /* `name` = `formula`: `value`, with `parts`; name NULL: `show`; value NULL: a
                         list, whose items are the parts, called W[1], W[2], …, or, without parts, a
                         definition, called f(x, W); `text` of a loop: "for x of X" */
    ATT_STEP_CHECK,   /* `check` */
    ATT_STEP_ERROR,   /* expect error that passed: `formula`, and the error message in `text` */
    ATT_STEP_PLOT,    /* `map` of `formula` */
    ATT_STEP_ASK,     /* `ask` */
    ATT_STEP_GRADIENT, /* the gradient of `formula`: `parts` from the result to the inputs; `text`
                          is a sentence */
    ATT_STEP_DIAGRAM,  /* of the values before it, or of what leads to `name`; `text`: the title, or
                          NULL */
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
    const att_matrix *rounded;           /* `value` with each step rounded; or NULL */
    const att_rounding *rounding;        /* how; NULL where steps are not rounded */
    const att_calculation *calculations; /* of `value`, if no part has them */
    size_t calculation_count;
    att_detail detail; /* how much of the derivation is shown, as the sheet says */
    const att_check *check;
    const att_map *map;
    const att_ask *ask;
    const att_expr *with;       /* ATT_STEP_GRADIENT: the gradient it starts with; NULL: 1 */
    bool given;                 /* ATT_STEP_VALUE: stated by `given` */
    const att_trace_loop *loop; /* ATT_STEP_VALUE: computed in it; or NULL */
    const struct att_own_function *function; /* ATT_STEP_VALUE: defined by it (own.h); or NULL */
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
    att_ask **asks; /* of an exercise */
    size_t ask_count, ask_capacity;
    bool random;   /* a `given` is drawn for each variant */
    uint64_t draw; /* which draw of it satisfies every `require`, from 0 */
    bool paper;    /* a question paper or its solution: readers have no sheet with numbered lines */
    bool solution; /* the document states the values of asks instead of blanks */
};

#endif
