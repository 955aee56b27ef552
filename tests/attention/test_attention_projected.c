/* Additive attention over queries and keys that have been projected beforehand: W q and U k,
 * computed by att_matmul(), in the place of q and k. Every bit must equal that of attention with
 * the matrices. (The tests of the reference and the random tests show that both are right.) */
#include "grads.h"

/* A scene with matrices that all heads share, and the same scene with a side or two projected. */
typedef struct pair {
    scene whole, projected;
    float *products[2]; /* W q, U k */
} pair;

static choice additive(uint64_t seed)
{
    static const int some_masks[] = { 0, LENGTHS, CAUSAL, WINDOW | DENSE, BLOCKS };
    return (choice){ .B = 2,
                     .T = seed % 5 == 0 ? 1 : 37,
                     .S = 50,
                     .H = 4,
                     .G = 2,
                     .K = 6,
                     .M = 5,
                     .A = 19,
                     .score = ATT_SCORE_ADDITIVE,
                     .normalizer = seed % 2 ? ATT_NORMALIZE_SPARSEMAX : ATT_NORMALIZE_SOFTMAX,
                     .mask = some_masks[seed % COUNT(some_masks)],
                     .bias = seed % 3 ? 0 : ALIBI,
                     .seed = 2 * seed }; /* even: heads share W and U */
}

/* Puts the product of a parameter and an input in the input's place. */
static void project(pair *p, att_slot input, att_slot parameter)
{
    scene *s = &p->projected;
    const att_tensor *from = &s->tensor[input], *matrix = &s->tensor[parameter];
    int64_t A = matrix->shape[1], rows = from->shape[0] * from->shape[1] * from->shape[2];
    float *to = malloc((size_t)(rows * A + 1) * sizeof *to);
    att_tensor a = att_tensor_view(from->data, ATT_F32, 2, SHAPE(rows, from->shape[3]));
    att_tensor b = att_tensor_view(matrix->data, ATT_F32, 2, SHAPE(A, from->shape[3])), transposed;
    att_tensor c = att_tensor_view(to, ATT_F32, 2, SHAPE(rows, A));
    ASSERT_OK(att_tensor_transpose(&transposed, &b, 0, 1, err));
    ASSERT_OK(att_matmul(&c, &a, &transposed, NULL, err));
    p->products[input == ATT_SLOT_KEY] = to;
    s->tensor[input] =
        att_tensor_view(to, ATT_F32, 4, SHAPE(from->shape[0], from->shape[1], from->shape[2], A));
    s->tensor[parameter].data = NULL;
}

static void pair_new(pair *p, uint64_t seed, bool queries, bool keys)
{
    *p = (pair){ 0 };
    scene_new(&p->whole, additive(seed));
    scene_new(&p->projected, additive(seed));
    if (queries)
        project(p, ATT_SLOT_QUERY, ATT_SLOT_SCORE_W);
    if (keys)
        project(p, ATT_SLOT_KEY, ATT_SLOT_SCORE_U);
    scene_connect(&p->projected);
}

static void pair_free(pair *p)
{
    scene_free(&p->whole);
    scene_free(&p->projected);
    free(p->products[0]);
    free(p->products[1]);
}

enum { SEEDS = 10 };

#define FOR_PAIRS(seed, sides)                                                                     \
    for (uint64_t seed = 0; seed < SEEDS; seed++)                                                  \
        for (int sides = 1; sides < 4; sides++)

static void attention_over_projected_rows_gives_the_same_bits(void **state)
{
    (void)state;
    pair p;
    results whole, projected;
    FOR_PAIRS(seed, sides)
    {
        pair_new(&p, seed, sides & 1, sides & 2);
        results_new(&whole, &p.whole, ATT_F32, true);
        results_new(&projected, &p.whole, ATT_F32, true);
        ASSERT_OK(att_attention_forward(&p.whole.options, &p.whole.in, &whole.out, NULL, err));
        ASSERT_OK(att_attention_forward(&p.projected.options, &p.projected.in, &projected.out, NULL,
                                        err));
        assert_true(results_hash(&whole) == results_hash(&projected));
        results_free(&whole);
        results_free(&projected);
        pair_free(&p);
    }
}

static void assert_same_grad(grads *whole, grads *projected, att_slot slot)
{
    if (whole->block[slot] && projected->block[slot])
        assert_memory_equal(whole->block[slot], projected->block[slot], whole->bytes[slot]);
}

/* The gradients that do not pass through the omitted matrices. */
static void its_other_gradients_are_the_same_bits(void **state)
{
    (void)state;
    pair p;
    loss l;
    grads whole, projected;
    FOR_PAIRS(seed, sides)
    {
        pair_new(&p, seed, sides & 1, sides & 2);
        loss_new(&l, &p.whole);
        grads_new(&whole, &p.whole, ATT_F32);
        grads_new(&projected, &p.projected, ATT_F32);
        const att_tensor *of_output = l.grad.out.output;
        ASSERT_OK(att_attention_backward(&p.whole.options, &p.whole.in, NULL, of_output, &whole.to,
                                         NULL, err));
        ASSERT_OK(att_attention_backward(&p.projected.options, &p.projected.in, NULL, of_output,
                                         &projected.to, NULL, err));
        for (int slot = 0; slot < ATT_SLOT_COUNT; slot++)
            if (p.whole.tensor[slot].shape[3] == p.projected.tensor[slot].shape[3])
                assert_same_grad(&whole, &projected, (att_slot)slot);
        grads_free(&whole);
        grads_free(&projected);
        results_free(&l.grad);
        pair_free(&p);
    }
}

/* There is no copy of the keys either, which keeps a decoder step cheap. */
static void projected_keys_are_used_where_they_lie(void **state)
{
    (void)state;
    static float numbers[4096 * 16];
    const int64_t keys = 4096, width = 16;
    att_tensor query = att_tensor_view(numbers, ATT_F32, 4, SHAPE(1, 1, 1, width));
    att_tensor key = att_tensor_view(numbers, ATT_F32, 4, SHAPE(1, keys, 1, width));
    att_tensor v = att_tensor_view(numbers, ATT_F32, 2, SHAPE(1, width));
    att_tensor u = att_tensor_view(numbers, ATT_F32, 3, SHAPE(1, width, width));
    att_attention_options options = { .size = sizeof(att_attention_options),
                                      .score = ATT_SCORE_ADDITIVE };
    att_attention_inputs in = { .query = &query, .key = &key, .value = &key, .score_v = &v };
    size_t projected = att_attention_workspace(&options, &in, false);
    in.score_u = &u;
    size_t whole = att_attention_workspace(&options, &in, false);
    assert_true(projected > 0);
    assert_true(whole >= projected + (size_t)(keys * width) * sizeof(float));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_over_projected_rows_gives_the_same_bits),
        cmocka_unit_test(its_other_gradients_are_the_same_bits),
        cmocka_unit_test(projected_keys_are_used_where_they_lie),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
