/* The inside of metrics on lines of text. A metric makes a few numbers of each line; they add up
 * over lines, and the sum gives the score: so any choice of lines, as the bootstrap draws them, can
 * be scored without looking at text again. */
#ifndef ATT_METRICS_METRIC_SPEC_H
#define ATT_METRICS_METRIC_SPEC_H

#include "attend.h"
#include "base/string_set.h"
#include "metrics/bootstrap.h"
#include "metrics/ngrams.h"
#include "text/ids.h"

/* Symbols of a line: numbers of its words, or its code points. */
typedef struct att_symbols {
    const int32_t *items;
    size_t count;
} att_symbols;

/* What a metric takes for the symbols of a line. */
typedef enum att_symbol_kind {
    ATT_SYMBOLS_TOKENS,     /* words by the tokeniser chosen */
    ATT_SYMBOLS_WORDS,      /* what stands between white space */
    ATT_SYMBOLS_CHARACTERS, /* code points, but white space */
    ATT_SYMBOLS_CHRF,       /* words, a mark at one end of them apart: those of chrF++ */
    ATT_SYMBOLS_CAPTION,    /* words of captions: no punctuation */
    ATT_SYMBOLS_LINE,       /* code points, white space inside the line as one space */
} att_symbol_kind;

/* One line at work: what was answered, and its references. */
typedef struct att_metric_line {
    att_symbols hypothesis;
    const att_symbols *references; /* [reference_count] */
    size_t reference_count;
    att_symbols hypothesis_words; /* a second kind of symbols, where the metric has two */
    const att_symbols *reference_words;
    const att_ngrams *
        document_frequencies; /* in how many lines' references each run is, where the metric asks */
    size_t line_count;        /* all of them */
} att_metric_line;

typedef struct att_metric_spec {
    att_metric info;
    int stat_count; /* that it makes of a line */
    att_symbol_kind symbols;
    int second_symbols; /* att_symbol_kind of the second; -1: none */
    bool lowercase;     /* compares small letters unless told otherwise */
    int document_order; /* runs of up to so many symbols are looked for in all references first; or
                           0 */
    att_status (*count)(double *numbers, const att_metric_line *line, att_ngrams *grams);
    double (*score)(const double *numbers);
    const char *signature; /* how it was computed, after the number of references and the case */
} att_metric_spec;

extern const att_metric_spec att_metric_specs[];
extern const size_t att_metric_spec_count;

/* The metrics themselves. */
att_status att_bleu_stats(double *numbers, const att_metric_line *line, att_ngrams *grams);
double att_bleu_score(const double *numbers);
double att_bleu_1_score(const double *numbers); /* of the same numbers */
double att_bleu_2_score(const double *numbers);
double att_bleu_3_score(const double *numbers);
double att_bleu_4_score(const double *numbers);
att_status att_cider_stats(double *numbers, const att_metric_line *line, att_ngrams *grams);
double att_cider_score(const double *numbers);
att_status att_chrf_stats(double *numbers, const att_metric_line *line, att_ngrams *grams);
att_status att_chrf_words_stats(double *numbers, const att_metric_line *line, att_ngrams *grams);
double att_chrf_score(const double *numbers);
double att_chrf_words_score(const double *numbers);
att_status att_ter_stats(double *numbers, const att_metric_line *line, att_ngrams *grams);
att_status att_edit_rate_stats(double *numbers, const att_metric_line *line, att_ngrams *grams);
double att_edit_rate_score(const double *numbers); /* of TER too */
att_status att_exact_match_stats(double *numbers, const att_metric_line *line, att_ngrams *grams);
double att_exact_match_score(const double *numbers);

#endif
