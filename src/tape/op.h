/* What an operation is: a row of one table. The gradient check (gradcheck.h) runs over the table,
 * so an operation without a truth and samples fails the tests. */
#ifndef ATT_TAPE_OP_H
#define ATT_TAPE_OP_H

#include "tape/memory_pool.h"
#include "tape/tape.h"

enum { ATT_SAMPLE_MAX_INPUTS = 8, ATT_NOT_GIVEN = -1 };

/* One case to check: the shapes of the inputs (rank ATT_NOT_GIVEN: left out) and the settings. */
typedef struct att_op_sample {
    const char *name; /* "two rows, one of length 0" */
    int input_count;
    struct {
        int rank;
        int64_t shape[ATT_NODE_MAX_RANK];
    } in[ATT_SAMPLE_MAX_INPUTS];
    const void *options;
    float min_value, max_value; /* values are drawn between these; both 0: between -1 and 1 */
} att_op_sample;

typedef struct att_op {
    const char *name;
    size_t options_size; /* of its settings */

    /* Gives the node its shape from its inputs and `how`; on a misfit fails the tape and gives
     * false. */
    bool (*shape)(att_tape *tape, att_node *node);

    /* Fills node->value, and node->kept where a backward will need more than inputs and value.
     * NULL: the values are those of the first input, in another shape, and the gradient is its too.
     */
    bool (*forward)(att_tape *tape, att_node *node);

    /* Adds to the gradients of those inputs that learn (att_node_grad). */
    bool (*backward)(att_tape *tape, att_node *node);

    /* The forward in double precision, by the formula: what both of the above are checked against.
     * `in` are the inputs' values. */
    void (*truth)(double *value, const att_node *node, const double *const *in);

    /* Roundings that a value of a sample may go through one after the other, forward or backward: a
     * sum of n terms has n. The error allowed is so many halves of the last place. */
    double rounding_steps;

    const att_op_sample *samples; /* [sample_count] */
    int sample_count;

    /* How the check runs it on leaves; NULL: by att_op_apply(). For what stands on another
     * operation's node. `in` of the truth are then the leaves. */
    att_node *(*apply)(att_tape *tape, att_node *const *in, const void *how);
} att_op;

/* Runs `op` and records it. `how` is copied, not what it points to. */
att_node *att_op_apply(att_tape *tape, const att_op *op, att_node *const *in, int count,
                       const void *how);

/* The gradient of `node`, zeros at first, to add to; NULL where none is wanted, or memory is out
 * (which fails the tape). */
float *att_node_grad(att_tape *tape, att_node *node);

/* The same where all of it will be written: *add tells whether to add, or to write over what is
 * there, which is not even zeros. */
float *att_node_grad_overwrite(att_tape *tape, att_node *node, bool *add);

/* Hands the gradient of a node on to an input that it adds to as it is, where that has none yet:
 * the last thing its backward does, for then it has none itself. False where it is to be added. */
bool att_node_grad_move(att_node *node, att_node *input);

/* Runs the backward of every node that has a gradient, the last first. */
att_status att_tape_run_backward(att_tape *tape, att_error *err);

/* Where a call that fails with an att_error is to say why: the failure of the tape. */
att_error *att_tape_error(att_tape *tape);

/* A copy of `count` items that lives as long as the nodes; NULL for NULL, and on failure. */
void *att_tape_copy(att_tape *tape, const void *items, int64_t count, size_t size);

/* Memory that an operation needs while it runs is given back: take a mark, and return to it. What
 * must stay (gradients, kept things) is taken before. */
att_memory_pool_mark att_tape_mark(const att_tape *tape);
void att_tape_release_to_mark(att_tape *tape, att_memory_pool_mark mark);

/* The parameters, or NULL. */
att_params *att_tape_params(const att_tape *tape);

/* ---- for the `shape` of operations */
void att_node_set_shape(att_node *node, int rank, const int64_t *shape);
void att_node_shape_like(att_node *node, const att_node *other);

/* Whether input `name` has this shape (-1: any size); if not, the tape fails and says so. */
bool att_node_check_shape(att_tape *tape, const att_node *node, const char *name,
                          const att_node *input, int rank, const int64_t *shape);

/* The last dimension, 1 for a single number; and how many rows of it there are. */
int64_t att_node_last_dim(const att_node *node);
int64_t att_node_rows(const att_node *node);

/* Every operation. */
extern const att_op *const att_ops[];
extern const int att_op_count;

#endif
