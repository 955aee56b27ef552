/* A small model, forward and backward: the same bits at any number of threads and on every
 * instruction set; and the failure of any allocation is reported without a leak. */
#include "tape/ops.h"

#include "base/alloc.h"
#include "base/cpu.h"
#include "base/random.h"
#include "tape/op.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* Large enough for several threads: B T (D + N) 4 N is some millions of multiply-adds. */
enum { B = 40, S = 9, T = 8, V = 200, D = 33, N = 48 };

enum {
    EMBED,
    W_FORTH,
    U_FORTH,
    B_FORTH,
    W_BACK,
    U_BACK,
    B_BACK,
    W_DECODE,
    U_DECODE,
    BRIDGE,
    SCORE,
    W_JOIN,
    GAIN,
    GAIN_BIAS,
    OUT,
    OUT_BIAS,
    PARAMS
};

static const att_param rows[PARAMS] = {
    [EMBED] = { .name = "embed",
                .rank = 2,
                .shape = { V, D },
                .init = ATT_INIT_NORMAL,
                .init_scale = 1 },
    [W_FORTH] = { .name = "forth.w",
                  .rank = 2,
                  .shape = { D, 4 * N },
                  .init = ATT_INIT_GLOROT,
                  .init_scale = 1 },
    [U_FORTH] = { .name = "forth.u",
                  .rank = 2,
                  .shape = { N, 4 * N },
                  .init = ATT_INIT_GLOROT,
                  .init_scale = 1 },
    [B_FORTH] = { .name = "forth.b", .rank = 1, .shape = { 4 * N }, .init = ATT_INIT_FORGET_BIAS },
    [W_BACK] = { .name = "back.w",
                 .rank = 2,
                 .shape = { D, 4 * N },
                 .init = ATT_INIT_GLOROT,
                 .init_scale = 1 },
    [U_BACK] = { .name = "back.u",
                 .rank = 2,
                 .shape = { N, 4 * N },
                 .init = ATT_INIT_GLOROT,
                 .init_scale = 1 },
    [B_BACK] = { .name = "back.b", .rank = 1, .shape = { 4 * N }, .init = ATT_INIT_FORGET_BIAS },
    [W_DECODE] = { .name = "decode.w",
                   .rank = 2,
                   .shape = { D, 3 * N },
                   .init = ATT_INIT_GLOROT,
                   .init_scale = 1 },
    [U_DECODE] = { .name = "decode.u",
                   .rank = 2,
                   .shape = { N, 3 * N },
                   .init = ATT_INIT_GLOROT,
                   .init_scale = 1 },
    [BRIDGE] = { .name = "bridge",
                 .rank = 2,
                 .shape = { 4 * N, N },
                 .init = ATT_INIT_GLOROT,
                 .init_scale = 1 },
    [SCORE] = { .name = "score",
                .rank = 2,
                .shape = { N, 2 * N },
                .init = ATT_INIT_GLOROT,
                .init_scale = 1 },
    [W_JOIN] = { .name = "join",
                 .rank = 2,
                 .shape = { 3 * N, N },
                 .init = ATT_INIT_GLOROT,
                 .init_scale = 1 },
    [GAIN] = { .name = "gain", .rank = 1, .shape = { N }, .init = ATT_INIT_ONE },
    [GAIN_BIAS] = { .name = "gain.b", .rank = 1, .shape = { N }, .init = ATT_INIT_ZERO },
    [OUT] = { .name = "out",
              .rank = 2,
              .shape = { N, V },
              .init = ATT_INIT_GLOROT,
              .init_scale = 1 },
    [OUT_BIAS] = { .name = "out.b", .rank = 1, .shape = { V }, .init = ATT_INIT_ZERO },
};

static att_node *both_directions(att_tape *tape, att_node *x, const int64_t *lengths,
                                 att_node **last)
{
    att_node *out[2], *end[2];
    for (int back = 0; back < 2; back++) {
        int at = back ? W_BACK : W_FORTH;
        const att_rnn_inputs in = { .x = x,
                                    .w = att_tape_param(tape, at),
                                    .u = att_tape_param(tape, at + 1),
                                    .bias = att_tape_param(tape, at + 2) };
        out[back] = att_rnn(tape, &in, &(att_rnn_options){ ATT_RNN_CELL_LSTM, back, lengths });
        end[back] = att_rnn_final_state(tape, out[back]);
    }
    *last = att_concat(tape, end, 2);
    return att_concat(tape, out, 2);
}

/* From tokens to the loss. */
static att_node *model(att_tape *tape, const int32_t *source, const int32_t *target,
                       const int64_t *lengths)
{
    att_node *embed = att_tape_param(tape, EMBED), *last;
    att_node *x = att_dropout(tape, att_embedding_lookup(tape, embed, B, S, source), 0.1f, 1);
    att_node *memory = both_directions(tape, x, lengths, &last);
    att_node *start =
        att_linear(tape, last, att_tape_param(tape, BRIDGE), NULL, ATT_ACTIVATION_TANH, false);
    const att_rnn_inputs decoder = { .x = att_embedding_lookup(tape, embed, B, T, target),
                                     .w = att_tape_param(tape, W_DECODE),
                                     .u = att_tape_param(tape, U_DECODE),
                                     .initial_state = start };
    att_node *states = att_rnn(tape, &decoder, &(att_rnn_options){ .cell = ATT_RNN_CELL_GRU });
    att_node *query =
        att_linear(tape, states, att_tape_param(tape, SCORE), NULL, ATT_ACTIVATION_NONE, false);
    const att_attention_op_inputs attend = { .query = query, .key = memory, .value = memory };
    const att_attention_options options = { .size = sizeof(att_attention_options),
                                            .score = ATT_SCORE_SCALED,
                                            .key_lengths = lengths,
                                            .dropout = 0.1 };
    att_node *const both[] = { att_attention_op(tape, &attend, 1, 1, &options), states };
    att_node *joined = att_linear(tape, att_concat(tape, both, 2), att_tape_param(tape, W_JOIN),
                                  NULL, ATT_ACTIVATION_GELU, false);
    att_node *normed =
        att_layer_norm(tape, joined, att_tape_param(tape, GAIN), att_tape_param(tape, GAIN_BIAS));
    att_node *scores = att_linear(tape, normed, att_tape_param(tape, OUT),
                                  att_tape_param(tape, OUT_BIAS), ATT_ACTIVATION_NONE, false);
    return att_cross_entropy(tape, scores, target, (att_loss_terms){ .label_smoothing = 0.1f },
                             NULL);
}

