/* Element by element, over vectors; see kern.h and ref/map.c. */
#include "kern/vec/math.h"

#define MAP(name)                                                                                  \
    void KERNEL(name)(float *y, const float *x, size_t n)                                          \
    {                                                                                              \
        for (size_t i = 0; i < n; i += LANES)                                                      \
            v_store_upto(y + i, v_##name(v_load_upto(x + i, n - i)), n - i);                       \
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
        for (size_t i = 0; i < n; i += LANES) {                                                    \
            vec slope = v_##name##_slope(v_load_upto(kept + i, n - i));                            \
            vec sum = v_fma(v_load_upto(dy + i, n - i), slope, v_load_upto(dx + i, n - i));        \
            v_store_upto(dx + i, sum, n - i);                                                      \
        }                                                                                          \
    }

MAP_BACK(tanh)
MAP_BACK(sigmoid)
MAP_BACK(gelu)
MAP_BACK(silu)

void KERNEL(relu_back)(float *dx, const float *dy, const float *kept, size_t n)
{
    vec zero = v_set(0.0f);
    for (size_t i = 0; i < n; i += LANES) {
        mask open = v_less(zero, v_load_upto(kept + i, n - i));
        vec through = v_select(open, v_load_upto(dy + i, n - i), zero);
        v_store_upto(dx + i, v_add(v_load_upto(dx + i, n - i), through), n - i);
    }
}

void KERNEL(add_scaled)(float *y, float a, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i += LANES)
        v_store_upto(y + i, v_fma(v_set(a), v_load_upto(x + i, n - i), v_load_upto(y + i, n - i)),
                     n - i);
}
