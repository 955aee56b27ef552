/* The tape: gradients through a graph, sticky errors, reused memory. */
#include "tape/ops.h"

#include "base/alloc.h"
#include "tape/op.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

static att_tape *new_tape(att_params *params, bool training)
{
    att_tape *tape;
    assert_int_equal(att_tape_new_training(&tape, params, NULL), ATT_OK);
    att_tape_begin(tape, training, 1, 1);
    return tape;
}

static att_node *vector(att_tape *tape, float a, float b)
{
    return att_tape_variable(tape, 1, (const int64_t[]){ 2 }, (const float[]){ a, b });
}

static void gradients_of_several_uses_are_added(void **state)
{
    (void)state;
    att_tape *tape = new_tape(NULL, true);
    att_node *x = vector(tape, 3, 5);
    att_node *loss = att_sum(tape, att_add(tape, att_multiply(tape, x, x), x)); /* x² + x */
    assert_int_equal(att_tape_backward(tape, loss, 2, NULL), ATT_OK);
    assert_true(loss->value[0] == 9 + 3 + 25 + 5);
    assert_true(x->grad[0] == 2 * (2 * 3 + 1) && x->grad[1] == 2 * (2 * 5 + 1));
    att_tape_free(tape);
}

static void a_reshaped_node_shares_its_gradient(void **state)
{
    (void)state;
    att_tape *tape = new_tape(NULL, true);
    att_node *x = vector(tape, 3, 5);
    att_node *turned = att_reshape(tape, x, 2, (const int64_t[]){ 2, 1 });
    att_node *loss = att_add(tape, att_sum(tape, turned), att_sum(tape, x));
    assert_int_equal(att_tape_backward(tape, loss, 1, NULL), ATT_OK);
    assert_true(x->grad[0] == 2 && x->grad[1] == 2);
    att_tape_free(tape);
}

static void without_training_nothing_gets_a_gradient(void **state)
{
    (void)state;
    att_tape *tape = new_tape(NULL, false);
    att_node *x = vector(tape, 3, 5), *loss = att_sum(tape, att_dropout(tape, x, 0.5f, 1));
    assert_false(att_tape_is_training(tape));
    assert_true(loss->value[0] == 8);
    assert_int_equal(att_tape_backward(tape, loss, 1, NULL), ATT_OK);
    assert_null(x->grad);
    att_tape_free(tape);
}

static void parameters_gather_gradients_over_several_backwards(void **state)
{
    (void)state;
    att_params params = { 0 };
    int index;
    att_param row = { .name = "w", .rank = 1, .shape = { 2 }, .init = ATT_INIT_ONE };
    assert_int_equal(att_params_add(&params, &row, &index, NULL), ATT_OK);
    assert_int_equal(att_params_init(&params, 1, NULL), ATT_OK);
    assert_int_equal(att_params_alloc_grad(&params, NULL), ATT_OK);
    att_tape *tape = new_tape(&params, true);
    for (int step = 1; step <= 3; step++) {
        att_tape_begin(tape, true, 1, (uint64_t)step);
        att_node *w = att_tape_param(tape, 0);
        assert_ptr_equal(att_tape_param(tape, 0), w);
        att_node *loss = att_sum(tape, att_multiply(tape, w, vector(tape, 2, 3)));
        assert_int_equal(att_tape_backward(tape, loss, 1, NULL), ATT_OK);
        assert_true(params.grad[0] == 2.0f * (float)step && params.grad[1] == 3.0f * (float)step);
    }
    att_tape_free(tape);
    att_params_free(&params);
}

/* A product with a matrix parameter on an inference tape; whether the tape had to pack it. */
static bool packs_itself(const att_params *params, bool transposed)
{
    att_tape *tape;
    static const float ones[] = { 1, 1 };
    assert_int_equal(att_tape_new(&tape, params, NULL), ATT_OK);
    att_tape_begin(tape, true, 1, 1);
    att_node *x = att_tape_variable(tape, 1, (const int64_t[]){ 2 }, ones);
    att_node *y =
        att_linear(tape, x, att_tape_param(tape, 0), NULL, ATT_ACTIVATION_NONE, transposed);
    assert_int_equal(att_tape_status(tape, NULL), ATT_OK);
    bool packed = att_tape_unpacked_uses(tape) > 0;
    assert_true(y->value[0] == params->value[0] + params->value[transposed ? 1 : 2]);
    assert_int_equal(att_tape_backward(tape, att_sum(tape, y), 1, NULL), ATT_OK);
    assert_false(att_tape_param(tape, 0)->requires_grad);
    att_tape_free(tape);
    return packed;
}

