/* Rounding and cutting off decimals as on paper. */
#ifndef ATT_REFERENCE_ROUNDING_H
#define ATT_REFERENCE_ROUNDING_H

/* x rounded to a multiple of 1 / `unit`, halves away from zero; x with the decimals behind it cut
 * off. The double 0.285 is slightly below 0.285, and 0.29 · 100 slightly below 29: a tolerance of a
 * few units in the last place makes them 0.29 and 29. Infinity, NaN and numbers without such
 * decimals are unchanged. */
double att_reference_round(double x, double unit);
double att_reference_cut(double x, double unit);

#endif
