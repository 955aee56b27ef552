/* What only training needs, dropout and the steps of optimisers, over vectors; see kern.h and
 * ref/train.c. */
#include "kern/vec/philox.h"

#include <math.h>

/* The 64 numbers att_random_float() gives from index 64 * `stretch` on. A block of Philox serves
 * four neighbours; the order of the counters in the lanes is such that transposing fours puts the
 * words of block 4k + q into lanes 4q to 4q + 3 of vector k. */
INLINE void draw_64(vec out[4], const att_drop *drop, uint64_t stretch)
{
    static const uint32_t order[LANES] = { 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15 };
    uint64_t block = stretch * LANES; /* of 16: adding the order never carries into the high word */
    ivec words[4] = { i_add(i_set((uint32_t)block), i_load(order)), i_set((uint32_t)(block >> 32)),
                      i_set((uint32_t)drop->stream), i_set((uint32_t)(drop->stream >> 32)) };
    philox(words, drop->seed);
    for (int k = 0; k < 4; k++)
        out[k] = v_mul(v_from_int(i_shift_right(words[k], 8)), v_set(0x1p-24f));
    v_transpose_fours(out);
}

INLINE void drop_some(float *y, const float *x, size_t n, const att_drop *drop, bool add)
{
    vec scale = v_set(1.0f / (1.0f - drop->probability)), zero = v_set(0.0f);
    for (size_t i = 0; i < n; i += 4 * LANES) {
        vec drawn[4];
        draw_64(drawn, drop, i / (4 * LANES));
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

void KERNEL(dropout)(float *y, const float *x, size_t n, const att_drop *drop)
{
    drop_some(y, x, n, drop, false);
}

void KERNEL(dropout_back)(float *y, const float *x, size_t n, const att_drop *drop)
{
    drop_some(y, x, n, drop, true);
}

INLINE vec gradient_of(att_gradient_use use, vec gradient, vec parameter)
{
    return v_fma(v_set(use.pull), parameter, v_mul(v_set(use.scale), gradient));
}

INLINE vec blend(float rate, vec old, vec new)
{
    return v_fma(v_set(rate), v_sub(old, new), new);
}

void KERNEL(sgd)(float *parameter, float *velocity, const float *gradient, size_t n,
                 const att_sgd_step *step)
{
    vec rate = v_set(step->rate), momentum = v_set(step->momentum);
    for (size_t i = 0; i < n; i += LANES) {
        size_t left = n - i;
        vec p = v_load_upto(parameter + i, left);
        vec g = gradient_of(step->use, v_load_upto(gradient + i, left), p);
        vec v = v_fma(momentum, v_load_upto(velocity + i, left), g);
        v_store_upto(velocity + i, v, left);
        v_store_upto(parameter + i, v_fnma(rate, v, p), left);
    }
}

void KERNEL(adam)(float *parameter, float *moment1, float *moment2, const float *gradient, size_t n,
                  const att_adam_step *step)
{
    vec rate = v_set(step->rate / step->first), second = v_set(1.0f / sqrtf(step->second));
    vec keep = v_set(fmaf(-step->rate, step->decay, 1.0f)), epsilon = v_set(step->epsilon);
    for (size_t i = 0; i < n; i += LANES) {
        size_t left = n - i;
        vec p = v_load_upto(parameter + i, left);
        vec g = gradient_of(step->use, v_load_upto(gradient + i, left), p);
        vec m = blend(step->beta1, v_load_upto(moment1 + i, left), g);
        vec v = blend(step->beta2, v_load_upto(moment2 + i, left), v_mul(g, g));
        vec ratio = v_div(m, v_fma(v_sqrt(v), second, epsilon));
        v_store_upto(moment1 + i, m, left);
        v_store_upto(moment2 + i, v, left);
        v_store_upto(parameter + i, v_fnma(rate, ratio, v_mul(p, keep)), left);
    }
}

void KERNEL(adadelta)(float *parameter, float *squares, float *changes, const float *gradient,
                      size_t n, const att_adadelta_step *step)
{
    vec rate = v_set(step->rate), epsilon = v_set(step->epsilon);
    for (size_t i = 0; i < n; i += LANES) {
        size_t left = n - i;
        vec p = v_load_upto(parameter + i, left), before = v_load_upto(changes + i, left);
        vec g = gradient_of(step->use, v_load_upto(gradient + i, left), p);
        vec square = blend(step->rho, v_load_upto(squares + i, left), v_mul(g, g));
        vec ratio = v_div(v_sqrt(v_add(before, epsilon)), v_sqrt(v_add(square, epsilon)));
        vec change = v_mul(ratio, g);
        v_store_upto(squares + i, square, left);
        v_store_upto(changes + i, blend(step->rho, before, v_mul(change, change)), left);
        v_store_upto(parameter + i, v_fnma(rate, change, p), left);
    }
}
