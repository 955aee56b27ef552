/* Fused attention against the reference, which gets the same floats and works in double; bounds are
 * derived in fused_bounds.h. */
#include "forward_promises.h"
#include "fused_bounds.h"

#include "attention/fused.h"

#include <float.h>

static void near(const scene *s, int result, double found, double wanted, double bound, int64_t a,
                 int64_t b, int64_t c, int64_t d)
{
    bool same = found == wanted || (isnan(found) && isnan(wanted));
    if (!same && !(fabs(found - wanted) <= bound))
        fail_msg("%s [%d,%d,%d,%d] is %.9g, expected %.9g within %.3g: %s", result_names[result],
                 (int)a, (int)b, (int)c, (int)d, found, wanted, bound, choice_name(&s->c));
}

/* The outputs of one query. */
static void check_row(const scene *s, const results *found, const results *exact, double *totals,
                      int64_t b, int64_t h, int64_t i)
{
    const choice *c = &s->c;
    bounds bound = row_bounds(s, exact, b, h, i);
    for (int64_t j = 0; j < c->S; j++) {
        double score = get(exact->out.scores, b, h, i, j);
        double weight = get(exact->out.weights, b, h, i, j);
        near(s, 1, get(found->out.scores, b, h, i, j), score, bound.score, b, h, i, j);
        near(s, 2, get(found->out.weights, b, h, i, j), weight, bound.weight * weight + FLT_MIN, b,
             h, i, j);
        totals[j] += bound.weight * weight + FLT_MIN;
    }
    for (int64_t m = 0; m < c->M; m++) {
        double size = 0;
        for (int64_t j = 0; j < c->S; j++)
            size += get(exact->out.weights, b, h, i, j) *
                    fabs(get(s->in.value, b, j, h / (c->H / c->G), m));
        near(s, 0, get(found->out.output, b, i, h, m), get(exact->out.output, b, i, h, m),
             bound.weight * size / (1 - c->dropout) + FLT_MIN, b, i, h, m);
    }
    double sum = get(exact->out.log_sum_exp, b, h, i, 0),
           entropy = get(exact->out.entropy, b, h, i, 0);
    near(s, 3, get(found->out.log_sum_exp, b, h, i, 0), sum, bound.weight + 4 * EPS * fabs(sum), b,
         h, i, 0);
    near(s, 5, get(found->out.entropy, b, h, i, 0), entropy,
         (bound.weight + 4 * EPS) * (entropy + 1), b, h, i, 0);
}

static void check_all(const scene *s, const results *found, const results *exact)
{
    const choice *c = &s->c;
    double *totals = malloc((size_t)(c->S + 1) * sizeof *totals);
    for (int64_t b = 0; b < c->B; b++)
        for (int64_t h = 0; h < c->H; h++) {
            memset(totals, 0, (size_t)(c->S + 1) * sizeof *totals);
            for (int64_t i = 0; i < c->T; i++)
                check_row(s, found, exact, totals, b, h, i);
            for (int64_t j = 0; j < c->S; j++) {
                double total = get(exact->out.key_totals, b, h, j, 0);
                near(s, 4, get(found->out.key_totals, b, h, j, 0), total, totals[j] + EPS * total,
                     b, h, j, 0);
            }
        }
    free(totals);
}

/* All results agree with the reference, and nothing else was written. */
static void agree(choice c)
{
    forward f;
    forward_open(&f, c);
    forward_run(&f);
    check_all(&f.s, &f.found, &f.exact);
    for (int n = 0; n < RESULTS; n++)
        assert_int_equal(results_spilled(&f.found, n), 0);
    forward_close(&f);
}

static void every_number_of_queries_and_keys_agrees(void **state)
{
    (void)state;
    for_every_count(agree);
}

