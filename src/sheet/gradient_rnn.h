/* The backward pass of the RNN cells: what the rules of the cells (gradient_rnn_cells.c) and their
 * run (gradient_rnn.c) share. */
#ifndef ATT_SHEET_GRADIENT_RNN_H
#define ATT_SHEET_GRADIENT_RNN_H

#include "reference/rnn_backward.h"
#include "sheet/blocks.h"
#include "sheet/gradient_rules.h"

typedef struct att_cell_back att_cell_back;

/* The calculation of element (t, j), vectors as rows: what is sent to step t, unit j. */
typedef att_expr *att_write_step(att_arena *arena, const att_cell_back *back, int64_t t, int64_t j);

/* A part of a cell: the formula of its gradient without what the loss sends directly (NULL: only
 * that), the rule in words, and the calculation of one element. */
typedef struct att_cell_rule {
    const char *formula;
    const char *column_formula; /* where vectors are columns; NULL: the same */
    const char *reason;
    att_write_step *write;
    bool from_next; /* it comes from the next step: nothing arrives after the last */
} att_cell_rule;

/* A cell. Formulas come in pairs, for vectors as rows and as columns. In them h, z, … are the parts
 * and dh, dz, … their gradients; t + 1 is the next step; dgates has the gradients of the sums
 * before the activations, dgates_h those of the products with h. */
typedef struct att_cell_gradient {
    att_rnn_cell kind;
    bool has_cell_state;
    bool reset_first; /* GRU: the reset gate acts on h before the product */
    att_cell_rule part[ATT_MAX_RNN_PARTS];
    int order[ATT_MAX_RNN_PARTS]; /* in which the parts are completed */
    att_cell_rule gates;          /* the sums before the activations; no formula: they are a part */
    att_cell_rule products;       /* of h, where they differ from the gates; or none */
    const char *w_h[2];           /* the gradients of W_h, */
    const char *b_h[2];           /* of the bias beside it, */
    const char *start[2];         /* and of the state before the first step */
    att_write_step *write_w_h;    /* (row, column) of W_h; NULL: the sum of products */
} att_cell_gradient;

extern const att_cell_gradient att_rnn_gradient, att_lstm_gradient, att_gru_gradient,
    att_gru_reset_first_gradient;

/* A call during its backward pass. */
struct att_cell_back {
    const att_cell_gradient *cell;
    const att_computation *c;
    att_sheet_layer layer;                              /* the orientation of vectors */
    const att_matrix *x, *w_x, *w_h, *b, *b_h, *h, *c0; /* with vectors as rows, and */
    const att_matrix *given_x, *given_w_x, *given_w_h, *given_h, *given_c0; /* as in the sheet */
    const att_matrix *part[ATT_MAX_RNN_PARTS];
    const att_matrix *sent[ATT_MAX_RNN_PARTS]; /* what the loss sends directly, or NULL */
    att_matrix *grad[ATT_MAX_RNN_PARTS];
    att_matrix *gates, *gates_u; /* of the sums before the activations, and of h W_h */
    att_matrix *dx, *dw_x, *dw_h, *db, *db_h, *dh, *dc0;
    att_reference_rnn_run run;
    att_formula_name names[ATT_MAX_RNN_PARTS + 3];
};

/* The state before step t, unit j. */
double att_cell_state_before(const att_cell_back *back, int64_t t, int64_t j);

/* What step t sends back to unit j of the state before it. */
att_write_step att_write_state_before;

#endif
