/* Transformer seq2seq, caption and language models (Vaswani et al. 2017; handouts 001 to 004).
 * Private to these files:
 *
 *   transformer.c          parameters and architectures
 *   transformer_forward.c  the forward pass of encoder and decoder
 *   transformer_loss.c     the loss
 *   transformer_decode.c   the same forward pass one token at a time
 *   kv_cache.c             keys and values of the tokens so far
 *
 * Sequences are packed end to end, [1,N,D], where N counts tokens without padding. */
#ifndef ATT_MODEL_TRANSFORMER_H
#define ATT_MODEL_TRANSFORMER_H

#include "model/model.h"
#include "model/kv_cache.h"
#include "nn/copy_layer.h"
#include "nn/embedding.h"
#include "nn/image_embedding.h"
#include "nn/transformer_layer.h"

enum { ATT_MAX_TRANSFORMER_LAYERS = 64 };

typedef struct att_transformer_pass att_transformer_pass;

typedef struct att_transformer_network {
    /* Encodes sources of any kind: sets cross_kv, source_count and source_offsets of the pass. */
    void (*encode)(att_transformer_pass *pass, const att_sources *sources);

    bool has_encoder; /* else it is a language model */
    int encoder_layers, decoder_layers;
    int64_t context_length; /* of a language model, in tokens; else 0 */
    int64_t hidden_size;    /* D */
    int64_t heads;          /* H */
    int32_t first_tag;      /* id of the first tag of the source vocabulary; 0: it has no tags */
    int64_t kv_size;        /* 2 G K: keys and values of a token in one layer */
    att_embedding source_embedding, target_embedding;
    att_image_embedding image_embedding; /* in its place for images */
    att_transformer_layer encoder[ATT_MAX_TRANSFORMER_LAYERS], decoder[ATT_MAX_TRANSFORMER_LAYERS];
    att_norm_layer encoder_norm, decoder_norm; /* the final norms of a pre-norm Transformer */
    int output_w;                              /* [D,V], or none: the target embedding */
    int output_b;                              /* [V], or none */
    att_copy_layer copy;
} att_transformer_network;

/* Checks the settings of Transformer layers. */
att_status att_transformer_check(const att_settings *settings, att_error *err);

/* Adds an encoder without a decoder, for a vocabulary of this size. */
void att_transformer_build_encoder(att_transformer_network *out, att_param_builder *builder,
                                   const att_settings *settings, int64_t vocabulary);

/* Packed sequences. */
typedef struct att_packed_sequences {
    int64_t sequences, tokens;
    const int64_t *offsets;   /* [sequences + 1] */
    const int32_t *ids;       /* [tokens] */
    const int32_t *positions; /* [tokens] in its sequence */
} att_packed_sequences;

/* Packs the padded rows [rows,length] of a batch, in the memory of the tape; NULL on failure. */
const att_packed_sequences *att_packed_sequences_new(att_tape *tape, int64_t rows, int64_t length,
                                                     const int64_t *lengths, const int32_t *ids);

/* Captures the attention blocks of one kind for inspection: their inputs and results by layer. */
struct att_attention_probe {
    att_attention_block part;
    att_node *x[ATT_MAX_TRANSFORMER_LAYERS];         /* [1,N,D] before any norm */
    att_node *attention[ATT_MAX_TRANSFORMER_LAYERS]; /* att_attention_op() nodes */
    att_node *encoder_output;                        /* [1,S,D] of an encoder-decoder */
};

/* A forward pass. */
struct att_transformer_pass {
    const att_transformer_network *network;
    att_tape *tape;

    att_node *cross_kv[ATT_MAX_TRANSFORMER_LAYERS]; /* [1,S,2 G K] keys and values of the sources,
                                                       by layer */
    int64_t source_count;
    const int64_t *source_offsets;          /* [sources + 1] */
    att_node *copy_keys;                    /* [B,S,D] padded, of a model that copies; else NULL */
    const int64_t *source_lengths;          /* [B], with copy_keys */
    const int64_t *query_offsets;           /* [sources + 1] decoder rows of each source */
    const att_rows_by_source *grouped_rows; /* the same rows, in decoding */

    /* Decoding: one token per row. */
    att_kv_cache *kv_cache;     /* NULL: the whole sequence at once (training) */
    const int32_t *row_order;   /* [rows] rows in the order of sources; NULL: they are in order */
    const int32_t *row_restore; /* [rows] the inverse */

    att_node *source_features;  /* [1,S,D] added to the embeddings of the source, or NULL */
    att_attention_probe *probe; /* or NULL */
    bool want_attention;
    att_node *cross_attention[ATT_MAX_TRANSFORMER_LAYERS]; /* [1,H,N,S] attention nodes */
};

/* Runs the encoder, [1,N,D]: sets source_count and source_offsets. */
att_node *att_transformer_run_encoder(att_transformer_pass *pass,
                                      const att_packed_sequences *sources);

/* The same for a seq2seq model: sets cross_kv too. */
void att_transformer_encode_packed(att_transformer_pass *pass, const att_packed_sequences *sources);

/* The two kinds of sources: tokens and images. */
void att_transformer_encode_tokens(att_transformer_pass *pass, const att_sources *sources);
void att_transformer_encode_image(att_transformer_pass *pass, const att_sources *sources);

/* Runs the decoder over targets, [1,N,D]. */
att_node *att_transformer_decode(att_transformer_pass *pass, const att_packed_sequences *targets);

/* The output layer, and the same for x [1,N,D]. */
att_output_weights att_transformer_output_weights(const att_transformer_network *network);
att_linear_cross_entropy_inputs att_transformer_output(const att_transformer_pass *pass,
                                                       att_node *x);

/* What the loss and the log-probabilities of a model that copies are computed from, for decoder
 * states x [1,N,D]. `targets` are the sequences of a loss; NULL: one token per row, whose sources
 * `grouped` has. */
att_copy_inputs att_transformer_copy_inputs(const att_transformer_pass *pass, att_node *x,
                                            const att_packed_sequences *targets,
                                            const att_rows_by_source *grouped);

att_node *att_transformer_loss(const att_model *model, att_tape *tape, const att_batch *batch,
                               const att_loss_options *options, att_loss_result *result);

att_status att_transformer_open(att_decoder *decoder, att_error *err);
void att_transformer_close(att_decoder *decoder);
att_status att_transformer_start(att_decoder *decoder, const att_sources *sources, att_error *err);
att_status att_transformer_step(att_decoder *decoder, int64_t rows, const int32_t *tokens,
                                const int64_t *order, att_decoder_output *out, att_error *err);

extern const att_architecture att_transformer_architecture, att_transformer_lm_architecture,
    att_transformer_caption_architecture;

#endif
