/* RNN cells: rnn, lstm and gru over a sequence of input rows, from an initial state. Vectors are
 * rows: h' = tanh(x W_x + h W_h + b). Gates are side by side in the columns of W_x, W_h and b, in
 * the order of the cell's parts. The result is the state after each row. Where vectors are columns,
 * all of it is transposed: W_x x + W_h h + b, gates one above the other. */
#include "sheet/blocks.h"
#include "sheet/scenario.h"

#include "base/math.h"
#include "reference/activation.h"
#include "reference/linear.h"
#include "reference/rnn.h"
#include "sheet/rounding.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_PARTS = 6, MAX_GATES = 4 };

struct run;

/* One part of a cell (a gate or a state) and the calculation of its elements. */
struct cell_part {
    const char *name;
    const char *formula;        /* for att_formula_drop_absent() */
    const char *column_formula; /* where vectors are columns; NULL: the same */
    const char *description;
    att_expr *(*write)(att_arena *arena, const struct run *run, int64_t t, int64_t j);
};

struct cell {
    int64_t gates;
    bool has_cell_state; /* LSTM: takes c, whose new value is the second to last part */
    void (*step)(struct run *run, int64_t t);
    struct cell_part part[MAX_PARTS]; /* gates first, the state h last; terminated by a NULL name */
};

/* A call during its evaluation. Matrices are [steps, m]; `from_x` and `from_h` hold x W_x + b and h
 * W_h + b_h of the current step, with all gates side by side. */
struct run {
    const att_call *call;
    const att_sheet_layer *layer;
    const struct cell *cell;
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
    att_matrix *part[MAX_PARTS];
    double *from_x;
    double *from_h;
};

static double *at(const struct run *run, size_t part, int64_t t)
{
    return run->part[part]->data + t * run->m;
}

static const double *previous_state(const struct run *run, int64_t t)
{
    return t == 0 ? run->h : at(run, run->parts - 1, t - 1);
}

static const double *previous_cell_state(const struct run *run, int64_t t)
{
    return t == 0 ? run->c : at(run, run->parts - 2, t - 1);
}

static const double *input(const struct run *run, int64_t t)
{
    return run->x.matrix->data + t * run->x.matrix->cols;
}

/* ---------------------------------------------------------------- steps */

static double rounded(const struct run *run, double x)
{
    return att_rounding_number(run->call->rounding, x);
}

enum { RNN_Z, RNN_H };

static void step_rnn(struct run *run, int64_t t)
{
    for (int64_t j = 0; j < run->m; j++) {
        at(run, RNN_Z, t)[j] = rounded(run, run->from_x[j] + run->from_h[j]);
        at(run, RNN_H, t)[j] = rounded(run, att_tanh(at(run, RNN_Z, t)[j]));
    }
}

enum { LSTM_I, LSTM_F, LSTM_G, LSTM_O, LSTM_C, LSTM_H };

/* Rounded gates, the cell state from them, the hidden state from that. */
static void round_lstm(struct run *run, int64_t t, int64_t j, double c)
{
    for (size_t g = LSTM_I; g <= LSTM_O; g++)
        at(run, g, t)[j] = rounded(run, at(run, g, t)[j]);
    at(run, LSTM_C, t)[j] =
        rounded(run, at(run, LSTM_F, t)[j] * c + at(run, LSTM_I, t)[j] * at(run, LSTM_G, t)[j]);
    at(run, LSTM_H, t)[j] = rounded(run, at(run, LSTM_O, t)[j] * att_tanh(at(run, LSTM_C, t)[j]));
}

static void step_lstm(struct run *run, int64_t t)
{
    const double *c = previous_cell_state(run, t);
    for (int64_t j = 0; j < run->m; j++) {
        double x[MAX_GATES], h[MAX_GATES];
        for (int64_t g = 0; g < MAX_GATES; g++) {
            x[g] = run->from_x[g * run->m + j];
            h[g] = run->from_h[g * run->m + j];
        }
        att_reference_lstm unit = att_reference_lstm_unit(x, h, c[j]);
        at(run, LSTM_I, t)[j] = unit.input;
        at(run, LSTM_F, t)[j] = unit.forget;
        at(run, LSTM_G, t)[j] = unit.candidate;
        at(run, LSTM_O, t)[j] = unit.output;
        at(run, LSTM_C, t)[j] = unit.cell;
        at(run, LSTM_H, t)[j] = unit.hidden;
        if (run->call->rounding)
            round_lstm(run, t, j, c[j]);
    }
}

