/* Gradients of the functions on matrices, and the table of all functions. */
#include "sheet/gradient_rules.h"

#include "attention/normalize.h"
#include "base/math.h"
#include "base/minmax.h"
#include "reference/activation.h"
#include "sheet/matrix.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static att_status finish_output(att_backward *walk, const att_computation *c,
                                const att_matrix **grad, att_expr **name)
{
    ATT_TRY(att_backward_finish(walk, c->output.matrix, grad));
    *name = *grad ? att_backward_d(walk, c->output.matrix) : NULL;
    return *grad && !*name ? att_fail_memory(att_backward_error(walk)) : ATT_OK;
}

static bool flag(const att_computation *c, const char *name)
{
    return att_call_option(c->call, name) != NULL;
}

/* ---- Terms */

att_terms att_terms_product(const att_matrix *a, const att_matrix *b)
{
    return (att_terms){ .count = a->cols,
                        .a = a->data,
                        .a_row = a->cols,
                        .a_term = 1,
                        .b = b->data,
                        .b_col = 1,
                        .b_term = b->cols,
                        .scale = 1 };
}

att_terms att_terms_product_at(const att_matrix *a, const att_matrix *b)
{
    return (att_terms){ .count = a->rows,
                        .a = a->data,
                        .a_row = 1,
                        .a_term = a->cols,
                        .b = b->data,
                        .b_col = 1,
                        .b_term = b->cols,
                        .scale = 1 };
}

att_terms att_terms_product_bt(const att_matrix *a, const att_matrix *b)
{
    return (att_terms){ .count = a->cols,
                        .a = a->data,
                        .a_row = a->cols,
                        .a_term = 1,
                        .b = b->data,
                        .b_col = b->cols,
                        .b_term = 1,
                        .scale = 1 };
}

att_terms att_terms_elementwise(const att_matrix *a, const att_matrix *b)
{
    return (att_terms){ .count = 1,
                        .a = a->data,
                        .a_row = a->cols,
                        .a_col = 1,
                        .b = b ? b->data : NULL,
                        .b_row = a->cols,
                        .b_col = 1,
                        .scale = 1 };
}

att_terms att_terms_column_sums(const att_matrix *a, bool upright)
{
    return (att_terms){ .count = a->rows,
                        .a = a->data,
                        .a_row = upright ? 1 : 0,
                        .a_col = upright ? 0 : 1,
                        .a_term = a->cols,
                        .scale = 1 };
}

att_terms att_terms_transpose(att_terms terms)
{
    att_terms turned = terms;
    turned.a_row = terms.a_col;
    turned.a_col = terms.a_row;
    turned.b_row = terms.b_col;
    turned.b_col = terms.b_row;
    return turned;
}

/* ---- Element-wise */

static double derivative_exp(double x, double y)
{
    (void)x;
    return y;
}

static double derivative_log(double x, double y)
{
    (void)y;
    return 1 / x;
}

static double derivative_sqrt(double x, double y)
{
    (void)x;
    return 1 / (2 * y);
}

static double derivative_abs(double x, double y)
{
    (void)y;
    return x > 0 ? 1 : x < 0 ? -1 : x;
}

static double derivative_sin(double x, double y)
{
    (void)y;
    return att_cos(x);
}

static double derivative_cos(double x, double y)
{
    (void)y;
    return -att_sin(x);
}

/* The derivative from x and y = f(x), or that of an activation; G is the gradient of y. */
static const struct elementwise_rule {
    const char *name;
    double (*derivative)(double x, double y);
    att_activation activation;
    const char *formula;
    const char *reason;
} elements[] = {
    { "tanh", NULL, ATT_ACTIVATION_TANH, "G .* (1 - Y^2)", "the derivative of tanh is 1 - tanh^2" },
    { "relu", NULL, ATT_ACTIVATION_RELU, "G .* step(X)",
      "relu passes the gradient on where its input is above 0, and 0 elsewhere" },
    { "sigmoid", NULL, ATT_ACTIVATION_SIGMOID, "G .* Y .* (1 - Y)",
      "the derivative of the sigmoid s is s (1 - s)" },
    { "gelu", NULL, ATT_ACTIVATION_GELU, "G .* (Phi(X) + X .* phi(X))",
      "Phi is the distribution function of the normal distribution, phi its density" },
    { "exp", derivative_exp, ATT_ACTIVATION_NONE, "G .* Y", "exp is its own derivative" },
    { "log", derivative_log, ATT_ACTIVATION_NONE, "G ./ X", "the derivative of log(x) is 1/x" },
    { "sqrt", derivative_sqrt, ATT_ACTIVATION_NONE, "G ./ (2 * Y)",
      "the derivative of a root r is 1/(2 r)" },
    { "abs", derivative_abs, ATT_ACTIVATION_NONE, "G .* sign(X)",
      "the derivative of |x| is the sign of x" },
    { "sin", derivative_sin, ATT_ACTIVATION_NONE, "G .* cos(X)", "the derivative of sin is cos" },
    { "cos", derivative_cos, ATT_ACTIVATION_NONE, "-G .* sin(X)", "the derivative of cos is -sin" },
};

