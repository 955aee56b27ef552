/* Reverse-mode differentiation. Operations run at once and are recorded; att_tape_backward() plays
 * them back. What they are is in op.h, how they are called in ops.h.
 *
 * Failures stick: the first one is kept in the tape, every call after it does nothing and gives
 * NULL, and a NULL input is passed on. So a model is written as plain expressions and asks once, at
 * the end (att_tape_status). Nodes live until att_tape_begin() or att_tape_free(). */
#ifndef ATT_TAPE_TAPE_H
#define ATT_TAPE_TAPE_H

#include "tape/params.h"

enum { ATT_NODE_MAX_RANK = 4 };

typedef struct att_tape att_tape;
typedef struct att_node att_node;
struct att_op;

/* One result. Row-major, without gaps. */
struct att_node {
    const struct att_op *op; /* NULL: a leaf */
    int rank;                /* 0: a single number */
    int64_t shape[ATT_NODE_MAX_RANK];
    int64_t count;
    float *value; /* [count] */
    float *
        grad; /* [count], once something was added to it; but for leaves, until it is played back */
    bool requires_grad; /* a gradient is wanted here or further back */
    int param;          /* index in the parameters, or -1 */
    int input_count;
    att_node **in;       /* [inputs] NULL where an operation's optional input is not given */
    const void *options; /* the operation's settings */
    void *saved;         /* what its forward left for its backward */
    att_node *prev;      /* the node recorded before this one */
};

/* `params` is lent and outlives the tape; NULL where there are none. */
att_status att_tape_new(att_tape **out, att_params *params, att_error *err);
void att_tape_free(att_tape *tape);

/* Forgets all nodes (their memory is used again). With `learn`, what follows is recorded for a
 * backward and dropout acts, drawn under `seed` and `step`. Without, nothing is kept. */
void att_tape_begin(att_tape *tape, bool training, uint64_t seed, uint64_t step);

/* The first failure since att_tape_begin(). */
att_status att_tape_status(const att_tape *tape, att_error *err);

/* Whether gradients are being recorded; dropout acts only then. */
bool att_tape_is_training(const att_tape *tape);

/* Most bytes in use at once since att_tape_new(). */
size_t att_tape_peak_bytes(const att_tape *tape);

/* `count` items of `size` bytes that live as long as the nodes, not zeroed, 64-byte aligned; NULL
 * on failure, which sticks. */
void *att_tape_alloc(att_tape *tape, int64_t count, size_t size);

/* A leaf holding a copy of `values` (NULL: zeros). */
att_node *att_tape_input(att_tape *tape, int rank, const int64_t *shape, const float *values);

/* A leaf that looks at `values` where they are; they must stay as long as the nodes. */
att_node *att_tape_input_view(att_tape *tape, int rank, const int64_t *shape, const float *values);

/* As att_tape_input(), wanting a gradient: for tests, and for looking at how gradients flow. */
att_node *att_tape_variable(att_tape *tape, int rank, const int64_t *shape, const float *values);

/* The leaf of a parameter; its gradient is added to params->grad. One leaf per parameter. */
att_node *att_tape_param(att_tape *tape, int index);

/* Adds the gradient of `loss` (a single number) times `scale` to everything that wants one. Once
 * per att_tape_begin(): operations write over what they kept. */
att_status att_tape_backward(att_tape *tape, att_node *loss, float scale, att_error *err);

/* The seed and the step that att_tape_begin() was given. */
uint64_t att_tape_seed(const att_tape *tape);
uint64_t att_tape_step(const att_tape *tape);

/* Fails the tape; for operations: what does not fit, and to what. Gives NULL. */
att_node *att_tape_fail(att_tape *tape, const char *op, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
