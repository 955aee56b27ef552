/* The loss of a pointer-generator at its limits, and inputs that do not fit. attend gradcheck
 * compares it with its formula. */
#include "tape/op.h"
#include "tape/ops.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

enum { CLASSES = 4, KEYS = 3 };

/* One source: token 1, and twice a token that the vocabulary lacks. */
static const int32_t ids[KEYS] = { 1, 6, 6 };

typedef struct found {
    float loss, gate_grad, weight_grads[KEYS], logit_grads[CLASSES];
} found;

static att_status run(found *out, float gate, const float *weights, int32_t target, int64_t source,
                      att_error *err)
{
    static const float logits[CLASSES] = { 0.5f, -1, 2, 0 };
    att_tape *tape;
    assert_int_equal(att_tape_new(&tape, NULL, NULL), ATT_OK);
    att_tape_begin(tape, true, 0, 0);
    const att_copy_inputs in = {
        .logits = att_tape_variable(tape, 2, (int64_t[]){ 1, CLASSES }, logits),
        .gate = att_tape_variable(tape, 2, (int64_t[]){ 1, 1 }, &gate),
        .weights = att_tape_variable(tape, 2, (int64_t[]){ 1, KEYS }, weights),
    };
    const att_copy_sources sources = { 1, KEYS, ids, &source };
    att_node *loss = att_copy_cross_entropy(tape, &in, &sources, &target, 0, NULL);
    att_status status = att_tape_status(tape, err);
    if (status == ATT_OK) {
        assert_int_equal(att_tape_backward(tape, loss, 1, err), ATT_OK);
        out->loss = loss->value[0];
        out->gate_grad = in.gate->grad[0];
        for (int i = 0; i < KEYS; i++)
            out->weight_grads[i] = in.weights->grad[i];
        for (int i = 0; i < CLASSES; i++)
            out->logit_grads[i] = in.logits->grad[i];
    }
    att_tape_free(tape);
    return status;
}

static void assert_finite(const found *got)
{
    assert_true(isfinite(got->loss) && isfinite(got->gate_grad));
    for (int i = 0; i < KEYS; i++)
        assert_true(isfinite(got->weight_grads[i]));
    for (int i = 0; i < CLASSES; i++)
        assert_true(isfinite(got->logit_grads[i]));
}

/* exp(-500) is 0 in float; in the logarithm nothing is lost. */
static void a_closed_gate_costs_its_logarithm(void **state)
{
    (void)state;
    static const float weights[KEYS] = { 0.5f, 0.25f, 0.25f };
    found got;
    assert_int_equal(run(&got, 500, weights, 6, 0, NULL), ATT_OK); /* never copies */
    assert_true(fabsf(got.loss - (500 + logf(2))) < 1e-3f);
    assert_true(got.gate_grad == 1);
    assert_finite(&got);
    assert_int_equal(run(&got, -500, weights, 2, 0, NULL), ATT_OK); /* always copies */
    assert_true(got.loss > 500 && got.gate_grad == -1);
    assert_finite(&got);
}

static void a_copied_token_without_weight_has_a_finite_loss_and_gradient(void **state)
{
    (void)state;
    static const float weights[KEYS] = { 1, 0, 0 };
    found got;
    assert_int_equal(run(&got, 0, weights, 6, 0, NULL), ATT_OK);
    assert_true(fabsf(got.loss - (logf(2) - logf(1e-9f))) < 1e-3f);
    assert_true(got.weight_grads[0] == 0 && got.weight_grads[1] < 0);
    assert_true(got.weight_grads[1] == got.weight_grads[2]);
    assert_finite(&got);
}

/* A token that can only be copied says nothing about the vocabulary. */
static void a_copied_token_leaves_the_logits_alone(void **state)
{
    (void)state;
    static const float weights[KEYS] = { 0.5f, 0.25f, 0.25f };
    found got;
    assert_int_equal(run(&got, 0.3f, weights, 6, 0, NULL), ATT_OK);
    for (int i = 0; i < CLASSES; i++)
        assert_true(got.logit_grads[i] == 0);
    assert_int_equal(run(&got, 0.3f, weights, 2, 0, NULL), ATT_OK); /* not in the source */
    for (int i = 0; i < KEYS; i++)
        assert_true(got.weight_grads[i] == 0);
}

static void targets_and_sources_that_do_not_exist_are_refused(void **state)
{
    (void)state;
    static const float weights[KEYS] = { 0.5f, 0.25f, 0.25f };
    found got;
    att_error err = { 0 };
    assert_int_equal(run(&got, 0, weights, 5, 0, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message,
                        "expected a target below 4 or of the source, found 5 in row 0");
    assert_int_equal(run(&got, 0, weights, 1, 1, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "expected sources below 1, found 1 in row 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_closed_gate_costs_its_logarithm),
        cmocka_unit_test(a_copied_token_without_weight_has_a_finite_loss_and_gradient),
        cmocka_unit_test(a_copied_token_leaves_the_logits_alone),
        cmocka_unit_test(targets_and_sources_that_do_not_exist_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
