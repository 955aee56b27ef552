/* Attention by rows, and folded scores, against the reference; and their promises. */
#include "rows_check.h"

static void agree(choice c)
{
    scene s;
    results found, exact;
    scene_new(&s, c);
    results_new(&found, &s, ATT_F32, true);
    results_new(&exact, &s, ATT_F64, true);
    ASSERT_OK(att_attention_forward(&s.how, &s.in, &found.out, NULL, err));
    ASSERT_OK(att_attention_forward_ref(&s.how, &s.in, &exact.out, err));
    double limit = tolerance(&s, &exact);
    for (int n = 0; n < RESULTS; n++) {
        if (n == 5 && c.normaliser == ATT_NORMALISE_SUM)
            continue; /* the logarithm of a weight near 0 can be anything */
        check_tensor(result_names[n], &found.tensor[n], &exact.tensor[n], limit, &c);
        assert_int_equal(results_spilt(&found, n), 0);
    }
    results_free(&found);
    results_free(&exact);
    scene_free(&s);
}

static choice kind(int score, int normaliser, uint64_t seed)
{
    return (choice){ .B = 2,
                     .T = 7,
                     .S = 20,
                     .H = 2,
                     .G = 1,
                     .K = 6,
                     .M = 5,
                     .A = 9,
                     .spread = 0.7,
                     .score = (att_score)score,
                     .normaliser = (att_normaliser)normaliser,
                     .seed = seed };
}

static void every_score_and_normaliser_agrees_at_every_size(void **state)
{
    (void)state;
    static const int64_t sizes[][5] = {
        /* T, S, K, M, A */
        { 1, 1, 1, 1, 1 },  { 1, 40, 64, 64, 64 }, { 33, 17, 16, 3, 17 }, { 5, 300, 3, 20, 40 },
        { 40, 0, 4, 4, 4 }, { 0, 9, 4, 4, 4 },     { 3, 5, 0, 2, 0 },     { 65, 129, 7, 0, 5 }
    };
    FOR_KINDS(score, normaliser)
    for (size_t n = 0; n < COUNT(sizes); n++) {
        choice c = kind(score, normaliser, n);
        c.T = sizes[n][0];
        c.S = sizes[n][1];
        c.K = sizes[n][2];
        c.M = sizes[n][3];
        c.A = sizes[n][4];
        agree(c);
    }
}

static void every_mask_and_bias_agrees(void **state)
{
    (void)state;
    uint64_t seed = 0;
    FOR_KINDS(score, normaliser)
    for (size_t m = 0; m < COUNT(masks); m++, seed++) {
        choice c = kind(score, normaliser, seed);
        c.mask = masks[m];
        c.bias = biases[seed % COUNT(biases)];
        c.B = masks[m] & PACKED ? 1 : 2;
        c.T = 35 + (int64_t)seed % 5;
        c.S = 90 - (int64_t)seed % 7;
        c.H = 4;
        c.G = 1 << seed % 3;
        c.cap = seed % 5 == 1 ? 1.5 : 0;
        c.dropout = seed % 4 == 2 ? 0.3 : 0;
        c.scale = seed % 3 == 1 ? -0.7 : 0;
        c.layout = (layout)(seed % LAYOUTS);
        agree(c);
    }
}

static uint64_t hash_of(const scene *s, att_cpu cpu, int threads, bool everything)
{
    results found;
    assert_true(att_cpu_use(cpu));
    att_threads_set(threads);
    results_new(&found, s, ATT_F32, everything);
    ASSERT_OK(att_attention_forward(&s->how, &s->in, &found.out, NULL, err));
    uint64_t hash = results_hash(&found);
    results_free(&found);
    return hash;
}

static void every_instruction_set_and_number_of_threads_gives_the_same_bits(void **state)
{
    (void)state;
    static const int threads[] = { 1, 2, 3, 8 };
    uint64_t seed = 0;
    FOR_KINDS(score, normaliser)
    {
        choice c = kind(score, normaliser, seed++);
        scene s;
        c.mask = masks[seed % COUNT(masks)];
        c.B = c.mask & PACKED ? 1 : 5;
        c.T = 40;
        c.S = 150;
        c.K = 19;
        c.A = 35;
        c.dropout = seed % 3 == 0 ? 0.2 : 0;
        scene_new(&s, c);
        bool everything = seed % 2;
        uint64_t plain = hash_of(&s, ATT_CPU_REF, 1, everything);
        for (int cpu = ATT_CPU_REF; cpu <= (int)att_cpu_best(); cpu++)
            for (size_t t = 0; t < COUNT(threads); t++)
                if (hash_of(&s, (att_cpu)cpu, threads[t], everything) != plain)
                    fail_msg("other bits on set %d with %d threads: %s by %s, %s", cpu, threads[t],
                             att_score_name(c.score), att_normaliser_name(c.normaliser),
                             choice_name(&c));
        scene_free(&s);
    }
    att_cpu_use(att_cpu_best());
    att_threads_set(1);
}

