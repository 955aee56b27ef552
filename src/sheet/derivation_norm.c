/* The derivation of norms: mean and variance, or the mean square, of each vector come first. */
#include "sheet/derivation_step.h"

#include "sheet/matrix.h"
#include "sheet/rounding.h"

#include <string.h>

static att_status no_memory(const att_derivation_step *step)
{
    return att_fail_memory(step->scope->err);
}

static double element(const att_matrix *m, int64_t i, int64_t j)
{
    return m->data[i * m->cols + j];
}

/* What a norm computes from each vector: "mean", "variance", or the mean "square". */
struct norm {
    const att_derivation_step *step;
    const att_matrix *x; /* vectors as rows */
    bool columns;        /* of the sheet */
    bool centered;       /* layernorm */
    double eps;
    const att_matrix *gain, *bias; /* or NULL */
    att_matrix *mean, *spread;
};

static double mean_of(const struct norm *norm, int64_t i, bool squares)
{
    double sum = 0;
    for (int64_t j = 0; j < norm->x->cols; j++) {
        double x = norm->x->data[i * norm->x->cols + j] -
                   (squares && norm->centered ? norm->mean->data[i] : 0);
        sum += squares ? x * x : x;
    }
    return sum / (double)norm->x->cols;
}

/* (x_1 + x_2 + …) / n, or of squares. */
static att_expr *write_mean(const struct norm *norm, int64_t i, bool squares)
{
    att_arena *arena = norm->step->arena;
    att_expr_sum sum = { .arena = arena };
    for (int64_t j = 0; j < norm->x->cols; j++) {
        att_expr *x = att_make_number(arena, norm->x->data[i * norm->x->cols + j]);
        if (squares && norm->centered)
            x = att_make_binary(arena, ATT_OP_SUBTRACT, x,
                                att_make_number(arena, norm->mean->data[i]));
        if (squares)
            x = att_make_binary(arena, ATT_OP_POWER, x, att_make_number(arena, 2));
        att_expr_sum_add(&sum, x);
    }
    return att_make_binary(arena, ATT_OP_DIVIDE, sum.expr,
                           att_make_number(arena, (double)norm->x->cols));
}

static att_expr *write_eps(const struct norm *norm)
{
    att_expr *eps = att_make_number(norm->step->arena, norm->eps);
    if (eps)
        eps->text = att_arena_printf(norm->step->arena, "%g", norm->eps);
    return eps && eps->text ? eps : NULL;
}

/* (X - mean) / sqrt(variance + eps) .* gain + bias: the formula of a norm. */
static att_expr *write_formula(const struct norm *norm, const att_expr *node)
{
    const att_derivation_step *step = norm->step;
    att_arena *arena = step->arena;
    att_expr *x = att_derivation_with_names(step, node->child[0]);
    const char *spread = norm->centered ? "variance" : "square";
    if (norm->centered)
        x = att_make_binary(arena, ATT_OP_SUBTRACT, x, att_make_name(arena, "mean"));
    att_expr *root = att_make_call(
        arena, "sqrt",
        att_make_binary(arena, ATT_OP_ADD, att_make_name(arena, spread), write_eps(norm)));
    att_expr *y = att_make_binary(arena, ATT_OP_DIVIDE, x, root);
    if (norm->gain)
        y = att_make_binary(arena, ATT_OP_MULTIPLY_ELEMENTWISE, y,
                            att_derivation_with_names(step, node->child[1]));
    if (norm->bias)
        y = att_make_binary(arena, ATT_OP_ADD, y, att_derivation_with_names(step, node->child[2]));
    return y;
}

/* (x - mean) / sqrt(variance + eps) · gain + bias */
static att_expr *write_normalized(const struct norm *norm, int64_t i, int64_t j)
{
    att_arena *arena = norm->step->arena;
    att_expr *x = att_make_number(arena, norm->x->data[i * norm->x->cols + j]);
    if (norm->centered)
        x = att_make_binary(arena, ATT_OP_SUBTRACT, x, att_make_number(arena, norm->mean->data[i]));
    att_expr *below = att_make_binary(
        arena, ATT_OP_ADD, att_make_number(arena, norm->spread->data[i]), write_eps(norm));
    att_expr *y = att_make_binary(arena, ATT_OP_DIVIDE, x, att_make_call(arena, "sqrt", below));
    if (norm->gain)
        y = att_make_binary(arena, ATT_OP_MULTIPLY, y, att_make_number(arena, norm->gain->data[j]));
    if (norm->bias)
        y = att_make_binary(arena, ATT_OP_ADD, y, att_make_number(arena, norm->bias->data[j]));
    return y;
}

