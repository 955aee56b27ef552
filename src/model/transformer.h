/* The Transformer family: an encoder and a decoder of layers that attend (Vaswani et al. 2017;
 * handouts 001 to 004). Shared by its own files alone:
 *
 *   transformer.c         its parameters, and the row of the table
 *   transformer_run.c     sequences taken through the encoder and the decoder
 *   transformer_loss.c    learning
 *   transformer_decode.c  decoding: the same run, one token at a time
 *   pages.c               keys and values of the tokens before, kept between steps
 *
 * Sequences lie end to end, [1,N,D], and N counts tokens in use: padding is never worked on. */
#ifndef ATT_MODEL_TRANSFORMER_H
#define ATT_MODEL_TRANSFORMER_H

#include "model/model.h"
#include "model/kv_cache.h"
#include "nn/embedding.h"
#include "nn/image_embedding.h"
#include "nn/transformer_layer.h"

enum { ATT_MAX_TRANSFORMER_LAYERS = 64 };

typedef struct att_transformer_pass att_transformer_pass;

typedef struct att_transformer_network {
    /* Reads sources, whatever they are: sets `memory`, `sources` and `source_offsets` of the run.
     */
    void (*encode)(att_transformer_pass *run, const att_sources *sources);

    bool has_encoder; /* there is an encoder; else the decoder stands alone and goes on with a text
                       */
    int encoder_layers, decoder_layers;
    int64_t context_length; /* of a text: tokens that are seen at a time; else 0 */
    int64_t hidden_size;    /* D */
    int64_t heads;          /* H */
    int64_t kv_size;        /* 2 G K: keys and values of a token in one layer */
    att_embedding source_embedding, target_embedding;
    att_image_embedding image_embedding; /* in the place of `source`, where sources are pictures */
    att_transformer_layer encoder[ATT_MAX_TRANSFORMER_LAYERS], decoder[ATT_MAX_TRANSFORMER_LAYERS];
    att_norm_layer encoder_norm, decoder_norm; /* after the last layer, where norms stand before */
    int output_w;                              /* [D,V], or none: the target embedding */
    int output_b;                              /* [V], or none */
} att_transformer_network;

/* What can be said of the settings by whoever uses layers of a Transformer. */
att_status att_transformer_check(const att_settings *settings, att_error *err);

/* An encoder without a decoder, for tokens of a vocabulary of this size. */
void att_transformer_build_encoder(att_transformer_network *out, att_param_builder *builder,
                                   const att_settings *settings, int64_t vocabulary);

/* Sequences end to end. */
typedef struct att_packed_sequences {
    int64_t sequences, tokens;
    const int64_t *offsets;   /* [sequences + 1] where each begins */
    const int32_t *ids;       /* [tokens] */
    const int32_t *positions; /* [tokens] in its sequence */
} att_packed_sequences;

/* The rows [rows,length] of a batch end to end, without padding, in the tape's memory; NULL on
 * failure. */
const att_packed_sequences *att_packed_sequences_new(att_tape *tape, int64_t rows, int64_t length,
                                                     const int64_t *lengths, const int32_t *ids);

/* One attention that someone wants to look at: what goes into its layer, and what came of it. */
typedef struct att_attention_probe {
    att_attention_block part;
    int layer;
    att_node *x;              /* [1,N,D] before any norm */
    att_node *encoder_output; /* [1,S,D] what the encoder said; across alone */
    att_node *attention;      /* an att_attention_op() node */
} att_attention_probe;

/* What a decoder sees. */
struct att_transformer_pass {
    const att_transformer_network *network;
    att_tape *tape;

    att_node *cross_kv[ATT_MAX_TRANSFORMER_LAYERS]; /* [1,S,2 G K] keys and values of the sources,
                                                       by layer */
    int64_t source_count;
    const int64_t *source_offsets; /* [sources + 1] */
    const int64_t *query_offsets;  /* [sources + 1] rows of the decoder that belong to each */

    /* Decoding: one token a row. */
    att_kv_cache *kv_cache;     /* the tokens before; NULL: the whole sequence is at hand */
    const int32_t *row_order;   /* [rows] the rows in the order of their sources; NULL: they are */
    const int32_t *row_restore; /* [rows] and back */

    att_attention_probe *probe; /* or NULL */
    bool want_attention;
    att_node
        *cross_attention[ATT_MAX_TRANSFORMER_LAYERS]; /* [1,H,N,S] of attention to the sources */
};

/* Takes sources through the encoder, [1,N,D]: sets `sources` and `source_offsets`. */
att_node *att_transformer_run_encoder(att_transformer_pass *run,
                                      const att_packed_sequences *sources);

/* The same for a decoder, where there is an encoder: sets `memory` too. */
void att_transformer_encode_packed(att_transformer_pass *run, const att_packed_sequences *sources);

/* The two ways to do so with the sources of a batch: tokens, and pictures. */
void att_transformer_encode_tokens(att_transformer_pass *run, const att_sources *sources);
void att_transformer_encode_image(att_transformer_pass *run, const att_sources *sources);

/* Takes targets through the decoder, [1,N,D]. */
att_node *att_transformer_decode(att_transformer_pass *run, const att_packed_sequences *targets);

/* The layer that gives the scores of the next token for x [1,N,D]. */
att_linear_cross_entropy_inputs att_transformer_output(const att_transformer_pass *run,
                                                       att_node *x);

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
