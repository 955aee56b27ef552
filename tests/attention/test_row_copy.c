/* Copies of blocks of keys and values: attention over rows that lie a multiple of 512 bytes apart,
 * which are copied where many tiles share them, has the bits of attention over contiguous rows,
 * which are used in place. Forward and backward. */
#include "attention/row_copy.h"

#include "helper.h"

#include <stdlib.h>
#include <string.h>

enum {
    B = 2,
    T = 290,
    S = 300,
    H = 4,
    G = 2,
    K = 64,
    QUERIES = B * T * H * K,
    KEYS = B * S * G * K
};

static float *draw(size_t count, uint32_t seed)
{
    float *values = malloc(count * sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        values[i] = (float)(int32_t)(seed & 0xffff00) / 8388608.0f - 1.0f;
    }
    return values;
}

/* Keys, values and their gradients; `together`: [B,S,G,K], or as a view of [B,G,S,K]. */
static att_tensor rows_view(float *data, bool together)
{
    att_tensor view = att_tensor_view(data, ATT_F32, 4, (int64_t[]){ B, S, G, K });
    if (!together) {
        view.stride[1] = K;
        view.stride[2] = S * K;
    }
    return view;
}

/* The same elements in the other layout. */
static void move(float *to, bool to_together, const float *from, bool from_together)
{
    att_tensor a = rows_view(to, to_together), b = rows_view((float *)from, from_together);
    for (int64_t i = 0; i < B; i++)
        for (int64_t j = 0; j < S; j++)
            for (int64_t g = 0; g < G; g++)
                memcpy((float *)a.data + i * a.stride[0] + j * a.stride[1] + g * a.stride[2],
                       (float *)b.data + i * b.stride[0] + j * b.stride[1] + g * b.stride[2],
                       K * sizeof(float));
}

typedef struct outcome {
    float *output, *sums, *query_grad, *key_grad, *value_grad;
} outcome;

static outcome outcome_new(void)
{
    return (outcome){ .output = calloc(QUERIES, sizeof(float)),
                      .sums = calloc(B * H * T, sizeof(float)),
                      .query_grad = calloc(QUERIES, sizeof(float)),
                      .key_grad = calloc(KEYS, sizeof(float)),
                      .value_grad = calloc(KEYS, sizeof(float)) };
}

static void outcome_free(outcome *o)
{
    free(o->output);
    free(o->sums);
    free(o->query_grad);
    free(o->key_grad);
    free(o->value_grad);
}

typedef struct problem {
    att_attention_options options;
    float *query, *key, *value, *output_grad;
} problem;

static outcome run(const problem *p, float *key, float *value, bool together)
{
    outcome o = outcome_new();
    const int64_t shape[] = { B, T, H, K };
    att_tensor query = att_tensor_view(p->query, ATT_F32, 4, shape),
               output_grad = att_tensor_view(p->output_grad, ATT_F32, 4, shape),
               output = att_tensor_view(o.output, ATT_F32, 4, shape),
               query_grad = att_tensor_view(o.query_grad, ATT_F32, 4, shape),
               sums = att_tensor_view(o.sums, ATT_F32, 3, (int64_t[]){ B, H, T }),
               keys = rows_view(key, together), values = rows_view(value, together),
               key_grad = rows_view(o.key_grad, together),
               value_grad = rows_view(o.value_grad, together);
    const att_attention_inputs in = { .query = &query, .key = &keys, .value = &values };
    const att_attention_outputs out = { .output = &output, .log_sum_exp = &sums };
    const att_attention_grads grads = { .query = &query_grad,
                                        .key = &key_grad,
                                        .value = &value_grad };
    att_error err;
    assert_int_equal(att_attention_forward(&p->options, &in, &out, NULL, &err), ATT_OK);
    assert_int_equal(
        att_attention_backward(&p->options, &in, &out, &output_grad, &grads, NULL, &err), ATT_OK);
    return o;
}