enum { GRU_R, GRU_Z, GRU_N, GRU_H };

/* (r .* h) U_n for column j: the original GRU. */
static double reset_before(const struct run *run, int64_t t, int64_t j)
{
    const double *h = previous_state(run, t);
    double sum = 0.0;
    for (int64_t l = 0; l < run->m; l++)
        sum +=
            at(run, GRU_R, t)[l] * h[l] * run->w_h->data[l * run->w_h->cols + GRU_N * run->m + j];
    return sum + (run->b_h ? run->b_h->data[GRU_N * run->m + j] : 0.0);
}

static void round_gru(struct run *run, int64_t t, int64_t j, double h)
{
    double z = rounded(run, at(run, GRU_Z, t)[j]), n = rounded(run, at(run, GRU_N, t)[j]);
    at(run, GRU_Z, t)[j] = z;
    at(run, GRU_N, t)[j] = n;
    at(run, GRU_H, t)[j] = rounded(run, (1 - z) * n + z * h);
}

/* The reset gates of all units come first: the candidate of a unit may need all of them. */
static void step_gru(struct run *run, int64_t t)
{
    const double *state = previous_state(run, t);
    int64_t m = run->m;
    for (int64_t j = 0; j < m; j++)
        at(run, GRU_R, t)[j] = rounded(run, att_reference_sigmoid(run->from_x[j] + run->from_h[j]));
    for (int64_t j = 0; j < m; j++) {
        const double x[] = { run->from_x[j], run->from_x[m + j], run->from_x[2 * m + j] };
        const double h[] = { run->from_h[j], run->from_h[m + j], run->from_h[2 * m + j] };
        double past = run->before ? reset_before(run, t, j) : at(run, GRU_R, t)[j] * h[GRU_N];
        att_reference_gru unit = att_reference_gru_unit_reset_first(x, h, past, state[j]);
        at(run, GRU_Z, t)[j] = unit.update;
        at(run, GRU_N, t)[j] = unit.candidate;
        at(run, GRU_H, t)[j] = unit.hidden;
        if (run->call->rounding)
            round_gru(run, t, j, state[j]);
    }
}

/* ---------------------------------------------------------------- calculations */

static att_expr *number(att_arena *arena, double value)
{
    return att_make_number(arena, value);
}

static att_expr *multiply_elementwise(att_arena *arena, double a, att_expr *b)
{
    return att_make_binary(arena, ATT_OP_MULTIPLY, number(arena, a), b);
}

/* x·W_x + b of one column, and h·W_h + b_h. */
static void add_product(att_expr_sum *sum, const struct run *run, const double *x,
                        const att_matrix *w, int64_t col)
{
    if (run->layer->columns)
        att_expr_sum_add_dot_product(sum, w->rows, w->data + col, w->cols, x, 1);
    else
        att_expr_sum_add_dot_product(sum, w->rows, x, 1, w->data + col, w->cols);
}

static void add_from_x(att_expr_sum *sum, const struct run *run, int64_t t, int64_t col)
{
    add_product(sum, run, input(run, t), run->w_x, col);
    if (run->b)
        att_expr_sum_add(sum, number(sum->arena, run->b->data[col]));
}

static void add_from_h(att_expr_sum *sum, const struct run *run, int64_t t, int64_t col)
{
    add_product(sum, run, previous_state(run, t), run->w_h, col);
    if (run->b_h)
        att_expr_sum_add(sum, number(sum->arena, run->b_h->data[col]));
}

static att_expr *write_gate(att_arena *arena, const struct run *run, int64_t t, int64_t col)
{
    att_expr_sum sum = { .arena = arena };
    add_from_x(&sum, run, t, col);
    add_from_h(&sum, run, t, col);
    return sum.expr;
}

static att_expr *write_rnn_z(att_arena *arena, const struct run *run, int64_t t, int64_t j)
{
    return write_gate(arena, run, t, j);
}

static att_expr *write_rnn_h(att_arena *arena, const struct run *run, int64_t t, int64_t j)
{
    return att_make_call(arena, "tanh", number(arena, at(run, RNN_Z, t)[j]));
}

/* Gates of the LSTM and the GRU by their place in the columns. */
static att_expr *write_gate_0(att_arena *arena, const struct run *run, int64_t t, int64_t j)
{
    return att_make_call(arena, "sigmoid", write_gate(arena, run, t, j));
}

