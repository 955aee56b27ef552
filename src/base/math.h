/* Elementary functions in double precision. The C library's differ in the last bits from one
 * library, version and processor to the next; these give the same bits wherever double is IEEE 754
 * binary64, rounding is to nearest and -ffp-contract is off. They use additions, multiplications,
 * divisions and integers only, and call nothing.
 *
 * Results are within 1 ulp of the true value (tests/base/test_math.c prints the worst of each).
 * Zeros, infinities and NaN are treated as in C11 annex F. errno is not set, and exception flags
 * mean nothing. A float result is the double result rounded to float. */
#ifndef ATT_BASE_MATH_H
#define ATT_BASE_MATH_H

double att_exp(double x);
double att_log(double x);
double att_log1p(double x);
double att_log10(double x);
double att_pow(double x, double y);
double att_tanh(double x);
double att_cosh(double x);
double att_erf(double x);
double att_erfc(double x);
double att_sin(double x);
double att_cos(double x);

#endif
