/* The LSTM and GRU cells, over vectors; see kern.h and scalar/rnn_cell.c. */
#include "kern/vec/math.h"

/* The input of a gate, before its activation. */
INLINE vec gate_input(const float *gate, const float *from, size_t left)
{
    vec x = v_load_upto(gate, left);
    return from ? v_add(x, v_load_upto(from, left)) : x;
}

INLINE void lstm_units(float *hidden, float *cell, float *gates, const float *from,
                       const float *cell_before, size_t n)
{
    for (size_t i = 0; i < n; i += LANES) {
        size_t left = n - i;
        float *gate = gates + i;
        const float *add = from ? from + i : NULL;
        vec input = v_sigmoid(gate_input(gate, add, left));
        vec forget = v_sigmoid(gate_input(gate + n, add ? add + n : NULL, left));
        vec candidate = v_tanh(gate_input(gate + 2 * n, add ? add + 2 * n : NULL, left));
        vec output = v_sigmoid(gate_input(gate + 3 * n, add ? add + 3 * n : NULL, left));
        vec now = v_fma(forget, v_load_upto(cell_before + i, left), v_mul(input, candidate));
        v_store_upto(gate, input, left);
        v_store_upto(gate + n, forget, left);
        v_store_upto(gate + 2 * n, candidate, left);
        v_store_upto(gate + 3 * n, output, left);
        v_store_upto(cell + i, now, left);
        v_store_upto(hidden + i, v_mul(output, v_tanh(now)), left);
    }
}

/* One loop for each case, so that neither branches inside. */
void KERNEL(lstm)(float *hidden, float *cell, float *gates, const float *from,
                  const float *cell_before, size_t n)
{
    if (from)
        lstm_units(hidden, cell, gates, from, cell_before, n);
    else
        lstm_units(hidden, cell, gates, NULL, cell_before, n);
}

void KERNEL(lstm_backward)(float *dgates, float *dcell_before, const float *dhidden,
                           const float *dcell, const float *gates, const float *cell,
                           const float *cell_before, size_t n)
{
    for (size_t i = 0; i < n; i += LANES) {
        size_t left = n - i;
        const float *gate = gates + i;
        vec input = v_load_upto(gate, left), forget = v_load_upto(gate + n, left);
        vec candidate = v_load_upto(gate + 2 * n, left), output = v_load_upto(gate + 3 * n, left);
        vec dh = v_load_upto(dhidden + i, left), seen = v_tanh(v_load_upto(cell + i, left));
        vec before = v_load_upto(cell_before + i, left);
        vec d = v_fma(v_mul(dh, output), v_tanh_derivative(seen), v_load_upto(dcell + i, left));
        float *dgate = dgates + i;
        v_store_upto(dgate, v_mul(v_mul(d, candidate), v_sigmoid_derivative(input)), left);
        v_store_upto(dgate + n, v_mul(v_mul(d, before), v_sigmoid_derivative(forget)), left);
        v_store_upto(dgate + 2 * n, v_mul(v_mul(d, input), v_tanh_derivative(candidate)), left);
        v_store_upto(dgate + 3 * n, v_mul(v_mul(dh, seen), v_sigmoid_derivative(output)), left);
        v_store_upto(dcell_before + i, v_mul(d, forget), left);
    }
}

void KERNEL(gru)(float *hidden, float *gates, const float *from_input, const float *from_hidden,
                 const float *hidden_before, size_t n)
{
    for (size_t i = 0; i < n; i += LANES) {
        size_t left = n - i;
        const float *a = from_input + i, *b = from_hidden + i;
        vec reset = v_sigmoid(v_add(v_load_upto(a, left), v_load_upto(b, left)));
        vec update = v_sigmoid(v_add(v_load_upto(a + n, left), v_load_upto(b + n, left)));
        vec candidate =
            v_tanh(v_fma(reset, v_load_upto(b + 2 * n, left), v_load_upto(a + 2 * n, left)));
        vec away = v_sub(v_load_upto(hidden_before + i, left), candidate);
        v_store_upto(gates + i, reset, left);
        v_store_upto(gates + n + i, update, left);
        v_store_upto(gates + 2 * n + i, candidate, left);
        v_store_upto(hidden + i, v_fma(update, away, candidate), left);
    }
}

void KERNEL(gru_backward)(float *dfrom_input, float *dfrom_hidden, float *dhidden_before,
                          const float *dhidden, const float *gates, const float *from_hidden,
                          const float *hidden_before, size_t n)
{
    vec one = v_set(1.0f);
    for (size_t i = 0; i < n; i += LANES) {
        size_t left = n - i;
        vec reset = v_load_upto(gates + i, left), update = v_load_upto(gates + n + i, left);
        vec candidate = v_load_upto(gates + 2 * n + i, left);
        vec dh = v_load_upto(dhidden + i, left);
        vec dcandidate = v_mul(v_mul(dh, v_sub(one, update)), v_tanh_derivative(candidate));
        vec away = v_sub(v_load_upto(hidden_before + i, left), candidate);
        vec dupdate = v_mul(v_mul(dh, away), v_sigmoid_derivative(update));
        vec dreset = v_mul(v_mul(dcandidate, v_load_upto(from_hidden + 2 * n + i, left)),
                           v_sigmoid_derivative(reset));
        v_store_upto(dfrom_input + i, dreset, left);
        v_store_upto(dfrom_hidden + i, dreset, left);
        v_store_upto(dfrom_input + n + i, dupdate, left);
        v_store_upto(dfrom_hidden + n + i, dupdate, left);
        v_store_upto(dfrom_input + 2 * n + i, dcandidate, left);
        v_store_upto(dfrom_hidden + 2 * n + i, v_mul(dcandidate, reset), left);
        v_store_upto(dhidden_before + i, v_mul(dh, update), left);
    }
}
