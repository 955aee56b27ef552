/* RNN cells: hand-computed units, gates at their limits, and sequences against single steps. */
#include "reference/rnn.h"

#include "reference/reference_check.h"

#include <string.h>

enum { OPEN = 1000, SHUT = -1000 }; /* gate sums whose sigmoid is 1 and 0 */

static void lstm_gates_do_what_their_names_say(void **state)
{
    (void)state;
    const double none[ATT_LSTM_GATES] = { 0 };
    const double keep[] = { SHUT, OPEN, 3, OPEN }, write[] = { OPEN, SHUT, OPEN, OPEN },
                 hide[] = { SHUT, OPEN, 3, SHUT };
    assert_true(att_reference_lstm_unit(keep, none, 0.7).cell == 0.7);
    assert_near(att_reference_lstm_unit(keep, none, 0.7).hidden, tanh(0.7), 2);
    assert_true(att_reference_lstm_unit(write, none, 0.7).cell == 1);
    assert_true(att_reference_lstm_unit(hide, none, 0.7).hidden == 0);
}

static void an_lstm_unit_follows_the_formula(void **state)
{
    (void)state;
    const double x[] = { 0.5, -0.2, 0.3, 0.1 }, h[] = { 0.1, 0.4, -0.6, 0.2 };
    att_reference_lstm u = att_reference_lstm_unit(x, h, -0.8);
    double i = 1 / (1 + exp(-0.6)), f = 1 / (1 + exp(-0.2)), g = tanh(-0.3),
           o = 1 / (1 + exp(-0.3));
    assert_near(u.input, i, 3);
    assert_near(u.forget, f, 3);
    assert_near(u.candidate, g, 3);
    assert_near(u.output, o, 3);
    assert_near(u.cell, f * -0.8 + i * g, 6);
    assert_near(u.hidden, o * tanh(f * -0.8 + i * g), 8);
}

static void gru_gates_do_what_their_names_say(void **state)
{
    (void)state;
    const double none[ATT_GRU_GATES] = { 0 }, past[] = { 0, 0, 5 };
    const double keep[] = { 0, OPEN, 3 }, replace[] = { 0, SHUT, OPEN },
                 reset[] = { SHUT, SHUT, 0.25 };
    assert_true(att_reference_gru_unit(keep, none, 0.7).hidden == 0.7);
    assert_true(att_reference_gru_unit(replace, none, 0.7).hidden == 1);
    assert_near(att_reference_gru_unit(reset, past, 0.7).hidden, tanh(0.25), 2); /* not of 5.25 */
}

static void both_forms_of_the_gru_agree_where_the_reset_product_is_the_same(void **state)
{
    (void)state;
    const double x[] = { 0.3, -0.4, 0.9 }, h[] = { -0.2, 0.6, 0.5 };
    att_reference_gru after = att_reference_gru_unit(x, h, 0.1);
    att_reference_gru first = att_reference_gru_unit_reset_first(x, h, after.reset * h[2], 0.1);
    assert_memory_equal(&after, &first, sizeof after);
    assert_near(after.candidate, tanh(0.9 + after.reset * 0.5), 3);
    assert_near(after.hidden, (1 - after.update) * after.candidate + after.update * 0.1, 3);
}

static void a_vanilla_step_is_tanh_of_both_products(void **state)
{
    (void)state;
    const double x[] = { 0.5 }, w[] = { 2 }, u[] = { 3 }, bias[] = { 0.1 }, start[] = { -0.2 };
    double hidden, end;
    const att_reference_rnn_inputs in = { .cell = ATT_RNN_CELL_VANILLA,
                                          .batch = 1,
                                          .time = 1,
                                          .depth = 1,
                                          .units = 1,
                                          .x = x,
                                          .w = w,
                                          .u = u,
                                          .bias = bias,
                                          .initial_state = start };
    att_reference_rnn(&hidden, &end, &in);
    assert_near(hidden, tanh(1.1 - 0.6), 4);
    assert_true(end == hidden);
}

/* ---- sequences */

enum { B = 3, T = 4, D = 2, N = 3 };

typedef struct layer {
    double x[B * T * D], w[D * 4 * N], u[N * 4 * N], bias[4 * N], bias_u[4 * N], start[B * 2 * N];
} layer;