static att_expr *write_gate_1(att_arena *arena, const struct run *run, int64_t t, int64_t j)
{
    return att_make_call(arena, "sigmoid", write_gate(arena, run, t, run->m + j));
}

static att_expr *write_lstm_g(att_arena *arena, const struct run *run, int64_t t, int64_t j)
{
    return att_make_call(arena, "tanh", write_gate(arena, run, t, LSTM_G * run->m + j));
}

static att_expr *write_lstm_o(att_arena *arena, const struct run *run, int64_t t, int64_t j)
{
    return att_make_call(arena, "sigmoid", write_gate(arena, run, t, LSTM_O * run->m + j));
}

static att_expr *write_lstm_c(att_arena *arena, const struct run *run, int64_t t, int64_t j)
{
    att_expr *kept = multiply_elementwise(arena, at(run, LSTM_F, t)[j],
                                          number(arena, previous_cell_state(run, t)[j]));
    att_expr *added =
        multiply_elementwise(arena, at(run, LSTM_I, t)[j], number(arena, at(run, LSTM_G, t)[j]));
    return att_make_binary(arena, ATT_OP_ADD, kept, added);
}

static att_expr *write_lstm_h(att_arena *arena, const struct run *run, int64_t t, int64_t j)
{
    return multiply_elementwise(arena, at(run, LSTM_O, t)[j],
                                att_make_call(arena, "tanh", number(arena, at(run, LSTM_C, t)[j])));
}

static att_expr *write_gru_n(att_arena *arena, const struct run *run, int64_t t, int64_t j)
{
    int64_t col = GRU_N * run->m + j;
    att_expr_sum sum = { .arena = arena };
    att_expr_sum past = { .arena = arena };
    add_from_x(&sum, run, t, col);
    if (run->before) {
        att_expr_sum_add(&sum, number(arena, reset_before(run, t, j)));
    } else {
        add_from_h(&past, run, t, col);
        att_expr_sum_add(&sum, multiply_elementwise(arena, at(run, GRU_R, t)[j], past.expr));
    }
    return att_make_call(arena, "tanh", sum.expr);
}

static att_expr *write_gru_h(att_arena *arena, const struct run *run, int64_t t, int64_t j)
{
    double z = at(run, GRU_Z, t)[j];
    att_expr *rest = att_make_binary(arena, ATT_OP_SUBTRACT, number(arena, 1.0), number(arena, z));
    att_expr *fresh =
        att_make_binary(arena, ATT_OP_MULTIPLY, rest, number(arena, at(run, GRU_N, t)[j]));
    att_expr *kept = multiply_elementwise(arena, z, number(arena, previous_state(run, t)[j]));
    return att_make_binary(arena, ATT_OP_ADD, fresh, kept);
}

/* ---------------------------------------------------------------- the cells */

static const struct cell rnn = {
    1,
    false,
    step_rnn,
    { { "z", "x * W_x + h * W_h< + b>", "W_x * x + W_h * h< + b>", "the sum of both linear maps",
        write_rnn_z },
      { "h", "tanh(z)", NULL, "the new hidden state", write_rnn_h } },
};

static const struct cell lstm = {
    4,
    true,
    step_lstm,
    { { "i", "sigmoid(x * W_i + h * U_i< + b_i>)", "sigmoid(W_i * x + U_i * h< + b_i>)",
        "the input gate: how much of the candidate to add", write_gate_0 },
      { "f", "sigmoid(x * W_f + h * U_f< + b_f>)", "sigmoid(W_f * x + U_f * h< + b_f>)",
        "the forget gate: how much of the cell state to keep", write_gate_1 },
      { "g", "tanh(x * W_g + h * U_g< + b_g>)", "tanh(W_g * x + U_g * h< + b_g>)",
        "the candidate cell state", write_lstm_g },
      { "o", "sigmoid(x * W_o + h * U_o< + b_o>)", "sigmoid(W_o * x + U_o * h< + b_o>)",
        "the output gate: how much of the cell state to output", write_lstm_o },
      { "c", "f .* c + i .* g", NULL, "the new cell state", write_lstm_c },
      { "h", "o .* tanh(c)", NULL, "the new hidden state", write_lstm_h } },
};

