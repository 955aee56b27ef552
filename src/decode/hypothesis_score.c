/* Length normalization and coverage penalty of hypotheses, and the bound that ends a beam search
 * early. */
#include "decode/hypothesis_score.h"

#include "base/math.h"
#include "base/minmax.h"

/* Exponent 1, the default, avoids pow() and its rounding. */
static double power(double base, double penalty)
{
    return penalty == 0 || penalty == 1 ? base : att_pow(base, penalty);
}

double att_length_normalize(const att_decoding_options *options, double sum, int64_t count)
{
    if (options->length_norm == ATT_LENGTH_NONE || count < 1)
        return sum;
    double n = (double)count;
    return sum / power(options->length_norm == ATT_LENGTH_GNMT ? (5 + n) / 6 : n,
                       options->length_penalty);
}

/* The coverage of source token i: the attention to it, summed over the tokens of a hypothesis. */
static double coverage_of(const att_hypothesis_tree *tree, int64_t last, int64_t i)
{
    double sum = 0;
    for (; last != ATT_HYPOTHESIS_ROOT; last = tree->nodes[last].parent)
        sum +=
            (double)tree->attention.data[tree->nodes[last].attention_row * tree->source_length + i];
    return sum;
}

/* A source token without any attention would make the score -inf, and all such hypotheses equal:
 * the coverage is bounded from below. */
static double log_coverage(double sum)
{
    const double min_coverage = 1e-9;
    return att_log(sum < min_coverage ? min_coverage : sum > 1 ? 1 : sum);
}

double att_hypothesis_score(const att_decoding_options *options, const att_hypothesis_tree *tree,
                            int64_t last, double sum, int64_t count, int64_t length)
{
    double score = att_length_normalize(options, sum, count), coverage = 0;
    if (options->coverage_penalty == 0 || !tree->has_attention)
        return score;
    for (int64_t i = 0; i < length; i++)
        coverage += log_coverage(coverage_of(tree, last, i));
    return score + options->coverage_penalty * coverage;
}

double att_hypothesis_score_bound(const att_decoding_options *options, double sum, int64_t count,
                                  int64_t max_count)
{
    double next = att_length_normalize(options, sum, att_min_i64(count + 1, max_count));
    double last = att_length_normalize(options, sum, max_count);
    return next > last ? next : last;
}
