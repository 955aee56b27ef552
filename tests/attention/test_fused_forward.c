/* Fused attention against the reference, which gets the same floats and works in double; bounds are
 * derived in fused_bounds.h. */
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

/* Everything that comes out agrees with the reference, and nothing else was written. */
static void agree(choice c)
{
    scene s;
    results found, exact;
    scene_new(&s, c);
    results_new(&found, &s, ATT_F32, true);
    results_new(&exact, &s, ATT_F64, true);
    ASSERT_OK(att_attention_forward(&s.how, &s.in, &found.out, NULL, err));
    ASSERT_OK(att_attention_forward_ref(&s.how, &s.in, &exact.out, err));
    check_all(&s, &found, &exact);
    for (int n = 0; n < RESULTS; n++)
        assert_int_equal(results_spilt(&found, n), 0);
    results_free(&found);
    results_free(&exact);
    scene_free(&s);
}

static void every_number_of_queries_and_keys_agrees(void **state)
{
    (void)state;
    for (int64_t n = 0; n < 68; n++) {
        agree((choice){ 1, n, 67 - n, 1, 1, 5, 3, .seed = (uint64_t)n });
        agree((choice){ 1, 67 - n % 7, n, 2, 1, 4, 2, .mask = CAUSAL, .seed = (uint64_t)n });
    }
    agree((choice){ 1, 3, 300, 1, 1, 8, 8, .seed = 1 });
    agree((choice){ 1, 140, 513, 1, 1, 8, 8, .mask = CAUSAL, .seed = 2 });
    agree((choice){ 1, 300, 3, 1, 1, 8, 8, .seed = 3 });
    agree((choice){ 1, 1, 1, 1, 1, 1, 1, .seed = 4 });
}

static void every_width_agrees(void **state)
{
    (void)state;
    for (int64_t n = 0; n <= 130; n++) {
        agree(
            (choice){ 1, 6, 20, 1, 1, n, 130 - n, .seed = (uint64_t)n, .score = ATT_SCORE_SCALED });
        agree((choice){ 1, 1, 20, 1, 1, 130 - n, n, .seed = (uint64_t)n });
    }
    agree((choice){ 1, 20, 30, 1, 1, 600, 300, .seed = 1, .score = ATT_SCORE_SCALED });
}

static void every_mask_and_bias_agrees(void **state)
{
    (void)state;
    uint64_t seed = 0;
    for (size_t m = 0; m < COUNT(masks); m++)
        for (size_t b = 0; b < COUNT(biases); b++)
            for (int extra = 0; extra < 3; extra++)
                agree((choice){ .B = masks[m] & PACKED ? 1 : 3,
                                .T = 51 + extra * 5,
                                .S = 150 - extra * 13,
                                .H = 4,
                                .G = extra == 0   ? 4
                                     : extra == 1 ? 2
                                                  : 1,
                                .K = 12,
                                .M = 7,
                                .mask = masks[m],
                                .bias = biases[b],
                                .cap = extra == 1 ? 1.5 : 0,
                                .dropout = extra == 2 ? 0.3 : 0,
                                .scale = extra == 1 ? -0.7 : 0,
                                .layout = (layout)extra,
                                .score = ATT_SCORE_SCALED,
                                .seed = seed++ });
}

static void large_scores_agree(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 6; seed++)
        agree((choice){ 1, 40, 300, 1, 1, 16, 8, .spread = pow(4, (double)seed), .seed = seed });
}

/* The hash of all results under one instruction set and number of threads. */
static uint64_t hash_of(const scene *s, att_cpu cpu, int threads)
{
    results found;
    assert_true(att_cpu_use(cpu));
    att_threads_set(threads);
    results_new(&found, s, ATT_F32, s->c.seed % 2);
    ASSERT_OK(att_attention_forward(&s->how, &s->in, &found.out, NULL, err));
    uint64_t hash = results_hash(&found);
    results_free(&found);
    return hash;
}

static void same_bits(choice c)
{
    static const int threads[] = { 1, 2, 3, 8 };
    scene s;
    scene_new(&s, c);
    uint64_t plain = hash_of(&s, ATT_CPU_REF, 1);
    for (int cpu = ATT_CPU_REF; cpu <= (int)att_cpu_best(); cpu++)
        for (size_t t = c.seed; t < c.seed + 2; t++) /* two numbers of threads in each scene */
            if (hash_of(&s, (att_cpu)cpu, threads[t % COUNT(threads)]) != plain)
                fail_msg("other bits on set %d with %d threads: %s", cpu,
                         threads[t % COUNT(threads)], choice_name(&c));
    scene_free(&s);
    att_cpu_use(att_cpu_best());
    att_threads_set(1);
}

