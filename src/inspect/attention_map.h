/* Captures the inputs and the attention weights of the attention blocks of a Transformer of any
 * type for one line. */
#ifndef ATT_INSPECT_ATTENTION_MAP_H
#define ATT_INSPECT_ATTENTION_MAP_H

#include "model/transformer.h"

typedef struct att_attention_capture {
    const att_model *model;
    const att_transformer_network *network;
    att_attention_block part;
    int64_t layer;     /* selected, from 0 */
    int64_t layers;    /* of this block */
    const float *grid; /* image of a caption model, or NULL */
    att_ids source;    /* tokens of the encoder, the stop token of a classifier included */
    att_ids target; /* the decoder's input: <start> and the output tokens, or the text of a language
                       model; <start> only for the encoder of a seq2seq model */
    att_tape *tape;
    att_attention_probe probe;
    att_node *attention; /* of the layer: cross-attention [1,H,N,S]; encoder [1,H,S,S]; decoder
                            [1,H,N,N] */
    att_node *output;    /* [1,N,D] of the last layer that ran, after the final norm */
} att_attention_capture;

/* The Transformer in a model of any type; NULL: it has none. */
const att_transformer_network *att_model_transformer(const att_model *model);

/* Checks the selection, tokenizes the line and runs the model. Layer 0 selects `default_layer`,
 * which counts from 1 (0: the last layer). More than `max_tokens` tokens are refused (0: no limit).
 * Release with att_attention_capture_free(), on failure too. */
att_status att_attention_capture_run(att_attention_capture *capture, const att_model *model,
                                     const att_head_selection *which, int64_t default_layer,
                                     size_t max_tokens, att_error *err);
/* The same for the self-attention of the last decoder layer, with the decoder's input given as ids.
 * A caption model reads the image `grid` [cells,depth] instead of a line. */
att_status att_attention_capture_run_ids(att_attention_capture *capture, const att_model *model,
                                         const char *line, const float *grid, const att_ids *target,
                                         att_error *err);
void att_attention_capture_free(att_attention_capture *capture);

/* The tokens of the queries and the keys, and the vocabulary of each. */
const att_ids *att_attention_capture_queries(const att_attention_capture *capture);
const att_ids *att_attention_capture_keys(const att_attention_capture *capture);
const att_vocab *att_attention_capture_vocab(const att_attention_capture *capture,
                                             const att_ids *tokens);

#endif
