/* Properties of attention that hold for any numbers: equivariance, independence of batch and heads,
 * equalities between kinds, the limits of the soft cap, special vectors, visible NaN. */
#include "scene.h"

#include <float.h>

static scene s;
static scene_results r, other;

static void forward(scene *from, scene_results *to)
{
    scene_results_new(to, from);
    ASSERT_OK(att_attention_forward_reference(&from->options, &from->in, &to->out, err));
}

static scene_choice plain(int score, int normalizer)
{
    return (scene_choice){ .score = (att_score)score,
                           .normalizer = (att_normalizer)normalizer,
                           .heads = { 1, 1, false } };
}

static void weights_of_a_row_sum_to_one(void **state)
{
    (void)state;
    for (int n = 0; n < SCENES; n++) {
        scene_choice choice = scene_choose(n);
        bool unit = choice.normalizer == ATT_NORMALIZE_SOFTMAX ||
                    choice.normalizer == ATT_NORMALIZE_SPARSEMAX ||
                    choice.normalizer == ATT_NORMALIZE_ENTMAX15 ||
                    choice.normalizer == ATT_NORMALIZE_SUM;
        if (!unit)
            continue;
        scene_new(&s, choice, (uint64_t)n);
        forward(&s, &r);
        for (int64_t row = 0; row < s.B * s.H * s.T; row++) {
            double sum = 0;
            for (int64_t j = 0; j < s.S; j++)
                sum += r.weights[row * s.S + j];
            assert_close(sum, r.log_sum_exp[row] == -INFINITY ? 0 : 1, 5 * 8 * DBL_EPSILON);
        }
    }
}

/* Rotates `count` rows of `width` numbers from `at` on by one row. */
static void rotate_rows(double *at, int64_t count, int64_t width)
{
    double first[8];
    memcpy(first, at, (size_t)width * sizeof *at);
    memmove(at, at + width, (size_t)((count - 1) * width) * sizeof *at);
    memcpy(at + (count - 1) * width, first, (size_t)width * sizeof *at);
}

/* H20: f(s(x)) = s(f(x)). Rotated queries rotate the outputs, to the bit; keys and values rotated
 * together change only the order of sums. The location score uses positions, so it is not
 * equivariant. */
static void permuted_inputs_give_permuted_outputs(void **state)
{
    (void)state;
    for (int score = 0; score < SCORES; score++)
        for (int normalizer = 0; normalizer < NORMALIZERS && score != ATT_SCORE_LOCATION;
             normalizer++) {
            scene_new(&s, plain(score, normalizer), 3);
            forward(&s, &r);
            rotate_rows(s.data[ATT_SLOT_QUERY], s.T, s.Kq);
            forward(&s, &other);
            rotate_rows(r.output, s.T, s.M);
            assert_near(other.output, r.output, (size_t)(s.T * s.M), 0);
            rotate_rows(s.data[ATT_SLOT_KEY], s.S, s.Kk);
            rotate_rows(s.data[ATT_SLOT_VALUE], s.S, s.M);
            forward(&s, &r);
            assert_near(r.output, other.output, (size_t)(s.T * s.M), 4 * 20 * DBL_EPSILON);
        }
    scene_new(&s, plain(ATT_SCORE_LOCATION, ATT_NORMALIZE_SOFTMAX), 3);
    forward(&s, &r);
    rotate_rows(s.data[ATT_SLOT_KEY], s.S, s.Kk);
    rotate_rows(s.data[ATT_SLOT_VALUE], s.S, s.M);
    forward(&s, &other);
    assert_true(fabs(r.output[0] - other.output[0]) > 1e-3);
}

