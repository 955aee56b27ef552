/* Drawing a token; see draw.h. Probabilities come from the kernels' exp and are added up in double
 * precision in one order, so that a draw is the same on every instruction set. */
#include "decode/sampling.h"

#include "kern/kern.h"

#include <math.h>

/* Few tokens have most of the probability: they are looked for among this many first. */
enum { FIRST_TOPK = 64 };

int64_t att_sample_capacity(const att_decoding_options *how, int64_t vocabulary)
{
    if (how->top_k > 0)
        return how->top_k < vocabulary ? how->top_k : vocabulary;
    return how->top_p > 0 && how->top_p < 1 ? vocabulary : 1;
}

/* weights[i] = exp((x[i] - max x) / temperature), 0 for what is banned; gives their sum. */
static double compute_probabilities(float *weights, const float *x, int64_t count,
                                    const att_banned_tokens *bans, double temperature)
{
    float most = -INFINITY;
    for (int64_t i = 0; i < count; i++)
        if (x[i] > most && !att_is_banned(bans, (int32_t)i))
            most = x[i];
    if (most == -INFINITY)
        return 0;
    float scale = (float)(temperature > 0 ? 1 / temperature : 1);
    for (int64_t i = 0; i < count; i++)
        weights[i] = (x[i] - most) * scale;
    for (int64_t i = 0; i < bans->count; i++)
        weights[bans->tokens[i]] = -INFINITY;
    att_kernels_get()->exp(weights, weights, (size_t)count);
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += (double)weights[i];
    return sum;
}

/* The token that `at` falls on among all of them; the last that can be, where rounding passed the
 * end. */
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

/* The same among the first `count` of those that are held, the most probable first. */
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

/* Holds the `capacity` most probable, in order. */
static void select_topk(att_topk *top, int64_t capacity, const float *weights, int64_t count,
                        const att_banned_tokens *bans)
{
    *top = (att_topk){ .items = top->items, .capacity = capacity };
    att_topk_push_row(top, 0, 0, weights, count, bans);
    att_topk_sort(top);
}

/* How many of those held are needed for the probability `wanted`; *mass receives what they have. */
static int64_t nucleus_size(const att_topk *top, double wanted, double *mass)
{
    int64_t n = 0;
    *mass = 0;
    while (n < top->count && (n == 0 || *mass < wanted))
        *mass += top->items[n++].score;
    return n;
}

int32_t att_sample_token(const att_decoding_options *how, const float *log_probs, int64_t count,
                         const att_banned_tokens *bans, double u, att_topk *top, float *scratch)
{
    double total = compute_probabilities(scratch, log_probs, count, bans, how->temperature), mass;
    if (!(total > 0))
        return -1;
    bool some = how->top_p > 0 && how->top_p < 1;
    if (how->top_k == 0 && !some)
        return sample_from_all(scratch, count, u * total);
    int64_t room = att_sample_capacity(how, count);
    int64_t look = how->top_k > 0 || room < FIRST_TOPK ? room : FIRST_TOPK;
    for (;; look = 4 * look < room ? 4 * look : room) {
        select_topk(top, look, scratch, count, bans);
        double of = 0; /* all that the share is of: with top_k, the k alone */
        for (int64_t i = 0; how->top_k > 0 && i < top->count; i++)
            of += top->items[i].score;
        double wanted = (some ? how->top_p : 1) * (how->top_k > 0 ? of : total);
        int64_t n = nucleus_size(top, wanted, &mass);
        if (look == room || mass >= wanted)
            return sample_from_topk(top, n, u * mass);
    }
}
