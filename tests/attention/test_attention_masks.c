/* A masked element has no effect, whether it is a number, NaN or infinity, forward or backward.
 * And the masks are those that docs/attention.md defines. */
#include "oracle.h"

/* All results of a scene, forward and backward. */
typedef struct everything {
    scene_results r;
    double grad[ATT_SLOT_COUNT][ROOM];
} everything;

static void work_out(everything *e, const scene *s, const double *output_grad)
{
    att_tensor grad[ATT_SLOT_COUNT], *to[ATT_SLOT_COUNT];
    memset(e->grad, 0, sizeof e->grad);
    for (int slot = 0; slot < ATT_SLOT_COUNT; slot++) {
        grad[slot] = s->tensor[slot];
        grad[slot].data = e->grad[slot];
        to[slot] = s->tensor[slot].data ? &grad[slot] : NULL;
    }
    scene_results_new(&e->r, s);
    ASSERT_OK(att_attention_forward_reference(&s->options, &s->in, &e->r.out, err));
    att_tensor upstream = view4(output_grad, s->B, s->T, s->H, s->M);
    att_attention_grads grads = { to[0], to[1], to[2], to[3], to[4],
                                  to[5], to[6], to[7], to[8], to[9] };
    ASSERT_OK(att_attention_backward_reference(&s->options, &s->in, &upstream, &grads, err));
}

static void fill_output_grad(double *to, uint64_t seed)
{
    for (int n = 0; n < ROOM; n++)
        to[n] = att_random_double(seed, 80, (uint64_t)n) - 0.5;
}

/* Changes the masks of a scene so that each leaves some keys unused by all queries. */
static void hide_whole_keys(scene *s)
{
    s->options.offset = s->options.offsets ? 0 : -1;
    for (size_t n = 0; n < COUNT(s->offsets); n++)
        s->offsets[n] = -1;
    s->blocks[2] = s->blocks[1]; /* block (0, 0) is removed */
    for (int64_t n = 0; n < s->H * s->T; n++)
        s->allow[n * s->S + 1] = 0;
    memcpy(s->query_offsets, (int64_t[]){ 0, 2, 2, 5 }, sizeof s->query_offsets);
    memcpy(s->key_offsets, (int64_t[]){ 0, 2, 3, 5 }, sizeof s->key_offsets);
}

static bool query_sees_nothing(const scene *s, int64_t b, int64_t h, int64_t i)
{
    for (int64_t j = 0; j < s->S; j++)
        if (oracle_allows(s, b, h, i, j))
            return false;
    return true;
}

static bool key_is_unseen(const scene *s, int64_t b, int64_t g, int64_t j)
{
    for (int64_t h = 0; h < s->H; h++)
        for (int64_t i = 0; i < s->T; i++)
            if (h * s->G / s->H == g && oracle_allows(s, b, h, i, j))
                return false;
    return true;
}

static void poison(double *row, int64_t count, double with)
{
    for (int64_t n = 0; n < count; n++)
        row[n] = with;
}

/* Writes `with` to every element that may not be read; returns their number. */
static int poison_hidden(scene *s, double *output_grad, double with)
{
    int places = 0;
    for (int64_t b = 0; b < s->B; b++)
        for (int64_t j = 0; j < s->S; j++)
            for (int64_t g = 0; g < s->G; g++) {
                if (!key_is_unseen(s, b, g, j))
                    continue;
                int64_t row = (b * s->S + j) * s->G + g;
                poison(s->data[ATT_SLOT_KEY] + row * s->Kk, s->Kk, with);
                poison(s->data[ATT_SLOT_VALUE] + row * s->M, s->M, with);
                places++;
            }
    for (int64_t b = 0; b < s->B; b++)
        for (int64_t h = 0; h < s->H; h++)
            for (int64_t i = 0; i < s->T; i++) {
                for (int64_t j = 0; j < s->S; j++)
                    if (s->choice.bias & FULL_BIAS && !oracle_allows(s, b, h, i, j))
                        s->data[ATT_SLOT_BIAS][((b * s->H + h) * s->T + i) * s->S + j] = with;
                if (!query_sees_nothing(s, b, h, i))
                    continue;
                int64_t row = (b * s->T + i) * s->H + h;
                poison(s->data[ATT_SLOT_QUERY] + row * s->Kq, s->Kq, with);
                poison(output_grad + row * s->M, s->M, with);
                places++;
            }
    return places;
}

