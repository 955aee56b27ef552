/* Optimizer steps in double precision. */
#include "reference/optimizer.h"

#include "base/math.h"

#include <math.h>

static double effective_gradient(const att_reference_gradient *options, double gradient,
                                 double parameter)
{
    return options->scale * gradient + options->l2_penalty * parameter;
}

void att_reference_sgd(double *parameter, double *velocity, const double *gradient, int64_t count,
                       const att_reference_sgd_options *options)
{
    for (int64_t i = 0; i < count; i++) {
        double g = effective_gradient(&options->gradient, gradient[i], parameter[i]);
        velocity[i] = options->momentum * velocity[i] + g;
        parameter[i] -= options->learning_rate * velocity[i];
    }
}

void att_reference_adam(double *parameter, double *first_moment, double *second_moment,
                        const double *gradient, int64_t count,
                        const att_reference_adam_options *options)
{
    double beta1 = options->beta1, beta2 = options->beta2;
    double c1 = 1 - att_pow(beta1, (double)options->step),
           c2 = 1 - att_pow(beta2, (double)options->step);
    for (int64_t i = 0; i < count; i++) {
        double g = effective_gradient(&options->gradient, gradient[i], parameter[i]);
        first_moment[i] = beta1 * first_moment[i] + (1 - beta1) * g;
        second_moment[i] = beta2 * second_moment[i] + (1 - beta2) * g * g;
        double change = first_moment[i] / c1 / (sqrt(second_moment[i] / c2) + options->epsilon);
        parameter[i] -= options->learning_rate * (change + options->weight_decay * parameter[i]);
    }
}

void att_reference_adadelta(double *parameter, double *squares, double *changes,
                            const double *gradient, int64_t count,
                            const att_reference_adadelta_options *options)
{
    double rho = options->rho, epsilon = options->epsilon;
    for (int64_t i = 0; i < count; i++) {
        double g = effective_gradient(&options->gradient, gradient[i], parameter[i]);
        squares[i] = rho * squares[i] + (1 - rho) * g * g;
        double change = sqrt(changes[i] + epsilon) / sqrt(squares[i] + epsilon) * g;
        changes[i] = rho * changes[i] + (1 - rho) * change * change;
        parameter[i] -= options->learning_rate * change;
    }
}
