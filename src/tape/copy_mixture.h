/* The probability of a token of a pointer-generator: a mixture of generating and copying it. The
 * loss and step-wise decoding both call it, so that they have the same bits. */
#ifndef ATT_TAPE_COPY_MIXTURE_H
#define ATT_TAPE_COPY_MIXTURE_H

#include <stdbool.h>
#include <stdint.h>

/* log sigmoid(gate): the logarithm of the probability of generating; that of copying is
 * att_log_sigmoid(-gate). */
double att_log_sigmoid(double gate);

/* The weight of a source token that can be copied: at least ATT_COPY_MIN_WEIGHT
 * (reference/loss.h). */
double att_copy_weight_raise(double weight);

/* The weight of the source tokens with this id, summed in their order; 0 where there are none. */
double att_copy_weight(const float *weights, const int32_t *ids, int64_t length, int32_t id);

typedef struct att_copy_mixture {
    double log_prob; /* log(g P_vocab + (1 - g) weight) */
    double copied;   /* the part of copying in the probability, 0 to 1 */
} att_copy_mixture;

/* The mixture, as log-sum-exp. log_generated is log P_vocab, -INFINITY for a token that the
 * vocabulary lacks; `weight` may be 0, but not both. */
att_copy_mixture att_copy_mixture_get(double log_generated, double weight, double gate);

#endif
