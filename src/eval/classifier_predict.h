/* Predictions of a classifier, or of an ensemble of classifiers, for every sentence of a corpus. */
#ifndef ATT_EVAL_CLASSIFIER_PREDICT_H
#define ATT_EVAL_CLASSIFIER_PREDICT_H

#include "base/group.h"
#include "metrics/classification.h"
#include "model/model.h"
#include "data/data.h"

/* Log-probabilities and true labels in the order of the corpus. Release with
 * att_corpus_predictions_free(). */
typedef struct att_corpus_predictions {
    float *log_probs; /* [pairs, labels] */
    int32_t *truth;   /* [pairs] -1: a label that the model lacks */
    att_label_predictions predictions;
} att_corpus_predictions;

/* Classifies with `model` and those of `ensemble`, whose probabilities are averaged. The processes
 * of `group` share the work, and all of them get all predictions; NULL: one process. *out must be
 * freed on failure too. */
att_status att_corpus_predict(att_corpus_predictions *out, const att_model *model,
                              att_model *const *ensemble, size_t ensemble_count,
                              const att_corpus *corpus, att_group *group, att_error *err);
void att_corpus_predictions_free(att_corpus_predictions *predictions);

#endif
