/* Normalisers in float, over a line of at least one key; see rows.h and, for what they are,
 * normalise.c. */
#include "attention/rowwise.h"

#include <math.h>

static void fill(float *to, float value, int64_t count)
{
    for (int64_t n = 0; n < count; n++)
        to[n] = value;
}

/* A line of -inf alone has no point on the simplex. */
static void softmax(const att_kernels *kern, att_query_scores *line)
{
    if (kern->softmax(line->weights, line->scores, (size_t)line->count) == -INFINITY)
        fill(line->weights, NAN, line->count);
}

static void softmax_backward(const att_kernels *kern, att_query_scores *line)
{
    fill(line->scratch, 0, line->count);
    kern->softmax_backward(line->scratch, line->grads, line->weights, (size_t)line->count);
    for (int64_t n = 0; n < line->count; n++)
        line->grads[n] = line->scratch[n];
}

static void mean_forward(const att_kernels *kern, att_query_scores *line)
{
    (void)kern;
    for (int64_t n = 0; n < line->count; n++)
        line->weights[n] = line->scores[n] / (float)line->count;
}

static void mean_backward(const att_kernels *kern, att_query_scores *line)
{
    (void)kern;
    for (int64_t n = 0; n < line->count; n++)
        line->grads[n] /= (float)line->count;
}

static void sparsemax(const att_kernels *kern, att_query_scores *line)
{
    kern->sparsemax(line->weights, line->scores, (size_t)line->count);
}

/* Inside the support the map is a projection: it takes the mean off. What is outside is skipped,
 * whatever its gradient. */
static void sparsemax_backward(const att_kernels *kern, att_query_scores *line)
{
    float *inside = line->scratch, support = 0;
    for (int64_t n = 0; n < line->count; n++) {
        bool in = line->weights[n] != 0;
        inside[n] = in ? line->grads[n] : 0;
        support += in;
    }
    float mean = kern->sum(inside, (size_t)line->count) / support;
    for (int64_t n = 0; n < line->count; n++) {
        float weight = line->weights[n];
        line->grads[n] = weight == 0 ? 0 : isnan(weight) ? weight : inside[n] - mean;
    }
}

static void entmax15(const att_kernels *kern, att_query_scores *line)
{
    kern->entmax15(line->weights, line->scores, (size_t)line->count);
}

static void entmax15_backward(const att_kernels *kern, att_query_scores *line)
{
    float *root = line->scratch, *inside = line->scratch + line->count;
    for (int64_t n = 0; n < line->count; n++) {
        root[n] = sqrtf(line->weights[n]);
        inside[n] = root[n] != 0 ? root[n] * line->grads[n] : 0;
    }
    size_t count = (size_t)line->count;
    float mean = kern->sum(inside, count) / kern->sum(root, count);
    for (int64_t n = 0; n < line->count; n++)
        line->grads[n] = root[n] != 0 ? root[n] * (line->grads[n] - mean) : 0;
}

static void sigmoid(const att_kernels *kern, att_query_scores *line)
{
    kern->sigmoid(line->weights, line->scores, (size_t)line->count);
}

/* σ(-x) stands for 1 - σ(x), which would lose all digits where σ(x) is near 1. */
static void sigmoid_backward(const att_kernels *kern, att_query_scores *line)
{
    float *other = line->scratch;
    for (int64_t n = 0; n < line->count; n++)
        other[n] = -line->scores[n];
    kern->sigmoid(other, other, (size_t)line->count);
    for (int64_t n = 0; n < line->count; n++)
        line->grads[n] *= line->weights[n] * other[n];
}

static void sum_forward(const att_kernels *kern, att_query_scores *line)
{
    float all = kern->sum(line->scores, (size_t)line->count);
    for (int64_t n = 0; n < line->count; n++)
        line->weights[n] = line->scores[n] / all;
}

static void sum_backward(const att_kernels *kern, att_query_scores *line)
{
    float all = kern->sum(line->scores, (size_t)line->count);
    float mean = kern->dot(line->weights, line->grads, (size_t)line->count);
    for (int64_t n = 0; n < line->count; n++)
        line->grads[n] = (line->grads[n] - mean) / all;
}

static void identity_forward(const att_kernels *kern, att_query_scores *line)
{
    (void)kern;
    for (int64_t n = 0; n < line->count; n++)
        line->weights[n] = line->scores[n];
}

static void identity_backward(const att_kernels *kern, att_query_scores *line)
{
    (void)kern;
    (void)line;
}

static const att_rowwise_normalizer normalizers[] = {
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

float att_query_scores_log_sum_exp(const att_kernels *kern, const att_query_scores *line)
{
    float sum = kern->softmax(line->scratch, line->scores, (size_t)line->count);
    if (!isnan(sum))
        return sum;
    for (int64_t n = 0; n < line->count; n++)
        if (isnan(line->scores[n]))
            return NAN;
    return INFINITY;
}
