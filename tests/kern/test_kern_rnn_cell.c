/* The LSTM and GRU cells against double precision; gradients against central differences. */
#include "kern/check.h"

enum { N = 37 };

/* Each of the few operations of a cell errs by a unit or two, and no value exceeds 5. */
static const double BOUND = 60 * EPS;

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* One unit of an LSTM, inputs in the order input, forget, candidate, output, cell before. */
static void lstm_unit(const double in[5], double *hidden, double *cell)
{
    *cell = sigmoid(in[1]) * in[4] + sigmoid(in[0]) * tanh(in[2]);
    *hidden = sigmoid(in[3]) * tanh(*cell);
}

/* One unit of a GRU: reset, update and candidate from the input, the same from the hidden state,
 * hidden before. */
static double gru_unit(const double in[7])
{
    double reset = sigmoid(in[0] + in[3]), update = sigmoid(in[1] + in[4]);
    double candidate = tanh(in[2] + reset * in[5]);
    return (1 - update) * candidate + update * in[6];
}

static void the_lstm_is_near_the_truth(void **state)
{
    (void)state;
    FOR_EACH_SET(kernels)
    {
        float gates[4 * N], before[N], cell[N], hidden[N], in[4 * N];
        fill(in, 4 * N, 71, -4, 4);
        fill(before, N, 72, -2, 2);
        memcpy(gates, in, sizeof in);
        kernels->lstm(hidden, cell, gates, NULL, before, N);
        for (size_t i = 0; i < N; i++) {
            double want_hidden, want_cell;
            const double unit[5] = { in[i], in[N + i], in[2 * N + i], in[3 * N + i], before[i] };
            lstm_unit(unit, &want_hidden, &want_cell);
            check_near(cell[i], want_cell, BOUND, "cell", kernels->name, N, i);
            check_near(hidden[i], want_hidden, BOUND, "hidden", kernels->name, N, i);
            check_near(gates[i], sigmoid(in[i]), BOUND, "input gate", kernels->name, N, i);
            check_near(gates[2 * N + i], tanh(in[2 * N + i]), BOUND, "candidate", kernels->name, N,
                       i);
        }
    }
}

static void the_lstm_may_keep_its_cell_in_place(void **state)
{
    (void)state;
    FOR_EACH_SET(kernels)
    {
        float gates[4 * N], same[4 * N], before[N], cell[N], hidden[N], other[N];
        fill(gates, 4 * N, 73, -4, 4);
        fill(before, N, 74, -2, 2);
        memcpy(same, gates, sizeof gates);
        kernels->lstm(hidden, cell, gates, NULL, before, N);
        kernels->lstm(other, before, same, NULL, before, N);
        assert_memory_equal(cell, before, sizeof cell);
        assert_memory_equal(hidden, other, sizeof hidden);
    }
}

static void what_comes_from_the_input_may_be_added_by_the_lstm(void **state)
{
    (void)state;
    FOR_EACH_SET(kernels)
    {
        float gates[4 * N], sums[4 * N], from[4 * N], before[N];
        float cell[N], hidden[N], other_cell[N], other[N];
        fill(gates, 4 * N, 79, -2, 2);
        fill(from, 4 * N, 80, -2, 2);
        fill(before, N, 81, -2, 2);
        for (size_t i = 0; i < 4 * N; i++)
            sums[i] = gates[i] + from[i];
        kernels->lstm(hidden, cell, gates, from, before, N);
        kernels->lstm(other, other_cell, sums, NULL, before, N);
        assert_memory_equal(gates, sums, sizeof gates);
        assert_memory_equal(cell, other_cell, sizeof cell);
        assert_memory_equal(hidden, other, sizeof hidden);
    }
}

/* The slope of dhidden * hidden + dcell * cell by input k of one unit. */
static double lstm_slope(double in[5], int k, double dhidden, double dcell)
{
    const double h = 1e-6, at = in[k];
    double up_hidden, up_cell, down_hidden, down_cell;
    in[k] = at + h;
    lstm_unit(in, &up_hidden, &up_cell);
    in[k] = at - h;
    lstm_unit(in, &down_hidden, &down_cell);
    in[k] = at;
    return (dhidden * (up_hidden - down_hidden) + dcell * (up_cell - down_cell)) / (2 * h);
}

