/* The inside of metrics on lines of text. A metric makes a few numbers of each line; they add up
 * over lines, and the sum gives the score: so any choice of lines, as the bootstrap draws them, can
 * be scored without looking at text again. */
#ifndef ATT_METRICS_MEASURE_H
#define ATT_METRICS_MEASURE_H

#include "attend.h"
#include "metrics/ngrams.h"
#include "text/vocab.h"

enum { ATT_METRIC_NUMBERS = 24 };

/* Symbols of a line: numbers of its words, or its code points. */
typedef struct att_symbols {
    const int32_t *items;
    size_t count;
} att_symbols;

/* What a metric takes for the symbols of a line. */
typedef enum att_symbols_kind {
    ATT_SYMBOLS_TOKENS,  /* words by the tokeniser chosen */
    ATT_SYMBOLS_WORDS,   /* what stands between white space */
    ATT_SYMBOLS_LETTERS, /* code points, but white space */
    ATT_SYMBOLS_CHRF,    /* words, a mark at one end of them apart: those of chrF++ */
    ATT_SYMBOLS_CAPTION, /* words of captions: no punctuation */
    ATT_SYMBOLS_LINE,    /* code points, white space inside the line as one space */
} att_symbols_kind;

/* One line at work: what was answered, and its references. */
typedef struct att_measured {
    att_symbols answer;
    const att_symbols *references; /* [reference_count] */
    size_t reference_count;
    att_symbols answer_words; /* a second kind of symbols, where the metric has two */
    const att_symbols *reference_words;
    const att_ngrams *met; /* in how many lines' references each run is, where the metric asks */
    size_t lines;          /* all of them */
} att_measured;

typedef struct att_measure {
    att_metric shown;
    int numbers; /* that it makes of a line */
    att_symbols_kind symbols;
    int second; /* att_symbols_kind of the second; -1: none */
    bool lower; /* compares small letters unless told otherwise */
    int meets;  /* runs of up to so many symbols are looked for in all references first; or 0 */
    att_status (*count)(double *numbers, const att_measured *line, att_ngrams *grams);
    double (*score)(const double *numbers);
    const char *signature; /* how it was computed, after the number of references and the case */
} att_measure;

extern const att_measure att_measures[];
extern const size_t att_measure_count;

/* The metrics themselves. */
att_status att_bleu_count(double *numbers, const att_measured *line, att_ngrams *grams);
double att_bleu_score(const double *numbers);
double att_bleu_1_score(const double *numbers); /* of the same numbers */
double att_bleu_2_score(const double *numbers);
double att_bleu_3_score(const double *numbers);
double att_bleu_4_score(const double *numbers);
att_status att_cider_count(double *numbers, const att_measured *line, att_ngrams *grams);
double att_cider_score(const double *numbers);
att_status att_chrf_count(double *numbers, const att_measured *line, att_ngrams *grams);
att_status att_chrf_words_count(double *numbers, const att_measured *line, att_ngrams *grams);
double att_chrf_score(const double *numbers);
double att_chrf_words_score(const double *numbers);
att_status att_ter_count(double *numbers, const att_measured *line, att_ngrams *grams);
att_status att_edits_count(double *numbers, const att_measured *line, att_ngrams *grams);
double att_edits_score(const double *numbers); /* of TER too */
att_status att_exact_count(double *numbers, const att_measured *line, att_ngrams *grams);
double att_exact_score(const double *numbers);

#endif
