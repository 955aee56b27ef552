/* Memory layout and dtype change nothing: strides of any kind, float and
 * double, column vectors, gradients that are added to. Scenes are taken in steps of 11,
 * which is coprime to the numbers of choices, so that every choice is used. */
#include "scene.h"

#include <stdlib.h>

enum { STEP = 11, SPREAD = 4 * ROOM };

/* A copy of a tensor elsewhere: dimensions in reverse order in memory with a gap of one between
 * elements, the first dimension backwards, as float or double. */
typedef struct twin {
    att_tensor tensor;
    double block[SPREAD];
} twin;

static void twin_new(twin *t, const att_tensor *like, att_dtype dtype)
{
    t->tensor = (att_tensor){ .dtype = dtype, .rank = like->rank };
    int64_t stride = 2;
    for (int d = 0; d < like->rank; d++) {
        t->tensor.shape[d] = like->shape[d];
        t->tensor.stride[d] = stride;
        stride *= like->shape[d];
    }
    assert_true(stride <= SPREAD);
    int64_t back = (like->shape[0] - 1) * 2;
    t->tensor.stride[0] = -2;
    t->tensor.data =
        dtype == ATT_F64 ? (void *)(t->block + back) : (void *)((float *)(void *)t->block + back);
}

typedef void (*element_work)(att_tensor *a, att_tensor *b, const int64_t *index);

/* Calls `work` for each index of two tensors of one shape. */
static void for_each(att_tensor *a, att_tensor *b, element_work work)
{
    int64_t index[ATT_MAX_RANK] = { 0 };
    int64_t count = att_tensor_count(a);
    for (int64_t n = 0; n < count; n++) {
        work(a, b, index);
        for (int d = a->rank - 1; d >= 0 && ++index[d] == a->shape[d]; d--)
            index[d] = 0;
    }
}

static void copy_element(att_tensor *to, att_tensor *from, const int64_t *index)
{
    att_tensor_set(to, index, att_tensor_get(from, index));
}

/* Compares bits, except the sign of NaN: a float result must be the double result rounded once. */
static void same_element(att_tensor *found, att_tensor *expected, const int64_t *index)
{
    double a = att_tensor_get(found, index);
    double b = att_tensor_get(expected, index);
    if (found->dtype == ATT_F32)
        b = (double)(float)b;
    if (a != b && !(isnan(a) && isnan(b)))
        fail_msg("element is %.17g, expected %.17g", a, b);
}

/* The scene with its inputs in twins; the scene's own numbers are first rounded to what they hold.
 */
static void move_inputs(scene *s, twin *twins, att_dtype dtype)
{
    const att_tensor **fields[ATT_SLOT_COUNT] = { &s->in.query,   &s->in.key,     &s->in.value,
                                                  &s->in.score_w, &s->in.score_u, &s->in.score_b,
                                                  &s->in.score_v, &s->in.bias,    &s->in.alibi,
                                                  &s->in.relative };
    for (int slot = 0; slot < ATT_SLOT_COUNT; slot++) {
        if (!s->tensor[slot].data)
            continue;
        twin_new(&twins[slot], &s->tensor[slot], dtype);
        for_each(&twins[slot].tensor, &s->tensor[slot], copy_element);
        for_each(&s->tensor[slot], &twins[slot].tensor, copy_element);
        *fields[slot] = &twins[slot].tensor;
    }
}

static void forward_is_the_same_for_any_strides_and_types(void **state)
{
    (void)state;
    static scene s;
    static scene_results plain;
    static twin inputs[ATT_SLOT_COUNT], outputs[6];
    for (int n = 0; n < SCENES; n += STEP) {
        att_dtype dtype = n / STEP / 2 % 2 ? ATT_F32 : ATT_F64;
        scene_new(&s, scene_choose(n), (uint64_t)n);
        att_attention_inputs dense = s.in;
        move_inputs(&s, inputs, dtype);
        scene_results_new(&plain, &s);
        ASSERT_OK(att_attention_forward_reference(&s.options, &dense, &plain.out, err));
        for (int o = 0; o < 6; o++)
            twin_new(&outputs[o], &plain.tensor[o], dtype);
        att_attention_outputs out = { .output = &outputs[0].tensor,
                                      .scores = &outputs[1].tensor,
                                      .weights = &outputs[2].tensor,
                                      .log_sum_exp = &outputs[3].tensor,
                                      .key_totals = &outputs[4].tensor,
                                      .entropy = &outputs[5].tensor };
        ASSERT_OK(att_attention_forward_reference(&s.options, &s.in, &out, err));
        for (int o = 0; o < 6; o++)
            for_each(&outputs[o].tensor, &plain.tensor[o], same_element);
    }
}

