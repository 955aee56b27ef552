/* A model: settings, vocabularies, parameters and an architecture. Immutable once it is loaded or
 * built: every call but training takes it as const, and any number of threads may share it.
 *
 * An architecture is a row of a table. Training calls its loss; decoding feeds it token after token
 * through an att_decoder. Both run the same code on a tape, so that decoding step by step has the
 * bits of teacher forcing. */
#ifndef ATT_MODEL_MODEL_H
#define ATT_MODEL_MODEL_H

#include "attend.h"
#include "base/arena.h"
#include "model/candidates.h"
#include "nn/param_builder.h"
#include "settings/settings.h"
#include "tape/ops.h"
#include "data/batch.h"
#include "data/output_length.h"
#include "text/vocab.h"

typedef struct att_architecture att_architecture;
typedef struct att_decoder att_decoder;
typedef struct att_attention_probe att_attention_probe; /* transformer.h */

struct att_model {
    const att_settings *settings;
    /* The same vocabulary where settings->joint; no source vocabulary where models of its type do
     * not read tokens (att_model_type_has_source_vocab()); the target tokens of classifiers and
     * taggers are labels. */
    const att_vocab *source_vocab, *target_vocab;
    const att_architecture *architecture;
    att_params params;
    att_output_length output_length; /* of the training data; seq2seq models only */
    double temperature;              /* calibration of a classifier: logits are divided by it */
    void *network;                   /* of the architecture: indices of its parameters */
    char *training_json;             /* JSON: the training record of the file; or NULL */
    char *import_json;               /* JSON: where imported weights come from; or NULL */
    att_arena arena;                 /* of network and both JSON texts */
    att_settings *owned_settings;    /* settings and vocabularies; NULL where borrowed */
    att_vocab *owned_source_vocab, *owned_target_vocab;
};

/* Builds a model with initial values from settings->seed. Settings and vocabularies are borrowed
 * and must outlive it. Release with att_model_free(). */
att_status att_model_new(att_model **out, const att_settings *settings,
                         const att_vocab *source_vocab, const att_vocab *target_vocab,
                         att_error *err);

/* "a classifier": the type in error messages. */
const char *att_model_type_phrase(att_model_type type);

/* ATT_BAD_INPUT unless the model is of this type. */
att_status att_model_require_type(const att_model *model, att_model_type type, att_error *err);

/* ---- files (model_file.c). Tensors of a model file are its parameters by name. Its metadata:
 *
 *   attend.format        ATT_MODEL_FORMAT
 *   attend.architecture  the name of its att_architecture
 *   attend.settings      JSON: all settings
 *   attend.source_vocab  JSON; missing where models of its type do not read tokens
 *   attend.target_vocab  JSON; missing where it equals the source vocabulary (setting `joint`)
 *   attend.temperature   a number; missing where it is 1
 *   attend.output_ratio, attend.output_excess  numbers: att_output_length; missing where unknown
 *   attend.training      JSON: the training state; may be missing
 *   attend.import        JSON: where imported weights come from; may be missing
 *   attend.precision     "int8" where tensors are int8 (model_params.c); else missing
 *
 * Tensors whose name begins with ATT_TRAINING_PREFIX belong to the training loop and are ignored.
 * The header with all metadata takes 64 MiB at most, one value 32 MiB (tensor/bundle.h). */
#define ATT_MODEL_FORMAT        "2"
#define ATT_TRAINING_PREFIX     "training."
#define ATT_KEY_PRECISION       "attend.precision"
#define ATT_PRECISION_INT8_NAME "int8"
#define ATT_SCALE_SUFFIX        ".scale" /* after the name of an int8 tensor: its scales */

/* One member of the metadata of an import: a text, or a number if `text` is NULL. */
typedef struct att_metadata_entry {
    const char *key, *text;
    int64_t number;
} att_metadata_entry;

/* Appends the entries to *out as a JSON object; texts are UTF-8. */
att_status att_metadata_write(att_string *out, const att_metadata_entry *entries, size_t count,
                              att_error *err);

/* The metadata of a model file. */
typedef struct att_model_metadata {
    const att_architecture *architecture;
    const att_settings *settings;
    const att_vocab *source_vocab, *target_vocab;
    bool int8;                               /* some tensors are */
    const char *training_json, *import_json; /* JSON, or NULL */
} att_model_metadata;

att_status att_model_set_metadata(att_bundle *bundle, const att_model_metadata *meta,
                                  att_error *err);

/* Adds a model to a bundle: metadata and tensors, or metadata alone. `temperature` is the one to be
 * stored, since training fits it without changing the model; `training` is JSON, or NULL. */
att_status att_model_to_bundle(att_bundle *bundle, const att_model *model, double temperature,
                               const char *training, att_error *err);
att_status att_model_metadata_to_bundle(att_bundle *bundle, const att_model *model,
                                        double temperature, const char *training, att_error *err);

/* Reads the bundle of a model from a file or from bytes; for any other format the error names it.
 */
