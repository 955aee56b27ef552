/* Formulas as plain text, LaTeX and MathML. One walk over the expression decides where parentheses
 * and products go; a notation is a table of how each construct, name, number and word is written. A
 * new notation is one more table. */
#ifndef ATT_RENDER_FORMULA_H
#define ATT_RENDER_FORMULA_H

#include "render/writer.h"
#include "sheet/trace.h"

typedef enum att_construct {
    ATT_CONSTRUCT_ADD,
    ATT_CONSTRUCT_SUBTRACT,
    ATT_CONSTRUCT_PRODUCT,        /* of names */
    ATT_CONSTRUCT_NUMBER_PRODUCT, /* of numbers: the product sign is always printed */
    ATT_CONSTRUCT_DIVIDE,
    ATT_CONSTRUCT_MULTIPLY_ELEMENTWISE,
    ATT_CONSTRUCT_DIVIDE_ELEMENTWISE,
    ATT_CONSTRUCT_LESS, /* comparisons, in the order of att_expr_op */
    ATT_CONSTRUCT_LESS_EQUAL,
    ATT_CONSTRUCT_GREATER,
    ATT_CONSTRUCT_GREATER_EQUAL,
    ATT_CONSTRUCT_EQUAL_TO,
    ATT_CONSTRUCT_NOT_EQUAL_TO,
    ATT_CONSTRUCT_POWER,
    ATT_CONSTRUCT_NEGATE,
    ATT_CONSTRUCT_TRANSPOSE,
    ATT_CONSTRUCT_GROUP,      /* parentheses */
    ATT_CONSTRUCT_GROUP_TALL, /* parentheses around fractions and matrices */
    ATT_CONSTRUCT_CALL,       /* the parentheses of a call and the separator of its arguments */
    ATT_CONSTRUCT_CALL_TALL,
    ATT_CONSTRUCT_SQRT,
    ATT_CONSTRUCT_SQRT_SIMPLE, /* a single name or number as base or exponent */
    ATT_CONSTRUCT_EXP,
    ATT_CONSTRUCT_ABS,
    ATT_CONSTRUCT_MATRIX,     /* brackets, and the separator of rows */
    ATT_CONSTRUCT_ROW,        /* the separator of elements */
    ATT_CONSTRUCT_NUMBER_ROW, /* the separator of elements that are all numbers */
    ATT_CONSTRUCT_LIST,
    ATT_CONSTRUCT_INDEX, /* between a matrix and its indices */
    ATT_CONSTRUCT_INDICES,
    ATT_CONSTRUCT_SUBSCRIPT, /* the name of an element in a calculation */
    ATT_CONSTRUCT_FIELD,
    ATT_CONSTRUCT_OPTION,
    ATT_CONSTRUCT_RANGE,
    ATT_CONSTRUCT_WORDS, /* between the words of a load */
    ATT_CONSTRUCTS,
} att_construct;

typedef struct att_affixes {
    const char *before;
    const char *between;
    const char *after;
    bool encloses_left; /* the notation encloses the operand, so it needs no parentheses */
    bool encloses_right;
} att_affixes;

typedef struct att_notation {
    att_affixes constructs[ATT_CONSTRUCTS];
    const char *ellipsis; /* for omitted elements */
    const char *all;      /* `:` as an index */
    const char *const
        *subscripts;   /* the ten subscript digits; NULL: use the construct of indices */
    bool exp_as_power; /* exp(x) is written as a power, and gets the parentheses of a power */
    bool raw_unicode;  /* characters beyond ASCII are written unchanged */
    void (*name)(att_writer *out, const char *name, const struct att_notation *notation);
    void (*word)(att_writer *out, const char *word, const struct att_notation *notation);
    void (*function)(att_writer *out, const char *name, const struct att_notation *notation);
    void (*string)(att_writer *out, const char *text, const struct att_notation *notation);
    void (*number)(att_writer *out, const char *digits, const struct att_notation *notation);
} att_notation;

extern const att_notation att_notation_unicode;
extern const att_notation att_notation_ascii;
extern const att_notation att_notation_tex;     /* for LaTeX documents: ASCII only */
extern const att_notation att_notation_mathjax; /* for Markdown: LaTeX with raw Unicode */
extern const att_notation att_notation_mathml;
/* The same two with fractions as a / b and plain parentheses, so that a wide one can be broken. */
extern const att_notation att_notation_tex_in_line;
extern const att_notation att_notation_mathjax_in_line;

/* Numbers that the user did not write are rounded to `digits`; ATT_DIGITS_EXACT prints them
 * exactly. */
enum { ATT_DIGITS_EXACT = -1 };
void att_put_formula(att_writer *out, const att_expr *expr, const att_notation *notation,
                     int digits);

/* A term behind a plus sign: with parentheses if it is a sum or begins with a minus sign. */
void att_put_formula_term(att_writer *out, const att_expr *expr, const att_notation *notation,
                          int digits);

/* A single number with its own rounding. */
void att_put_formula_number(att_writer *out, double value, const att_notation *notation,
                            int digits);

/* A matrix inside a formula, in brackets. */
void att_put_formula_matrix(att_writer *out, const att_matrix *matrix, const att_notation *notation,
                            int digits);

/* Whether the expression consists of number literals, so that its value says as much as its
 * formula. */
bool att_expr_is_literal(const att_expr *expr);

/* A name split for mathematical typesetting: "W_Q" is W with index Q, "h1" is h with index 1,
 * "alpha" is a Greek letter. The parts point into the name. */
typedef struct att_name_parts {
    const char *base;
    size_t base_length;
    const char *index; /* NULL: none */
    const struct att_greek *greek;
} att_name_parts;

typedef struct att_greek {
    const char *word;
    const char *letter;
    const char *tex;
} att_greek;

att_name_parts att_name_split(const char *name);

#endif
