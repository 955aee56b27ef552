/* Captures the inputs and the attention weights of one block of a Transformer for one line. */
#ifndef ATT_INSPECT_ATTENTION_MAP_H
#define ATT_INSPECT_ATTENTION_MAP_H

#include "model/transformer.h"

typedef struct att_attention_capture {
    const att_model *model;
    att_attention_block part;
    int64_t layer; /* from 0 */
    att_ids source;
    att_ids target; /* the decoder's input: <start> and the output tokens; <start> only for the
                       encoder */
    att_tape *tape;
    att_attention_probe probe;
    att_node *attention; /* cross-attention [1,H,N,S]; encoder [1,H,S,S]; decoder [1,H,N,N] */
} att_attention_capture;

/* Checks the selection, tokenizes the line and runs the model. Layer 0 selects `default_layer`,
 * which counts from 1 (0: the last layer). More than `max_tokens` tokens are refused (0: no limit).
 * Release with att_attention_capture_free(), on failure too. */
att_status att_attention_capture_run(att_attention_capture *capture, const att_model *model,
                                     const att_head_selection *which, int64_t default_layer,
                                     size_t max_tokens, att_error *err);
void att_attention_capture_free(att_attention_capture *capture);

#endif
