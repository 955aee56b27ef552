/* The backward formulas in double precision, against central differences of the forward. */
#include "reference/activation.h"
#include "reference/conv.h"
#include "reference/linear.h"
#include "reference/norm.h"
#include "reference/rnn_backward.h"

#include "reference/reference_check.h"

#include <string.h>

/* Differences have an error of about 1e-10 for numbers of size 1 and a step of 1e-5. */
#define BOUND 1e-8

static void assert_close(const char *what, int64_t i, double got, double want)
{
    if (!(fabs(got - want) <= BOUND * (1 + fabs(want))))
        fail_msg("%s[%d]: the backward says %.12g, differences %.12g", what, (int)i, got, want);
}

/* A scalar function of some numbers, with everything else behind `of`. */
typedef double loss_function(const void *of);

/* Compares the gradient of each of `count` numbers with the change of the loss. */
static void check_numbers(const char *what, double *numbers, const double *grads, int64_t count,
                          loss_function *loss, const void *of)
{
    for (int64_t i = 0; i < count; i++) {
        double x = numbers[i], h = 1e-5, up, down;
        numbers[i] = x + h;
        up = loss(of);
        numbers[i] = x - h;
        down = loss(of);
        numbers[i] = x;
        assert_close(what, i, grads[i], (up - down) / (2 * h));
    }
}

static double weighted(const double *y, const double *g, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += y[i] * g[i];
    return sum;
}

/* ---- activations */

static void derivatives_of_activations_are_those_of_differences(void **state)
{
    (void)state;
    for (int a = ATT_ACTIVATION_NONE; a <= ATT_ACTIVATION_SIGMOID; a++)
        for (double x = -3.05; x < 3.1; x += 0.1) {
            double up = att_reference_activation((att_activation)a, x + 1e-5);
            double down = att_reference_activation((att_activation)a, x - 1e-5);
            assert_close("activation", a, att_reference_activation_derivative((att_activation)a, x),
                         (up - down) / 2e-5);
        }
    assert_true(att_reference_activation_derivative(ATT_ACTIVATION_RELU, 0) == 0);
    assert_true(isnan(att_reference_activation_derivative(ATT_ACTIVATION_RELU, NAN)));
    assert_true(att_reference_activation_derivative(ATT_ACTIVATION_GELU, INFINITY) == 1);
    assert_true(att_reference_activation_derivative(ATT_ACTIVATION_SILU, -INFINITY) == 0);
}

/* ---- norms */

enum { WIDTH = 5 };

struct norm {
    double x[WIDTH], gain[WIDTH], bias[WIDTH], g[WIDTH];
    bool centered;
};

static double norm_loss(const void *of)
{
    const struct norm *n = of;
    double y[WIDTH];
    if (n->centered)
        att_reference_layer_norm(y, n->x, WIDTH, 0.01, n->gain, n->bias);
    else
        att_reference_rms_norm(y, n->x, WIDTH, 0.01, n->gain);
    return weighted(y, n->g, WIDTH);
}

static void norms_send_back_what_differences_say(void **state)
{
    (void)state;
    for (int centered = 0; centered < 2; centered++) {
        struct norm n = { .centered = centered };
        double dx[WIDTH], dgain[WIDTH] = { 0 }, dbias[WIDTH] = { 0 };
        fill_random(n.x, WIDTH, 1);
        fill_random(n.gain, WIDTH, 2);
        fill_random(n.bias, WIDTH, 3);
        fill_random(n.g, WIDTH, 4);
        if (centered)
            att_reference_layer_norm_backward(dx, dgain, dbias, n.g, n.x, WIDTH, 0.01, n.gain);
        else
            att_reference_rms_norm_backward(dx, dgain, n.g, n.x, WIDTH, 0.01, n.gain);
        check_numbers("x", n.x, dx, WIDTH, norm_loss, &n);
        check_numbers("gain", n.gain, dgain, WIDTH, norm_loss, &n);
        if (centered)
            check_numbers("bias", n.bias, dbias, WIDTH, norm_loss, &n);
    }
}

/* ---- linear */

enum { ROWS = 3, DEPTH = 4, COLUMNS = 2 };

struct linear {
    double x[ROWS * DEPTH], w[DEPTH * COLUMNS], bias[COLUMNS], g[ROWS * COLUMNS];
    bool transposed;
};

static att_reference_linear_weights weights_of(const struct linear *l)
{
    return (att_reference_linear_weights){ l->w, l->bias, DEPTH, COLUMNS, l->transposed };
}

static double linear_loss(const void *of)
{
    const struct linear *l = of;
    double y[ROWS * COLUMNS];
    const att_reference_linear_weights weights = weights_of(l);
    att_reference_linear(y, l->x, ROWS, &weights, ATT_ACTIVATION_NONE);
    return weighted(y, l->g, ROWS * COLUMNS);
}

