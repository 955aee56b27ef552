/* The kinds of recurrent cells; see recur.h. Formulas are in kern/kern.h. */
#include "tape/recur.h"

#include <string.h>

/* hidden = tanh(x w + h u + bias) */
static void rnn_forward(const att_kernels *kernels, const att_cell_step *step, float *hidden)
{
    if (step->from)
        kernels->add_scaled(step->gates, 1, step->from, step->n);
    kernels->tanh(step->gates, step->gates, step->n);
    memcpy(hidden, step->gates, step->n * sizeof(float));
}

static void rnn_backward(const att_kernels *kernels, const att_cell_step *step, float *dhidden,
                         float *dcell)
{
    (void)kernels;
    (void)dcell;
    for (size_t i = 0; i < step->n; i++)
        step->gates[i] = dhidden[i] * (1 - step->gates[i] * step->gates[i]);
}

static void gru_forward(const att_kernels *kernels, const att_cell_step *step, float *hidden)
{
    const float *from = step->from ? step->from : step->gates;
    kernels->gru(hidden, step->gates, from, step->own, step->hidden_before, step->n);
}

static void gru_backward(const att_kernels *kernels, const att_cell_step *step, float *dhidden,
                         float *dcell)
{
    (void)dcell;
    kernels->gru_back(step->gates, step->own, dhidden, dhidden, step->gates, step->own,
                      step->hidden_before, step->n);
}

static void lstm_forward(const att_kernels *kernels, const att_cell_step *step, float *hidden)
{
    kernels->lstm(hidden, step->cell, step->gates, step->from, step->cell_before, step->n);
}

static void lstm_backward(const att_kernels *kernels, const att_cell_step *step, float *dhidden,
                          float *dcell)
{
    kernels->lstm_back(step->gates, dcell, dhidden, dcell, step->gates, step->cell,
                       step->cell_before, step->n);
}

static const att_cell_kind kinds[] = {
    [ATT_CELL_RNN] = { 1, 1, false, rnn_forward, rnn_backward },
    [ATT_CELL_GRU] = { 3, 1, true, gru_forward, gru_backward },
    [ATT_CELL_LSTM] = { 4, 2, false, lstm_forward, lstm_backward },
};

const att_cell_kind *att_cell_get(att_cell cell)
{
    return &kinds[cell];
}

int att_cell_gates(att_cell cell)
{
    return kinds[cell].gates;
}

int att_cell_states(att_cell cell)
{
    return kinds[cell].states;
}