att_status att_model_load_bundle(att_bundle **out, const char *path, att_error *err);
att_status att_model_read_bundle(att_bundle **out, const void *bytes, size_t size, const char *name,
                                 att_error *err);

/* Refuses a bundle that is not a model of ATT_MODEL_FORMAT. */
att_status att_model_check_format(const att_bundle *bundle, const char *name, att_error *err);

/* Reads a model from a bundle; `name` is the file in errors, which name the tensor or key that is
 * missing, unknown or of the wrong shape. */
att_status att_model_from_bundle(att_model **out, const att_bundle *bundle, const char *name,
                                 att_error *err);
att_status att_model_from_bundle_as(att_model **out, const att_bundle *bundle,
                                    att_precision precision, const char *name, att_error *err);

/* Refuses an int8 model: "is an int8 model, but <what> needs float weights". */
att_status att_model_require_float(const att_model *model, const char *name, const char *what,
                                   att_error *err);

/* Replaces the values of the parameters by those of the bundle, with the same checks. For training,
 * whose model is not shared yet. */
att_status att_model_load_values(att_model *model, const att_bundle *bundle, const char *name,
                                 att_error *err);

/* ---- loss */

/* Truncated BPTT: the final RNN states of a batch of a language model, which are the initial states
 * of the next batch. All-zero: no batch yet. */
typedef struct att_carried_state {
    float *states; /* [max_rows,width] of all layers side by side */
    int64_t rows;  /* in use */
    int64_t max_rows;
    int64_t width; /* 0: the model carries no state */
} att_carried_state;

/* Allocates the states of up to `max_rows` rows. Release with att_carried_state_free(). */
att_status att_carried_state_new(att_carried_state *out, const att_model *model, int64_t max_rows,
                                 att_error *err);
void att_carried_state_free(att_carried_state *carried);

typedef struct att_loss_options {
    float label_smoothing;    /* 0: none */
    float consistency;        /* weight of the consistency loss: the batch is one of
                                 att_batch_twice(); 0: none */
    float scheduled_sampling; /* probability of feeding the model's own prediction */
    uint64_t
        seed; /* scheduled sampling and word dropout depend on these, the pair and the position */
    uint64_t step;
    att_carried_state *carried_state; /* read and updated by language models; or NULL */
} att_loss_options;

static inline att_loss_terms att_loss_terms_of(const att_loss_options *options)
{
    return options ? (att_loss_terms){ options->label_smoothing, options->consistency }
                   : (att_loss_terms){ 0 };
}

/* The same for one row. */
typedef struct att_row_loss_result {
    double loss;
    int64_t tokens, correct;
    float *token_losses;    /* receives the loss of each token; NULL: not wanted */
    int64_t context_tokens; /* left to skip: context, not scored (att_batch) */
} att_row_loss_result;

/* Sums over the target tokens of a batch, end tokens included. */
typedef struct att_loss_result {
    double loss; /* cross-entropy in nats, without label smoothing and guided alignment */
    int64_t tokens;
    int64_t correct;           /* tokens that were the most probable and are not unknown */
    int64_t unscored;          /* labels that the model lacks: tokens without a loss */
    att_row_loss_result *rows; /* [B]; NULL: not wanted */
} att_loss_result;

/* Adds one token of row `row`. An unknown token never counts as correct: the model cannot say which
 * word it is. */
static inline void att_loss_result_add(att_loss_result *result, int64_t row, float loss,
                                       int32_t target, bool predicted)
{
    bool correct = predicted && target != ATT_ID_UNK;
    if (result->rows && result->rows[row].context_tokens > 0) {
        result->rows[row].context_tokens--;
        return;
    }
    result->loss += (double)loss;
    result->tokens++;
    result->correct += correct;
    if (!result->rows)
        return;
    result->rows[row].loss += (double)loss;
    result->rows[row].tokens++;
    result->rows[row].correct += correct;
    if (result->rows[row].token_losses)
        *result->rows[row].token_losses++ = loss;
}

/* Word dropout: replaces each token but BOS by the unknown token with this probability. The random
 * numbers depend on the pair, not on the batch. */
void att_word_dropout(const att_loss_options *options, int32_t *ids, int64_t length,
                      float probability, int64_t pair);

/* The teacher-forced loss of a batch, a scalar summed over its target tokens, for
 * att_tape_backward(). It includes label smoothing and guided alignment. NULL on failure, which the
 * tape keeps. `result` may be NULL. */
att_node *att_model_loss(const att_model *model, att_tape *tape, const att_batch *batch,
                         const att_loss_options *options, att_loss_result *result);

/* ---- decoding */

