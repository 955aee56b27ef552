/* How gradients become steps: one row of a table for each optimiser, on whole blocks of parameters.
 * Elements are independent, so threads share a block and the bits stay the same. */
#ifndef ATT_TRAIN_OPTIMIZER_H
#define ATT_TRAIN_OPTIMIZER_H

#include "settings/settings.h"

enum { ATT_MAX_MOMENTS = 2 };

typedef struct att_optimizer {
    const struct att_optimizer_spec *spec;
    size_t size;                     /* floats in a block */
    float *moments[ATT_MAX_MOMENTS]; /* [size] each; NULL beyond those it has */
} att_optimizer;

/* Moments of zeros for blocks of `size` floats. Release with att_optimizer_free(), after a failure
 * too. */
att_status att_optimizer_new(att_optimizer *out, att_optimizer_kind kind, size_t size,
                             att_error *err);
void att_optimizer_free(att_optimizer *optimiser);

/* What moment `index` is called in checkpoints; NULL where there is none. */
const char *att_optimizer_moment_name(const att_optimizer *optimiser, int index);

/* What one step is given. */
typedef struct att_optimizer_step_options {
    int64_t step; /* counted from 1 */
    double learning_rate;
    double gradient_scale; /* of the gradient: what averages and clips it */
} att_optimizer_step_options;

/* Changes `value` [size] by the gradient `grad` [size]. */
void att_optimizer_step(att_optimizer *optimiser, const att_settings *settings, float *value,
                        const float *grad, const att_optimizer_step_options *step);

/* The Euclidean norm of a block, in double precision: squares are added in stretches of one fixed
 * length and these in order, so that neither threads nor instruction sets show. It is finite
 * exactly where every element is. */
enum { ATT_NORM_BLOCK = 1 << 15 };
double att_l2_norm(const float *block, size_t size, double *sums /* [size / stretch + 1] */);

#endif
