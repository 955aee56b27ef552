/* The cells of recurrent layers: what one step of an RNN, an LSTM and a GRU computes, the
 * calculation of each element, and the slips that a scenario makes in a step. */
#include "sheet/blocks_rnn.h"

#include "base/math.h"
#include "reference/activation.h"
#include "reference/linear.h"
#include "reference/rnn.h"
#include "sheet/rounding.h"
#include "sheet/scenario.h"

static double *at(const att_sheet_rnn_run *run, size_t part, int64_t t)
{
    return run->part[part]->data + t * run->m;
}

static const double *previous_state(const att_sheet_rnn_run *run, int64_t t)
{
    return t == 0 ? run->h : at(run, run->parts - 1, t - 1);
}

static const double *previous_cell_state(const att_sheet_rnn_run *run, int64_t t)
{
    return t == 0 ? run->c : at(run, run->parts - 2, t - 1);
}

static const double *input(const att_sheet_rnn_run *run, int64_t t)
{
    return run->x.matrix->data + t * run->x.matrix->cols;
}

/* ---------------------------------------------------------------- steps */

static double rounded(const att_sheet_rnn_run *run, double x)
{
    return att_rounding_number(run->call->rounding, x);
}

enum { RNN_Z, RNN_H };

static void step_rnn(att_sheet_rnn_run *run, int64_t t)
{
    for (int64_t j = 0; j < run->m; j++) {
        at(run, RNN_Z, t)[j] = rounded(run, run->from_x[j] + run->from_h[j]);
        at(run, RNN_H, t)[j] = rounded(run, att_tanh(at(run, RNN_Z, t)[j]));
    }
}

enum { LSTM_I, LSTM_F, LSTM_G, LSTM_O, LSTM_C, LSTM_H };

/* Rounded gates, the cell state from them, the hidden state from that. */
static void round_lstm(att_sheet_rnn_run *run, int64_t t, int64_t j, double c)
{
    for (size_t g = LSTM_I; g <= LSTM_O; g++)
        at(run, g, t)[j] = rounded(run, at(run, g, t)[j]);
    at(run, LSTM_C, t)[j] =
        rounded(run, at(run, LSTM_F, t)[j] * c + at(run, LSTM_I, t)[j] * at(run, LSTM_G, t)[j]);
    at(run, LSTM_H, t)[j] = rounded(run, at(run, LSTM_O, t)[j] * att_tanh(at(run, LSTM_C, t)[j]));
}

