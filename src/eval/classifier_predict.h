/* A model that sorts, asked about every sentence of a corpus. */
#ifndef ATT_EVAL_CLASSIFIER_PREDICT_H
#define ATT_EVAL_CLASSIFIER_PREDICT_H

#include "metrics/classification.h"
#include "model/model.h"
#include "data/data.h"

/* What it said, in the order of the corpus; release with att_corpus_predictions_free(). */
typedef struct att_corpus_predictions {
    float *log_probs; /* [pairs, labels] */
    int32_t *truth;   /* [pairs] */
    att_label_predictions predictions;
} att_corpus_predictions;

/* Asks `model` together with others. To be freed on failure too. */
att_status att_corpus_predict(att_corpus_predictions *out, const att_model *model,
                              att_model *const *with, size_t with_count, const att_corpus *corpus,
                              att_error *err);
void att_corpus_predictions_free(att_corpus_predictions *judged);

#endif
