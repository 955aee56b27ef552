/* What an operation is: a row of one table. The gradient check (gradcheck.h) runs over the table,
 * so an operation without a truth and samples fails the tests. */
#ifndef ATT_TAPE_OP_H
#define ATT_TAPE_OP_H

#include "tape/tape.h"

/* One case to check: the shapes of the inputs (rank -1: not given) and the settings. */
typedef struct att_op_sample {
    const char *name; /* "two rows, one of length 0" */
    struct {
        int rank;
        int64_t shape[ATT_NODE_RANK];
    } in[ATT_NODE_INPUTS];
    const void *how;
    float least, most; /* values are drawn between these; both 0: between -1 and 1 */
} att_op_sample;

typedef struct att_op {
    const char *name;
    int inputs; /* most it takes; a missing one is NULL */

    /* Gives the node its shape from its inputs and `how`; on a misfit fails the tape and gives
     * false. */
    bool (*shape)(att_tape *tape, att_node *node);

    /* Fills node->value, and node->kept where a backward will need more than inputs and value. */
    bool (*forward)(att_tape *tape, att_node *node);

    /* Adds to the gradients of those inputs that learn (att_node_grad). */
    bool (*backward)(att_tape *tape, att_node *node);

    /* The forward in double precision, by the formula: what both of the above are checked against.
     * `in` are the inputs' values. */
    void (*truth)(double *value, const att_node *node, const double *const *in);

    const att_op_sample *samples; /* [sample_count] */
    int sample_count;
} att_op;

/* Runs `op` and records it. `how` is copied, `how_size` bytes. */
att_node *att_op_apply(att_tape *tape, const att_op *op, att_node *const *in, int count,
                       const void *how, size_t how_size);

/* The gradient of `node`, zeros at first, to add to; NULL where none is wanted. */
float *att_node_grad(att_tape *tape, att_node *node);

/* Every operation. */
extern const att_op *const att_ops[];
extern const int att_op_count;

#endif
