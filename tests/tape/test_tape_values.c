/* Results that the gradient check does not cover: attention weights, losses per row, positions, and
 * batch invariance of linear layers. */
#include "tape/ops.h"

#include "base/random.h"
#include "tape/op.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <float.h>
#include <math.h>

enum { B = 2, T = 3, S = 5, K = 4, H = 2 };

static const int64_t lengths[B] = { 3, 5 };

static att_tape *new_tape(void)
{
    att_tape *tape;
    assert_int_equal(att_tape_new(&tape, NULL, NULL), ATT_OK);
    att_tape_begin(tape, true, 1, 1);
    return tape;
}

static att_node *random_node(att_tape *tape, uint64_t stream, const int64_t shape[3])
{
    att_node *node = att_tape_variable(tape, 3, shape, NULL);
    for (int64_t i = 0; i < node->count; i++)
        node->value[i] = 4 * att_random_float(1, stream, (uint64_t)i) - 2;
    return node;
}

/* The weight of key s for query t of head h, by the formula. */
static double weight_of(const att_node *q, const att_node *k, int64_t b, int64_t t, int64_t h,
                        int64_t s)
{
    double total = 0, own = 0;
    for (int64_t j = 0; j < lengths[b]; j++) {
        double dot = 0;
        for (int64_t i = 0; i < K; i++)
            dot += (double)q->value[(b * T + t) * H * K + h * K + i] *
                   (double)k->value[(b * S + j) * H * K + h * K + i];
        double e = exp(dot / sqrt(K));
        total += e;
        own = j == s ? e : own;
    }
    return own / total;
}

static void weights_are_reported_by_query_and_head(void **state)
{
    (void)state;
    att_tape *tape = new_tape();
    att_node *q = random_node(tape, 1, (const int64_t[]){ B, T, H * K });
    att_node *k = random_node(tape, 2, (const int64_t[]){ B, S, H * K });
    const att_attention_options options = { .size = sizeof(att_attention_options),
                                            .score = ATT_SCORE_SCALED,
                                            .key_lengths = lengths };
    att_node *out = att_attention_op(
        tape, &(att_attention_op_inputs){ .query = q, .key = k, .value = k }, H, H, &options);
    att_node *weights = att_attention_op_weights(tape, out);
    att_node *direct =
        att_attention_op(tape, &(att_attention_op_inputs){ .query = q, .key = k }, H, H, &options);
    assert_int_equal(att_tape_status(tape, NULL), ATT_OK);
    for (int64_t b = 0; b < B; b++)
        for (int64_t h = 0; h < H; h++)
            for (int64_t t = 0; t < T; t++)
                for (int64_t s = 0; s < S; s++) {
                    double want = weight_of(q, k, b, t, h, s);
                    double bound = 30 * FLT_EPSILON; /* K + S roundings and an exponential */
                    float a = weights->value[((b * H + h) * T + t) * S + s];
                    float c = direct->value[((b * T + t) * H + h) * S + s];
                    assert_true(fabs((double)a - want) <= bound);
                    assert_true(fabs((double)c - want) <= bound);
                    assert_true(s < lengths[b] || (a == 0 && c == 0));
                }
    att_tape_free(tape);
}

static void row_losses_are_reported_without_smoothing(void **state)
{
    (void)state;
    static const int32_t targets[4] = { 2, -1, 0, 4 };
    att_tape *tape = new_tape();
    att_node *scores = random_node(tape, 3, (const int64_t[]){ 1, 4, 5 });
    float plain[4], smoothed[4];
    att_node *loss = att_cross_entropy(tape, scores, targets, (att_loss_terms){ 0 }, plain);
    att_node *soft = att_cross_entropy(tape, scores, targets,
                                       (att_loss_terms){ .label_smoothing = 0.2f }, smoothed);
    double sum = 0;
    for (int i = 0; i < 4; i++) {
        double total = 0;
        for (int j = 0; j < 5; j++)
            total += exp((double)scores->value[i * 5 + j]);
        double want = targets[i] < 0 ? 0 : log(total) - (double)scores->value[i * 5 + targets[i]];
        assert_true(fabs((double)plain[i] - want) <= 16 * FLT_EPSILON);
        assert_true(plain[i] == smoothed[i]);
        sum += want;
    }
    assert_true(fabs((double)loss->value[0] - sum) <= 64 * FLT_EPSILON);
    assert_true(soft->value[0] != loss->value[0]);
    att_tape_free(tape);
}

static void positions_are_sinusoids_from_any_first_position(void **state)
{
    (void)state;
    att_tape *tape = new_tape();
    att_node *all = att_sinusoidal_positions(tape, 0, 7, 6),
             *rest = att_sinusoidal_positions(tape, 4, 3, 6);
    for (int64_t i = 0; i < 3 * 6; i++)
        assert_true(all->value[4 * 6 + i] == rest->value[i]);
    for (int i = 0; i < 6; i++)
        assert_true(all->value[i] == (float)(i % 2)); /* sin 0 and cos 0 */
    assert_true(all->value[3 * 6] == (float)sin(3));
    assert_true(all->value[3 * 6 + 3] == (float)cos(3 / pow(10000, 2.0 / 6)));
    assert_false(all->requires_grad);
    att_tape_free(tape);
}

/* In training, some activations save their input and run after the product. */
static void a_linear_row_is_the_same_alone_and_without_training(void **state)
{
    (void)state;
    att_tape *tape = new_tape(), *plain = new_tape();
    att_tape_begin(plain, false, 1, 1);
    for (att_activation a = ATT_ACTIVATION_NONE; a <= ATT_ACTIVATION_SIGMOID; a++) {
        att_node *x = random_node(tape, 5, (const int64_t[]){ B, T, 70 });
        att_node *w = random_node(tape, 6, (const int64_t[]){ 1, 70, 33 });
        att_node *all = att_linear(tape, x, att_reshape(tape, w, 2, w->shape + 1), NULL, a, false);
        att_node *same = att_tape_input(plain, 2, w->shape + 1, w->value);
        for (int64_t i = 0; i < B * T; i++) {
            att_node *row = att_tape_input(plain, 1, (const int64_t[]){ 70 }, x->value + i * 70);
            att_node *one = att_linear(plain, row, same, NULL, a, false);
            assert_memory_equal(one->value, all->value + i * 33, 33 * sizeof(float));
        }
    }
    att_tape_free(tape);
    att_tape_free(plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_are_reported_by_query_and_head),
        cmocka_unit_test(row_losses_are_reported_without_smoothing),
        cmocka_unit_test(positions_are_sinusoids_from_any_first_position),
        cmocka_unit_test(a_linear_row_is_the_same_alone_and_without_training),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
