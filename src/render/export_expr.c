/* Expressions in exported programs. The sheet has been evaluated: each node has its value, which
 * tells a product of matrices (@) from a multiplication by a number (*). */
#include "render/export.h"

#include "base/minmax.h"

#include <math.h>
#include <string.h>

/* Python's precedence, from the lowest. */
enum level { LEVEL_SUM, LEVEL_PRODUCT, LEVEL_SIGN, LEVEL_POWER, LEVEL_ATOM };

/* Writes an expression in parentheses if it binds less than `level`: as it is, or as a matrix. */
static void put_raw(att_exporter *exporter, const att_expr *node, enum level level);
static void put(att_exporter *exporter, const att_expr *node, enum level level);

/* ---- What an expression is */

static const struct predefined {
    const char *name;
    const char *python[2];
} predefined[] = { { "pi", { "np.pi", "math.pi" } },
                   { "inf", { "np.inf", "math.inf" } },
                   { "nan", { "np.nan", "math.nan" } } };

/* Whether the sheet assigns the name anywhere: a function may be called behind that line. */
static bool is_ever_assigned(const att_exporter *exporter, const char *name)
{
    for (size_t i = 0; i < exporter->sheet->step_count; i++) {
        const att_trace_step *step = &exporter->sheet->steps[i];
        if (step->kind == ATT_STEP_VALUE && step->name && strcmp(step->name, name) == 0)
            return true;
    }
    return false;
}

static const struct predefined *find_predefined(const att_exporter *exporter, const att_expr *node)
{
    if (node->kind != ATT_EXPR_NAME || att_export_find(exporter, node->text))
        return NULL;
    for (size_t i = 0; i < ATT_COUNT(predefined); i++)
        if (strcmp(predefined[i].name, node->text) == 0)
            return exporter->in_function && is_ever_assigned(exporter, node->text) ? NULL
                                                                                   : &predefined[i];
    return NULL;
}

bool att_export_is_number(const att_exporter *exporter, const att_expr *node)
{
    switch (node->kind) {
    case ATT_EXPR_NUMBER:
        return true;
    case ATT_EXPR_NAME:
        return find_predefined(exporter, node) != NULL;
    case ATT_EXPR_NEGATE:
    case ATT_EXPR_TRANSPOSE:
        return att_export_is_number(exporter, node->child[0]);
    case ATT_EXPR_BINARY:
        return att_export_is_number(exporter, node->child[0]) &&
               att_export_is_number(exporter, node->child[1]);
    default:
        return false;
    }
}

static bool is_scalar(const att_exporter *exporter, const att_expr *node)
{
    return att_export_is_number(exporter, node) || node->shape == ATT_SHAPE_NUMBER;
}

bool att_export_is_unknown(const att_exporter *exporter, const att_expr *node)
{
    return !att_export_is_number(exporter, node) &&
           (node->shape == ATT_SHAPE_MIXED ||
            (exporter->in_function && node->shape == ATT_SHAPE_UNKNOWN));
}

static bool has_fields(const att_exporter *exporter, const att_expr *node)
{
    att_export_type type = att_export_type_of(exporter, node);
    return type.kind == ATT_EXPORT_RECORD || type.kind == ATT_EXPORT_ANY;
}

att_export_type att_export_type_of(const att_exporter *exporter, const att_expr *node)
{
    const att_export_type matrix = { ATT_EXPORT_MATRIX, NULL };
    const att_export_name *value = NULL;
    if (att_export_is_gradient(exporter, node))
        return att_export_gradient_type(exporter, node);
    switch (node->kind) {
    case ATT_EXPR_NAME:
        value = att_export_find(exporter, node->text);
        return value ? value->type : matrix;
    case ATT_EXPR_CALL:
        return att_export_call_type(exporter, node);
    case ATT_EXPR_LIST:
        return (att_export_type){ ATT_EXPORT_LIST, NULL };
    case ATT_EXPR_FIELD: /* a.head */
        if (strcmp(node->text, "head") == 0 && has_fields(exporter, node->child[0]))
            return (att_export_type){ ATT_EXPORT_LIST, "output" };
        return matrix;
    case ATT_EXPR_INDEX: { /* an item of a list */
        att_export_type of = att_export_type_of(exporter, node->child[0]);
        if (of.kind == ATT_EXPORT_LIST && of.result)
            return (att_export_type){ ATT_EXPORT_RECORD, of.result };
        return matrix;
    }
    default:
        return matrix;
    }
}

