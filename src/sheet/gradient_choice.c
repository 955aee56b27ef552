/* Gradients of functions that choose and order: the chosen elements get the gradient, the others
 * 0; and of the cross-entropy. */
#include "sheet/gradient_rules.h"

#include "attention/normalize.h"
#include "sheet/matrix.h"

#include <math.h>
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

/* ---- where(condition, X, Y) */

/* The sum of the gradients of the elements that come from each element of `to`. */
static att_status send_chosen(att_backward *walk, const att_computation *c, const att_matrix *g,
                              att_expr *name, size_t index)
{
    const att_matrix *condition = c->inputs[0], *to = c->inputs[index];
    att_expr *of = att_backward_name(walk, condition);
    if (!att_backward_wants(walk, to))
        return ATT_OK;
    att_matrix *value = att_matrix_new(att_backward_arena(walk), to->rows, to->cols);
    if (!value || !of)
        return att_fail_memory(att_backward_error(walk));
    for (int64_t i = 0; i < g->rows; i++)
        for (int64_t j = 0; j < g->cols; j++) {
            int64_t from =
                (condition->rows == 1 ? 0 : i) * condition->cols + (condition->cols == 1 ? 0 : j);
            int64_t at = (to->rows == 1 ? 0 : i) * to->cols + (to->cols == 1 ? 0 : j);
            if ((condition->data[from] != 0) == (index == 1))
                value->data[at] += g->data[i * g->cols + j];
        }
    return att_backward_send(
        walk, to,
        (att_contribution){
            .reason = "where it was chosen it gets the gradient, elsewhere 0",
            .formula = att_backward_formula(walk, index == 1 ? "where(C, G, 0)" : "where(C, 0, G)",
                                            "CG", of, name),
            .value = value });
}

att_status att_where_rule(att_backward *walk, const att_computation *c)
{
    const att_matrix *g;
    att_expr *name;
    ATT_TRY(finish_output(walk, c, &g, &name));
    if (!g)
        return ATT_OK;
    ATT_TRY(send_chosen(walk, c, g, name, 1));
    return send_chosen(walk, c, g, name, 2);
}

/* ---- diag: of a vector a matrix, of a matrix its diagonal */

att_status att_diag_rule(att_backward *walk, const att_computation *c)
{
    const att_matrix *g, *x = c->inputs[0];
    att_expr *name;
    ATT_TRY(finish_output(walk, c, &g, &name));
    if (!g || !att_backward_wants(walk, x))
        return ATT_OK;
    bool vector = x->rows == 1 || x->cols == 1;
    att_matrix *value = att_matrix_new(att_backward_arena(walk), x->rows, x->cols);
    if (!value)
        return att_fail_memory(att_backward_error(walk));
    for (int64_t i = 0; i < g->cols; i++)
        value->data[vector ? i : i * x->cols + i] = g->data[vector ? i * g->cols + i : i];
    return att_backward_send(
        walk, x,
        (att_contribution){ .reason = vector ? "the diagonal of the gradient"
                                             : "the diagonal gets the gradient, the rest 0",
                            .formula = att_backward_formula(
                                walk, vector && x->cols == 1 ? "diag(G)'" : "diag(G)", "G", name),
                            .value = value });
}

/* ---- sort and topk: each number of the result goes back to where it comes from */

/* The first element of the line with this number that has not been taken. NaN is like NaN. */
static int64_t find_number(const double *line, int64_t stride, int64_t count, const uint8_t *taken,
                           double number)
{
    for (int64_t l = 0; l < count; l++) {
        double x = line[l * stride];
        if (!taken[l] && (x == number || (isnan(x) && isnan(number))))
            return l;
    }
    return -1;
}

static att_status order_backward(att_backward *walk, const att_computation *c, bool cols)
{
    const att_matrix *g, *x = c->inputs[0], *y = c->output.matrix;
    att_expr *name;
    ATT_TRY(finish_output(walk, c, &g, &name));
    if (!g || !att_backward_wants(walk, x))
        return ATT_OK;
    int64_t lines = cols ? x->cols : x->rows, count = cols ? x->rows : x->cols;
    int64_t chosen = cols ? y->rows : y->cols, stride = cols ? x->cols : 1;
    int64_t y_stride = cols ? y->cols : 1;
    uint8_t *taken = att_arena_alloc(att_backward_arena(walk), (size_t)count, 1);
    att_matrix *value = att_matrix_new(att_backward_arena(walk), x->rows, x->cols);
    if (!taken || !value)
        return att_fail_memory(att_backward_error(walk));
    for (int64_t line = 0; line < lines; line++) {
        int64_t first = cols ? line : line * x->cols, from = cols ? line : line * y->cols;
        memset(taken, 0, (size_t)count);
        for (int64_t n = 0; n < chosen; n++) {
            int64_t l =
                find_number(x->data + first, stride, count, taken, y->data[from + n * y_stride]);
            if (l < 0)
                continue;
            taken[l] = 1;
            value->data[first + l * stride] = g->data[from + n * y_stride];
        }
    }
    return att_backward_send(
        walk, x,
        (att_contribution){ .reason = "the gradients go back to the places of their numbers",
                            .formula = att_backward_formula(walk, "scatter(G)", "G", name),
                            .value = value });
}

