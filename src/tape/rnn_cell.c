/* RNN cells: one step forward and backward, on the kernels. Formulas are in reference/rnn.h. */
#include "tape/rnn.h"

#include <string.h>

/* hidden = tanh(x w + h u + bias) */
static void vanilla_forward(const att_kernels *kernels, const att_rnn_step *step, float *hidden)
{
    if (step->input_gates)
        kernels->axpy(step->gates, 1, step->input_gates, step->n);
    kernels->tanh(step->gates, step->gates, step->n);
    memcpy(hidden, step->gates, step->n * sizeof(float));
}

static void vanilla_backward(const att_kernels *kernels, const att_rnn_step *step, float *dhidden,
                             float *dcell)
{
    (void)kernels;
    (void)dcell;
    for (size_t i = 0; i < step->n; i++)
        step->gates[i] = dhidden[i] * (1 - step->gates[i] * step->gates[i]);
}

static void gru_forward(const att_kernels *kernels, const att_rnn_step *step, float *hidden)
{
    const float *input = step->input_gates ? step->input_gates : step->gates;
    kernels->gru(hidden, step->gates, input, step->hidden_gates, step->prev_hidden, step->n);
}

static void gru_backward(const att_kernels *kernels, const att_rnn_step *step, float *dhidden,
                         float *dcell)
{
    (void)dcell;
    kernels->gru_backward(step->gates, step->hidden_gates, dhidden, dhidden, step->gates,
                          step->hidden_gates, step->prev_hidden, step->n);
}

static void lstm_forward(const att_kernels *kernels, const att_rnn_step *step, float *hidden)
{
    kernels->lstm(hidden, step->cell, step->gates, step->input_gates, step->prev_cell, step->n);
}

static void lstm_backward(const att_kernels *kernels, const att_rnn_step *step, float *dhidden,
                          float *dcell)
{
    kernels->lstm_backward(step->gates, dcell, dhidden, dcell, step->gates, step->cell,
                           step->prev_cell, step->n);
}

static const att_rnn_cell_impl cells[] = {
    [ATT_RNN_CELL_VANILLA] = { ATT_VANILLA_GATES, 1, false, vanilla_forward, vanilla_backward },
    [ATT_RNN_CELL_GRU] = { ATT_GRU_GATES, 1, true, gru_forward, gru_backward },
    [ATT_RNN_CELL_LSTM] = { ATT_LSTM_GATES, 2, false, lstm_forward, lstm_backward },
};

const att_rnn_cell_impl *att_rnn_cell_get(att_rnn_cell cell)
{
    return &cells[cell];
}
