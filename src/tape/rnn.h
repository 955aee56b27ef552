/* Shared by the RNN operations (op_rnn*.c, rnn_*.c): cells, saved activations, the input table.
 * Sequences are packed (packed_sequence.h). */
#ifndef ATT_TAPE_RNN_H
#define ATT_TAPE_RNN_H

#include "tape/ops.h"
#include "tape/packed_sequence.h"

enum { RNN_X, RNN_W, RNN_U, RNN_BIAS, RNN_BIAS_U, RNN_INITIAL_STATE, RNN_INPUT_COUNT };

/* One step of one sequence, for a cell of n units. */
typedef struct att_rnn_step {
    size_t n;
    float *gates;             /* gate sums before forward, gates after it, gate gradients after
                                 backward */
    const float *input_gates; /* x w + bias where it is not in `gates` yet; else NULL */
    float *hidden_gates;      /* the GRU's h u + bias_u, then its gradient */
    const float *prev_hidden;
    float *cell; /* the LSTM's */
    const float *prev_cell;
} att_rnn_step;

/* A cell: a row of the table in rnn_cell.c. */
typedef struct att_rnn_cell_impl {
    int gates;
    int states;
    bool separate_hidden_gates; /* h u is not added to x w but kept in hidden_gates */
    void (*forward)(const att_kernels *kernels, const att_rnn_step *step, float *hidden);

    /* `dhidden` and `dcell` hold the gradient of the state after the step and receive that of the
     * state before it; dhidden without the part that flows through h u. */
    void (*backward)(const att_kernels *kernels, const att_rnn_step *step, float *dhidden,
                     float *dcell);
} att_rnn_cell_impl;

const att_rnn_cell_impl *att_rnn_cell_get(att_rnn_cell cell);

/* What forward saves for backward. */
typedef struct att_rnn_saved {
    att_packed_sequence sequence;
    const att_rnn_cell_impl *cell;
    int64_t hidden_size; /* N */
    float *gates;        /* [packed rows, gates N]; temporary in inference */
    float *hidden_gates; /* [packed rows, gates N] with separate_hidden_gates, else NULL */
    float *hidden;       /* [packed rows, N] hidden state before each step */
    float *cells;        /* [batch + packed rows, N]: initial cells by rank, then after each step */
    float *dfinal_cell;  /* [batch, N] by rank: gradient of the final cells, or NULL */
} att_rnn_saved;

/* The parts of the saved arrays that belong to one step of a rank. */
static inline att_rnn_step att_rnn_saved_step(const att_rnn_saved *saved, int64_t s, int64_t rank)
{
    int64_t n = saved->hidden_size, wide = saved->cell->gates * n,
            at = saved->sequence.step_offset[s] + rank;
    int64_t before =
        s > 0 ? saved->sequence.batch + saved->sequence.step_offset[s - 1] + rank : rank;
    return (att_rnn_step){
        .n = (size_t)n,
        .gates = saved->gates + at * wide,
        .hidden_gates = saved->hidden_gates ? saved->hidden_gates + at * wide : NULL,
        .prev_hidden = saved->hidden + at * n,
        .cell = saved->cells ? saved->cells + (saved->sequence.batch + at) * n : NULL,
        .prev_cell = saved->cells ? saved->cells + before * n : NULL
    };
}

/* Whether x is an embedding lookup in a table so small that multiplying the table by w costs less
 * than multiplying every step. The result has the same bits. */
bool att_rnn_input_table_pays(const att_node *x, const att_packed_sequence *sequence);

/* The products of the table's rows with w, and the row of each step. */
typedef struct att_rnn_input_table {
    const float *rows;  /* [V, gates N] with the bias added */
    const float *bias;  /* the row of a step without a token; zeros where there is no bias */
    const int32_t *ids; /* [packed rows], below 0: no token. NULL: the table is not used */
} att_rnn_input_table;

bool att_rnn_input_table_make(att_tape *tape, att_rnn_input_table *out, const att_node *node,
                              const att_rnn_saved *saved, const float *bias);

/* The table's row for packed row `at`. */
static inline const float *att_rnn_input_table_row(const att_rnn_input_table *table, int64_t at,
                                                   int64_t wide)
{
    return table->ids[at] >= 0 ? table->rows + table->ids[at] * wide : table->bias;
}

/* The gradients of w, the embedding table and the bias. */
bool att_rnn_input_table_backward(att_tape *tape, att_node *node, const att_rnn_saved *saved);

/* How many sequences go through a step together: so few that their gates stay in the L2 cache
 * between two passes, and a multiple of the product's tile height. */
static inline int64_t att_rnn_rows_per_block(const att_rnn_saved *saved)
{
    enum { MAX_GATES_PER_BLOCK = 1 << 16, TILE_ROWS = 6 };
    int64_t wide = saved->cell->gates * saved->hidden_size,
            tiles = MAX_GATES_PER_BLOCK / TILE_ROWS / (wide + 1);
    return TILE_ROWS * (tiles > 0 ? tiles : 1);
}

/* dw (+)= aᵀ dgates: a [rows, depth], dgates [rows, wide]. */
bool att_weights_backward(att_tape *tape, float *dw, bool add, const float *a, int64_t depth,
                          const float *dgates, int64_t wide, int64_t rows);

extern const att_op att_op_rnn;
bool att_rnn_backward(att_tape *tape, att_node *node);

/* ---- the gradient check of both operations (rnn_samples.c) */
enum { ATT_RNN_SAMPLE_COUNT = 11 };
extern const att_op_sample att_rnn_samples[ATT_RNN_SAMPLE_COUNT];

/* The arguments of the reference formula for an att_rnn() node with inputs `in`. */
att_reference_rnn_inputs att_rnn_truth_inputs(const att_node *node, const double *const *in);

#endif
