/* Backpropagation through time in double precision. Every step first completes the gradients of
 * its parts, then those of the sums before the activations, then sends these to the inputs, the
 * parameters and the state before it. */
#include "reference/rnn_backward.h"

#include "reference/linear.h"

#include "base/math.h"

#include <stddef.h>

enum { RNN_Z, RNN_H };
enum { LSTM_I, LSTM_F, LSTM_G, LSTM_O, LSTM_C, LSTM_H };
enum { GRU_R, GRU_Z, GRU_N, GRU_H };

int att_rnn_cell_parts(att_rnn_cell cell)
{
    static const int parts[] = { [ATT_RNN_CELL_VANILLA] = RNN_H + 1,
                                 [ATT_RNN_CELL_GRU] = GRU_H + 1,
                                 [ATT_RNN_CELL_LSTM] = LSTM_H + 1 };
    return parts[cell];
}

/* A step of the walk. `hidden` and `cell` are the gradients that the step after it sends back to
 * the state; each step replaces them by those of the state before it. */
struct step {
    const att_reference_rnn_grads *g;
    const att_reference_rnn_run *run;
    int64_t t;
    const double *before;      /* [N] hidden state before the step */
    const double *cell_before; /* [N], LSTM */
    double *hidden, *cell;     /* [N] */
    double *reset_product;     /* [N] GRU: of r h, or h u + bias_u of the candidate */
};

static double value(const struct step *s, int part, int64_t j)
{
    return s->run->part[part][s->t * s->run->units + j];
}

/* Stores `grad` plus what the loss sends to the part directly; returns the sum. */
static double finish(const struct step *s, int part, int64_t j, double grad)
{
    int64_t at = s->t * s->run->units + j;
    if (s->g->upstream[part])
        grad += s->g->upstream[part][at];
    s->g->part[part][at] = grad;
    return grad;
}

static double *gates(const struct step *s, double *of)
{
    return of + s->t * s->run->units * att_rnn_cell_gates(s->run->cell);
}

static void set_gate(const struct step *s, int gate, int64_t j, double grad)
{
    int64_t at = gate * s->run->units + j;
    gates(s, s->g->gates)[at] = grad;
    gates(s, s->g->gates_u)[at] = grad;
}

static void step_vanilla(struct step *s)
{
    for (int64_t j = 0; j < s->run->units; j++) {
        double h = value(s, RNN_H, j);
        double dh = finish(s, RNN_H, j, s->hidden[j]);
        set_gate(s, 0, j, finish(s, RNN_Z, j, dh * (1 - h * h)));
        s->hidden[j] = 0;
    }
}

static void step_lstm(struct step *s)
{
    for (int64_t j = 0; j < s->run->units; j++) {
        double i = value(s, LSTM_I, j), f = value(s, LSTM_F, j), g = value(s, LSTM_G, j),
               o = value(s, LSTM_O, j), squashed = att_tanh(value(s, LSTM_C, j));
        double dh = finish(s, LSTM_H, j, s->hidden[j]);
        double dc = finish(s, LSTM_C, j, s->cell[j] + dh * o * (1 - squashed * squashed));
        set_gate(s, LSTM_I, j, finish(s, LSTM_I, j, dc * g) * i * (1 - i));
        set_gate(s, LSTM_F, j, finish(s, LSTM_F, j, dc * s->cell_before[j]) * f * (1 - f));
        set_gate(s, LSTM_G, j, finish(s, LSTM_G, j, dc * i) * (1 - g * g));
        set_gate(s, LSTM_O, j, finish(s, LSTM_O, j, dh * squashed) * o * (1 - o));
        s->hidden[j] = 0;
        s->cell[j] = dc * f;
    }
}

/* Column j of the candidate in h u + bias_u. */
static double candidate_product(const struct step *s, int64_t j)
{
    const att_reference_linear_weights u = { s->run->u, s->run->bias_u, s->run->units,
                                             ATT_GRU_GATES * s->run->units, false };
    return att_reference_linear_at(s->before, &u, GRU_N * s->run->units + j);
}

/* From the candidate's gradient to that of the reset gate, where it acts on h before the product:
 * e = dn u_nᵀ is the gradient of r h. */