static void nothing_leaks_from_hidden_keys_and_queries(void **state)
{
    (void)state;
    static scene s;
    static everything clean, poisoned;
    static double output_grad[ROOM];
    int places[2 * PACKED] = { 0 };
    for (int n = 0; n < SCENES; n++) {
        scene_choice choice = scene_choose(n);
        if (choice.mask == 0)
            continue;
        scene_new(&s, choice, (uint64_t)n);
        if (n % 2)
            hide_whole_keys(&s);
        fill_output_grad(output_grad, (uint64_t)n);
        work_out(&clean, &s, output_grad);
        places[choice.mask] += poison_hidden(&s, output_grad, n % 5 < 3 ? NAN : INFINITY);
        work_out(&poisoned, &s, output_grad);
        size_t rows = (size_t)(s.B * s.H * s.T);
        assert_memory_equal(poisoned.grad, clean.grad, sizeof clean.grad);
        assert_memory_equal(poisoned.r.output, clean.r.output, rows * (size_t)s.M * 8);
        assert_memory_equal(poisoned.r.scores, clean.r.scores, rows * (size_t)s.S * 8);
        assert_memory_equal(poisoned.r.weights, clean.r.weights, rows * (size_t)s.S * 8);
        assert_memory_equal(poisoned.r.log_sum_exp, clean.r.log_sum_exp, rows * 8);
        assert_memory_equal(poisoned.r.key_totals, clean.r.key_totals,
                            (size_t)(s.B * s.H * s.S) * 8);
    }
    for (int m = 1; m < MASKS; m++)
        assert_true(places[scene_masks[m]] > 100);
}

/* One key after the other becomes NaN: rows that may not attend to it are unchanged, with their
 * gradients of the query; rows that may attend it show it. */
static void a_key_reaches_exactly_the_queries_that_may_attend_it(void **state)
{
    (void)state;
    static scene s;
    static everything clean, poisoned;
    static double output_grad[ROOM];
    for (int n = 0; n < SCENES; n += 5) {
        scene_new(&s, scene_choose(n), (uint64_t)n);
        fill_output_grad(output_grad, (uint64_t)n);
        work_out(&clean, &s, output_grad);
        int64_t b = n % s.B, g = n % s.G, j = n % s.S, row = (b * s.S + j) * s.G + g;
        poison(s.data[ATT_SLOT_KEY] + row * s.Kk, s.Kk, NAN);
        poison(s.data[ATT_SLOT_VALUE] + row * s.M, s.M, NAN);
        work_out(&poisoned, &s, output_grad);
        for (int64_t at = 0; at < s.B * s.T * s.H; at++) {
            int64_t i = at / s.H % s.T, h = at % s.H;
            bool reached =
                at / s.H / s.T == b && h * s.G / s.H == g && oracle_allows(&s, b, h, i, j);
            const double *output = poisoned.r.output + at * s.M;
            if (reached) {
                assert_true(isnan(output[0]) && isnan(output[s.M - 1]));
                continue;
            }
            assert_memory_equal(output, clean.r.output + at * s.M, (size_t)s.M * 8);
            assert_memory_equal(poisoned.grad[ATT_SLOT_QUERY] + at * s.Kq,
                                clean.grad[ATT_SLOT_QUERY] + at * s.Kq, (size_t)s.Kq * 8);
        }
    }
}

