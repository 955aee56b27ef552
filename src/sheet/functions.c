/* Worksheet functions on matrices: element-wise, along rows or columns, and constructors. Attention
 * and other layers are in blocks.c. */
#include "sheet/function.h"

#include "attention/normalize.h"
#include "base/math.h"
#include "reference/activation.h"
#include "reference/norm.h"
#include "reference/rounding.h"
#include "sheet/blocks.h"
#include "sheet/matrix.h"
#include "sheet/rounding.h"
#include "sheet/scenario.h"

#include <math.h>
#include <string.h>

static att_status return_matrix(const att_call *call, const att_matrix *matrix, att_value *out)
{
    *out = (att_value){ .kind = ATT_VALUE_MATRIX, .matrix = matrix };
    return matrix ? ATT_OK : att_fail_memory(call->err);
}

/* ---- Element-wise */

static const struct elementwise_spec {
    const char *name;
    double (*apply)(double);
} elements[] = {
    { "tanh", att_tanh },
    { "relu", att_reference_relu },
    { "sigmoid", att_reference_sigmoid },
    { "gelu", att_reference_gelu },
    { "exp", att_exp },
    { "log", att_log },
    { "sqrt", sqrt },
    { "abs", fabs },
    { "sin", att_sin },
    { "cos", att_cos },
};

static att_status apply(const att_call *call, double (*function)(double), const att_matrix *of,
                        att_value *out)
{
    att_matrix *to = att_matrix_like(call->arena, of);
    for (int64_t i = 0; to && i < of->rows * of->cols; i++)
        to->data[i] = function(of->data[i]);
    return return_matrix(call, to, out);
}

static att_status run_element(const att_call *call, att_value *out)
{
    const att_matrix *of;
    ATT_TRY(att_call_matrix(call, 0, &of));
    const struct elementwise_spec *row = elements;
    while (strcmp(row->name, call->function->name) != 0)
        row++;
    bool activation = row < elements + 4; /* tanh, relu, sigmoid, gelu */
    if (activation && att_slip_is_made(call->scenario, ATT_SLIP_NO_ACTIVATION, call->node, 0))
        return return_matrix(call, of, out);
    return apply(call, row->apply, of, out);
}

/* ---- Along rows, or with the flag `cols` along columns (by transposing twice) */

static bool flag(const att_call *call, const char *name)
{
    return att_call_option(call, name) != NULL;
}

static att_status check_axis(const att_call *call)
{
    if (flag(call, "rows") && flag(call, "cols"))
        return att_call_fail(call, NULL, "%s: expected rows or cols, found both",
                             call->function->name);
    return ATT_OK;
}

/* The softmax of attention, but a row of -inf alone, which may attend nothing, yields zeros. */
static void softmax_row(const double *from, double *to, int64_t count)
{
    bool empty = true;
    for (int64_t j = 0; j < count; j++) {
        empty = empty && from[j] == -INFINITY;
        to[j] = 0;
    }
    if (!empty)
        att_normalizer_get(ATT_NORMALIZE_SOFTMAX)->forward(to, from, count, NULL);
}

static att_status run_softmax(const att_call *call, att_value *out)
{
    const att_matrix *of;
    bool cols = flag(call, "cols");
    ATT_TRY(att_call_matrix(call, 0, &of));
    ATT_TRY(check_axis(call));
    cols = cols != att_slip_is_made(call->scenario, ATT_SLIP_SOFTMAX_COLUMNS, call->node, 0);
    if (att_slip_is_made(call->scenario, ATT_SLIP_EXP_ONLY, call->node, 0))
        return apply(call, att_exp, of, out);
    const att_matrix *from = cols ? att_matrix_transpose(call->arena, of) : of;
    att_matrix *to = from ? att_matrix_like(call->arena, from) : NULL;
    for (int64_t i = 0; to && i < to->rows; i++)
        softmax_row(from->data + i * to->cols, to->data + i * to->cols, to->cols);
    return return_matrix(call, to && cols ? att_matrix_transpose(call->arena, to) : to, out);
}

