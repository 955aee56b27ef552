/* Normalisers in float, over a line of at least one key; see rows.h and, for what they are,
 * normalise.c. */
#include "attention/rows.h"

#include <math.h>

static void fill(float *to, float value, int64_t count)
{
    for (int64_t n = 0; n < count; n++)
        to[n] = value;
}

/* A line of -inf alone has no point on the simplex. */
static void softmax(const att_kernels *kern, att_line *line)
{
    if (kern->softmax(line->weights, line->scores, (size_t)line->count) == -INFINITY)
        fill(line->weights, NAN, line->count);
}

static void softmax_back(const att_kernels *kern, att_line *line)
{
    fill(line->spare, 0, line->count);
    kern->softmax_back(line->spare, line->grads, line->weights, (size_t)line->count);
    for (int64_t n = 0; n < line->count; n++)
        line->grads[n] = line->spare[n];
}

static void by_count(const att_kernels *kern, att_line *line)
{
    (void)kern;
    for (int64_t n = 0; n < line->count; n++)
        line->weights[n] = line->scores[n] / (float)line->count;
}

static void by_count_back(const att_kernels *kern, att_line *line)
{
    (void)kern;
    for (int64_t n = 0; n < line->count; n++)
        line->grads[n] /= (float)line->count;
}

static void sparsemax(const att_kernels *kern, att_line *line)
{
    kern->sparsemax(line->weights, line->scores, (size_t)line->count);
}

/* Inside the support the map is a projection: it takes the mean off. What is outside is skipped,
 * whatever its gradient. */
static void sparsemax_back(const att_kernels *kern, att_line *line)
{
    float *inside = line->spare, support = 0;
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

static void entmax15(const att_kernels *kern, att_line *line)
{
    kern->entmax15(line->weights, line->scores, (size_t)line->count);
}

static void entmax15_back(const att_kernels *kern, att_line *line)
{
    float *root = line->spare, *inside = line->spare + line->count;
    for (int64_t n = 0; n < line->count; n++) {
        root[n] = sqrtf(line->weights[n]);
        inside[n] = root[n] != 0 ? root[n] * line->grads[n] : 0;
    }
    size_t count = (size_t)line->count;
    float mean = kern->sum(inside, count) / kern->sum(root, count);
    for (int64_t n = 0; n < line->count; n++)
        line->grads[n] = root[n] != 0 ? root[n] * (line->grads[n] - mean) : 0;
}

static void sigmoid(const att_kernels *kern, att_line *line)
{
    kern->sigmoid(line->weights, line->scores, (size_t)line->count);
}

/* σ(-x) stands for 1 - σ(x), which would lose all digits where σ(x) is near 1. */
static void sigmoid_back(const att_kernels *kern, att_line *line)
{
    float *other = line->spare;
    for (int64_t n = 0; n < line->count; n++)
        other[n] = -line->scores[n];
    kern->sigmoid(other, other, (size_t)line->count);
    for (int64_t n = 0; n < line->count; n++)
        line->grads[n] *= line->weights[n] * other[n];
}

static void by_sum(const att_kernels *kern, att_line *line)
{
    float all = kern->sum(line->scores, (size_t)line->count);
    for (int64_t n = 0; n < line->count; n++)
        line->weights[n] = line->scores[n] / all;
}

static void by_sum_back(const att_kernels *kern, att_line *line)
{
    float all = kern->sum(line->scores, (size_t)line->count);
    float mean = kern->dot(line->weights, line->grads, (size_t)line->count);
    for (int64_t n = 0; n < line->count; n++)
        line->grads[n] = (line->grads[n] - mean) / all;
}

static void unchanged(const att_kernels *kern, att_line *line)
{
    (void)kern;
    for (int64_t n = 0; n < line->count; n++)
        line->weights[n] = line->scores[n];
}

static void unchanged_back(const att_kernels *kern, att_line *line)
{
    (void)kern;
    (void)line;
}

static const att_rows_normaliser normalisers[] = {
    [ATT_NORMALISE_SOFTMAX] = { softmax, softmax_back },
    [ATT_NORMALISE_MEAN] = { by_count, by_count_back },
    [ATT_NORMALISE_SPARSEMAX] = { sparsemax, sparsemax_back },
    [ATT_NORMALISE_ENTMAX15] = { entmax15, entmax15_back },
    [ATT_NORMALISE_SIGMOID] = { sigmoid, sigmoid_back },
    [ATT_NORMALISE_SUM] = { by_sum, by_sum_back },
    [ATT_NORMALISE_NONE] = { unchanged, unchanged_back },
};

const att_rows_normaliser *att_rows_normaliser_get(att_normaliser normaliser)
{
    return &normalisers[normaliser];
}

float att_line_log_sum_exp(const att_kernels *kern, const att_line *line)
{
    float sum = kern->softmax(line->spare, line->scores, (size_t)line->count);
    if (!isnan(sum))
        return sum;
    for (int64_t n = 0; n < line->count; n++)
        if (isnan(line->scores[n]))
            return NAN;
    return INFINITY;
}