static void assert_bits(float found, double wanted, int64_t i, const choice *c)
{
    if ((double)found != wanted && !(isnan(found) && isnan(wanted)))
        fail_msg("query %d got %.9g, expected %.9g: %s by %s", (int)i, (double)found, wanted,
                 att_score_name(c->score), att_normaliser_name(c->normaliser));
}

/* Query i of head 0 worked out with the first `keys` keys alone. */
static void one_query(const scene *s, int64_t i, int64_t keys, float *output)
{
    att_tensor query = s->tensor[ATT_SLOT_QUERY], key = s->tensor[ATT_SLOT_KEY];
    att_tensor value = s->tensor[ATT_SLOT_VALUE];
    att_tensor to = att_tensor_view(output, ATT_F32, 4, SHAPE(1, 1, s->c.H, s->c.M));
    att_attention how = s->how;
    att_attention_inputs in = s->in;
    query.data = (float *)query.data + i * query.stride[1];
    query.shape[1] = 1;
    key.shape[1] = value.shape[1] = keys;
    in.query = &query;
    in.key = &key;
    in.value = &value;
    how.offset = i;
    ASSERT_OK(
        att_attention_forward(&how, &in, &(att_attention_outputs){ .output = &to }, NULL, err));
}

static void decoding_over_a_cache_equals_the_full_matrix(void **state)
{
    (void)state;
    FOR_KINDS(score, normaliser)
    {
        choice c = kind(score, normaliser, 4);
        scene s;
        results whole;
        c.B = 1;
        c.T = c.S = 70;
        c.mask = CAUSAL;
        scene_new(&s, c);
        results_new(&whole, &s, ATT_F32, false);
        ASSERT_OK(att_attention_forward(&s.how, &s.in, &whole.out, NULL, err));
        for (int64_t i = 0; i < c.T; i += 3) {
            float output[2 * 5];
            one_query(&s, i, i + 1, output);
            for (int64_t h = 0; h < c.H; h++)
                for (int64_t m = 0; m < c.M; m++)
                    assert_bits(output[h * c.M + m], get(whole.out.output, 0, i, h, m), i, &c);
        }
        results_free(&whole);
        scene_free(&s);
    }
}

/* The same two sequences, of 12 queries and 30 keys and of 20 and 17, packed and padded. */
static void packed_sequences_equal_padded_ones(void **state)
{
    (void)state;
    static const int64_t queries[] = { 0, 12, 32 }, keys[] = { 0, 30, 47 };
    FOR_KINDS(score, normaliser)
    {
        choice c = kind(score, normaliser, 5);
        scene s;
        results whole;
        c.B = 1;
        c.T = 32;
        c.S = 47;
        scene_new(&s, c);
        s.how.causal = true;
        s.how.offset = 10;
        s.how.sequences = 2;
        s.how.query_offsets = queries;
        s.how.key_offsets = keys;
        results_new(&whole, &s, ATT_F32, false);
        ASSERT_OK(att_attention_forward(&s.how, &s.in, &whole.out, NULL, err));
        for (int n = 0; n < 2; n++) {
            int64_t T = queries[n + 1] - queries[n], S = keys[n + 1] - keys[n];
            float output[20 * 2 * 5];
            att_tensor part[3] = { s.tensor[0], s.tensor[1], s.tensor[2] };
            att_tensor to = att_tensor_view(output, ATT_F32, 4, SHAPE(1, T, 2, 5));
            att_attention how = s.how;
            att_attention_inputs in = s.in;
            how.sequences = 0;
            how.query_offsets = how.key_offsets = NULL;
            for (int slot = 0; slot < 3; slot++) {
                part[slot].shape[1] = slot == 0 ? T : S + (n == 0 ? 17 : 0); /* what lies there */
                part[slot].data = (float *)part[slot].data +
                                  (slot == 0 ? queries[n] : keys[n]) * part[slot].stride[1];
            }
            how.key_lengths = &S;
            in.query = &part[0];
            in.key = &part[1];
            in.value = &part[2];
            ASSERT_OK(att_attention_forward(&how, &in, &(att_attention_outputs){ .output = &to },
                                            NULL, err));
            for (int64_t i = 0; i < T; i++)
                for (int64_t h = 0; h < 2; h++)
                    for (int64_t m = 0; m < 5; m++)
                        assert_bits(output[(i * 2 + h) * 5 + m],
                                    get(whole.out.output, 0, queries[n] + i, h, m), i, &c);
        }
        results_free(&whole);
        scene_free(&s);
    }
}