/* ---- Numbers and names */

/* The number as written, in a form that Python takes for the same number. */
static void put_number(att_exporter *exporter, const att_expr *node)
{
    enum { EXACT_DIGITS = 15 };
    const char *text = node->text ? node->text : "0";
    bool whole = strcspn(text, ".eE") == strlen(text);
    while (text[0] == '0' && text[1] >= '0' && text[1] <= '9')
        text++; /* Python takes 007 for a mistake */
    att_put(&exporter->out, text);
    if (whole && strlen(text) > EXACT_DIGITS)
        att_put(&exporter->out, ".0"); /* a whole number of Python would not be rounded */
}

static void put_name(att_exporter *exporter, const att_expr *node)
{
    const att_export_name *value = att_export_find(exporter, node->text);
    const struct predefined *constant = find_predefined(exporter, node);
    if (value) {
        bool by_hand = exporter->hand && value->by_hand;
        att_put(&exporter->out, by_hand ? value->by_hand : value->identifier);
    } else if (constant) {
        const char *python = constant->python[exporter->language];
        if (strncmp(python, "math.", 5) == 0) {
            att_export_use(exporter, "math");
            python += 4;
        }
        att_put(&exporter->out, python);
    } else if (exporter->in_function) { /* assigned before the function is called */
        att_put(&exporter->out, att_export_reserve(exporter, node->text));
    } else {
        att_export_refuse(exporter, "the name '%.80s' cannot be exported yet", node->text);
    }
}

/* ---- Fields and indices */

static void put_field(att_exporter *exporter, const att_expr *node)
{
    const att_expr *of = node->child[0];
    if (!has_fields(exporter, of)) {
        if (strcmp(node->text, "output") != 0)
            att_export_refuse(exporter, "the part '%.80s' cannot be exported here", node->text);
        put_raw(exporter, of, LEVEL_ATOM); /* linear(…).output: the only part is the result */
        return;
    }
    if (exporter->checked) {
        att_put(&exporter->out, "getattr(");
        att_export_value(exporter, of);
        att_put(&exporter->out, ", ");
        att_export_string(exporter, node->text);
        att_put(&exporter->out, ")");
        return;
    }
    put_raw(exporter, of, LEVEL_ATOM);
    att_putf(&exporter->out, ".%s", node->text);
}

/* Whether an index is a written whole number, or a range, row or column of such numbers. */
static bool is_literal(const att_expr *index)
{
    switch (index->kind) {
    case ATT_EXPR_ALL:
        return true;
    case ATT_EXPR_NUMBER:
        return index->number == floor(index->number) && fabs(index->number) < 1e15;
    case ATT_EXPR_RANGE:
    case ATT_EXPR_MATRIX:
    case ATT_EXPR_ROW:
        for (size_t i = 0; i < index->children; i++)
            if (index->child[i]->kind == ATT_EXPR_RANGE || !is_literal(index->child[i]))
                return false;
        return index->children > 0;
    default:
        return false;
    }
}

static void put_index_list(att_exporter *exporter, const att_expr *index, bool *first)
{
    if (index->kind == ATT_EXPR_NUMBER) {
        att_putf(&exporter->out, "%s%lld", *first ? "" : ", ", (long long)index->number - 1);
        *first = false;
    }
    for (size_t i = 0; index->kind != ATT_EXPR_NUMBER && i < index->children; i++)
        put_index_list(exporter, index->child[i], first);
}

/* `:`, `1:3`, `[2]` or `[0, 2]`, counted from 0; a single number is a list, which keeps the
 * dimension. */
static void put_literal_index(att_exporter *exporter, const att_expr *index)
{
    bool first = true;
    if (index->kind == ATT_EXPR_ALL) {
        att_put(&exporter->out, ":");
    } else if (index->kind == ATT_EXPR_RANGE) {
        att_putf(&exporter->out, "%lld:%lld", (long long)index->child[0]->number - 1,
                 (long long)index->child[1]->number);
    } else {
        att_put(&exporter->out, "[");
        put_index_list(exporter, index, &first);
        att_put(&exporter->out, "]");
    }
}

