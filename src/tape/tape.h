/* Reverse-mode automatic differentiation (autograd). Operations run immediately and are recorded;
 * att_tape_backward() runs them backward. op.h says what an operation is, ops.h lists them.
 *
 * Errors are sticky: the tape keeps the first one, every later call does nothing and returns NULL,
 * and a NULL input yields a NULL result. So a model is written as plain expressions and checks the
 * status once, at the end (att_tape_status). Nodes live until att_tape_begin() or att_tape_free().
 */
#ifndef ATT_TAPE_TAPE_H
#define ATT_TAPE_TAPE_H

#include "tape/params.h"

enum { ATT_NODE_MAX_RANK = 4 };

typedef struct att_tape att_tape;
typedef struct att_node att_node;
struct att_op;

/* The result of one operation, or a leaf. Row-major, without gaps. */
struct att_node {
    const struct att_op *op; /* NULL: a leaf */
    int rank;                /* 0: a scalar */
    int64_t shape[ATT_NODE_MAX_RANK];
    int64_t count;               /* elements */
    float *value;                /* [count]; NULL for an int8 parameter: */
    const att_int8_matrix *int8; /* its matrix, which operations with reads_int8 read */
    float *grad; /* [count], NULL until something was added to it. Only leaves keep theirs after
                    the node's backward */
    bool requires_grad; /* this node, or an input before it, requires a gradient */
    int param;          /* index in the parameters, or -1 */
    int input_count;
    att_node **in;       /* [input_count] NULL where an optional input is not given */
    const void *options; /* of the operation */
    void *saved;         /* what forward left for backward */
    att_node *prev;      /* the node recorded before this one */
    const char *layer;   /* the layer whose output this is ("encoder layer"); NULL: none */
    int layer_number;    /* from 1; 0: the layer has no number */
    att_node *next_layer;
};

/* A tape for inference: it only reads the parameters, so that several tapes on several threads may
 * share them (params.h). Nothing is added to params->grad. `params` must outlive the tape; NULL: no
 * parameters. */
att_status att_tape_new(att_tape **out, const att_params *params, att_error *err);

/* A tape for training: gradients are added to params->grad where that is allocated, and weights are
 * packed on demand. No other tape may use the parameters at the same time. */
att_status att_tape_new_training(att_tape **out, att_params *params, att_error *err);

void att_tape_free(att_tape *tape);

/* Forgets all nodes and reuses their memory. With `training`, the following operations are recorded
 * for backward, and dropout is active, drawn from `seed` and `step`. */
void att_tape_begin(att_tape *tape, bool training, uint64_t seed, uint64_t step);

/* Says that the second half of the rows of the batch are those of the first half once more, for
 * predictions that differ in dropout (model/batch_twice.h): dropout that rows of a batch share is
 * then not shared by the two. Until the next att_tape_begin(). */
void att_tape_set_rows_twice(att_tape *tape);
bool att_tape_has_rows_twice(const att_tape *tape);

/* The first error since att_tape_begin(). */
att_status att_tape_status(const att_tape *tape, att_error *err);

/* The arguments of att_tape_begin(). */
bool att_tape_is_training(const att_tape *tape);
uint64_t att_tape_seed(const att_tape *tape);
uint64_t att_tape_step(const att_tape *tape);

/* The largest number of bytes in use at once since att_tape_new(). */
size_t att_tape_peak_bytes(const att_tape *tape);

/* `count` items of `size` bytes that live as long as the nodes, uninitialized, 64-byte aligned;
 * NULL on failure, which fails the tape. */
void *att_tape_alloc(att_tape *tape, int64_t count, size_t size);

/* A leaf with a copy of `values` (NULL: zeros). */
att_node *att_tape_input(att_tape *tape, int rank, const int64_t *shape, const float *values);

/* A leaf that refers to `values` without a copy; they must live as long as the nodes. */
att_node *att_tape_input_view(att_tape *tape, int rank, const int64_t *shape, const float *values);

/* As att_tape_input(), but with a gradient: for tests and for inspecting gradient flow. */
att_node *att_tape_variable(att_tape *tape, int rank, const int64_t *shape, const float *values);

/* The leaf of a parameter, the same node at every call. On a training tape its gradient is added to
 * params->grad. */
att_node *att_tape_param(att_tape *tape, int index);

/* Names a node as the output of a layer, for reports of values that are not finite
 * (model/layer_check.h). `layer` is a string literal; a node keeps its first name. Returns the
 * node, or NULL for NULL. */
att_node *att_tape_name_layer(att_tape *tape, att_node *node, const char *layer, int number);

/* The first of the named nodes, in the order of naming; next_layer leads to the others. */
const att_node *att_tape_first_layer(const att_tape *tape);

/* Adds scale times the gradient of the scalar `loss` to every node that requires one. At most once
 * per att_tape_begin(), because backward overwrites what forward saved. */
att_status att_tape_backward(att_tape *tape, att_node *loss, float scale, att_error *err);

/* Sets a function that backward calls with the index of each parameter in use when its gradient is
 * final; NULL: none. It stays until it is set again. */
void att_tape_on_final_param(att_tape *tape, void (*on_final)(void *context, int param),
                             void *context);

/* Fails the tape, for operations: "expected X, found Y". Returns NULL. */
att_node *att_tape_fail(att_tape *tape, const char *op, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
