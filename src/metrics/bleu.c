/* BLEU (Papineni et al., "BLEU: a method for automatic evaluation of machine translation", 2002),
 * with the choices of sacreBLEU (Post, "A call for clarity in reporting BLEU scores", 2018): runs
 * of up to four words, the reference nearest in length, and for an order without a match half of
 * what the last one without had. BLEU-1 to BLEU-4 are those of captions, where nothing is smoothed:
 * runs of one word, of up to two, … (Chen et al., "Microsoft COCO captions", 2015). */
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

/* Of two references equally near, the shorter. */
static size_t nearest_length(const att_metric_line *line)
{
    size_t answer = line->hypothesis.count, nearest = line->references[0].count;
    for (size_t r = 1; r < line->reference_count; r++) {
        size_t length = line->references[r].count;
        size_t away = length > answer ? length - answer : answer - length;
        size_t best = nearest > answer ? nearest - answer : answer - nearest;
        if (away < best || (away == best && length < nearest))
            nearest = length;
    }
    return nearest;
}

att_status att_bleu_stats(double *numbers, const att_metric_line *line, att_ngrams *grams)
{
    att_ngrams_clear(grams);
    for (size_t r = 0; r < line->reference_count; r++)
        ATT_TRY(att_ngrams_add(grams, line->references[r].items, line->references[r].count, ORDER));
    numbers[HYPOTHESIS_LENGTH] = (double)line->hypothesis.count;
    numbers[REFERENCE_LENGTH] = (double)nearest_length(line);
    att_ngrams_match(grams, line->hypothesis.items, line->hypothesis.count, ORDER,
                     numbers + MATCHED);
    for (int n = 1; n <= ORDER; n++)
        numbers[TOTAL + n - 1] = att_ngrams_total(line->hypothesis.count, n);
    return ATT_OK;
}

/* An answer shorter than the reference pays for it. */
static double brevity_penalty(double answered, double referred)
{
    if (answered >= referred)
        return 1;
    return answered > 0 ? att_exp(1 - referred / answered) : 0;
}

double att_bleu_score(const double *numbers)
{
    double logs = 0, halves = 1;
    if (numbers[MATCHED] == 0) /* longer runs cannot match either */
        return 0;
    for (int n = 0; n < ORDER; n++) {
        double matched = numbers[MATCHED + n], total = numbers[TOTAL + n];
        if (total == 0)
            return 0;
        if (matched == 0)
            halves *= 2;
        logs += att_log(matched > 0 ? 100 * matched / total : 100 / (halves * total));
    }
    return brevity_penalty(numbers[HYPOTHESIS_LENGTH], numbers[REFERENCE_LENGTH]) *
           att_exp(logs / ORDER);
}

/* Runs of up to `order` words, none of which may be without a match. */
static double score_unsmoothed(const double *numbers, int order)
{
    double logs = 0;
    for (int n = 0; n < order; n++) {
        if (numbers[MATCHED + n] == 0)
            return 0;
        logs += att_log(numbers[MATCHED + n] / numbers[TOTAL + n]);
    }
    return 100 * brevity_penalty(numbers[HYPOTHESIS_LENGTH], numbers[REFERENCE_LENGTH]) *
           att_exp(logs / order);
}

double att_bleu_1_score(const double *numbers)
{
    return score_unsmoothed(numbers, 1);
}

double att_bleu_2_score(const double *numbers)
{
    return score_unsmoothed(numbers, 2);
}

double att_bleu_3_score(const double *numbers)
{
    return score_unsmoothed(numbers, 3);
}

double att_bleu_4_score(const double *numbers)
{
    return score_unsmoothed(numbers, 4);
}
