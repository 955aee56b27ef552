/* The mixture of a pointer-generator; see copy_mixture.h. */
#include "tape/copy_mixture.h"

#include "base/math.h"
#include "reference/loss.h"

#include <math.h>

double att_log_sigmoid(double gate)
{
    double tail = att_log1p(att_exp(-fabs(gate)));
    return gate < 0 ? gate - tail : -tail;
}

double att_copy_weight_raise(double weight)
{
    return weight < ATT_COPY_MIN_WEIGHT ? ATT_COPY_MIN_WEIGHT : weight;
}

double att_copy_weight(const float *weights, const int32_t *ids, int64_t length, int32_t id)
{
    double sum = 0;
    bool found = false;
    for (int64_t j = 0; j < length; j++)
        if (ids[j] == id) {
            sum += (double)weights[j];
            found = true;
        }
    return found ? att_copy_weight_raise(sum) : 0;
}

att_copy_mixture att_copy_mixture_get(double log_generated, double weight, double gate)
{
    double generated = log_generated + att_log_sigmoid(gate);
    if (weight == 0)
        return (att_copy_mixture){ generated, 0 };
    double copied = att_log(weight) + att_log_sigmoid(-gate);
    double larger = generated > copied ? generated : copied;
    double smaller = generated > copied ? copied : generated;
    double log_prob = larger + att_log1p(att_exp(smaller - larger));
    return (att_copy_mixture){ log_prob, att_exp(copied - log_prob) };
}
