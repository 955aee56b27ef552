/* Word, phoneme and character error rate, and exact match. */
#include "metrics/metric_spec.h"

#include "metrics/token_metrics.h"

#include <string.h>

enum { EDITS = 0, LENGTH = 1 };

/* Of several references, the one with the lowest error rate counts. With an empty reference, every
 * symbol of the hypothesis is an edit. */
att_status att_edit_rate_stats(double *stats, const att_metric_line *line, att_ngrams *grams)
{
    (void)grams;
    double best = 0;
    for (size_t r = 0; r < line->reference_count; r++) {
        const att_symbols *reference = &line->references[r];
        int64_t edits = att_edit_distance(line->hypothesis.items, line->hypothesis.count,
                                          reference->items, reference->count);
        if (edits < 0)
            return ATT_NO_MEMORY;
        double rate = (double)edits / (reference->count > 0 ? (double)reference->count : 1);
        if (r > 0 && rate >= best)
            continue;
        best = rate;
        stats[EDITS] = (double)edits;
        stats[LENGTH] = (double)reference->count;
    }
    return ATT_OK;
}

double att_edit_rate_score(const double *stats)
{
    if (stats[LENGTH] > 0)
        return 100 * (stats[EDITS] / stats[LENGTH]);
    return stats[EDITS] > 0 ? 100 : 0;
}

att_status att_exact_match_stats(double *stats, const att_metric_line *line, att_ngrams *grams)
{
    (void)grams;
    stats[EDITS] = 0;
    stats[LENGTH] = 1;
    for (size_t r = 0; r < line->reference_count; r++) {
        const att_symbols *a = &line->hypothesis, *b = &line->references[r];
        if (a->count == b->count &&
            (a->count == 0 || memcmp(a->items, b->items, a->count * sizeof *a->items) == 0))
            stats[EDITS] = 1;
    }
    return ATT_OK;
}

double att_exact_match_score(const double *stats)
{
    return stats[LENGTH] > 0 ? 100 * stats[EDITS] / stats[LENGTH] : 0;
}