static double sum_of(const double *x, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += x[i];
    return sum;
}

static double mean_of(const double *x, int64_t count)
{
    return sum_of(x, count) / (double)count;
}

/* The index of the first maximum, from 0; NaN counts as the largest, so that it is visible. */
static int64_t argmax(const double *x, int64_t count)
{
    int64_t best = 0;
    for (int64_t i = 1; i < count && !isnan(x[best]); i++)
        if (x[i] > x[best] || isnan(x[i]))
            best = i;
    return best;
}

static double max_of(const double *x, int64_t count)
{
    return x[argmax(x, count)];
}

static double min_of(const double *x, int64_t count)
{
    double least = x[0];
    for (int64_t i = 1; i < count && !isnan(least); i++)
        if (x[i] < least || isnan(x[i]))
            least = x[i];
    return least;
}

static double argmax_of(const double *x, int64_t count)
{
    return (double)(argmax(x, count) + 1);
}

static const struct reduction_spec {
    const char *name;
    double (*reduce)(const double *x, int64_t count);
    bool of_rows;       /* reduces rows even without a flag */
    bool empty_is_fine; /* is defined for an empty matrix */
    bool adds;          /* its result may be round-off of a sum */
} reductions[] = {
    { "sum", sum_of, false, true, true },        { "mean", mean_of, false, false, true },
    { "max", max_of, false, false, false },      { "min", min_of, false, false, false },
    { "argmax", argmax_of, true, false, false },
};

/* One number per row of `from`, as a column with the row labels. */
static att_matrix *reduce_rows(att_arena *arena, const att_matrix *from,
                               const struct reduction_spec *row)
{
    att_matrix *to = att_matrix_new(arena, from->rows, 1);
    if (!to)
        return NULL;
    for (int64_t i = 0; i < from->rows; i++)
        to->data[i] = row->reduce(from->data + i * from->cols, from->cols);
    to->row_labels = from->row_labels;
    to->numbered = from->numbered;
    to->magnitude = row->adds ? att_matrix_largest(from) : 0;
    return to;
}

static att_status run_reduce(const att_call *call, att_value *out)
{
    const att_matrix *of;
    ATT_TRY(att_call_matrix(call, 0, &of));
    const struct reduction_spec *row = reductions;
    while (strcmp(row->name, call->function->name) != 0)
        row++;
    ATT_TRY(check_axis(call));
    if (of->rows * of->cols == 0 && !row->empty_is_fine)
        return att_call_fail(call, call->node->child[0], "%s of an empty matrix: it is %lld × %lld",
                             row->name, (long long)of->rows, (long long)of->cols);
    if (flag(call, "cols")) {
        const att_matrix *turned = att_matrix_transpose(call->arena, of);
        const att_matrix *column = turned ? reduce_rows(call->arena, turned, row) : NULL;
        return return_matrix(call, column ? att_matrix_transpose(call->arena, column) : NULL, out);
    }
    if (flag(call, "rows") || row->of_rows)
        return return_matrix(call, reduce_rows(call->arena, of, row), out);
    att_matrix *number = att_matrix_scalar(call->arena, row->reduce(of->data, of->rows * of->cols));
    if (number && row->adds)
        number->magnitude = att_matrix_largest(of);
    return return_matrix(call, number, out);
}

/* ---- Norms: each row to mean 0 and variance 1, or to a mean square of 1 alone; then gain and bias
 */

/* The optional gain or bias of vectors of `length` numbers, which are rows or columns: argument
 * `index`, or NULL. */