/* The sources of a batch: tokens, image features, or for language models only a number of rows. */
typedef struct att_sources {
    int64_t rows, length;    /* B, S; 0 where there are no tokens */
    const int32_t *ids;      /* [B,S], padded with ATT_ID_PAD */
    const int64_t *lengths;  /* [B] */
    const float *image_grid; /* [B,cells,depth] of images, or NULL */
    int64_t cells, depth;
    const int32_t *copy_ids; /* [B,S] ids of the extended vocabulary (data/extended_vocab.h), below
                                0 in padding; NULL: by `ids` alone. Only for models that copy */
    const att_candidates *candidates; /* the next tokens that each source allows; NULL: every token.
                                         Only for models that do not copy; they outlive the steps */
    const char *const *words; /* [B,S] the tokens as they are written, NULL in padding; or NULL */
    att_node *word_features;  /* [W,F] features beside the embeddings, and [B,S] the row of each */
    const int32_t *word_rows; /* token, set by sentence encoders; or NULL */
    att_attention_probe
        *probe; /* captures the attention of a Transformer sentence encoder; or NULL */
} att_sources;

/* The embeddings x [B,S,E] with the features of the words beside them, if there are any. */
att_node *att_sources_concat_features(att_tape *tape, const att_sources *sources, att_node *x);

/* The sources of a training batch, borrowed. */
att_sources att_batch_sources(const att_batch *batch);

/* The tokens that a model may copy (copying.h). */
typedef struct att_copy_index {
    int64_t sources, length; /* B, S */
    int64_t vocab_size;      /* V, of the target vocabulary */
    int64_t extended_size;   /* V, or as many more as the source with most tokens of its own has */
    int32_t *ids;            /* [B,S] of the extended vocabulary, below 0 in padding */
    int32_t *first;          /* [B,S] the first token of the source with the same id */
} att_copy_index;

/* The result of one step, borrowed until the next call. */
typedef struct att_decoder_output {
    const float *log_probs; /* [rows,V]; of a model that copies [rows,extended_size], -INFINITY for
                               the tokens of other sources */
    const float *copied;    /* [rows,S] the part of copying in the probability of each source token
                               as the next token; NULL: the model does not copy */
    const int64_t *sources; /* [rows] the source of each row, with `copied` */
    const float *attention; /* [rows,maps,S]; NULL: the model has none, or it was not asked for */
    int64_t attention_maps; /* layers of cross attention times heads, a layer's heads together */
    int64_t heads;          /* of each layer; 1 map and 1 head for an RNN */
    const float *hidden;    /* [rows,hidden_size] of the decoder's top layer; NULL: a classifier */
    int64_t hidden_size;
} att_decoder_output;

/* A decoder of one model, which must outlive it. Several decoders may share a model. */
att_status att_decoder_new(att_decoder **out, const att_model *model, att_error *err);
void att_decoder_free(att_decoder *decoder);

/* Encodes the sources; row r of the first step continues source r. Where the result for a row is
 * not finite, err->line is that row, from 1 (layer_check.h); likewise in a step. */
att_status att_decoder_start(att_decoder *decoder, const att_sources *sources, att_error *err);

/* Feeds one token per row (first ATT_ID_BOS; of the extended vocabulary, where the model copies)
 * and computes the log-probabilities of the next. Row r continues row order[r] of the step before
 * (at the first step: source order[r]), so that hypotheses are dropped, forked and reordered; NULL:
 * row r continues row r. */
att_status att_decoder_step(att_decoder *decoder, int64_t rows, const int32_t *tokens,
                            const int64_t *order, att_decoder_output *out, att_error *err);

/* The maximum number of source tokens; 0: no limit. */
int64_t att_model_max_source_length(const att_model *model);

/* ---- architectures */

struct att_decoder {
    const att_model *model;
    att_tape *tape;
    bool want_attention; /* steps compute attention weights; set it before the start */
    bool uncalibrated;   /* of a classifier: temperature 1; set it before the start */
    att_copy_index copy; /* of the sources; all-zero: the model does not copy */
    att_candidate_layer candidates;
    void *state; /* of the architecture */
};

struct att_architecture {
    const char *name; /* in model files */

    /* Adds the parameters and sets model->network. ATT_BAD_INPUT for settings that the architecture
     * does not support. */
    att_status (*build)(att_model *model, att_error *err);

    att_node *(*loss)(const att_model *model, att_tape *tape, const att_batch *batch,
                      const att_loss_options *options, att_loss_result *result);

    att_status (*open)(att_decoder *decoder, att_error *err); /* sets `state` */
    void (*close)(att_decoder *decoder);
    att_status (*start)(att_decoder *decoder, const att_sources *sources, att_error *err);
    att_status (*step)(att_decoder *decoder, int64_t rows, const int32_t *tokens,
                       const int64_t *order, att_decoder_output *out, att_error *err);

    int64_t (*max_source_length)(const att_model *model);  /* NULL: no limit */
    int64_t (*carried_state_size)(const att_model *model); /* floats per row; NULL: none */
};

/* The builder of the parameters of a model. */
att_param_builder att_model_builder(att_model *model, att_error *err);

/* The architecture by type and setting; NULL where there is none. */
extern const att_architecture *const att_architectures[ATT_MODEL_TYPES][ATT_ARCHITECTURE_COUNT];

#endif
