/* Metrics on lines of text. A metric computes a few statistics of each line; they add up over
 * lines, and the score is a function of the sums. So the bootstrap can score any sample of lines
 * without reading the text again. */
#ifndef ATT_METRICS_METRIC_SPEC_H
#define ATT_METRICS_METRIC_SPEC_H

#include "attend.h"
#include "base/string_set.h"
#include "metrics/bootstrap.h"
#include "metrics/ngrams.h"
#include "text/ids.h"

/* A line as symbols: the ids of its words, or its code points. */
typedef struct att_symbols {
    const int32_t *items;
    size_t count;
} att_symbols;

/* The symbols that a metric compares. */
typedef enum att_symbol_kind {
    ATT_SYMBOLS_TOKENS,     /* words by the tokenizer that was chosen */
    ATT_SYMBOLS_WORDS,      /* whitespace-separated words */
    ATT_SYMBOLS_CHARACTERS, /* code points without white space */
    ATT_SYMBOLS_CHRF,       /* words of chrF++: a punctuation mark at one end is a separate word */
    ATT_SYMBOLS_CAPTION,    /* words of captions: without punctuation */
    ATT_SYMBOLS_LINE,       /* code points, with white space inside the line as one space */
} att_symbol_kind;

/* One line: the hypothesis and its references. */
typedef struct att_metric_line {
    att_symbols hypothesis;
    const att_symbols *references; /* [reference_count] */
    size_t reference_count;
    att_symbols hypothesis_words; /* a second kind of symbols, if the metric has two */
    const att_symbols *reference_words;
    const att_ngrams *document_frequencies; /* number of lines whose references have an n-gram, if
                                             * the metric asks for it */
    size_t line_count;                      /* of the test set */
} att_metric_line;

typedef struct att_metric_spec {
    att_metric info;
    int stat_count; /* statistics of a line, at most ATT_BOOTSTRAP_MAX_STATS */
    att_symbol_kind symbols;
    int second_symbols; /* att_symbol_kind of the second kind; -1: none */
    bool lowercase;     /* always compares in lower case */
    int document_order; /* count n-grams of up to this order in all references first; 0: no */
    att_status (*count)(double *stats, const att_metric_line *line, att_ngrams *ngrams);
    double (*score)(const double *stats);
    const char *signature; /* sacreBLEU signature, after the number of references and the case */
} att_metric_spec;

extern const att_metric_spec att_metric_specs[];
extern const size_t att_metric_spec_count;

/* The statistics of every line by the metric `name`, as *stats [lines, (*spec)->stat_count], which
 * the caller frees with att_free(). Errors are those of att_metrics_score(). */
att_status att_metric_stats(double **stats, const att_metric_spec **spec, const char *name,
                            const att_hypotheses *texts, const att_metric_options *options,
                            att_error *err);

/* The metrics themselves. */
att_status att_bleu_stats(double *stats, const att_metric_line *line, att_ngrams *ngrams);
double att_bleu_score(const double *stats);
double att_bleu_1_score(const double *stats); /* of the same statistics */
double att_bleu_2_score(const double *stats);
double att_bleu_3_score(const double *stats);
double att_bleu_4_score(const double *stats);
att_status att_cider_stats(double *stats, const att_metric_line *line, att_ngrams *ngrams);
double att_cider_score(const double *stats);
att_status att_chrf_stats(double *stats, const att_metric_line *line, att_ngrams *ngrams);
att_status att_chrf_words_stats(double *stats, const att_metric_line *line, att_ngrams *ngrams);
double att_chrf_score(const double *stats);
double att_chrf_words_score(const double *stats);
att_status att_ter_stats(double *stats, const att_metric_line *line, att_ngrams *ngrams);
att_status att_edit_rate_stats(double *stats, const att_metric_line *line, att_ngrams *ngrams);
double att_edit_rate_score(const double *stats); /* of TER too */
att_status att_exact_match_stats(double *stats, const att_metric_line *line, att_ngrams *ngrams);
double att_exact_match_score(const double *stats);

#endif
