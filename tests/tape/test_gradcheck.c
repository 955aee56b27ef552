/* The gradient check of every operation in the table, and the check itself on operations that are
 * wrong on purpose. */
#include "tape/op.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

static void every_operation_agrees_with_its_reference(void **state)
{
    (void)state;
    int wrong = 0;
    for (int op = 0; op < att_gradcheck_count(); op++)
        for (int sample = 0; sample < att_gradcheck_samples(op); sample++) {
            att_gradcheck got;
            att_error err = { 0 };
            if (att_gradcheck_run(&got, op, sample, &err) != ATT_OK) {
                print_error("%s, sample %d: %s\n", att_gradcheck_name(op), sample, err.message);
                wrong++;
            } else if (!got.passed) {
                print_error("%s, %s: forward %g (at most %g), backward %g (at most %g) in input "
                            "%d\n",
                            got.op, got.sample, got.forward_error, got.forward_bound,
                            got.backward_error, got.backward_bound, got.input);
                wrong++;
            }
        }
    assert_int_equal(wrong, 0);
}

static void every_operation_has_a_reference_and_samples(void **state)
{
    (void)state;
    for (int i = 0; i < att_op_count; i++) {
        assert_non_null(att_ops[i]->name);
        assert_non_null(att_ops[i]->truth);
        assert_true(att_ops[i]->rounding_steps >= 1);
        assert_true(att_ops[i]->sample_count >= 2);
        /* One of the samples has size 0. */
        bool empty = false;
        for (int s = 0; s < att_ops[i]->sample_count; s++)
            for (int n = 0; n < att_ops[i]->samples[s].input_count; n++)
                for (int d = 0; d < att_ops[i]->samples[s].in[n].rank; d++)
                    empty = empty || att_ops[i]->samples[s].in[n].shape[d] == 0;
        if (!empty)
            fail_msg("%s has no sample of size 0", att_ops[i]->name);
        for (int j = 0; j < i; j++)
            assert_string_not_equal(att_ops[i]->name, att_ops[j]->name);
    }
}

static void operations_are_named_as_in_the_code(void **state)
{
    (void)state;
    static const char *const names[] = { "activation",
                                         "attention",
                                         "avg-pool2d",
                                         "bmm",
                                         "concat",
                                         "conv2d",
                                         "crf",
                                         "embedding",
                                         "expand",
                                         "guided-alignment-loss",
                                         "linear-cross-entropy",
                                         "local-window",
                                         "max-pool2d",
                                         "rnn",
                                         "rnn-final-state",
                                         "rope",
                                         "select",
                                         "sequence-pool",
                                         "slice",
                                         "swiglu" };
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        int found = 0;
        for (int i = 0; i < att_op_count; i++)
            found += strcmp(att_ops[i]->name, names[n]) == 0;
        assert_int_equal(found, 1);
    }
}

/* ---------------------------------------------------------------- the check on wrong operations */

/* y = a * b, correct. The check must find the error in each changed copy of it. */
static bool pair_shape(att_tape *tape, att_node *node)
{
    (void)tape;
    att_node_shape_like(node, node->in[0]);
    return true;
}

static bool pair_forward(att_tape *tape, att_node *node)
{
    (void)tape;
    for (int64_t i = 0; i < node->count; i++)
        node->value[i] = node->in[0]->value[i] * node->in[1]->value[i];
    return true;
}

static bool backward_with(att_tape *tape, att_node *node, float factor, bool replace)
{
    for (int n = 0; n < 2; n++) {
        float *grad = att_node_grad(tape, node->in[n]);
        for (int64_t i = 0; grad && i < node->count; i++) {
            float d = node->grad[i] * node->in[1 - n]->value[i] * (n == 1 ? factor : 1);
            grad[i] = replace ? d : grad[i] + d;
        }
    }
    return true;
}

static bool correct_backward(att_tape *tape, att_node *node)
{
    return backward_with(tape, node, 1, false);
}

static bool slightly_wrong_backward(att_tape *tape, att_node *node)
{
    return backward_with(tape, node, 1.00001f, false);
}

static bool replacing_backward(att_tape *tape, att_node *node)
{
    return backward_with(tape, node, 1, true);
}

static bool missing_backward(att_tape *tape, att_node *node)
{
    (void)tape;
    (void)node;
    return true;
}

static bool slightly_wrong_forward(att_tape *tape, att_node *node)
{
    pair_forward(tape, node);
    node->value[0] *= 1.00001f;
    return true;
}

static void pair_truth(double *value, const att_node *node, const double *const *in)
{
    for (int64_t i = 0; i < node->count; i++)
        value[i] = in[0][i] * in[1][i];
}

static const att_op_sample pair_sample = { "same shape", 2, { { 1, { 9 } }, { 1, { 9 } } },
                                           NULL,         0, 0 };

static const att_op correct = { .name = "pair",
                                .shape = pair_shape,
                                .forward = pair_forward,
                                .backward = correct_backward,
                                .truth = pair_truth,
                                .rounding_steps = 3,
                                .samples = &pair_sample,
                                .sample_count = 1 };

static att_gradcheck check(const att_op *op)
{
    att_gradcheck got;
    assert_int_equal(att_gradcheck_sample(&got, op, 0, NULL), ATT_OK);
    return got;
}

static void a_correct_operation_passes(void **state)
{
    (void)state;
    assert_true(check(&correct).passed);
}

static void a_gradient_off_by_a_hundred_thousandth_is_found(void **state)
{
    (void)state;
    att_op op = correct;
    op.backward = slightly_wrong_backward;
    att_gradcheck got = check(&op);
    assert_false(got.passed);
    assert_int_equal(got.input, 1);
    assert_true(got.forward_error <= got.forward_bound);
}

static void a_gradient_that_replaces_what_was_there_is_found(void **state)
{
    (void)state;
    att_op op = correct;
    op.backward = replacing_backward;
    assert_false(check(&op).passed);
}

static void a_missing_gradient_is_found(void **state)
{
    (void)state;
    att_op op = correct;
    op.backward = missing_backward;
    assert_false(check(&op).passed);
}

static void a_wrong_forward_is_found(void **state)
{
    (void)state;
    att_op op = correct;
    op.forward = slightly_wrong_forward;
    att_gradcheck got = check(&op);
    assert_false(got.passed);
    assert_true(got.forward_error > got.forward_bound);
}

static void operations_and_samples_outside_the_table_are_refused(void **state)
{
    (void)state;
    att_gradcheck got;
    att_error err = { 0 };
    assert_int_equal(att_gradcheck_run(&got, att_gradcheck_count(), 0, &err), ATT_BAD_INPUT);
    assert_int_equal(att_gradcheck_run(&got, 0, att_gradcheck_samples(0), &err), ATT_BAD_INPUT);
    assert_null(att_gradcheck_name(-1));
    assert_null(att_gradcheck_name(att_gradcheck_count()));
    assert_int_equal(att_gradcheck_samples(-1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation_agrees_with_its_reference),
        cmocka_unit_test(every_operation_has_a_reference_and_samples),
        cmocka_unit_test(operations_are_named_as_in_the_code),
        cmocka_unit_test(a_correct_operation_passes),
        cmocka_unit_test(a_gradient_off_by_a_hundred_thousandth_is_found),
        cmocka_unit_test(a_gradient_that_replaces_what_was_there_is_found),
        cmocka_unit_test(a_missing_gradient_is_found),
        cmocka_unit_test(a_wrong_forward_is_found),
        cmocka_unit_test(operations_and_samples_outside_the_table_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
