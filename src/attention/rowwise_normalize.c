/* The normalizers in float32, over a row of at least one key; see rowwise.h, and normalize.c for
 * the definitions in double. */
#include "attention/normalize.h"
#include "attention/rowwise.h"

#include <math.h>

static void fill(float *to, float value, int64_t count)
{
    for (int64_t n = 0; n < count; n++)
        to[n] = value;
}

/* A row of -inf only has no softmax: NaN, as in the reference. */
static void softmax(const att_kernels *kern, att_query_scores *row)
{
    if (kern->softmax(row->weights, row->scores, (size_t)row->count) == -INFINITY)
        fill(row->weights, NAN, row->count);
}

static void softmax_backward(const att_kernels *kern, att_query_scores *row)
{
    fill(row->scratch, 0, row->count);
    kern->softmax_backward(row->scratch, row->grads, row->weights, (size_t)row->count);
    for (int64_t n = 0; n < row->count; n++)
        row->grads[n] = row->scratch[n];
}

static void mean_forward(const att_kernels *kern, att_query_scores *row)
{
    (void)kern;
    for (int64_t n = 0; n < row->count; n++)
        row->weights[n] = row->scores[n] / (float)row->count;
}

static void mean_backward(const att_kernels *kern, att_query_scores *row)
{
    (void)kern;
    for (int64_t n = 0; n < row->count; n++)
        row->grads[n] /= (float)row->count;
}

static void sparsemax(const att_kernels *kern, att_query_scores *row)
{
    kern->sparsemax(row->weights, row->scores, (size_t)row->count);
}

/* Inside the support the Jacobian subtracts the mean. Entries outside are skipped, whatever their
 * gradient. */
static void sparsemax_backward(const att_kernels *kern, att_query_scores *row)
{
    float *inside = row->scratch, support = 0;
    for (int64_t n = 0; n < row->count; n++) {
        bool in = row->weights[n] != 0;
        inside[n] = in ? row->grads[n] : 0;
        support += in;
    }
    float mean = kern->sum(inside, (size_t)row->count) / support;
    for (int64_t n = 0; n < row->count; n++) {
        float weight = row->weights[n];
        row->grads[n] = weight == 0 ? 0 : isnan(weight) ? weight : inside[n] - mean;
    }
}

static void entmax15(const att_kernels *kern, att_query_scores *row)
{
    kern->entmax15(row->weights, row->scores, (size_t)row->count);
}

static void entmax15_backward(const att_kernels *kern, att_query_scores *row)
{
    float *root = row->scratch, *inside = row->scratch + row->count;
    for (int64_t n = 0; n < row->count; n++) {
        root[n] = sqrtf(row->weights[n]);
        inside[n] = root[n] != 0 ? root[n] * row->grads[n] : 0;
    }
    size_t count = (size_t)row->count;
    float mean = kern->sum(inside, count) / kern->sum(root, count);
    for (int64_t n = 0; n < row->count; n++)
        row->grads[n] = root[n] != 0 ? root[n] * (row->grads[n] - mean) : 0;
}

static void sigmoid(const att_kernels *kern, att_query_scores *row)
{
    kern->sigmoid(row->weights, row->scores, (size_t)row->count);
}

/* σ(-x) = 1 - σ(x) without the cancellation where σ(x) is near 1. */
static void sigmoid_backward(const att_kernels *kern, att_query_scores *row)
{
    float *other = row->scratch;
    for (int64_t n = 0; n < row->count; n++)
        other[n] = -row->scores[n];
    kern->sigmoid(other, other, (size_t)row->count);
    for (int64_t n = 0; n < row->count; n++)
        row->grads[n] *= row->weights[n] * other[n];
}

static void sum_forward(const att_kernels *kern, att_query_scores *row)
{
    float all = kern->sum(row->scores, (size_t)row->count);
    for (int64_t n = 0; n < row->count; n++)
        row->weights[n] = row->scores[n] / all;
}

static void sum_backward(const att_kernels *kern, att_query_scores *row)
{
    float all = kern->sum(row->scores, (size_t)row->count);
    float mean = kern->dot(row->weights, row->grads, (size_t)row->count);
    for (int64_t n = 0; n < row->count; n++)
        row->grads[n] = (row->grads[n] - mean) / all;
}

static void identity_forward(const att_kernels *kern, att_query_scores *row)
{
    (void)kern;
    for (int64_t n = 0; n < row->count; n++)
        row->weights[n] = row->scores[n];
}

static void identity_backward(const att_kernels *kern, att_query_scores *row)
{
    (void)kern;
    (void)row;
}

static const att_rowwise_normalizer normalizers[ATT_NORMALIZER_COUNT] = {
    [ATT_NORMALIZE_SOFTMAX] = { softmax, softmax_backward },
    [ATT_NORMALIZE_MEAN] = { mean_forward, mean_backward },
    [ATT_NORMALIZE_SPARSEMAX] = { sparsemax, sparsemax_backward },
    [ATT_NORMALIZE_ENTMAX15] = { entmax15, entmax15_backward },
    [ATT_NORMALIZE_SIGMOID] = { sigmoid, sigmoid_backward },
    [ATT_NORMALIZE_SUM] = { sum_forward, sum_backward },
    [ATT_NORMALIZE_NONE] = { identity_forward, identity_backward },
};

const att_rowwise_normalizer *att_rowwise_normalizer_get(att_normalizer normalizer)
{
    return &normalizers[normalizer];
}

float att_query_scores_log_sum_exp(const att_kernels *kern, const att_query_scores *row)
{
    float sum = kern->softmax(row->scratch, row->scores, (size_t)row->count);
    if (!isnan(sum))
        return sum;
    for (int64_t n = 0; n < row->count; n++)
        if (isnan(row->scores[n]))
            return NAN;
    return INFINITY;
}