static att_status element_backward(att_backward *walk, const att_computation *c)
{
    const att_matrix *g, *x = c->inputs[0], *y = c->output.matrix;
    att_expr *name;
    ATT_TRY(finish_output(walk, c, &g, &name));
    if (!g)
        return ATT_OK;
    const struct elementwise_rule *rule = elements;
    while (strcmp(rule->name, c->call->function->name) != 0)
        rule++;
    att_matrix *d = att_matrix_new(att_backward_arena(walk), x->rows, x->cols);
    att_expr *of_x = att_backward_name(walk, x), *of_y = att_backward_name(walk, y);
    if (!d || !of_x || !of_y)
        return att_fail_memory(att_backward_error(walk));
    for (int64_t i = 0; i < x->rows * x->cols; i++)
        d->data[i] = rule->derivative
                         ? rule->derivative(x->data[i], y->data[i])
                         : att_reference_activation_derivative(rule->activation, x->data[i]);
    return att_backward_send(walk, x,
                             (att_contribution){ .reason = rule->reason,
                                                 .formula = att_backward_formula(
                                                     walk, rule->formula, "GXY", name, of_x, of_y),
                                                 .terms = att_terms_elementwise(g, d) });
}

/* ---- softmax */

att_expr *att_write_softmax_step(att_arena *arena, const void *of, int64_t i, int64_t j)
{
    const att_softmax_step *step = of;
    int64_t cols = step->y->cols, at = i * cols + j;
    int64_t count = step->cols ? step->y->rows : cols;
    int64_t first = step->cols ? j : i * cols, stride = step->cols ? cols : 1;
    att_expr_sum mean = { .arena = arena };
    for (int64_t l = 0; l < count; l++) {
        int64_t place = first + l * stride;
        if (step->y->allowed && !step->y->allowed[place])
            continue;
        att_expr_sum_add(&mean, att_make_binary(arena, ATT_OP_MULTIPLY,
                                                att_make_number(arena, step->g->data[place]),
                                                att_make_number(arena, step->y->data[place])));
    }
    att_expr *rest = att_make_binary(arena, ATT_OP_SUBTRACT,
                                     att_make_number(arena, step->g->data[at]), mean.expr);
    return att_make_binary(arena, ATT_OP_MULTIPLY, att_make_number(arena, step->y->data[at]), rest);
}

/* Applies the normalizer's backward to each row, or each column by way of copies. */
static att_status softmax_grads(att_backward *walk, const att_softmax_step *step,
                                const att_matrix *x, att_matrix *to)
{
    int64_t count = step->cols ? x->rows : x->cols, lines = step->cols ? x->cols : x->rows;
    int64_t stride = step->cols ? x->cols : 1, next = step->cols ? 1 : x->cols;
    double *copy = att_arena_alloc(att_backward_arena(walk), 4 * (size_t)count, sizeof *copy);
    if (!copy)
        return att_fail_memory(att_backward_error(walk));
    for (int64_t line = 0; line < lines; line++) {
        for (int64_t l = 0; l < count; l++) {
            copy[count + l] = step->g->data[line * next + l * stride];
            copy[2 * count + l] = x->data[line * next + l * stride];
            copy[3 * count + l] = step->y->data[line * next + l * stride];
        }
        att_normalizer_get(ATT_NORMALIZE_SOFTMAX)
            ->backward(copy, copy + count, copy + 2 * count, copy + 3 * count, count);
        for (int64_t l = 0; l < count; l++)
            to->data[line * next + l * stride] = copy[l];
    }
    return ATT_OK;
}

