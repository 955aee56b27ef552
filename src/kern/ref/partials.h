/* Sums and maxima along a row in the one order that every instruction set follows: 16 partial
 * results, element i in partial i mod 16, then a tree. */
#ifndef ATT_KERN_REF_PARTIALS_H
#define ATT_KERN_REF_PARTIALS_H

#include "kern/kern.h"
#include "kern/ref/math.h"

typedef struct partials {
    float at[ATT_LANES];
} partials;

static inline partials partials_of(float start)
{
    partials all;
    for (int i = 0; i < ATT_LANES; i++)
        all.at[i] = start;
    return all;
}

static inline float tree_sum(partials all)
{
    for (int half = ATT_LANES / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            all.at[i] += all.at[i + half];
    return all.at[0];
}

static inline float tree_largest(partials all)
{
    for (int half = ATT_LANES / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            all.at[i] = max_of(all.at[i], all.at[i + half]);
    return all.at[0];
}

#endif