static void reset_first(struct step *s)
{
    int64_t n = s->run->units, columns = ATT_GRU_GATES * n;
    const double *dn = gates(s, s->g->gates) + GRU_N * n;
    double *gates_u = gates(s, s->g->gates_u) + GRU_N * n;
    for (int64_t l = 0; l < n; l++) {
        double e = 0;
        for (int64_t j = 0; j < n; j++) {
            e += dn[j] * s->run->u[l * columns + GRU_N * n + j];
            s->g->u[l * columns + GRU_N * n + j] += value(s, GRU_R, l) * s->before[l] * dn[j];
        }
        s->reset_product[l] = e * s->before[l];
        s->hidden[l] += e * value(s, GRU_R, l);
    }
    for (int64_t j = 0; j < n; j++) {
        s->g->bias_u[GRU_N * n + j] += dn[j];
        gates_u[j] = 0; /* sent back here, not by the product h u */
    }
}

static void step_gru(struct step *s)
{
    int64_t n = s->run->units;
    double *gates_u = gates(s, s->g->gates_u);
    for (int64_t j = 0; j < n; j++) {
        double z = value(s, GRU_Z, j), c = value(s, GRU_N, j);
        double dh = finish(s, GRU_H, j, s->hidden[j]);
        double dz = finish(s, GRU_Z, j, dh * (s->before[j] - c));
        set_gate(s, GRU_Z, j, dz * z * (1 - z));
        set_gate(s, GRU_N, j, finish(s, GRU_N, j, dh * (1 - z)) * (1 - c * c));
        s->hidden[j] = dh * z;
        s->reset_product[j] = gates_u[GRU_N * n + j] * candidate_product(s, j);
        gates_u[GRU_N * n + j] *= value(s, GRU_R, j);
    }
    if (s->run->reset_first)
        reset_first(s);
    for (int64_t j = 0; j < n; j++) {
        double r = value(s, GRU_R, j);
        set_gate(s, GRU_R, j, finish(s, GRU_R, j, s->reset_product[j]) * r * (1 - r));
    }
}

/* From the sums before the activations to inputs, parameters and the state before. */
static void step_products(struct step *s)
{
    const att_reference_rnn_run *run = s->run;
    const att_reference_rnn_grads *g = s->g;
    int64_t columns = run->units * att_rnn_cell_gates(run->cell);
    const att_reference_linear_weights w = { run->w, NULL, run->depth, columns, false };
    const att_reference_linear_weights u = { run->u, NULL, run->units, columns, false };
    att_reference_linear_backward(g->x + s->t * run->depth, g->w, g->bias, gates(s, g->gates),
                                  run->x + s->t * run->depth, 1, &w);
    att_reference_linear_backward(s->hidden, g->u, g->bias_u, gates(s, g->gates_u), s->before, 1,
                                  &u);
}

void att_reference_rnn_backward(const att_reference_rnn_grads *grads,
                                const att_reference_rnn_run *run, double *scratch)
{
    static void (*const steps[])(struct step *) = { [ATT_RNN_CELL_VANILLA] = step_vanilla,
                                                    [ATT_RNN_CELL_GRU] = step_gru,
                                                    [ATT_RNN_CELL_LSTM] = step_lstm };
    int64_t n = run->units;
    int last = att_rnn_cell_parts(run->cell) - 1;
    struct step s = { .g = grads,
                      .run = run,
                      .hidden = scratch,
                      .cell = scratch + n,
                      .reset_product = scratch + 2 * n };
    for (int64_t j = 0; j < 2 * n; j++)
        scratch[j] = 0;
    for (s.t = run->time - 1; s.t >= 0; s.t--) {
        bool first = s.t == 0;
        s.before = first ? run->initial_hidden : run->part[last] + (s.t - 1) * n;
        s.cell_before = first ? run->initial_cell : run->part[last - 1] + (s.t - 1) * n;
        steps[run->cell](&s);
        step_products(&s);
    }
    for (int64_t j = 0; j < n; j++) {
        grads->initial_hidden[j] += s.hidden[j];
        if (grads->initial_cell)
            grads->initial_cell[j] += s.cell[j];
    }
}
