/* The labels that a tagger, or an ensemble of taggers, predicts for every sentence of a corpus. */
#ifndef ATT_EVAL_TAGGER_PREDICT_H
#define ATT_EVAL_TAGGER_PREDICT_H

#include "base/group.h"
#include "data/data.h"
#include "metrics/span.h"
#include "model/model.h"

typedef struct att_tagger_predict_options {
    att_model *const *ensemble; /* [ensemble_count] */
    size_t ensemble_count;
    att_group *group; /* processes that share the work, all of which get all; NULL: one */
    /* Receives the sum of -log probability of the true labels, and their number without those that
     * the model lacks; may be NULL. */
    double *loss;
    int64_t *scored;
    double
        *line_stats; /* [pairs, ATT_TAGGER_STATS] zeros, for the counts of each sentence; or NULL */
} att_tagger_predict_options;

enum {
    ATT_TAGGER_SUPPORT,
    ATT_TAGGER_PREDICTED,
    ATT_TAGGER_CORRECT,
    ATT_TAGGER_TOKENS,
    ATT_TAGGER_CORRECT_TOKENS,
    ATT_TAGGER_SENTENCES,
    ATT_TAGGER_CORRECT_SENTENCES,
    ATT_TAGGER_LOSS,   /* of the labels that the model has, */
    ATT_TAGGER_SCORED, /* and their number */
    ATT_TAGGER_STATS
};

/* Metrics of sums of the statistics; 0 where they are 0 / 0. */
double att_tagger_f1(const double *sums);
double att_tagger_token_accuracy(const double *sums);
double att_tagger_sentence_accuracy(const double *sums);
double att_tagger_loss(const double *sums);

/* Adds the counts of the corpus, which has kept its target text (keep_target_text): a label that
 * the model lacks is compared as text, and is therefore never correct. */
att_status att_tagger_predict(att_span_counts *counts, const att_model *model,
                              const att_corpus *corpus, const att_tagger_predict_options *options,
                              att_error *err);

#endif
