/* Row-wise attention and transformed scores against the reference; and their promises. */
#include "forward_promises.h"
#include "rowwise_check.h"

static void agree(choice c)
{
    forward f;
    forward_open(&f, c);
    forward_run(&f);
    double limit = tolerance(&f.s, &f.exact);
    for (int n = 0; n < RESULTS; n++) {
        if (n == 5 && c.normalizer == ATT_NORMALIZE_SUM)
            continue; /* the logarithm of a weight near 0 can be anything */
        check_tensor(result_names[n], &f.found.tensor[n], &f.exact.tensor[n], limit, &c);
        assert_int_equal(results_spilled(&f.found, n), 0);
    }
    forward_close(&f);
}

static void every_score_and_normalizer_agrees_at_every_size(void **state)
{
    (void)state;
    for_every_size(agree);
}

static void every_mask_and_bias_agrees(void **state)
{
    (void)state;
    for_every_mask(agree);
}

static void same_bits(choice c)
{
    promise_same_bits(c, COUNT(thread_numbers));
}

static void every_instruction_set_and_number_of_threads_gives_the_same_bits(void **state)
{
    (void)state;
    for_every_kind_shared(same_bits);
}

static void decoding_over_a_cache_equals_the_full_matrix(void **state)
{
    (void)state;
    FOR_KINDS(score, normalizer)
    {
        choice c = kind(score, normalizer, 4);
        c.B = 1;
        c.T = c.S = 70;
        c.mask = CAUSAL;
        promise_decoding(c, 3);
    }
}

/* Two sequences, of 12 queries and 30 keys and of 20 and 17. */
static void packed_sequences_equal_padded_ones(void **state)
{
    (void)state;
    static const int64_t queries[] = { 0, 12, 32 }, keys[] = { 0, 30, 47 };
    FOR_KINDS(score, normalizer)
    {
        choice c = kind(score, normalizer, 5);
        scene s;
        c.B = 1;
        c.T = 32;
        c.S = 47;
        scene_new(&s, c);
        s.options.causal = true;
        s.options.offset = 10;
        s.options.sequences = 2;
        s.options.query_offsets = queries;
        s.options.key_offsets = keys;
        promise_packing(&s);
        scene_free(&s);
    }
}

/* A number that is not finite in one place: results are finite where the reference's are. */
static void check_finite(choice c, int where)
{
    static const double wild[] = { NAN, INFINITY, -INFINITY };
    forward f;
    forward_open(&f, c);
    att_tensor_set(&f.s.tensor[where / 3], SHAPE(0, where < 3 ? c.T / 2 : 12, 0, 2),
                   wild[where % 3]);
    forward_run(&f);
    for (int64_t i = 0; i < c.T; i++)
        for (int64_t k = 0; k < c.M; k++) {
            double a = get(f.found.out.output, 0, i, 0, k);
            double b = get(f.exact.out.output, 0, i, 0, k);
            if (isfinite(a) != isfinite(b))
                fail_msg("output [%d,%d] is %g, expected %g, case %d: %s", (int)i, (int)k, a, b,
                         where, choice_name(&c));
        }
    forward_close(&f);
}

static void what_is_not_finite_shows_exactly_where_it_is_used(void **state)
{
    (void)state;
    FOR_KINDS(score, normalizer)
    for (int where = (score + normalizer) % THIN; where < 9; where += THIN)
        for (size_t m = 0; m < COUNT(masks); m += 1 + (size_t)where % 3) {
            choice c = kind(score, normalizer, 40 + m);
            c.B = c.H = 1;
            c.T = where % 2 ? 1 : 35;
            c.S = 45;
            c.mask = masks[m];
            check_finite(c, where);
        }
}

static void a_workspace_of_the_size_told_is_enough(void **state)
{
    (void)state;
    uint64_t seed = 0;
    FOR_KINDS(score, normalizer)
    {
        choice c = kind(score, normalizer, seed++);
        c.B = 3;
        c.T = 9 + (int64_t)seed * 5;
        c.S = 133;
        c.layout = (layout)(seed % LAYOUTS);
        promise_workspace(c, 1 + (int)seed % 5);
    }
}

/* Twice the sequence, at most twice the workspace. */
static void memory_grows_with_the_sequence_alone(void **state)
{
    (void)state;
    FOR_KINDS(score, normalizer)
    for (int backward = 0; backward < 2; backward++) {
        size_t size[2];
        for (int n = 0; n < 2; n++) {
            choice c = kind(score, normalizer, 0);
            scene s;
            c.T = c.S = n ? 4000 : 2000;
            scene_new(&s, c);
            size[n] = att_attention_workspace(&s.options, &s.in, backward);
            scene_free(&s);
        }
        assert_true(size[0] > 0 && size[1] <= 2 * size[0]);
    }
}

static void sizes_beyond_all_memory_are_refused(void **state)
{
    (void)state;
    float zero = 0;
    int64_t far = (int64_t)1 << 32;
    att_tensor in = { .data = &zero, .dtype = ATT_F32, .rank = 4, .shape = { far, far, 1, far } };
    att_tensor out = {
        .dtype = ATT_F32, .rank = 4, .shape = { far, far, 1, 0 }, .stride = { 0, 0, 0, 1 }
    };
    att_tensor none = { .dtype = ATT_F32, .rank = 4, .shape = { far, far, 1, 0 } };
    att_attention_options options = { .size = sizeof(att_attention_options),
                                      .normalizer = ATT_NORMALIZE_SPARSEMAX };
    att_error err;
    assert_int_equal(
        att_attention_forward(&options,
                              &(att_attention_inputs){ .query = &in, .key = &in, .value = &none },
                              &(att_attention_outputs){ .output = &out }, NULL, &err),
        ATT_NO_MEMORY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_score_and_normalizer_agrees_at_every_size),
        cmocka_unit_test(every_mask_and_bias_agrees),
        cmocka_unit_test(every_instruction_set_and_number_of_threads_gives_the_same_bits),
        cmocka_unit_test(decoding_over_a_cache_equals_the_full_matrix),
        cmocka_unit_test(packed_sequences_equal_padded_ones),
        cmocka_unit_test(what_is_not_finite_shows_exactly_where_it_is_used),
        cmocka_unit_test(a_workspace_of_the_size_told_is_enough),
        cmocka_unit_test(memory_grows_with_the_sequence_alone),
        cmocka_unit_test(sizes_beyond_all_memory_are_refused),
    };
    att_threads_set(1); /* except in tests of threads */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