/* Principle 3: a sequence gives the same bits alone and in a batch. */
static void a_batch_is_its_sequences_one_by_one(void **state)
{
    (void)state;
    for (int n = 0; n < SCENES; n += 11) {
        scene_choice choice = scene_choose(n);
        if (choice.mask & PACKED || choice.dropped)
            continue; /* packing has no batch; dropout depends on the index in it */
        scene_new(&s, choice, (uint64_t)n);
        forward(&s, &r);
        scene alone = s;
        scene_connect(&alone);
        for (int slot = 0; slot < ATT_SLOT_COUNT; slot++) {
            att_tensor *t = &alone.tensor[slot];
            bool batched = slot <= ATT_SLOT_VALUE || (slot == ATT_SLOT_BIAS && t->shape[0] == 2);
            if (!t->data || !batched)
                continue;
            ASSERT_OK(att_tensor_slice(t, t, 0, 1, 1, err));
        }
        alone.B = 1;
        alone.options.query_lengths = s.options.query_lengths ? s.options.query_lengths + 1 : NULL;
        alone.options.key_lengths = s.options.key_lengths ? s.options.key_lengths + 1 : NULL;
        alone.options.offsets = s.options.offsets ? s.options.offsets + 1 : NULL;
        forward(&alone, &other);
        int64_t size = s.T * s.H * s.M;
        assert_memory_equal(other.output, r.output + size, (size_t)size * sizeof(double));
    }
}

/* Four query heads on two key heads are four on four with each key head twice. */
static void grouped_heads_equal_repeated_ones(void **state)
{
    (void)state;
    for (int score = 0; score < SCORES; score++) {
        scene_choice choice = plain(score, ATT_NORMALIZE_SOFTMAX);
        choice.heads = (struct scene_heads){ 4, 2, false };
        scene_new(&s, choice, 9);
        forward(&s, &r);
        double keys[ROOM], values[ROOM];
        att_tensor key = view4(keys, s.B, s.S, 4, s.Kk), value = view4(values, s.B, s.S, 4, s.M);
        for (int64_t row = 0; row < s.B * s.S * 4; row++) {
            int64_t from = row / 4 * 2 + row % 4 / 2;
            memcpy(keys + row * s.Kk, s.data[ATT_SLOT_KEY] + from * s.Kk, (size_t)s.Kk * 8);
            memcpy(values + row * s.M, s.data[ATT_SLOT_VALUE] + from * s.M, (size_t)s.M * 8);
        }
        s.in.key = &key;
        s.in.value = &value;
        forward(&s, &other);
        assert_memory_equal(other.output, r.output, (size_t)(s.B * s.T * 4 * s.M) * 8);
    }
}

/* H5: the Gaussian divided by its sum is the softmax of the dot product. */
static void gaussian_over_its_sum_is_softmax_of_dot(void **state)
{
    (void)state;
    scene_new(&s, plain(ATT_SCORE_DOT, ATT_NORMALIZE_SOFTMAX), 4);
    forward(&s, &r);
    s.options.score = ATT_SCORE_GAUSSIAN;
    s.options.normalizer = ATT_NORMALIZE_SUM;
    forward(&s, &other);
    assert_near(other.weights, r.weights, (size_t)(s.B * s.T * s.S), 10 * DBL_EPSILON);
}

/* H5: the embedded Gaussian is the general score with W = W_qᵀ W_k; so is a scale, with W = I/a. */
static void general_score_with_a_multiple_of_the_identity_is_a_scaled_dot(void **state)
{
    (void)state;
    scene_new(&s, plain(ATT_SCORE_DOT, ATT_NORMALIZE_SOFTMAX), 4);
    s.options.scale = 0.5;
    forward(&s, &r);
    const double half[] = { 0.5, 0, 0, 0, 0.5, 0, 0, 0, 0.5 };
    att_tensor w = view3(half, 1, 3, 3);
    s.options.scale = 0;
    s.options.score = ATT_SCORE_GENERAL;
    s.in.score_w = &w;
    forward(&s, &other);
    assert_near(other.weights, r.weights, (size_t)(s.B * s.T * s.S), 10 * DBL_EPSILON);
}

static void a_scale_replaces_that_of_the_scaled_score(void **state)
{
    (void)state;
    scene_new(&s, plain(ATT_SCORE_SCALED, ATT_NORMALIZE_NONE), 4);
    forward(&s, &r);
    s.options.scale = 1 / sqrt(3);
    forward(&s, &other);
    assert_near(other.scores, r.scores, (size_t)(s.B * s.T * s.S), 0);
    s.options.scale = -2;
    forward(&s, &other);
    for (int64_t n = 0; n < s.B * s.T * s.S; n++)
        assert_close(other.scores[n], r.scores[n] * sqrt(3) * -2, 20 * DBL_EPSILON);
}