static void a_query_that_may_attend_nothing_gets_zeros(void **state)
{
    (void)state;
    static scene s;
    static everything e;
    static double output_grad[ROOM];
    int empty = 0;
    for (int n = 0; n < SCENES; n++) {
        scene_new(&s, scene_choose(n), (uint64_t)n);
        hide_whole_keys(&s);
        fill_output_grad(output_grad, (uint64_t)n);
        poison(&e.r.output[0], ROOM, 7);
        work_out(&e, &s, output_grad);
        for (int64_t row = 0; row < s.B * s.H * s.T; row++) {
            int64_t b = row / s.T / s.H, h = row / s.T % s.H, i = row % s.T;
            if (!query_sees_nothing(&s, b, h, i))
                continue;
            int64_t at = (b * s.T + i) * s.H + h;
            assert_near(e.r.output + at * s.M, (double[]){ 0, 0 }, 2, 0);
            assert_near(e.r.weights + row * s.S, (double[]){ 0, 0, 0, 0, 0 }, (size_t)s.S, 0);
            assert_near(e.grad[ATT_SLOT_QUERY] + at * s.Kq, (double[]){ 0, 0, 0 }, 3, 0);
            assert_true(e.r.log_sum_exp[row] == -INFINITY);
            assert_true(e.r.entropy[row] == 0);
            empty++;
        }
    }
    assert_true(empty > SCENES);
}

/* ---- sizes of zero */

/* The parameters of a score for sizes S and K, every number 0.5. */
static att_attention_inputs parameters(att_score score, int64_t S, int64_t K, const double *halves,
                                       att_tensor store[3])
{
    att_attention_inputs in = { 0 };
    const int64_t rows[SCORES] = {
        [ATT_SCORE_GENERAL] = K, [ATT_SCORE_ADDITIVE] = 3, [ATT_SCORE_LOCATION] = S
    };
    store[0] = view3(halves, 1, rows[score], K);
    store[1] = view3(halves, 1, 3, K);
    store[2] = view2(halves, 1, score == ATT_SCORE_CONCAT ? 2 * K : 3);
    bool additive = score == ATT_SCORE_ADDITIVE;
    if (additive || score == ATT_SCORE_GENERAL || score == ATT_SCORE_LOCATION)
        in.score_w = &store[0];
    in.score_u = additive ? &store[1] : NULL;
    in.score_v = additive || score == ATT_SCORE_CONCAT ? &store[2] : NULL;
    return in;
}

/* Forward and backward with these sizes of B, T, S, K and M and every input 0.5. */
static void run_sizes(const att_attention_options *options, const int64_t size[5], double *output,
                      double *lse)
{
    double halves[64], dq[16] = { 0 };
    int64_t B = size[0], T = size[1], S = size[2], K = size[3], M = size[4];
    poison(halves, 64, 0.5);
    att_tensor store[3], q = view4(halves, B, T, 1, K), k = view4(halves, B, S, 1, K);
    att_tensor v = view4(halves, B, S, 1, M), o = view4(output, B, T, 1, M);
    att_tensor l = view3(lse, B, 1, T), d = view4(dq, B, T, 1, K);
    att_attention_inputs in = parameters(options->score, S, K, halves, store);
    in.query = &q;
    in.key = &k;
    in.value = &v;
    att_attention_outputs out = { .output = &o, .log_sum_exp = &l };
    ASSERT_OK(att_attention_forward_reference(options, &in, &out, err));
    ASSERT_OK(att_attention_backward_reference(options, &in, &o,
                                               &(att_attention_grads){ .query = &d }, err));
}

static void every_size_but_that_of_heads_may_be_zero(void **state)
{
    (void)state;
    for (int n = 0; n < 5 * SCORES * NORMALIZERS; n++) {
        int zero = n % 5;
        att_attention_options options = { .size = sizeof(att_attention_options),
                                          .score = (att_score)(n / 5 % SCORES),
                                          .normalizer = (att_normalizer)(n / 5 / SCORES) };
        int64_t size[5] = { 2, 2, 2, 2, 2 };
        double output[8], lse[4];
        size[zero] = 0;
        poison(output, 8, 7);
        run_sizes(&options, size, output, lse);
        if (zero == 2) { /* no key: every query is empty */
            assert_near(output, (double[]){ 0, 0, 0, 0, 0, 0, 0, 0 }, 8, 0);
            assert_true(lse[0] == -INFINITY);
        }
        if (zero == 3 && options.normalizer == ATT_NORMALIZE_SOFTMAX) /* all scores alike */
            assert_close(output[0], 0.5, 0);
    }
}