static void an_inference_tape_only_reads_the_parameters(void **state)
{
    (void)state;
    att_params params = { 0 };
    int index;
    att_param row = { .name = "w",
                      .rank = 2,
                      .shape = { 2, 2 },
                      .init = ATT_INIT_UNIFORM,
                      .init_scale = 1,
                      .packing = ATT_PACK_TRANSPOSED };
    assert_int_equal(att_params_add(&params, &row, &index, NULL), ATT_OK);
    assert_int_equal(att_params_init(&params, 1, NULL), ATT_OK);
    assert_int_equal(att_params_alloc_grad(&params, NULL), ATT_OK);
    assert_int_equal(att_params_pack(&params, NULL), ATT_OK);
    const float *packed = att_param_packed(&params, 0, true);
    assert_false(packs_itself(&params, true));
    assert_true(packs_itself(&params, false));
    assert_null(att_param_packed(&params, 0, false)); /* it kept its own to itself */
    assert_ptr_equal(att_param_packed(&params, 0, true), packed);
    for (int i = 0; i < 4; i++)
        assert_true(params.grad[i] == 0);
    params.value[0] = 5;
    att_params_mark_changed(&params);
    assert_true(packs_itself(&params, true)); /* never the weights of before */
    att_params_free(&params);
}

static void the_first_failure_sticks_and_is_reported(void **state)
{
    (void)state;
    att_tape *tape = new_tape(NULL, true);
    att_node *x = vector(tape, 3, 5), *w = att_tape_input(tape, 2, (const int64_t[]){ 3, 4 }, NULL);
    att_node *bad = att_linear(tape, x, w, NULL, ATT_ACTIVATION_NONE, false);
    assert_null(bad);
    assert_null(att_sum(tape, att_add(tape, bad, x)));
    assert_null(att_select(tape, w, 99));
    att_error err = { 0 };
    assert_int_equal(att_tape_status(tape, &err), ATT_BAD_INPUT);
    assert_string_equal(err.place, "linear");
    assert_string_equal(err.message, "x is [2], expected [3]");
    assert_int_equal(att_tape_backward(tape, NULL, 1, &err), ATT_BAD_INPUT);
    att_tape_begin(tape, true, 1, 2);
    assert_int_equal(att_tape_status(tape, NULL), ATT_OK);
    assert_non_null(att_sum(tape, vector(tape, 1, 2)));
    att_tape_free(tape);
}

static void misfits_are_refused_by_every_kind_of_operation(void **state)
{
    (void)state;
    att_tape *tape = new_tape(NULL, true);
    const int32_t ids[] = { 1, 7 };
    const int64_t lengths[] = { 4 };
    for (int i = 0; i < 9; i++) {
        att_tape_begin(tape, true, 1, 1);
        att_node *m = att_tape_input(tape, 2, (const int64_t[]){ 2, 3 }, NULL);
        att_node *s = att_tape_input(tape, 3, (const int64_t[]){ 1, 2, 3 }, NULL);
        att_node *const pair[] = { m, s };
        att_node *bad[] = {
            i == 0 ? att_add(tape, m, s) : NULL,
            i == 1 ? att_embedding_lookup(tape, m, 1, 2, ids) : NULL,
            i == 2 ? att_cross_entropy(tape, m, ids, (att_loss_terms){ 0 }, NULL) : NULL,
            i == 3 ? att_slice(tape, m, 2, 2) : NULL,
            i == 4 ? att_concat(tape, pair, 2) : NULL,
            i == 5 ? att_reshape(tape, m, 1, (const int64_t[]){ 5 }) : NULL,
            i == 6 ? att_rnn(tape, &(att_rnn_inputs){ .x = s, .w = m, .u = m },
                             &(att_rnn_options){ 0 })
                   : NULL,
            i == 7 ? att_rnn(tape,
                             &(att_rnn_inputs){
                                 .x = att_tape_input(tape, 3, (const int64_t[]){ 1, 2, 2 }, NULL),
                                 .w = att_tape_input(tape, 2, (const int64_t[]){ 2, 3 }, NULL),
                                 .u = att_tape_input(tape, 2, (const int64_t[]){ 3, 3 }, NULL) },
                             &(att_rnn_options){ .lengths = lengths })
                   : NULL,
            i == 8 ? att_attention_op(
                         tape, &(att_attention_op_inputs){ .query = s, .key = s, .value = s }, 2, 1,
                         &(att_attention_options)ATT_INIT(att_attention_options))
                   : NULL,
        };
        assert_null(bad[i]);
        assert_int_equal(att_tape_status(tape, NULL), ATT_BAD_INPUT);
    }
    att_tape_free(tape);
}

