/* Sequence pooling. Values and gradients are checked against the reference formula in
 * test_gradcheck.c; these tests are about layouts, threads, ties, NaN and bad input. */
#include "base/random.h"
#include "tape/ops.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

enum { B = 64, T = 40, N = 70, MODES = ATT_POOL_MODE_LAST + 1 };

typedef struct scene {
    att_tape *tape;
    int64_t padded_first[B], packed_first[B], lengths[B];
    float padded[B * T * N], packed[B * T * N];
    int64_t rows;
} scene;

static int make_scene(void **state)
{
    static scene s;
    s = (scene){ 0 };
    for (int64_t b = 0; b < B; b++) {
        s.lengths[b] = b % (T + 1);
        s.padded_first[b] = b * T;
        s.packed_first[b] = s.rows;
        for (int64_t t = 0; t < T; t++)
            for (int64_t j = 0; j < N; j++)
                s.padded[(b * T + t) * N + j] =
                    att_random_float(1, (uint64_t)b, (uint64_t)(t * N + j)) - 0.5f;
        memcpy(s.packed + s.rows * N, s.padded + b * T * N,
               (size_t)(s.lengths[b] * N) * sizeof(float));
        s.rows += s.lengths[b];
    }
    *state = &s;
    return att_tape_new(&s.tape, NULL, NULL) == ATT_OK ? 0 : -1;
}

static int end_scene(void **state)
{
    att_tape_free(((scene *)*state)->tape);
    att_threads_set(0);
    return 0;
}

static void packed_sequences_have_the_bits_of_padded_ones(void **state)
{
    scene *s = *state;
    for (int mode = 0; mode < MODES; mode++) {
        att_tape_begin(s->tape, false, 0, 0);
        att_node *padded = att_tape_input_view(s->tape, 3, (int64_t[]){ B, T, N }, s->padded);
        att_node *packed = att_tape_input_view(s->tape, 3, (int64_t[]){ 1, s->rows, N }, s->packed);
        att_node *one = att_sequence_pool(s->tape, padded, mode, B, s->padded_first, s->lengths);
        att_node *other = att_sequence_pool(s->tape, packed, mode, B, s->packed_first, s->lengths);
        assert_non_null(other);
        assert_memory_equal(one->value, other->value, B * N * sizeof(float));
    }
}

static void threads_change_no_bit_forward_or_backward(void **state)
{
    scene *s = *state;
    static float value[B * N], grad[B * T * N];
    for (int mode = 0; mode < MODES; mode++)
        for (int threads = 1; threads <= 3; threads += 2) {
            att_threads_set(threads);
            att_tape_begin(s->tape, true, 0, 0);
            att_node *x = att_tape_variable(s->tape, 3, (int64_t[]){ B, T, N }, s->padded);
            att_node *y = att_sequence_pool(s->tape, x, mode, B, s->padded_first, s->lengths);
            att_node *loss = att_sum(s->tape, att_multiply(s->tape, y, y));
            assert_int_equal(att_tape_backward(s->tape, loss, 1, NULL), ATT_OK);
            if (threads == 1) {
                memcpy(value, y->value, sizeof value);
                memcpy(grad, x->grad, sizeof grad);
            }
            assert_memory_equal(y->value, value, sizeof value);
            assert_memory_equal(x->grad, grad, sizeof grad);
        }
}

static void the_first_of_equal_maxima_receives_the_gradient(void **state)
{
    scene *s = *state;
    const float values[] = { 1, 2, 2, 2 };
    att_tape_begin(s->tape, true, 0, 0);
    att_node *x = att_tape_variable(s->tape, 2, (int64_t[]){ 4, 1 }, values);
    att_node *y =
        att_sequence_pool(s->tape, x, ATT_POOL_MODE_MAX, 1, (int64_t[]){ 0 }, (int64_t[]){ 4 });
    assert_int_equal(att_tape_backward(s->tape, att_sum(s->tape, y), 1, NULL), ATT_OK);
    const float wanted[] = { 0, 1, 0, 0 };
    assert_memory_equal(x->grad, wanted, sizeof wanted);
}

static void a_nan_shows_but_for_padding(void **state)
{
    scene *s = *state;
    const float values[] = { 1, NAN, 3, NAN };
    for (int mode = 0; mode < MODES; mode++) {
        att_tape_begin(s->tape, false, 0, 0);
        att_node *x = att_tape_input_view(s->tape, 2, (int64_t[]){ 4, 1 }, values);
        att_node *y =
            att_sequence_pool(s->tape, x, mode, 3, (int64_t[]){ 0, 0, 2 }, (int64_t[]){ 1, 3, 1 });
        assert_non_null(y);
        assert_true(y->value[0] == 1 && y->value[2] == 3);
        assert_true(isnan(y->value[1]) || mode == ATT_POOL_MODE_LAST);
    }
}

static void sequences_outside_the_rows_are_refused(void **state)
{
    scene *s = *state;
    const struct {
        int64_t first, length;
    } wrong[] = { { 3, 2 }, { -1, 1 }, { 0, -1 }, { INT64_MAX, 1 } };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        att_error err = { 0 };
        att_tape_begin(s->tape, false, 0, 0);
        att_node *x = att_tape_input(s->tape, 2, (int64_t[]){ 4, 2 }, NULL);
        assert_null(att_sequence_pool(s->tape, x, ATT_POOL_MODE_MEAN, 1, &wrong[i].first,
                                      &wrong[i].length));
        assert_int_equal(att_tape_status(s->tape, &err), ATT_BAD_INPUT);
        assert_non_null(strstr(err.message, "within the 4 rows of x"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packed_sequences_have_the_bits_of_padded_ones),
        cmocka_unit_test(threads_change_no_bit_forward_or_backward),
        cmocka_unit_test(the_first_of_equal_maxima_receives_the_gradient),
        cmocka_unit_test(a_nan_shows_but_for_padding),
        cmocka_unit_test(sequences_outside_the_rows_are_refused),
    };
    return cmocka_run_group_tests_name("sequence_pool", tests, make_scene, end_scene);
}
