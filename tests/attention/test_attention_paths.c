/* The table of paths (src/attention/attention.c): each path computes the same function, wherever it
 * supports a problem, and refuses what it does not support. */
#include "forward_promises.h"
#include "rowwise_check.h"

#include "attention/paths.h"

static const char *const path_names[] = { "fused", "projected-fused", "rowwise", "reference" };

/* A problem on one path against the reference; returns whether the path supports it. */
static bool agrees_on(const char *name, choice c)
{
    forward f;
    att_error refused = { 0 };
    forward_open(&f, c);
    const att_attention_path *path = att_attention_path_get(name);
    assert_non_null(path);
    att_status status =
        att_attention_forward_on(path, &f.s.options, &f.s.in, &f.found.out, &refused);
    if (status == ATT_OK) {
        ASSERT_OK(att_attention_forward_reference(&f.s.options, &f.s.in, &f.exact.out, err));
        double limit = tolerance(&f.s, &f.exact);
        for (int n = 0; n < RESULTS; n++)
            check_tensor(result_names[n], &f.found.tensor[n], &f.exact.tensor[n], limit, &c);
    } else {
        char expected[80];
        snprintf(expected, sizeof expected, "the path %s does not support this problem", name);
        assert_string_equal(refused.message, expected);
    }
    forward_close(&f);
    return status == ATT_OK;
}

static void each_path_agrees_with_the_reference_on_what_it_supports(void **state)
{
    (void)state;
    for (size_t n = 0; n < COUNT(path_names); n++)
        for (int score = 0; score < SCORES; score++)
            for (size_t m = 0; m < COUNT(masks); m++) {
                choice c = kind(score, ATT_NORMALIZE_SOFTMAX, m);
                c.T = 37;
                c.S = 150;
                c.mask = masks[m];
                c.bias = biases[m % COUNT(biases)];
                c.B = c.mask & PACKED ? 1 : 2;
                bool dot = score <= ATT_SCORE_SCALED,
                     projected = score == ATT_SCORE_GENERAL || score == ATT_SCORE_COSINE;
                bool expected[] = { dot, projected, true, true };
                assert_int_equal(agrees_on(path_names[n], c), expected[n]);
            }
}

static void only_softmax_is_fused(void **state)
{
    (void)state;
    for (int normalizer = ATT_NORMALIZE_MEAN; normalizer < NORMALIZERS; normalizer++) {
        assert_false(agrees_on("fused", kind(ATT_SCORE_DOT, normalizer, 1)));
        assert_false(agrees_on("projected-fused", kind(ATT_SCORE_GENERAL, normalizer, 1)));
    }
}

/* The gradients of a path in float32 against the reference's, in float32 too. */
static void each_path_has_the_gradients_of_the_reference(void **state)
{
    (void)state;
    for (size_t n = 0; n < COUNT(path_names); n++)
        for (int score = 0; score < SCORES; score++) {
            scene s;
            loss l;
            grads found, exact;
            choice c = kind(score, ATT_NORMALIZE_SOFTMAX, 3);
            c.mask = CAUSAL;
            scene_new(&s, c);
            loss_new(&l, &s);
            grads_new(&found, &s, ATT_F32);
            grads_new(&exact, &s, ATT_F32);
            const att_attention_path *path = att_attention_path_get(path_names[n]);
            if (att_attention_backward_on(path, &s.options, &s.in, &l.grad.tensor[0], &found.to,
                                          NULL) == ATT_OK) {
                ASSERT_OK(att_attention_backward_reference(&s.options, &s.in, &l.grad.tensor[0],
                                                           &exact.to, err));
                for (int slot = 0; slot < ATT_SLOT_COUNT; slot++)
                    if (exact.tensor[slot].data)
                        check_tensor(grad_names[slot], &found.tensor[slot], &exact.tensor[slot],
                                     1e-4, &c);
            } else {
                assert_true(n < 2); /* row-wise and reference support everything */
            }
            results_free(&l.grad);
            grads_free(&found);
            grads_free(&exact);
            scene_free(&s);
        }
}

static void results_in_double_come_from_the_reference_alone(void **state)
{
    (void)state;
    scene s;
    results exact;
    scene_new(&s, kind(ATT_SCORE_DOT, ATT_NORMALIZE_SOFTMAX, 2));
    results_new(&exact, &s, ATT_F64, false);
    for (size_t n = 0; n < COUNT(path_names); n++) {
        att_status expected = n == 3 ? ATT_OK : ATT_BAD_INPUT;
        assert_int_equal(att_attention_forward_on(att_attention_path_get(path_names[n]), &s.options,
                                                  &s.in, &exact.out, NULL),
                         expected);
    }
    assert_null(att_attention_path_get("flash"));
    results_free(&exact);
    scene_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_path_agrees_with_the_reference_on_what_it_supports),
        cmocka_unit_test(only_softmax_is_fused),
        cmocka_unit_test(each_path_has_the_gradients_of_the_reference),
        cmocka_unit_test(results_in_double_come_from_the_reference_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
