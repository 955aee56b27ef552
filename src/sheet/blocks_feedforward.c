/* Layers without attention: linear and conv1d; and positional, the sinusoidal position encoding of
 * "Attention Is All You Need", section 3.5. */
#include "sheet/blocks.h"
#include "sheet/scenario.h"

#include "reference/conv.h"
#include "reference/positions.h"
#include "sheet/rounding.h"

#include <inttypes.h>
#include <math.h>

/* ---------------------------------------------------------------- positional */

/* Argument `index` as an integer ≥ 1. */
static att_status integer_argument(const att_call *call, size_t index, const char *usage_name,
                                   int64_t *out)
{
    const att_matrix *m;
    ATT_TRY(att_call_matrix(call, index, &m));
    if (m->rows != 1 || m->cols != 1 || !(m->data[0] >= 1.0 && m->data[0] <= 1e9) ||
        m->data[0] != floor(m->data[0]))
        return att_call_fail(call, call->node->child[index],
                             "%s: %s must be a whole number, 1 or more", call->function->name,
                             usage_name);
    *out = (int64_t)m->data[0];
    return ATT_OK;
}

/* sin(position / base^(2i/d)) */
static att_expr *write_position(att_arena *arena, int64_t position, int64_t col, double base,
                                int64_t width)
{
    att_expr *exponent =
        att_make_binary(arena, ATT_OP_DIVIDE, att_make_number(arena, (double)(col - col % 2)),
                        att_make_number(arena, (double)width));
    att_expr *power = att_make_binary(arena, ATT_OP_POWER, att_make_number(arena, base), exponent);
    att_expr *angle =
        att_make_binary(arena, ATT_OP_DIVIDE, att_make_number(arena, (double)position), power);
    return att_make_call(arena, col % 2 == 0 ? "sin" : "cos", angle);
}

/* Labels "0", "1", …: positions and elements count from 0, as in the formula. */
static const char *const *number_labels(att_arena *arena, int64_t first, int64_t count)
{
    const char **labels = att_arena_alloc(arena, (size_t)count, sizeof *labels);
    for (int64_t i = 0; labels && i < count; i++) {
        labels[i] = att_arena_printf(arena, "%" PRId64, first + i);
        if (!labels[i])
            return NULL;
    }
    return labels;
}

/* Both indices of PE(pos, i) count from 0, as in the formula. */
static att_status write_positions(const att_call *call, const att_matrix *table, int64_t start,
                                  double base, att_calculations *out)
{
    if (!att_calculation_fits(table->rows, table->cols, 1))
        return ATT_OK;
    ATT_TRY(
        att_calculations_start(out, call->arena, (size_t)(table->rows * table->cols), call->err));
    for (int64_t i = 0; i < table->rows; i++)
        for (int64_t j = 0; j < table->cols; j++)
            ATT_TRY(att_calculations_add_number(
                out, call->arena, i + 1, att_make_indexed(call->arena, "PE", start + i, j),
                write_position(call->arena, start + i, j, base, table->cols),
                table->data[i * table->cols + j], call->err));
    return ATT_OK;
}

att_status att_run_positional(const att_call *call, att_value *out)
{
    int64_t rows = 0, width = 0, start = 0;
    double base = 10000.0;
    att_sheet_layer layer;
    att_calculations calculations = { 0 };
    ATT_TRY(integer_argument(call, 0, "n", &rows));
    ATT_TRY(integer_argument(call, 1, "d", &width));
    ATT_TRY(att_option_number(call, "base", &base));
    ATT_TRY(att_option_integer(call, "start", 0, 1 << 30, &start));
    if (!(base > 0.0))
        return att_call_fail(call, att_option_node(call, "base"),
                             "%s: base must be above 0, found %g", call->function->name, base);
    ATT_TRY(att_sheet_layer_start(&layer, call, 1));
    att_matrix *table = att_matrix_new(call->arena, rows, width);
    const att_expr *formula =
        att_formula(call->arena, "[sin(pos / base^(2 * i / d)), cos(pos / base^(2 * i / d))]");
    if (!table || !formula)
        return att_fail_memory(call->err);
    att_reference_sinusoids(table->data, start, rows, width, base);
    att_rounding_apply(call->rounding, table);
    table->row_labels = number_labels(call->arena, start, rows);
    table->col_labels = number_labels(call->arena, 0, width);
    table->numbered = true;
    if (!table->row_labels || !table->col_labels)
        return att_fail_memory(call->err);
    ATT_TRY(write_positions(call, table, start, base, &calculations));
    ATT_TRY(att_sheet_layer_add(
        &layer,
        &(att_trace_part){ .name = "encoding",
                           .description = "sine at even indices, cosine of the same angle at odd "
                                          "indices, counted from 0",
                           .formula = formula,
                           .value = table,
                           .calculations = calculations.items,
                           .calculation_count = calculations.count }));
    att_sheet_layer_finish(&layer, out);
    return ATT_OK;
}

