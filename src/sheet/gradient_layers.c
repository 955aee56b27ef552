/* Gradients of the layers without attention and recurrence. */
#include "sheet/gradient_rules.h"

#include "reference/conv.h"
#include "reference/norm.h"
#include "sheet/blocks.h"
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

/* ---- layernorm and rmsnorm */

/* The gradient of the optional row `to` of the call, the sums of the rows of `terms`. */
static att_status send_row(att_backward *walk, const att_matrix *to, const char *reason,
                           att_expr *formula, double *sums, att_terms terms, int64_t width)
{
    att_matrix *value = att_matrix_new(att_backward_arena(walk), to->rows, to->cols);
    if (!value)
        return att_fail_memory(att_backward_error(walk));
    memcpy(value->data, sums, (size_t)width * sizeof *sums);
    if (to->rows > 1) /* a column */
        terms = att_terms_transpose(terms);
    return att_backward_send(
        walk, to,
        (att_contribution){ .reason = reason, .formula = formula, .value = value, .terms = terms });
}

struct norm_grads {
    att_matrix *x;
    double *gain;
    double *bias;
};

/* What the calculations of a norm's gradients show: vectors are rows. */
struct norm_numbers {
    const att_matrix *g;
    const double *gain; /* or NULL: ones */
    att_matrix *n;      /* the normalized rows */
    double *s;          /* [rows] the numbers they were divided by */
    bool centered, columns;
};

static const struct norm_numbers *norm_numbers(att_arena *arena, const struct norm_numbers *of,
                                               const att_matrix *x, double eps)
{
    struct norm_numbers *out = att_arena_alloc(arena, 1, sizeof *out);
    if (!out)
        return NULL;
    *out = *of;
    out->n = att_matrix_new(arena, x->rows, x->cols);
    out->s = att_arena_alloc(arena, (size_t)x->rows, sizeof *out->s);
    if (!out->n || !out->s)
        return NULL;
    for (int64_t i = 0; i < x->rows; i++) {
        const double *row = x->data + i * x->cols;
        double *n = out->n->data + i * x->cols, mean = 0, squares = 0;
        if (out->centered)
            att_reference_layer_norm(n, row, x->cols, eps, NULL, NULL);
        else
            att_reference_rms_norm(n, row, x->cols, eps, NULL);
        for (int64_t j = 0; out->centered && j < x->cols; j++)
            mean += row[j] / (double)x->cols;
        for (int64_t j = 0; j < x->cols; j++)
            squares += (row[j] - mean) * (row[j] - mean);
        out->s[i] = sqrt(squares / (double)x->cols + eps);
    }
    return out;
}

/* g gain at (i, j), and times n. */
static att_expr *norm_factor(att_arena *arena, const struct norm_numbers *of, int64_t i, int64_t j,
                             bool times_n)
{
    int64_t at = i * of->g->cols + j;
    att_expr *product = att_make_number(arena, of->g->data[at]);
    if (of->gain)
        product =
            att_make_binary(arena, ATT_OP_MULTIPLY, product, att_make_number(arena, of->gain[j]));
    return times_n ? att_make_binary(arena, ATT_OP_MULTIPLY, product,
                                     att_make_number(arena, of->n->data[at]))
                   : product;
}

/* The mean over the row of g gain, or of g gain n: a quotient. */
static att_expr *norm_mean(att_arena *arena, const struct norm_numbers *of, int64_t i, bool times_n)
{
    att_expr_sum sum = { .arena = arena };
    for (int64_t j = 0; j < of->g->cols; j++)
        att_expr_sum_add(&sum, norm_factor(arena, of, i, j, times_n));
    return att_make_binary(arena, ATT_OP_DIVIDE, sum.expr,
                           att_make_number(arena, (double)of->g->cols));
}