#define GRU_GATES                                                                                  \
    { "r", "sigmoid(x * W_r + h * U_r< + b_r>{ + b_hr})",                                          \
      "sigmoid(W_r * x + U_r * h< + b_r>{ + b_hr})",                                               \
      "the reset gate: how much of the previous state the candidate uses", write_gate_0 },         \
    {                                                                                              \
        "z", "sigmoid(x * W_z + h * U_z< + b_z>{ + b_hz})",                                        \
            "sigmoid(W_z * x + U_z * h< + b_z>{ + b_hz})",                                         \
            "the update gate: how much of the previous state to keep", write_gate_1                \
    }

static const struct cell gru_after = {
    3,
    false,
    step_gru,
    { GRU_GATES,
      { "n", "tanh(x * W_n< + b_n> + r .* (h * U_n{ + b_hn}))",
        "tanh(W_n * x< + b_n> + r .* (U_n * h{ + b_hn}))", "the candidate state", write_gru_n },
      { "h", "(1 - z) .* n + z .* h", NULL, "the new hidden state", write_gru_h } },
};

static const struct cell gru_before = {
    3,
    false,
    step_gru,
    { GRU_GATES,
      { "n", "tanh(x * W_n< + b_n> + (r .* h) * U_n{ + b_hn})",
        "tanh(W_n * x< + b_n> + U_n * (r .* h){ + b_hn})", "the candidate state", write_gru_n },
      { "h", "(1 - z) .* n + z .* h", NULL, "the new hidden state", write_gru_h } },
};

/* ---------------------------------------------------------------- arguments */

/* Argument `index` with its vectors as rows. `shape` keeps its shape in the sheet, for messages. */
static att_status read_oriented(const struct run *run, size_t index, const char *usage_name,
                                att_argument *out, const att_matrix **shape)
{
    ATT_TRY(att_argument_get(run->call, index, usage_name, out));
    *shape = out->matrix;
    out->matrix = att_sheet_layer_orient(run->layer, out->matrix);
    return out->matrix ? ATT_OK : att_fail_memory(run->call->err);
}

/* Told where the other orientation of vectors fits. */
static const char *orientation_hint(const struct run *run, bool fits)
{
    if (!fits)
        return "";
    return run->layer->columns ? " (without 'vectors = columns', vectors are rows)"
                               : " (for column vectors: vectors = columns)";
}

/* Reads a state of one vector; the first state determines the hidden size m. */
static att_status read_state(struct run *run, size_t index, const char *usage_name,
                             const double **out)
{
    att_argument state;
    const att_matrix *shape;
    ATT_TRY(read_oriented(run, index, usage_name, &state, &shape));
    bool first = run->m == 0;
    const char *vector = run->layer->columns ? "column" : "row";
    if (first && state.matrix->rows != 1)
        return att_call_fail(run->call, state.node,
                             "%s: %s is %" PRId64 " × %" PRId64 ", but a state must be one %s%s",
                             run->call->function->name, state.name, shape->rows, shape->cols,
                             vector, orientation_hint(run, state.matrix->cols == 1));
    if (!first && (state.matrix->rows != 1 || state.matrix->cols != run->m))
        return att_call_fail(run->call, state.node,
                             "%s: %s is %" PRId64 " × %" PRId64
                             ", but must be one %s as %s as h, %" PRId64 " × %" PRId64,
                             run->call->function->name, state.name, shape->rows, shape->cols,
                             vector, run->layer->columns ? "high" : "wide",
                             run->layer->columns ? run->m : 1, run->layer->columns ? 1 : run->m);
    run->m = state.matrix->cols;
    *out = state.matrix->data;
    return ATT_OK;
}

static att_status read_matrix(const struct run *run, size_t index, const char *usage_name,
                              int64_t inputs, const char *whose, const att_matrix **out)
{
    att_argument w;
    const att_matrix *shape;
    int64_t units = run->cell->gates * run->m;
    bool columns = run->layer->columns;
    ATT_TRY(read_oriented(run, index, usage_name, &w, &shape));
    *out = w.matrix;
    if (w.matrix->rows == inputs && w.matrix->cols == units)
        return ATT_OK;
    return att_call_fail(run->call, w.node,
                         "%s: %s is %" PRId64 " × %" PRId64 ", but must be %" PRId64 " × %" PRId64
                         ": a %s for each element of %s, a %s for each unit%s",
                         run->call->function->name, w.name, shape->rows, shape->cols,
                         columns ? units : inputs, columns ? inputs : units,
                         columns ? "column" : "row", whose, columns ? "row" : "column",
                         run->cell->gates > 1 ? " of each gate" : "");
}

