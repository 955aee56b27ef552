/* The LSTM and GRU cells, in plain loops; see kern.h. */
#include "kern/scalar/math.h"
#include "kern/isa/isa.h"

void KERNEL(lstm)(float *hidden, float *cell, float *gates, const float *from,
                  const float *cell_before, size_t n)
{
    for (size_t i = 0; from && i < 4 * n; i++)
        gates[i] += from[i];
    for (size_t i = 0; i < n; i++) {
        float input = gates[i] = sigmoid_of(gates[i]);
        float forget = gates[n + i] = sigmoid_of(gates[n + i]);
        float candidate = gates[2 * n + i] = tanh_of(gates[2 * n + i]);
        float output = gates[3 * n + i] = sigmoid_of(gates[3 * n + i]);
        cell[i] = fmaf(forget, cell_before[i], input * candidate);
        hidden[i] = output * tanh_of(cell[i]);
    }
}

void KERNEL(lstm_backward)(float *dgates, float *dcell_before, const float *dhidden,
                           const float *dcell, const float *gates, const float *cell,
                           const float *cell_before, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float input = gates[i], forget = gates[n + i];
        float candidate = gates[2 * n + i], output = gates[3 * n + i];
        float seen = tanh_of(cell[i]);
        float d = fmaf(dhidden[i] * output, tanh_derivative(seen),
                       dcell[i]); /* total gradient of the cell */
        dgates[i] = d * candidate * sigmoid_derivative(input);
        dgates[n + i] = d * cell_before[i] * sigmoid_derivative(forget);
        dgates[2 * n + i] = d * input * tanh_derivative(candidate);
        dgates[3 * n + i] = dhidden[i] * seen * sigmoid_derivative(output);
        dcell_before[i] = d * forget;
    }
}

void KERNEL(gru)(float *hidden, float *gates, const float *from_input, const float *from_hidden,
                 const float *hidden_before, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float reset = gates[i] = sigmoid_of(from_input[i] + from_hidden[i]);
        float update = gates[n + i] = sigmoid_of(from_input[n + i] + from_hidden[n + i]);
        float candidate = gates[2 * n + i] =
            tanh_of(fmaf(reset, from_hidden[2 * n + i], from_input[2 * n + i]));
        hidden[i] = fmaf(update, hidden_before[i] - candidate, candidate);
    }
}

void KERNEL(gru_backward)(float *dfrom_input, float *dfrom_hidden, float *dhidden_before,
                          const float *dhidden, const float *gates, const float *from_hidden,
                          const float *hidden_before, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float reset = gates[i], update = gates[n + i], candidate = gates[2 * n + i];
        float dcandidate = dhidden[i] * (1.0f - update) * tanh_derivative(candidate);
        float dupdate = dhidden[i] * (hidden_before[i] - candidate) * sigmoid_derivative(update);
        float dreset = dcandidate * from_hidden[2 * n + i] * sigmoid_derivative(reset);
        dfrom_input[i] = dfrom_hidden[i] = dreset;
        dfrom_input[n + i] = dfrom_hidden[n + i] = dupdate;
        dfrom_input[2 * n + i] = dcandidate;
        dfrom_hidden[2 * n + i] = dcandidate * reset;
        dhidden_before[i] = dhidden[i] * update;
    }
}