/* (g - mean(g) - n mean(g n)) / s, as the reference has it. */
static att_expr *write_norm(att_arena *arena, const void *numbers, int64_t row, int64_t col)
{
    const struct norm_numbers *of = numbers;
    int64_t i = of->columns ? col : row, j = of->columns ? row : col;
    att_expr *sum = norm_factor(arena, of, i, j, false);
    if (of->centered)
        sum = att_make_binary(arena, ATT_OP_SUBTRACT, sum, norm_mean(arena, of, i, false));
    att_expr *along = att_make_binary(arena, ATT_OP_MULTIPLY,
                                      att_make_number(arena, of->n->data[i * of->g->cols + j]),
                                      norm_mean(arena, of, i, true));
    sum = att_make_binary(arena, ATT_OP_SUBTRACT, sum, along);
    return att_make_binary(arena, ATT_OP_DIVIDE, sum, att_make_number(arena, of->s[i]));
}

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

/* The gradient of the gain, unless it is NULL. */
static att_status send_gain(att_backward *walk, const att_matrix *gain, att_expr *name,
                            const struct norm_numbers *numbers, double *values)
{
    const att_matrix *g = numbers->g;
    const att_terms terms = { .count = g->rows,
                              .a = g->data,
                              .a_col = 1,
                              .a_term = g->cols,
                              .b = numbers->n->data,
                              .b_col = 1,
                              .b_term = g->cols,
                              .scale = 1 };
    const char *formula = numbers->columns ? "sum(G .* n, rows)" : "sum(G .* n, cols)";
    if (!gain)
        return ATT_OK;
    return send_row(walk, gain, "the gradients times the normalized rows n, added up",
                    att_backward_formula(walk, formula, "G", name), values, terms, g->cols);
}