/* The soft cap bounds the score, not the bias that is added after it. */
static void soft_cap_bounds_scores_before_the_bias(void **state)
{
    (void)state;
    scene_new(&s, plain(ATT_SCORE_DOT, ATT_NORMALIZE_SOFTMAX), 4);
    s.options.scale = 1e6;
    s.options.soft_cap = 2;
    const double seven[] = { 7 };
    att_tensor bias = view4(seven, 1, 1, 1, 1);
    s.in.bias = &bias;
    forward(&s, &r);
    for (int64_t n = 0; n < s.B * s.T * s.S; n++)
        assert_true(r.scores[n] == 5 || r.scores[n] == 9);
}

/* Only differences of scores count for the simplex normalizers. */
static void a_constant_bias_changes_no_weight_on_the_simplex(void **state)
{
    (void)state;
    for (int normalizer = 0; normalizer <= ATT_NORMALIZE_ENTMAX15; normalizer++) {
        if (normalizer == ATT_NORMALIZE_MEAN)
            continue;
        scene_new(&s, plain(ATT_SCORE_DOT, normalizer), 4);
        forward(&s, &r);
        const double shift[] = { 100 };
        att_tensor bias = view4(shift, 1, 1, 1, 1);
        s.in.bias = &bias;
        forward(&s, &other);
        assert_near(other.weights, r.weights, (size_t)(s.B * s.T * s.S), 200 * DBL_EPSILON);
    }
}

/* ---- one query and two keys of width 2, for special vectors */

typedef struct small {
    double q[2], k[4], v[2], output[1], scores[2], dq[2], dk[4];
} small;

static void run_small(small *m, const att_attention_options *options, const att_tensor *score_v)
{
    att_tensor query = view4(m->q, 1, 1, 1, 2), key = view4(m->k, 1, 2, 1, 2);
    att_tensor value = view4(m->v, 1, 2, 1, 1), output = view4(m->output, 1, 1, 1, 1);
    att_tensor scores = view4(m->scores, 1, 1, 1, 2), one = view4((double[]){ 1 }, 1, 1, 1, 1);
    att_tensor dq = view4(m->dq, 1, 1, 1, 2), dk = view4(m->dk, 1, 2, 1, 2);
    memset(m->dq, 0, sizeof m->dq);
    memset(m->dk, 0, sizeof m->dk);
    att_attention_inputs in = { .query = &query, .key = &key, .value = &value, .score_v = score_v };
    ASSERT_OK(att_attention_forward_reference(
        options, &in, &(att_attention_outputs){ .output = &output, .scores = &scores }, err));
    ASSERT_OK(att_attention_backward_reference(
        options, &in, &one, &(att_attention_grads){ .query = &dq, .key = &dk }, err));
}

static void the_cosine_of_a_zero_vector_is_zero_with_zero_gradient(void **state)
{
    (void)state;
    const att_attention_options options = { .size = sizeof(att_attention_options),
                                            .score = ATT_SCORE_COSINE,
                                            .normalizer = ATT_NORMALIZE_NONE };
    small m = { .q = { 3, 4 }, .k = { 0, 0, 4, 3 }, .v = { 5, 1 } };
    run_small(&m, &options, NULL);
    assert_near(m.scores, (double[]){ 0, 0.96 }, 2, 2 * DBL_EPSILON);
    assert_near(m.dk, (double[]){ 0, 0 }, 2, 0);
    assert_true(m.dk[2] != 0);
    m = (small){ .q = { 0, 0 }, .k = { 1, 2, 4, 3 }, .v = { 5, 1 } };
    run_small(&m, &options, NULL);
    assert_near(m.scores, (double[]){ 0, 0 }, 2, 0);
    assert_near(m.dq, (double[]){ 0, 0 }, 2, 0);
    assert_near(m.dk, (double[]){ 0, 0, 0, 0 }, 4, 0);
}

