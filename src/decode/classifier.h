/* Classifiers behind the interface of a decoder: one step on the start token yields the
 * log-probabilities of the labels, from one model or an ensemble. */
#ifndef ATT_DECODE_CLASSIFIER_H
#define ATT_DECODE_CLASSIFIER_H

#include "decode/session.h"

typedef struct att_classifier att_classifier;

/* The models must outlive the classifier. A model of another type is ATT_BAD_INPUT. */
att_status att_classifier_new(att_classifier **out, const att_model *model,
                              att_model *const *ensemble, size_t ensemble_count, att_error *err);
void att_classifier_free(att_classifier *classifier);

/* Borrowed until the next call. */
typedef struct att_classifier_output {
    int64_t labels;
    const float *log_probs; /* [rows,labels] */
    int64_t heads, length;
    const float *attention; /* [rows,heads,length]; NULL: not asked for, or none */
} att_classifier_output;

att_status att_classifier_run(att_classifier *classifier, const att_sources *sources,
                              bool want_attention, att_classifier_output *out, att_error *err);

#endif
