/* The walk over an expression that all notations share: precedence, parentheses, products and
 * abbreviation of long lists. */
#include "render/formula.h"

#include "base/minmax.h"
#include "render/number.h"

#include <math.h>
#include <string.h>

/* Precedence of operators, lowest first. */
enum precedence {
    PRECEDENCE_NONE,
    PRECEDENCE_COMPARE,
    PRECEDENCE_SUM,
    PRECEDENCE_PRODUCT,
    PRECEDENCE_SIGN,
    PRECEDENCE_POWER,
    PRECEDENCE_POSTFIX,
    PRECEDENCE_ATOM
};

enum { MAX_ELEMENTS = 12, FIRST_ELEMENTS = 6, LAST_ELEMENTS = 2 };

struct operator_row {
    att_construct construct;
    enum precedence precedence;
    bool right_associative; /* a ^ b ^ c is a ^ (b ^ c) */
};

static const struct operator_row operators[] = {
    [ATT_OP_ADD] = { ATT_CONSTRUCT_ADD, PRECEDENCE_SUM, false },
    [ATT_OP_SUBTRACT] = { ATT_CONSTRUCT_SUBTRACT, PRECEDENCE_SUM, false },
    [ATT_OP_MULTIPLY] = { ATT_CONSTRUCT_PRODUCT, PRECEDENCE_PRODUCT, false },
    [ATT_OP_DIVIDE] = { ATT_CONSTRUCT_DIVIDE, PRECEDENCE_PRODUCT, false },
    [ATT_OP_MULTIPLY_ELEMENTWISE] = { ATT_CONSTRUCT_MULTIPLY_ELEMENTWISE, PRECEDENCE_PRODUCT,
                                      false },
    [ATT_OP_POWER] = { ATT_CONSTRUCT_POWER, PRECEDENCE_POWER, true },
    [ATT_OP_DIVIDE_ELEMENTWISE] = { ATT_CONSTRUCT_DIVIDE_ELEMENTWISE, PRECEDENCE_PRODUCT, false },
    [ATT_OP_LESS] = { ATT_CONSTRUCT_LESS, PRECEDENCE_COMPARE, false },
    [ATT_OP_LESS_EQUAL] = { ATT_CONSTRUCT_LESS_EQUAL, PRECEDENCE_COMPARE, false },
    [ATT_OP_GREATER] = { ATT_CONSTRUCT_GREATER, PRECEDENCE_COMPARE, false },
    [ATT_OP_GREATER_EQUAL] = { ATT_CONSTRUCT_GREATER_EQUAL, PRECEDENCE_COMPARE, false },
    [ATT_OP_EQUAL_TO] = { ATT_CONSTRUCT_EQUAL_TO, PRECEDENCE_COMPARE, false },
    [ATT_OP_NOT_EQUAL_TO] = { ATT_CONSTRUCT_NOT_EQUAL_TO, PRECEDENCE_COMPARE, false },
};

/* Functions with a mathematical notation of their own, such as roots and norms. */
static const struct function_notation {
    const char *name;
    att_construct construct;
} function_notations[] = {
    { "sqrt", ATT_CONSTRUCT_SQRT },
    { "exp", ATT_CONSTRUCT_EXP },
    { "abs", ATT_CONSTRUCT_ABS },
};

struct formula_printer {
    att_writer *out;
    const att_notation *notation;
    int digits;
};

static void put(const struct formula_printer *w, const att_expr *e, enum precedence lowest,
                bool leading);

static const att_affixes *construct(const struct formula_printer *w, att_construct which)
{
    return &w->notation->constructs[which];
}

static const struct function_notation *function_notation_of(const att_expr *e)
{
    if (e->kind != ATT_EXPR_CALL || e->children != 1 || e->child[0]->kind == ATT_EXPR_OPTION)
        return NULL;
    for (size_t i = 0; i < ATT_COUNT(function_notations); i++)
        if (strcmp(function_notations[i].name, e->text) == 0)
            return &function_notations[i];
    return NULL;
}

