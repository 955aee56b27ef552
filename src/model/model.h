/* A model: settings, vocabularies, parameters, and the family that says how they work together.
 *
 * A family is a row of a table. Training asks it for a loss; decoding feeds it token after token
 * through an att_decoder. Both run the same code on a tape, so that a sequence decoded step by step
 * has the bits of the whole. */
#ifndef ATT_MODEL_MODEL_H
#define ATT_MODEL_MODEL_H

#include "attend.h"
#include "base/arena.h"
#include "nn/param_builder.h"
#include "settings/settings.h"
#include "tape/ops.h"
#include "data/batch.h"
#include "text/vocab.h"

typedef struct att_architecture att_architecture;
typedef struct att_decoder att_decoder;

struct att_model {
    const att_settings *settings;
    /* One and the same where settings->joint; no source's where models of its kind read no tokens
     * (att_model_type_has_source_vocab()); the target's are labels where the kind is that. */
    const att_vocab *source_vocab, *target_vocab;
    const att_architecture *architecture;
    att_params params;
    double temperature;  /* that calibrates the probabilities of labels: scores are divided by it */
    void *network;       /* the family's: where its parameters are */
    char *training_json; /* JSON that the training loop left in the file; NULL where none */
    char *import_json;   /* JSON that says whose weights these are; NULL: our own */
    att_arena arena;     /* of `parts` and both */
    att_settings *owned_settings; /* settings and vocabularies read from a file; NULL where lent */
    att_vocab *owned_source_vocab, *owned_target_vocab;
};

/* Makes a model with starting values drawn under settings->seed. Settings and vocabularies are
 * lent and must outlive it. Release with att_model_free(). */
