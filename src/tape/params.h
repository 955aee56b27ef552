/* The parameters of a model: one block of floats described by a table of names and shapes, with a
 * block of gradients beside it. Optimisers, checkpoints and the exchange between processes see the
 * blocks; layers see single parameters. */
#ifndef ATT_TAPE_PARAMS_H
#define ATT_TAPE_PARAMS_H

#include "attend.h"
#include "base/arena.h"

enum { ATT_PARAM_MAX_RANK = 4 };

/* How a parameter starts. Every value is drawn from (seed, name, index) alone, so that adding a
 * layer leaves the start of the others as it was. */
typedef enum att_init {
    ATT_INIT_ZERO,
    ATT_INIT_ONE,
    ATT_INIT_UNIFORM,     /* in [-spread, spread) */
    ATT_INIT_NORMAL,      /* standard deviation `spread` */
    ATT_INIT_GLOROT,      /* uniform, spread sqrt(6 / (shape[0] + shape[1])) */
    ATT_INIT_FORGET_BIAS, /* zero, but 1 in the forget gate's quarter of an LSTM's bias [4n] */
} att_init;

typedef struct att_param {
    const char *name; /* "encoder.0.forward.w": in checkpoints, for good */
    int rank;
    int64_t shape[ATT_PARAM_MAX_RANK];
    att_init init;
    float init_scale;
    size_t offset; /* of its first value in the block; a multiple of 16 */
    size_t count;
} att_param;

/* What belongs to `panels` is private to params.c. */
typedef struct att_params {
    att_param *items; /* [count] */
    int count;
    int capacity;
    float *value;     /* [size] NULL until att_params_init() */
    float *grad;      /* [size] NULL until att_params_alloc_grad() */
    size_t size;      /* floats in a block, gaps of alignment (always zero) included */
    uint64_t version; /* of the values: att_params_mark_changed() counts it up */
    struct att_packed_weights
        *packed_weights; /* [2 * count] weights laid out for the matrix product */
    att_arena names;
} att_params;

/* Adds a row to the table and gives its index. A name may be used once. */
att_status att_params_add(att_params *params, const att_param *row, int *index, att_error *err);

/* Allocates the block, zeros: for values that are there already. */
att_status att_params_alloc(att_params *params, att_error *err);

/* The same, filled with starting values. */
att_status att_params_init(att_params *params, uint64_t seed, att_error *err);

/* Allocates the block of gradients, zeros. */
att_status att_params_alloc_grad(att_params *params, att_error *err);

void att_params_free(att_params *params);

/* The index of a name, or -1. */
int att_params_find(const att_params *params, const char *name);

/* A view of one parameter's values. */
att_tensor att_param_view(const att_params *params, int index);

/* A matrix parameter (of rank 2), or its transpose, packed for kern/matmul.h; made on first use
 * and kept until att_params_mark_changed(). NULL when memory is out. Not from several threads at
 * once.
 */
const float *att_param_packed(att_params *params, int index, bool transposed);

/* To be called whenever values were written. */
void att_params_mark_changed(att_params *params);

#endif