/* ---------------------------------------------------------------- linear */

/* y_{i,j} = dot product of row i and column j, plus the bias. */
static att_status write_linear(const att_sheet_layer *layer, const att_matrix *a,
                               const att_matrix *b, const att_matrix *bias, const att_matrix *y,
                               att_calculations *out)
{
    att_arena *arena = layer->call->arena;
    if (!att_calculation_fits(y->rows, y->cols, a->cols))
        return ATT_OK;
    ATT_TRY(att_calculations_start(out, arena, (size_t)(y->rows * y->cols), layer->call->err));
    for (int64_t i = 0; i < y->rows; i++) {
        for (int64_t j = 0; j < y->cols; j++) {
            att_expr_sum sum = { .arena = arena };
            att_expr_sum_add_dot_product(&sum, a->cols, a->data + i * a->cols, 1, b->data + j,
                                         b->cols);
            if (bias)
                att_expr_sum_add(&sum, att_make_number(arena, bias->data[layer->columns ? i : j]));
            ATT_TRY(att_calculations_add_number(
                out, arena, i + 1, att_make_indexed(arena, "y", i + 1, j + 1), sum.expr,
                y->data[i * y->cols + j], layer->call->err));
        }
    }
    return ATT_OK;
}

att_status att_run_linear(const att_call *call, att_value *out)
{
    att_sheet_layer layer;
    att_argument x, w;
    const att_matrix *bias;
    att_calculations calculations = { 0 };
    ATT_TRY(att_sheet_layer_start(&layer, call, 1));
    ATT_TRY(att_argument_get(call, 0, "X", &x));
    ATT_TRY(att_argument_get(call, 1, "W", &w));
    ATT_TRY(att_argument_check_linear(&layer, &x, &w));
    int64_t width = layer.columns ? w.matrix->rows : w.matrix->cols;
    ATT_TRY(att_argument_vector(call, 2, "b", width, &bias));
    if (bias && att_slip_is_made(call->scenario, ATT_SLIP_NO_BIAS, call->node, 0))
        bias = NULL;
    if (w.matrix->rows == w.matrix->cols &&
        att_slip_is_made(call->scenario, ATT_SLIP_TRANSPOSED, w.node, 1))
        w.matrix = att_matrix_transpose(call->arena, w.matrix);
    if (!w.matrix)
        return att_fail_memory(call->err);
    att_call exact = *call; /* the bias is added before the result is rounded */
    exact.rounding = NULL;
    att_sheet_layer product = layer;
    product.call = &exact;
    att_matrix *y = att_sheet_layer_linear(&product, x.matrix, w.matrix, "y", NULL);
    att_expr *formula = att_sheet_layer_linear_formula(&layer, x.node, w.node);
    if (bias)
        formula = att_make_binary(call->arena, ATT_OP_ADD, formula, call->node->child[2]);
    if (!y || !formula)
        return att_fail_memory(call->err);
    for (int64_t i = 0; bias && i < y->rows; i++)
        for (int64_t j = 0; j < y->cols; j++)
            y->data[i * y->cols + j] += bias->data[layer.columns ? i : j];
    if (bias)
        y->magnitude = fmax(y->magnitude, att_matrix_largest(bias));
    att_rounding_apply(call->rounding, y);
    ATT_TRY(write_linear(&layer, layer.columns ? w.matrix : x.matrix,
                         layer.columns ? x.matrix : w.matrix, bias, y, &calculations));
    ATT_TRY(att_sheet_layer_add(
        &layer, &(att_trace_part){ .name = "output",
                                   .description = "the same linear map for every vector",
                                   .formula = formula,
                                   .value = y,
                                   .calculations = calculations.items,
                                   .calculation_count = calculations.count }));
    att_sheet_layer_finish(&layer, out);
    return ATT_OK;
}

/* ---------------------------------------------------------------- conv1d */

/* A convolution over rows: y_i = Σ_t x_{i·stride + t - left} K_t + b, with zero padding and without
 * flipping the kernel. `tap[t]` is K_t, d_in × d_out, or 1 × 1 where the kernel is a row of
 * numbers, each of which scales a whole vector. */
