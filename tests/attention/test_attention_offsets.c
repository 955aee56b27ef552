/* Positions per sequence (att_attention_options.offsets): a batch over KV caches of different
 * lengths has the bits of its members computed alone with `offset`, forward and backward, on every
 * path; likewise packed sequences. */
#include "attention/paths.h"
#include "forward_promises.h"
#include "rowwise_check.h"

enum { BATCH = 3 };

static const int64_t positions[] = { 40, 3, 21, -2 };

/* A view of sequence n: rows `first` … of dimension 1, of batch member b. */
static att_tensor rows_of(const att_tensor *t, int64_t b, int64_t first, int64_t count)
{
    att_tensor part = *t;
    size_t size = t->dtype == ATT_F32 ? sizeof(float) : sizeof(double);
    part.data = (char *)t->data + (b * t->stride[0] + first * t->stride[1]) * (int64_t)size;
    part.shape[0] = 1;
    part.shape[1] = count;
    return part;
}

/* One sequence of a scene as a problem of its own. */
typedef struct sequence {
    att_tensor query, key, value;
    att_attention_options options;
    att_attention_inputs in;
    int64_t b, first, queries, first_key, keys;
} sequence;

static void sequence_new(sequence *q, const scene *s, int64_t n)
{
    bool packed = s->options.sequences > 0;
    const int64_t *queries = s->options.query_offsets, *keys = s->options.key_offsets;
    *q =
        (sequence){ .options = s->options, .in = s->in, .b = n, .queries = s->c.T, .keys = s->c.S };
    if (packed) {
        q->b = 0;
        q->first = queries[n];
        q->queries = queries[n + 1] - queries[n];
        q->first_key = keys[n];
        q->keys = keys[n + 1] - keys[n];
        q->options.sequences = 0;
        q->options.query_offsets = q->options.key_offsets = NULL;
    }
    q->query = rows_of(s->in.query, q->b, q->first, q->queries);
    q->key = rows_of(s->in.key, q->b, q->first_key, q->keys);
    q->value = rows_of(s->in.value, q->b, q->first_key, q->keys);
    q->in.query = &q->query;
    q->in.key = &q->key;
    q->in.value = &q->value;
    q->options.offsets = NULL;
    q->options.offset = s->options.offsets[n];
}

/* All elements of two tensors [1,N,heads,width] have the same bits. */
static void assert_same_tensor(const char *name, const att_tensor *found, const att_tensor *wanted,
                               const choice *c)
{
    for (int64_t i = 0; i < wanted->shape[1]; i++)
        for (int64_t h = 0; h < wanted->shape[2]; h++)
            for (int64_t m = 0; m < wanted->shape[3]; m++) {
                double a = get(found, 0, i, h, m), b = get(wanted, 0, i, h, m);
                if (memcmp(&a, &b, sizeof a) != 0 && !(isnan(a) && isnan(b)))
                    fail_msg("%s[%d,%d,%d] is %.9g, expected %.9g: %s", name, (int)i, (int)h,
                             (int)m, a, b, choice_name(c));
            }
}

static void assert_same_output(const scene *s, att_dtype dtype)
{
    int64_t count = s->options.sequences > 0 ? s->options.sequences : s->c.B;
    results whole;
    results_new(&whole, s, dtype, false);
    ASSERT_OK(att_attention_forward(&s->options, &s->in, &whole.out, NULL, err));
    for (int64_t n = 0; n < count; n++) {
        sequence q;
        att_tensor alone;
        sequence_new(&q, s, n);
        ASSERT_OK(att_tensor_new(&alone, dtype, 4, SHAPE(1, q.queries, s->c.H, s->c.M), err));
        ASSERT_OK(att_attention_forward(&q.options, &q.in,
                                        &(att_attention_outputs){ .output = &alone }, NULL, err));
        att_tensor part = rows_of(whole.out.output, q.b, q.first, q.queries);
        assert_same_tensor("output", &part, &alone, &s->c);
        att_tensor_free(&alone);
    }
    results_free(&whole);
}