/* A vector of zeros and a NaN is not a zero vector. */
static void the_cosine_of_a_vector_with_nan_is_nan(void **state)
{
    (void)state;
    const att_attention_options options = { .size = sizeof(att_attention_options),
                                            .score = ATT_SCORE_COSINE,
                                            .normalizer = ATT_NORMALIZE_NONE };
    small m = { .q = { 1, 2 }, .k = { NAN, 0, 0, NAN }, .v = { 1, 1 } };
    run_small(&m, &options, NULL);
    assert_true(isnan(m.scores[0]) && isnan(m.scores[1]) && isnan(m.dk[0]) && isnan(m.dk[3]));
}

/* Squares of these would overflow, or vanish. */
static void the_cosine_holds_for_vectors_of_any_length(void **state)
{
    (void)state;
    const att_attention_options options = { .size = sizeof(att_attention_options),
                                            .score = ATT_SCORE_COSINE,
                                            .normalizer = ATT_NORMALIZE_NONE };
    small m = { .q = { 3e200, 4e200 }, .k = { 4e-200, 3e-200, 4e-320, 3e-320 }, .v = { 1, 0 } };
    run_small(&m, &options, NULL);
    assert_near(m.scores, (double[]){ 0.96, 0.96 }, 1, 2 * DBL_EPSILON);
    assert_close(m.scores[1], 0.96, 1e-3); /* the key itself has three digits */
    assert_close(m.dq[0] * 5e200, 0.8 - 0.96 * 0.6, 4 * DBL_EPSILON);
}

static void the_relu_of_the_concatenation_is_flat_at_zero(void **state)
{
    (void)state;
    const att_attention_options options = { .size = sizeof(att_attention_options),
                                            .score = ATT_SCORE_CONCAT,
                                            .normalizer = ATT_NORMALIZE_NONE };
    const double ones[] = { 1, 1, 1, 1 };
    att_tensor v = view2(ones, 1, 4);
    small m = { .q = { 1, 1 }, .k = { -1, -1, 1, 0 }, .v = { 10, 1 } };
    run_small(&m, &options, &v);
    assert_near(m.scores, (double[]){ 0, 3 }, 2, 0);
    assert_near(m.dq, (double[]){ 1, 1 }, 2, 0);
    assert_near(m.dk, (double[]){ 0, 0, 1, 1 }, 4, 0);
}

/* NaN in a used element propagates, in every score, through the relu and the simplex alike. */
static void nan_in_a_used_key_shows_in_score_and_output(void **state)
{
    (void)state;
    for (int score = 0; score < SCORES; score++)
        for (int normalizer = 0; normalizer < NORMALIZERS; normalizer++) {
            scene_new(&s, plain(score, normalizer), 6);
            s.data[score == ATT_SCORE_LOCATION ? ATT_SLOT_QUERY : ATT_SLOT_KEY][0] = NAN;
            forward(&s, &r);
            assert_true(isnan(r.scores[0]));
            assert_true(isnan(r.output[0]));
            assert_true(isnan(r.log_sum_exp[0]));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_of_a_row_sum_to_one),
        cmocka_unit_test(permuted_inputs_give_permuted_outputs),
        cmocka_unit_test(a_batch_is_its_sequences_one_by_one),
        cmocka_unit_test(grouped_heads_equal_repeated_ones),
        cmocka_unit_test(gaussian_over_its_sum_is_softmax_of_dot),
        cmocka_unit_test(general_score_with_a_multiple_of_the_identity_is_a_scaled_dot),
        cmocka_unit_test(a_scale_replaces_that_of_the_scaled_score),
        cmocka_unit_test(soft_cap_bounds_scores_before_the_bias),
        cmocka_unit_test(a_constant_bias_changes_no_weight_on_the_simplex),
        cmocka_unit_test(the_cosine_of_a_zero_vector_is_zero_with_zero_gradient),
        cmocka_unit_test(the_cosine_of_a_vector_with_nan_is_nan),
        cmocka_unit_test(the_cosine_holds_for_vectors_of_any_length),
        cmocka_unit_test(the_relu_of_the_concatenation_is_flat_at_zero),
        cmocka_unit_test(nan_in_a_used_key_shows_in_score_and_output),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