static att_status norm_argument(const att_call *call, size_t index, const char *what,
                                int64_t length, bool columns, const double **out)
{
    const att_matrix *of;
    *out = NULL;
    if (index >= call->arg_count)
        return ATT_OK;
    ATT_TRY(att_call_matrix(call, index, &of));
    long long rows = columns ? length : 1, cols = columns ? 1 : length;
    if (of->rows != rows || of->cols != cols)
        return att_call_fail(call, call->node->child[index],
                             "%s: the %s must be %lld × %lld like the %s, found %lld × %lld",
                             call->function->name, what, rows, cols, columns ? "columns" : "rows",
                             (long long)of->rows, (long long)of->cols);
    *out = of->data;
    return ATT_OK;
}

/* The rows divided by their variance (rmsnorm: their mean square) instead of its root: a slip. */
static void divide_again(att_matrix *to, const att_matrix *of, double eps, bool centered)
{
    for (int64_t i = 0; i < of->rows; i++) {
        const double *row = of->data + i * of->cols;
        double mean = 0, squares = 0;
        for (int64_t j = 0; centered && j < of->cols; j++)
            mean += row[j] / (double)of->cols;
        for (int64_t j = 0; j < of->cols; j++)
            squares += (row[j] - mean) * (row[j] - mean);
        for (int64_t j = 0; j < of->cols; j++)
            to->data[i * of->cols + j] /= sqrt(squares / (double)of->cols + eps);
    }
}

/* A row normalized as by hand: its mean and its variance, or mean square, are rounded before they
 * are used. */
static void norm_by_hand(double *to, const double *row, int64_t count, double eps, bool centered,
                         const att_rounding *rounding)
{
    double mean = 0, squares = 0;
    for (int64_t j = 0; centered && j < count; j++)
        mean += row[j];
    mean = att_rounding_number(rounding, mean / (double)count);
    for (int64_t j = 0; j < count; j++)
        squares += (row[j] - mean) * (row[j] - mean);
    double spread = att_rounding_number(rounding, squares / (double)count);
    for (int64_t j = 0; j < count; j++)
        to[j] = (row[j] - mean) / sqrt(spread + eps);
}

/* y gain + bias for each row. */
static void scale_rows(att_matrix *to, const double *gain, const double *bias)
{
    for (int64_t i = 0; i < to->rows * to->cols; i++)
        to->data[i] =
            to->data[i] * (gain ? gain[i % to->cols] : 1) + (bias ? bias[i % to->cols] : 0);
}

static att_status run_norm(const att_call *call, att_value *out)
{
    bool centered = strcmp(call->function->name, "layernorm") == 0;
    const att_matrix *of;
    const double *gain;
    const double *bias;
    double eps = 1e-5;
    att_sheet_layer layer;
    ATT_TRY(att_sheet_layer_start(&layer, call, 1));
    ATT_TRY(att_call_matrix(call, 0, &of));
    of = att_sheet_layer_orient(&layer, of);
    if (!of)
        return att_fail_memory(call->err);
    ATT_TRY(norm_argument(call, 1, "gain", of->cols, layer.columns, &gain));
    ATT_TRY(norm_argument(call, 2, "bias", of->cols, layer.columns, &bias));
    ATT_TRY(att_option_number(call, "eps", &eps));
    if (bias && att_slip_is_made(call->scenario, ATT_SLIP_NO_BIAS, call->node, 0))
        bias = NULL;
    bool squared = att_slip_is_made(call->scenario, ATT_SLIP_VARIANCE_NOT_ROOT, call->node, 0);
    bool later = squared || call->rounding;
    const double *factor = later ? NULL : gain, *term = later ? NULL : bias;
    att_matrix *to = att_matrix_like(call->arena, of);
    for (int64_t i = 0; to && i < of->rows; i++) {
        const double *row = of->data + i * of->cols;
        if (call->rounding && !squared)
            norm_by_hand(to->data + i * of->cols, row, of->cols, eps, centered, call->rounding);
        else if (centered)
            att_reference_layer_norm(to->data + i * of->cols, row, of->cols, eps, factor, term);
        else
            att_reference_rms_norm(to->data + i * of->cols, row, of->cols, eps, factor);
    }
    if (to && squared)
        divide_again(to, of, eps, centered);
    if (to && later)
        scale_rows(to, gain, bias);
    if (to)
        to->magnitude = fmax(1, to->magnitude); /* of the normalized numbers */
    return return_matrix(call, att_sheet_layer_orient(&layer, to), out);
}