static att_status read_arguments(struct run *run)
{
    size_t next = 0;
    int64_t wide;
    const att_matrix *shape;
    ATT_TRY(read_oriented(run, next++, "x", &run->x, &shape));
    ATT_TRY(read_state(run, next++, "h", &run->h));
    if (run->cell->has_cell_state)
        ATT_TRY(read_state(run, next++, "c", &run->c));
    wide = run->cell->gates * run->m;
    ATT_TRY(read_matrix(run, next++, "W_x", run->x.matrix->cols, run->x.name, &run->w_x));
    ATT_TRY(read_matrix(run, next++, "W_h", run->m, "h", &run->w_h));
    ATT_TRY(att_argument_vector(run->call, next++, "b", wide, &run->b));
    if (run->b && att_slip_is_made(run->call->scenario, ATT_SLIP_NO_BIAS, run->call->node, 0))
        run->b = NULL;
    return att_argument_vector(run->call, next++, "b_h", wide, &run->b_h);
}

/* ---------------------------------------------------------------- running */

/* out = row w + bias */
static void map_row(double *out, const double *row, const att_matrix *w, const att_matrix *bias)
{
    const att_reference_linear_weights weights = {
        .w = w->data, .bias = bias ? bias->data : NULL, .depth = w->rows, .columns = w->cols
    };
    att_reference_linear(out, row, 1, &weights, ATT_ACTIVATION_NONE);
}

/* The sum before the activation of a GRU's candidate. */
static double candidate_sum(const struct run *run, int64_t t, int64_t j)
{
    return run->from_x[GRU_N * run->m + j] +
           (run->before ? reset_before(run, t, j)
                        : at(run, GRU_R, t)[j] * run->from_h[GRU_N * run->m + j]);
}

/* The slips of a cell that a scenario makes. */
struct slips {
    bool no_activation, gates_exchanged;
};

/* The part of step `t` computed again from the parts before it, which a scenario has changed. The
 * gates of an LSTM and the reset gate of a GRU depend on no other part of the step. */
static void step_part(struct run *run, size_t part, int64_t t, struct slips slips)
{
    bool is_lstm = run->cell == &lstm, is_gru = run->cell != &rnn && !is_lstm;
    for (int64_t j = 0; j < run->m; j++) {
        double *to = at(run, part, t) + j, old, new, factor = 1;
        if (is_lstm && part == LSTM_C) {
            old = at(run, slips.gates_exchanged ? LSTM_I : LSTM_F, t)[j];
            new = at(run, slips.gates_exchanged ? LSTM_F : LSTM_I, t)[j];
            *to = old * previous_cell_state(run, t)[j] + new *at(run, LSTM_G, t)[j];
            continue;
        }
        if (is_gru && part == GRU_H) {
            old = slips.gates_exchanged ? 1 - at(run, GRU_Z, t)[j] : at(run, GRU_Z, t)[j];
            *to = (1 - old) * at(run, GRU_N, t)[j] + old * previous_state(run, t)[j];
            continue;
        }
        if (run->cell == &rnn && part == RNN_H)
            new = at(run, RNN_Z, t)[j];
        else if (is_lstm && part == LSTM_H)
            new = at(run, LSTM_C, t)[j], factor = at(run, LSTM_O, t)[j];
        else if (is_gru && part == GRU_N)
            new = candidate_sum(run, t, j);
        else
            continue;
        *to = factor * (slips.no_activation ? new : att_tanh(new));
    }
}

/* Row `t` of every part with the student's numbers, and what follows from them. */
static bool apply_scenario(struct run *run, int64_t t)
{
    const att_call *call = run->call;
    const struct slips slips = {
        att_slip_is_made(call->scenario, ATT_SLIP_NO_ACTIVATION, call->node, 0),
        run->cell != &rnn &&
            att_slip_is_made(call->scenario, ATT_SLIP_GATES_EXCHANGED, call->node, 0)
    };
    bool changed = slips.no_activation || slips.gates_exchanged;
    for (size_t p = 0; p < run->parts; p++) {
        if (changed)
            step_part(run, p, t, slips);
        const att_matrix *given =
            att_scenario_part(run->call, run->cell->part[p].name, 0, run->part[p]);
        if (!given)
            return false;
        for (int64_t j = 0; j < run->m; j++) {
            changed = changed || at(run, p, t)[j] != given->data[t * run->m + j];
            at(run, p, t)[j] = given->data[t * run->m + j];
        }
    }
    return true;
}