static void every_width_agrees(void **state)
{
    (void)state;
    for (int64_t n = 0; n <= 130; n += THIN > 1 ? 5 : 1) { /* odd: every remainder */
        agree(
            (choice){ 1, 6, 20, 1, 1, n, 130 - n, .seed = (uint64_t)n, .score = ATT_SCORE_SCALED });
        agree((choice){ 1, 1, 20, 1, 1, 130 - n, n, .seed = (uint64_t)n });
    }
    agree((choice){ 1, 20, 30, 1, 1, 600, 300, .seed = 1, .score = ATT_SCORE_SCALED });
}

static void every_mask_and_bias_agrees(void **state)
{
    (void)state;
    for_every_mask_and_bias((choice){ .B = 3, .K = 12, .M = 7 }, agree);
}

static void large_scores_agree(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 6; seed++)
        agree((choice){ 1, 40, 300, 1, 1, 16, 8, .spread = pow(4, (double)seed), .seed = seed });
}

static void same_bits(choice c)
{
    promise_same_bits(c, 2);
}

static void every_instruction_set_and_number_of_threads_gives_the_same_bits(void **state)
{
    (void)state;
    for_every_mask_shared((choice){ .S = 140, .K = 9, .M = 20 }, same_bits);
    same_bits((choice){ 1, 300, 300, 2, 2, 64, 64, .mask = CAUSAL, .seed = 3 });
}

static void a_query_alone_equals_itself_among_many(void **state)
{
    (void)state;
    scene s, part;
    results whole;
    scene_new(&s, (choice){ 2, 75, 333, 2, 1, 24, 40, .mask = CAUSAL, .bias = ALIBI, .seed = 8 });
    results_new(&whole, &s, ATT_F32, false);
    ASSERT_OK(att_attention_forward(&s.options, &s.in, &whole.out, NULL, err));
    for (int64_t b = 0; b < 2; b++)
        for (int64_t i = 0; i < 75; i++)
            for (int64_t count = 1; count <= 75 - i; count = count * 3 - 1 + (count == 1)) {
                part_of(&part, &s, b, i, count, 0, 333);
                part.options.offset = s.options.offset + i;
                assert_same_rows(&part, &whole, b, i);
            }
    results_free(&whole);
    scene_free(&s);
}

static void decoding_over_a_cache_equals_the_full_matrix(void **state)
{
    (void)state;
    promise_decoding((choice){ 1, 290, 290, 2, 2, 32, 32, .mask = CAUSAL | WINDOW, .bias = RELATIVE,
                               .cap = 3, .seed = 9 },
                     1);
}

static void packed_sequences_equal_padded_ones(void **state)
{
    (void)state;
    scene s;
    scene_new(&s, (choice){ 1, 210, 400, 2, 1, 16, 24, .mask = PACKED | CAUSAL, .bias = ALIBI,
                            .seed = 10 });
    s.options.offset = 3;
    promise_packing(&s);
    scene_free(&s);
}

static void set(const scene *s, att_slot slot, int64_t b, int64_t n, int64_t g, int64_t c, double x)
{
    att_tensor t = s->tensor[slot];
    att_tensor_set(&t, SHAPE(b, n, g, c), x);
}

/* The content of a masked key or value changes no bit. */
static void masked_keys_do_not_leak(void **state)
{
    (void)state;
    static const double wild[] = { NAN, INFINITY, -INFINITY, 3e38 };
    for (size_t m = 1; m < COUNT(masks); m++)
        for (int few = 0; few < 2; few++) {
            scene s;
            results before, after, exact;
            scene_new(&s, (choice){ 1, few ? 2 : 60, 150, 1, 1, 8, 20, .mask = masks[m],
                                    .seed = 20 + m });
            results_new(&before, &s, ATT_F32, true);
            results_new(&after, &s, ATT_F32, true);
            results_new(&exact, &s, ATT_F64, true);
            ASSERT_OK(att_attention_forward(&s.options, &s.in, &before.out, NULL, err));
            ASSERT_OK(att_attention_forward_reference(&s.options, &s.in, &exact.out, err));
            for (int64_t j = 0; j < 150; j++) {
                bool used = false; /* by query 0, or by any: some stay visible to others */
                for (int64_t i = 0; i < s.c.T; i++)
                    used |= get(exact.out.weights, 0, 0, i, j) > 0;
                if (used)
                    continue;
                set(&s, ATT_SLOT_KEY, 0, j, 0, j % 8, wild[j % 4]);
                set(&s, ATT_SLOT_VALUE, 0, j, 0, j % 20, wild[j % 3]);
            }
            ASSERT_OK(att_attention_forward(&s.options, &s.in, &after.out, NULL, err));
            if (results_hash(&before) != results_hash(&after))
                fail_msg("a masked key shows: %s", choice_name(&s.c));
            results_free(&before);
            results_free(&after);
            results_free(&exact);
            scene_free(&s);
        }
}