static att_attention_grads all_grads(const scene *s, att_tensor *grad, size_t pitch)
{
    att_tensor *at[ATT_SLOT_COUNT];
    for (int slot = 0; slot < ATT_SLOT_COUNT; slot++)
        at[slot] = s->tensor[slot].data ? (void *)((char *)grad + (size_t)slot * pitch) : NULL;
    return (att_attention_grads){ at[0], at[1], at[2], at[3], at[4],
                                  at[5], at[6], at[7], at[8], at[9] };
}

static void fill_element(att_tensor *a, att_tensor *b, const int64_t *index)
{
    att_tensor_set(a, index, 0.625 + (double)index[0]);
    att_tensor_set(b, index, 0.625 + (double)index[0]);
}

/* The gradients are added to existing values; float gradients get the sum rounded once. */
static void gradients_are_added_to_tensors_of_any_strides_and_types(void **state)
{
    (void)state;
    static scene s;
    static twin inputs[ATT_SLOT_COUNT], grads[ATT_SLOT_COUNT], output_grad;
    static att_tensor plain[ATT_SLOT_COUNT];
    static double numbers[ATT_SLOT_COUNT][ROOM], output_numbers[ROOM];
    for (int n = 0; n < SCENES; n += STEP) {
        att_dtype dtype = n / STEP / 2 % 2 ? ATT_F32 : ATT_F64;
        scene_new(&s, scene_choose(n), (uint64_t)n);
        att_attention_inputs dense = s.in;
        move_inputs(&s, inputs, dtype);
        for (int slot = 0; slot < ATT_SLOT_COUNT; slot++) {
            if (!s.tensor[slot].data)
                continue;
            plain[slot] = s.tensor[slot];
            plain[slot].data = numbers[slot];
            twin_new(&grads[slot], &plain[slot], dtype);
            for_each(&grads[slot].tensor, &plain[slot], fill_element);
        }
        att_tensor upstream = view4(output_numbers, s.B, s.T, s.H, s.M);
        for (int64_t e = 0; e < att_tensor_count(&upstream); e++)
            output_numbers[e] = att_random_float((uint64_t)n, 70, (uint64_t)e) - 0.5F;
        twin_new(&output_grad, &upstream, dtype);
        for_each(&output_grad.tensor, &upstream, copy_element);
        att_attention_grads to = all_grads(&s, plain, sizeof *plain);
        ASSERT_OK(att_attention_backward_reference(&s.options, &dense, &upstream, &to, err));
        to = all_grads(&s, &grads[0].tensor, sizeof *grads);
        ASSERT_OK(
            att_attention_backward_reference(&s.options, &s.in, &output_grad.tensor, &to, err));
        for (int slot = 0; slot < ATT_SLOT_COUNT; slot++)
            if (s.tensor[slot].data)
                for_each(&grads[slot].tensor, &plain[slot], same_element);
    }
}

/* Each gradient is the same whether or not the others are requested. */
static void a_gradient_does_not_depend_on_which_others_are_wanted(void **state)
{
    (void)state;
    static scene s;
    static att_tensor all[ATT_SLOT_COUNT], one;
    static double numbers[ATT_SLOT_COUNT][ROOM], alone[ROOM], output_numbers[ROOM];
    for (int n = 0; n < SCENES; n += 17 * STEP) {
        scene_new(&s, scene_choose(n), (uint64_t)n);
        att_tensor upstream = view4(output_numbers, s.B, s.T, s.H, s.M);
        for (int64_t e = 0; e < att_tensor_count(&upstream); e++)
            output_numbers[e] = att_random_double((uint64_t)n, 71, (uint64_t)e) - 0.5;
        memset(numbers, 0, sizeof numbers);
        for (int slot = 0; slot < ATT_SLOT_COUNT; slot++) {
            all[slot] = s.tensor[slot];
            all[slot].data = numbers[slot];
        }
        att_attention_grads to = all_grads(&s, all, sizeof *all);
        ASSERT_OK(att_attention_backward_reference(&s.options, &s.in, &upstream, &to, err));
        for (int slot = 0; slot < ATT_SLOT_COUNT; slot++) {
            if (!s.tensor[slot].data)
                continue;
            memset(alone, 0, sizeof alone);
            one = s.tensor[slot];
            one.data = alone;
            att_tensor *wanted[ATT_SLOT_COUNT] = { NULL };
            wanted[slot] = &one;
            to = (att_attention_grads){ wanted[0], wanted[1], wanted[2], wanted[3], wanted[4],
                                        wanted[5], wanted[6], wanted[7], wanted[8], wanted[9] };
            ASSERT_OK(att_attention_backward_reference(&s.options, &s.in, &upstream, &to, err));
            assert_memory_equal(alone, numbers[slot],
                                (size_t)att_tensor_count(&one) * sizeof *alone);
        }
    }
}

