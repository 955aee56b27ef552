/* The parameters of a model: one block of floats described by a table of names and shapes, and a
 * block of gradients of the same layout. Optimizers, checkpoints and data-parallel exchange work on
 * the blocks; layers work on single parameters.
 *
 * Matrix products read weights in packed form (panels, kern/matmul.h). Packing and sharing:
 * - The network declares, when it is built, which packed forms inference reads (att_param.packing).
 * - att_params_pack() makes these forms once the values are there. From then on the parameters are
 *   read-only for inference, so that any number of threads may share them without a lock.
 * - A training tape (att_tape_new_training) packs on demand, forms for backward included, and again
 *   after att_params_mark_changed(). Only one thread at a time may train.
 * The packed forms cost one more copy of each declared matrix, with columns padded to a multiple of
 * ATT_PANEL_COLUMNS. Embedding tables, biases and norms are never copied, unless a table is also
 * the output layer (tied embeddings).
 *
 * For inference alone, parameters may be int8 (params_int8.c): matrices that products and lookups
 * read are then integers with a scale for each output, in the form that both read, and have no
 * place in the block of floats. */
#ifndef ATT_TAPE_PARAMS_H
#define ATT_TAPE_PARAMS_H

#include "attend.h"
#include "base/arena.h"
#include "kern/int8.h"

enum { ATT_PARAM_MAX_RANK = 4 };

/* Initial values. Every value depends on (seed, name, index) alone, so that adding a layer does not
 * change the initial values of the others. */
typedef enum att_init {
    ATT_INIT_ZERO,
    ATT_INIT_ONE,
    ATT_INIT_UNIFORM,     /* in [-init_scale, init_scale) */
    ATT_INIT_NORMAL,      /* standard deviation init_scale */
    ATT_INIT_GLOROT,      /* uniform in ± init_scale sqrt(6 / (shape[0] + shape[1])) */
    ATT_INIT_FORGET_BIAS, /* zero, but 1 in the forget gate's quarter of an LSTM's bias [4n] */
} att_init;

/* Packed forms of a matrix, as bits. */
enum {
    ATT_PACK_PLAIN = 1,      /* for products x w */
    ATT_PACK_TRANSPOSED = 2, /* for products x wᵀ */
    ATT_PACK_ROWS = 4,       /* no copy: its rows are looked up (embeddings) */
};

typedef struct att_param {
    const char *name; /* "encoder.0.forward.w": the tensor's name in model files */
    int rank;
    int64_t shape[ATT_PARAM_MAX_RANK];
    att_init init;
    float init_scale;
    unsigned packing; /* ATT_PACK_* forms that inference reads; of matrices (rank 2) alone */
    bool float_only;  /* never int8: the weights of a convolution, or floats of an int8 file */
    size_t offset;    /* of its first value in the block; a multiple of 16 */
    size_t count;
} att_param;

typedef struct att_params {
    att_param *items; /* [count] */
    int count;
    size_t capacity;
    float *value;     /* [size]; NULL until att_params_alloc() or att_params_init() */
    float *grad;      /* [size]; NULL until att_params_alloc_grad() */
    size_t size;      /* floats in a block, including alignment gaps, which are always zero */
    uint64_t version; /* of the values; increased by att_params_mark_changed() */
    struct att_packed_weights *packed_weights; /* [2 * count], private to params.c */
    att_int8_matrix *int8; /* [count], without panels where a parameter is float; NULL: all are */
    att_arena names;
} att_params;

/* Adds a row to the table and returns its index in *index. Names are unique. */
att_status att_params_add(att_params *params, const att_param *row, int *index, att_error *err);

/* Declares more packed forms of a parameter, for a use that is known only after it was added. */
void att_param_add_packing(att_params *params, int index, unsigned packing);

/* Allocates the block of values, zeros; for values that will be read from a file. */
att_status att_params_alloc(att_params *params, att_error *err);

/* The same for int8: a matrix for each parameter that can be int8, to be filled, and the block of
 * values for the others. */
att_status att_params_alloc_int8(att_params *params, att_error *err);

/* Whether a parameter can be int8: a matrix that is only multiplied in one form or looked up, with
 * ATT_INT8_MIN_OUTPUTS outputs at least. Its outputs are its columns, or its rows where it is
 * looked up or multiplied as a transpose. */
enum { ATT_INT8_MIN_OUTPUTS = 8 };
bool att_int8_shape_fits(int64_t outputs, int64_t depth);
bool att_param_can_be_int8(const att_param *param);
bool att_param_outputs_are_rows(const att_param *param);

/* The int8 matrix of a parameter; NULL where it is float. */
const att_int8_matrix *att_param_int8(const att_params *params, int index);

/* Copies an int8 parameter in the order of its shape: as integers, or as floats, integer times
 * scale. */
void att_param_int8_values(int8_t *to, const att_params *params, int index);
void att_param_int8_floats(float *to, const att_params *params, int index);

/* Allocates the block of values and fills it with initial values. */
att_status att_params_init(att_params *params, uint64_t seed, att_error *err);

/* Allocates the block of gradients, zeros. */
att_status att_params_alloc_grad(att_params *params, att_error *err);

void att_params_free(att_params *params);

/* The index of a name, or -1. */
int att_params_find(const att_params *params, const char *name);

/* A view of one parameter's values; of a float parameter alone. */
att_tensor att_param_view(const att_params *params, int index);

/* Must be called after values were written: of all parameters, or of one. Packed forms of them are
 * out of date from then on. */
void att_params_mark_changed(att_params *params);
void att_param_mark_changed(att_params *params, int index);

/* Makes the declared packed forms that are missing or out of date. Call it when the values of a
 * model are complete, and before inference with a model that is being trained. */
att_status att_params_pack(att_params *params, att_error *err);

/* The packed form of a matrix parameter or of its transpose; NULL where it is missing or out of
 * date. Reads only. */
const float *att_param_packed(const att_params *params, int index, bool transposed);

/* The same, packed now where it is missing or out of date; NULL when memory is out. For one thread
 * that trains. */
const float *att_param_pack(att_params *params, int index, bool transposed);

#endif
