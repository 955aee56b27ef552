/* Inside the recurrent operations (op_recur*.c, recur_*.c).
 *
 * The steps of all sequences of a batch are packed: rows of the batch are ranked by length, longest
 * first, and step 0 of every sequence comes before step 1 of those that have one, and so on. So a
 * step is a block of rows without gaps, padding is never worked on, and every product over all
 * steps is one product. Reading backwards is a matter of where a step comes from and goes to. */
#ifndef ATT_TAPE_RNN_H
#define ATT_TAPE_RNN_H

#include "tape/op_util.h"
#include "tape/ops.h"

enum { RNN_X, RNN_W, RNN_U, RNN_BIAS, RNN_BIAS_U, RNN_INITIAL_STATE, RNN_INPUT_COUNT };

/* The order of a batch. */
typedef struct att_packed_sequence {
    int64_t batch, max_time;
    int64_t steps;      /* of steps: the longest sequence's */
    int64_t *batch_row; /* [batch] by rank: which row of the batch */
    int64_t *length;    /* [batch] by rank: falling */
    int64_t
        *step_offset; /* [count + 1] packed row of rank 0 at each step; the last is their number */
    bool reverse;
} att_packed_sequence;

bool att_packed_sequence_make(att_tape *tape, att_packed_sequence *steps, const att_node *x,
                              const att_rnn_options *options);

/* How many sequences have step s. */
static inline int64_t att_packed_sequence_batch_size(const att_packed_sequence *steps, int64_t s)
{
    return s < steps->steps ? steps->step_offset[s + 1] - steps->step_offset[s] : 0;
}

static inline int64_t att_packed_sequence_total(const att_packed_sequence *steps)
{
    return steps->step_offset[steps->steps];
}

/* The row of [batch * time] that step s of a rank stands for. */
static inline int64_t att_packed_sequence_index(const att_packed_sequence *steps, int64_t s,
                                                int64_t rank)
{
    int64_t t = steps->reverse ? steps->length[rank] - 1 - s : s;
    return steps->batch_row[rank] * steps->max_time + t;
}

/* Calls body(context, first, past) for ranges of ranks with about as many steps each, in parallel.
 */
bool att_packed_sequence_parallel_for(att_tape *tape, const att_packed_sequence *steps,
                                      double work_per_step,
                                      void (*body)(void *context, int64_t first, int64_t past),
                                      void *context);

/* One step of one sequence, for a cell of n units. */
typedef struct att_rnn_step {
    size_t n;
    float *gates; /* what goes into the gates, then the gates, then their gradient */
    const float
        *input_gates;    /* what the input gives to them and is not there yet; NULL: nothing is */
    float *hidden_gates; /* the GRU's h u + bias_u, then its gradient */
    const float *prev_hidden;
    float *cell; /* the LSTM's */
    const float *prev_cell;
} att_rnn_step;

/* A kind of cell: a row of a table. */
typedef struct att_rnn_cell_impl {
    int gates;
    int states;
    bool separate_hidden_gates; /* h u is not added to x w, but kept apart in `own` */
    void (*forward)(const att_kernels *kernels, const att_rnn_step *step, float *hidden);

    /* `dhidden` and `dcell` are of the state after the step and become those of the state before
     * it; of dhidden only what does not go through h u. */
    void (*backward)(const att_kernels *kernels, const att_rnn_step *step, float *dhidden,
                     float *dcell);
} att_rnn_cell_impl;

const att_rnn_cell_impl *att_rnn_cell_get(att_rnn_cell cell);

/* What a forward keeps. */
typedef struct att_rnn_saved {
    att_packed_sequence sequence;
    const att_rnn_cell_impl *cell;
    int64_t hidden_size; /* N */
    float *gates;        /* [steps, gates N] NULL where nothing learns */
    float *hidden_gates; /* [steps, gates N] of a kind that keeps it apart, else NULL */
    float *hidden;       /* [steps, N] before each step */
    float *cells;        /* [batch + steps, N] by rank before the first step, then after each */
    float *dfinal_cell;  /* [batch, N] by rank: gradient of the last cells, or NULL */
} att_rnn_saved;

/* The place of one step in what is kept. */
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

/* c [rows, columns] = a [rows, depth] panels, on this thread. */
typedef struct att_panel_matmul {
    float *c;
    const float *a, *panels, *bias;
    int64_t rows, columns, depth;
    bool accumulate;
} att_panel_matmul;

void att_panel_matmul_run(const att_kernels *kernels, const att_panel_matmul *product);

/* Rows of x [batch, time, width] in the order of the steps. */
void att_packed_sequence_gather(const att_packed_sequence *steps, float *packed, const float *x,
                                int64_t width);

/* The reverse; where not `add`, places that no step stands for become zero. */
void att_packed_sequence_scatter(const att_packed_sequence *steps, float *x, const float *packed,
                                 int64_t width, bool add);

/* Where x is an embedding of so few tokens that the table is multiplied by w instead of every step:
 * the same bits for less work. */
bool att_rnn_input_table_pays(const att_node *x, const att_packed_sequence *steps);

/* The products of the table's rows, and which each step takes. */
typedef struct att_rnn_input_table {
    const float *rows;  /* [V, gates N] with the bias added */
    const float *bias;  /* what a step without a token has, or zeros */
    const int32_t *ids; /* [steps], below 0: no token; NULL: there is no table */
} att_rnn_input_table;

bool att_rnn_input_table_make(att_tape *tape, att_rnn_input_table *out, const att_node *node,
                              const att_rnn_saved *saved, const float *panels, const float *bias);

/* What step `at` of the packed ones takes. */
static inline const float *att_rnn_input_table_row(const att_rnn_input_table *table, int64_t at,
                                                   int64_t wide)
{
    return table->ids[at] >= 0 ? table->rows + table->ids[at] * wide : table->bias;
}

/* The gradients of w, the table and the bias. */
bool att_rnn_input_table_backward(att_tape *tape, att_node *node, const att_rnn_saved *saved);

/* How many sequences go through a step together: so few that their gates stay in the second cache
 * from one pass over them to the next, and whole tiles of the product. */
static inline int64_t att_rnn_rows_per_block(const att_rnn_saved *saved)
{
    enum { GATES_AT_ONCE = 1 << 16, TILES_OF = 6 };
    int64_t wide = saved->cell->gates * saved->hidden_size,
            tiles = GATES_AT_ONCE / TILES_OF / (wide + 1);
    return TILES_OF * (tiles > 0 ? tiles : 1);
}

/* dw = aᵀ dgates over rows: a [rows, depth], dgates [rows, wide]. */
bool att_weights_backward(att_tape *tape, float *dw, bool add, const float *a, int64_t depth,
                          const float *dgates, int64_t wide, int64_t rows);

extern const att_op att_op_rnn;
bool att_rnn_backward(att_tape *tape, att_node *node);

/* ---- for the check of both operations (recur_truth.c) */
enum { ATT_RNN_SAMPLE_COUNT = 11 };
extern const att_op_sample att_rnn_samples[ATT_RNN_SAMPLE_COUNT];

/* The whole of it in double precision: hidden [B,T,N] and the state at the end [B, states N];
 * either may be NULL. */
void att_reference_rnn(double *hidden, double *end, const att_rnn_options *options,
                       const int64_t sizes[4] /* B, T, D, N */, const double *const *in);

#endif