static uint64_t hash(uint64_t h, const float *values, size_t count)
{
    const unsigned char *bytes = (const unsigned char *)values;
    for (size_t i = 0; i < count * sizeof(float); i++)
        h = (h ^ bytes[i]) * UINT64_C(0x100000001b3);
    return h;
}

typedef struct batch {
    int32_t source[B * S], target[B * T];
    int64_t lengths[B];
} batch;

static batch some_batch(void)
{
    batch made;
    for (uint64_t i = 0; i < B * S; i++)
        made.source[i] = (int32_t)(att_random_bits(1, 1, i) % V);
    for (uint64_t i = 0; i < B * T; i++)
        made.target[i] = i % 11 == 10 ? -1 : (int32_t)(att_random_bits(1, 2, i) % 40);
    for (uint64_t i = 0; i < B; i++)
        made.lengths[i] = (int64_t)(att_random_bits(1, 3, i) % (S + 1));
    return made;
}

static att_status build(att_params *params)
{
    att_status status = ATT_OK;
    for (int i = 0, index; i < PARAMS && status == ATT_OK; i++)
        status = att_params_add(params, &rows[i], &index, NULL);
    if (status == ATT_OK)
        status = att_params_init(params, 5, NULL);
    return status == ATT_OK ? att_params_alloc_grad(params, NULL) : status;
}

/* Every parameter has a non-zero gradient, so that the hash covers all of them. */
static void expect_gradients(const att_params *params)
{
    for (int i = 0; i < params->count; i++) {
        const float *grad = params->grad + params->items[i].offset;
        size_t zeros = 0;
        while (zeros < params->items[i].count && grad[zeros] == 0)
            zeros++;
        assert_true(zeros < params->items[i].count);
    }
}

/* Forward and backward; a hash of the loss and every gradient. */
static att_status run_model(uint64_t *out)
{
    batch b = some_batch();
    att_params params = { 0 };
    att_tape *tape = NULL;
    att_status status = build(&params);
    if (status == ATT_OK)
        status = att_tape_new_training(&tape, &params, NULL);
    if (status == ATT_OK) {
        att_tape_begin(tape, true, 7, 3);
        att_node *loss = model(tape, b.source, b.target, b.lengths);
        status = loss ? att_tape_backward(tape, loss, 0.01f, NULL) : att_tape_status(tape, NULL);
        if (status == ATT_OK) {
            expect_gradients(&params);
            *out =
                hash(hash(UINT64_C(0xcbf29ce484222325), loss->value, 1), params.grad, params.size);
        }
    }
    att_tape_free(tape);
    att_params_free(&params);
    return status;
}

static void a_model_has_the_same_bits_at_any_number_of_threads_and_on_every_set(void **state)
{
    (void)state;
    static const int threads[] = { 1, 2, 3, 8 };
    static const att_cpu sets[] = { ATT_CPU_SCALAR, ATT_CPU_AVX2, ATT_CPU_AVX512, ATT_CPU_NEON };
    att_cpu before = att_cpu_get();
    uint64_t first = 0;
    int runs = 0;
    for (size_t s = 0; s < sizeof sets / sizeof *sets; s++) {
        if (!att_cpu_set(sets[s]))
            continue;
        for (size_t t = 0; t < sizeof threads / sizeof *threads; t++, runs++) {
            att_threads_set(threads[t]);
            uint64_t h = 0;
            assert_int_equal(run_model(&h), ATT_OK);
            first = runs == 0 ? h : first;
            if (h != first)
                print_error("%s, %d threads\n", att_cpu_name(), threads[t]);
            assert_true(h == first);
        }
    }
    att_cpu_set(before);
    att_threads_set(0);
}

static void any_allocation_of_a_model_may_fail(void **state)
{
    (void)state;
    size_t live = att_alloc_live(), n = 1;
    att_status status = ATT_NO_MEMORY;
    uint64_t h, whole = 0;
    assert_int_equal(run_model(&whole), ATT_OK);
    for (; status != ATT_OK; n++) {
        att_alloc_fail_at(n);
        status = run_model(&h);
        att_alloc_fail_at(0);
        assert_true(status == ATT_OK || status == ATT_NO_MEMORY);
        assert_int_equal(att_alloc_live(), live);
    }
    assert_true(n > PARAMS); /* at least one for each packed parameter */
    assert_true(h == whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_has_the_same_bits_at_any_number_of_threads_and_on_every_set),
        cmocka_unit_test(any_allocation_of_a_model_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
