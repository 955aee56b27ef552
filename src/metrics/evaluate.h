/* A model measured on pairs: its loss when told the references, and its own answers. */
#ifndef ATT_METRICS_EVALUATE_H
#define ATT_METRICS_EVALUATE_H

#include "base/arena.h"
#include "metrics/tally.h"
#include "model/model.h"
#include "text/corpus.h"

/* What a model answered. */
typedef struct att_answer_texts {
    const char **lines; /* [pairs] */
    att_arena arena;    /* that holds them */
} att_answer_texts;

typedef struct att_evaluate_how {
    int64_t tokens; /* per batch; 0: as the model was trained with. What is counted does not depend
                       on it */
    bool answers;   /* decode too: exact matches and edits; else the steps and the loss alone */
    const att_decoding *decoding; /* how, and with which models; NULL: the most probable token */
    int64_t most;                 /* pairs, from the first on; 0: all */

    float *losses;           /* [tokens but the first] of a text: each one's; NULL: not wanted */
    att_tally *each;         /* [pairs] added to for each pair likewise; NULL: not wanted */
    att_answer_texts *texts; /* the answers; NULL: not wanted */

    /* Asked after each batch, or NULL; false ends the evaluation with what is in the tally then. */
    bool (*go_on)(void *context);
    void *context;
} att_evaluate_how;

/* Adds to *tally. */
att_status att_evaluate(att_tally *tally, att_model *model, const att_corpus *corpus,
                        const att_evaluate_how *how, att_error *err);

/* Scores answers by the metrics of text asked for, against the targets as they stand in the file,
 * which the corpus has kept. */
att_status att_evaluate_texts(att_metric_score *out, const att_model *model,
                              const att_corpus *corpus, const att_answer_texts *answers,
                              const att_measuring *measuring, att_error *err);

/* Bits to a character of a text, from nats to a token of it. */
double att_text_bits(double loss, const att_corpus *text);

/* Tells in `notes`, unless NULL, what was left out of the corpus in the file at `path`; NULL: the
 * validation data that a model was trained with. */
att_status att_evaluate_notes(att_text *notes, const char *path, const att_corpus *corpus,
                              att_error *err);

#endif
