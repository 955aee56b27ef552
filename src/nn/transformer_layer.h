/* A Transformer layer: self attention, in a decoder cross attention, and a feed-forward network
 * (FFN). Each sublayer has a norm before (pre-norm) or after it (post-norm) and a residual
 * connection. */
#ifndef ATT_NN_TRANSFORMER_LAYER_H
#define ATT_NN_TRANSFORMER_LAYER_H

#include "nn/multihead_attention.h"
#include "settings/settings.h"

typedef struct att_norm_layer {
    int gain; /* [D], or ATT_NO_PARAM: no norm */
    int bias; /* [D], or ATT_NO_PARAM: RMS norm */
} att_norm_layer;

/* The norm, residual connection and dropout around a sublayer. */
typedef struct att_sublayer {
    att_norm_layer pre_norm, post_norm;
    bool residual;
    float dropout; /* of the sublayer's output */
    uint64_t dropout_id;
} att_sublayer;

typedef struct att_ffn {
    bool present;
    bool swiglu; /* the first matrix yields two halves, 2 ffn_size columns */
    att_activation activation;
    att_linear_layer up, down;
} att_ffn;

typedef struct att_transformer_layer {
    att_sublayer self_sublayer, cross_sublayer, ffn_sublayer;
    att_multihead_attention self, cross;
    att_ffn ffn;
} att_transformer_layer;

/* Adds the norm that the settings ask for, named `prefix`.gain and `prefix`.bias. */
void att_norm_layer_build(att_norm_layer *out, att_param_builder *builder,
                          const att_settings *settings, const char *prefix);
att_node *att_norm_layer_run(const att_norm_layer *norm, att_tape *tape, att_node *x);

/* Adds the parameters of a layer, named after `prefix`. The layer uses the dropout ids from
 * `dropout_id` to dropout_id + ATT_LAYER_DROPOUT_IDS - 1. */
enum { ATT_LAYER_DROPOUT_IDS = 8 };
void att_transformer_layer_build(att_transformer_layer *out, att_param_builder *builder,
                                 const att_settings *settings, bool decoder, uint64_t dropout_id,
                                 const char *prefix);

/* The input of a sublayer for x; and the result for x and the sublayer's output y. */
att_node *att_sublayer_begin(const att_sublayer *sublayer, att_tape *tape, att_node *x);
att_node *att_sublayer_end(const att_sublayer *sublayer, att_tape *tape, att_node *x, att_node *y);

/* The FFN sublayer of a layer. */
att_node *att_transformer_layer_ffn(const att_transformer_layer *layer, att_tape *tape,
                                    att_node *x);

#endif
