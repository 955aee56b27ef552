/* Sums and maxima along a row, in the order that every instruction set uses: 16 partial results,
 * element i in partial i mod 16, then a tree. */
#ifndef ATT_KERN_SCALAR_PARTIALS_H
#define ATT_KERN_SCALAR_PARTIALS_H

#include "kern/kern.h"
#include "kern/scalar/math.h"

typedef struct partials {
    float lane[ATT_LANES];
} partials;

static inline partials partials_fill(float start)
{
    partials all;
    for (int i = 0; i < ATT_LANES; i++)
        all.lane[i] = start;
    return all;
}

static inline float tree_sum(partials all)
{
    for (int half = ATT_LANES / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            all.lane[i] += all.lane[i + half];
    return all.lane[0];
}

static inline float tree_max(partials all)
{
    for (int half = ATT_LANES / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            all.lane[i] = max_float(all.lane[i], all.lane[i + half]);
    return all.lane[0];
}

#endif
