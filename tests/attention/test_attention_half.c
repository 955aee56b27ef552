/* float16 and bfloat16 inputs: query, key, value and biases in 16 bits give the bits of the same
 * values in float32, forward and backward, on every path, instruction set and layout, without a
 * workspace that grows with a converted copy. Other tensors in 16 bits are refused by name. */
#include "forward_promises.h"
#include "rowwise_check.h"

#include "tensor/tensor.h"

static const att_dtype halves[] = { ATT_F16, ATT_BF16 };
static const att_slot taken[] = { ATT_SLOT_QUERY, ATT_SLOT_KEY,   ATT_SLOT_VALUE,
                                  ATT_SLOT_BIAS,  ATT_SLOT_ALIBI, ATT_SLOT_RELATIVE };

/* A scene and its twin: the scene's values rounded to 16 bits but held in float32, the twin's in 16
 * bits, both in the same layout. */
typedef struct twins {
    scene wide, narrow;
    uint16_t *bits[ATT_SLOT_COUNT];
} twins;

static void round_slot(twins *t, att_slot slot, att_dtype dtype)
{
    att_tensor *wide = &t->wide.tensor[slot], *narrow = &t->narrow.tensor[slot];
    int64_t offset, room = tensor_room(wide, &offset);
    t->bits[slot] = malloc((size_t)(room + 1) * sizeof(uint16_t));
    narrow->dtype = dtype;
    narrow->data = t->bits[slot] + 1 + offset;
    for (int64_t n = -offset; n < room - offset; n++) {
        att_element_set(narrow, n, att_element_get(wide, n));
        att_element_set(wide, n, att_element_get(narrow, n));
    }
}

/* Of the slots that may be in 16 bits, those with a bit in `which`. */
static void twins_new(twins *t, choice c, att_dtype dtype, unsigned which)
{
    *t = (twins){ 0 };
    scene_new(&t->wide, c);
    t->narrow = t->wide;
    for (size_t n = 0; n < COUNT(taken); n++)
        if (which >> n & 1 && t->wide.tensor[taken[n]].data)
            round_slot(t, taken[n], dtype);
    scene_connect(&t->narrow);
}

static void twins_free(twins *t)
{
    for (int slot = 0; slot < ATT_SLOT_COUNT; slot++)
        free(t->bits[slot]);
    scene_free(&t->wide);
}

static uint64_t hash_of(const scene *s)
{
    results found;
    loss l;
    grads to;
    results_new(&found, s, ATT_F32, true);
    ASSERT_OK(att_attention_forward(&s->options, &s->in, &found.out, NULL, err));
    uint64_t hash = results_hash(&found);
    results_free(&found);
    loss_new(&l, s);
    grads_new(&to, s, ATT_F32);
    ASSERT_OK(
        att_attention_backward(&s->options, &s->in, NULL, &l.grad.tensor[0], &to.to, NULL, err));
    hash ^= grads_hash(&to);
    results_free(&l.grad);
    grads_free(&to);
    return hash;
}

static void check_twins(choice c, unsigned which)
{
    for (size_t d = 0; d < COUNT(halves); d++) {
        twins t;
        twins_new(&t, c, halves[d], which);
        ATT_FOR_EACH_CPU (cpu) {
            assert_true(att_cpu_set((att_cpu)cpu));
            att_threads_set(1 + (int)(c.seed % 2));
            if (hash_of(&t.wide) != hash_of(&t.narrow))
                fail_msg("other bits in %s, slots %u, set %d: %s", att_dtype_name(halves[d]), which,
                         cpu, choice_name(&c));
        }
        twins_free(&t);
    }
    att_cpu_set(att_cpu_best());
    att_threads_set(1);
}

static void every_score_and_normalizer_has_the_bits_of_float32(void **state)
{
    (void)state;
    uint64_t seed = 0;
    for (int score = 0; score < SCORES; score++)
        for (int normalizer = 0; normalizer < NORMALIZERS; normalizer++, seed++) {
            if (seed % THIN)
                continue;
            choice c = kind(score, normalizer, seed);
            c.T = seed % 4 == 0 ? 1 : 35;
            c.S = 170;
            c.mask = masks[seed % COUNT(masks)];
            c.bias = biases[seed % COUNT(biases)];
            c.B = c.mask & PACKED ? 1 : 2;
            c.layout = (layout)(seed % LAYOUTS);
            check_twins(c, 63);
            check_twins(c, 1 + (unsigned)(seed * 11 % 62));
        }
}

/* Wide enough for whole vectors and their remainders, with every mask. */
static void fused_attention_has_the_bits_of_float32(void **state)
{
    (void)state;
    for (size_t m = 0; m < COUNT(masks); m += THIN) {
        choice c = kind(ATT_SCORE_SCALED, ATT_NORMALIZE_SOFTMAX, m);
        c.T = m % 3 == 0 ? 2 : 70;
        c.S = 300;
        c.K = 37;
        c.M = 50;
        c.mask = masks[m];
        c.bias = biases[m % COUNT(biases)];
        c.B = c.mask & PACKED ? 1 : 2;
        check_twins(c, 63);
    }
}