static att_reference_rnn_inputs make_layer(layer *l, att_rnn_cell cell)
{
    fill_random(l->x, B * T * D, 1);
    fill_random(l->w, D * 4 * N, 2);
    fill_random(l->u, N * 4 * N, 3);
    fill_random(l->bias, 4 * N, 4);
    fill_random(l->bias_u, 4 * N, 5);
    fill_random(l->start, B * 2 * N, 6);
    return (att_reference_rnn_inputs){ .cell = cell,
                                       .batch = B,
                                       .time = T,
                                       .depth = D,
                                       .units = N,
                                       .x = l->x,
                                       .w = l->w,
                                       .u = l->u,
                                       .bias = l->bias,
                                       .bias_u = l->bias_u,
                                       .initial_state = l->start };
}

#define FOR_EACH_CELL(cell)                                                                        \
    for (att_rnn_cell cell = ATT_RNN_CELL_VANILLA; cell <= ATT_RNN_CELL_LSTM; cell++)

static void a_sequence_is_its_steps_one_by_one(void **state)
{
    (void)state;
    FOR_EACH_CELL(cell)
    {
        layer l;
        att_reference_rnn_inputs in = make_layer(&l, cell), step = in;
        int64_t states = att_rnn_cell_states(cell) * N;
        double hidden[B * T * N], end[B * 2 * N], one[B * N], x[B * D], running[B * 2 * N];
        att_reference_rnn(hidden, end, &in);
        memcpy(running, l.start, sizeof running);
        step.time = 1;
        step.x = x;
        for (int t = 0; t < T; t++) {
            double before[B * 2 * N];
            memcpy(before, running, sizeof before);
            step.initial_state = before;
            for (int b = 0; b < B; b++)
                memcpy(x + b * D, l.x + (b * T + t) * D, D * sizeof *x);
            att_reference_rnn(one, running, &step);
            for (int b = 0; b < B; b++)
                assert_memory_equal(one + b * N, hidden + (b * T + t) * N, N * sizeof *one);
        }
        assert_memory_equal(running, end, (size_t)(B * states) * sizeof *end);
    }
}

static void reverse_is_forward_over_the_reversed_sequence_of_its_length(void **state)
{
    (void)state;
    static const int64_t lengths[B] = { 2, 0, 4 };
    FOR_EACH_CELL(cell)
    {
        layer l, turned;
        att_reference_rnn_inputs in = make_layer(&l, cell), back = make_layer(&turned, cell);
        int64_t states = att_rnn_cell_states(cell) * N;
        double hidden[B * T * N], end[B * 2 * N], reverse[B * T * N], reverse_end[B * 2 * N];
        in.lengths = back.lengths = lengths;
        for (int b = 0; b < B; b++)
            for (int64_t t = 0; t < lengths[b]; t++)
                memcpy(turned.x + (b * T + lengths[b] - 1 - t) * D, l.x + (b * T + t) * D,
                       D * sizeof *l.x);
        back.reverse = true;
        att_reference_rnn(hidden, end, &in);
        att_reference_rnn(reverse, reverse_end, &back);
        assert_memory_equal(end, reverse_end, (size_t)(B * states) * sizeof *end);
        for (int b = 0; b < B; b++)
            for (int64_t t = 0; t < T; t++)
                for (int i = 0; i < N; i++) {
                    double got = hidden[(b * T + t) * N + i];
                    if (t >= lengths[b])
                        assert_true(got == 0);
                    else
                        assert_true(got == reverse[(b * T + lengths[b] - 1 - t) * N + i]);
                }
        assert_memory_equal(end + states, l.start + states, (size_t)states * sizeof *end);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lstm_gates_do_what_their_names_say),
        cmocka_unit_test(an_lstm_unit_follows_the_formula),
        cmocka_unit_test(gru_gates_do_what_their_names_say),
        cmocka_unit_test(both_forms_of_the_gru_agree_where_the_reset_product_is_the_same),
        cmocka_unit_test(a_vanilla_step_is_tanh_of_both_products),
        cmocka_unit_test(a_sequence_is_its_steps_one_by_one),
        cmocka_unit_test(reverse_is_forward_over_the_reversed_sequence_of_its_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