static enum precedence precedence_of(const struct formula_printer *w, const att_expr *e)
{
    const struct function_notation *sign;
    switch (e->kind) {
    case ATT_EXPR_BINARY:
        return operators[e->op].precedence;
    case ATT_EXPR_NEGATE:
        return PRECEDENCE_SIGN;
    case ATT_EXPR_RANGE:
        return PRECEDENCE_SUM;
    case ATT_EXPR_NUMBER:
        return (e->text ? e->text[0] == '-' : signbit(e->number) && e->number != 0)
                   ? PRECEDENCE_SIGN
                   : PRECEDENCE_ATOM;
    case ATT_EXPR_CALL:
        sign = function_notation_of(e);
        return sign && sign->construct == ATT_CONSTRUCT_EXP && w->notation->exp_as_power
                   ? PRECEDENCE_POWER
                   : PRECEDENCE_ATOM;
    case ATT_EXPR_TRANSPOSE:
    case ATT_EXPR_INDEX:
    case ATT_EXPR_FIELD:
    case ATT_EXPR_INDEXED:
        return PRECEDENCE_POSTFIX;
    default:
        return PRECEDENCE_ATOM;
    }
}

/* Whether the expression is a number or begins with one. */
static bool begins_with_number(const att_expr *e)
{
    while (e->kind == ATT_EXPR_BINARY || e->kind == ATT_EXPR_TRANSPOSE)
        e = e->child[0];
    return e->kind == ATT_EXPR_CONSTANT || e->kind == ATT_EXPR_INDEXED ||
           e->kind == ATT_EXPR_NEGATE || att_expr_is_literal(e);
}

static void put_binary(const struct formula_printer *w, const att_expr *e, bool leading)
{
    const struct operator_row *row = &operators[e->op];
    att_construct which = row->construct;
    if (which == ATT_CONSTRUCT_PRODUCT && begins_with_number(e->child[1]))
        which = ATT_CONSTRUCT_NUMBER_PRODUCT;
    const att_affixes *a = construct(w, which);
    enum precedence own = row->precedence, next = (enum precedence)(own + 1);
    enum precedence left = row->right_associative ? PRECEDENCE_POSTFIX : own;
    enum precedence right = row->right_associative ? own : next;
    att_put(w->out, a->before);
    put(w, e->child[0], a->encloses_left ? PRECEDENCE_NONE : left, a->encloses_left || leading);
    att_put(w->out, a->between);
    put(w, e->child[1], a->encloses_right ? PRECEDENCE_NONE : right, a->encloses_right);
    att_put(w->out, a->after);
}

/* Whether the expression is taller than a line in notations that draw fractions and matrices. */
static bool is_tall(const att_expr *e)
{
    bool fraction = e->kind == ATT_EXPR_BINARY && e->op == ATT_OP_DIVIDE;
    if (fraction || e->kind == ATT_EXPR_MATRIX || e->kind == ATT_EXPR_CONSTANT)
        return true;
    for (size_t i = 0; i < e->children; i++)
        if (e->child[i] && is_tall(e->child[i]))
            return true;
    return false;
}

/* Prefix, operand, suffix; the operand gets parentheses if its precedence is below `lowest`. */
static void put_around(const struct formula_printer *w, att_construct which, const att_expr *e,
                       enum precedence lowest)
{
    const att_affixes *a = construct(w, which);
    att_put(w->out, a->before);
    put(w, e, a->encloses_left ? PRECEDENCE_NONE : lowest, a->encloses_left);
    att_put(w->out, a->after);
}

static bool is_omitted(size_t i, size_t count)
{
    return count > MAX_ELEMENTS && i >= FIRST_ELEMENTS && i < count - LAST_ELEMENTS;
}

/* Children from `first` on, with the separators of a construct; long lists are abbreviated. */
static void put_list(const struct formula_printer *w, const att_expr *e, size_t first,
                     att_construct which)
{
    const att_affixes *a = construct(w, which);
    size_t count = e->children - first;
    att_put(w->out, a->before);
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && !(is_omitted(i, count) && i > FIRST_ELEMENTS))
            att_put(w->out, a->between);
        if (!is_omitted(i, count))
            put(w, e->child[first + i], PRECEDENCE_NONE, true);
        else if (i == FIRST_ELEMENTS)
            att_put(w->out, w->notation->ellipsis);
    }
    att_put(w->out, a->after);
}