static att_status run_steps(struct run *run)
{
    att_arena *arena = run->call->arena;
    int64_t steps = run->x.matrix->rows;
    size_t wide = (size_t)(run->cell->gates * run->m);
    run->from_x = att_arena_alloc(arena, wide, sizeof(double));
    run->from_h = att_arena_alloc(arena, wide, sizeof(double));
    if (!run->from_x || !run->from_h)
        return att_fail_memory(run->call->err);
    for (; run->parts < MAX_PARTS && run->cell->part[run->parts].name; run->parts++) {
        att_matrix *m = att_matrix_new(arena, steps, run->m);
        if (!m)
            return att_fail_memory(run->call->err);
        m->row_labels = run->x.matrix->numbered ? NULL : run->x.matrix->row_labels;
        run->part[run->parts] = m;
    }
    for (int64_t t = 0; t < steps; t++) {
        map_row(run->from_x, input(run, t), run->w_x, run->b);
        map_row(run->from_h, previous_state(run, t), run->w_h, run->b_h);
        run->cell->step(run, t);
        if (run->call->scenario && !apply_scenario(run, t))
            return att_fail_memory(run->call->err);
    }
    return ATT_OK;
}

static att_status write_part(const struct run *run, size_t index, att_calculations *out)
{
    const struct cell_part *row = &run->cell->part[index];
    const att_matrix *value = run->part[index];
    att_arena *arena = run->call->arena;
    if (!att_calculation_fits(value->rows, value->cols, run->w_x->rows + run->m))
        return ATT_OK;
    ATT_TRY(
        att_calculations_start(out, arena, (size_t)(value->rows * value->cols), run->call->err));
    bool columns = run->layer->columns;
    for (int64_t t = 0; t < value->rows; t++)
        for (int64_t j = 0; j < value->cols; j++)
            ATT_TRY(att_calculations_add_number(
                out, arena, columns ? j + 1 : t + 1,
                columns ? att_make_indexed(arena, row->name, j + 1, t + 1)
                        : att_make_indexed(arena, row->name, t + 1, j + 1),
                row->write(arena, run, t, j), value->data[t * value->cols + j], run->call->err));
    return ATT_OK;
}

static att_status run_cell(const att_call *call, const struct cell *cell, bool before,
                           att_value *out)
{
    att_sheet_layer layer;
    struct run run = { .call = call, .layer = &layer, .cell = cell, .before = before };
    ATT_TRY(att_sheet_layer_start(&layer, call, MAX_PARTS));
    ATT_TRY(read_arguments(&run));
    ATT_TRY(att_sheet_layer_check_cost(call, (double)run.x.matrix->rows * (double)run.w_x->cols *
                                                 (double)(run.w_x->rows + run.w_h->rows)));
    ATT_TRY(run_steps(&run));
    for (size_t i = 0; i < run.parts; i++) {
        att_calculations calculations = { 0 };
        ATT_TRY(write_part(&run, i, &calculations));
        const struct cell_part *part = &cell->part[i];
        const char *text = att_formula_drop_absent(
            call->arena,
            layer.columns && part->column_formula ? part->column_formula : part->formula,
            run.b != NULL, run.b_h != NULL);
        const att_expr *formula = text ? att_formula(call->arena, text) : NULL;
        if (!formula)
            return att_fail_memory(call->err);
        ATT_TRY(att_sheet_layer_add(
            &layer, &(att_trace_part){ .name = part->name,
                                       .description = part->description,
                                       .formula = formula,
                                       .value = att_sheet_layer_orient(&layer, run.part[i]),
                                       .calculations = calculations.items,
                                       .calculation_count = calculations.count }));
    }
    att_sheet_layer_finish(&layer, out);
    return ATT_OK;
}

att_status att_run_rnn(const att_call *call, att_value *out)
{
    return run_cell(call, &rnn, false, out);
}

att_status att_run_lstm(const att_call *call, att_value *out)
{
    return run_cell(call, &lstm, false, out);
}

att_status att_run_gru(const att_call *call, att_value *out)
{
    static const char *const orders[] = { "after", "before", NULL };
    size_t order = 0;
    ATT_TRY(att_option_word(call, "reset", orders, &order));
    return run_cell(call, order == 1 ? &gru_before : &gru_after, order == 1, out);
}