static void the_gradients_of_the_lstm_are_those_of_central_differences(void **state)
{
    (void)state;
    FOR_EACH_SET(kernels)
    {
        float in[4 * N], gates[4 * N], before[N], cell[N], hidden[N];
        float dhidden[N], dcell[N], dgates[4 * N], dbefore[N];
        fill(in, 4 * N, 75, -3, 3);
        fill(before, N, 76, -2, 2);
        fill(dhidden, N, 77, -1, 1);
        fill(dcell, N, 78, -1, 1);
        memcpy(gates, in, sizeof in);
        kernels->lstm(hidden, cell, gates, NULL, before, N);
        kernels->lstm_backward(dgates, dbefore, dhidden, dcell, gates, cell, before, N);
        for (size_t i = 0; i < N; i++) {
            double unit[5] = { in[i], in[N + i], in[2 * N + i], in[3 * N + i], before[i] };
            for (int k = 0; k < 4; k++)
                check_near(dgates[(size_t)k * N + i], lstm_slope(unit, k, dhidden[i], dcell[i]),
                           BOUND + 1e-8, "dgates", kernels->name, N, i);
            check_near(dbefore[i], lstm_slope(unit, 4, dhidden[i], dcell[i]), BOUND + 1e-8,
                       "dcell_before", kernels->name, N, i);
        }
    }
}

static void unit_of_gru(double unit[7], const float *in, const float *own, const float *before,
                        size_t i)
{
    for (size_t k = 0; k < 3; k++) {
        unit[k] = in[k * N + i];
        unit[3 + k] = own[k * N + i];
    }
    unit[6] = before[i];
}

static double gru_slope(double in[7], int k)
{
    const double h = 1e-6, at = in[k];
    in[k] = at + h;
    double up = gru_unit(in);
    in[k] = at - h;
    double down = gru_unit(in);
    in[k] = at;
    return (up - down) / (2 * h);
}

static void the_gru_and_its_gradients_are_near_the_truth(void **state)
{
    (void)state;
    FOR_EACH_SET(kernels)
    {
        float in[3 * N], own[3 * N], gates[3 * N], before[N], hidden[N];
        float dhidden[N], din[3 * N], down[3 * N], dbefore[N];
        fill(in, 3 * N, 81, -3, 3);
        fill(own, 3 * N, 82, -3, 3);
        fill(before, N, 83, -1, 1);
        fill(dhidden, N, 84, -1, 1);
        kernels->gru(hidden, gates, in, own, before, N);
        kernels->gru_backward(din, down, dbefore, dhidden, gates, own, before, N);
        for (size_t i = 0; i < N; i++) {
            double unit[7];
            unit_of_gru(unit, in, own, before, i);
            check_near(hidden[i], gru_unit(unit), BOUND, "hidden", kernels->name, N, i);
            for (int k = 0; k < 3; k++) {
                check_near(din[(size_t)k * N + i], dhidden[i] * gru_slope(unit, k), BOUND + 1e-8,
                           "dfrom_input", kernels->name, N, i);
                check_near(down[(size_t)k * N + i], dhidden[i] * gru_slope(unit, 3 + k),
                           BOUND + 1e-8, "dfrom_hidden", kernels->name, N, i);
            }
            check_near(dbefore[i], dhidden[i] * gru_slope(unit, 6), BOUND + 1e-8, "dhidden_before",
                       kernels->name, N, i);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_lstm_is_near_the_truth),
        cmocka_unit_test(the_lstm_may_keep_its_cell_in_place),
        cmocka_unit_test(what_comes_from_the_input_may_be_added_by_the_lstm),
        cmocka_unit_test(the_gradients_of_the_lstm_are_those_of_central_differences),
        cmocka_unit_test(the_gru_and_its_gradients_are_near_the_truth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
