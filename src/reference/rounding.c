/* Rounding and cutting off, with a tolerance for decimals that are inexact in binary. */
#include "reference/rounding.h"

#include <float.h>
#include <math.h>

static double to_whole(double x, double unit, double half)
{
    double scaled = fabs(x) * unit;
    if (!(scaled < 1 / DBL_EPSILON))
        return x;
    return copysign(floor(scaled + half + scaled * 2 * DBL_EPSILON) / unit, x);
}

double att_reference_round(double x, double unit)
{
    return to_whole(x, unit, 0.5);
}

double att_reference_cut(double x, double unit)
{
    return to_whole(x, unit, 0);
}
