/* Gradients of the layers without attention and recurrence. */
#include "sheet/gradient_rules.h"

#include "reference/conv.h"
#include "reference/norm.h"
#include "sheet/blocks.h"
#include "sheet/matrix.h"

#include <string.h>

static att_status finish_output(att_backward *walk, const att_computation *c,
                                const att_matrix **grad, att_expr **name)
{
    ATT_TRY(att_backward_finish(walk, c->output.matrix, grad));
    *name = *grad ? att_backward_d(walk, c->output.matrix) : NULL;
    return *grad && !*name ? att_fail_memory(att_backward_error(walk)) : ATT_OK;
}

/* ---- layernorm and rmsnorm */

/* The gradient of the optional row `to` of the call. */
static att_status send_row(att_backward *walk, const att_matrix *to, const char *reason,
                           att_expr *formula, double *sums, const att_matrix *like)
{
    att_matrix *value = att_matrix_new(att_backward_arena(walk), to->rows, to->cols);
    if (!value)
        return att_fail_memory(att_backward_error(walk));
    memcpy(value->data, sums, (size_t)like->cols * sizeof *sums);
    return att_backward_send(
        walk, to, (att_contribution){ .reason = reason, .formula = formula, .value = value });
}

struct norm_grads {
    att_matrix *x;
    double *gain;
    double *bias;
};

static void norm_rows(const att_matrix *x, const att_matrix *g, const double *gain, double eps,
                      bool centered, const struct norm_grads *out)
{
    for (int64_t i = 0; i < x->rows; i++) {
        double *dx = out->x->data + i * x->cols;
        const double *dy = g->data + i * x->cols, *row = x->data + i * x->cols;
        if (centered)
            att_reference_layer_norm_backward(dx, out->gain, out->bias, dy, row, x->cols, eps,
                                              gain);
        else
            att_reference_rms_norm_backward(dx, out->gain, dy, row, x->cols, eps, gain);
    }
}

/* N is the normalized row and s the number it was divided by. */
static const char *norm_formula(att_arena *arena, bool centered, bool gain, bool columns)
{
    const char *along = columns ? "cols" : "rows", *g = gain ? "G .* g" : "G";
    return centered ? att_arena_printf(arena, "(%s - mean(%s, %s) - n .* mean(%s .* n, %s)) ./ s",
                                       g, g, along, g, along)
                    : att_arena_printf(arena, "(%s - n .* mean(%s .* n, %s)) ./ s", g, g, along);
}

att_status att_norm_rule(att_backward *walk, const att_computation *c)
{
    const att_matrix *g, *x;
    att_expr *name;
    att_sheet_layer layer;
    ATT_TRY(finish_output(walk, c, &g, &name));
    if (!g)
        return ATT_OK;
    ATT_TRY(att_sheet_layer_start(&layer, c->call, 1));
    x = att_sheet_layer_orient(&layer, c->inputs[0]);
    g = att_sheet_layer_orient(&layer, g);
    if (!x || !g)
        return att_fail_memory(att_backward_error(walk));
    att_arena *arena = att_backward_arena(walk);
    bool centered = strcmp(c->call->function->name, "layernorm") == 0;
    const att_matrix *gain = c->call->arg_count > 1 ? c->call->args[1].matrix : NULL;
    const att_matrix *bias = c->call->arg_count > 2 ? c->call->args[2].matrix : NULL;
    double eps = 1e-5;
    ATT_TRY(att_option_number(c->call, "eps", &eps));
    struct norm_grads out = { .x = att_matrix_new(arena, x->rows, x->cols),
                              .gain = att_arena_alloc(arena, (size_t)x->cols, sizeof(double)),
                              .bias = att_arena_alloc(arena, (size_t)x->cols, sizeof(double)) };
    att_expr *of_gain = gain ? att_backward_name(walk, gain) : name;
    if (!out.x || !out.gain || !out.bias || !of_gain)
        return att_fail_memory(att_backward_error(walk));
    norm_rows(x, g, gain ? gain->data : NULL, eps, centered, &out);
    const char *formula = norm_formula(arena, centered, gain != NULL, layer.columns);
    const att_matrix *dx = att_sheet_layer_orient(&layer, out.x);
    if (!formula || !dx)
        return att_fail_memory(att_backward_error(walk));
    ATT_TRY(att_backward_send(
        walk, c->inputs[0],
        (att_contribution){
            .reason = "n is the normalized row, s the number it was divided by; every number of "
                      "the row changes both",
            .formula = att_backward_formula(walk, formula, "Gg", name, of_gain),
            .value = dx }));
    if (gain)
        ATT_TRY(send_row(
            walk, gain, "the gradients times the normalized rows n, added up",
            att_backward_formula(walk, layer.columns ? "sum(G .* n, rows)" : "sum(G .* n, cols)",
                                 "G", name),
            out.gain, x));
    if (bias)
        ATT_TRY(send_row(
            walk, bias, "the gradients of all rows, added up",
            att_backward_formula(walk, layer.columns ? "sum(G, rows)" : "sum(G, cols)", "G", name),
            out.bias, x));
    return ATT_OK;
}

