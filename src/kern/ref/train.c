/* What only training needs, dropout and Adam, in plain loops; see kern.h. */
#include "base/random.h"
#include "kern/set/set.h"

#include <math.h>

static bool is_dropped(const att_drop *drop, size_t i)
{
    return att_random_float(drop->seed, drop->stream, i) < drop->probability;
}

void KERNEL(dropout)(float *y, const float *x, size_t n, const att_drop *drop)
{
    float scale = 1.0f / (1.0f - drop->probability);
    for (size_t i = 0; i < n; i++)
        y[i] = is_dropped(drop, i) ? 0.0f : x[i] * scale;
}

void KERNEL(dropout_back)(float *y, const float *x, size_t n, const att_drop *drop)
{
    float scale = 1.0f / (1.0f - drop->probability);
    for (size_t i = 0; i < n; i++)
        y[i] += is_dropped(drop, i) ? 0.0f : x[i] * scale;
}

/* Kingma and Ba, "Adam", 2015, algorithm 1; the decay is that of Loshchilov and Hutter, 2019. */
void KERNEL(adam)(float *parameter, float *moment1, float *moment2, const float *gradient, size_t n,
                  const att_adam_step *step)
{
    float rate = step->rate / step->first, second = 1.0f / sqrtf(step->second);
    float keep = fmaf(-step->rate, step->decay, 1.0f);
    for (size_t i = 0; i < n; i++) {
        float g = gradient[i];
        float m = moment1[i] = fmaf(step->beta1, moment1[i] - g, g);
        float v = moment2[i] = fmaf(step->beta2, moment2[i] - g * g, g * g);
        float size = fmaf(sqrtf(v), second, step->epsilon);
        parameter[i] = fmaf(-rate, m / size, parameter[i] * keep);
    }
}
