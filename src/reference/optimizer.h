/* Optimizer steps in double precision. Each updates `count` parameters and their moments, which
 * are zeros before the first step, by the gradient g = scale gradient + l2_penalty parameter. */
#ifndef ATT_REFERENCE_OPTIMIZER_H
#define ATT_REFERENCE_OPTIMIZER_H

#include <stdint.h>

typedef struct att_reference_gradient {
    double scale;      /* averages over the batch and clips the norm */
    double l2_penalty; /* added to the gradient, unlike AdamW's weight decay */
} att_reference_gradient;

/* velocity = momentum velocity + g; parameter -= learning_rate velocity. */
typedef struct att_reference_sgd_options {
    att_reference_gradient gradient;
    double learning_rate, momentum;
} att_reference_sgd_options;

void att_reference_sgd(double *parameter, double *velocity, const double *gradient, int64_t count,
                       const att_reference_sgd_options *options);

/* Adam (Kingma and Ba 2015, algorithm 1) with decoupled weight decay (Loshchilov and Hutter 2019):
 *   m = beta1 m + (1 - beta1) g,  v = beta2 v + (1 - beta2) g²
 *   parameter -= learning_rate (m / c1 / (sqrt(v / c2) + epsilon) + weight_decay parameter)
 * with c = 1 - beta^step; `step` counts from 1. */
typedef struct att_reference_adam_options {
    att_reference_gradient gradient;
    double learning_rate, beta1, beta2, epsilon, weight_decay;
    int64_t step;
} att_reference_adam_options;

void att_reference_adam(double *parameter, double *first_moment, double *second_moment,
                        const double *gradient, int64_t count,
                        const att_reference_adam_options *options);

/* Adadelta (Zeiler 2012):
 *   squares = rho squares + (1 - rho) g²
 *   change = sqrt(changes + epsilon) / sqrt(squares + epsilon) g
 *   changes = rho changes + (1 - rho) change²
 *   parameter -= learning_rate change */
typedef struct att_reference_adadelta_options {
    att_reference_gradient gradient;
    double learning_rate, rho, epsilon;
} att_reference_adadelta_options;

void att_reference_adadelta(double *parameter, double *squares, double *changes,
                            const double *gradient, int64_t count,
                            const att_reference_adadelta_options *options);

#endif
