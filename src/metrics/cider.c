/* CIDEr-D (Vedantam et al., "CIDEr: consensus-based image description evaluation", 2015), as
 * published for captions: hypothesis and reference are TF-IDF vectors of their n-grams of 1 to 4
 * words, where the document frequency is the number of images whose references have the n-gram. The
 * score is their cosine, with counts of the hypothesis clipped to those of the reference, times a
 * Gaussian penalty on the difference of their lengths, averaged over references and orders, times
 * 10. The scores here are 100 times that. */
#include "metrics/metric_spec.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/math.h"

#include <math.h>
#include <string.h>

enum { ORDER = 4, SUM = 0, LINES = 1 };

static const double SIGMA = 6, SCALE = 1000;

/* All n-grams of one line, of the hypothesis and of its references. */
typedef struct tfidf_vectors {
    size_t count;
    int *order;         /* [count] n of the n-gram, less one */
    double *idf;        /* [count] log(lines / lines whose references have it) */
    double *hypothesis; /* [count] occurrences in the hypothesis, times idf */
    double *reference;  /* [count] the same of one reference */
} tfidf_vectors;

static att_status collect_ngrams(att_ngrams *ngrams, const att_symbols *sequence)
{
    for (size_t i = 0; i < sequence->count; i++) {
        uint32_t prefix = 0;
        for (size_t n = 0; n < ORDER && i + n < sequence->count; n++)
            ATT_TRY(att_ngrams_extend(ngrams, &prefix, sequence->items[i + n]));
    }
    return ATT_OK;
}

/* The prefix of an n-gram comes before it in the table, so one pass finds all orders. */
static att_status compute_idf(tfidf_vectors *vectors, const att_ngrams *ngrams,
                              const att_metric_line *line)
{
    uint32_t *found = att_alloc_zero(ngrams->count, sizeof *found);
    if (!found)
        return ATT_NO_MEMORY;
    for (size_t i = 0; i < ngrams->count; i++) {
        const att_ngram *node = &ngrams->nodes[i];
        bool first = node->prefix == 0;
        vectors->order[i] = first ? 0 : vectors->order[node->prefix - 1] + 1;
        if (first || found[node->prefix - 1])
            found[i] = att_ngrams_find(line->document_frequencies,
                                       first ? 0 : found[node->prefix - 1], node->symbol);
        double lines = found[i] ? line->document_frequencies->nodes[found[i] - 1].max_count : 1;
        vectors->idf[i] = att_log((double)line->line_count) - att_log(lines);
    }
    att_free(found);
    return ATT_OK;
}

/* The TF-IDF vector of a sequence, and its norm for each order. */
static void compute_tfidf(double *vector, double *norms, const tfidf_vectors *vectors,
                          const att_ngrams *ngrams, const att_symbols *sequence)
{
    memset(vector, 0, vectors->count * sizeof *vector);
    memset(norms, 0, ORDER * sizeof *norms);
    for (size_t i = 0; i < sequence->count; i++) {
        uint32_t prefix = 0;
        for (size_t n = 0; n < ORDER && i + n < sequence->count; n++) {
            prefix = att_ngrams_find(ngrams, prefix, sequence->items[i + n]);
            vector[prefix - 1]++;
        }
    }
    for (size_t i = 0; i < vectors->count; i++) {
        vector[i] *= vectors->idf[i];
        norms[vectors->order[i]] += vector[i] * vector[i];
    }
    for (int n = 0; n < ORDER; n++)
        norms[n] = sqrt(norms[n]);
}

/* Lengths are counted in bigrams, as the published program does. */
static double length_penalty(const att_symbols *hypothesis, const att_symbols *reference)
{
    double difference =
        att_ngrams_total(hypothesis->count, 2) - att_ngrams_total(reference->count, 2);
    return att_exp(-difference * difference / (2 * SIGMA * SIGMA));
}

static double cosine_similarity(const tfidf_vectors *vectors, const double *hypothesis_norms,
                                const double *norms)
{
    double products[ORDER] = { 0 }, sum = 0;
    for (size_t i = 0; i < vectors->count; i++)
        products[vectors->order[i]] +=
            fmin(vectors->hypothesis[i], vectors->reference[i]) * vectors->reference[i];
    for (int n = 0; n < ORDER; n++)
        if (hypothesis_norms[n] > 0 && norms[n] > 0)
            sum += products[n] / (hypothesis_norms[n] * norms[n]);
    return sum / ORDER;
}

static att_status alloc_vectors(tfidf_vectors *vectors, size_t count)
{
    *vectors = (tfidf_vectors){ .count = count,
                                .order = att_alloc(count, sizeof *vectors->order),
                                .idf = att_alloc(count, sizeof *vectors->idf),
                                .hypothesis = att_alloc(count, sizeof *vectors->hypothesis),
                                .reference = att_alloc(count, sizeof *vectors->reference) };
    return vectors->order && vectors->idf && vectors->hypothesis && vectors->reference
               ? ATT_OK
               : ATT_NO_MEMORY;
}

static void free_vectors(tfidf_vectors *vectors)
{
    att_free(vectors->order);
    att_free(vectors->idf);
    att_free(vectors->hypothesis);
    att_free(vectors->reference);
}

att_status att_cider_stats(double *stats, const att_metric_line *line, att_ngrams *ngrams)
{
    stats[SUM] = 0;
    stats[LINES] = 1;
    att_ngrams_clear(ngrams);
    ATT_TRY(collect_ngrams(ngrams, &line->hypothesis));
    for (size_t r = 0; r < line->reference_count; r++)
        ATT_TRY(collect_ngrams(ngrams, &line->references[r]));
    if (ngrams->count == 0)
        return ATT_OK;
    tfidf_vectors vectors;
    double hypothesis_norms[ORDER], norms[ORDER], sum = 0;
    att_status status = alloc_vectors(&vectors, ngrams->count);
    if (status == ATT_OK)
        status = compute_idf(&vectors, ngrams, line);
    if (status == ATT_OK) {
        compute_tfidf(vectors.hypothesis, hypothesis_norms, &vectors, ngrams, &line->hypothesis);
        for (size_t r = 0; r < line->reference_count; r++) {
            compute_tfidf(vectors.reference, norms, &vectors, ngrams, &line->references[r]);
            sum += cosine_similarity(&vectors, hypothesis_norms, norms) *
                   length_penalty(&line->hypothesis, &line->references[r]);
        }
        stats[SUM] = sum / (double)line->reference_count;
    }
    free_vectors(&vectors);
    return status;
}

double att_cider_score(const double *stats)
{
    return stats[LINES] > 0 ? SCALE * stats[SUM] / stats[LINES] : 0;
}
