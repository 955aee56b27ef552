/* Optimizers: SGD, Adam, AdamW and Adadelta, each a row of a table, applied to a whole block of
 * parameters. Elements are independent, so the result does not depend on the number of threads. */
#ifndef ATT_TRAIN_OPTIMIZER_H
#define ATT_TRAIN_OPTIMIZER_H

#include "settings/settings.h"

enum { ATT_MAX_MOMENTS = 2 };

typedef struct att_optimizer {
    const struct att_optimizer_spec *spec;
    size_t size;                     /* of a block, in floats */
    float *moments[ATT_MAX_MOMENTS]; /* [size] each; NULL after the last */
} att_optimizer;

/* Allocates zero moments for a block of `size` floats. Release with att_optimizer_free(), on
 * failure too. */
att_status att_optimizer_new(att_optimizer *out, att_optimizer_kind kind, size_t size,
                             att_error *err);
void att_optimizer_free(att_optimizer *optimizer);

/* The name of moment `index` in checkpoints; NULL after the last. */
const char *att_optimizer_moment_name(const att_optimizer *optimizer, int index);

/* Whether moment `index` is a mean of squares, which is never below 0. */
bool att_optimizer_moment_is_square(const att_optimizer *optimizer, int index);

typedef struct att_optimizer_step_options {
    int64_t step; /* from 1 */
    double learning_rate;
    double gradient_scale; /* factor that averages and clips the gradient */
} att_optimizer_step_options;

/* Updates the parameters `value` [size] by the gradient `grad` [size]. */
void att_optimizer_step(att_optimizer *optimizer, const att_settings *settings, float *value,
                        const float *grad, const att_optimizer_step_options *step);

/* The squares of `block` [size], summed in blocks of ATT_NORM_BLOCK; these sums do not depend on
 * threads or the instruction set. */
enum { ATT_NORM_BLOCK = 1 << 15 };
void att_squares(double *sums /* [size / ATT_NORM_BLOCK + 1] */, const float *block, size_t size);

/* The L2 norm of a block in double precision: these sums, added in order. It is finite if and only
 * if every element is. */
double att_l2_norm(const float *block, size_t size, double *sums /* [size / ATT_NORM_BLOCK + 1] */);

#endif
