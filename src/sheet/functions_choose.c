/* Worksheet functions that choose, order and draw: where, diag, sort, topk, onehot, cross_entropy,
 * random and dropout. */
#include "sheet/function.h"

#include "base/random.h"
#include "reference/loss.h"
#include "sheet/blocks.h"
#include "sheet/matrix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static att_status return_matrix(const att_call *call, const att_matrix *matrix, att_value *out)
{
    *out = (att_value){ .kind = ATT_VALUE_MATRIX, .matrix = matrix };
    return matrix ? ATT_OK : att_fail_memory(call->err);
}

static bool flag(const att_call *call, const char *name)
{
    return att_call_option(call, name) != NULL;
}

/* Argument `index` as a whole number from `min` to `max`. */
static att_status whole_argument(const att_call *call, size_t index, const char *what, double min,
                                 double max, int64_t *out)
{
    const att_matrix *m;
    ATT_TRY(att_call_matrix(call, index, &m));
    double value = att_matrix_is_scalar(m) ? m->data[0] : NAN;
    if (!(value >= min && value <= max) || value != floor(value))
        return att_call_fail(call, call->node->child[index],
                             "%s: %s must be a whole number from %.0f to %.0f",
                             call->function->name, what, min, max);
    *out = (int64_t)value;
    return ATT_OK;
}

/* ---- where */

static bool fits(int64_t length, int64_t side)
{
    return side == length || side == 1;
}

static att_status run_where(const att_call *call, att_value *out)
{
    const att_matrix *of[3];
    int64_t rows = 1, cols = 1;
    for (size_t i = 0; i < 3; i++) {
        ATT_TRY(att_call_matrix(call, i, &of[i]));
        rows = of[i]->rows != 1 ? of[i]->rows : rows;
        cols = of[i]->cols != 1 ? of[i]->cols : cols;
    }
    for (size_t i = 0; i < 3; i++)
        if (!fits(rows, of[i]->rows) || !fits(cols, of[i]->cols))
            return att_call_fail(call, call->node->child[i],
                                 "where: argument %zu is %lld × %lld and does not fit %lld × %lld: "
                                 "expected the same shape, a row, a column or a number",
                                 i + 1, (long long)of[i]->rows, (long long)of[i]->cols,
                                 (long long)rows, (long long)cols);
    att_matrix *to = att_matrix_new(call->arena, rows, cols);
    for (int64_t i = 0; to && i < rows; i++)
        for (int64_t j = 0; j < cols; j++)
            to->data[i * cols + j] = att_broadcast_at(of[0], i, j) != 0
                                         ? att_broadcast_at(of[1], i, j)
                                         : att_broadcast_at(of[2], i, j);
    if (to && of[1]->rows == rows && of[1]->cols == cols) {
        to->row_labels = of[1]->row_labels;
        to->col_labels = of[1]->col_labels;
    }
    return return_matrix(call, to, out);
}

/* ---- diag */

static att_status run_diag(const att_call *call, att_value *out)
{
    const att_matrix *of;
    ATT_TRY(att_call_matrix(call, 0, &of));
    bool vector = of->rows == 1 || of->cols == 1;
    int64_t count = vector ? of->rows * of->cols : of->rows < of->cols ? of->rows : of->cols;
    att_matrix *to = att_matrix_new(call->arena, vector ? count : 1, count);
    for (int64_t i = 0; to && i < count; i++) {
        if (vector)
            to->data[i * count + i] = of->data[i];
        else
            to->data[i] = of->data[i * of->cols + i];
    }
    return return_matrix(call, to, out);
}

/* ---- sort and topk, of each row */

/* The smaller number first, NaN last. */
static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    if (isnan(x) || isnan(y))
        return isnan(x) - isnan(y);
    return (x > y) - (x < y);
}

static att_status run_sort(const att_call *call, att_value *out)
{
    const att_matrix *of;
    bool cols = flag(call, "cols"), descending = flag(call, "descending");
    ATT_TRY(att_call_matrix(call, 0, &of));
    const att_matrix *from = cols ? att_matrix_transpose(call->arena, of) : of;
    att_matrix *to = from ? att_matrix_new(call->arena, from->rows, from->cols) : NULL;
    for (int64_t i = 0; to && i < to->rows; i++) {
        double *row = to->data + i * to->cols;
        memcpy(row, from->data + i * to->cols, (size_t)to->cols * sizeof *row);
        qsort(row, (size_t)to->cols, sizeof *row, ascending);
        for (int64_t j = 0; descending && j < to->cols / 2; j++) {
            double last = row[to->cols - 1 - j];
            row[to->cols - 1 - j] = row[j];
            row[j] = last;
        }
    }
    if (to)
        to->row_labels = from->row_labels;
    return return_matrix(call, to && cols ? att_matrix_transpose(call->arena, to) : to, out);
}