att_status att_model_new(att_model **out, const att_settings *settings,
                         const att_vocab *source_words, const att_vocab *target_words,
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
 *   attend.target_vocab  JSON; missing where it is the source vocabulary (setting `joint`)
 *   attend.temperature   a number; missing where it is 1
 *   attend.training      JSON: the training state; may be missing
 *   attend.import        JSON: where imported weights come from; may be missing
 *
 * Tensors whose name begins with ATT_TRAINING_PREFIX belong to the training loop and are ignored.
 * The header with all metadata takes 100 million bytes at most (tensor/bundle.h). */
#define ATT_MODEL_FORMAT    "2"
#define ATT_TRAINING_PREFIX "training."

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

/* The bundle in a file that is to be a model; of any other file, the error says what it is. */
att_status att_model_load_bundle(att_bundle **out, const char *path, att_error *err);
att_status att_model_read_bundle(att_bundle **out, const void *bytes, size_t size, const char *name,
                                 att_error *err);

/* Refuses a bundle that is not a model of ATT_MODEL_FORMAT. */
att_status att_model_check_format(const att_bundle *bundle, const char *name, att_error *err);

/* Reads a model from a bundle; `name` is the file in errors, which name what is missing, unknown or
 * of the wrong shape. */
att_status att_model_from_bundle(att_model **out, const att_bundle *bundle, const char *name,
                                 att_error *err);

/* Replaces the parameters' values by those of the bundle, under the same checks. */
att_status att_model_load_values(att_model *model, const att_bundle *bundle, const char *name,
                                 att_error *err);

/* ---- learning */

/* Where the rows of a batch of a text ended, for the batch that follows: the states of a recurrent
 * model's layers. All-zero: nowhere yet. */
typedef struct att_carried_state {
    float *states; /* [most,width] those of all layers side by side */
    int64_t rows;  /* that are there, of */
    int64_t max_rows;
    int64_t width; /* 0: the model carries nothing */
} att_carried_state;

/* Room for what the model carries of `most` rows. Release with att_carried_state_free(). */
att_status att_carried_state_new(att_carried_state *out, const att_model *model, int64_t most,
                                 att_error *err);
void att_carried_state_free(att_carried_state *carried);

/* How a batch is taught. */
typedef struct att_loss_options {
    float label_smoothing;    /* of labels */
    float scheduled_sampling; /* probability that a step is fed the model's own prediction (H15) */
    uint64_t seed; /* own predictions are drawn under these, the pair and the place in it */
    uint64_t step;
    att_carried_state
        *carried_state; /* is taken up and left, where the rows are of a text; or NULL */
} att_loss_options;

/* What came of one row: the same as of the batch, below. */
typedef struct att_row_loss_result {
    double loss;
    int64_t tokens, correct;
    float *token_losses; /* receives each token's, one after the other; NULL: not wanted */
} att_row_loss_result;

/* What came of it, summed over the target tokens of the batch, ends included. */
typedef struct att_loss_result {
    double loss; /* -log probability, in nats, without smoothing and alignments */
    int64_t tokens;
    int64_t correct;           /* tokens that were the most probable, and are known */
    att_row_loss_result *rows; /* [B] added to likewise; NULL: not wanted */
} att_loss_result;

/* Adds what came of one token of row `row`. That a token is unknown can be foreseen, but not which
 * it is: it is never right. */
static inline void att_loss_result_add(att_loss_result *result, int64_t row, float loss,
                                       int32_t target, bool foreseen)
{
    bool right = foreseen && target != ATT_ID_UNK;
    result->loss += (double)loss;
    result->tokens++;
    result->correct += right;
    if (!result->rows)
        return;
    result->rows[row].loss += (double)loss;
    result->rows[row].tokens++;
    result->rows[row].correct += right;
    if (result->rows[row].token_losses)
        *result->rows[row].token_losses++ = loss;
}

/* Takes tokens for the unknown one, each with this probability, so that no single word decides and
 * words that are not known mean something; the start stays. A pair's draws are its own, whatever
 * the batch. */
void att_word_dropout(const att_loss_options *lesson, int32_t *ids, int64_t length,
                      float probability, int64_t pair);

/* The loss of a batch, a single number summed over its target tokens, to be differentiated by
 * att_tape_backward(tape, loss, scale). Smoothing and the loss of given alignments are in it. NULL
 * on failure, which the tape keeps. `result` may be NULL. The tape has begun. */
att_node *att_model_loss(const att_model *model, att_tape *tape, const att_batch *batch,
                         const att_loss_options *lesson, att_loss_result *result);

/* ---- decoding */

/* The source side of a batch: tokens, the grids of pictures, or nothing but a number of rows. */
typedef struct att_sources {
    int64_t rows, length;    /* B, S; 0 where there are no tokens */
    const int32_t *ids;      /* [B,S], ATT_ID_PAD beyond a row's length */
    const int64_t *lengths;  /* [B] */
    const float *image_grid; /* [B,cells,depth] of pictures, or NULL */
    int64_t cells, depth;
} att_sources;

/* Those of a batch, lent. */
att_sources att_batch_sources(const att_batch *batch);

/* What one step gives, lent until the next call. */
typedef struct att_decoder_output {
    const float *log_probs; /* [rows,V] */
    const float
        *attention; /* [rows,maps,S] attention; NULL where the model has none, or not asked */
    int64_t attention_maps; /* layers of cross attention times heads, a layer's heads together */
    int64_t heads;          /* of each layer; 1 map and 1 head for an RNN */
    const float *hidden;    /* [rows,hidden_size] of the decoder's top layer; NULL: a classifier */
    int64_t hidden_size;
} att_decoder_output;

/* A decoder of one model, which must outlive it. Several decoders may share a model. */
att_status att_decoder_new(att_decoder **out, const att_model *model, att_error *err);
void att_decoder_free(att_decoder *decoder);

/* Reads the sources: from here on row r continues source r. */
att_status att_decoder_start(att_decoder *decoder, const att_sources *sources, att_error *err);

/* Takes one token per row (the first is ATT_ID_BOS) and gives the log-probabilities of the
 * next. Row r goes on from row order[r] of the step before (of the start: source order[r]), so that
 * beams can be dropped, doubled and exchanged; order NULL: each from itself. */
att_status att_decoder_step(att_decoder *decoder, int64_t rows, const int32_t *tokens,
                            const int64_t *order, att_decoder_output *out, att_error *err);

/* Tokens of the longest source that the model can take; 0: any number. */
int64_t att_model_max_source_length(const att_model *model);

/* ---- families */

struct att_decoder {
    const att_model *model;
    att_tape *tape;
    bool want_attention; /* whether steps give the attention too; to be set before a step */
    void *state;         /* the family's */
};

struct att_architecture {
    const char *name; /* as model files keep it */

    /* Adds its parameters and makes model->parts. What the settings ask for and the family cannot
     * be is ATT_BAD_INPUT. */
    att_status (*build)(att_model *model, att_error *err);

    att_node *(*loss)(const att_model *model, att_tape *tape, const att_batch *batch,
                      const att_loss_options *lesson, att_loss_result *result);

    att_status (*open)(att_decoder *decoder, att_error *err); /* makes `state` */
    void (*close)(att_decoder *decoder);
    att_status (*start)(att_decoder *decoder, const att_sources *sources, att_error *err);
    att_status (*step)(att_decoder *decoder, int64_t rows, const int32_t *tokens,
                       const int64_t *order, att_decoder_output *out, att_error *err);

    int64_t (*max_source_length)(const att_model *model); /* source; NULL: any */
    int64_t (*carried_state_size)(
        const att_model *model); /* floats to a row of a text; NULL: none */
};

/* What a family adds the parameters of a model with, as its settings say. */
att_param_builder att_model_builder(att_model *model, att_error *err);

/* All families by kind; NULL where there is none. */
extern const att_architecture *const att_architectures[ATT_MODEL_TYPES][ATT_ARCHITECTURE_COUNT];

#endif