/* An index of select(), counted from 1. */
static void put_computed_index(att_exporter *exporter, const att_expr *index)
{
    if (index->kind == ATT_EXPR_ALL) {
        att_put(&exporter->out, "()");
    } else if (index->kind == ATT_EXPR_RANGE) {
        att_put(&exporter->out, "(");
        att_export_matrix(exporter, index->child[0]);
        att_put(&exporter->out, ", ");
        att_export_matrix(exporter, index->child[1]);
        att_put(&exporter->out, ")");
    } else {
        att_export_matrix(exporter, index);
    }
}

static void put_select(att_exporter *exporter, const att_expr *node)
{
    bool list = att_export_type_of(exporter, node->child[0]).kind == ATT_EXPORT_LIST;
    att_export_use(exporter, "select");
    att_put(&exporter->out, "(");
    if (list)
        att_export_value(exporter, node->child[0]);
    else
        att_export_matrix(exporter, node->child[0]);
    for (size_t i = 1; i < node->children; i++) {
        att_put(&exporter->out, ", ");
        put_computed_index(exporter, node->child[i]);
    }
    att_put(&exporter->out, ")");
}

/* Two lists of indices would select pairs. */
static bool is_plain_index(const att_exporter *exporter, const att_expr *node)
{
    const att_expr *of = node->child[0];
    bool lists = node->children > 2 && node->child[1]->kind == ATT_EXPR_MATRIX;
    bool list = node->children > 2 && node->child[2]->kind == ATT_EXPR_MATRIX;
    bool sliced = node->children > 2 &&
                  (node->child[1]->kind == ATT_EXPR_ALL || node->child[1]->kind == ATT_EXPR_RANGE);
    bool others = node->children > 2 &&
                  (node->child[2]->kind == ATT_EXPR_ALL || node->child[2]->kind == ATT_EXPR_RANGE);
    for (size_t i = 1; i < node->children; i++)
        if (!is_literal(node->child[i]))
            return false;
    if (exporter->checked || !of->matrix || is_scalar(exporter, of) ||
        att_export_is_unknown(exporter, of))
        return false;
    return !(lists && !others) && !(list && !sliced);
}

static void put_index(att_exporter *exporter, const att_expr *node)
{
    const att_expr *of = node->child[0], *first = node->child[1];
    if (att_export_type_of(exporter, of).kind == ATT_EXPORT_LIST && is_literal(first) &&
        !att_export_is_unknown(exporter, of) && !exporter->checked) {
        put_raw(exporter, of, LEVEL_ATOM);
        att_putf(&exporter->out, "[%lld]", (long long)first->number - 1);
        return;
    }
    if (!is_plain_index(exporter, node)) {
        put_select(exporter, node);
        return;
    }
    const att_expr *second = node->children > 2 ? node->child[2] : NULL;
    bool row = of->matrix->rows == 1;
    put(exporter, of, LEVEL_ATOM);
    att_put(&exporter->out, "[");
    if (second && first->kind == ATT_EXPR_NUMBER && second->kind == ATT_EXPR_NUMBER) {
        att_putf(&exporter->out, "%lld, %lld", (long long)first->number - 1,
                 (long long)second->number - 1);
    } else if (!second && row && first->kind == ATT_EXPR_NUMBER) {
        att_putf(&exporter->out, "0, %lld", (long long)first->number - 1);
    } else {
        att_put(&exporter->out, !second && row ? ":, " : "");
        put_literal_index(exporter, first);
        att_put(&exporter->out, second ? ", " : "");
        if (second)
            put_literal_index(exporter, second);
    }
    att_put(&exporter->out, "]");
}

/* ---- Operators */

static bool is_division(const att_expr *node)
{
    return node->op == ATT_OP_DIVIDE || node->op == ATT_OP_DIVIDE_ELEMENTWISE;
}

/* Python computes 1 / 0 and (-8) ** (1 / 3) of its own numbers differently from IEEE arithmetic. */
static bool needs_scalar(const att_exporter *exporter, const att_expr *node)
{
    const att_expr *right = node->child[1];
    if (!att_export_is_number(exporter, node))
        return false;
    bool safe = right->kind == ATT_EXPR_NUMBER && right->number != 0;
    return node->op == ATT_OP_POWER || (is_division(node) && !safe);
}

