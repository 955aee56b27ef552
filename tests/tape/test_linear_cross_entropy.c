/* The output layer and its loss in one operation: the same as the two operations it replaces. */
#include "base/cpu.h"
#include "tape/op.h"
#include "tape/ops.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

/* More classes and rows than one block has. */
enum { ROWS = 150, DEPTH = 3, CLASSES = 70001 };

typedef struct scene {
    float x[ROWS * DEPTH], bias[CLASSES], w[DEPTH * CLASSES];
    int32_t targets[ROWS];
} scene;

static scene made;

static int make_scene(void **state)
{
    (void)state;
    uint32_t seed = 1;
    float *const parts[] = { made.x, made.bias, made.w };
    const size_t counts[] = { ROWS * DEPTH, CLASSES, DEPTH * CLASSES };
    for (int part = 0; part < 3; part++)
        for (size_t i = 0; i < counts[part]; i++) {
            seed = seed * 1664525u + 1013904223u;
            parts[part][i] = (float)(seed >> 8) / (float)(1 << 23) - 1;
        }
    for (int i = 0; i < ROWS; i++)
        made.targets[i] = i * 467 % CLASSES;
    return 0;
}

/* The results of one way to compute the loss. */
typedef struct found {
    double loss;
    float x[ROWS * DEPTH], bias[CLASSES], w[DEPTH * CLASSES]; /* gradients */
    double losses;                                            /* sum over the rows */
    int predicted;
} found;

static void compute(found *out, bool together, bool transposed, att_loss_terms terms)
{
    att_tape *tape;
    assert_int_equal(att_tape_new(&tape, NULL, NULL), ATT_OK);
    att_tape_begin(tape, true, 0, 0);
    const int64_t shape[2] = { transposed ? CLASSES : DEPTH, transposed ? DEPTH : CLASSES };
    att_node *x = att_tape_variable(tape, 2, (int64_t[]){ ROWS, DEPTH }, made.x);
    att_node *w = att_tape_variable(tape, 2, shape, made.w);
    att_node *bias = att_tape_variable(tape, 1, (int64_t[]){ CLASSES }, made.bias);
    static att_token_loss rows[ROWS];
    static float plain[ROWS];
    att_node *loss;
    if (together) {
        const att_linear_cross_entropy_inputs in = { x, w, bias, transposed };
        loss = att_linear_cross_entropy(tape, &in, made.targets, terms, rows);
    } else {
        att_node *logits = att_linear(tape, x, w, bias, ATT_ACTIVATION_NONE, transposed);
        loss = att_cross_entropy(tape, logits, made.targets, terms, plain);
    }
    att_error err = { 0 };
    if (att_tape_backward(tape, loss, 0.25f, &err) != ATT_OK)
        fail_msg("%s", err.message);
    out->loss = (double)loss->value[0];
    out->losses = 0;
    out->predicted = 0;
    for (int i = 0; i < ROWS; i++) {
        out->losses += (double)(together ? rows[i].loss : plain[i]);
        out->predicted += together && rows[i].predicted;
    }
    memcpy(out->x, x->grad, sizeof out->x);
    memcpy(out->w, w->grad, sizeof out->w);
    memcpy(out->bias, bias->grad, sizeof out->bias);
    att_tape_free(tape);
}

static void assert_near(const float *a, const float *b, size_t count, double limit)
{
    for (size_t i = 0; i < count; i++)
        if (!(fabs((double)a[i] - (double)b[i]) <= limit))
            fail_msg("%zu: %.9g and %.9g", i, (double)a[i], (double)b[i]);
}

static void it_is_a_linear_layer_and_cross_entropy(void **state)
{
    (void)state;
    static found apart, together;
    static const att_loss_terms terms[] = { { 0, 0 }, { 0.1f, 0 }, { 0.1f, 2 } };
    for (int way = 0; way < 6; way++) {
        compute(&apart, false, way % 2, terms[way / 2]);
        compute(&together, true, way % 2, terms[way / 2]);
        assert_true(fabs(apart.loss - together.loss) <= 4e-7 * apart.loss);
        assert_true(apart.losses == together.losses); /* the same bits, smoothed or not */
        /* Sums of at most CLASSES or ROWS terms, none above 1: rounding errors. */
        assert_near(apart.x, together.x, ROWS * DEPTH, 1e-5);
        assert_near(apart.w, together.w, DEPTH * CLASSES, 1e-6);
        assert_near(apart.bias, together.bias, CLASSES, 1e-6);
    }
}

static void it_has_the_same_bits_at_any_number_of_threads(void **state)
{
    (void)state;
    static found one, three;
    att_threads_set(1);
    compute(&one, true, true, (att_loss_terms){ 0.1f, 1 });
    att_threads_set(3);
    compute(&three, true, true, (att_loss_terms){ 0.1f, 1 });
    att_threads_set(0);
    assert_true(one.loss == three.loss);
    assert_memory_equal(one.x, three.x, sizeof one.x);
    assert_memory_equal(one.w, three.w, sizeof one.w);
    assert_memory_equal(one.bias, three.bias, sizeof one.bias);
}

static void a_row_is_predicted_where_no_logit_is_larger_nor_as_large_and_before(void **state)
{
    (void)state;
    static const float logits[] = { 1, 3, 3, 2 };
    att_tape *tape;
    assert_int_equal(att_tape_new(&tape, NULL, NULL), ATT_OK);
    for (int32_t target = 0; target < 4; target++) {
        att_token_loss row;
        att_tape_begin(tape, false, 0, 0);
        const att_linear_cross_entropy_inputs in = {
            .x = att_tape_input(tape, 2, (int64_t[]){ 1, 1 }, (float[]){ 1 }),
            .w = att_tape_input(tape, 2, (int64_t[]){ 1, 4 }, logits),
        };
        assert_non_null(att_linear_cross_entropy(tape, &in, &target, (att_loss_terms){ 0 }, &row));
        assert_int_equal(row.predicted, target == 1);
    }
    att_tape_free(tape);
}

static void a_target_outside_the_classes_is_refused(void **state)
{
    (void)state;
    for (int32_t target = -1; target <= 4; target += 5) {
        att_tape *tape;
        att_error err = { 0 };
        assert_int_equal(att_tape_new(&tape, NULL, NULL), ATT_OK);
        const att_linear_cross_entropy_inputs in = {
            .x = att_tape_input(tape, 2, (int64_t[]){ 1, 1 }, NULL),
            .w = att_tape_input(tape, 2, (int64_t[]){ 1, 4 }, NULL),
        };
        assert_null(att_linear_cross_entropy(tape, &in, &target, (att_loss_terms){ 0 }, NULL));
        assert_int_equal(att_tape_status(tape, &err), ATT_BAD_INPUT);
        assert_non_null(strstr(err.message, "expected targets from 0 to 3"));
        att_tape_free(tape);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_a_linear_layer_and_cross_entropy),
        cmocka_unit_test(it_has_the_same_bits_at_any_number_of_threads),
        cmocka_unit_test(a_row_is_predicted_where_no_logit_is_larger_nor_as_large_and_before),
        cmocka_unit_test(a_target_outside_the_classes_is_refused),
    };
    return cmocka_run_group_tests(tests, make_scene, NULL);
}