/* The place of the largest number that is not `taken`; the first of equal ones, NaN never. */
static int64_t largest(const double *row, const uint8_t *taken, int64_t count)
{
    int64_t best = -1;
    for (int64_t j = 0; j < count; j++)
        if (!taken[j] && !isnan(row[j]) && (best < 0 || row[j] > row[best]))
            best = j;
    for (int64_t j = 0; best < 0 && j < count; j++)
        best = taken[j] ? -1 : j;
    return best;
}

static att_status run_topk(const att_call *call, att_value *out)
{
    const att_matrix *of;
    int64_t k = 0;
    bool mask = flag(call, "mask");
    ATT_TRY(att_call_matrix(call, 0, &of));
    ATT_TRY(whole_argument(call, 1, "k", 1, (double)of->cols, &k));
    ATT_TRY(att_sheet_layer_check_cost(call, (double)of->rows * (double)of->cols * (double)k));
    att_matrix *to = att_matrix_new(call->arena, of->rows, mask ? of->cols : k);
    uint8_t *taken = att_arena_alloc(call->arena, (size_t)of->cols, 1);
    if (!to || !taken)
        return att_fail_memory(call->err);
    for (int64_t i = 0; i < of->rows; i++) {
        const double *row = of->data + i * of->cols;
        memset(taken, 0, (size_t)of->cols);
        for (int64_t n = 0; n < k; n++) {
            int64_t best = largest(row, taken, of->cols);
            taken[best] = 1;
            to->data[i * to->cols + (mask ? best : n)] = mask ? 1 : row[best];
        }
    }
    to->row_labels = of->row_labels;
    to->col_labels = mask ? of->col_labels : NULL;
    return return_matrix(call, to, out);
}

/* ---- onehot and cross_entropy: indices count from 1 */

/* Argument `index` as a vector of whole numbers from 1 to `classes`. */
static att_status read_classes(const att_call *call, size_t index, int64_t classes,
                               const att_matrix **out)
{
    const att_expr *at = call->node->child[index];
    ATT_TRY(att_call_matrix(call, index, out));
    if ((*out)->rows != 1 && (*out)->cols != 1)
        return att_call_fail(call, at, "%s: expected a vector of indices, found %lld × %lld",
                             call->function->name, (long long)(*out)->rows,
                             (long long)(*out)->cols);
    for (int64_t i = 0; i < (*out)->rows * (*out)->cols; i++) {
        double x = (*out)->data[i];
        if (!(x >= 1 && x <= (double)classes) || x != floor(x))
            return att_call_fail(call, at, "%s: the index %g is not a whole number from 1 to %lld",
                                 call->function->name, x, (long long)classes);
    }
    return ATT_OK;
}

static att_status run_onehot(const att_call *call, att_value *out)
{
    const att_matrix *of;
    int64_t classes = 0;
    ATT_TRY(whole_argument(call, 1, "the number of classes", 1, 1e9, &classes));
    ATT_TRY(read_classes(call, 0, classes, &of));
    int64_t count = of->rows * of->cols;
    att_matrix *to = att_matrix_new(call->arena, count, classes);
    for (int64_t i = 0; to && i < count; i++)
        to->data[i * classes + (int64_t)of->data[i] - 1] = 1;
    return return_matrix(call, to, out);
}

/* -log softmax(logits) at the target of each row; their mean, or with `rows` one per row. */
static att_status run_cross_entropy(const att_call *call, att_value *out)
{
    const att_matrix *of, *targets;
    ATT_TRY(att_call_matrix(call, 0, &of));
    ATT_TRY(read_classes(call, 1, of->cols, &targets));
    int64_t count = targets->rows * targets->cols;
    if (count != of->rows || count == 0)
        return att_call_fail(call, call->node->child[1],
                             "cross_entropy: expected a target for each of %lld rows, found %lld",
                             (long long)of->rows, (long long)count);
    att_matrix *losses = att_matrix_new(call->arena, count, 1);
    if (!losses)
        return att_fail_memory(call->err);
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        losses->data[i] = att_reference_cross_entropy(of->data + i * of->cols, of->cols,
                                                      (int64_t)targets->data[i] - 1, 0);
        sum += losses->data[i];
    }
    losses->row_labels = of->row_labels;
    return return_matrix(
        call, flag(call, "rows") ? losses : att_matrix_scalar(call->arena, sum / (double)count),
        out);
}

