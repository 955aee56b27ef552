/* What the files of `attend eval` share: its options, the lists of metrics, one function per model
 * type, and the report. */
#ifndef EVAL_H
#define EVAL_H

#include "program.h"

#include "decoding.h"

enum { MAX_METRICS = 16 };

typedef struct eval_settings {
    decoding_options decoding;
    bool json;
    bool recorded_data;
    const char *hypotheses; /* file of hypotheses, instead of a model */
    const char *reference;  /* file of references for them */
    const char *metrics;    /* "bleu,chrf" */
    int tokenizer;          /* index of eval_tokenizers */
    bool lowercase;
    long bootstrap_samples;
    const char *format, *columns; /* of the data; NULL: not given */
    const char *features;
    const char *baseline;     /* models, or with --hyp a file of hypotheses, to compare with */
    long max_input_length;    /* 0: not given */
    long stride;              /* 0: not given */
    att_transport *transport; /* of several processes; NULL: one */
} eval_settings;

extern const char *const eval_tokenizers[]; /* NULL-ended */

/* Metric names; release `copy` with free(). */
typedef struct name_list {
    char *copy; /* holds the names */
    const char *names[MAX_METRICS];
    size_t count;
} name_list;

/* The names in `list`, separated by commas; if it is NULL, the `count` default names. */
att_status eval_names(name_list *out, const char *list, const char *const *defaults, size_t count,
                      att_error *err);

/* Where the notes of an evaluation go: nowhere in a process that does not print. */
att_string *eval_notes(const eval_settings *set, att_string *notes);

att_metric_options eval_metric_options(const eval_settings *set);

model_function eval_seq2seq, eval_lm, eval_classifier, eval_tagger;

/* Scores the hypotheses against set->reference and `count` further reference files. */
att_status eval_files(const eval_settings *set, int count, char **more, att_error *err);

/* The result of an evaluation of text. */
typedef struct eval_report {
    const att_seq2seq_eval *scores; /* token metrics of a model; NULL: there is no model */
    int64_t lines;
    const char *unit;                 /* what a line is: "pairs"; NULL: "lines" */
    const att_metric_scores *metrics; /* of metric_count metrics */
    size_t metric_count;
    bool metrics_only; /* --metric: print only these */
} eval_report;

/* The result of a comparison. */
typedef struct comparison_report {
    const att_comparison *found;
    const char *unit; /* what a line is */
    long resamples;
    size_t first;      /* row to print first */
    size_t first_text; /* the first row of the text metrics, which come last */
} comparison_report;

/* Compares with the models of --baseline, for models of any type that eval_options allows. */
att_status eval_compare(const eval_settings *set, const decoding *models, const char *data,
                        att_error *err);

/* Prints to standard output, as lines or as one JSON object. */
att_status comparison_report_print(const comparison_report *report, bool json, att_error *err);
att_status eval_report_print(const eval_report *report, bool json, att_error *err);

#endif