struct conv {
    const att_matrix *x;
    const att_matrix **tap;
    const double **tap_data; /* [taps] the data of each tap */
    const att_matrix *bias;
    int64_t taps;
    int64_t width; /* of y */
    int64_t stride;
    int64_t left;
};

/* K_t of a matrix of all taps stacked, or of a row of numbers. */
static att_matrix *slice_tap(att_arena *arena, const att_matrix *kernel, int64_t t, int64_t rows,
                             int64_t cols)
{
    att_matrix *tap = att_matrix_new(arena, rows, cols);
    for (int64_t i = 0; tap && i < rows * cols; i++)
        tap->data[i] = kernel->data[t * rows * cols + i];
    return tap;
}

static att_status fail_kernel(const att_call *call, const att_matrix *kernel, int64_t width)
{
    return att_call_fail(call, call->node->child[1],
                         "%s: the kernel is %" PRId64 " × %" PRId64 " and X has %" PRId64
                         " columns: expected a list of %" PRId64
                         "-row matrices, one per tap, or the same stacked, or a row of numbers",
                         call->function->name, kernel->rows, kernel->cols, width, width);
}

static att_status read_stacked(const att_call *call, struct conv *conv)
{
    att_argument kernel;
    ATT_TRY(att_argument_get(call, 1, "kernel", &kernel));
    bool numbers = kernel.matrix->rows == 1;
    int64_t rows = numbers ? 1 : conv->x->cols;
    int64_t cols = numbers ? 1 : kernel.matrix->cols;
    if (kernel.matrix->rows % rows != 0)
        return fail_kernel(call, kernel.matrix, conv->x->cols);
    conv->taps = numbers ? kernel.matrix->cols : kernel.matrix->rows / rows;
    conv->width = numbers ? conv->x->cols : cols;
    conv->tap = att_arena_alloc(call->arena, (size_t)conv->taps, sizeof *conv->tap);
    if (!conv->tap)
        return att_fail_memory(call->err);
    for (int64_t t = 0; t < conv->taps; t++) {
        conv->tap[t] = slice_tap(call->arena, kernel.matrix, t, rows, cols);
        if (!conv->tap[t])
            return att_fail_memory(call->err);
    }
    return ATT_OK;
}

static att_status read_kernel(const att_call *call, struct conv *conv)
{
    const att_value *list = &call->args[1];
    if (list->kind != ATT_VALUE_LIST)
        return read_stacked(call, conv);
    conv->taps = (int64_t)list->item_count;
    conv->tap = att_arena_alloc(call->arena, list->item_count, sizeof *conv->tap);
    if (!conv->tap)
        return att_fail_memory(call->err);
    for (size_t t = 0; t < list->item_count; t++) {
        const att_matrix *m = list->items[t].matrix;
        if (m->cols == 0 || m->rows != conv->x->cols || m->cols != list->items[0].matrix->cols)
            return att_call_fail(call, call->node->child[1],
                                 "%s: matrix %zu of the kernel must be %" PRId64
                                 " rows high (the columns of X) and as wide as the first",
                                 call->function->name, t + 1, conv->x->cols);
        conv->tap[t] = m;
    }
    conv->width = conv->tap[0]->cols;
    return ATT_OK;
}

/* The row of x under tap t for output row i, or -1 in the padding. */
static int64_t row_under(const struct conv *conv, int64_t i, int64_t t)
{
    int64_t row = i * conv->stride + t - conv->left;
    return row < conv->x->rows ? row : -1;
}

static bool scales_vectors(const struct conv *conv)
{
    return conv->tap[0]->rows == 1 && conv->tap[0]->cols == 1;
}

/* Element (i, j) of y. */
static double convolve(const struct conv *conv, int64_t i, int64_t j)
{
    bool whole = scales_vectors(conv); /* then each column of x is convolved alone */
    const att_reference_conv1d c = { .x = whole ? conv->x->data + j : conv->x->data,
                                     .rows = conv->x->rows,
                                     .row_stride = conv->x->cols,
                                     .channels = conv->tap[0]->rows,
                                     .taps = conv->tap_data,
                                     .tap_count = conv->taps,
                                     .tap_stride = conv->tap[0]->cols };
    return att_reference_conv1d_at(&c, i * conv->stride - conv->left, whole ? 0 : j,
                                   conv->bias ? conv->bias->data[j] : 0.0);
}

