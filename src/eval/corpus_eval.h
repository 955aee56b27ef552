/* Evaluation of a model on a corpus: the loss with teacher forcing (the decoder is fed the
 * reference), and the outputs of beam search compared with the references. */
#ifndef ATT_EVAL_CORPUS_EVAL_H
#define ATT_EVAL_CORPUS_EVAL_H

#include "base/arena.h"
#include "base/group.h"
#include "metrics/token_metrics.h"
#include "model/model.h"
#include "data/corpus.h"
#include "eval/evaluation.h"

/* Generated texts. */
typedef struct att_output_texts {
    const char **lines; /* [pairs] */
    att_arena arena;    /* owns the lines */
} att_output_texts;

/* References of the outputs as att_hypotheses has them. Release with att_references_free(). */
typedef struct att_references {
    size_t count, lines;
    const char *const **sides; /* [count] */
    const char **flat;         /* [count, lines] */
} att_references;

void att_references_free(att_references *references);

typedef struct att_corpus_eval_options {
    /* Tokens per batch; 0: as in training. The counts do not depend on it. */
    int64_t batch_tokens;
    /* Also generate outputs and count exact matches and edits; false: teacher forcing only. */
    bool decode;
    const att_decoding_options *decoding; /* with the ensemble; NULL: one model, greedy search */
    int64_t max_pairs;                    /* evaluate only the first pairs; 0: all */
    int64_t stride; /* of a language model without carried state (batch_lm.h); 0: no overlap */

    /* Optional results, NULL if not needed. */
    float *token_losses;            /* language model: [tokens - 1] the loss of each token */
    att_token_metrics *per_pair;    /* [pairs] the counts of each pair are added here */
    att_output_texts *output_texts; /* the generated texts */

    /* Processes that share the evaluation; NULL: one. All of them call, and all get the results. */
    att_group *group;

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

/* The references of the outputs of a seq2seq or caption model: targets as they are in the file,
 * which the corpus has kept and must outlive them. */
att_status att_corpus_eval_references(att_references *out, const att_model *model,
                                      const att_corpus *corpus, att_error *err);

/* The metric options of an evaluation; `lowercase` is on where the model is lowercase. */
att_status att_corpus_eval_metric_options(att_metric_options *out, const att_model *model,
                                          const att_eval_options *eval, att_error *err);

/* Evaluation of a seq2seq or caption model by line: of pairs, or of images with captions. */
typedef struct att_seq2seq_lines {
    att_corpus corpus;
    att_token_metrics sum;
    att_token_metrics *per_line; /* [sum.lines] */
    att_output_texts outputs;    /* where the options name text metrics */
} att_seq2seq_lines;

/* Reads the data of the call, generates and compares. *out must be freed on failure too. */
att_status att_seq2seq_lines_eval(att_seq2seq_lines *out, att_evaluation *call,
                                  const att_model *model, const att_eval_options *options,
                                  att_string *notes, att_error *err);
void att_seq2seq_lines_free(att_seq2seq_lines *lines);

/* Counts of a line, as columns that can be resampled, and the metrics of seq2seq models: each a
 * function of the sums of two columns. */
enum {
    ATT_COLUMN_LINES,
    ATT_COLUMN_EXACT,
    ATT_COLUMN_TOKENS,
    ATT_COLUMN_EDITS,
    ATT_COLUMN_WORDS,
    ATT_COLUMN_WORD_EDITS,
    ATT_COLUMN_STEPS,
    ATT_COLUMN_CORRECT,
    ATT_COLUMN_LOSS,
    ATT_COLUMNS
};

typedef struct att_token_metric_spec {
    const char *name, *title; /* key in JSON, and in text */
    size_t interval_offset;   /* of the interval in att_seq2seq_eval */
    int numerator, denominator;
    bool is_perplexity; /* the exponential of the ratio */
    bool lower_is_better;
} att_token_metric_spec;

enum { ATT_TOKEN_METRICS = 5 };
extern const att_token_metric_spec att_token_metric_specs[ATT_TOKEN_METRICS];

/* Numerators and denominators of a metric, [lines, 2]. */
void att_token_metric_columns(double *out, const att_token_metric_spec *spec,
                              const att_seq2seq_lines *lines);

/* The metric of sums of the two columns. */
double att_ratio_score(const double *sums);
double att_perplexity_score(const double *sums);

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
