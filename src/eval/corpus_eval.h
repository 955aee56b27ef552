/* A model measured on pairs: its loss when told the references, and its own answers. */
#ifndef ATT_EVAL_CORPUS_EVAL_H
#define ATT_EVAL_CORPUS_EVAL_H

#include "base/arena.h"
#include "metrics/token_metrics.h"
#include "model/model.h"
#include "data/corpus.h"

/* What a model answered. */
typedef struct att_output_texts {
    const char **lines; /* [pairs] */
    att_arena arena;    /* that holds them */
} att_output_texts;

typedef struct att_corpus_eval_options {
    int64_t batch_tokens; /* per batch; 0: as the model was trained with. What is counted does not
                       depend on it */
    bool decode; /* decode too: exact matches and edits; else the steps and the loss alone */
    const att_decoding_options
        *decoding;     /* how, and with which models; NULL: the most probable token */
    int64_t max_pairs; /* pairs, from the first on; 0: all */

    float *token_losses; /* [tokens but the first] of a text: each one's; NULL: not wanted */
    att_token_metrics *per_pair;    /* [pairs] added to for each pair likewise; NULL: not wanted */
    att_output_texts *output_texts; /* the answers; NULL: not wanted */

    /* Asked after each batch, or NULL; false ends the evaluation with what is in the tally then. */
    bool (*on_batch)(void *context);
    void *context;
} att_corpus_eval_options;

/* Adds to *tally. */
att_status att_corpus_eval(att_token_metrics *tally, const att_model *model,
                           const att_corpus *corpus, const att_corpus_eval_options *how,
                           att_error *err);

/* Scores answers by the metrics of text asked for, against the targets as they stand in the file,
 * which the corpus has kept. */
att_status att_corpus_eval_texts(att_metric_scores **out, const att_model *model,
                                 const att_corpus *corpus, const att_output_texts *answers,
                                 const att_eval_options *measuring, att_error *err);

/* Bits to a character of a text, from nats to a token of it. */
double att_bits_per_character(double loss, const att_corpus *text);

/* Tells in `notes`, unless NULL, what was left out of the corpus in the file at `path`; NULL: the
 * validation data that a model was trained with. */
att_status att_corpus_eval_warnings(att_string *notes, const char *path, const att_corpus *corpus,
                                    att_error *err);

#endif
