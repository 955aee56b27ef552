/* CIDEr-D (Vedantam et al., "CIDEr: consensus-based image description evaluation", 2015), as it is
 * published for captions: an answer and a reference are vectors of their runs of one to four words,
 * each run weighed by how few pictures' references have it; their cosine, where an answer gains
 * nothing by saying a word more often than the reference, is damped by the difference of their
 * lengths, averaged over references and orders, and times 10. Figures are a hundred times that. */
#include "metrics/metric_spec.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/math.h"

#include <math.h>
#include <string.h>

enum { ORDER = 4, SUM = 0, LINES = 1 };

static const double SIGMA = 6, SCALE = 1000;

/* The runs of one line, whoever says them. */
typedef struct tfidf_vectors {
    size_t count;
    int *order;         /* [count] symbols of a run, less one */
    double *idf;        /* [count] log(lines / lines that have it) */
    double *hypothesis; /* [count] times that the answer says it, then times its rarity */
    double *reference;  /* [count] likewise of one reference */
} tfidf_vectors;

static att_status collect_ngrams(att_ngrams *grams, const att_symbols *said)
{
    for (size_t i = 0; i < said->count; i++) {
        uint32_t prefix = 0;
        for (size_t n = 0; n < ORDER && i + n < said->count; n++)
            ATT_TRY(att_ngrams_extend(grams, &prefix, said->items[i + n]));
    }
    return ATT_OK;
}

/* A run's beginning has a place before it, so that one pass finds what belongs to each. */
static att_status compute_idf(tfidf_vectors *runs, const att_ngrams *grams,
                              const att_metric_line *line)
{
    uint32_t *met = att_alloc_zero(grams->count, sizeof *met);
    if (!met)
        return ATT_NO_MEMORY;
    for (size_t i = 0; i < grams->count; i++) {
        const att_ngram *node = &grams->nodes[i];
        bool first = node->prefix == 0;
        runs->order[i] = first ? 0 : runs->order[node->prefix - 1] + 1;
        if (first || met[node->prefix - 1])
            met[i] = att_ngrams_find(line->document_frequencies, first ? 0 : met[node->prefix - 1],
                                     node->symbol);
        double lines = met[i] ? line->document_frequencies->nodes[met[i] - 1].max_count : 1;
        runs->idf[i] = att_log((double)line->line_count) - att_log(lines);
    }
    att_free(met);
    return ATT_OK;
}

/* The vector of what was said, and its length for each order. */
static void compute_tfidf(double *vector, double *norms, const tfidf_vectors *runs,
                          const att_ngrams *grams, const att_symbols *said)
{
    memset(vector, 0, runs->count * sizeof *vector);
    memset(norms, 0, ORDER * sizeof *norms);
    for (size_t i = 0; i < said->count; i++) {
        uint32_t prefix = 0;
        for (size_t n = 0; n < ORDER && i + n < said->count; n++) {
            prefix = att_ngrams_find(grams, prefix, said->items[i + n]);
            vector[prefix - 1]++;
        }
    }
    for (size_t i = 0; i < runs->count; i++) {
        vector[i] *= runs->idf[i];
        norms[runs->order[i]] += vector[i] * vector[i];
    }
    for (int n = 0; n < ORDER; n++)
        norms[n] = sqrt(norms[n]);
}

/* Lengths are counted in pairs of words, as the published program does. */
static double length_penalty(const att_symbols *answer, const att_symbols *reference)
{
    double apart = att_ngrams_total(answer->count, 2) - att_ngrams_total(reference->count, 2);
    return att_exp(-apart * apart / (2 * SIGMA * SIGMA));
}

static double cosine_similarity(const tfidf_vectors *runs, const double *answer_norms,
                                const double *norms)
{
    double products[ORDER] = { 0 }, sum = 0;
    for (size_t i = 0; i < runs->count; i++)
        products[runs->order[i]] +=
            fmin(runs->hypothesis[i], runs->reference[i]) * runs->reference[i];
    for (int n = 0; n < ORDER; n++)
        if (answer_norms[n] > 0 && norms[n] > 0)
            sum += products[n] / (answer_norms[n] * norms[n]);
    return sum / ORDER;
}

static att_status alloc_vectors(tfidf_vectors *runs, size_t count)
{
    *runs = (tfidf_vectors){ .count = count,
                             .order = att_alloc(count, sizeof *runs->order),
                             .idf = att_alloc(count, sizeof *runs->idf),
                             .hypothesis = att_alloc(count, sizeof *runs->hypothesis),
                             .reference = att_alloc(count, sizeof *runs->reference) };
    return runs->order && runs->idf && runs->hypothesis && runs->reference ? ATT_OK : ATT_NO_MEMORY;
}

static void free_vectors(tfidf_vectors *runs)
{
    att_free(runs->order);
    att_free(runs->idf);
    att_free(runs->hypothesis);
    att_free(runs->reference);
}

att_status att_cider_stats(double *numbers, const att_metric_line *line, att_ngrams *grams)
{
    numbers[SUM] = 0;
    numbers[LINES] = 1;
    att_ngrams_clear(grams);
    ATT_TRY(collect_ngrams(grams, &line->hypothesis));
    for (size_t r = 0; r < line->reference_count; r++)
        ATT_TRY(collect_ngrams(grams, &line->references[r]));
    if (grams->count == 0)
        return ATT_OK;
    tfidf_vectors runs;
    double answer_norms[ORDER], norms[ORDER], sum = 0;
    att_status status = alloc_vectors(&runs, grams->count);
    if (status == ATT_OK)
        status = compute_idf(&runs, grams, line);
    if (status == ATT_OK) {
        compute_tfidf(runs.hypothesis, answer_norms, &runs, grams, &line->hypothesis);
        for (size_t r = 0; r < line->reference_count; r++) {
            compute_tfidf(runs.reference, norms, &runs, grams, &line->references[r]);
            sum += cosine_similarity(&runs, answer_norms, norms) *
                   length_penalty(&line->hypothesis, &line->references[r]);
        }
        numbers[SUM] = sum / (double)line->reference_count;
    }
    free_vectors(&runs);
    return status;
}

double att_cider_score(const double *numbers)
{
    return numbers[LINES] > 0 ? SCALE * numbers[SUM] / numbers[LINES] : 0;
}
