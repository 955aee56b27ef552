/* A linear layer: a weight matrix and, where the model has biases, a bias. */
#ifndef ATT_NN_LINEAR_LAYER_H
#define ATT_NN_LINEAR_LAYER_H

#include "nn/param_builder.h"
#include "tape/ops.h"

typedef struct att_linear_layer {
    int w;    /* [in,out] */
    int bias; /* [out], or ATT_NO_PARAM */
} att_linear_layer;

/* Adds the matrix as parameter `prefix`.`name` and the bias as `prefix`.`name`_bias. */
void att_linear_layer_build(att_linear_layer *out, att_param_builder *builder, int64_t in,
                            int64_t width, bool bias, const char *prefix, const char *name);

/* activation(x w + bias) */
att_node *att_linear_layer_run(const att_linear_layer *layer, att_tape *tape, att_node *x,
                               att_activation activation);

#endif
