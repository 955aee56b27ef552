/* chrF (Popović, "chrF: character n-gram F-score for automatic MT evaluation", 2015) and chrF++,
 * which adds words ("chrF++: words helping character n-grams", 2017): precision and recall of runs
 * of letters, averaged over the orders that both sides have, recall weighted twice. Of several
 * references the one with the best score counts, line by line. */
#include "metrics/metric_spec.h"

#include "base/error.h"

#include <string.h>

enum {
    CHARACTER_ORDER = 6,
    WORD_ORDER = 2,
    HYPOTHESIS_NGRAMS = 0,
    REFERENCE_NGRAMS = 1,
    MATCHED = 2,
    STATS_PER_ORDER = 3
};

static double score(const double *numbers, int orders)
{
    const double weight = 4; /* the square of 2 */
    double precision = 0, recall = 0;
    int used = 0;
    for (const double *at = numbers; at < numbers + STATS_PER_ORDER * orders;
         at += STATS_PER_ORDER) {
        if (at[HYPOTHESIS_NGRAMS] == 0 || at[REFERENCE_NGRAMS] == 0)
            continue;
        precision += at[MATCHED] / at[HYPOTHESIS_NGRAMS];
        recall += at[MATCHED] / at[REFERENCE_NGRAMS];
        used++;
    }
    if (used == 0 || precision + recall == 0)
        return 0;
    precision /= used;
    recall /= used;
    return 100 * ((1 + weight) * precision * recall / (weight * precision + recall));
}

double att_chrf_score(const double *numbers)
{
    return score(numbers, CHARACTER_ORDER);
}

double att_chrf_words_score(const double *numbers)
{
    return score(numbers, CHARACTER_ORDER + WORD_ORDER);
}

/* The numbers of all orders of one kind of symbols. An order that the reference is too short for
 * counts for nothing on either side. */
static att_status count_ngrams(double *numbers, const att_symbols *answer,
                               const att_symbols *reference, int orders, att_ngrams *grams)
{
    double matched[CHARACTER_ORDER];
    att_ngrams_clear(grams);
    ATT_TRY(att_ngrams_add(grams, reference->items, reference->count, orders));
    att_ngrams_match(grams, answer->items, answer->count, orders, matched);
    for (int n = 1; n <= orders; n++, numbers += STATS_PER_ORDER) {
        numbers[REFERENCE_NGRAMS] = att_ngrams_total(reference->count, n);
        numbers[HYPOTHESIS_NGRAMS] =
            numbers[REFERENCE_NGRAMS] > 0 ? att_ngrams_total(answer->count, n) : 0;
        numbers[MATCHED] = matched[n - 1];
    }
    return ATT_OK;
}

static att_status count(double *numbers, const att_metric_line *line, int words, att_ngrams *grams)
{
    double best = -1;
    for (size_t r = 0; r < line->reference_count; r++) {
        double these[STATS_PER_ORDER * (CHARACTER_ORDER + WORD_ORDER)];
        ATT_TRY(
            count_ngrams(these, &line->hypothesis, &line->references[r], CHARACTER_ORDER, grams));
        if (words > 0)
            ATT_TRY(count_ngrams(these + STATS_PER_ORDER * CHARACTER_ORDER, &line->hypothesis_words,
                                 &line->reference_words[r], words, grams));
        double found = score(these, CHARACTER_ORDER + words);
        if (found > best)
            memcpy(numbers, these,
                   (size_t)(STATS_PER_ORDER * (CHARACTER_ORDER + words)) * sizeof *numbers);
        best = found > best ? found : best;
    }
    return ATT_OK;
}

att_status att_chrf_stats(double *numbers, const att_metric_line *line, att_ngrams *grams)
{
    return count(numbers, line, 0, grams);
}

att_status att_chrf_words_stats(double *numbers, const att_metric_line *line, att_ngrams *grams)
{
    return count(numbers, line, WORD_ORDER, grams);
}