static bool all_numbers(const att_expr *row)
{
    for (size_t i = 0; i < row->children; i++) {
        const att_expr *e = row->child[i];
        if (e->kind == ATT_EXPR_NEGATE)
            e = e->child[0];
        if (e->kind != ATT_EXPR_NUMBER)
            return false;
    }
    return true;
}

static void put_call(const struct formula_printer *w, const att_expr *e, bool leading)
{
    (void)leading;
    const struct function_notation *sign = function_notation_of(e);
    if (!sign) {
        w->notation->function(w->out, e->text, w->notation);
        put_list(w, e, 0, is_tall(e) ? ATT_CONSTRUCT_CALL_TALL : ATT_CONSTRUCT_CALL);
        return;
    }
    att_construct which = sign->construct;
    if (which == ATT_CONSTRUCT_SQRT && precedence_of(w, e->child[0]) == PRECEDENCE_ATOM)
        which = ATT_CONSTRUCT_SQRT_SIMPLE;
    put_around(w, which, e->child[0], PRECEDENCE_ATOM);
}

/* Option words are lowercase and have at least three characters: dot, causal, columns. */
static bool is_word(const char *text)
{
    size_t length = strlen(text);
    return length >= 3 && strspn(text, "abcdefghijklmnopqrstuvwxyz") == length;
}

static void put_option(const struct formula_printer *w, const att_expr *e, bool leading)
{
    (void)leading;
    w->notation->word(w->out, e->text, w->notation);
    if (e->children == 0)
        return;
    att_put(w->out, construct(w, ATT_CONSTRUCT_OPTION)->between);
    const att_expr *value = e->child[0];
    if (value->kind == ATT_EXPR_NAME && is_word(value->text))
        w->notation->word(w->out, value->text, w->notation);
    else
        put(w, value, PRECEDENCE_NONE, true);
}

static void put_load(const struct formula_printer *w, const att_expr *e, bool leading)
{
    (void)leading;
    const char *space = construct(w, ATT_CONSTRUCT_WORDS)->between;
    w->notation->word(w->out, "load", w->notation);
    for (size_t i = 0; i < e->children; i++) {
        if (!e->child[i])
            continue;
        att_put(w->out, space);
        if (i == 2) {
            w->notation->word(w->out, "at", w->notation);
            att_put(w->out, space);
        }
        put(w, e->child[i], PRECEDENCE_NONE, true);
    }
}

static void put_number(const struct formula_printer *w, const char *digits)
{
    w->notation->number(w->out, digits, w->notation);
}

static int digits_of(const struct formula_printer *w)
{
    return w->digits == ATT_DIGITS_EXACT ? ATT_DIGITS_MAX : w->digits;
}

static void put_value(const struct formula_printer *w, double value, att_number_format format)
{
    char digits[ATT_NUMBER_SIZE];
    if (w->digits == ATT_DIGITS_EXACT)
        att_number_exact(digits, value);
    else
        att_number_print(digits, value, format);
    put_number(w, digits);
}

static void put_constant_row(const struct formula_printer *w, const att_matrix *m, int64_t row,
                             att_number_format format)
{
    const att_affixes *a = construct(w, ATT_CONSTRUCT_NUMBER_ROW);
    size_t count = (size_t)m->cols;
    att_put(w->out, a->before);
    for (size_t j = 0; j < count; j++) {
        if (j > 0 && !(is_omitted(j, count) && j > FIRST_ELEMENTS))
            att_put(w->out, a->between);
        if (!is_omitted(j, count))
            put_value(w, m->data[row * m->cols + (int64_t)j], format);
        else if (j == FIRST_ELEMENTS)
            att_put(w->out, w->notation->ellipsis);
    }
    att_put(w->out, a->after);
}

