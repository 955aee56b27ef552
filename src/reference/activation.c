/* Activations in double precision. */
#include "reference/activation.h"

#include "base/math.h"

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