/* ---- what masks mean */

/* Attention of one head, B = 1, over the queries and keys of a scene. */
static void forward(const scene *s, const att_attention_options *options, int64_t T, int64_t S,
                    int64_t i, int64_t j, double *output)
{
    att_tensor query = view4(s->data[ATT_SLOT_QUERY] + i * s->Kq, 1, T, 1, s->Kq);
    att_tensor key = view4(s->data[ATT_SLOT_KEY] + j * s->Kk, 1, S, 1, s->Kk);
    att_tensor value = view4(s->data[ATT_SLOT_VALUE] + j * s->M, 1, S, 1, s->M);
    att_tensor out = view4(output, 1, T, 1, s->M);
    att_attention_inputs in = s->in;
    in.query = &query;
    in.key = &key;
    in.value = &value;
    ASSERT_OK(att_attention_forward_reference(options, &in,
                                              &(att_attention_outputs){ .output = &out }, err));
}

/* A scene of 5 queries and 5 keys with everything that counts positions. */
static void positions_scene(scene *s, int score, int normalizer)
{
    scene_choice choice = { .score = (att_score)score,
                            .normalizer = (att_normalizer)normalizer,
                            .mask = PACKED | CAUSAL | WINDOW,
                            .bias = ALIBI | RELATIVE,
                            .heads = { 1, 1, false } };
    scene_new(s, choice, 4);
    s->options.sequences = 2;
    memcpy(s->query_offsets, (int64_t[]){ 0, 3, 5 }, 3 * sizeof(int64_t));
    memcpy(s->key_offsets, (int64_t[]){ 0, 2, 5 }, 3 * sizeof(int64_t));
}

static void packed_sequences_equal_separate_ones(void **state)
{
    (void)state;
    static scene s;
    for (int score = 0; score < SCORES; score++)
        for (int normalizer = 0; normalizer < NORMALIZERS; normalizer++) {
            positions_scene(&s, score, normalizer);
            double packed[10], apart[10];
            forward(&s, &s.options, 5, 5, 0, 0, packed);
            att_attention_options options = s.options;
            options.sequences = 0;
            options.query_offsets = options.key_offsets = NULL;
            forward(&s, &options, 3, 2, 0, 0, apart);
            forward(&s, &options, 2, 3, 3, 2, apart + 6);
            assert_near(packed, apart, 10, 0);
        }
}

static void key_lengths_equal_keys_cut_off(void **state)
{
    (void)state;
    static scene s;
    for (int score = 0; score < SCORES; score++)
        for (int normalizer = 0; normalizer < NORMALIZERS; normalizer++) {
            positions_scene(&s, score, normalizer);
            double masked[10], cut[10];
            s.options.sequences = 0;
            s.options.query_offsets = s.options.key_offsets = NULL;
            s.options.causal = s.options.window = false;
            att_attention_options options = s.options;
            options.key_lengths = (int64_t[]){ 3 };
            options.query_lengths = (int64_t[]){ 4 };
            forward(&s, &options, 5, 5, 0, 0, masked);
            forward(&s, &s.options, 4, 3, 0, 0, cut);
            assert_near(masked, cut, 8, 0);
            assert_near(masked + 8, (double[]){ 0, 0 }, 2, 0);
        }
}

/* Step-wise decoding with an offset gives the results of one call. */
static void an_offset_continues_where_the_queries_before_ended(void **state)
{
    (void)state;
    static scene s;
    positions_scene(&s, ATT_SCORE_SCALED, ATT_NORMALIZE_SOFTMAX);
    att_attention_options options = { .size = sizeof(att_attention_options),
                                      .score = ATT_SCORE_SCALED,
                                      .causal = true };
    double whole[10], step[2];
    forward(&s, &options, 5, 5, 0, 0, whole);
    for (int64_t i = 0; i < 5; i++) {
        options.offset = i;
        forward(&s, &options, 1, i + 1, i, 0, step);
        assert_near(step, whole + 2 * i, 2, 0);
    }
}