static att_expr *write_element(att_arena *arena, const struct conv *conv, int64_t i, int64_t j)
{
    att_expr_sum sum = { .arena = arena };
    for (int64_t t = 0; t < conv->taps; t++) {
        int64_t row = row_under(conv, i, t);
        const att_matrix *tap = conv->tap[t];
        if (row < 0)
            continue;
        const double *x = conv->x->data + row * conv->x->cols;
        bool whole = scales_vectors(conv);
        att_expr_sum_add_dot_product(&sum, whole ? 1 : tap->rows, whole ? x + j : x, 1,
                                     whole ? tap->data : tap->data + j, tap->cols);
    }
    if (conv->bias)
        att_expr_sum_add(&sum, att_make_number(arena, conv->bias->data[j]));
    return sum.expr; /* at least one tap covers a row of x, so it is not NULL */
}

static att_status write_conv(const att_call *call, const struct conv *conv, const att_matrix *y,
                             att_calculations *out)
{
    int64_t terms = conv->taps * (scales_vectors(conv) ? 1 : conv->x->cols);
    if (!att_calculation_fits(y->rows, y->cols, terms))
        return ATT_OK;
    ATT_TRY(att_calculations_start(out, call->arena, (size_t)(y->rows * y->cols), call->err));
    for (int64_t i = 0; i < y->rows; i++)
        for (int64_t j = 0; j < y->cols; j++)
            ATT_TRY(att_calculations_add_number(
                out, call->arena, i + 1, att_make_indexed(call->arena, "y", i + 1, j + 1),
                write_element(call->arena, conv, i, j), y->data[i * y->cols + j], call->err));
    return ATT_OK;
}

/* Computes the number of rows of y and the left padding. */
static att_status place_kernel(const att_call *call, struct conv *conv, int64_t *rows)
{
    static const char *const paddings[] = { "same", "valid", NULL };
    size_t padding = 0;
    conv->stride = 1;
    ATT_TRY(att_option_word(call, "padding", paddings, &padding));
    ATT_TRY(att_option_integer(call, "stride", 1, 1 << 30, &conv->stride));
    int64_t places = conv->x->rows;
    if (padding == 0)
        conv->left = (conv->taps - 1) / 2;
    else
        places -= conv->taps - 1;
    if (places < 1)
        return att_call_fail(call, call->node->child[1],
                             "%s: a kernel of %" PRId64 " taps does not fit into %" PRId64
                             " rows: expected a shorter kernel or padding = same",
                             call->function->name, conv->taps, conv->x->rows);
    *rows = (places - 1) / conv->stride + 1;
    return ATT_OK;
}

att_status att_run_conv1d(const att_call *call, att_value *out)
{
    struct conv conv = { 0 };
    att_argument x;
    att_sheet_layer layer;
    att_calculations calculations = { 0 };
    int64_t rows = 0;
    ATT_TRY(att_sheet_layer_start(&layer, call, 1));
    ATT_TRY(att_argument_get(call, 0, "X", &x));
    conv.x = x.matrix;
    ATT_TRY(read_kernel(call, &conv));
    ATT_TRY(att_argument_vector(call, 2, "b", conv.width, &conv.bias));
    ATT_TRY(place_kernel(call, &conv, &rows));
    ATT_TRY(att_sheet_layer_check_cost(call, (double)rows * (double)conv.width * (double)conv.taps *
                                                 (double)conv.tap[0]->rows));
    att_matrix *y = att_matrix_new(call->arena, rows, conv.width);
    const att_expr *formula =
        att_formula(call->arena, conv.bias ? "sum(x[i + t] * K[t]) + b" : "sum(x[i + t] * K[t])");
    conv.tap_data = att_arena_alloc(call->arena, (size_t)conv.taps, sizeof *conv.tap_data);
    if (!y || !formula || !conv.tap_data)
        return att_fail_memory(call->err);
    for (int64_t t = 0; t < conv.taps; t++)
        conv.tap_data[t] = conv.tap[t]->data;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < conv.width; j++)
            y->data[i * conv.width + j] = convolve(&conv, i, j);
    att_rounding_apply(call->rounding, y);
    y->row_labels = rows == conv.x->rows ? conv.x->row_labels : NULL;
    ATT_TRY(write_conv(call, &conv, y, &calculations));
    ATT_TRY(att_sheet_layer_add(
        &layer, &(att_trace_part){ .name = "output",
                                   .description = "each row is computed from the rows around it",
                                   .formula = formula,
                                   .value = y,
                                   .calculations = calculations.items,
                                   .calculation_count = calculations.count }));
    att_sheet_layer_finish(&layer, out);
    return ATT_OK;
}
