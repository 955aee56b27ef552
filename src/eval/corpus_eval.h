/* Evaluation of a model on a corpus: the loss with teacher forcing (the decoder is fed the
 * reference), and the outputs of beam search compared with the references. */
#ifndef ATT_EVAL_CORPUS_EVAL_H
#define ATT_EVAL_CORPUS_EVAL_H

#include "base/arena.h"
#include "metrics/token_metrics.h"
#include "model/model.h"
#include "data/corpus.h"

/* Generated texts. */
typedef struct att_output_texts {
    const char **lines; /* [pairs] */
    att_arena arena;    /* owns the lines */
} att_output_texts;

typedef struct att_corpus_eval_options {
    /* Tokens per batch; 0: as in training. The counts do not depend on it. */
    int64_t batch_tokens;
    /* Also generate outputs and count exact matches and edits; false: teacher forcing only. */
    bool decode;
    const att_decoding_options *decoding; /* with the ensemble; NULL: one model, greedy search */
    int64_t max_pairs;                    /* evaluate only the first pairs; 0: all */

    /* Optional results, NULL if not needed. */
    float *token_losses;            /* language model: [tokens - 1] the loss of each token */
    att_token_metrics *per_pair;    /* [pairs] the counts of each pair are added here */
    att_output_texts *output_texts; /* the generated texts */

    /* Called after each batch, or NULL; false ends the evaluation with the counts so far. */
    bool (*on_batch)(void *context);
    void *context;
} att_corpus_eval_options;

/* Adds the counts of the corpus to *metrics. */
att_status att_corpus_eval(att_token_metrics *metrics, const att_model *model,
                           const att_corpus *corpus, const att_corpus_eval_options *options,
                           att_error *err);

/* Scores outputs by the text metrics in `eval`, against the targets as they are in the file, which
 * the corpus has kept (att_data_read_options.keep_target_text). */
att_status att_corpus_eval_texts(att_metric_scores **out, const att_model *model,
                                 const att_corpus *corpus, const att_output_texts *outputs,
                                 const att_eval_options *eval, att_error *err);

/* Converts a loss in nats per token of `text` to bits per character. */
double att_bits_per_character(double loss, const att_corpus *text);

/* Appends to `notes`, unless NULL, a warning for each reason why lines of the file at `path` were
 * skipped. A NULL path names the validation data of the training run. */
att_status att_corpus_eval_warnings(att_string *notes, const char *path, const att_corpus *corpus,
                                    att_error *err);

/* Fails where a source has more tokens than the options allow, as generation does, and names its
 * line. */
att_status att_corpus_eval_lengths(const att_corpus *corpus, const att_model *model,
                                   const att_eval_options *options, const char *path,
                                   att_error *err);

#endif
