/* The int8 product in plain C: the specification. */
#include "kern/int8/body.h"

enum { ROWS_IN_TILE = 4 };

static void add_products(int32_t *sums, int rows, const int8_t *a, size_t a_row_size,
                         const int8_t *b, const int32_t *b_sums, size_t groups)
{
    (void)b_sums;
    memset(sums, 0, (size_t)rows * PANEL * sizeof *sums);
    for (int r = 0; r < rows; r++)
        for (size_t g = 0; g < groups; g++)
            for (int j = 0; j < PANEL; j++) {
                const int8_t *x = a + (size_t)r * a_row_size + g * GROUP;
                const int8_t *w = b + g * GROUP_BYTES + j * GROUP;
                sums[r * PANEL + j] += x[0] * w[0] + x[1] * w[1] + x[2] * w[2] + x[3] * w[3];
            }
}

VERSION(scalar, ATT_CPU_SCALAR, 0);
