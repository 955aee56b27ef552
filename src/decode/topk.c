/* A bounded heap of the best candidates: the top k of a beam search step and of sampling. */
#include "decode/topk.h"

#include "base/minmax.h"

#include <math.h>
#include <stdlib.h>

static bool better(const att_candidate *a, const att_candidate *b)
{
    if (a->score != b->score)
        return a->score > b->score;
    if (a->row != b->row)
        return a->row < b->row;
    return a->token < b->token;
}

static void swap(att_candidate *a, att_candidate *b)
{
    att_candidate saved = *a;
    *a = *b;
    *b = saved;
}

/* Restores the heap below an index whose candidate was replaced by a better one. */
static void sift_down(att_topk *top, int64_t at)
{
    for (;;) {
        int64_t worst = at;
        for (int64_t child = 2 * at + 1; child <= 2 * at + 2 && child < top->count; child++)
            if (better(&top->items[worst], &top->items[child]))
                worst = child;
        if (worst == at)
            return;
        swap(&top->items[at], &top->items[worst]);
        at = worst;
    }
}

static void sift_up(att_topk *top, int64_t at)
{
    while (at > 0 && better(&top->items[(at - 1) / 2], &top->items[at])) {
        swap(&top->items[(at - 1) / 2], &top->items[at]);
        at = (at - 1) / 2;
    }
}

void att_topk_push(att_topk *top, att_candidate candidate)
{
    if (isnan(candidate.score))
        return;
    if (top->count < top->capacity) {
        top->items[top->count] = candidate;
        sift_up(top, top->count++);
    } else if (better(&candidate, &top->items[0])) {
        top->items[0] = candidate;
        sift_down(top, 0);
    }
}

bool att_is_banned(const att_banned_tokens *bans, int32_t token)
{
    for (int64_t i = 0; i < bans->count; i++)
        if (bans->tokens[i] == token)
            return true;
    return false;
}

/* No log-probability below this can enter the heap: one float below the difference, so that
 * rounding never excludes a candidate. */
static float threshold_of(const att_topk *top, double base)
{
    if (top->count < top->capacity)
        return -INFINITY;
    double difference = top->items[0].score - base;
    return isnan(difference) ? -INFINITY : nextafterf((float)difference, -INFINITY);
}

/* Whether any of 64 numbers reaches the threshold; without a branch, so that it is vectorized. */
enum { STRIDE = 64 };
static bool any_reaches(const float *x, float threshold)
{
    int hits = 0;
    for (int i = 0; i < STRIDE; i++)
        hits |= x[i] >= threshold;
    return hits != 0;
}

void att_topk_push_row(att_topk *top, int32_t row, double base, const float *log_probs,
                       int64_t count, const att_banned_tokens *bans)
{
    float threshold = threshold_of(top, base);
    for (int64_t at = 0; at < count; at += STRIDE) {
        int64_t end = att_min_i64(at + STRIDE, count);
        if (end - at == STRIDE && !any_reaches(log_probs + at, threshold))
            continue;
        for (int64_t i = at; i < end; i++) {
            if (!(log_probs[i] >= threshold) || att_is_banned(bans, (int32_t)i))
                continue;
            att_topk_push(top, (att_candidate){ .score = base + (double)log_probs[i],
                                                .row = row,
                                                .token = (int32_t)i,
                                                .log_prob = log_probs[i] });
            threshold = threshold_of(top, base);
        }
    }
}

static int best_first(const void *a, const void *b)
{
    return better(a, b) ? -1 : 1;
}

void att_topk_sort(att_topk *top)
{
    if (top->count > 1)
        qsort(top->items, (size_t)top->count, sizeof *top->items, best_first);
}