/* One number per vector, with its calculation: the part `name`. */
static att_status add_statistic(att_derivation_step *step, const struct norm *norm, att_matrix *of,
                                const char *name, const char *description, bool squares)
{
    att_calculations calculations = { 0 };
    int64_t count = norm->x->rows;
    ATT_TRY(att_calculations_start(&calculations, step->arena, (size_t)count, step->scope->err));
    of->magnitude = squares ? 0 : att_matrix_largest(norm->x);
    for (int64_t i = 0; i < count; i++) {
        of->data[i] = att_rounding_number(step->scope->rounding, mean_of(norm, i, squares));
        ATT_TRY(att_calculations_add_number(
            &calculations, step->arena, norm->columns ? 1 : i + 1,
            att_derivation_element(step->arena, name, of, norm->columns ? 0 : i,
                                   norm->columns ? i : 0),
            write_mean(norm, i, squares), of->data[i], step->scope->err));
    }
    return att_derivation_add_part(step,
                                   &(att_trace_part){ .name = name,
                                                      .inner = true,
                                                      .description = description,
                                                      .value = of,
                                                      .calculations = calculations.items,
                                                      .calculation_count = calculations.count });
}

static void read_norm_options(const att_derivation_step *step, const att_expr *node,
                              struct norm *norm)
{
    size_t args = 0;
    for (size_t i = 0; i < node->children; i++) {
        const att_expr *child = node->child[i];
        if (child->kind != ATT_EXPR_OPTION) {
            const att_matrix *m = att_derivation_matrix(step, child);
            norm->gain = args == 1 ? m : norm->gain;
            norm->bias = args == 2 ? m : norm->bias;
            args++;
        } else if (strcmp(child->text, "vectors") == 0) {
            norm->columns = strcmp(child->child[0]->text, "columns") == 0;
        } else if (strcmp(child->text, "eps") == 0) {
            norm->eps = att_derivation_matrix(step, child->child[0])->data[0];
        }
    }
}

/* Adds the parts with the statistics of a norm and sets the calculations of its elements. */
att_status att_derivation_norm(att_derivation_step *step, const att_expr *node, const char *name,
                               att_calculations *out, const att_expr **formula)
{
    struct norm norm = { .step = step,
                         .centered = strcmp(node->text, "layernorm") == 0,
                         .eps = 1e-5,
                         .x = att_derivation_matrix(step, node->child[0]) };
    const att_matrix *y = att_derivation_matrix(step, node);
    read_norm_options(step, node, &norm);
    if (norm.columns)
        norm.x = att_matrix_transpose(step->arena, norm.x);
    if (!norm.x)
        return no_memory(step);
    int64_t vectors = norm.x->rows, width = norm.x->cols;
    if (!att_calculation_fits(vectors, width, width))
        return ATT_OK;
    norm.mean = att_matrix_new(step->arena, norm.columns ? 1 : vectors, norm.columns ? vectors : 1);
    norm.spread = norm.mean ? att_matrix_like(step->arena, norm.mean) : NULL;
    if (!norm.spread)
        return no_memory(step);
    if (norm.centered)
        ATT_TRY(add_statistic(step, &norm, norm.mean, "mean", "the mean of each vector", false));
    ATT_TRY(add_statistic(step, &norm, norm.spread, norm.centered ? "variance" : "square",
                          norm.centered ? "the mean of the squared differences from the mean"
                                        : "the mean of the squares of each vector",
                          true));
    *formula = write_formula(&norm, node);
    if (!*formula)
        return no_memory(step);
    ATT_TRY(att_calculations_start(out, step->arena, (size_t)(vectors * width), step->scope->err));
    for (int64_t i = 0; i < vectors; i++) {
        for (int64_t j = 0; j < width; j++) {
            int64_t row = norm.columns ? j : i, col = norm.columns ? i : j;
            ATT_TRY(att_calculations_add_number(
                out, step->arena, row + 1, att_derivation_element(step->arena, name, y, row, col),
                write_normalized(&norm, i, j), element(y, row, col), step->scope->err));
        }
    }
    return ATT_OK;
}
