/* Inside the recurrent operations (op_recur*.c, recur_*.c).
 *
 * The steps of all sequences of a batch are packed: rows of the batch are ranked by length, longest
 * first, and step 0 of every sequence comes before step 1 of those that have one, and so on. So a
 * step is a block of rows without gaps, padding is never worked on, and every product over all
 * steps is one product. Reading backwards is a matter of where a step comes from and goes to. */
#ifndef ATT_TAPE_RECUR_H
#define ATT_TAPE_RECUR_H

#include "tape/help.h"
#include "tape/ops.h"

enum { RECUR_X, RECUR_W, RECUR_U, RECUR_BIAS, RECUR_BIAS_U, RECUR_START, RECUR_INPUTS };

/* The order of a batch. */
typedef struct att_steps {
    int64_t batch, time;
    int64_t count;   /* of steps: the longest sequence's */
    int64_t *row;    /* [batch] by rank: which row of the batch */
    int64_t *length; /* [batch] by rank: falling */
    int64_t *first;  /* [count + 1] packed row of rank 0 at each step; the last is their number */
    bool reverse;
} att_steps;

bool att_steps_make(att_tape *tape, att_steps *steps, const att_node *x, const att_recurrent *how);

/* How many sequences have step s. */
static inline int64_t att_steps_alive(const att_steps *steps, int64_t s)
{
    return s < steps->count ? steps->first[s + 1] - steps->first[s] : 0;
}

static inline int64_t att_steps_total(const att_steps *steps)
{
    return steps->first[steps->count];
}

/* The row of [batch * time] that step s of a rank stands for. */
static inline int64_t att_steps_place(const att_steps *steps, int64_t s, int64_t rank)
{
    int64_t t = steps->reverse ? steps->length[rank] - 1 - s : s;
    return steps->row[rank] * steps->time + t;
}

/* Calls body(context, first, past) for ranges of ranks with about as many steps each, in parallel.
 */
bool att_steps_share(att_tape *tape, const att_steps *steps, double work_per_step,
                     void (*body)(void *context, int64_t first, int64_t past), void *context);

/* One step of one sequence, for a cell of n units. */
typedef struct att_cell_step {
    size_t n;
    float *gates;      /* what goes into the gates, then the gates, then their gradient */
    const float *from; /* what the input gives to them and is not there yet; NULL: nothing is */
    float *own;        /* the GRU's h u + bias_u, then its gradient */
    const float *hidden_before;
    float *cell; /* the LSTM's */
    const float *cell_before;
} att_cell_step;

/* A kind of cell: a row of a table. */
typedef struct att_cell_kind {
    int gates;
    int states;
    bool apart; /* h u is not added to x w, but kept apart in `own` */
    void (*forward)(const att_kernels *kernels, const att_cell_step *step, float *hidden);

    /* `dhidden` and `dcell` are of the state after the step and become those of the state before
     * it; of dhidden only what does not go through h u. */
    void (*backward)(const att_kernels *kernels, const att_cell_step *step, float *dhidden,
                     float *dcell);
} att_cell_kind;

const att_cell_kind *att_cell_get(att_cell cell);

/* What a forward keeps. */
typedef struct att_recur_kept {
    att_steps steps;
    const att_cell_kind *kind;
    int64_t width;    /* N */
    float *gates;     /* [steps, gates N] NULL where nothing learns */
    float *own;       /* [steps, gates N] of a kind that keeps it apart, else NULL */
    float *hidden;    /* [steps, N] before each step */
    float *cells;     /* [batch + steps, N] by rank before the first step, then after each */
    float *dcell_end; /* [batch, N] by rank: gradient of the last cells, or NULL */
} att_recur_kept;

/* The place of one step in what is kept. */
static inline att_cell_step att_recur_step(const att_recur_kept *kept, int64_t s, int64_t rank)
{
    int64_t n = kept->width, wide = kept->kind->gates * n, at = kept->steps.first[s] + rank;
    int64_t before = s > 0 ? kept->steps.batch + kept->steps.first[s - 1] + rank : rank;
    return (att_cell_step){ .n = (size_t)n,
                            .gates = kept->gates + at * wide,
                            .own = kept->own ? kept->own + at * wide : NULL,
                            .hidden_before = kept->hidden + at * n,
                            .cell = kept->cells ? kept->cells + (kept->steps.batch + at) * n : NULL,
                            .cell_before = kept->cells ? kept->cells + before * n : NULL };
}

/* c [rows, columns] = a [rows, depth] panels, on this thread. */
typedef struct att_rows_product {
    float *c;
    const float *a, *panels, *bias;
    int64_t rows, columns, depth;
    bool add;
} att_rows_product;

void att_rows_multiply(const att_kernels *kernels, const att_rows_product *product);

/* Rows of x [batch, time, width] in the order of the steps. */
void att_steps_gather(const att_steps *steps, float *packed, const float *x, int64_t width);

/* The reverse; where not `add`, places that no step stands for become zero. */
void att_steps_scatter(const att_steps *steps, float *x, const float *packed, int64_t width,
                       bool add);

/* Where x is an embedding of so few tokens that the table is multiplied by w instead of every step:
 * the same bits for less work. */
bool att_table_pays(const att_node *x, const att_steps *steps);

/* The products of the table's rows, and which each step takes. */
typedef struct att_recur_table {
    const float *rows;  /* [V, gates N] with the bias added */
    const float *bias;  /* what a step without a token has, or zeros */
    const int32_t *ids; /* [steps], below 0: no token; NULL: there is no table */
} att_recur_table;

bool att_table_make(att_tape *tape, att_recur_table *out, const att_node *node,
                    const att_recur_kept *kept, const float *panels, const float *bias);

/* What step `at` of the packed ones takes. */
static inline const float *att_table_row(const att_recur_table *table, int64_t at, int64_t wide)
{
    return table->ids[at] >= 0 ? table->rows + table->ids[at] * wide : table->bias;
}

/* The gradients of w, the table and the bias. */
bool att_table_back(att_tape *tape, att_node *node, const att_recur_kept *kept);

/* How many sequences go through a step together: so few that their gates stay in the second cache
 * from one pass over them to the next, and whole tiles of the product. */
static inline int64_t att_recur_rows_at_once(const att_recur_kept *kept)
{
    enum { GATES_AT_ONCE = 1 << 16, TILES_OF = 6 };
    int64_t wide = kept->kind->gates * kept->width, tiles = GATES_AT_ONCE / TILES_OF / (wide + 1);
    return TILES_OF * (tiles > 0 ? tiles : 1);
}

/* dw = aᵀ dgates over rows: a [rows, depth], dgates [rows, wide]. */
bool att_weights_back(att_tape *tape, float *dw, bool add, const float *a, int64_t depth,
                      const float *dgates, int64_t wide, int64_t rows);

extern const att_op att_op_recur;
bool att_recur_backward(att_tape *tape, att_node *node);

/* ---- for the check of both operations (recur_truth.c) */
enum { ATT_RECUR_SAMPLES = 11 };
extern const att_op_sample att_recur_samples[ATT_RECUR_SAMPLES];

/* The whole of it in double precision: hidden [B,T,N] and the state at the end [B, states N];
 * either may be NULL. */
void att_recur_exact(double *hidden, double *end, const att_recurrent *how,
                     const int64_t sizes[4] /* B, T, D, N */, const double *const *in);

#endif
