/* chrF (Popović, "chrF: character n-gram F-score for automatic MT evaluation", 2015) and chrF++,
 * which adds word n-grams ("chrF++: words helping character n-grams", 2017): precision and recall
 * of character n-grams, averaged over the orders that both sides have, combined to F2 (recall
 * counts twice). Of several references, the one with the best score counts, line by line. */
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

static double score(const double *stats, int orders)
{
    const double weight = 4; /* beta squared, beta = 2 */
    double precision = 0, recall = 0;
    int used = 0;
    for (const double *at = stats; at < stats + STATS_PER_ORDER * orders; at += STATS_PER_ORDER) {
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

double att_chrf_score(const double *stats)
{
    return score(stats, CHARACTER_ORDER);
}

double att_chrf_words_score(const double *stats)
{
    return score(stats, CHARACTER_ORDER + WORD_ORDER);
}

/* The statistics of all orders of one kind of symbols. An order that the reference is too short for
 * counts on neither side. */
static att_status count_ngrams(double *stats, const att_symbols *hypothesis,
                               const att_symbols *reference, int orders, att_ngrams *ngrams)
{
    double matched[CHARACTER_ORDER];
    att_ngrams_clear(ngrams);
    ATT_TRY(att_ngrams_add(ngrams, reference->items, reference->count, orders));
    att_ngrams_match(ngrams, hypothesis->items, hypothesis->count, orders, matched);
    for (int n = 1; n <= orders; n++, stats += STATS_PER_ORDER) {
        stats[REFERENCE_NGRAMS] = att_ngrams_total(reference->count, n);
        stats[HYPOTHESIS_NGRAMS] =
            stats[REFERENCE_NGRAMS] > 0 ? att_ngrams_total(hypothesis->count, n) : 0;
        stats[MATCHED] = matched[n - 1];
    }
    return ATT_OK;
}

static att_status count(double *stats, const att_metric_line *line, int words, att_ngrams *ngrams)
{
    double best = -1;
    for (size_t r = 0; r < line->reference_count; r++) {
        double these[STATS_PER_ORDER * (CHARACTER_ORDER + WORD_ORDER)];
        ATT_TRY(
            count_ngrams(these, &line->hypothesis, &line->references[r], CHARACTER_ORDER, ngrams));
        if (words > 0)
            ATT_TRY(count_ngrams(these + STATS_PER_ORDER * CHARACTER_ORDER, &line->hypothesis_words,
                                 &line->reference_words[r], words, ngrams));
        double found = score(these, CHARACTER_ORDER + words);
        if (found > best)
            memcpy(stats, these,
                   (size_t)(STATS_PER_ORDER * (CHARACTER_ORDER + words)) * sizeof *stats);
        best = found > best ? found : best;
    }
    return ATT_OK;
}

att_status att_chrf_stats(double *stats, const att_metric_line *line, att_ngrams *ngrams)
{
    return count(stats, line, 0, ngrams);
}

att_status att_chrf_words_stats(double *stats, const att_metric_line *line, att_ngrams *ngrams)
{
    return count(stats, line, WORD_ORDER, ngrams);
}
