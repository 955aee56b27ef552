/* Layer norm and RMS norm of one row, over vectors; see kern.h and scalar/norm.c. */
#include "kern/vec/vec.h"

#include <math.h>

INLINE float mean_square(const float *x, float mean, size_t n)
{
    vec sums = v_set(0.0f);
    for (size_t i = 0; i < n; i += LANES) {
        vec d = v_upto(v_sub(v_load_upto(x + i, n - i), v_set(mean)), n - i);
        sums = v_fma(d, d, sums);
    }
    return v_reduce_sum(sums) / (float)n;
}

void KERNEL(layer_norm)(float *y, att_norm_stats *stats, const float *x, const float *gain,
                        const float *bias, size_t n, float epsilon)
{
    float mean = n ? KERNEL(sum)(x, n) / (float)n : 0.0f;
    float rstd = n ? att_norm_rstd(mean_square(x, mean, n), epsilon) : 0.0f;
    for (size_t i = 0; i < n; i += LANES) {
        vec u = v_mul(v_sub(v_load_upto(x + i, n - i), v_set(mean)), v_set(rstd));
        vec scaled = v_fma(u, v_load_upto(gain + i, n - i), v_load_upto(bias + i, n - i));
        v_store_upto(y + i, scaled, n - i);
    }
    *stats = (att_norm_stats){ mean, rstd };
}

void KERNEL(rms_norm)(float *y, att_norm_stats *stats, const float *x, const float *gain,
                      const float *bias, size_t n, float epsilon)
{
    (void)bias;
    float rstd = n ? att_norm_rstd(mean_square(x, 0.0f, n), epsilon) : 0.0f;
    for (size_t i = 0; i < n; i += LANES) {
        vec u = v_mul(v_load_upto(x + i, n - i), v_set(rstd));
        v_store_upto(y + i, v_mul(u, v_load_upto(gain + i, n - i)), n - i);
    }
    *stats = (att_norm_stats){ 0.0f, rstd };
}

/* u = (x - mean) rstd and g = dy gain for one vector of the row. */
typedef struct norm_terms {
    vec u, g, dy;
} norm_terms;

INLINE norm_terms norm_terms_at(const float *dy, const float *x, const float *gain,
                                const att_norm_stats *stats, bool centered, size_t n)
{
    vec away = v_load_upto(x, n);
    if (centered)
        away = v_sub(away, v_set(stats->mean));
    norm_terms here = { .u = v_mul(away, v_set(stats->rstd)), .dy = v_load_upto(dy, n) };
    here.g = v_mul(here.dy, v_load_upto(gain, n));
    return here;
}

/* Past the end of the row dy is 0, and so is g. */
INLINE void norm_backward(float *dx, float *dgain, float *dbias, const float *dy, const float *x,
                          const float *gain, const att_norm_stats *stats, size_t n, bool centered)
{
    vec plain = v_set(0.0f), along = v_set(0.0f);
    for (size_t i = 0; i < n; i += LANES) {
        norm_terms at = norm_terms_at(dy + i, x + i, gain + i, stats, centered, n - i);
        plain = v_add(plain, at.g);
        along = v_fma(at.g, at.u, along);
    }
    vec mean_g = v_set(v_reduce_sum(plain) / (float)n),
        mean_gu = v_set(v_reduce_sum(along) / (float)n);
    for (size_t i = 0; i < n; i += LANES) {
        norm_terms at = norm_terms_at(dy + i, x + i, gain + i, stats, centered, n - i);
        vec rest = v_fnma(at.u, mean_gu, centered ? v_sub(at.g, mean_g) : at.g);
        v_store_upto(dx + i, v_fma(v_set(stats->rstd), rest, v_load_upto(dx + i, n - i)), n - i);
        v_store_upto(dgain + i, v_fma(at.dy, at.u, v_load_upto(dgain + i, n - i)), n - i);
        if (centered)
            v_store_upto(dbias + i, v_add(v_load_upto(dbias + i, n - i), at.dy), n - i);
    }
}

void KERNEL(layer_norm_backward)(float *dx, float *dgain, float *dbias, const float *dy,
                                 const float *x, const float *gain, const att_norm_stats *stats,
                                 size_t n)
{
    norm_backward(dx, dgain, dbias, dy, x, gain, stats, n, true);
}

void KERNEL(rms_norm_backward)(float *dx, float *dgain, float *dbias, const float *dy,
                               const float *x, const float *gain, const att_norm_stats *stats,
                               size_t n)
{
    norm_backward(dx, dgain, dbias, dy, x, gain, stats, n, false);
}
