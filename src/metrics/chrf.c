/* chrF (Popović, "chrF: character n-gram F-score for automatic MT evaluation", 2015) and chrF++,
 * which adds words ("chrF++: words helping character n-grams", 2017): precision and recall of runs
 * of letters, averaged over the orders that both sides have, recall weighted twice. Of several
 * references the one with the best score counts, line by line. */
#include "metrics/measure.h"

#include "base/error.h"

#include <string.h>

enum { LETTERS = 6, WORDS = 2, ANSWERED = 0, REFERRED = 1, MATCHED = 2, EACH = 3 };

static double score(const double *numbers, int orders)
{
    const double weight = 4; /* the square of 2 */
    double precision = 0, recall = 0;
    int used = 0;
    for (const double *at = numbers; at < numbers + EACH * orders; at += EACH) {
        if (at[ANSWERED] == 0 || at[REFERRED] == 0)
            continue;
        precision += at[MATCHED] / at[ANSWERED];
        recall += at[MATCHED] / at[REFERRED];
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
    return score(numbers, LETTERS);
}

double att_chrf_words_score(const double *numbers)
{
    return score(numbers, LETTERS + WORDS);
}

/* The numbers of all orders of one kind of symbols. An order that the reference is too short for
 * counts for nothing on either side. */
static att_status count_runs(double *numbers, const att_symbols *answer,
                             const att_symbols *reference, int orders, att_ngrams *grams)
{
    double matched[LETTERS];
    att_ngrams_clear(grams);
    ATT_TRY(att_ngrams_add(grams, reference->items, reference->count, orders));
    att_ngrams_match(grams, answer->items, answer->count, orders, matched);
    for (int n = 1; n <= orders; n++, numbers += EACH) {
        numbers[REFERRED] = att_ngrams_total(reference->count, n);
        numbers[ANSWERED] = numbers[REFERRED] > 0 ? att_ngrams_total(answer->count, n) : 0;
        numbers[MATCHED] = matched[n - 1];
    }
    return ATT_OK;
}

static att_status count(double *numbers, const att_measured *line, int words, att_ngrams *grams)
{
    double best = -1;
    for (size_t r = 0; r < line->reference_count; r++) {
        double these[EACH * (LETTERS + WORDS)];
        ATT_TRY(count_runs(these, &line->answer, &line->references[r], LETTERS, grams));
        if (words > 0)
            ATT_TRY(count_runs(these + EACH * LETTERS, &line->answer_words,
                               &line->reference_words[r], words, grams));
        double found = score(these, LETTERS + words);
        if (found > best)
            memcpy(numbers, these, (size_t)(EACH * (LETTERS + words)) * sizeof *numbers);
        best = found > best ? found : best;
    }
    return ATT_OK;
}

att_status att_chrf_count(double *numbers, const att_measured *line, att_ngrams *grams)
{
    return count(numbers, line, 0, grams);
}

att_status att_chrf_words_count(double *numbers, const att_measured *line, att_ngrams *grams)
{
    return count(numbers, line, WORDS, grams);
}