/* NaN and infinities that some queries see and others do not: each as the reference has it. */
static void check_finite(choice c, int where)
{
    static const double wild[] = { NAN, INFINITY, -INFINITY };
    forward f;
    forward_open(&f, c);
    set(&f.s, (att_slot)(where / 3), 0, where / 3 == 0 ? 2 : 37, 0, 3, wild[where % 3]);
    forward_run(&f);
    for (int n = 0; n < RESULTS; n++)
        for (int64_t e = 0; e < att_tensor_count(&f.exact.tensor[n]); e++) {
            double a = (double)((float *)f.found.tensor[n].data)[e];
            double b = ((double *)f.exact.tensor[n].data)[e];
            if (isfinite(a) != isfinite(b) || isnan(a) != isnan(b))
                fail_msg("%s element %d is %g, expected %g, case %d: %s", result_names[n], (int)e,
                         a, b, where, choice_name(&c));
        }
    forward_close(&f);
}

static void what_is_not_finite_shows_exactly_where_it_is_used(void **state)
{
    (void)state;
    for (size_t m = 0; m < COUNT(masks); m++)
        for (int where = (int)m % THIN; where < 9; where += THIN)
            check_finite((choice){ 1, where % 2 ? 3 : 60, 150, 1, 1, 8, 20, .mask = masks[m],
                                   .seed = 40 + m },
                         where);
}

static void a_row_of_minus_infinity_alone_is_nan_as_in_the_reference(void **state)
{
    (void)state;
    scene s;
    results found;
    scene_new(&s, (choice){ 1, 20, 40, 1, 1, 4, 4, .bias = FULL_BIAS, .seed = 3 });
    for (int64_t j = 0; j < 40; j++)
        set(&s, ATT_SLOT_BIAS, 0, 0, 7, j, -INFINITY);
    results_new(&found, &s, ATT_F32, true);
    ASSERT_OK(att_attention_forward(&s.options, &s.in, &found.out, NULL, err));
    for (int64_t i = 0; i < 20; i++)
        assert_int_equal(isnan(get(found.out.output, 0, i, 0, 0)), i == 7);
    assert_true(get(found.out.log_sum_exp, 0, 0, 7, 0) == -INFINITY);
    results_free(&found);
    scene_free(&s);
}

static void denormals_and_tiny_values_agree(void **state)
{
    (void)state;
    forward f;
    forward_open(&f, (choice){ 1, 20, 40, 1, 1, 4, 4, .seed = 3 });
    for (int64_t j = 0; j < 40; j++)
        for (int64_t m = 0; m < 4; m++)
            set(&f.s, ATT_SLOT_VALUE, 0, j, 0, m, (double)(j - 20) * 1e-42);
    forward_run(&f);
    for (int64_t i = 0; i < 20; i++) { /* each product rounds to a multiple of 2^-149 */
        double error = get(f.found.out.output, 0, i, 0, 1) - get(f.exact.out.output, 0, i, 0, 1);
        assert_true(fabs(error) <= 42 * 0x1p-150);
    }
    forward_close(&f);
}

static void a_workspace_of_the_size_told_is_enough(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 12; seed++)
        promise_workspace((choice){ 2, 9 + 17 * (int64_t)seed, 100, 3, 1, 20, 33,
                                    .bias = biases[seed % COUNT(biases)],
                                    .layout = (layout)(seed % LAYOUTS), .seed = seed },
                          1 + (int)seed % 4);
}

