/* The score that hypotheses are ranked by: log-probability, normalized by length, with a coverage
 * penalty (Wu et al., "Google's neural machine translation system", 2016, section 7). */
#ifndef ATT_DECODE_HYPOTHESIS_SCORE_H
#define ATT_DECODE_HYPOTHESIS_SCORE_H

#include "decode/hypothesis_tree.h"

/* The sum of log-probabilities of `count` tokens, divided by the length norm. */
double att_length_normalize(const att_decoding_options *options, double sum, int64_t count);

/* The score of a finished hypothesis whose last node is `last`, over a source of `length`: the
 * above plus the coverage penalty times Σ log(min(attention to each source token, 1)), which is at
 * most 0. */
double att_hypothesis_score(const att_decoding_options *options, const att_hypothesis_tree *tree,
                            int64_t last, double sum, int64_t count, int64_t length);

/* The least upper bound of the score of a live hypothesis of `count` tokens that ends with at most
 * `max_count`. Its sum does not grow, and the length norm is monotonic, so that the best length is
 * the next one or the last one: the last for a positive penalty, the next for a negative one. */
double att_hypothesis_score_bound(const att_decoding_options *options, double sum, int64_t count,
                                  int64_t max_count);

#endif
