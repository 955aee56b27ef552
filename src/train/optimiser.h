/* How gradients become steps: one row of a table for each optimiser, on whole blocks of parameters.
 * Elements are independent, so threads share a block and the bits stay the same. */
#ifndef ATT_TRAIN_OPTIMISER_H
#define ATT_TRAIN_OPTIMISER_H

#include "settings/settings.h"

enum { ATT_MOST_MOMENTS = 2 };

typedef struct att_optimiser {
    const struct att_optimiser_row *row;
    size_t size;                      /* floats in a block */
    float *moments[ATT_MOST_MOMENTS]; /* [size] each; NULL beyond those it has */
} att_optimiser;

/* Moments of zeros for blocks of `size` floats. Release with att_optimiser_free(), after a failure
 * too. */
att_status att_optimiser_make(att_optimiser *out, att_optimiser_kind kind, size_t size,
                              att_error *err);
void att_optimiser_free(att_optimiser *optimiser);

/* What moment `index` is called in checkpoints; NULL where there is none. */
const char *att_optimiser_moment(const att_optimiser *optimiser, int index);

/* What one step is given. */
typedef struct att_optimiser_step {
    int64_t step; /* counted from 1 */
    double rate;
    double scale; /* of the gradient: what averages and clips it */
} att_optimiser_step;

/* Changes `value` [size] by the gradient `grad` [size]. */
void att_optimiser_apply(att_optimiser *optimiser, const att_settings *settings, float *value,
                         const float *grad, const att_optimiser_step *step);

/* The Euclidean norm of a block, in double precision: squares are added in stretches of one fixed
 * length and these in order, so that neither threads nor instruction sets show. It is finite
 * exactly where every element is. */
enum { ATT_NORM_STRETCH = 1 << 15 };
double att_block_norm(const float *block, size_t size, double *sums /* [size / stretch + 1] */);

#endif