/* Additive attention on keys that are projected already converts them a block at a time. */
static void projected_additive_keys_have_the_bits_of_float32(void **state)
{
    (void)state;
    for (size_t d = 0; d < COUNT(halves); d++) {
        choice c = kind(ATT_SCORE_ADDITIVE, ATT_NORMALIZE_SOFTMAX, 3);
        c.S = 300;
        c.K = c.A = 17;
        twins t;
        twins_new(&t, c, halves[d], 7);
        scene *both[] = { &t.wide, &t.narrow };
        for (int n = 0; n < 2; n++)
            both[n]->in.score_w = both[n]->in.score_u = NULL;
        results found[2];
        uint64_t hash[2];
        for (int n = 0; n < 2; n++) {
            results_new(&found[n], both[n], ATT_F32, true);
            ASSERT_OK(
                att_attention_forward(&both[n]->options, &both[n]->in, &found[n].out, NULL, err));
            hash[n] = results_hash(&found[n]);
            results_free(&found[n]);
            loss l;
            grads to;
            loss_new(&l, both[n]);
            grads_new(&to, both[n], ATT_F32);
            to.to.score_w = to.to.score_u = NULL;
            ASSERT_OK(att_attention_backward(&both[n]->options, &both[n]->in, NULL,
                                             &l.grad.tensor[0], &to.to, NULL, err));
            hash[n] ^= grads_hash(&to);
            results_free(&l.grad);
            grads_free(&to);
        }
        assert_true(hash[0] == hash[1]);
        twins_free(&t);
    }
}

/* Results in double come from the reference, which reads 16 bits as well. */
static void the_reference_reads_halves(void **state)
{
    (void)state;
    for (size_t d = 0; d < COUNT(halves); d++) {
        twins t;
        twins_new(&t, kind(ATT_SCORE_GENERAL, ATT_NORMALIZE_ENTMAX15, 4), halves[d], 63);
        scene *both[] = { &t.wide, &t.narrow };
        uint64_t hash[2];
        for (int n = 0; n < 2; n++) {
            results found;
            results_new(&found, both[n], ATT_F64, true);
            ASSERT_OK(
                att_attention_forward_reference(&both[n]->options, &both[n]->in, &found.out, err));
            hash[n] = results_hash(&found);
            results_free(&found);
        }
        assert_true(hash[0] == hash[1]);
        twins_free(&t);
    }
}

/* The workspace of a long sequence in 16 bits exceeds that of float32 by a few blocks, no more. */
static void memory_does_not_grow_with_a_converted_copy(void **state)
{
    (void)state;
    static uint16_t one;
    const int64_t shape[] = { 1, 1 << 20, 1, 64 };
    att_tensor key = att_tensor_view(&one, ATT_F16, 4, shape), query = key;
    query.shape[1] = 1;
    for (int d = 0; d < 3; d++)
        key.stride[d] = query.stride[d] = 0;
    const att_score scores[] = { ATT_SCORE_SCALED, ATT_SCORE_GAUSSIAN };
    for (size_t n = 0; n < COUNT(scores); n++) {
        att_attention_options options = { .size = sizeof(att_attention_options),
                                          .score = scores[n] };
        att_attention_inputs in = { .query = &query, .key = &key, .value = &key };
        size_t narrow = att_attention_workspace(&options, &in, false);
        key.dtype = query.dtype = ATT_F32;
        size_t wide = att_attention_workspace(&options, &in, false);
        key.dtype = query.dtype = ATT_F16;
        assert_true(narrow > 0);
        assert_true(narrow <= wide + 3 * 128 * 80 * sizeof(float));
    }
}

static void other_tensors_in_16_bits_are_refused_by_name(void **state)
{
    (void)state;
    twins t;
    results found;
    att_error err;
    twins_new(&t, kind(ATT_SCORE_GENERAL, ATT_NORMALIZE_SOFTMAX, 1), ATT_F16, 63);
    results_new(&found, &t.narrow, ATT_F32, false);
    t.narrow.tensor[ATT_SLOT_SCORE_W].dtype = ATT_F16;
    assert_int_equal(att_attention_forward(&t.narrow.options, &t.narrow.in, &found.out, NULL, &err),
                     ATT_BAD_INPUT);
    assert_string_equal(err.message, "score_w: expected float32 or float64, found float16");
    t.narrow.tensor[ATT_SLOT_SCORE_W].dtype = ATT_F32;
    found.tensor[0].dtype = ATT_BF16;
    assert_int_equal(att_attention_forward(&t.narrow.options, &t.narrow.in, &found.out, NULL, &err),
                     ATT_BAD_INPUT);
    assert_string_equal(err.message, "output: expected float32 or float64, found bfloat16");
    results_free(&found);
    twins_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_score_and_normalizer_has_the_bits_of_float32),
        cmocka_unit_test(fused_attention_has_the_bits_of_float32),
        cmocka_unit_test(projected_additive_keys_have_the_bits_of_float32),
        cmocka_unit_test(the_reference_reads_halves),
        cmocka_unit_test(memory_does_not_grow_with_a_converted_copy),
        cmocka_unit_test(other_tensors_in_16_bits_are_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