/* A graph of some size. */
static att_node *some_graph(att_tape *tape)
{
    att_node *x = att_tape_variable(tape, 2, (const int64_t[]){ 60, 50 }, NULL);
    att_node *w = att_tape_variable(tape, 2, (const int64_t[]){ 50, 50 }, NULL);
    for (int i = 0; i < 8; i++)
        x = att_linear(tape, x, w, NULL, ATT_ACTIVATION_TANH, false);
    return att_sum(tape, x);
}

static void a_second_round_allocates_nothing(void **state)
{
    (void)state;
    att_tape *tape = new_tape(NULL, true);
    for (int round = 0; round < 4; round++) {
        if (round == 2)
            att_alloc_fail_at(1); /* from here on, allocation fails */
        att_tape_begin(tape, true, 1, 1);
        att_node *loss = some_graph(tape);
        assert_non_null(loss);
        assert_int_equal(att_tape_backward(tape, loss, 1, NULL), ATT_OK);
    }
    att_alloc_fail_at(0);
    /* Nine values and the gradient of x stay; the gradients between share memory. */
    assert_true(att_tape_peak_bytes(tape) >= 12 * 60 * 50 * sizeof(float));
    assert_true(att_tape_peak_bytes(tape) < 17 * 60 * 50 * sizeof(float));
    att_tape_free(tape);
}

static void running_out_of_memory_is_a_failure_like_others(void **state)
{
    (void)state;
    size_t live = att_alloc_live();
    for (size_t n = 1; n < 8; n++) {
        att_tape *tape;
        att_alloc_fail_at(n);
        att_status status = att_tape_new(&tape, NULL, NULL);
        if (status == ATT_OK) {
            att_tape_begin(tape, true, 1, 1);
            att_node *loss = some_graph(tape);
            if (loss)
                att_tape_backward(tape, loss, 1, NULL);
            status = att_tape_status(tape, NULL);
            att_tape_free(tape);
        }
        att_alloc_fail_at(0);
        assert_true(status == ATT_OK || status == ATT_NO_MEMORY);
        assert_true(n > 1 || status == ATT_NO_MEMORY);
        assert_int_equal(att_alloc_live(), live);
    }
}

static void dropout_is_drawn_by_seed_step_id_row_and_column(void **state)
{
    (void)state;
    att_tape *tape = new_tape(NULL, true);
    float ones[64], first[64];
    for (int i = 0; i < 64; i++)
        ones[i] = 1;
    const struct {
        uint64_t seed, step, id;
        bool same;
    } cases[] = { { 1, 1, 1, true },  { 1, 1, 1, true },  { 2, 1, 1, false },
                  { 1, 2, 1, false }, { 1, 1, 2, false }, { 1, 1, 1, true } };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        att_tape_begin(tape, true, cases[c].seed, cases[c].step);
        /* With fewer rows, the remaining rows keep their draws. */
        int64_t shape[] = { c == 5 ? 3 : 4, 16 };
        att_node *x = att_tape_input(tape, 2, shape, ones);
        const float *y = att_dropout(tape, x, 0.5f, cases[c].id)->value;
        if (c == 0)
            memcpy(first, y, sizeof first);
        assert_true((memcmp(first, y, 48 * sizeof(float)) == 0) == cases[c].same);
        for (int i = 0; i < 48; i++)
            assert_true(y[i] == 0 || y[i] == 2);
    }
    att_tape_free(tape);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_of_several_uses_are_added),
        cmocka_unit_test(a_reshaped_node_shares_its_gradient),
        cmocka_unit_test(without_training_nothing_gets_a_gradient),
        cmocka_unit_test(parameters_gather_gradients_over_several_backwards),
        cmocka_unit_test(an_inference_tape_only_reads_the_parameters),
        cmocka_unit_test(the_first_failure_sticks_and_is_reported),
        cmocka_unit_test(misfits_are_refused_by_every_kind_of_operation),
        cmocka_unit_test(a_second_round_allocates_nothing),
        cmocka_unit_test(running_out_of_memory_is_a_failure_like_others),
        cmocka_unit_test(dropout_is_drawn_by_seed_step_id_row_and_column),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