static void every_instruction_set_and_number_of_threads_gives_the_same_bits(void **state)
{
    (void)state;
    uint64_t seed = 0;
    for (size_t m = 0; m < COUNT(masks); m++)
        for (size_t b = 0; b < COUNT(biases); b++, seed++)
            same_bits((choice){ .B = masks[m] & PACKED ? 1 : 2,
                                .T = 45 + (int64_t)seed % 7,
                                .S = 140,
                                .H = 2,
                                .G = 1,
                                .K = 9,
                                .M = 20,
                                .mask = masks[m],
                                .bias = biases[b],
                                .cap = seed % 3 == 1 ? 2 : 0,
                                .dropout = seed % 4 == 1 ? 0.2 : 0,
                                .layout = (layout)(seed % LAYOUTS),
                                .seed = seed });
    same_bits((choice){ 1, 300, 300, 2, 2, 64, 64, .mask = CAUSAL, .seed = 3 });
}

/* The first `queries` rows of the output from row `first` on, as bytes in order. */
static void take_rows(float *to, const results *r, int64_t b, int64_t first, int64_t queries)
{
    const att_tensor *out = r->out.output;
    for (int64_t i = 0; i < queries; i++)
        for (int64_t h = 0; h < out->shape[2]; h++)
            for (int64_t m = 0; m < out->shape[3]; m++)
                *to++ = (float)get(out, b, first + i, h, m);
}

/* The same scene with some of the queries and keys only, by views. */
static void part_of(scene *part, const scene *s, int64_t b, int64_t query, int64_t queries,
                    int64_t key, int64_t keys)
{
    *part = *s;
    part->c.B = 1;
    part->c.T = queries;
    part->c.S = keys;
    for (int slot = ATT_SLOT_QUERY; slot <= ATT_SLOT_VALUE; slot++) {
        att_tensor *t = &part->tensor[slot];
        int64_t first = slot == ATT_SLOT_QUERY ? query : key;
        t->data = (float *)t->data + b * t->stride[0] + first * t->stride[1];
        t->shape[0] = 1;
        t->shape[1] = slot == ATT_SLOT_QUERY ? queries : keys;
    }
    scene_connect(part);
}

static void assert_same_rows(const scene *part, const scene *s, const results *whole, int64_t b,
                             int64_t first)
{
    results alone;
    int64_t queries = part->c.T, size = queries * s->c.H * s->c.M;
    float *found = malloc((size_t)size * sizeof *found),
          *wanted = malloc((size_t)size * sizeof *wanted);
    results_new(&alone, part, ATT_F32, false);
    ASSERT_OK(att_attention_forward(&part->how, &part->in, &alone.out, NULL, err));
    take_rows(found, &alone, 0, 0, queries);
    take_rows(wanted, whole, b, first, queries);
    if (memcmp(found, wanted, (size_t)size * sizeof *found) != 0)
        fail_msg("queries %d to %d differ: %s", (int)first, (int)(first + queries),
                 choice_name(&s->c));
    free(found);
    free(wanted);
    results_free(&alone);
}

static void a_query_alone_equals_itself_among_many(void **state)
{
    (void)state;
    scene s, part;
    results whole;
    scene_new(&s, (choice){ 2, 75, 333, 2, 1, 24, 40, .mask = CAUSAL, .bias = ALIBI, .seed = 8 });
    results_new(&whole, &s, ATT_F32, false);
    ASSERT_OK(att_attention_forward(&s.how, &s.in, &whole.out, NULL, err));
    for (int64_t b = 0; b < 2; b++)
        for (int64_t i = 0; i < 75; i++)
            for (int64_t count = 1; count <= 75 - i; count = count * 3 - 1 + (count == 1)) {
                part_of(&part, &s, b, i, count, 0, 333);
                part.how.offset = s.how.offset + i;
                assert_same_rows(&part, &s, &whole, b, i);
            }
    results_free(&whole);
    scene_free(&s);
}

static void decoding_over_a_cache_equals_the_full_matrix(void **state)
{
    (void)state;
    scene s, part;
    results whole;
    scene_new(&s, (choice){ 1, 290, 290, 2, 2, 32, 32, .mask = CAUSAL | WINDOW, .bias = RELATIVE,
                            .cap = 3, .seed = 9 });
    results_new(&whole, &s, ATT_F32, false);
    ASSERT_OK(att_attention_forward(&s.how, &s.in, &whole.out, NULL, err));
    for (int64_t i = 0; i < 290; i++) { /* only the keys so far are there */
        part_of(&part, &s, 0, i, 1, 0, i + 1);
        part.how.offset = i;
        assert_same_rows(&part, &s, &whole, 0, i);
    }
    results_free(&whole);
    scene_free(&s);
}