static void same_bits(const problem *p)
{
    float *key = malloc(KEYS * sizeof *key), *value = malloc(KEYS * sizeof *value);
    outcome in_place = run(p, p->key, p->value, false);
    move(key, true, p->key, false);
    move(value, true, p->value, false);
    outcome copied = run(p, key, value, true);
    assert_memory_equal(copied.output, in_place.output, QUERIES * sizeof(float));
    assert_memory_equal(copied.sums, in_place.sums, B * H * T * sizeof(float));
    assert_memory_equal(copied.query_grad, in_place.query_grad, QUERIES * sizeof(float));
    move(key, true, in_place.key_grad, false);
    assert_memory_equal(copied.key_grad, key, KEYS * sizeof(float));
    move(value, true, in_place.value_grad, false);
    assert_memory_equal(copied.value_grad, value, KEYS * sizeof(float));
    outcome_free(&in_place);
    outcome_free(&copied);
    free(key);
    free(value);
}

/* Full, causal, a window that leaves blocks out, and lengths that end inside a block. */
static void copied_rows_give_the_bits_of_rows_in_place(void **state)
{
    (void)state;
    const int64_t lengths[B] = { 299, 131 };
    problem p = { .query = draw(QUERIES, 1),
                  .key = draw(KEYS, 2),
                  .value = draw(KEYS, 3),
                  .output_grad = draw(QUERIES, 4) };
    for (int kind = 0; kind < 4; kind++) {
        p.options = (att_attention_options)ATT_INIT(att_attention_options);
        p.options.score = ATT_SCORE_SCALED;
        p.options.causal = kind == 1;
        p.options.window = kind == 2;
        p.options.window_left = 40;
        p.options.key_lengths = kind == 3 ? lengths : NULL;
        same_bits(&p);
    }
    free(p.query);
    free(p.key);
    free(p.value);
    free(p.output_grad);
}

static att_row_copy copy_for(const att_tensor *tensor, int64_t sharing)
{
    att_workspace counting = { 0 };
    att_row_copy copy = att_row_copy_alloc(&counting, tensor, ATT_BLOCK_KEYS, sharing);
    copy.keys = counting.used > 0 ? ATT_BLOCK_KEYS : 0;
    return copy;
}

static void rows_are_copied_where_they_must_be_or_where_it_pays(void **state)
{
    (void)state;
    float data[1];
    att_tensor apart = rows_view(data, true), contiguous = rows_view(data, false);
    assert_true(copy_for(&apart, 16).keys > 0);
    assert_true(copy_for(&apart, 4).keys == 0);
    assert_true(copy_for(&contiguous, 16).keys == 0);
    att_tensor half = contiguous;
    half.dtype = ATT_BF16;
    assert_true(copy_for(&half, 1).keys > 0);
    assert_true(copy_for(&half, 1).stride / 16 % 2 == 1);
}

/* A block is read once, and again when another one has taken its place. */
static void a_copy_holds_one_block(void **state)
{
    (void)state;
    float *data = draw(KEYS, 5);
    att_tensor apart = rows_view(data, true);
    att_row_copy copy = { .rows = calloc(ATT_BLOCK_KEYS * (K + 16), sizeof(float)),
                          .stride = K + 16,
                          .keys = ATT_BLOCK_KEYS,
                          .first = -1 };
    const att_sequence_head head = { .b = 1, .g = 1, .keys = S };
    att_matrix_view some = att_row_copy_get(&copy, &apart, &head, 144, 100);
    for (size_t r = 0; r < some.rows; r++)
        assert_memory_equal(some.data + r * copy.stride,
                            data + ((S + 144 + (int64_t)r) * G + 1) * K, K * sizeof(float));
    copy.rows[16 * copy.stride] = 7;
    assert_true(*att_row_copy_get(&copy, &apart, &head, 144, 1).data == 7);
    (void)att_row_copy_get(&copy, &apart, &head, 290, 10);
    assert_false(*att_row_copy_get(&copy, &apart, &head, 144, 1).data == 7);
    free(copy.rows);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copied_rows_give_the_bits_of_rows_in_place),
        cmocka_unit_test(rows_are_copied_where_they_must_be_or_where_it_pays),
        cmocka_unit_test(a_copy_holds_one_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
