/* Expression trees of the worksheet language. The parser makes them from the text; the evaluator
 * makes more of them for calculations ("0.4·0.1 + 0.5·0.2 = 0.14"); renderers print both as text,
 * LaTeX or MathML. All nodes live in the sheet's arena. */
#ifndef ATT_SHEET_EXPR_H
#define ATT_SHEET_EXPR_H

#include "base/arena.h"
#include "base/error.h"

#include <stddef.h>

struct att_matrix;

typedef enum att_expr_kind {
    ATT_EXPR_NUMBER,    /* `text` as written, or NULL: show `number` rounded */
    ATT_EXPR_CONSTANT,  /* `matrix`: a value printed in place, in calculations */
    ATT_EXPR_NAME,      /* `text` */
    ATT_EXPR_STRING,    /* `text`, unescaped */
    ATT_EXPR_FIELD,     /* child 0 . `text` */
    ATT_EXPR_INDEX,     /* child 0 [ child 1 (, child 2) ]; from 1 */
    ATT_EXPR_ALL,       /* `:` alone as an index */
    ATT_EXPR_RANGE,     /* child 0 : child 1, as an index or a row of numbers */
    ATT_EXPR_CALL,      /* `text` ( children ); options last, as ATT_EXPR_OPTION */
    ATT_EXPR_OPTION,    /* `text` = child 0; without a child: a flag such as `causal` */
    ATT_EXPR_NEGATE,    /* - child 0 */
    ATT_EXPR_TRANSPOSE, /* child 0 ' */
    ATT_EXPR_BINARY,    /* child 0 `op` child 1 */
    ATT_EXPR_ROW,       /* one row of a matrix: children side by side */
    ATT_EXPR_MATRIX,    /* children are rows, one above the other */
    ATT_EXPR_LIST,      /* { children }: heads */
    ATT_EXPR_LOAD,      /* load "file" ("name") (at i j …): child 0 string, child 1 name or NULL,
                           children 2… indices */
    ATT_EXPR_INDEXED,   /* a subscripted name in calculations: `text` with children as indices */
} att_expr_kind;

typedef enum att_expr_op {
    ATT_OP_ADD,
    ATT_OP_SUBTRACT,
    ATT_OP_MULTIPLY,             /* matrix product; a scalar on either side scales */
    ATT_OP_DIVIDE,               /* by a scalar or element by element */
    ATT_OP_MULTIPLY_ELEMENTWISE, /* .* element by element */
    ATT_OP_POWER,                /* ^ element by element */
    ATT_OP_DIVIDE_ELEMENTWISE,   /* ./ element by element, with broadcasting */
    ATT_OP_LESS,                 /* comparisons, element by element: 1 or 0 */
    ATT_OP_LESS_EQUAL,
    ATT_OP_GREATER,
    ATT_OP_GREATER_EQUAL,
    ATT_OP_EQUAL_TO,
    ATT_OP_NOT_EQUAL_TO,
} att_expr_op;

/* What a node was when it was evaluated; the body of a function or loop may be several things. */
typedef enum att_expr_shape {
    ATT_SHAPE_UNKNOWN, /* not evaluated yet */
    ATT_SHAPE_LIST,
    ATT_SHAPE_NUMBER,
    ATT_SHAPE_ROW,
    ATT_SHAPE_MATRIX,
    ATT_SHAPE_MIXED,
} att_expr_shape;

typedef struct att_expr {
    att_expr_kind kind;
    att_expr_op op;
    double number;
    const char *text;
    const struct att_matrix *matrix; /* ATT_EXPR_CONSTANT: the value; else the value that the node
                                        had when it was last evaluated, or NULL */
    att_expr_shape shape;
    struct att_expr **child;
    size_t children;
    int height; /* height of the tree; the parser limits it, so recursion is safe */
    int line;   /* line in the sheet, from 1; 0: not from the sheet */
    int column; /* in code points, from 1 */
    int end_line;
    int end_column; /* one past its last character, on its last line */
} att_expr;

#endif