/* ---- linear */

static att_status send_bias(att_backward *walk, const att_linear_inputs *in, const att_matrix *g,
                            att_expr *name)
{
    bool upright = in->b->cols == 1 && in->b->rows > 1;
    att_terms sums = att_terms_column_sums(g, upright);
    if (in->columns) /* the sums of the rows of g */
        sums = (att_terms){ .count = g->cols,
                            .a = g->data,
                            .a_row = upright ? g->cols : 0,
                            .a_col = upright ? 0 : g->cols,
                            .a_term = 1,
                            .scale = 1 };
    const char *text = in->columns ? (upright ? "sum(G, rows)" : "sum(G, rows)'")
                                   : (upright ? "sum(G, cols)'" : "sum(G, cols)");
    return att_backward_send(
        walk, in->b,
        (att_contribution){ .reason = "a bias is added to every vector: the gradients add up",
                            .formula = att_backward_formula(walk, text, "G", name),
                            .terms = sums });
}

att_status att_send_linear(att_backward *walk, const att_linear_inputs *in, const att_matrix *g,
                           att_expr *name)
{
    att_expr *x = att_backward_name(walk, in->x), *w = att_backward_name(walk, in->w);
    if (!x || !w)
        return att_fail_memory(att_backward_error(walk));
    ATT_TRY(att_backward_send(
        walk, in->x,
        (att_contribution){
            .reason = "a linear map sends back the gradient times its transpose",
            .formula = att_backward_formula(walk, in->columns ? "W' * G" : "G * W'", "GW", name, w),
            .terms =
                in->columns ? att_terms_product_at(in->w, g) : att_terms_product_bt(g, in->w) }));
    ATT_TRY(att_backward_send(
        walk, in->w,
        (att_contribution){
            .reason = "each input times the gradient of its output, added up over the vectors",
            .formula = att_backward_formula(walk, in->columns ? "G * X'" : "X' * G", "GX", name, x),
            .terms =
                in->columns ? att_terms_product_bt(g, in->x) : att_terms_product_at(in->x, g) }));
    return in->b ? send_bias(walk, in, g, name) : ATT_OK;
}

static bool has_columns(const att_call *call)
{
    const att_value *vectors = att_call_option(call, "vectors");
    return vectors && vectors->kind == ATT_VALUE_WORD && strcmp(vectors->word, "columns") == 0;
}

att_status att_linear_rule(att_backward *walk, const att_computation *c)
{
    const att_matrix *g;
    att_expr *name;
    ATT_TRY(finish_output(walk, c, &g, &name));
    if (!g)
        return ATT_OK;
    const att_linear_inputs in = { .x = c->call->args[0].matrix,
                                   .w = c->call->args[1].matrix,
                                   .b = c->call->arg_count > 2 ? c->call->args[2].matrix : NULL,
                                   .columns = has_columns(c->call) };
    return att_send_linear(walk, &in, g, name);
}

/* ---- conv1d */

/* The kernel as the function reads it: a list of taps, these stacked, or a row of numbers. */
struct conv {
    const att_matrix *x;
    const att_value *kernel;
    int64_t taps;
    int64_t stride;
    int64_t left;
    bool numbers; /* each tap is a number that scales a whole vector */
    const double **tap;
    double **tap_grad;
    att_matrix *dx;
    att_matrix **dkernel; /* one per item of a list, or one */
};

