/* What operations share: cutting work into ranges, products in the tape's memory, activations. */
#ifndef ATT_TAPE_HELP_H
#define ATT_TAPE_HELP_H

#include "kern/product.h"
#include "tape/op.h"

/* Rows of `width` numbers in a range of att_parallel_for() that is worth a thread. */
int64_t att_rows_grain(int64_t width);

/* y += x, or y = x where not `add`; by several threads where that pays. */
void att_add_all(float *y, const float *x, int64_t count, bool add);

/* sums[j] += the sum over all rows i of x[i, j], in the order of i. */
bool att_add_rows(att_tape *tape, float *sums, const float *x, int64_t rows, int64_t width);

/* A matrix product that packs B, where it has to, in the tape's memory; a failure is the tape's. */
bool att_tape_product(att_tape *tape, const att_product_call *product);

/* `w`, a matrix, or its transpose, in panels: from the parameters if it is one, else packed in the
 * tape's memory. */
const float *att_node_packed(att_tape *tape, const att_node *w, bool transposed);

/* An activation and its gradient. */
typedef struct att_activation_maps {
    att_kern_map *forward;
    att_kern_map_back *backward; /* NULL: the gradient passes unchanged */
    bool keeps_input;            /* backward takes what went in, else what came out */
} att_activation_maps;

att_activation_maps att_activation_get(att_activation activation);

/* The gradient of what went into the activation that `node` ends with; `kept` of the node is what
 * went in, where the activation keeps that. In the tape's memory, or where it came. */
const float *att_activation_back(att_tape *tape, const att_node *node, att_activation activation);

double att_activation_truth(att_activation activation, double x);

#endif