static att_status softmax_backward(att_backward *walk, const att_computation *c)
{
    const att_matrix *g, *x = c->inputs[0], *y = c->output.matrix;
    att_expr *name;
    ATT_TRY(finish_output(walk, c, &g, &name));
    if (!g || !att_backward_wants(walk, x))
        return ATT_OK;
    att_softmax_step *step = att_arena_alloc(att_backward_arena(walk), 1, sizeof *step);
    att_matrix *value = att_matrix_new(att_backward_arena(walk), x->rows, x->cols);
    att_expr *of_y = att_backward_name(walk, y);
    if (!step || !value || !of_y)
        return att_fail_memory(att_backward_error(walk));
    *step = (att_softmax_step){ .y = y, .g = g, .cols = flag(c, "cols") };
    ATT_TRY(softmax_grads(walk, step, x, value));
    return att_backward_send(
        walk, x,
        (att_contribution){
            .reason = step->cols ? "each column of a softmax: y (g - sum(g y))"
                                 : "each row of a softmax: y (g - sum(g y))",
            .formula = att_backward_formula(
                walk, step->cols ? "Y .* (G - sum(G .* Y, cols))" : "Y .* (G - sum(G .* Y, rows))",
                "GY", name, of_y),
            .value = value,
            .write = att_write_softmax_step,
            .of = step,
            .term_count = (step->cols ? y->rows : y->cols) + 1 });
}

/* ---- sum, mean, max, min */

/* The gradient of each element of x is that of the sum it is part of. */
static att_terms spread(const att_computation *c, const att_matrix *g, double scale)
{
    return (att_terms){ .count = 1,
                        .a = g->data,
                        .a_row = flag(c, "rows") ? 1 : 0,
                        .a_col = flag(c, "cols") ? 1 : 0,
                        .scale = scale };
}

static int64_t reduced_count(const att_computation *c)
{
    const att_matrix *x = c->inputs[0];
    return flag(c, "rows") ? x->cols : flag(c, "cols") ? x->rows : x->rows * x->cols;
}

static att_status sum_backward(att_backward *walk, const att_computation *c)
{
    const att_matrix *g, *x = c->inputs[0];
    att_expr *name;
    char text[96];
    ATT_TRY(finish_output(walk, c, &g, &name));
    if (!g)
        return ATT_OK;
    bool mean = strcmp(c->call->function->name, "mean") == 0;
    int64_t count = reduced_count(c);
    if (mean)
        snprintf(text, sizeof text, "G / %" PRId64 " .* ones(%" PRId64 ", %" PRId64 ")", count,
                 x->rows, x->cols);
    else
        snprintf(text, sizeof text, "G .* ones(%" PRId64 ", %" PRId64 ")", x->rows, x->cols);
    return att_backward_send(
        walk, x,
        (att_contribution){ .reason = mean ? "every element of a mean gets an equal share"
                                           : "every element of a sum gets the gradient of the sum",
                            .formula = att_backward_formula(walk, text, "G", name),
                            .terms = spread(c, g, mean ? 1 / (double)count : 1) });
}

/* The place of the first extreme element, as functions.c finds it; NaN counts as extreme. */
static int64_t extreme(const double *x, int64_t count, int64_t stride, bool largest)
{
    int64_t best = 0;
    for (int64_t l = 1; l < count && !isnan(x[best * stride]); l++) {
        double now = x[l * stride];
        if ((largest ? now > x[best * stride] : now < x[best * stride]) || isnan(now))
            best = l;
    }
    return best * stride;
}

static att_status extreme_backward(att_backward *walk, const att_computation *c)
{
    const att_matrix *g, *x = c->inputs[0];
    att_expr *name;
    ATT_TRY(finish_output(walk, c, &g, &name));
    if (!g || !att_backward_wants(walk, x))
        return ATT_OK;
    bool largest = strcmp(c->call->function->name, "max") == 0;
    bool rows = flag(c, "rows"), cols = flag(c, "cols");
    att_matrix *value = att_matrix_new(att_backward_arena(walk), x->rows, x->cols);
    if (!value)
        return att_fail_memory(att_backward_error(walk));
    for (int64_t line = 0; line < g->rows * g->cols; line++) {
        int64_t first = rows ? line * x->cols : cols ? line : 0;
        value->data[first + extreme(x->data + first, reduced_count(c), cols ? x->cols : 1,
                                    largest)] = g->data[line];
    }
    return att_backward_send(
        walk, x,
        (att_contribution){ .reason = largest ? "the largest element gets the gradient, the others "
                                                "0 (of equal ones, the first)"
                                              : "the smallest element gets the gradient, the "
                                                "others 0 (of equal ones, the first)",
                            .formula = att_backward_formula(walk, "scatter(G)", "G", name),
                            .value = value });
}

