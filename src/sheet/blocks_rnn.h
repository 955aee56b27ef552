/* The recurrent layers of worksheets: a call of rnn, lstm or gru while it runs (blocks_rnn.c), and
 * its cell: the parts of a step and their calculations (blocks_rnn_cells.c). */
#ifndef ATT_SHEET_BLOCKS_RNN_H
#define ATT_SHEET_BLOCKS_RNN_H

#include "sheet/blocks.h"

enum { ATT_SHEET_RNN_PARTS = 6, ATT_SHEET_RNN_GATES = 4 };

typedef struct att_sheet_rnn_run att_sheet_rnn_run;

/* One part of a cell (a gate or a state) and the calculation of its elements. */
typedef struct att_sheet_rnn_part {
    const char *name;
    const char *formula;        /* for att_formula_drop_absent() */
    const char *column_formula; /* where vectors are columns; NULL: the same */
    const char *description;
    att_expr *(*write)(att_arena *arena, const att_sheet_rnn_run *run, int64_t t, int64_t j);
} att_sheet_rnn_part;

typedef struct att_sheet_rnn_cell {
    int64_t gates;
    bool has_cell_state; /* LSTM: takes c, whose new value is the second to last part */
    void (*step)(att_sheet_rnn_run *run, int64_t t);
    att_sheet_rnn_part
        part[ATT_SHEET_RNN_PARTS]; /* gates first, the state h last; terminated by a NULL name */
} att_sheet_rnn_cell;

/* A call during its evaluation. Matrices are [steps, m]; `from_x` and `from_h` hold x W_x + b and h
 * W_h + b_h of the current step, with all gates side by side. */
struct att_sheet_rnn_run {
    const att_call *call;
    const att_sheet_layer *layer;
    const att_sheet_rnn_cell *cell;
    att_argument x;
    const att_matrix *w_x; /* [d, gates m] */
    const att_matrix *w_h; /* [m, gates m] */
    const att_matrix *b;   /* [gates m] or NULL */
    const att_matrix *b_h;
    const double *h; /* [m] before the first step */
    const double *c;
    int64_t m;
    bool before; /* GRU: the reset gate is applied to h before the matrix product */
    size_t parts;
    att_matrix *part[ATT_SHEET_RNN_PARTS];
    double *from_x;
    double *from_h;
};

extern const att_sheet_rnn_cell att_sheet_rnn_cell_rnn, att_sheet_rnn_cell_lstm;
/* With the reset gate applied after and before the matrix product. */
extern const att_sheet_rnn_cell att_sheet_rnn_cell_gru_after, att_sheet_rnn_cell_gru_before;

/* Computes row `t` of every part, then what a scenario changes in it; false when memory is out. */
bool att_sheet_rnn_step(att_sheet_rnn_run *run, int64_t t);

#endif