/* ---- random and dropout: the same numbers on every machine */

enum { STREAM_RANDOM = 1, STREAM_DROPOUT = 2 };

static att_status read_seed(const att_call *call, int64_t *out)
{
    if (!att_call_option(call, "seed"))
        return att_call_fail(call, NULL,
                             "%s: expected seed = …, a whole number: the same seed gives the same "
                             "numbers",
                             call->function->name);
    return att_option_integer(call, "seed", 0, INT64_C(1) << 53, out);
}

static att_status run_random(const att_call *call, att_value *out)
{
    int64_t rows = 0, cols = 0, seed = 0;
    ATT_TRY(whole_argument(call, 0, "a size", 0, 1e9, &rows));
    ATT_TRY(whole_argument(call, call->arg_count - 1, "a size", 0, 1e9, &cols));
    ATT_TRY(read_seed(call, &seed));
    att_matrix *to = att_matrix_new(call->arena, rows, cols);
    bool normal = flag(call, "normal");
    for (int64_t i = 0; to && i < rows * cols; i++)
        to->data[i] = normal ? att_random_normal((uint64_t)seed, STREAM_RANDOM, (uint64_t)i)
                             : att_random_double((uint64_t)seed, STREAM_RANDOM, (uint64_t)i);
    return return_matrix(call, to, out);
}

bool att_dropout_keeps(int64_t seed, int64_t index, double p)
{
    return att_random_double((uint64_t)seed, STREAM_DROPOUT, (uint64_t)index) >= p;
}

/* Each number becomes 0 with probability p; the others are divided by 1 - p. */
static att_status run_dropout(const att_call *call, att_value *out)
{
    const att_matrix *of, *p;
    int64_t seed = 0;
    ATT_TRY(att_call_matrix(call, 0, &of));
    ATT_TRY(att_call_matrix(call, 1, &p));
    if (!att_matrix_is_scalar(p) || !(p->data[0] >= 0 && p->data[0] < 1))
        return att_call_fail(call, call->node->child[1],
                             "dropout: the probability must be at least 0 and below 1");
    ATT_TRY(read_seed(call, &seed));
    att_matrix *to = att_matrix_like(call->arena, of);
    for (int64_t i = 0; to && i < of->rows * of->cols; i++)
        to->data[i] = att_dropout_keeps(seed, i, p->data[0]) ? of->data[i] / (1 - p->data[0]) : 0;
    return return_matrix(call, to, out);
}

/* ---- The table */

#define END                                                                                        \
    {                                                                                              \
        NULL, NULL, NULL                                                                           \
    }

static const att_option_spec sort_options[] = { { "cols", NULL, NULL },
                                                { "descending", NULL, NULL },
                                                END };
static const att_option_spec topk_options[] = { { "mask", NULL, NULL }, END };
static const att_option_spec loss_options[] = { { "rows", NULL, NULL }, END };
static const att_option_spec random_options[] = { { "seed", "a number", NULL },
                                                  { "normal", NULL, NULL },
                                                  END };
static const att_option_spec dropout_options[] = { { "seed", "a number", NULL }, END };

const att_function att_choice_functions[] = {
    { "where", "where(condition, X, Y)", 3, 3, NULL, run_where },
    { "diag", "diag(x), a diagonal matrix, or diag(X), the diagonal", 1, 1, NULL, run_diag },
    { "sort", "sort(X), each row, or sort(X, cols), or sort(X, descending)", 1, 1, sort_options,
      run_sort },
    { "topk", "topk(X, k), of each row, or topk(X, k, mask)", 2, 2, topk_options, run_topk },
    { "onehot", "onehot(indices, classes)", 2, 2, NULL, run_onehot },
    { "cross_entropy", "cross_entropy(logits, targets), or cross_entropy(logits, targets, rows)", 2,
      2, loss_options, run_cross_entropy },
    { "random", "random(rows, cols, seed = 1)", 1, 2, random_options, run_random },
    { "dropout", "dropout(X, p, seed = 1)", 2, 2, dropout_options, run_dropout },
    { 0 },
};