/* ---- Rearranging */

static att_status transpose_backward(att_backward *walk, const att_computation *c)
{
    return att_gradient_transpose.backward(walk, c);
}

static att_status permute_backward(att_backward *walk, const att_computation *c)
{
    const att_matrix *g, *x = c->inputs[0], *order = c->inputs[1];
    att_expr *name;
    ATT_TRY(finish_output(walk, c, &g, &name));
    if (!g || !att_backward_wants(walk, x))
        return ATT_OK;
    bool cols = flag(c, "cols");
    att_matrix *value = att_matrix_new(att_backward_arena(walk), x->rows, x->cols);
    if (!value)
        return att_fail_memory(att_backward_error(walk));
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t j = 0; j < x->cols; j++) {
            int64_t row = cols ? i : (int64_t)order->data[i] - 1;
            int64_t col = cols ? (int64_t)order->data[j] - 1 : j;
            value->data[row * x->cols + col] = g->data[i * x->cols + j];
        }
    return att_backward_send(
        walk, x,
        (att_contribution){ .reason = "the gradients go back to the places of their elements",
                            .formula = att_backward_formula(walk, "scatter(G)", "G", name),
                            .value = value });
}

/* ---- The table */

/* Copies what the call computes from the present numbers to where its first result is. */
static void copy_back(const att_matrix *to, const att_matrix *from)
{
    if (to->data != from->data)
        memcpy(to->data, from->data, (size_t)(to->rows * to->cols) * sizeof *to->data);
}

static att_status call_again(const att_scope *scope, const att_computation *c)
{
    att_call call = *c->call;
    att_value now;
    call.arena = scope->arena;
    call.err = scope->err;
    ATT_TRY(call.function->run(&call, &now));
    for (size_t i = 0; i < c->output.part_count; i++)
        copy_back(c->output.parts[i].value, now.parts[i].value);
    copy_back(c->output.matrix, now.matrix);
    return ATT_OK;
}

#define ROW(name, backward)                                                                        \
    {                                                                                              \
        name, backward, NULL, call_again                                                           \
    }
#define CONSTANT(name, why)                                                                        \
    {                                                                                              \
        name, NULL, why, call_again                                                                \
    }

static const att_gradient_spec functions[] = {
    ROW("softmax", softmax_backward),
    ROW("tanh", element_backward),
    ROW("relu", element_backward),
    ROW("sigmoid", element_backward),
    ROW("gelu", element_backward),
    ROW("exp", element_backward),
    ROW("log", element_backward),
    ROW("sqrt", element_backward),
    ROW("abs", element_backward),
    ROW("sin", element_backward),
    ROW("cos", element_backward),
    ROW("sum", sum_backward),
    ROW("mean", sum_backward),
    ROW("max", extreme_backward),
    ROW("min", extreme_backward),
    CONSTANT("argmax", "an index does not change with small changes of its input"),
    ROW("layernorm", att_norm_rule),
    ROW("rmsnorm", att_norm_rule),
    ROW("permute", permute_backward),
    ROW("transpose", transpose_backward),
    CONSTANT("zeros", "it is constant"),
    CONSTANT("ones", "it is constant"),
    CONSTANT("identity", "it is constant"),
    CONSTANT("shape", "a size does not change with the numbers"),
    CONSTANT("round", "a rounded number is flat between its steps"),
    ROW("where", att_where_rule),
    ROW("diag", att_diag_rule),
    ROW("sort", att_sort_rule),
    ROW("topk", att_topk_rule),
    CONSTANT("onehot", "an index does not change by small amounts"),
    ROW("cross_entropy", att_cross_entropy_rule),
    CONSTANT("random", "it is constant"),
    ROW("dropout", att_dropout_rule),
    ROW("attention", att_attention_rule),
    ROW("self_attention", att_self_attention_rule),
    ROW("cross_attention", att_cross_attention_rule),
    ROW("multihead", att_multihead_rule),
    CONSTANT("positional", "it is constant"),
    ROW("linear", att_linear_rule),
    ROW("conv1d", att_conv1d_rule),
    ROW("rnn", att_rnn_rule),
    ROW("lstm", att_lstm_rule),
    ROW("gru", att_gru_rule),
};

const att_gradient_spec *att_gradient_spec_of(const att_function *function)
{
    for (size_t i = 0; i < ATT_COUNT(functions); i++)
        if (strcmp(functions[i].name, function->name) == 0)
            return &functions[i];
    return NULL;
}