static void put_constant(const struct formula_printer *w, const att_matrix *m)
{
    att_number_format format =
        att_number_choose_sums(m->data, m->allowed, m->rows * m->cols, m->magnitude, digits_of(w));
    if (m->rows == 1 && m->cols == 1) {
        put_value(w, m->data[0], format);
        return;
    }
    const att_affixes *a = construct(w, ATT_CONSTRUCT_MATRIX);
    size_t count = (size_t)m->rows;
    att_put(w->out, a->before);
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && !(is_omitted(i, count) && i > FIRST_ELEMENTS))
            att_put(w->out, a->between);
        if (!is_omitted(i, count))
            put_constant_row(w, m, (int64_t)i, format);
        else if (i == FIRST_ELEMENTS)
            att_put(w->out, w->notation->ellipsis);
    }
    att_put(w->out, a->after);
}

static void put_index(const struct formula_printer *w, const att_expr *e, bool leading)
{
    const att_affixes *a = construct(w, ATT_CONSTRUCT_INDEX);
    att_put(w->out, a->before);
    put(w, e->child[0], PRECEDENCE_POSTFIX, leading);
    att_put(w->out, a->between);
    put_list(w, e, 1, ATT_CONSTRUCT_INDICES);
    att_put(w->out, a->after);
}

/* Whether every index is a single digit, so that no separator is needed. */
static bool has_short_indices(const att_expr *e)
{
    for (size_t i = 0; i < e->children; i++) {
        double index = e->child[i]->number;
        if (e->child[i]->kind != ATT_EXPR_NUMBER || !(index >= 0 && index <= 9) ||
            index != (int)index)
            return false;
    }
    return true;
}

static void put_subscripted(const struct formula_printer *w, const att_expr *e, bool leading)
{
    (void)leading;
    if (w->notation->subscripts && has_short_indices(e)) {
        w->notation->name(w->out, e->text, w->notation);
        for (size_t i = 0; i < e->children; i++)
            att_put(w->out, w->notation->subscripts[(int)e->child[i]->number]);
        return;
    }
    const att_affixes *a = construct(w, ATT_CONSTRUCT_SUBSCRIPT);
    att_put(w->out, a->before);
    w->notation->name(w->out, e->text, w->notation);
    att_put(w->out, a->between);
    put_list(w, e, 0, ATT_CONSTRUCT_INDICES);
    att_put(w->out, a->after);
}

static void put_number_node(const struct formula_printer *w, const att_expr *e, bool leading)
{
    (void)leading;
    if (e->text)
        put_number(w, e->text);
    else
        put_value(w, e->number, att_number_choose_one(e->number, digits_of(w)));
}

static void put_constant_node(const struct formula_printer *w, const att_expr *e, bool leading)
{
    (void)leading;
    put_constant(w, e->matrix);
}

static void put_name(const struct formula_printer *w, const att_expr *e, bool leading)
{
    (void)leading;
    w->notation->name(w->out, e->text, w->notation);
}

static void put_string(const struct formula_printer *w, const att_expr *e, bool leading)
{
    (void)leading;
    w->notation->string(w->out, e->text, w->notation);
}

static void put_field(const struct formula_printer *w, const att_expr *e, bool leading)
{
    put(w, e->child[0], PRECEDENCE_POSTFIX, leading);
    att_put(w->out, construct(w, ATT_CONSTRUCT_FIELD)->between);
    w->notation->word(w->out, e->text, w->notation);
}

static void put_all(const struct formula_printer *w, const att_expr *e, bool leading)
{
    (void)e, (void)leading;
    att_put(w->out, w->notation->all);
}

static void put_negate(const struct formula_printer *w, const att_expr *e, bool leading)
{
    (void)leading;
    put_around(w, ATT_CONSTRUCT_NEGATE, e->child[0], PRECEDENCE_PRODUCT);
}

static void put_transpose(const struct formula_printer *w, const att_expr *e, bool leading)
{
    (void)leading;
    put_around(w, ATT_CONSTRUCT_TRANSPOSE, e->child[0], PRECEDENCE_POSTFIX);
}

