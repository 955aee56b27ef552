/* Elementwise functions over vectors; see kern.h and scalar/elementwise.c. */
#include "kern/vec/math.h"

#define ELEMENTWISE(name)                                                                          \
    void KERNEL(name)(float *y, const float *x, size_t n)                                          \
    {                                                                                              \
        for (size_t i = 0; i < n; i += LANES)                                                      \
            v_store_upto(y + i, v_##name(v_load_upto(x + i, n - i)), n - i);                       \
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
        for (size_t i = 0; i < n; i += LANES) {                                                    \
            vec slope = v_##name##_derivative(v_load_upto(kept + i, n - i));                       \
            vec sum = v_fma(v_load_upto(dy + i, n - i), slope, v_load_upto(dx + i, n - i));        \
            v_store_upto(dx + i, sum, n - i);                                                      \
        }                                                                                          \
    }

ELEMENTWISE_BACKWARD(tanh)
ELEMENTWISE_BACKWARD(sigmoid)
ELEMENTWISE_BACKWARD(gelu)
ELEMENTWISE_BACKWARD(silu)

void KERNEL(relu_backward)(float *dx, const float *dy, const float *kept, size_t n)
{
    vec zero = v_set(0.0f);
    for (size_t i = 0; i < n; i += LANES) {
        mask open = v_less(zero, v_load_upto(kept + i, n - i));
        vec through = v_select(open, v_load_upto(dy + i, n - i), zero);
        v_store_upto(dx + i, v_add(v_load_upto(dx + i, n - i), through), n - i);
    }
}

void KERNEL(axpy)(float *y, float a, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i += LANES)
        v_store_upto(y + i, v_fma(v_set(a), v_load_upto(x + i, n - i), v_load_upto(y + i, n - i)),
                     n - i);
}