static void a_linear_layer_sends_back_what_differences_say(void **state)
{
    (void)state;
    for (int transposed = 0; transposed < 2; transposed++) {
        struct linear l = { .transposed = transposed };
        double dx[ROWS * DEPTH] = { 0 }, dw[DEPTH * COLUMNS] = { 0 }, dbias[COLUMNS] = { 0 };
        fill_random(l.x, ROWS * DEPTH, 1);
        fill_random(l.w, DEPTH * COLUMNS, 2);
        fill_random(l.bias, COLUMNS, 3);
        fill_random(l.g, ROWS * COLUMNS, 4);
        const att_reference_linear_weights weights = weights_of(&l);
        att_reference_linear_backward(dx, dw, dbias, l.g, l.x, ROWS, &weights);
        check_numbers("x", l.x, dx, ROWS * DEPTH, linear_loss, &l);
        check_numbers("w", l.w, dw, DEPTH * COLUMNS, linear_loss, &l);
        check_numbers("bias", l.bias, dbias, COLUMNS, linear_loss, &l);
        att_reference_linear_backward(NULL, NULL, NULL, l.g, l.x, ROWS, &weights);
    }
}

/* ---- conv1d */

enum { TAPS = 3, CHANNELS = 2, LENGTH = 4, OUT = 3, FIRST = -1 };

struct conv {
    double x[LENGTH * CHANNELS], tap[TAPS][CHANNELS * OUT], g[LENGTH * OUT];
};

static att_reference_conv1d conv_of(const struct conv *c, const double *taps[TAPS])
{
    for (int t = 0; t < TAPS; t++)
        taps[t] = c->tap[t];
    return (att_reference_conv1d){ c->x, LENGTH, CHANNELS, CHANNELS, taps, TAPS, OUT };
}

static double conv_loss(const void *of)
{
    const struct conv *c = of;
    const double *taps[TAPS];
    const att_reference_conv1d conv = conv_of(c, taps);
    double sum = 0;
    for (int64_t i = 0; i < LENGTH; i++)
        for (int64_t j = 0; j < OUT; j++)
            sum += c->g[i * OUT + j] * att_reference_conv1d_at(&conv, i + FIRST, j, 0);
    return sum;
}

static void a_convolution_sends_back_what_differences_say(void **state)
{
    (void)state;
    struct conv c;
    double dx[LENGTH * CHANNELS] = { 0 }, dtap[TAPS][CHANNELS * OUT] = { { 0 } };
    double *const dtaps[TAPS] = { dtap[0], dtap[1], dtap[2] };
    const double *taps[TAPS];
    fill_random(c.x, LENGTH * CHANNELS, 1);
    fill_random(c.tap[0], TAPS * CHANNELS * OUT, 2);
    fill_random(c.g, LENGTH * OUT, 3);
    const att_reference_conv1d conv = conv_of(&c, taps);
    for (int64_t i = 0; i < LENGTH; i++)
        for (int64_t j = 0; j < OUT; j++)
            att_reference_conv1d_backward_at(dx, dtaps, c.g[i * OUT + j], &conv, i + FIRST, j);
    check_numbers("x", c.x, dx, LENGTH * CHANNELS, conv_loss, &c);
    for (int t = 0; t < TAPS; t++)
        check_numbers("tap", c.tap[t], dtap[t], CHANNELS * OUT, conv_loss, &c);
}

/* ---- RNN cells */

enum { T = 4, D = 3, N = 2, WIDE = ATT_MAX_RNN_GATES * N };

struct rnn {
    att_rnn_cell cell;
    bool reset_first;
    double x[T * D], w[D * WIDE], u[N * WIDE], bias[WIDE], bias_u[WIDE], h[N], c[N];
    double part[ATT_MAX_RNN_PARTS][T * N];
    double g[ATT_MAX_RNN_PARTS][T * N]; /* the loss is the sum of all parts times these */
};

/* Column j of the candidate of a GRU that resets h before the product. */
static double reset_product(const struct rnn *r, const double *h, const double *reset, int64_t j)
{
    double sum = r->bias_u[2 * N + j];
    for (int64_t l = 0; l < N; l++)
        sum += reset[l] * h[l] * r->u[l * ATT_GRU_GATES * N + 2 * N + j];
    return sum;
}

static void run_unit(struct rnn *r, int64_t t, int64_t j, const double *x, const double *u,
                     const double *h, const double *c)
{
    int64_t at = t * N + j;
    if (r->cell == ATT_RNN_CELL_VANILLA) {
        r->part[0][at] = x[0] + u[0];
        r->part[1][at] = tanh(x[0] + u[0]);
    } else if (r->cell == ATT_RNN_CELL_LSTM) {
        att_reference_lstm unit = att_reference_lstm_unit(x, u, c[j]);
        const double values[] = { unit.input,  unit.forget, unit.candidate,
                                  unit.output, unit.cell,   unit.hidden };
        for (int p = 0; p < 6; p++)
            r->part[p][at] = values[p];
    } else {
        double past = r->reset_first ? reset_product(r, h, &r->part[0][t * N], j)
                                     : att_reference_sigmoid(x[0] + u[0]) * u[2];
        att_reference_gru unit = att_reference_gru_unit_reset_first(x, u, past, h[j]);
        const double values[] = { unit.reset, unit.update, unit.candidate, unit.hidden };
        for (int p = 0; p < 4; p++)
            r->part[p][at] = values[p];
    }
}

