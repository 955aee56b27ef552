/* What the files of `attend eval` share: its options, metrics by their names, and one function for
 * each kind of model. */
#ifndef EVAL_H
#define EVAL_H

#include "program.h"

#include "decoding.h"

enum { MAX_METRICS = 16 };

typedef struct eval_settings {
    decoding_options decoding;
    bool json;
    const char *hypotheses; /* a file of them, instead of a model */
    const char *reference;  /* for it */
    const char *metrics;    /* "bleu,chrf" */
    int tokenizer;          /* of eval_tokenizers */
    bool lowercase;
    long bootstrap_samples;
    const char *features;
} eval_settings;

extern const char *const eval_tokenizers[]; /* NULL-ended */

/* Metrics by name; release `copy` with free(). */
typedef struct name_list {
    char *copy; /* what the names lie in */
    const char *names[MAX_METRICS];
    size_t count;
} name_list;

/* The names of a list with commas; without one, those given. */
att_status eval_names(name_list *out, const char *list, const char *const *otherwise, size_t count,
                      att_error *err);

/* How text is to be scored. */
att_metric_options eval_metric_options(const eval_settings *set);

/* Measures models of one kind on a file; NULL: on what they were validated on. */
typedef att_status eval_by_type(const eval_settings *set, const decoding *models, const char *data,
                                att_error *err);

eval_by_type eval_seq2seq, eval_lm, eval_classifier;

/* Scores the lines of set->answers against references, `more` besides set->reference. */
att_status eval_files(const eval_settings *set, int count, char **more, att_error *err);

#endif
