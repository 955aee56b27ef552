/* Positions in double precision: sinusoidal position vectors, rotary position embedding (RoPE) and
 * the window of local attention. The tape's operations round these very numbers to float. */
#ifndef ATT_REFERENCE_POSITIONS_H
#define ATT_REFERENCE_POSITIONS_H

#include <stdint.h>

#define ATT_POSITION_BASE 10000.0 /* of both, as in the papers */

/* Sinusoidal positions (Vaswani et al. 2017, 3.5): column 2i of position p is sin(p / d), column
 * 2i + 1 is cos(p / d), with the divisor d = base^(2i / width). */
double att_reference_sinusoid_divisor(int64_t column, int64_t width, double base);
double att_reference_sinusoid(int64_t position, int64_t column, double divisor);

/* The table out [count, width] of positions first, first + 1, … */
void att_reference_sinusoids(double *out, int64_t first, int64_t count, int64_t width, double base);

/* RoPE (Su et al. 2021): the angle position / base^(2 pair / head_size) by which columns `pair` and
 * pair + head_size/2 of a head are rotated together. */
double att_reference_rope_angle(int64_t position, int64_t pair, int64_t head_size, double base);

/* Rotates the first `heads` heads of every row of x [rows, width] by the row's position; columns
 * after the heads are copied. */
void att_reference_rope(double *y, const double *x, int64_t rows, int64_t width, int64_t heads,
                        int64_t head_size, const int32_t *positions, double base);

/* Local attention with a predicted center (Luong et al. 2015, 3.2, "local-p"): the bias
 * -(s - p)² / (2 deviation²) of keys s = 0 … keys-1 for one query. The center p is length * place:
 * `place` in (0, 1) is the predicted fraction of a source of `length` tokens. */
void att_reference_local_window(double *bias, int64_t keys, double place, int64_t length,
                                double deviation);

#endif
