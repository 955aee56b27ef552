/* Elementwise functions in plain loops; see kern.h. */
#include "kern/scalar/math.h"
#include "kern/isa/isa.h"

#define ELEMENTWISE(name)                                                                          \
    void KERNEL(name)(float *y, const float *x, size_t n)                                          \
    {                                                                                              \
        for (size_t i = 0; i < n; i++)                                                             \
            y[i] = name##_of(x[i]);                                                                \
    }

ELEMENTWISE(exp)
ELEMENTWISE(log)
ELEMENTWISE(tanh)
ELEMENTWISE(sigmoid)
ELEMENTWISE(erf)
ELEMENTWISE(relu)
ELEMENTWISE(gelu)
ELEMENTWISE(silu)

#define ELEMENTWISE_BACKWARD(name)                                                                 \
    void KERNEL(name##_backward)(float *dx, const float *dy, const float *kept, size_t n)          \
    {                                                                                              \
        for (size_t i = 0; i < n; i++)                                                             \
            dx[i] = fmaf(dy[i], name##_derivative(kept[i]), dx[i]);                                \
    }

ELEMENTWISE_BACKWARD(tanh)
ELEMENTWISE_BACKWARD(sigmoid)
ELEMENTWISE_BACKWARD(gelu)
ELEMENTWISE_BACKWARD(silu)

/* A blocked gradient is replaced by 0, not multiplied by it, so NaN and infinity do not pass. */
void KERNEL(relu_backward)(float *dx, const float *dy, const float *kept, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dx[i] += kept[i] > 0 ? dy[i] : 0.0f;
}

void KERNEL(axpy)(float *y, float a, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = fmaf(a, x[i], y[i]);
}
