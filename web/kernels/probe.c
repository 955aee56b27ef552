/* Whether this module's multiply-add is fused on the engine that runs it: WebAssembly leaves that
 * open for the relaxed instruction, and says that an engine answers the same way every time. */
#include "kern/vec/vec.h"

#include <math.h>
#include <string.h>

/* Bit patterns of all exponents, by a xorshift generator. NaN and infinity are left out. */
static float next_float(uint32_t *state)
{
    float value;
    do {
        *state ^= *state << 13;
        *state ^= *state >> 17;
        *state ^= *state << 5;
        memcpy(&value, state, sizeof value);
    } while (!isfinite(value));
    return value;
}

/* Whether v_fma() and v_fnma() are fmaf() on 16 numbers. */
static bool is_fused(const float *a, const float *b, const float *c)
{
    float sum[LANES], difference[LANES];
    v_store(sum, v_fma(v_load(a), v_load(b), v_load(c)));
    v_store(difference, v_fnma(v_load(a), v_load(b), v_load(c)));
    for (int i = 0; i < LANES; i++) {
        float want[2] = { fmaf(a[i], b[i], c[i]), fmaf(-a[i], b[i], c[i]) };
        if (memcmp(&want[0], &sum[i], sizeof *want) != 0 ||
            memcmp(&want[1], &difference[i], sizeof *want) != 0)
            return false;
    }
    return true;
}

/* Half of the cases have a sum that nearly cancels, where rounding twice shows the most. */
__attribute__((export_name("probe"))) bool probe(void);
bool probe(void)
{
    uint32_t state = 2463534242;
    for (int round = 0; round < 2000; round++) {
        float a[LANES], b[LANES], c[LANES];
        for (int i = 0; i < LANES; i++) {
            a[i] = next_float(&state);
            b[i] = next_float(&state);
            c[i] = i % 2 ? -(a[i] * b[i]) : next_float(&state);
            if (!isfinite(c[i]))
                c[i] = 1;
        }
        if (!is_fused(a, b, c))
            return false;
    }
    return true;
}
