/* The parameters of a pointer-generator (See et al. 2017): the gate between generating and copying,
 * and for a Transformer the attention that copies; an RNN copies by its decoder attention.
 *
 * A Transformer has a head of its own for copying, since its cross attention has several heads in
 * each layer, trained for other purposes, whose weights are never all in memory: one head of full
 * width over the encoder output costs less than storing and averaging theirs. */
#ifndef ATT_NN_COPY_LAYER_H
#define ATT_NN_COPY_LAYER_H

#include "nn/linear_layer.h"
#include "nn/rows_by_source.h"

typedef struct att_copy_layer {
    bool enabled;
    att_linear_layer gate;       /* [D,1] */
    att_linear_layer query, key; /* [D,D] of the copy head; none in an RNN */
} att_copy_layer;

/* Adds the parameters, named "copy.…", for decoder states of width `size`; those of the copy head
 * if `own_head`. */
void att_copy_layer_build(att_copy_layer *out, att_param_builder *builder, int64_t size,
                          bool own_head);

/* The gate of decoder states x [..., D], before the sigmoid: [..., 1]. */
att_node *att_copy_layer_gate(const att_copy_layer *layer, att_tape *tape, att_node *x);

/* The keys of the copy head from encoder states [B,S,D], once per source. */
att_node *att_copy_layer_keys(const att_copy_layer *layer, att_tape *tape, att_node *states);

/* The weights of the copy head, [rows,T,S], for decoder states x [rows,T,D] and keys [B,S,D] of
 * sources of the given lengths. `grouped` has the source of each row, and then T is 1; NULL: row b
 * has source b. */
att_node *att_copy_layer_weights(const att_copy_layer *layer, att_tape *tape, att_node *x,
                                 att_node *keys, const int64_t *lengths,
                                 const att_rows_by_source *grouped);

#endif