/* ---- Rearranging */

static att_status run_transpose(const att_call *call, att_value *out)
{
    const att_matrix *of;
    ATT_TRY(att_call_matrix(call, 0, &of));
    return return_matrix(call, att_matrix_transpose(call->arena, of), out);
}

/* Checks that `order` is a permutation of 1 to `count` and converts it to count from 0. */
static att_status read_order(const att_call *call, const att_matrix *order, int64_t count,
                             const char *unit, int64_t **out)
{
    const att_expr *at = call->node->child[1];
    if (order->rows * order->cols != count)
        return att_call_fail(call, at, "permute: expected an order of %lld %ss, found %lld numbers",
                             (long long)count, unit, (long long)(order->rows * order->cols));
    int64_t *places = att_arena_alloc(call->arena, (size_t)count, sizeof *places);
    uint8_t *seen = att_arena_alloc(call->arena, (size_t)count, 1);
    if (!places || !seen)
        return att_fail_memory(call->err);
    for (int64_t i = 0; i < count; i++) {
        double place = order->data[i];
        if (!(place >= 1 && place <= (double)count) || place != floor(place))
            return att_call_fail(call, at, "permute: the order holds %g, expected 1 to %lld", place,
                                 (long long)count);
        places[i] = (int64_t)place - 1;
        if (seen[places[i]]++)
            return att_call_fail(call, at, "permute: the order holds %g twice", place);
    }
    *out = places;
    return ATT_OK;
}

static att_status run_permute(const att_call *call, att_value *out)
{
    const att_matrix *of;
    const att_matrix *order;
    int64_t *places = NULL;
    bool cols = flag(call, "cols");
    ATT_TRY(att_call_matrix(call, 0, &of));
    ATT_TRY(att_call_matrix(call, 1, &order));
    ATT_TRY(check_axis(call));
    ATT_TRY(read_order(call, order, cols ? of->cols : of->rows, cols ? "column" : "row", &places));
    return return_matrix(call,
                         att_matrix_select(call->arena, of, cols ? NULL : places, of->rows,
                                           cols ? places : NULL, of->cols),
                         out);
}

/* ---- Making matrices */

static att_status size_argument(const att_call *call, size_t index, int64_t *out)
{
    const att_matrix *size;
    ATT_TRY(att_call_matrix(call, index, &size));
    double value = att_matrix_is_scalar(size) ? size->data[0] : -1;
    if (!(value >= 0 && value <= 1e9) || value != floor(value))
        return att_call_fail(call, call->node->child[index],
                             "%s: a size must be a whole number from 0 to 1e9",
                             call->function->name);
    *out = (int64_t)value;
    return ATT_OK;
}

static att_status run_filled(const att_call *call, att_value *out)
{
    int64_t rows = 0;
    int64_t cols = 0;
    ATT_TRY(size_argument(call, 0, &rows));
    ATT_TRY(size_argument(call, call->arg_count - 1, &cols));
    att_matrix *to = att_matrix_new(call->arena, rows, cols);
    bool ones = strcmp(call->function->name, "ones") == 0;
    for (int64_t i = 0; to && ones && i < rows * cols; i++)
        to->data[i] = 1;
    return return_matrix(call, to, out);
}

static att_status run_identity(const att_call *call, att_value *out)
{
    int64_t size = 0;
    ATT_TRY(size_argument(call, 0, &size));
    att_matrix *to = att_matrix_new(call->arena, size, size);
    for (int64_t i = 0; to && i < size; i++)
        to->data[i * size + i] = 1;
    return return_matrix(call, to, out);
}