/* Checks the plan itself: whether a run reveals missing memory depends on the scheduling of
 * threads. */
static void no_results_asked_for_take_more_room_than_is_told(void **state)
{
    (void)state;
    for (int bits = 0; bits < 8; bits++)
        for (int threads = 1; threads <= 8; threads++) {
            scene s;
            att_problem problem;
            att_fused_attention plan;
            att_tensor some = { 0 };
            att_attention_outputs out = { .scores = bits & 1 ? &some : NULL,
                                          .key_totals = bits & 2 ? &some : NULL,
                                          .entropy = bits & 4 ? &some : NULL };
            att_threads_set(threads);
            scene_new(&s, (choice){ 1, 212, 300, 1, 1, 6, 5, .seed = 1 });
            ASSERT_OK(att_problem_new(&problem, &s.options, &s.in, err));
            assert_true(att_fused_plan(&plan, &problem, &out) <=
                        att_attention_workspace(&s.options, &s.in, false));
            scene_free(&s);
        }
    att_threads_set(1);
}

static void memory_grows_with_the_sequence_alone(void **state)
{
    (void)state;
    att_threads_set(1);
    int64_t n = 65536;
    float some = 0;
    att_tensor t = att_tensor_view(&some, ATT_F32, 4, SHAPE(1, n, 1, 64));
    att_attention_options options = { .size = sizeof(att_attention_options),
                                      .score = ATT_SCORE_SCALED };
    att_attention_inputs in = { .query = &t, .key = &t, .value = &t };
    size_t size = att_attention_workspace(&options, &in, false);
    assert_true(size > 0 && size < (size_t)64 << 20);
    att_threads_set(1);
}

static void every_failed_allocation_is_told_and_nothing_leaks(void **state)
{
    (void)state;
    promise_failures((choice){ 1, 40, 100, 1, 1, 8, 8, .mask = BLOCKS, .seed = 1 }, 10);
}

static void double_tensors_go_to_the_reference(void **state)
{
    (void)state;
    scene s;
    results found, exact;
    scene_new(&s, (choice){ 1, 20, 40, 1, 1, 4, 4, .seed = 3 });
    results_new(&found, &s, ATT_F64, true);
    results_new(&exact, &s, ATT_F64, true);
    ASSERT_OK(att_attention_forward(&s.options, &s.in, &found.out, NULL, err));
    ASSERT_OK(att_attention_forward_reference(&s.options, &s.in, &exact.out, err));
    assert_true(results_hash(&found) == results_hash(&exact));
    results_free(&found);
    results_free(&exact);
    scene_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_number_of_queries_and_keys_agrees),
        cmocka_unit_test(every_width_agrees),
        cmocka_unit_test(every_mask_and_bias_agrees),
        cmocka_unit_test(large_scores_agree),
        cmocka_unit_test(every_instruction_set_and_number_of_threads_gives_the_same_bits),
        cmocka_unit_test(a_query_alone_equals_itself_among_many),
        cmocka_unit_test(decoding_over_a_cache_equals_the_full_matrix),
        cmocka_unit_test(packed_sequences_equal_padded_ones),
        cmocka_unit_test(masked_keys_do_not_leak),
        cmocka_unit_test(what_is_not_finite_shows_exactly_where_it_is_used),
        cmocka_unit_test(a_row_of_minus_infinity_alone_is_nan_as_in_the_reference),
        cmocka_unit_test(denormals_and_tiny_values_agree),
        cmocka_unit_test(a_workspace_of_the_size_told_is_enough),
        cmocka_unit_test(no_results_asked_for_take_more_room_than_is_told),
        cmocka_unit_test(memory_grows_with_the_sequence_alone),
        cmocka_unit_test(every_failed_allocation_is_told_and_nothing_leaks),
        cmocka_unit_test(double_tensors_go_to_the_reference),
    };
    att_threads_set(1); /* except in tests of threads */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