static void packed_sequences_equal_padded_ones(void **state)
{
    (void)state;
    scene s, part;
    results whole;
    scene_new(&s, (choice){ 1, 210, 400, 2, 1, 16, 24, .mask = PACKED | CAUSAL, .bias = ALIBI,
                            .seed = 10 });
    s.how.offset = 3;
    results_new(&whole, &s, ATT_F32, false);
    ASSERT_OK(att_attention_forward(&s.how, &s.in, &whole.out, NULL, err));
    for (int q = 0; q < 4; q++) {
        const int64_t *queries = s.how.query_offsets, *keys = s.how.key_offsets;
        part_of(&part, &s, 0, queries[q], queries[q + 1] - queries[q], keys[q],
                keys[q + 1] - keys[q]);
        part.how.sequences = 0;
        part.how.query_offsets = part.how.key_offsets = NULL;
        assert_same_rows(&part, &s, &whole, 0, queries[q]);
        /* Padded with the keys that follow, cut off by the length. */
        int64_t length = keys[q + 1] - keys[q];
        part_of(&part, &s, 0, queries[q], queries[q + 1] - queries[q], keys[q], 400 - keys[q]);
        part.how.sequences = 0;
        part.how.query_offsets = part.how.key_offsets = NULL;
        part.how.key_lengths = &length;
        assert_same_rows(&part, &s, &whole, 0, queries[q]);
    }
    results_free(&whole);
    scene_free(&s);
}

static void set(const scene *s, att_slot slot, int64_t b, int64_t n, int64_t g, int64_t c, double x)
{
    att_tensor t = s->tensor[slot];
    att_tensor_set(&t, SHAPE(b, n, g, c), x);
}

/* What a masked key or value holds changes no bit, whatever it is. */
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
            ASSERT_OK(att_attention_forward(&s.how, &s.in, &before.out, NULL, err));
            ASSERT_OK(att_attention_forward_ref(&s.how, &s.in, &exact.out, err));
            for (int64_t j = 0; j < 150; j++) {
                bool used = false; /* by query 0, or by any: some stay visible to others */
                for (int64_t i = 0; i < s.c.T; i++)
                    used |= get(exact.out.weights, 0, 0, i, j) > 0;
                if (used)
                    continue;
                set(&s, ATT_SLOT_KEY, 0, j, 0, j % 8, wild[j % 4]);
                set(&s, ATT_SLOT_VALUE, 0, j, 0, j % 20, wild[j % 3]);
            }
            ASSERT_OK(att_attention_forward(&s.how, &s.in, &after.out, NULL, err));
            if (results_hash(&before) != results_hash(&after))
                fail_msg("a masked key shows: %s", choice_name(&s.c));
            results_free(&before);
            results_free(&after);
            results_free(&exact);
            scene_free(&s);
        }
}

/* NaN and infinities that some queries see and others do not: each as the reference has it. */
static void what_is_not_finite_shows_exactly_where_it_is_used(void **state)
{
    (void)state;
    static const double wild[] = { NAN, INFINITY, -INFINITY };
    for (size_t m = 0; m < COUNT(masks); m++)
        for (int where = 0; where < 9; where++) {
            scene s;
            results found, exact;
            scene_new(&s, (choice){ 1, where % 2 ? 3 : 60, 150, 1, 1, 8, 20, .mask = masks[m],
                                    .seed = 40 + m });
            set(&s, (att_slot)(where / 3), 0, where / 3 == 0 ? 2 : 37, 0, 3, wild[where % 3]);
            results_new(&found, &s, ATT_F32, true);
            results_new(&exact, &s, ATT_F64, true);
            ASSERT_OK(att_attention_forward(&s.how, &s.in, &found.out, NULL, err));
            ASSERT_OK(att_attention_forward_ref(&s.how, &s.in, &exact.out, err));
            for (int n = 0; n < RESULTS; n++)
                for (int64_t e = 0; e < att_tensor_count(&exact.tensor[n]); e++) {
                    double a = (double)((float *)found.tensor[n].data)[e];
                    double b = ((double *)exact.tensor[n].data)[e];
                    if (isfinite(a) != isfinite(b) || isnan(a) != isnan(b))
                        fail_msg("%s element %d is %g, expected %g, case %d: %s", result_names[n],
                                 (int)e, a, b, where, choice_name(&s.c));
                }
            results_free(&found);
            results_free(&exact);
            scene_free(&s);
        }
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
    ASSERT_OK(att_attention_forward(&s.how, &s.in, &found.out, NULL, err));
    for (int64_t i = 0; i < 20; i++)
        assert_int_equal(isnan(get(found.out.output, 0, i, 0, 0)), i == 7);
    assert_true(get(found.out.log_sum_exp, 0, 0, 7, 0) == -INFINITY);
    results_free(&found);
    scene_free(&s);
}