static void run_rnn(struct rnn *r)
{
    int gates = att_rnn_cell_gates(r->cell), last = att_rnn_cell_parts(r->cell) - 1;
    const att_reference_linear_weights w = { r->w, r->bias, D, gates * N, false };
    const att_reference_linear_weights u = { r->u, r->bias_u, N, gates * N, false };
    for (int64_t t = 0; t < T; t++) {
        const double *h = t == 0 ? r->h : &r->part[last][(t - 1) * N];
        const double *c = t == 0 ? r->c : &r->part[last - 1][(t - 1) * N];
        double x[N][ATT_MAX_RNN_GATES], s[N][ATT_MAX_RNN_GATES];
        for (int64_t j = 0; j < N; j++)
            for (int g = 0; g < gates; g++) {
                x[j][g] = att_reference_linear_at(r->x + t * D, &w, g * N + j);
                s[j][g] = att_reference_linear_at(h, &u, g * N + j);
            }
        for (int64_t j = 0; r->reset_first && j < N; j++) /* all units need all of them */
            r->part[0][t * N + j] = att_reference_sigmoid(x[j][0] + s[j][0]);
        for (int64_t j = 0; j < N; j++)
            run_unit(r, t, j, x[j], s[j], h, c);
    }
}

static double rnn_loss(const void *of)
{
    struct rnn *r = (struct rnn *)of;
    double sum = 0;
    run_rnn(r);
    for (int p = 0; p < att_rnn_cell_parts(r->cell); p++)
        sum += weighted(r->part[p], r->g[p], T * N);
    return sum;
}

static void check_cell(att_rnn_cell cell, bool reset_first)
{
    struct rnn r = { .cell = cell, .reset_first = reset_first };
    int gates = att_rnn_cell_gates(cell), parts = att_rnn_cell_parts(cell);
    double dpart[ATT_MAX_RNN_PARTS][T * N] = { { 0 } };
    double dgates[T * WIDE] = { 0 }, dgates_u[T * WIDE] = { 0 }, dx[T * D] = { 0 },
                      dw[D * WIDE] = { 0 }, du[N * WIDE] = { 0 }, db[WIDE] = { 0 },
                      dbu[WIDE] = { 0 }, dh[N] = { 0 }, dc[N] = { 0 }, scratch[3 * N];
    fill_random(r.x, T * D, 1);
    fill_random(r.w, D * WIDE, 2);
    fill_random(r.u, N * WIDE, 3);
    fill_random(r.bias, WIDE, 4);
    fill_random(r.bias_u, WIDE, 5);
    fill_random(r.h, N, 6);
    fill_random(r.c, N, 7);
    fill_random(r.g[0], ATT_MAX_RNN_PARTS * T * N, 8);
    run_rnn(&r);
    att_reference_rnn_run run = { .cell = cell,
                                  .reset_first = reset_first,
                                  .time = T,
                                  .depth = D,
                                  .units = N,
                                  .x = r.x,
                                  .w = r.w,
                                  .u = r.u,
                                  .bias_u = r.bias_u,
                                  .initial_hidden = r.h,
                                  .initial_cell = r.c };
    att_reference_rnn_grads grads = { .gates = dgates,
                                      .gates_u = dgates_u,
                                      .x = dx,
                                      .w = dw,
                                      .u = du,
                                      .bias = db,
                                      .bias_u = dbu,
                                      .initial_hidden = dh,
                                      .initial_cell = dc };
    for (int p = 0; p < parts; p++) {
        run.part[p] = r.part[p];
        grads.upstream[p] = r.g[p];
        grads.part[p] = dpart[p];
    }
    att_reference_rnn_backward(&grads, &run, scratch);
    check_numbers("x", r.x, dx, T * D, rnn_loss, &r);
    check_numbers("w", r.w, dw, D * gates * N, rnn_loss, &r);
    check_numbers("u", r.u, du, N * gates * N, rnn_loss, &r);
    check_numbers("bias", r.bias, db, gates * N, rnn_loss, &r);
    check_numbers("bias_u", r.bias_u, dbu, gates * N, rnn_loss, &r);
    check_numbers("h", r.h, dh, N, rnn_loss, &r);
    if (cell == ATT_RNN_CELL_LSTM)
        check_numbers("c", r.c, dc, N, rnn_loss, &r);
}

static void cells_send_back_what_differences_say(void **state)
{
    (void)state;
    check_cell(ATT_RNN_CELL_VANILLA, false);
    check_cell(ATT_RNN_CELL_LSTM, false);
    check_cell(ATT_RNN_CELL_GRU, false);
    check_cell(ATT_RNN_CELL_GRU, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(derivatives_of_activations_are_those_of_differences),
        cmocka_unit_test(norms_send_back_what_differences_say),
        cmocka_unit_test(a_linear_layer_sends_back_what_differences_say),
        cmocka_unit_test(a_convolution_sends_back_what_differences_say),
        cmocka_unit_test(cells_send_back_what_differences_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
