/* fmaf() for machines without the instruction, correctly rounded, subnormal results included.
 *
 * The product of two floats is exact in double. Its sum with the third is rounded to odd: towards
 * zero, and the last bit set where anything was lost. A double has more than twice the digits of a
 * float and two more, so rounding that to float gives the float nearest to the exact result
 * (Boldo and Melquiond 2008). */
#include <math.h>
#include <stdint.h>
#include <string.h>

float fmaf(float x, float y, float z)
{
    double product = (double)x * y, sum = product + z;
    double part = sum - product;
    double lost = (product - (sum - part)) + ((double)z - part); /* exact; NaN beside infinity */
    if (lost > 0 || lost < 0) {
        uint64_t bits;
        memcpy(&bits, &sum, sizeof bits);
        if (!(bits & 1))
            bits += (lost > 0) == (sum > 0) ? 1 : (uint64_t)-1;
        memcpy(&sum, &bits, sizeof bits);
    }
    return (float)sum;
}