/* A number that is not finite in one place: results are finite where the reference's are. */
static void what_is_not_finite_shows_exactly_where_it_is_used(void **state)
{
    (void)state;
    static const double wild[] = { NAN, INFINITY, -INFINITY };
    FOR_KINDS(score, normaliser)
    for (int where = 0; where < 9; where++)
        for (size_t m = 0; m < COUNT(masks); m += 1 + (size_t)where % 3) {
            choice c = kind(score, normaliser, 40 + m);
            scene s;
            results found, exact;
            c.B = c.H = 1;
            c.T = where % 2 ? 1 : 35;
            c.S = 45;
            c.mask = masks[m];
            scene_new(&s, c);
            att_tensor_set(&s.tensor[where / 3], SHAPE(0, where < 3 ? c.T / 2 : 12, 0, 2),
                           wild[where % 3]);
            results_new(&found, &s, ATT_F32, true);
            results_new(&exact, &s, ATT_F64, true);
            ASSERT_OK(att_attention_forward(&s.how, &s.in, &found.out, NULL, err));
            ASSERT_OK(att_attention_forward_ref(&s.how, &s.in, &exact.out, err));
            for (int64_t i = 0; i < c.T; i++)
                for (int64_t k = 0; k < c.M; k++) {
                    double a = get(found.out.output, 0, i, 0, k);
                    double b = get(exact.out.output, 0, i, 0, k);
                    if (isfinite(a) != isfinite(b))
                        fail_msg("output [%d,%d] is %g, expected %g, case %d: %s by %s, %s", (int)i,
                                 (int)k, a, b, where, att_score_name(c.score),
                                 att_normaliser_name(c.normaliser), choice_name(&c));
                }
            results_free(&found);
            results_free(&exact);
            scene_free(&s);
        }
}

static void a_workspace_of_the_size_told_is_enough(void **state)
{
    (void)state;
    uint64_t seed = 0;
    FOR_KINDS(score, normaliser)
    {
        choice c = kind(score, normaliser, seed++);
        scene s;
        results with, without;
        att_threads_set(1 + (int)seed % 5);
        c.B = 3;
        c.T = 9 + (int64_t)seed * 5;
        c.S = 133;
        c.layout = (layout)(seed % LAYOUTS);
        scene_new(&s, c);
        results_new(&with, &s, ATT_F32, seed % 2);
        results_new(&without, &s, ATT_F32, seed % 2);
        size_t size = att_attention_workspace(&s.how, &s.in, false);
        assert_true(size > 0);
        unsigned char *workspace = malloc(size + 65);
        memset(workspace, 0x77, size + 65);
        ASSERT_OK(att_attention_forward(&s.how, &s.in, &with.out, workspace + 1, err));
        ASSERT_OK(att_attention_forward(&s.how, &s.in, &without.out, NULL, err));
        assert_true(results_hash(&with) == results_hash(&without));
        assert_int_equal(workspace[0], 0x77);
        for (size_t n = size + 1; n < size + 65; n++)
            assert_int_equal(workspace[n], 0x77);
        free(workspace);
        results_free(&with);
        results_free(&without);
        scene_free(&s);
    }
    att_threads_set(1);
}

/* Twice the sequence, at most twice the workspace. */
static void memory_grows_with_the_sequence_alone(void **state)
{
    (void)state;
    FOR_KINDS(score, normaliser)
    for (int backward = 0; backward < 2; backward++) {
        size_t size[2];
        for (int n = 0; n < 2; n++) {
            choice c = kind(score, normaliser, 0);
            scene s;
            c.T = c.S = n ? 4000 : 2000;
            scene_new(&s, c);
            size[n] = att_attention_workspace(&s.how, &s.in, backward);
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
    att_attention how = { .normaliser = ATT_NORMALISE_SPARSEMAX };
    att_error err;
    assert_int_equal(att_attention_forward(
                         &how, &(att_attention_inputs){ .query = &in, .key = &in, .value = &none },
                         &(att_attention_outputs){ .output = &out }, NULL, &err),
                     ATT_NO_MEMORY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_score_and_normaliser_agrees_at_every_size),
        cmocka_unit_test(every_mask_and_bias_agrees),
        cmocka_unit_test(every_instruction_set_and_number_of_threads_gives_the_same_bits),
        cmocka_unit_test(decoding_over_a_cache_equals_the_full_matrix),
        cmocka_unit_test(packed_sequences_equal_padded_ones),
        cmocka_unit_test(what_is_not_finite_shows_exactly_where_it_is_used),
        cmocka_unit_test(a_workspace_of_the_size_told_is_enough),
        cmocka_unit_test(memory_grows_with_the_sequence_alone),
        cmocka_unit_test(sizes_beyond_all_memory_are_refused),
    };
    att_threads_set(1); /* but where a test is about threads */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
