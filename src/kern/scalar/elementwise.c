/* Element by element, in plain loops; see kern.h. */
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

/* A gradient that is not let through is not multiplied by zero: NaN and infinity stop here. */
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
