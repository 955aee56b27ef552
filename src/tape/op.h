/* An operation of the tape: one row of the table in ops.c. The gradient check runs over that table,
 * so that an operation without a reference formula or samples fails the tests. */
#ifndef ATT_TAPE_OP_H
#define ATT_TAPE_OP_H

#include "tape/memory_pool.h"
#include "dev/attend_dev.h"
#include "tape/tape.h"

enum { ATT_SAMPLE_MAX_INPUTS = 8, ATT_NOT_GIVEN = -1 };

/* One case of the gradient check: shapes of the inputs (rank ATT_NOT_GIVEN: input left out) and the
 * operation's options. */
typedef struct att_op_sample {
    const char *name; /* "two rows, one of length 0" */
    int input_count;
    struct {
        int rank;
        int64_t shape[ATT_NODE_MAX_RANK];
    } in[ATT_SAMPLE_MAX_INPUTS];
    const void *options;
    float min_value, max_value; /* range of the random values; both 0: [-1, 1) */
} att_op_sample;

typedef struct att_op {
    const char *name;    /* shown by `attend gradcheck` and in errors */
    size_t options_size; /* of node->options, in bytes */

    /* Sets the node's shape from its inputs and options. Where they do not fit, fails the tape and
     * returns false. */
    bool (*shape)(att_tape *tape, att_node *node);

    /* Computes node->value, and node->saved where backward needs more than inputs and value.
     * NULL: a view. The node shares value and gradient with its first input, in another shape. */
    bool (*forward)(att_tape *tape, att_node *node);

    /* Adds to the gradients of the inputs that require one (att_node_grad). */
    bool (*backward)(att_tape *tape, att_node *node);

    /* The forward in double precision by the formula (src/reference): the check compares `forward`
     * with it and `backward` with its central differences. `in` are the inputs' values. */
    void (*truth)(double *value, const att_node *node, const double *const *in);

    /* Error bound of the samples, in units of half an ulp: the number of roundings that a value may
     * go through one after the other, forward or backward. A sum of n terms has n. */
    double rounding_steps;

    const att_op_sample *samples; /* [sample_count] */
    int sample_count;

    /* Inputs may be int8 parameters (att_node.int8). */
    bool reads_int8;

    /* How the check builds the graph from leaves, for an operation whose input is the node of
     * another operation; NULL: by att_op_apply(). `in` of the truth are then the leaves. */
    att_node *(*apply)(att_tape *tape, att_node *const *in, const void *options);
} att_op;

/* Runs `op` and records its node. `options` is copied, but not the arrays it points to. */
att_node *att_op_apply(att_tape *tape, const att_op *op, att_node *const *in, int count,
                       const void *options);

/* The gradient of `node` to add to; zeros at first. NULL where the node requires none, and where
 * memory is out, which fails the tape. */
float *att_node_grad(att_tape *tape, att_node *node);

/* The same for a caller that writes every element. *add says whether to add to the gradient or to
 * overwrite it; where it is false, the memory is uninitialized. */
float *att_node_grad_overwrite(att_tape *tape, att_node *node, bool *add);

/* Moves the gradient of a node to an input whose gradient is the same, where the input has none
 * yet. It must be the last act of a backward, because the node has no gradient afterwards. Returns
 * false where the caller has to add instead. */
bool att_node_grad_move(att_node *node, att_node *input);

/* Runs the backward of every node that has a gradient, in reverse order of recording. */
att_status att_tape_run_backward(att_tape *tape, att_error *err);

/* The error of the tape, for calls that report through an att_error. */
att_error *att_tape_error(att_tape *tape);

/* A copy of `count` items that lives as long as the nodes; NULL for NULL, and on failure. */
void *att_tape_copy(att_tape *tape, const void *items, int64_t count, size_t size);

/* Temporary memory of an operation: take a mark, allocate, release to the mark. What must stay
 * (gradients, node->saved) is allocated before the mark. */
att_memory_pool_mark att_tape_mark(const att_tape *tape);
void att_tape_release_to_mark(att_tape *tape, att_memory_pool_mark mark);

/* The packed form of a matrix parameter, or of its transpose, from the parameters (params.h). A
 * training tape packs it on demand. An inference tape only reads: NULL where att_params_pack() did
 * not make this form, so that the caller packs it for itself. NULL also on failure. */
const float *att_tape_param_packed(att_tape *tape, int param, bool transposed);

/* How many times att_tape_param_packed() left the packing to its caller, since att_tape_new(). */
int64_t att_tape_unpacked_uses(const att_tape *tape);

/* ---- for the `shape` of operations */
void att_node_set_shape(att_node *node, int rank, const int64_t *shape);
void att_node_shape_like(att_node *node, const att_node *other);

/* Whether input `name` has this shape (-1: any size). If not, fails the tape with both shapes. */
bool att_node_check_shape(att_tape *tape, const att_node *node, const char *name,
                          const att_node *input, int rank, const int64_t *shape);

/* The size of the last dimension (1 for a scalar), and the product of the others. */
int64_t att_node_last_dim(const att_node *node);
int64_t att_node_rows(const att_node *node);

/* ---- the table */
extern const att_op *const att_ops[];
extern const int att_op_count;

/* Checks one operation on one of its samples: the forward against the reference formula, the
 * backward against central differences of it (gradcheck.c). A status is returned where the
 * operation cannot run; a wrong result is reported in *out. */
att_status att_gradcheck_sample(att_gradcheck *out, const att_op *op, int sample, att_error *err);

#endif
