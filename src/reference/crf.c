/* Linear-chain conditional random fields in double precision. */
#include "reference/crf.h"

#include "base/math.h"

#include <math.h>

double att_reference_crf_score(const att_reference_crf *crf, const int32_t *path)
{
    double score = crf->start[path[0]] + crf->end[path[crf->length - 1]];
    for (int64_t t = 0; t < crf->length; t++)
        score += crf->emissions[t * crf->labels + path[t]];
    for (int64_t t = 1; t < crf->length; t++)
        score += crf->transitions[path[t - 1] * crf->labels + path[t]];
    return score;
}

/* The log-sum of the paths that end in label j at step t. It is computed from those that end at the
 * step before, by recursion: the reference need not be fast. */
static double forward(const att_reference_crf *crf, int64_t t, int64_t j)
{
    double own = crf->emissions[t * crf->labels + j];
    if (t == 0)
        return crf->start[j] + own;
    double max = -INFINITY, sum = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = 0; i < crf->labels; i++) {
            double path = forward(crf, t - 1, i) + crf->transitions[i * crf->labels + j];
            if (pass == 0)
                max = fmax(max, path);
            else
                sum += att_exp(path - max);
        }
    return own + max + att_log(sum);
}

double att_reference_crf_log_partition(const att_reference_crf *crf)
{
    double max = -INFINITY, sum = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t j = 0; j < crf->labels; j++) {
            double path = forward(crf, crf->length - 1, j) + crf->end[j];
            if (pass == 0)
                max = fmax(max, path);
            else
                sum += att_exp(path - max);
        }
    return max + att_log(sum);
}

double att_reference_crf_loss(const att_reference_crf *crf, const int32_t *path)
{
    return att_reference_crf_log_partition(crf) - att_reference_crf_score(crf, path);
}