/* A key broadcast by a stride of 0 counts once per index, and its gradients go to a tensor of the
 * full shape. */
static void inputs_may_repeat_by_a_stride_of_zero(void **state)
{
    (void)state;
    double q[] = { 1, 2 }, k[] = { 0.5, -1 }, v[] = { 3 }, out[1], dk[6] = { 0 };
    att_tensor query = view4(q, 1, 1, 1, 2), key = view4(k, 1, 3, 1, 2);
    att_tensor value = view4(v, 1, 3, 1, 1), output = view4(out, 1, 1, 1, 1);
    att_tensor key_grad = view4(dk, 1, 3, 1, 2), ones = view4((double[]){ 1 }, 1, 1, 1, 1);
    key.stride[1] = value.stride[1] = 0;
    att_attention_options options = { .size = sizeof(att_attention_options),
                                      .normalizer = ATT_NORMALIZE_NONE };
    att_attention_inputs in = { .query = &query, .key = &key, .value = &value };
    ASSERT_OK(att_attention_forward_reference(&options, &in,
                                              &(att_attention_outputs){ .output = &output }, err));
    assert_close(out[0], 3 * 3 * -1.5, 0);
    ASSERT_OK(att_attention_backward_reference(&options, &in, &ones,
                                               &(att_attention_grads){ .key = &key_grad }, err));
    assert_near(dk, (double[]){ 3, 6, 3, 6, 3, 6 }, 6, 0);
}

/* Handout 001 writes vectors as columns, Q of d_q × n_q. Such a matrix is the same tensor seen
 * through its strides, and the output can be written as columns too. */
static void column_vectors_are_transposed_views(void **state)
{
    (void)state;
    double q[] = { 1, 0.5, -1, 2, 0.25, 3 };                      /* 3 × 2: two queries */
    double k[] = { 1, -1, 0.5, 2, 0, 1, 1, 1, -0.5, 0.5, 2, -2 }; /* 3 × 4: four keys */
    double v[] = { 1, 2, 3, 4, 5, 6, 7, 8 };                      /* 2 × 4 */
    double q_rows[6], k_rows[12], v_rows[8], columns[4], rows[4];
    for (int c = 0; c < 3; c++)
        for (int n = 0; n < 4; n++)
            k_rows[n * 3 + c] = k[c * 4 + n];
    for (int c = 0; c < 3; c++)
        for (int n = 0; n < 2; n++)
            q_rows[n * 3 + c] = q[c * 2 + n];
    for (int c = 0; c < 2; c++)
        for (int n = 0; n < 4; n++)
            v_rows[n * 2 + c] = v[c * 4 + n];
    att_attention_options options = { .size = sizeof(att_attention_options),
                                      .score = ATT_SCORE_SCALED };
    att_tensor t[4] = { view4(q_rows, 1, 2, 1, 3), view4(k_rows, 1, 4, 1, 3),
                        view4(v_rows, 1, 4, 1, 2), view4(rows, 1, 2, 1, 2) };
    ASSERT_OK(att_attention_forward_reference(
        &options, &(att_attention_inputs){ .query = &t[0], .key = &t[1], .value = &t[2] },
        &(att_attention_outputs){ .output = &t[3] }, err));
    att_tensor u[4] = { view4(q, 1, 3, 1, 2), view4(k, 1, 3, 1, 4), view4(v, 1, 2, 1, 4),
                        view4(columns, 1, 2, 1, 2) };
    for (int n = 0; n < 4; n++)
        ASSERT_OK(att_tensor_transpose(&u[n], &u[n], 1, 3, err));
    ASSERT_OK(att_attention_forward_reference(
        &options, &(att_attention_inputs){ .query = &u[0], .key = &u[1], .value = &u[2] },
        &(att_attention_outputs){ .output = &u[3] }, err));
    assert_near(columns, (double[]){ rows[0], rows[2], rows[1], rows[3] }, 4, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward_is_the_same_for_any_strides_and_types),
        cmocka_unit_test(gradients_are_added_to_tensors_of_any_strides_and_types),
        cmocka_unit_test(a_gradient_does_not_depend_on_which_others_are_wanted),
        cmocka_unit_test(inputs_may_repeat_by_a_stride_of_zero),
        cmocka_unit_test(column_vectors_are_transposed_views),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