static const char *sign_of(const att_exporter *exporter, const att_expr *node)
{
    switch (node->op) {
    case ATT_OP_ADD:
        return " + ";
    case ATT_OP_SUBTRACT:
        return " - ";
    case ATT_OP_MULTIPLY:
        return is_scalar(exporter, node->child[0]) || is_scalar(exporter, node->child[1]) ? " * "
                                                                                          : " @ ";
    case ATT_OP_MULTIPLY_ELEMENTWISE:
        return " * ";
    case ATT_OP_DIVIDE:
    case ATT_OP_DIVIDE_ELEMENTWISE:
        return " / ";
    case ATT_OP_POWER:
        return " ** ";
    case ATT_OP_LESS:
        return " < ";
    case ATT_OP_LESS_EQUAL:
        return " <= ";
    case ATT_OP_GREATER:
        return " > ";
    case ATT_OP_GREATER_EQUAL:
        return " >= ";
    case ATT_OP_EQUAL_TO:
        return " == ";
    case ATT_OP_NOT_EQUAL_TO:
        return " != ";
    }
    return NULL;
}

/* The definition that an operator is written as, or NULL: divide(x, y) refuses other shapes,
 * multiply(x, y) finds out whether one is a number. */
static const char *operator_call(const att_exporter *exporter, const att_expr *node)
{
    if (exporter->checked && node->op == ATT_OP_DIVIDE)
        return "divide";
    const att_expr *left = node->child[0], *right = node->child[1];
    bool scales = is_scalar(exporter, left) || is_scalar(exporter, right);
    bool unknown = att_export_is_unknown(exporter, left) || att_export_is_unknown(exporter, right);
    return node->op == ATT_OP_MULTIPLY && !scales && unknown ? "multiply" : NULL;
}

static bool is_comparison(const att_expr *node)
{
    return node->op >= ATT_OP_LESS && node->op <= ATT_OP_NOT_EQUAL_TO;
}

static enum level binary_level(const att_expr *node)
{
    if (node->op == ATT_OP_POWER)
        return LEVEL_POWER;
    return node->op == ATT_OP_ADD || node->op == ATT_OP_SUBTRACT ? LEVEL_SUM : LEVEL_PRODUCT;
}

static enum level level_of(const att_exporter *exporter, const att_expr *node)
{
    if (att_export_is_hand_step(exporter, node))
        return LEVEL_ATOM;
    if (node->kind == ATT_EXPR_NEGATE)
        return LEVEL_SIGN;
    if (node->kind == ATT_EXPR_TRANSPOSE && is_scalar(exporter, node->child[0]))
        return level_of(exporter, node->child[0]);
    if (node->kind != ATT_EXPR_BINARY || operator_call(exporter, node) || is_comparison(node))
        return LEVEL_ATOM;
    return binary_level(node);
}

/* (x < y).astype(float): 1 where it holds, otherwise 0. */
static void put_comparison(att_exporter *exporter, const att_expr *node, const char *sign)
{
    bool number = att_export_is_number(exporter, node);
    if (number)
        att_export_use(exporter, "scalar");
    att_put(&exporter->out, "(");
    put(exporter, node->child[0], LEVEL_SUM);
    att_put(&exporter->out, sign);
    put(exporter, node->child[1], LEVEL_SUM);
    att_put(&exporter->out, number                                     ? ")"
                            : exporter->language == ATT_EXPORT_PYTORCH ? ").double()"
                                                                       : ").astype(float)");
}

static void put_binary(att_exporter *exporter, const att_expr *node)
{
    const char *sign = sign_of(exporter, node);
    const char *call = operator_call(exporter, node);
    if (!sign) {
        att_export_refuse(exporter, "an operator cannot be exported yet");
    } else if (is_comparison(node)) {
        put_comparison(exporter, node, sign);
    } else if (call) {
        att_export_use(exporter, call);
        att_put(&exporter->out, "(");
        att_export_matrix(exporter, node->child[0]);
        att_put(&exporter->out, ", ");
        att_export_matrix(exporter, node->child[1]);
        att_put(&exporter->out, ")");
    } else {
        enum level own = binary_level(node);
        bool power = own == LEVEL_POWER;
        if (needs_scalar(exporter, node))
            att_export_scalar(exporter, node->child[0]);
        else
            put(exporter, node->child[0], power ? LEVEL_ATOM : own);
        att_put(&exporter->out, sign);
        put(exporter, node->child[1], power ? LEVEL_SIGN : own + 1);
    }
}