att_status att_sort_rule(att_backward *walk, const att_computation *c)
{
    return order_backward(walk, c, flag(c, "cols"));
}

/* With `mask` the result is 0 and 1, which do not change with small changes of the numbers. */
att_status att_topk_rule(att_backward *walk, const att_computation *c)
{
    const att_matrix *ignored;
    return flag(c, "mask") ? att_backward_finish(walk, c->output.matrix, &ignored)
                           : order_backward(walk, c, false);
}

/* ---- cross_entropy(logits, targets) */

/* One element of the gradient: g / rows · (p - 1) at the target, g / rows · (p - 0) elsewhere. */
struct loss_step {
    att_matrix *probabilities;
    const att_matrix *g, *targets;
    bool by_row;
};

static att_expr *write_loss_step(att_arena *arena, const void *of, int64_t i, int64_t j)
{
    const struct loss_step *step = of;
    const att_matrix *p = step->probabilities;
    bool target = (int64_t)step->targets->data[i] - 1 == j;
    att_expr *share = att_make_number(arena, step->g->data[step->by_row ? i : 0]);
    if (!step->by_row && p->rows > 1)
        share =
            att_make_binary(arena, ATT_OP_DIVIDE, share, att_make_number(arena, (double)p->rows));
    return att_make_binary(arena, ATT_OP_MULTIPLY, share,
                           att_make_binary(arena, ATT_OP_SUBTRACT,
                                           att_make_number(arena, p->data[i * p->cols + j]),
                                           att_make_number(arena, target ? 1 : 0)));
}

att_status att_cross_entropy_rule(att_backward *walk, const att_computation *c)
{
    const att_matrix *g, *x = c->inputs[0], *targets = c->inputs[1];
    att_expr *name;
    ATT_TRY(finish_output(walk, c, &g, &name));
    if (!g || !att_backward_wants(walk, x))
        return ATT_OK;
    bool rows = flag(c, "rows");
    att_matrix *value = att_matrix_new(att_backward_arena(walk), x->rows, x->cols);
    att_expr *logits = att_backward_name(walk, x), *classes = att_backward_name(walk, targets);
    struct loss_step *step = att_arena_alloc(att_backward_arena(walk), 1, sizeof *step);
    if (step)
        *step = (struct loss_step){ .probabilities =
                                        att_matrix_new(att_backward_arena(walk), x->rows, x->cols),
                                    .g = g,
                                    .targets = targets,
                                    .by_row = rows };
    if (!value || !logits || !classes || !step || !step->probabilities)
        return att_fail_memory(att_backward_error(walk));
    for (int64_t i = 0; i < x->rows; i++) {
        double *row = value->data + i * x->cols;
        double scale = rows ? g->data[i] : g->data[0] / (double)x->rows;
        att_normalizer_get(ATT_NORMALIZE_SOFTMAX)
            ->forward(row, x->data + i * x->cols, x->cols, NULL);
        memcpy(step->probabilities->data + i * x->cols, row, (size_t)x->cols * sizeof *row);
        row[(int64_t)targets->data[i] - 1] -= 1;
        for (int64_t j = 0; j < x->cols; j++)
            row[j] *= scale;
    }
    const char *text = rows ? "G .* (softmax(X) - onehot(T, classes))"
                            : "G / rows .* (softmax(X) - onehot(T, classes))";
    return att_backward_send(
        walk, x,
        (att_contribution){ .reason = "the probabilities, minus 1 at the target",
                            .formula =
                                att_backward_formula(walk, text, "GXT", name, logits, classes),
                            .value = value,
                            .write = write_loss_step,
                            .of = step,
                            .term_count = 2 });
}

/* ---- dropout(X, p): what was kept was divided by 1 - p */

att_status att_dropout_rule(att_backward *walk, const att_computation *c)
{
    const att_matrix *g, *x = c->inputs[0];
    att_expr *name;
    ATT_TRY(finish_output(walk, c, &g, &name));
    if (!g || !att_backward_wants(walk, x))
        return ATT_OK;
    att_matrix *ones = att_matrix_new(att_backward_arena(walk), x->rows, x->cols);
    if (!ones)
        return att_fail_memory(att_backward_error(walk));
    for (int64_t i = 0; i < x->rows * x->cols; i++)
        ones->data[i] = 1;
    /* The same draws, of ones: 1 / (1 - p) where a number was kept, 0 elsewhere. */
    att_value factors;
    const att_value args[] = { { .kind = ATT_VALUE_MATRIX, .matrix = ones }, c->call->args[1] };
    att_call call = *c->call;
    call.args = args;
    ATT_TRY(call.function->run(&call, &factors));
    return att_backward_send(
        walk, x,
        (att_contribution){ .reason = "what was kept was divided by 1 - p, the rest gets 0",
                            .formula = att_backward_formula(walk, "G .* kept / (1 - p)", "G", name),
                            .terms = att_terms_elementwise(g, factors.matrix) });
}