static att_status run_shape(const att_call *call, att_value *out)
{
    const att_matrix *of;
    ATT_TRY(att_call_matrix(call, 0, &of));
    att_matrix *to = att_matrix_new(call->arena, 1, 2);
    if (to) {
        to->data[0] = (double)of->rows;
        to->data[1] = (double)of->cols;
    }
    return return_matrix(call, to, out);
}

/* ---- Rounding */

static att_status run_round(const att_call *call, att_value *out)
{
    const att_matrix *of;
    const att_matrix *digits = NULL;
    ATT_TRY(att_call_matrix(call, 0, &of));
    if (call->arg_count > 1)
        ATT_TRY(att_call_matrix(call, 1, &digits));
    double places = !digits ? 0 : att_matrix_is_scalar(digits) ? digits->data[0] : NAN;
    if (!(fabs(places) <= 300) || places != floor(places))
        return att_call_fail(call, call->node->child[1],
                             "round: the digits must be a whole number from -300 to 300");
    att_matrix *to = att_matrix_like(call->arena, of);
    for (int64_t i = 0; to && i < of->rows * of->cols; i++)
        to->data[i] = att_reference_round(of->data[i], att_pow(10, places));
    return return_matrix(call, to, out);
}

/* ---- The table */

static const att_option_spec axis_words[] = { { "rows", NULL, NULL },
                                              { "cols", NULL, NULL },
                                              { NULL, NULL, NULL } };
static const att_option_spec norm_options[] = { { "eps", "a number", NULL },
                                                { "vectors", "rows or columns", NULL },
                                                { NULL, NULL, NULL } };

const att_function att_plain_functions[] = {
    { "softmax", "softmax(X), each row, or softmax(X, cols)", 1, 1, axis_words, run_softmax },
    { "tanh", "tanh(X)", 1, 1, NULL, run_element },
    { "relu", "relu(X)", 1, 1, NULL, run_element },
    { "sigmoid", "sigmoid(X)", 1, 1, NULL, run_element },
    { "gelu", "gelu(X)", 1, 1, NULL, run_element },
    { "exp", "exp(X)", 1, 1, NULL, run_element },
    { "log", "log(X)", 1, 1, NULL, run_element },
    { "sqrt", "sqrt(X)", 1, 1, NULL, run_element },
    { "abs", "abs(X)", 1, 1, NULL, run_element },
    { "sin", "sin(X)", 1, 1, NULL, run_element },
    { "cos", "cos(X)", 1, 1, NULL, run_element },
    { "sum", "sum(X), sum(X, rows) or sum(X, cols)", 1, 1, axis_words, run_reduce },
    { "mean", "mean(X), mean(X, rows) or mean(X, cols)", 1, 1, axis_words, run_reduce },
    { "max", "max(X), max(X, rows) or max(X, cols)", 1, 1, axis_words, run_reduce },
    { "min", "min(X), min(X, rows) or min(X, cols)", 1, 1, axis_words, run_reduce },
    { "argmax", "argmax(X), of each row, or argmax(X, cols)", 1, 1, axis_words, run_reduce },
    { "layernorm", "layernorm(X, gain, bias, eps = 1e-5)", 1, 3, norm_options, run_norm },
    { "rmsnorm", "rmsnorm(X, gain, eps = 1e-5)", 1, 2, norm_options, run_norm },
    { "permute", "permute(X, [3 1 2]), or permute(X, [3 1 2], cols)", 2, 2, axis_words,
      run_permute },
    { "transpose", "transpose(X)", 1, 1, NULL, run_transpose },
    { "zeros", "zeros(rows, cols)", 1, 2, NULL, run_filled },
    { "ones", "ones(rows, cols)", 1, 2, NULL, run_filled },
    { "identity", "identity(size)", 1, 1, NULL, run_identity },
    { "shape", "shape(X)", 1, 1, NULL, run_shape },
    { "round", "round(X, digits)", 1, 2, NULL, run_round },
    { 0 },
};
