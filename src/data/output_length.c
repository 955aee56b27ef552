/* The lengths of training targets relative to their sources. */
#include "data/output_length.h"

#include "data/token_corpus.h"

#include <math.h>

att_output_length att_output_length_measure(const att_corpus *corpus)
{
    int64_t source, target;
    double sources = 0, targets = 0;
    if (corpus->stored)
        return corpus->stored->output_length;
    for (int64_t i = 0; i < corpus->pairs; i++) {
        att_sequences_get(&corpus->source, i, &source);
        att_sequences_get(&corpus->target, i, &target);
        sources += (double)source;
        targets += (double)target + 1;
    }
    att_output_length out = { 0 };
    if (!(sources > 0))
        return out;
    out.ratio = fmin(targets / sources, ATT_OUTPUT_LENGTH_MAX);
    for (int64_t i = 0; i < corpus->pairs; i++) {
        att_sequences_get(&corpus->source, i, &source);
        att_sequences_get(&corpus->target, i, &target);
        out.excess = fmax(out.excess, (double)target + 1 - out.ratio * (double)source);
    }
    out.excess = fmin(ceil(out.excess), ATT_OUTPUT_LENGTH_MAX);
    return out;
}

int64_t att_output_length_limit(const att_output_length *known, int64_t length)
{
    if (!(known->ratio > 0))
        return 50 + 2 * length;
    return 10 + (int64_t)ceil(2 * (known->ratio * (double)length + known->excess));
}
