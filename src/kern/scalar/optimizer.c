/* Kernels of training only: dropout and optimizer steps, in plain loops; see kern.h. */
#include "base/random.h"
#include "kern/isa/isa.h"

#include <math.h>

static bool is_dropped(const att_dropout_options *drop, size_t i)
{
    return att_random_float(drop->seed, drop->stream, i) < drop->probability;
}

void KERNEL(dropout)(float *y, const float *x, size_t n, const att_dropout_options *drop)
{
    float scale = 1.0f / (1.0f - drop->probability);
    for (size_t i = 0; i < n; i++)
        y[i] = is_dropped(drop, i) ? 0.0f : x[i] * scale;
}

void KERNEL(dropout_backward)(float *y, const float *x, size_t n, const att_dropout_options *drop)
{
    float scale = 1.0f / (1.0f - drop->probability);
    for (size_t i = 0; i < n; i++)
        y[i] += is_dropped(drop, i) ? 0.0f : x[i] * scale;
}

static float regularized_gradient(att_gradient_options use, float gradient, float parameter)
{
    return fmaf(use.l2_penalty, parameter, use.scale * gradient);
}

/* Moving average: rate old + (1 - rate) new, rounded twice. */
static float lerp(float rate, float old, float new)
{
    return fmaf(rate, old - new, new);
}

void KERNEL(sgd)(float *parameter, float *velocity, const float *gradient, size_t n,
                 const att_sgd_step *step)
{
    for (size_t i = 0; i < n; i++) {
        float g = regularized_gradient(step->gradient, gradient[i], parameter[i]);
        velocity[i] = fmaf(step->momentum, velocity[i], g);
        parameter[i] = fmaf(-step->learning_rate, velocity[i], parameter[i]);
    }
}

/* Kingma and Ba, "Adam", 2015, algorithm 1; the decay is that of Loshchilov and Hutter, 2019. */
void KERNEL(adam)(float *parameter, float *moment1, float *moment2, const float *gradient, size_t n,
                  const att_adam_step *step)
{
    float rate = step->learning_rate / step->bias_correction1,
          second = 1.0f / sqrtf(step->bias_correction2);
    float keep = fmaf(-step->learning_rate, step->weight_decay, 1.0f);
    for (size_t i = 0; i < n; i++) {
        float g = regularized_gradient(step->gradient, gradient[i], parameter[i]);
        float m = moment1[i] = lerp(step->beta1, moment1[i], g);
        float v = moment2[i] = lerp(step->beta2, moment2[i], g * g);
        float size = fmaf(sqrtf(v), second, step->epsilon);
        parameter[i] = fmaf(-rate, m / size, parameter[i] * keep);
    }
}

/* Zeiler, "ADADELTA: an adaptive learning rate method", 2012, algorithm 1. */
void KERNEL(adadelta)(float *parameter, float *squares, float *changes, const float *gradient,
                      size_t n, const att_adadelta_step *step)
{
    for (size_t i = 0; i < n; i++) {
        float g = regularized_gradient(step->gradient, gradient[i], parameter[i]);
        squares[i] = lerp(step->rho, squares[i], g * g);
        float ratio = sqrtf(changes[i] + step->epsilon) / sqrtf(squares[i] + step->epsilon);
        float change = ratio * g;
        changes[i] = lerp(step->rho, changes[i], change * change);
        parameter[i] = fmaf(-step->learning_rate, change, parameter[i]);
    }
}
