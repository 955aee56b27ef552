/* One recurrent layer in one direction. */
#ifndef ATT_NN_CELL_H
#define ATT_NN_CELL_H

#include "nn/build.h"
#include "tape/ops.h"

typedef struct att_cell_layer {
    att_cell cell;
    int64_t width;          /* N */
    int w, u, bias, bias_u; /* as in att_recurrent_inputs; bias_u for the GRU alone */
} att_cell_layer;

/* Adds its parameters, named after `prefix`, for inputs of width `in`. */
void att_cell_build(att_cell_layer *out, att_builder *builder, att_cell cell, int64_t in,
                    int64_t width, const char *prefix);

/* Where a layer starts from and how it goes through a sequence. */
typedef struct att_cell_run {
    att_node *start;        /* [B, states N], or NULL: zeros */
    const int64_t *lengths; /* [B], or NULL */
    bool reverse;
} att_cell_run;

/* x [B,T,in] to hidden states [B,T,N]: an att_recur() node. */
att_node *att_cell_layer_run(const att_cell_layer *layer, att_tape *tape, att_node *x,
                             const att_cell_run *run);

#endif
