/* Layer norm and RMS norm of one row, in plain loops; see kern.h. */
#include "kern/scalar/partials.h"
#include "kern/isa/isa.h"

/* Two passes: first the mean, then the squared differences from it. The mean of squares minus the
 * square of the mean would cancel when the mean is large. */
static float mean_square(const float *x, float mean, size_t n)
{
    partials sums = partials_fill(0.0f);
    for (size_t i = 0; i < n; i++)
        sums.lane[i % ATT_LANES] = fmaf(x[i] - mean, x[i] - mean, sums.lane[i % ATT_LANES]);
    return tree_sum(sums) / (float)n;
}

void KERNEL(layer_norm)(float *y, att_norm_stats *stats, const float *x, const float *gain,
                        const float *bias, size_t n, float epsilon)
{
    float mean = n ? KERNEL(sum)(x, n) / (float)n : 0.0f;
    float rstd = n ? att_norm_rstd(mean_square(x, mean, n), epsilon) : 0.0f;
    for (size_t i = 0; i < n; i++)
        y[i] = fmaf((x[i] - mean) * rstd, gain[i], bias[i]);
    *stats = (att_norm_stats){ mean, rstd };
}

void KERNEL(rms_norm)(float *y, att_norm_stats *stats, const float *x, const float *gain,
                      const float *bias, size_t n, float epsilon)
{
    (void)bias;
    float rstd = n ? att_norm_rstd(mean_square(x, 0.0f, n), epsilon) : 0.0f;
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] * rstd * gain[i];
    *stats = (att_norm_stats){ 0.0f, rstd };
}

/* With u = (x - mean) rstd and g = dy gain: dx += rstd (g - mean(g) - u mean(g u)). */
void KERNEL(layer_norm_backward)(float *dx, float *dgain, float *dbias, const float *dy,
                                 const float *x, const float *gain, const att_norm_stats *stats,
                                 size_t n)
{
    partials plain = partials_fill(0.0f), along = partials_fill(0.0f);
    for (size_t i = 0; i < n; i++) {
        float u = (x[i] - stats->mean) * stats->rstd, g = dy[i] * gain[i];
        plain.lane[i % ATT_LANES] += g;
        along.lane[i % ATT_LANES] = fmaf(g, u, along.lane[i % ATT_LANES]);
    }
    float mean_g = tree_sum(plain) / (float)n, mean_gu = tree_sum(along) / (float)n;
    for (size_t i = 0; i < n; i++) {
        float u = (x[i] - stats->mean) * stats->rstd, g = dy[i] * gain[i];
        dx[i] = fmaf(stats->rstd, fmaf(-u, mean_gu, g - mean_g), dx[i]);
        dgain[i] = fmaf(dy[i], u, dgain[i]);
        dbias[i] += dy[i];
    }
}

/* The same without the mean, which the RMS norm does not subtract. */
void KERNEL(rms_norm_backward)(float *dx, float *dgain, float *dbias, const float *dy,
                               const float *x, const float *gain, const att_norm_stats *stats,
                               size_t n)
{
    (void)dbias;
    partials along = partials_fill(0.0f);
    for (size_t i = 0; i < n; i++)
        along.lane[i % ATT_LANES] =
            fmaf(dy[i] * gain[i], x[i] * stats->rstd, along.lane[i % ATT_LANES]);
    float mean_gu = tree_sum(along) / (float)n;
    for (size_t i = 0; i < n; i++) {
        float u = x[i] * stats->rstd, g = dy[i] * gain[i];
        dx[i] = fmaf(stats->rstd, fmaf(-u, mean_gu, g), dx[i]);
        dgain[i] = fmaf(dy[i], u, dgain[i]);
    }
}