static att_status place_taps(att_backward *walk, const att_computation *c, struct conv *conv)
{
    static const char *const paddings[] = { "same", "valid", NULL };
    size_t padding = 0;
    bool list = conv->kernel->kind == ATT_VALUE_LIST;
    const att_matrix *whole = conv->kernel->matrix;
    conv->numbers = !list && whole->rows == 1;
    conv->taps = list            ? (int64_t)conv->kernel->item_count
                 : conv->numbers ? whole->cols
                                 : whole->rows / conv->x->cols;
    conv->stride = 1;
    ATT_TRY(att_option_word(c->call, "padding", paddings, &padding));
    ATT_TRY(att_option_integer(c->call, "stride", 1, 1 << 30, &conv->stride));
    conv->left = padding == 0 ? (conv->taps - 1) / 2 : 0;
    att_arena *arena = att_backward_arena(walk);
    size_t items = list ? conv->kernel->item_count : 1;
    conv->tap = att_arena_alloc(arena, (size_t)conv->taps, sizeof *conv->tap);
    conv->tap_grad = att_arena_alloc(arena, (size_t)conv->taps, sizeof *conv->tap_grad);
    conv->dkernel = att_arena_alloc(arena, items, sizeof *conv->dkernel);
    conv->dx = att_matrix_new(arena, conv->x->rows, conv->x->cols);
    if (!conv->tap || !conv->tap_grad || !conv->dkernel || !conv->dx)
        return att_fail_memory(att_backward_error(walk));
    for (size_t i = 0; i < items; i++) {
        const att_matrix *m = list ? conv->kernel->items[i].matrix : whole;
        conv->dkernel[i] = att_matrix_new(arena, m->rows, m->cols);
        if (!conv->dkernel[i])
            return att_fail_memory(att_backward_error(walk));
    }
    int64_t size = conv->numbers ? 1 : list ? 0 : conv->x->cols * whole->cols;
    for (int64_t t = 0; t < conv->taps; t++) {
        conv->tap[t] = list ? conv->kernel->items[t].matrix->data : whole->data + t * size;
        conv->tap_grad[t] = list ? conv->dkernel[t]->data : conv->dkernel[0]->data + t * size;
    }
    return ATT_OK;
}

static void convolve_back(const struct conv *conv, const att_matrix *g)
{
    for (int64_t i = 0; i < g->rows; i++)
        for (int64_t j = 0; j < g->cols; j++) {
            int64_t skip = conv->numbers ? j : 0; /* then each column of x is convolved alone */
            const att_reference_conv1d at = { .x = conv->x->data + skip,
                                              .rows = conv->x->rows,
                                              .row_stride = conv->x->cols,
                                              .channels = conv->numbers ? 1 : conv->x->cols,
                                              .taps = conv->tap,
                                              .tap_count = conv->taps,
                                              .tap_stride = conv->numbers ? 1 : g->cols };
            att_reference_conv1d_backward_at(conv->dx->data + skip, conv->tap_grad,
                                             g->data[i * g->cols + j], &at,
                                             i * conv->stride - conv->left, conv->numbers ? 0 : j);
        }
}

att_status att_conv1d_rule(att_backward *walk, const att_computation *c)
{
    const att_matrix *g;
    att_expr *name;
    ATT_TRY(finish_output(walk, c, &g, &name));
    if (!g)
        return ATT_OK;
    struct conv conv = { .x = c->call->args[0].matrix, .kernel = &c->call->args[1] };
    ATT_TRY(place_taps(walk, c, &conv));
    convolve_back(&conv, g);
    ATT_TRY(att_backward_send(
        walk, conv.x,
        (att_contribution){ .reason = "each row gets the gradients of the outputs that it is in",
                            .formula =
                                att_backward_formula(walk, "sum(G[i - t] * K[t]')", "G", name),
                            .value = conv.dx }));
    size_t items = conv.kernel->kind == ATT_VALUE_LIST ? conv.kernel->item_count : 1;
    for (size_t t = 0; t < items; t++) {
        const att_matrix *tap = conv.kernel->kind == ATT_VALUE_LIST ? conv.kernel->items[t].matrix
                                                                    : conv.kernel->matrix;
        ATT_TRY(att_backward_send(
            walk, tap,
            (att_contribution){ .reason = "each tap gets its inputs times the gradients of their "
                                          "outputs, added up",
                                .formula =
                                    att_backward_formula(walk, "sum(x[i + t]' * G[i])", "G", name),
                                .value = conv.dkernel[t] }));
    }
    if (c->call->arg_count <= 2)
        return ATT_OK;
    const att_linear_inputs in = { .b = c->call->args[2].matrix };
    return send_bias(walk, &in, g, name);
}