static void put_transpose(att_exporter *exporter, const att_expr *node)
{
    bool scalar = is_scalar(exporter, node->child[0]);
    bool unknown = att_export_is_unknown(exporter, node->child[0]);
    if (unknown) {
        att_export_use(exporter, "matrix");
        att_put(&exporter->out, "(");
    }
    put(exporter, node->child[0], scalar || unknown ? LEVEL_SUM : LEVEL_ATOM);
    att_put(&exporter->out, unknown ? ").T" : scalar ? "" : ".T");
}

static void put_negate(att_exporter *exporter, const att_expr *node)
{
    att_put(&exporter->out, "-");
    put(exporter, node->child[0], LEVEL_SIGN);
}

/* 1:5 */
static void put_range(att_exporter *exporter, const att_expr *node)
{
    att_export_use(exporter, "inclusive_range");
    att_put(&exporter->out, "(");
    att_export_matrix(exporter, node->child[0]);
    att_put(&exporter->out, ", ");
    att_export_matrix(exporter, node->child[1]);
    att_put(&exporter->out, ")");
}

/* ---- The table */

typedef void put_function(att_exporter *exporter, const att_expr *node);

static put_function *const writers[] = {
    [ATT_EXPR_NUMBER] = put_number,
    [ATT_EXPR_NAME] = put_name,
    [ATT_EXPR_FIELD] = put_field,
    [ATT_EXPR_INDEX] = put_index,
    [ATT_EXPR_CALL] = att_export_call,
    [ATT_EXPR_NEGATE] = put_negate,
    [ATT_EXPR_BINARY] = put_binary,
    [ATT_EXPR_TRANSPOSE] = put_transpose,
    [ATT_EXPR_MATRIX] = att_export_put_matrix,
    [ATT_EXPR_LIST] = att_export_put_list,
    [ATT_EXPR_LOAD] = att_export_put_load,
    [ATT_EXPR_RANGE] = put_range,
};

static void put_node(att_exporter *exporter, const att_expr *node)
{
    if (att_export_is_gradient(exporter, node))
        att_export_gradient_value(exporter, node);
    else if ((size_t)node->kind < ATT_COUNT(writers) && writers[node->kind])
        writers[node->kind](exporter, node);
    else
        att_export_refuse(exporter, "an expression of this kind cannot be exported yet");
}

void att_export_value(att_exporter *exporter, const att_expr *node)
{
    bool step = att_export_is_hand_step(exporter, node);
    if (step)
        att_putf(&exporter->out, "%s(", exporter->rounding_name);
    put_node(exporter, node);
    att_put(&exporter->out, step ? ")" : "");
}

static void put_raw(att_exporter *exporter, const att_expr *node, enum level level)
{
    bool group = level_of(exporter, node) < level;
    att_put(&exporter->out, group ? "(" : "");
    att_export_value(exporter, node);
    att_put(&exporter->out, group ? ")" : "");
}

/* Of a record its result; matrix() refuses a list. */
static void put(att_exporter *exporter, const att_expr *node, enum level level)
{
    att_export_type type = att_export_type_of(exporter, node);
    if (type.kind == ATT_EXPORT_RECORD) {
        put_raw(exporter, node, LEVEL_ATOM);
        att_putf(&exporter->out, ".%s", type.result);
    } else if (type.kind == ATT_EXPORT_ANY) {
        att_export_use(exporter, "result_of");
        att_put(&exporter->out, "(");
        put_raw(exporter, node, LEVEL_SUM);
        att_put(&exporter->out, ")");
    } else if (type.kind == ATT_EXPORT_LIST && !att_export_is_unknown(exporter, node)) {
        att_export_use(exporter, "matrix");
        att_put(&exporter->out, "(");
        put_raw(exporter, node, LEVEL_SUM);
        att_put(&exporter->out, ")");
    } else {
        put_raw(exporter, node, level);
    }
}

void att_export_matrix(att_exporter *exporter, const att_expr *node)
{
    put(exporter, node, LEVEL_SUM);
}

void att_export_scalar(att_exporter *exporter, const att_expr *node)
{
    if (!att_export_is_number(exporter, node)) {
        att_export_matrix(exporter, node);
        return;
    }
    att_export_use(exporter, "scalar");
    att_put(&exporter->out, "(");
    att_export_value(exporter, node);
    att_put(&exporter->out, ")");
}