static void step_lstm(att_sheet_rnn_run *run, int64_t t)
{
    const double *c = previous_cell_state(run, t);
    for (int64_t j = 0; j < run->m; j++) {
        double x[ATT_SHEET_RNN_GATES], h[ATT_SHEET_RNN_GATES];
        for (int64_t g = 0; g < ATT_SHEET_RNN_GATES; g++) {
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
static double reset_before(const att_sheet_rnn_run *run, int64_t t, int64_t j)
{
    const double *h = previous_state(run, t);
    double sum = 0.0;
    for (int64_t l = 0; l < run->m; l++)
        sum +=
            at(run, GRU_R, t)[l] * h[l] * run->w_h->data[l * run->w_h->cols + GRU_N * run->m + j];
    return sum + (run->b_h ? run->b_h->data[GRU_N * run->m + j] : 0.0);
}

static void round_gru(att_sheet_rnn_run *run, int64_t t, int64_t j, double h)
{
    double z = rounded(run, at(run, GRU_Z, t)[j]), n = rounded(run, at(run, GRU_N, t)[j]);
    at(run, GRU_Z, t)[j] = z;
    at(run, GRU_N, t)[j] = n;
    at(run, GRU_H, t)[j] = rounded(run, (1 - z) * n + z * h);
}

/* The reset gates of all units come first: the candidate of a unit may need all of them. */
static void step_gru(att_sheet_rnn_run *run, int64_t t)
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
static void add_product(att_expr_sum *sum, const att_sheet_rnn_run *run, const double *x,
                        const att_matrix *w, int64_t col)
{
    if (run->layer->columns)
        att_expr_sum_add_dot_product(sum, w->rows, w->data + col, w->cols, x, 1);
    else
        att_expr_sum_add_dot_product(sum, w->rows, x, 1, w->data + col, w->cols);
}

static void add_from_x(att_expr_sum *sum, const att_sheet_rnn_run *run, int64_t t, int64_t col)
{
    add_product(sum, run, input(run, t), run->w_x, col);
    if (run->b)
        att_expr_sum_add(sum, number(sum->arena, run->b->data[col]));
}

static void add_from_h(att_expr_sum *sum, const att_sheet_rnn_run *run, int64_t t, int64_t col)
{
    add_product(sum, run, previous_state(run, t), run->w_h, col);
    if (run->b_h)
        att_expr_sum_add(sum, number(sum->arena, run->b_h->data[col]));
}

static att_expr *write_gate(att_arena *arena, const att_sheet_rnn_run *run, int64_t t, int64_t col)
{
    att_expr_sum sum = { .arena = arena };
    add_from_x(&sum, run, t, col);
    add_from_h(&sum, run, t, col);
    return sum.expr;
}

static att_expr *write_rnn_z(att_arena *arena, const att_sheet_rnn_run *run, int64_t t, int64_t j)
{
    return write_gate(arena, run, t, j);
}

static att_expr *write_rnn_h(att_arena *arena, const att_sheet_rnn_run *run, int64_t t, int64_t j)
{
    return att_make_call(arena, "tanh", number(arena, at(run, RNN_Z, t)[j]));
}

/* Gates of the LSTM and the GRU by their place in the columns. */
static att_expr *write_gate_0(att_arena *arena, const att_sheet_rnn_run *run, int64_t t, int64_t j)
{
    return att_make_call(arena, "sigmoid", write_gate(arena, run, t, j));
}

static att_expr *write_gate_1(att_arena *arena, const att_sheet_rnn_run *run, int64_t t, int64_t j)
{
    return att_make_call(arena, "sigmoid", write_gate(arena, run, t, run->m + j));
}

static att_expr *write_lstm_g(att_arena *arena, const att_sheet_rnn_run *run, int64_t t, int64_t j)
{
    return att_make_call(arena, "tanh", write_gate(arena, run, t, LSTM_G * run->m + j));
}

static att_expr *write_lstm_o(att_arena *arena, const att_sheet_rnn_run *run, int64_t t, int64_t j)
{
    return att_make_call(arena, "sigmoid", write_gate(arena, run, t, LSTM_O * run->m + j));
}

static att_expr *write_lstm_c(att_arena *arena, const att_sheet_rnn_run *run, int64_t t, int64_t j)
{
    att_expr *kept = multiply_elementwise(arena, at(run, LSTM_F, t)[j],
                                          number(arena, previous_cell_state(run, t)[j]));
    att_expr *added =
        multiply_elementwise(arena, at(run, LSTM_I, t)[j], number(arena, at(run, LSTM_G, t)[j]));
    return att_make_binary(arena, ATT_OP_ADD, kept, added);
}

static att_expr *write_lstm_h(att_arena *arena, const att_sheet_rnn_run *run, int64_t t, int64_t j)
{
    return multiply_elementwise(arena, at(run, LSTM_O, t)[j],
                                att_make_call(arena, "tanh", number(arena, at(run, LSTM_C, t)[j])));
}

static att_expr *write_gru_n(att_arena *arena, const att_sheet_rnn_run *run, int64_t t, int64_t j)
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

static att_expr *write_gru_h(att_arena *arena, const att_sheet_rnn_run *run, int64_t t, int64_t j)
{
    double z = at(run, GRU_Z, t)[j];
    att_expr *rest = att_make_binary(arena, ATT_OP_SUBTRACT, number(arena, 1.0), number(arena, z));
    att_expr *fresh =
        att_make_binary(arena, ATT_OP_MULTIPLY, rest, number(arena, at(run, GRU_N, t)[j]));
    att_expr *kept = multiply_elementwise(arena, z, number(arena, previous_state(run, t)[j]));
    return att_make_binary(arena, ATT_OP_ADD, fresh, kept);
}

/* ---------------------------------------------------------------- the cells */

const att_sheet_rnn_cell att_sheet_rnn_cell_rnn = {
    1,
    false,
    step_rnn,
    { { "z", "x * W_x + h * W_h< + b>", "W_x * x + W_h * h< + b>", "the sum of both linear maps",
        write_rnn_z },
      { "h", "tanh(z)", NULL, "the new hidden state", write_rnn_h } },
};

const att_sheet_rnn_cell att_sheet_rnn_cell_lstm = {
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

const att_sheet_rnn_cell att_sheet_rnn_cell_gru_after = {
    3,
    false,
    step_gru,
    { GRU_GATES,
      { "n", "tanh(x * W_n< + b_n> + r .* (h * U_n{ + b_hn}))",
        "tanh(W_n * x< + b_n> + r .* (U_n * h{ + b_hn}))", "the candidate state", write_gru_n },
      { "h", "(1 - z) .* n + z .* h", NULL, "the new hidden state", write_gru_h } },
};

const att_sheet_rnn_cell att_sheet_rnn_cell_gru_before = {
    3,
    false,
    step_gru,
    { GRU_GATES,
      { "n", "tanh(x * W_n< + b_n> + (r .* h) * U_n{ + b_hn})",
        "tanh(W_n * x< + b_n> + U_n * (r .* h){ + b_hn})", "the candidate state", write_gru_n },
      { "h", "(1 - z) .* n + z .* h", NULL, "the new hidden state", write_gru_h } },
};

/* ---------------------------------------------------------------- running a step */

/* The sum before the activation of a GRU's candidate. */
static double candidate_sum(const att_sheet_rnn_run *run, int64_t t, int64_t j)
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
static void step_part(att_sheet_rnn_run *run, size_t part, int64_t t, struct slips slips)
{
    bool is_lstm = run->cell == &att_sheet_rnn_cell_lstm,
         is_gru = run->cell != &att_sheet_rnn_cell_rnn && !is_lstm;
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
        if (run->cell == &att_sheet_rnn_cell_rnn && part == RNN_H)
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

/* out = row w + bias */
static void map_row(double *out, const double *row, const att_matrix *w, const att_matrix *bias)
{
    const att_reference_linear_weights weights = {
        .w = w->data, .bias = bias ? bias->data : NULL, .depth = w->rows, .columns = w->cols
    };
    att_reference_linear(out, row, 1, &weights, ATT_ACTIVATION_NONE);
}

/* Row `t` of every part with the student's numbers, and what follows from them. */
static bool apply_scenario(att_sheet_rnn_run *run, int64_t t)
{
    const att_call *call = run->call;
    const struct slips slips = {
        att_slip_is_made(call->scenario, ATT_SLIP_NO_ACTIVATION, call->node, 0),
        run->cell != &att_sheet_rnn_cell_rnn &&
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

bool att_sheet_rnn_step(att_sheet_rnn_run *run, int64_t t)
{
    map_row(run->from_x, input(run, t), run->w_x, run->b);
    map_row(run->from_h, previous_state(run, t), run->w_h, run->b_h);
    run->cell->step(run, t);
    return !run->call->scenario || apply_scenario(run, t);
}