static void put_row(const struct formula_printer *w, const att_expr *e, bool leading)
{
    (void)leading;
    put_list(w, e, 0, all_numbers(e) ? ATT_CONSTRUCT_NUMBER_ROW : ATT_CONSTRUCT_ROW);
}

static void put_matrix(const struct formula_printer *w, const att_expr *e, bool leading)
{
    (void)leading;
    put_list(w, e, 0, ATT_CONSTRUCT_MATRIX);
}

static void put_braces(const struct formula_printer *w, const att_expr *e, bool leading)
{
    (void)leading;
    put_list(w, e, 0, ATT_CONSTRUCT_LIST);
}

static void put_range(const struct formula_printer *w, const att_expr *e, bool leading)
{
    (void)leading;
    put_list(w, e, 0, ATT_CONSTRUCT_RANGE);
}

/* The function for each kind of expression; `leading`: nothing is printed before the expression. */
static void (*const writers[])(const struct formula_printer *w, const att_expr *e, bool leading) = {
    [ATT_EXPR_NUMBER] = put_number_node,
    [ATT_EXPR_CONSTANT] = put_constant_node,
    [ATT_EXPR_NAME] = put_name,
    [ATT_EXPR_STRING] = put_string,
    [ATT_EXPR_FIELD] = put_field,
    [ATT_EXPR_INDEX] = put_index,
    [ATT_EXPR_ALL] = put_all,
    [ATT_EXPR_RANGE] = put_range,
    [ATT_EXPR_CALL] = put_call,
    [ATT_EXPR_OPTION] = put_option,
    [ATT_EXPR_NEGATE] = put_negate,
    [ATT_EXPR_TRANSPOSE] = put_transpose,
    [ATT_EXPR_BINARY] = put_binary,
    [ATT_EXPR_ROW] = put_row,
    [ATT_EXPR_MATRIX] = put_matrix,
    [ATT_EXPR_LIST] = put_braces,
    [ATT_EXPR_LOAD] = put_load,
    [ATT_EXPR_INDEXED] = put_subscripted,
};

/* A sign in the middle of an expression needs parentheses even if its precedence is high enough:
 * 0.4 · (-0.2). */
static void put(const struct formula_printer *w, const att_expr *e, enum precedence lowest,
                bool leading)
{
    enum precedence own = precedence_of(w, e);
    if (own >= lowest && (own != PRECEDENCE_SIGN || leading)) {
        writers[e->kind](w, e, leading);
        return;
    }
    const att_affixes *a =
        construct(w, is_tall(e) ? ATT_CONSTRUCT_GROUP_TALL : ATT_CONSTRUCT_GROUP);
    att_put(w->out, a->before);
    writers[e->kind](w, e, true);
    att_put(w->out, a->after);
}

void att_put_formula(att_writer *out, const att_expr *expr, const att_notation *notation,
                     int digits)
{
    /* A comparison gets parentheses: an equals sign is next to it. */
    put(&(struct formula_printer){ out, notation, digits }, expr, PRECEDENCE_SUM, true);
}

void att_put_formula_term(att_writer *out, const att_expr *expr, const att_notation *notation,
                          int digits)
{
    put(&(struct formula_printer){ out, notation, digits }, expr, PRECEDENCE_PRODUCT, false);
}

void att_put_formula_number(att_writer *out, double value, const att_notation *notation, int digits)
{
    const struct formula_printer w = { out, notation, digits };
    put_value(&w, value, att_number_choose_one(value, digits_of(&w)));
}

void att_put_formula_matrix(att_writer *out, const att_matrix *matrix, const att_notation *notation,
                            int digits)
{
    put_constant(&(struct formula_printer){ out, notation, digits }, matrix);
}

bool att_expr_is_literal(const att_expr *e)
{
    if (e->kind == ATT_EXPR_NUMBER)
        return true;
    if (e->kind != ATT_EXPR_MATRIX && e->kind != ATT_EXPR_ROW && e->kind != ATT_EXPR_NEGATE)
        return false;
    for (size_t i = 0; i < e->children; i++)
        if (!att_expr_is_literal(e->child[i]))
            return false;
    return true;
}
