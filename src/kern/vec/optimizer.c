/* Kernels of training only: dropout and optimizer steps, over vectors; see kern.h and
 * scalar/optimizer.c. */
#include "kern/vec/philox.h"

#include <math.h>

/* The 64 numbers that att_random_float() returns from index 64 * `chunk` on. A block of Philox
 * gives four consecutive numbers; the counters are ordered in the lanes such that transposing fours
 * puts the words of block 4k + q into lanes 4q to 4q + 3 of vector k. */
INLINE void random_64(vec out[4], const att_dropout_options *drop, uint64_t chunk)
{
    static const uint32_t order[LANES] = { 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15 };
    uint64_t block =
        chunk * LANES; /* a multiple of 16: adding 0 … 15 never carries into the high word */
    ivec words[4] = { i_add(i_set((uint32_t)block), i_load(order)), i_set((uint32_t)(block >> 32)),
                      i_set((uint32_t)drop->stream), i_set((uint32_t)(drop->stream >> 32)) };
    philox(words, drop->seed);
    for (int k = 0; k < 4; k++)
        out[k] = v_mul(v_from_int(i_shift_right(words[k], 8)), v_set(0x1p-24f));
    v_transpose_fours(out);
}

INLINE void apply_dropout(float *y, const float *x, size_t n, const att_dropout_options *drop,
                          bool add)
{
    vec scale = v_set(1.0f / (1.0f - drop->probability)), zero = v_set(0.0f);
    for (size_t i = 0; i < n; i += 4 * LANES) {
        vec drawn[4];
        random_64(drawn, drop, i / (4 * LANES));
        for (size_t k = 0; k < 4 && i + k * LANES < n; k++) {
            size_t at = i + k * LANES;
            mask dropped = v_less(drawn[k], v_set(drop->probability));
            vec kept = v_select(dropped, zero, v_mul(v_load_upto(x + at, n - at), scale));
            if (add)
                kept = v_add(v_load_upto(y + at, n - at), kept);
            v_store_upto(y + at, kept, n - at);
        }
    }
}

void KERNEL(dropout)(float *y, const float *x, size_t n, const att_dropout_options *drop)
{
    apply_dropout(y, x, n, drop, false);
}

void KERNEL(dropout_backward)(float *y, const float *x, size_t n, const att_dropout_options *drop)
{
    apply_dropout(y, x, n, drop, true);
}

INLINE vec regularized_gradient(att_gradient_options use, vec gradient, vec parameter)
{
    return v_fma(v_set(use.l2_penalty), parameter, v_mul(v_set(use.scale), gradient));
}

INLINE vec lerp(float rate, vec old, vec new)
{
    return v_fma(v_set(rate), v_sub(old, new), new);
}

void KERNEL(sgd)(float *parameter, float *velocity, const float *gradient, size_t n,
                 const att_sgd_step *step)
{
    vec rate = v_set(step->learning_rate), momentum = v_set(step->momentum);
    for (size_t i = 0; i < n; i += LANES) {
        size_t left = n - i;
        vec p = v_load_upto(parameter + i, left);
        vec g = regularized_gradient(step->gradient, v_load_upto(gradient + i, left), p);
        vec v = v_fma(momentum, v_load_upto(velocity + i, left), g);
        v_store_upto(velocity + i, v, left);
        v_store_upto(parameter + i, v_fnma(rate, v, p), left);
    }
}

void KERNEL(adam)(float *parameter, float *moment1, float *moment2, const float *gradient, size_t n,
                  const att_adam_step *step)
{
    vec rate = v_set(step->learning_rate / step->bias_correction1),
        second = v_set(1.0f / sqrtf(step->bias_correction2));
    vec keep = v_set(fmaf(-step->learning_rate, step->weight_decay, 1.0f)),
        epsilon = v_set(step->epsilon);
    for (size_t i = 0; i < n; i += LANES) {
        size_t left = n - i;
        vec p = v_load_upto(parameter + i, left);
        vec g = regularized_gradient(step->gradient, v_load_upto(gradient + i, left), p);
        vec m = lerp(step->beta1, v_load_upto(moment1 + i, left), g);
        vec v = lerp(step->beta2, v_load_upto(moment2 + i, left), v_mul(g, g));
        vec ratio = v_div(m, v_fma(v_sqrt(v), second, epsilon));
        v_store_upto(moment1 + i, m, left);
        v_store_upto(moment2 + i, v, left);
        v_store_upto(parameter + i, v_fnma(rate, ratio, v_mul(p, keep)), left);
    }
}

void KERNEL(adadelta)(float *parameter, float *squares, float *changes, const float *gradient,
                      size_t n, const att_adadelta_step *step)
{
    vec rate = v_set(step->learning_rate), epsilon = v_set(step->epsilon);
    for (size_t i = 0; i < n; i += LANES) {
        size_t left = n - i;
        vec p = v_load_upto(parameter + i, left), before = v_load_upto(changes + i, left);
        vec g = regularized_gradient(step->gradient, v_load_upto(gradient + i, left), p);
        vec square = lerp(step->rho, v_load_upto(squares + i, left), v_mul(g, g));
        vec ratio = v_div(v_sqrt(v_add(before, epsilon)), v_sqrt(v_add(square, epsilon)));
        vec change = v_mul(ratio, g);
        v_store_upto(squares + i, square, left);
        v_store_upto(changes + i, lerp(step->rho, before, v_mul(change, change)), left);
        v_store_upto(parameter + i, v_fnma(rate, change, p), left);
    }
}