static void assert_same_grads(const scene *s)
{
    int64_t count = s->options.sequences > 0 ? s->options.sequences : s->c.B;
    static const char *const names[] = { "query", "key", "value" };
    loss l;
    grads whole;
    loss_new(&l, s);
    grads_new(&whole, s, ATT_F32);
    ASSERT_OK(
        att_attention_backward(&s->options, &s->in, NULL, &l.grad.tensor[0], &whole.to, NULL, err));
    for (int64_t n = 0; n < count; n++) {
        sequence q;
        sequence_new(&q, s, n);
        att_tensor alone[3];
        const att_tensor *of[] = { &q.query, &q.key, &q.value };
        for (int k = 0; k < 3; k++) {
            ASSERT_OK(att_tensor_new(&alone[k], ATT_F32, 4, of[k]->shape, err));
            for (int64_t e = 0; e < att_tensor_count(&alone[k]); e++)
                ((float *)alone[k].data)[e] = 1; /* what grads_new() fills in */
        }
        att_tensor output_grad = rows_of(&l.grad.tensor[0], q.b, q.first, q.queries);
        att_attention_grads to = { .query = &alone[0], .key = &alone[1], .value = &alone[2] };
        ASSERT_OK(att_attention_backward(&q.options, &q.in, NULL, &output_grad, &to, NULL, err));
        for (int k = 0; k < 3; k++) {
            bool query = k == 0;
            att_tensor part =
                rows_of(&whole.tensor[k], q.b, query ? q.first : q.first_key, of[k]->shape[1]);
            assert_same_tensor(names[k], &part, &alone[k], &s->c);
            att_tensor_free(&alone[k]);
        }
    }
    results_free(&l.grad);
    grads_free(&whole);
}

/* Every score and normalizer, masked and biased by position. */
static void for_every_scene(bool packed, void check(const scene *))
{
    static const int64_t queries[] = { 0, 9, 9, 40, 41 }, keys[] = { 0, 50, 60, 150, 160 };
    uint64_t seed = 0;
    for (int score = 0; score < SCORES; score++)
        for (int normalizer = 0; normalizer < NORMALIZERS; normalizer++, seed++) {
            choice c = kind(score, normalizer, seed);
            scene s;
            c.B = packed ? 1 : BATCH;
            c.T = packed ? 41 : seed % 3 == 0 ? 1 : 37;
            c.S = packed ? 160 : 140;
            c.mask = seed % 4 == 3 ? WINDOW : CAUSAL;
            c.bias = seed % 3 == 0 ? ALIBI | RELATIVE : 0;
            scene_new(&s, c);
            s.options.offset = 0;
            s.options.offsets = positions;
            s.options.sequences = packed ? 4 : 0;
            s.options.query_offsets = packed ? queries : NULL;
            s.options.key_offsets = packed ? keys : NULL;
            check(&s);
            scene_free(&s);
        }
}

static void check_forward(const scene *s)
{
    assert_same_output(s, ATT_F32);
    assert_same_output(s, ATT_F64);
}

static void a_batch_equals_its_members_alone(void **state)
{
    (void)state;
    for_every_scene(false, check_forward);
}

static void packed_sequences_equal_each_alone(void **state)
{
    (void)state;
    for_every_scene(true, check_forward);
}

static void gradients_of_a_batch_equal_those_of_its_members(void **state)
{
    (void)state;
    for_every_scene(false, assert_same_grads);
}

static void gradients_of_packed_sequences_equal_each_alone(void **state)
{
    (void)state;
    for_every_scene(true, assert_same_grads);
}

static void the_matrix_form_uses_offsets(void **state)
{
    (void)state;
    forward f;
    choice c = kind(ATT_SCORE_SCALED, ATT_NORMALIZE_SOFTMAX, 1);
    c.B = BATCH;
    c.mask = CAUSAL;
    c.bias = ALIBI;
    forward_open(&f, c);
    f.s.options.offset = 0;
    f.s.options.offsets = positions;
    results matrix;
    results_new(&matrix, &f.s, ATT_F64, true);
    ASSERT_OK(att_attention_forward_matrix(&f.s.options, &f.s.in, &matrix.out, err));
    ASSERT_OK(att_attention_forward_reference(&f.s.options, &f.s.in, &f.exact.out, err));
    for (int n = 0; n < RESULTS; n++)
        check_tensor(result_names[n], &matrix.tensor[n], &f.exact.tensor[n], 0x1p-44, &c);
    results_free(&matrix);
    forward_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_equals_its_members_alone),
        cmocka_unit_test(packed_sequences_equal_each_alone),
        cmocka_unit_test(gradients_of_a_batch_equal_those_of_its_members),
        cmocka_unit_test(gradients_of_packed_sequences_equal_each_alone),
        cmocka_unit_test(the_matrix_form_uses_offsets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