/* Which keys remain, written as rows of 0 and 1, for masks computed by hand. */
static void masks_leave_the_keys_their_definition_names(void **state)
{
    (void)state;
    static const int64_t two_queries[] = { 2 }, three_keys[] = { 3 };
    static const int64_t q_offsets[] = { 0, 1, 3 }, k_offsets[] = { 0, 2, 4 };
    static const att_block diagonal[] = { { 1, 1 }, { 0, 0 } };
    static const uint8_t odd[] = { 0, 1, 0, 1 };
    static const struct {
        att_attention_options options;
        const char *keys; /* 3 queries of 4 keys */
    } rows[] = {
        { { .causal = true }, "1000 1100 1110" },
        { { .causal = true, .offset = 1 }, "1100 1110 1111" },
        { { .causal = true, .offset = -1 }, "0000 1000 1100" },
        { { .causal = true, .offset = -(1LL << 53) }, "0000 0000 0000" },
        { { .causal = true, .offset = 1LL << 53 }, "1111 1111 1111" },
        { { .window = true }, "1000 0100 0010" },
        { { .window = true, .window_left = 1, .window_right = -1 }, "1111 1111 0111" },
        { { .window = true, .window_left = INT64_MAX, .window_right = 1 }, "1100 1110 1111" },
        { { .window = true, .window_left = INT64_MIN, .window_right = INT64_MAX },
          "1111 1111 1111" },
        { { .window = true, .offset = 4, .window_left = 1 }, "0001 0000 0000" },
        { { .window = true, .offset = -(1LL << 53), .window_left = INT64_MAX, .window_right = -1 },
          "1111 1111 1111" },
        { { .query_lengths = two_queries }, "1111 1111 0000" },
        { { .key_lengths = three_keys }, "1110 1110 1110" },
        { { .sequences = 2, .query_offsets = q_offsets, .key_offsets = k_offsets },
          "1100 0011 0011" },
        { { .sequences = 2, .query_offsets = q_offsets, .key_offsets = k_offsets, .causal = true },
          "1000 0010 0011" },
        { { .blocks = diagonal, .block_count = 2, .block_queries = 2, .block_keys = 3 },
          "1110 1110 0001" },
        { { .blocks = diagonal, .block_queries = 2, .block_keys = 3 }, "0000 0000 0000" },
        { { .blocks = diagonal,
            .block_count = 2,
            .block_queries = 2,
            .block_keys = 3,
            .causal = true },
          "1000 1100 0000" },
        { { .mask = odd, .mask_stride = { 0, 0, 0, 1 } }, "0101 0101 0101" },
        { { .mask = odd, .mask_stride = { 0, 0, 1, 0 } }, "0000 1111 0000" },
    };
    double numbers[16], output[3], weights[12];
    poison(numbers, 16, 1);
    for (size_t n = 0; n < COUNT(rows); n++) {
        att_tensor q = view4(numbers, 1, 3, 1, 1), k = view4(numbers, 1, 4, 1, 1);
        att_tensor o = view4(output, 1, 3, 1, 1), w = view4(weights, 1, 1, 3, 4);
        att_attention_options options = rows[n].options;
        options.size = sizeof options;
        ASSERT_OK(att_attention_forward_reference(
            &options, &(att_attention_inputs){ .query = &q, .key = &k, .value = &k },
            &(att_attention_outputs){ .output = &o, .weights = &w }, err));
        char seen[16];
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 5; j++)
                seen[5 * i + j] = j == 4 ? ' ' : weights[4 * i + j] > 0 ? '1' : '0';
        seen[14] = '\0';
        assert_string_equal(seen, rows[n].keys);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_leaks_from_hidden_keys_and_queries),
        cmocka_unit_test(a_key_reaches_exactly_the_queries_that_may_attend_it),
        cmocka_unit_test(a_query_that_may_attend_nothing_gets_zeros),
        cmocka_unit_test(every_size_but_that_of_heads_may_be_zero),
        cmocka_unit_test(packed_sequences_equal_separate_ones),
        cmocka_unit_test(key_lengths_equal_keys_cut_off),
        cmocka_unit_test(an_offset_continues_where_the_queries_before_ended),
        cmocka_unit_test(masks_leave_the_keys_their_definition_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
