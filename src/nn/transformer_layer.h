/* A layer of a Transformer: attention to its own sequence, in a decoder attention to the source,
 * and two matrices with an activation between. Each of these parts has a norm before or after it
 * and what went in added to what comes out. */
#ifndef ATT_NN_TRANSFORMER_LAYER_H
#define ATT_NN_TRANSFORMER_LAYER_H

#include "nn/multihead_attention.h"
#include "settings/settings.h"

typedef struct att_norm_layer {
    int gain; /* [D], or ATT_NO_PARAM: no norm */
    int bias; /* [D], or ATT_NO_PARAM: the rows are divided by the root of their mean square alone
               */
} att_norm_layer;

/* What surrounds a part. */
typedef struct att_sublayer {
    att_norm_layer pre_norm, post_norm;
    bool residual;
    float dropout; /* of what comes out */
    uint64_t dropout_id;
} att_sublayer;

typedef struct att_ffn {
    bool present;
    bool swiglu; /* the first matrix gives two halves */
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

/* Adds the parameters of a layer, named after `prefix`; `place` tells its draws from those of
 * others, which are at least ATT_LAYER_DROPOUT_IDS away. */
enum { ATT_LAYER_DROPOUT_IDS = 8 };
void att_transformer_layer_build(att_transformer_layer *out, att_param_builder *builder,
                                 const att_settings *settings, bool decoder, uint64_t dropout_id,
                                 const char *prefix);

/* What a part is given for x, and what becomes of x with what it gave. */
att_node *att_sublayer_begin(const att_sublayer *frame, att_tape *tape, att_node *x);
att_node *att_sublayer_end(const att_sublayer *frame, att_tape *tape, att_node *x, att_node *y);

/* The last part of a layer, with its frame. */
att_node *att_transformer_layer_ffn(const att_transformer_layer *layer, att_tape *tape,
                                    att_node *x);

#endif
