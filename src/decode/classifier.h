/* Models that sort, asked as any other: a decoder that takes one step, or several that decide
 * together. */
#ifndef ATT_DECODE_CLASSIFIER_H
#define ATT_DECODE_CLASSIFIER_H

#include "decode/ensemble.h"

typedef struct att_classifier att_classifier;

/* All models are borrowed. One that does not sort is ATT_BAD_INPUT. */
att_status att_classifier_new(att_classifier **out, const att_model *model, att_model *const *with,
                              size_t with_count, att_error *err);
void att_classifier_free(att_classifier *judge);

/* What was found, lent until the next call. */
typedef struct att_classifier_output {
    int64_t labels;
    const float *log_probs; /* [rows,labels] */
    int64_t heads, length;
    const float *attention; /* [rows,heads,length], or NULL: not asked for, or none */
} att_classifier_output;

att_status att_classifier_run(att_classifier *judge, const att_sources *sources, bool want_weights,
                              att_classifier_output *out, att_error *err);

#endif
