/* Activations in double precision. */
#include "reference/activation.h"

#include "base/math.h"
#include "base/random.h"

#include <math.h>

double att_reference_relu(double x)
{
    return x < 0 ? 0 : x;
}

double att_reference_sigmoid(double x)
{
    return 1 / (1 + att_exp(-x));
}

double att_reference_gelu(double x)
{
    return x / 2 * (1 + att_erf(x / sqrt(2)));
}

double att_reference_silu(double x)
{
    return x / (1 + att_exp(-x));
}

static double identity(double x)
{
    return x;
}

double att_reference_activation(att_activation activation, double x)
{
    static double (*const functions[])(double) = {
        [ATT_ACTIVATION_NONE] = identity,
        [ATT_ACTIVATION_RELU] = att_reference_relu,
        [ATT_ACTIVATION_GELU] = att_reference_gelu,
        [ATT_ACTIVATION_SILU] = att_reference_silu,
        [ATT_ACTIVATION_TANH] = att_tanh,
        [ATT_ACTIVATION_SIGMOID] = att_reference_sigmoid,
    };
    return functions[activation](x);
}

/* ---- derivatives */

static double one(double x)
{
    (void)x;
    return 1;
}

static double relu_derivative(double x)
{
    return x > 0 ? 1 : x <= 0 ? 0 : x; /* NaN stays NaN */
}

/* s(x) s(-x) is s (1 - s) without the cancellation where s is near 1. */
static double sigmoid_derivative(double x)
{
    return att_reference_sigmoid(x) * att_reference_sigmoid(-x);
}

/* Φ(x) + x φ(x) */
static double gelu_derivative(double x)
{
    double density = att_exp(-x * x / 2) / sqrt(2 * 3.14159265358979323846);
    return (1 + att_erf(x / sqrt(2))) / 2 + (isinf(x) ? 0 : x * density);
}

static double silu_derivative(double x)
{
    double s = att_reference_sigmoid(x);
    return s + (isinf(x) ? 0 : x * sigmoid_derivative(x));
}

/* 1/cosh² is 1 - tanh² without the cancellation where tanh is near 1. */
static double tanh_derivative(double x)
{
    double cosine = att_cosh(x);
    return 1 / cosine / cosine;
}

double att_reference_activation_derivative(att_activation activation, double x)
{
    static double (*const functions[])(double) = {
        [ATT_ACTIVATION_NONE] = one,
        [ATT_ACTIVATION_RELU] = relu_derivative,
        [ATT_ACTIVATION_GELU] = gelu_derivative,
        [ATT_ACTIVATION_SILU] = silu_derivative,
        [ATT_ACTIVATION_TANH] = tanh_derivative,
        [ATT_ACTIVATION_SIGMOID] = sigmoid_derivative,
    };
    return functions[activation](x);
}

void att_reference_swiglu(double *y, const double *x, int64_t rows, int64_t width)
{
    for (int64_t i = 0; i < rows; i++) {
        const double *a = x + i * 2 * width, *b = a + width;
        for (int64_t j = 0; j < width; j++)
            y[i * width + j] = att_reference_silu(a[j]) * b[j];
    }
}

void att_reference_dropout(double *y, const double *x, int64_t width, uint64_t seed,
                           uint64_t stream, float probability)
{
    double scale = 1 / (1 - (double)probability);
    for (int64_t i = 0; i < width; i++)
        y[i] = att_random_float(seed, stream, (uint64_t)i) < probability ? 0 : x[i] * scale;
}
