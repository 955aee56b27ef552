/* BLEU (Papineni et al., "BLEU: a method for automatic evaluation of machine translation", 2002),
 * with the choices of sacreBLEU (Post, "A call for clarity in reporting BLEU scores", 2018):
 * n-grams of up to 4 words, the reference that is closest in length, exponential smoothing (the
 * k-th order without a match counts as 1 / 2^k matches). BLEU-1 to BLEU-4 are the unsmoothed
 * metrics of image captions, with n-grams of up to 1, 2, 3 and 4 words (Chen et al., "Microsoft
 * COCO captions", 2015).
 */
#include "metrics/metric_spec.h"

#include "base/error.h"
#include "base/math.h"

enum {
    ORDER = 4,
    HYPOTHESIS_LENGTH = 0,
    REFERENCE_LENGTH = 1,
    MATCHED = 2,
    TOTAL = MATCHED + ORDER
};

/* The length of the closest reference; of two equally close, the shorter. */
static size_t nearest_length(const att_metric_line *line)
{
    size_t hypothesis = line->hypothesis.count, nearest = line->references[0].count;
    for (size_t r = 1; r < line->reference_count; r++) {
        size_t length = line->references[r].count;
        size_t away = length > hypothesis ? length - hypothesis : hypothesis - length;
        size_t best = nearest > hypothesis ? nearest - hypothesis : hypothesis - nearest;
        if (away < best || (away == best && length < nearest))
            nearest = length;
    }
    return nearest;
}

att_status att_bleu_stats(double *stats, const att_metric_line *line, att_ngrams *ngrams)
{
    att_ngrams_clear(ngrams);
    for (size_t r = 0; r < line->reference_count; r++)
        ATT_TRY(
            att_ngrams_add(ngrams, line->references[r].items, line->references[r].count, ORDER));
    stats[HYPOTHESIS_LENGTH] = (double)line->hypothesis.count;
    stats[REFERENCE_LENGTH] = (double)nearest_length(line);
    att_ngrams_match(ngrams, line->hypothesis.items, line->hypothesis.count, ORDER,
                     stats + MATCHED);
    for (int n = 1; n <= ORDER; n++)
        stats[TOTAL + n - 1] = att_ngrams_total(line->hypothesis.count, n);
    return ATT_OK;
}

static double brevity_penalty(double hypothesis, double reference)
{
    if (hypothesis >= reference)
        return 1;
    return hypothesis > 0 ? att_exp(1 - reference / hypothesis) : 0;
}

double att_bleu_score(const double *stats)
{
    double logs = 0, halves = 1;
    if (stats[MATCHED] == 0) /* longer n-grams cannot match either */
        return 0;
    for (int n = 0; n < ORDER; n++) {
        double matched = stats[MATCHED + n], total = stats[TOTAL + n];
        if (total == 0)
            return 0;
        if (matched == 0)
            halves *= 2;
        logs += att_log(matched > 0 ? 100 * matched / total : 100 / (halves * total));
    }
    return brevity_penalty(stats[HYPOTHESIS_LENGTH], stats[REFERENCE_LENGTH]) *
           att_exp(logs / ORDER);
}

/* N-grams of up to `order` words; 0 if an order has no match. */
static double score_unsmoothed(const double *stats, int order)
{
    double logs = 0;
    for (int n = 0; n < order; n++) {
        if (stats[MATCHED + n] == 0)
            return 0;
        logs += att_log(stats[MATCHED + n] / stats[TOTAL + n]);
    }
    return 100 * brevity_penalty(stats[HYPOTHESIS_LENGTH], stats[REFERENCE_LENGTH]) *
           att_exp(logs / order);
}

double att_bleu_1_score(const double *stats)
{
    return score_unsmoothed(stats, 1);
}

double att_bleu_2_score(const double *stats)
{
    return score_unsmoothed(stats, 2);
}

double att_bleu_3_score(const double *stats)
{
    return score_unsmoothed(stats, 3);
}

double att_bleu_4_score(const double *stats)
{
    return score_unsmoothed(stats, 4);
}
