/* The worksheet of a whole model (att_model_sheet). Private to these files:
 *
 *   model_sheet.c        the entry; the probabilities of the next token, and what was left out
 *   transformer_sheet.c  Transformer encoders and decoders
 *   rnn_sheet.c          RNN encoders and decoders
 *   sentence_sheet.c     pooling, labels and CRF of classifiers and taggers; convolutions
 *   image_sheet.c        the image of caption models
 */
#ifndef ATT_INSPECT_MODEL_SHEET_H
#define ATT_INSPECT_MODEL_SHEET_H

#include "data/image_grids.h"
#include "inspect/sheet_writer.h"
#include "model/rnn_encoder.h"
#include "model/transformer.h"

/* Limits: of a sheet; of a model that is worked out whole; tokens whose probability is shown. */
enum {
    ATT_SHEET_MAX_TOKENS = 512,
    ATT_SHEET_SMALL_LAYERS = 2,
    ATT_SHEET_SMALL_HEADS = 8,
    ATT_SHEET_SMALL_STEPS = 6,
    ATT_SHEET_SMALL_SIZE = 64,
    ATT_SHEET_SMALL_CELLS = 16,
    ATT_SHEET_TOP = 5
};

/* What the model itself computed at one step: the most probable next tokens. */
typedef struct att_sheet_step {
    int count;
    int32_t ids[ATT_SHEET_TOP];
    float probs[ATT_SHEET_TOP];
    const char *names[ATT_SHEET_TOP];
    const float *weights; /* [source tokens] attention of an RNN; NULL: none */
} att_sheet_step;

typedef struct att_model_sheet_writer {
    att_sheet_writer w;
    const att_model *model;
    const char *input;
    const att_tensor *features; /* of caption models: one image, and the same as a grid */
    att_image_grids image;
    att_ids source;       /* of models that encode a line; the stop token included */
    size_t source_length; /* tokens of the source, or cells of the image */
    att_ids target; /* fed to the decoder: <start> and the output; of a language model the text */
    int64_t step;   /* asked for, from 1; 0: none in particular */
    att_sheet_step *steps;   /* [target.count] by the model's own decoding */
    int64_t vocab_size;      /* of P_vocab */
    const int32_t *copy_ids; /* [source_length] extended ids, for models that copy; else NULL */
    att_arena memory;
} att_model_sheet_writer;

/* Checks the image of a caption model and takes it, borrowed. */
att_status att_model_sheet_take_image(att_model_sheet_writer *s, const att_tensor *image,
                                      att_error *err);

/* The source for a run of the model: tokens or an image, borrowed. *length is source_length. */
att_sources att_model_sheet_sources(const att_model_sheet_writer *s, const int64_t *length);

/* The tokens or cells of the source as labels of the rows of a matrix. */
void att_model_sheet_put_source_labels(att_model_sheet_writer *s, const char *name);

/* x = the embedding of the image, a row for each cell. */
att_status att_image_sheet_put(att_model_sheet_writer *s, const att_image_embedding *embedding,
                               att_error *err);

/* Draws a row of weights of the cells as the grid that they form. */
void att_image_sheet_put_grid(att_model_sheet_writer *s, const char *weights);

/* Positions of the source: of tokens and tags (att_sheet_tokens.positions), or NULL. */
const int32_t *att_model_sheet_positions(att_model_sheet_writer *s, int32_t first_tag);

/* The probabilities of the next token after step `step`, from the row `state` of the decoder:
 * logits, softmax, copying by the matrix `weights`, and the claim. */
void att_model_sheet_put_probabilities(att_model_sheet_writer *s, const char *state,
                                       const char *weights, const att_copy_layer *copy, bool tied,
                                       bool biased, size_t step);

/* The sheet of a Transformer or RNN that generates, and of a classifier or tagger. */
att_status att_transformer_sheet_write(att_model_sheet_writer *s, att_error *err);
att_status att_rnn_sheet_write(att_model_sheet_writer *s, att_error *err);
att_status att_sentence_sheet_write(att_model_sheet_writer *s, att_error *err);

/* Whether all layers of a Transformer of so many are worked out. */
bool att_transformer_sheet_is_small(const att_model *model, int64_t layers);

/* The layers of encoders, from the embeddings x to the states x. Those of a large Transformer are
 * left out up to the last, whose input the probe has. With `final_states`, the state of RNN layer i
 * behind the sentence is h_i (and c_i of an LSTM), from 1. */
void att_transformer_sheet_put_encoder(att_model_sheet_writer *s,
                                       const att_transformer_network *network,
                                       const att_attention_probe *probe);
void att_rnn_sheet_put_encoder(att_model_sheet_writer *s, const att_rnn_encoder *encoder,
                               bool final_states);

#endif
