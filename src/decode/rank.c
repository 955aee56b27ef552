/* What hypotheses are ranked by; see rank.h. */
#include "decode/rank.h"

#include "base/math.h"

/* The divisor. The power 1, the usual one, does without pow() and its roundings. */
static double power(double base, double penalty)
{
    return penalty == 0 || penalty == 1 ? base : att_pow(base, penalty);
}

double att_rank_normal(const att_decoding *how, double sum, int64_t count)
{
    if (how->length_norm == ATT_LENGTH_NONE || count < 1)
        return sum;
    double n = (double)count;
    return sum / power(how->length_norm == ATT_LENGTH_GNMT ? (5 + n) / 6 : n, how->length_penalty);
}

/* What source token i was looked at by all the tokens of a hypothesis. */
static double covered(const att_trail *trail, int64_t last, int64_t i)
{
    double sum = 0;
    for (; last != ATT_TRAIL_START; last = trail->links[last].before)
        sum += (double)trail->looks.data[trail->links[last].look * trail->source_length + i];
    return sum;
}

/* A token that was not looked at at all would make the rank -inf, and all of its kind equal. */
static double log_covered(double sum)
{
    const double least = 1e-9;
    return att_log(sum < least ? least : sum > 1 ? 1 : sum);
}

double att_rank(const att_decoding *how, const att_trail *trail, int64_t last, double sum,
                int64_t count, int64_t length)
{
    double rank = att_rank_normal(how, sum, count), coverage = 0;
    if (how->coverage_penalty == 0 || !trail->looked)
        return rank;
    for (int64_t i = 0; i < length; i++)
        coverage += log_covered(covered(trail, last, i));
    return rank + how->coverage_penalty * coverage;
}

double att_rank_bound(const att_decoding *how, double sum, int64_t count, int64_t most)
{
    return att_rank_normal(how, sum, sum < 0 ? most : count);
}