static void denormals_and_tiny_values_agree(void **state)
{
    (void)state;
    scene s;
    results found, exact;
    scene_new(&s, (choice){ 1, 20, 40, 1, 1, 4, 4, .seed = 3 });
    for (int64_t j = 0; j < 40; j++)
        for (int64_t m = 0; m < 4; m++)
            set(&s, ATT_SLOT_VALUE, 0, j, 0, m, (double)(j - 20) * 1e-42);
    results_new(&found, &s, ATT_F32, true);
    results_new(&exact, &s, ATT_F64, true);
    ASSERT_OK(att_attention_forward(&s.how, &s.in, &found.out, NULL, err));
    ASSERT_OK(att_attention_forward_ref(&s.how, &s.in, &exact.out, err));
    for (int64_t i = 0; i < 20; i++) /* each product rounds to a multiple of 2^-149 */
        assert_true(fabs(get(found.out.output, 0, i, 0, 1) - get(exact.out.output, 0, i, 0, 1)) <=
                    42 * 0x1p-150);
    results_free(&found);
    results_free(&exact);
    scene_free(&s);
}

static void a_workspace_of_the_size_told_is_enough(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 12; seed++) {
        scene s;
        results with, without;
        att_threads_set(1 + (int)seed % 4);
        scene_new(&s, (choice){ 2, 9 + 17 * (int64_t)seed, 100, 3, 1, 20, 33,
                                .bias = biases[seed % COUNT(biases)],
                                .layout = (layout)(seed % LAYOUTS), .seed = seed });
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

/* By the plan itself: whether a run shows what is missing depends on which threads come to work. */
static void no_results_asked_for_take_more_room_than_is_told(void **state)
{
    (void)state;
    for (int bits = 0; bits < 8; bits++)
        for (int threads = 1; threads <= 8; threads++) {
            scene s;
            att_problem problem;
            att_fused plan;
            att_tensor some = { 0 };
            att_attention_outputs out = { .scores = bits & 1 ? &some : NULL,
                                          .key_totals = bits & 2 ? &some : NULL,
                                          .entropy = bits & 4 ? &some : NULL };
            att_threads_set(threads);
            scene_new(&s, (choice){ 1, 212, 300, 1, 1, 6, 5, .seed = 1 });
            ASSERT_OK(att_problem_new(&problem, &s.how, &s.in, err));
            assert_true(att_fused_plan(&plan, &problem, &out) <=
                        att_attention_workspace(&s.how, &s.in, false));
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
    att_attention how = { .score = ATT_SCORE_SCALED };
    att_attention_inputs in = { .query = &t, .key = &t, .value = &t };
    size_t size = att_attention_workspace(&how, &in, false);
    assert_true(size > 0 && size < (size_t)64 << 20);
    att_threads_set(1);
}

static void every_failed_allocation_is_told_and_nothing_leaks(void **state)
{
    (void)state;
    scene s;
    results found;
    scene_new(&s, (choice){ 1, 40, 100, 1, 1, 8, 8, .mask = BLOCKS, .seed = 1 });
    results_new(&found, &s, ATT_F32, true);
    size_t live = att_alloc_live();
    att_status status = ATT_NO_MEMORY;
    for (size_t n = 1; status != ATT_OK; n++) {
        att_error err = { 0 };
        assert_true(n < 10);
        att_alloc_fail_at(n);
        status = att_attention_forward(&s.how, &s.in, &found.out, NULL, &err);
        att_alloc_fail_at(0);
        assert_true(status == ATT_OK || status == ATT_NO_MEMORY);
        assert_true(status == err.status);
        assert_int_equal(att_alloc_live(), live);
    }
    results_free(&found);
    scene_free(&s);
}

static void double_tensors_go_to_the_reference(void **state)
{
    (void)state;
    scene s;
    results found, exact;
    scene_new(&s, (choice){ 1, 20, 40, 1, 1, 4, 4, .seed = 3 });
    results_new(&found, &s, ATT_F64, true);
    results_new(&exact, &s, ATT_F64, true);
    ASSERT_OK(att_attention_forward(&s.how, &s.in, &found.out, NULL, err));
    ASSERT_OK(att_attention_forward_ref(&s.how, &s.in, &exact.out, err));
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
    att_threads_set(1); /* but where a test is about threads */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
