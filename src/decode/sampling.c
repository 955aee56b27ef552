/* Sampling a token with temperature, top-k and top-p. Probabilities come from the exp kernel and
 * are summed in double precision in index order, so that samples are the same on every instruction
 * set. */
#include "decode/sampling.h"

#include "base/minmax.h"
#include "kern/kern.h"

#include <math.h>

/* Few tokens have most of the probability: the nucleus is searched among this many first. */
enum { FIRST_TOPK = 64 };

int64_t att_sample_capacity(const att_decoding_options *options, int64_t vocabulary)
{
    if (options->top_k > 0)
        return att_min_i64(options->top_k, vocabulary);
    return options->top_p > 0 && options->top_p < 1 ? vocabulary : 1;
}

/* weights[i] = exp((x[i] - max x) / temperature), 0 for banned tokens; returns their sum. */
static double compute_probabilities(float *weights, const float *x, int64_t count,
                                    const att_banned_tokens *bans, double temperature)
{
    float max = -INFINITY;
    for (int64_t i = 0; i < count; i++)
        if (x[i] > max && !att_is_banned(bans, (int32_t)i))
            max = x[i];
    if (max == -INFINITY)
        return 0;
    float scale = (float)(temperature > 0 ? 1 / temperature : 1);
    for (int64_t i = 0; i < count; i++)
        weights[i] = (x[i] - max) * scale;
    for (int64_t i = 0; i < bans->count; i++)
        weights[bans->tokens[i]] = -INFINITY;
    att_kernels_get()->exp(weights, weights, (size_t)count);
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += (double)weights[i];
    return sum;
}

/* The token whose interval contains `at`; the last possible one where rounding passed the end. */
static int32_t sample_from_all(const float *weights, int64_t count, double at)
{
    int32_t found = -1;
    for (int64_t i = 0; i < count; i++) {
        if (!(weights[i] > 0))
            continue;
        found = (int32_t)i;
        at -= (double)weights[i];
        if (at < 0)
            break;
    }
    return found;
}

/* The same among the first `count` candidates of a sorted heap. */
static int32_t sample_from_topk(const att_topk *top, int64_t count, double at)
{
    int64_t i = 0;
    for (; i + 1 < count; i++) {
        at -= top->items[i].score;
        if (at < 0)
            break;
    }
    return top->items[i].token;
}

/* Collects the `capacity` most probable tokens, sorted. */
static void select_topk(att_topk *top, int64_t capacity, const float *weights, int64_t count,
                        const att_banned_tokens *bans)
{
    *top = (att_topk){ .items = top->items, .capacity = capacity };
    att_topk_push_row(top, 0, 0, weights, count, bans);
    att_topk_sort(top);
}

/* The number of candidates that reach the probability `needed`; *mass receives their sum. */
static int64_t nucleus_size(const att_topk *top, double needed, double *mass)
{
    int64_t n = 0;
    *mass = 0;
    while (n < top->count && (n == 0 || *mass < needed))
        *mass += top->items[n++].score;
    return n;
}

int32_t att_sample_token(const att_decoding_options *options, const float *log_probs, int64_t count,
                         const att_banned_tokens *bans, double u, att_topk *top, float *scratch)
{
    double total = compute_probabilities(scratch, log_probs, count, bans, options->temperature),
           mass;
    if (!(total > 0))
        return -1;
    bool nucleus = options->top_p > 0 && options->top_p < 1;
    if (options->top_k == 0 && !nucleus)
        return sample_from_all(scratch, count, u * total);
    int64_t capacity = att_sample_capacity(options, count);
    int64_t considered = options->top_k > 0 ? capacity : att_min_i64(capacity, FIRST_TOPK);
    for (;; considered = att_min_i64(4 * considered, capacity)) {
        select_topk(top, considered, scratch, count, bans);
        double kept = 0; /* with top_k, top_p is a fraction of the k tokens alone */
        for (int64_t i = 0; options->top_k > 0 && i < top->count; i++)
            kept += top->items[i].score;
        double needed = (nucleus ? options->top_p : 1) * (options->top_k > 0 ? kept : total);
        int64_t n = nucleus_size(top, needed, &mass);
        if (considered == capacity || mass >= needed)
            return sample_from_topk(top, n, u * mass);
    }
}
