/* Element by element, in plain loops; see kern.h. */
#include "kern/ref/math.h"
#include "kern/set/set.h"

#define MAP(name)                                                                                  \
    void KERNEL(name)(float *y, const float *x, size_t n)                                          \
    {                                                                                              \
        for (size_t i = 0; i < n; i++)                                                             \
            y[i] = name##_of(x[i]);                                                                \
    }

MAP(exp)
MAP(log)
MAP(tanh)
MAP(sigmoid)
MAP(erf)
MAP(relu)
MAP(gelu)
MAP(silu)

#define MAP_BACK(name)                                                                             \
    void KERNEL(name##_back)(float *dx, const float *dy, const float *kept, size_t n)              \
    {                                                                                              \
        for (size_t i = 0; i < n; i++)                                                             \
            dx[i] = fmaf(dy[i], name##_slope(kept[i]), dx[i]);                                     \
    }

MAP_BACK(tanh)
MAP_BACK(sigmoid)
MAP_BACK(gelu)
MAP_BACK(silu)

/* A gradient that is not let through is not multiplied by zero: NaN and infinity stop here. */
void KERNEL(relu_back)(float *dx, const float *dy, const float *kept, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dx[i] += kept[i] > 0 ? dy[i] : 0.0f;
}

void KERNEL(add_scaled)(float *y, float a, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = fmaf(a, x[i], y[i]);
}
