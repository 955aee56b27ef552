/* What hypotheses are ranked by: their probability, weighed by length and by how much of the source
 * they looked at (Wu et al., "Google's neural machine translation system", 2016, section 7). */
#ifndef ATT_DECODE_HYPOTHESIS_SCORE_H
#define ATT_DECODE_HYPOTHESIS_SCORE_H

#include "decode/hypothesis_tree.h"

/* The sum of a hypothesis' log-probabilities, divided as its `count` tokens ask for. */
double att_length_normalize(const att_decoding_options *how, double sum, int64_t count);

/* The rank of one that has ended in the link `last`, over a source of `length`: the above, and the
 * coverage penalty times Σ log(min(what each source token was looked at, 1)), which is at most 0.
 */
double att_hypothesis_score(const att_decoding_options *how, const att_hypothesis_tree *trail,
                            int64_t last, double sum, int64_t count, int64_t length);

/* No hypothesis of `sum` can be ranked above this after going on to `most` tokens: its sum does not
 * grow, and its length helps it most at the end. */
double att_hypothesis_score_bound(const att_decoding_options *how, double sum, int64_t count,
                                  int64_t most);

#endif
