/* A model that sorts, asked about every sentence of a corpus. */
#ifndef ATT_METRICS_JUDGE_CORPUS_H
#define ATT_METRICS_JUDGE_CORPUS_H

#include "metrics/labels.h"
#include "model/model.h"
#include "text/data.h"

/* What it said, in the order of the corpus; release with att_judged_corpus_free(). */
typedef struct att_judged_corpus {
    float *log_probs; /* [pairs, labels] */
    int32_t *truth;   /* [pairs] */
    att_judged judged;
} att_judged_corpus;

/* Asks `model` together with others. To be freed on failure too. */
att_status att_judge_corpus(att_judged_corpus *out, att_model *model, att_model *const *with,
                            size_t with_count, const att_corpus *corpus, att_error *err);
void att_judged_corpus_free(att_judged_corpus *judged);

#endif
