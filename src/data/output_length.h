/* How long outputs are for their sources in the training data, and the limit for outputs that
 * follows from it. */
#ifndef ATT_DATA_OUTPUT_LENGTH_H
#define ATT_DATA_OUTPUT_LENGTH_H

#include "data/corpus.h"

/* Every training target has at most ratio × source tokens + excess tokens, the end token included;
 * `ratio` is that of all tokens. Zeros: not known, as in imported models. */
typedef struct att_output_length {
    double ratio, excess;
} att_output_length;

enum { ATT_OUTPUT_LENGTH_MAX = 1000000 }; /* of either number */

/* Measures the pairs of a corpus. */
att_output_length att_output_length_measure(const att_corpus *corpus);

/* The most tokens of an output for a source of `length` tokens: ten more than twice as many as the
 * training data had for such a source; 50 + 2 × length where that is not known. */
int64_t att_output_length_limit(const att_output_length *known, int64_t length);

#endif