/* The gradient of the bias, unless it is NULL. */
static att_status send_norm_bias(att_backward *walk, const att_matrix *bias, att_expr *name,
                                 const struct norm_numbers *numbers, double *values)
{
    const att_matrix *g = numbers->g;
    const char *formula = numbers->columns ? "sum(G, rows)" : "sum(G, cols)";
    if (!bias)
        return ATT_OK;
    return send_row(walk, bias, "the gradients of all rows, added up",
                    att_backward_formula(walk, formula, "G", name), values,
                    att_terms_column_sums(g, false), g->cols);
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
    const struct norm_numbers *numbers =
        norm_numbers(arena,
                     &(struct norm_numbers){ .g = g,
                                             .gain = gain ? gain->data : NULL,
                                             .centered = centered,
                                             .columns = layer.columns },
                     x, eps);
    if (!formula || !dx || !numbers)
        return att_fail_memory(att_backward_error(walk));
    ATT_TRY(att_backward_send(
        walk, c->inputs[0],
        (att_contribution){
            .reason = "n is the normalized row, s the number it was divided by; every number of "
                      "the row changes both",
            .formula = att_backward_formula(walk, formula, "Gg", name, of_gain),
            .value = dx,
            .write = write_norm,
            .of = numbers,
            .term_count = x->cols }));
    ATT_TRY(send_gain(walk, gain, name, numbers, out.gain));
    return send_norm_bias(walk, bias, name, numbers, out.bias);
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
    const att_matrix *x, *g;
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

/* Where output row r reads tap t of the kernel: the row of x, or -1 beyond its ends. */
static int64_t conv_row(const struct conv *conv, int64_t r, int64_t t)
{
    int64_t at = r * conv->stride - conv->left + t;
    return at >= 0 && at < conv->x->rows ? at : -1;
}

/* The weight from channel `channel` of tap t to column j of the output. */
static double conv_weight(const struct conv *conv, int64_t t, int64_t channel, int64_t j)
{
    return conv->numbers ? conv->tap[t][0] : conv->tap[t][channel * conv->g->cols + j];
}

static void add_conv_term(att_expr_sum *sum, double a, double b)
{
    att_expr_sum_add(sum,
                     att_make_binary(sum->arena, ATT_OP_MULTIPLY, att_make_number(sum->arena, a),
                                     att_make_number(sum->arena, b)));
}

static att_expr *conv_sum(const att_expr_sum *sum)
{
    return sum->terms > 0 ? sum->expr : att_make_number(sum->arena, 0);
}

/* Element (i, channel) of the gradient of x: the outputs that row i is in. */
static att_expr *write_conv_x(att_arena *arena, const void *of, int64_t i, int64_t channel)
{
    const struct conv *conv = of;
    const att_matrix *g = conv->g;
    att_expr_sum sum = { .arena = arena };
    for (int64_t r = 0; r < g->rows; r++)
        for (int64_t t = 0; t < conv->taps; t++) {
            if (conv_row(conv, r, t) != i)
                continue;
            for (int64_t j = conv->numbers ? channel : 0;
                 j < (conv->numbers ? channel + 1 : g->cols); j++)
                add_conv_term(&sum, g->data[r * g->cols + j], conv_weight(conv, t, channel, j));
        }
    return conv_sum(&sum);
}

/* One matrix of the kernel: the taps from `first` on. */
struct conv_kernel {
    const struct conv *conv;
    int64_t first;
};

/* Element (row, col) of the gradient of a matrix of the kernel. */
static att_expr *write_conv_kernel(att_arena *arena, const void *of, int64_t row, int64_t col)
{
    const struct conv_kernel *kernel = of;
    const struct conv *conv = kernel->conv;
    const att_matrix *x = conv->x, *g = conv->g;
    int64_t t = conv->numbers ? col : kernel->first + row / x->cols, channel = row % x->cols;
    att_expr_sum sum = { .arena = arena };
    for (int64_t r = 0; r < g->rows; r++) {
        int64_t at = conv_row(conv, r, t);
        if (at < 0)
            continue;
        if (!conv->numbers)
            add_conv_term(&sum, x->data[at * x->cols + channel], g->data[r * g->cols + col]);
        for (int64_t j = 0; conv->numbers && j < g->cols; j++)
            add_conv_term(&sum, x->data[at * x->cols + j], g->data[r * g->cols + j]);
    }
    return conv_sum(&sum);
}

/* The gradient of one matrix of the kernel. */
static att_status send_kernel(att_backward *walk, const struct conv *conv, size_t item,
                              att_expr *name)
{
    bool list = conv->kernel->kind == ATT_VALUE_LIST;
    struct conv_kernel *kernel = att_arena_alloc(att_backward_arena(walk), 1, sizeof *kernel);
    if (!kernel)
        return att_fail_memory(att_backward_error(walk));
    *kernel = (struct conv_kernel){ .conv = conv, .first = list ? (int64_t)item : 0 };
    return att_backward_send(
        walk, list ? conv->kernel->items[item].matrix : conv->kernel->matrix,
        (att_contribution){
            .reason = "each tap gets its inputs times the gradients of their outputs, added up",
            .formula = att_backward_formula(walk, "sum(x[i + t]' * G[i])", "G", name),
            .value = conv->dkernel[item],
            .write = write_conv_kernel,
            .of = kernel,
            .term_count = conv->g->rows * (conv->numbers ? conv->g->cols : 1) });
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
    struct conv *conv = att_arena_alloc(att_backward_arena(walk), 1, sizeof *conv);
    if (!conv)
        return att_fail_memory(att_backward_error(walk));
    *conv = (struct conv){ .x = c->call->args[0].matrix, .g = g, .kernel = &c->call->args[1] };
    ATT_TRY(place_taps(walk, c, conv));
    convolve_back(conv, g);
    ATT_TRY(att_backward_send(
        walk, conv->x,
        (att_contribution){ .reason = "each row gets the gradients of the outputs that it is in",
                            .formula =
                                att_backward_formula(walk, "sum(G[i - t] * K[t]')", "G", name),
                            .value = conv->dx,
                            .write = write_conv_x,
                            .of = conv,
                            .term_count = conv->taps * (conv->numbers ? 1 : g->cols) }));
    size_t items = conv->kernel->kind == ATT_VALUE_LIST ? conv->kernel->item_count : 1;
    for (size_t item = 0; item < items; item++)
        ATT_TRY(send_kernel(walk, conv, item, name));
    if (c->call->arg_count <= 2)
        return ATT_OK;
    const att_linear_inputs in = { .b = c->call->args[2].matrix };
    return send_bias(walk, &in, g, name);
}
