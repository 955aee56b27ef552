/* The RNN operation: the same bits step by step, alone or in a batch, in reverse, and where its
 * inputs come from a small table. Values and gradients are checked in test_gradcheck.c. */
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
#include <string.h>

enum { B = 7, T = 5, D = 6, N = 19, V = 9 };

static const int64_t lengths[B] = { 3, 0, 5, 1, 5, 2, 4 };
static const att_rnn_cell cells[] = { ATT_RNN_CELL_VANILLA, ATT_RNN_CELL_GRU, ATT_RNN_CELL_LSTM };
#define FOR_EACH_CELL(c) for (size_t c = 0; c < sizeof cells / sizeof *cells; c++)

static att_node *random_node(att_tape *tape, uint64_t stream, int rank, const int64_t *shape)
{
    att_node *node = att_tape_variable(tape, rank, shape, NULL);
    for (int64_t i = 0; i < node->count; i++)
        node->value[i] = 2 * att_random_float(1, stream, (uint64_t)i) - 1;
    return node;
}

/* A layer with all its optional inputs. */
static att_rnn_inputs layer_of(att_tape *tape, att_rnn_cell cell, int64_t units)
{
    int64_t wide = att_rnn_cell_gates(cell) * units, state = att_rnn_cell_states(cell) * units;
    return (att_rnn_inputs){
        .x = random_node(tape, 1, 3, (const int64_t[]){ B, T, D }),
        .w = random_node(tape, 2, 2, (const int64_t[]){ D, wide }),
        .u = random_node(tape, 3, 2, (const int64_t[]){ units, wide }),
        .bias = random_node(tape, 4, 1, (const int64_t[]){ wide }),
        .bias_u = random_node(tape, 5, 1, (const int64_t[]){ wide }),
        .initial_state = random_node(tape, 6, 2, (const int64_t[]){ B, state }),
    };
}

static att_rnn_inputs new_layer(att_tape *tape, att_rnn_cell cell)
{
    return layer_of(tape, cell, N);
}

static att_tape *new_tape(void)
{
    att_tape *tape;
    assert_int_equal(att_tape_new(&tape, NULL, NULL), ATT_OK);
    att_tape_begin(tape, true, 1, 1);
    return tape;
}

static void same_bits(const float *a, const float *b, int64_t count)
{
    assert_memory_equal(a, b, (size_t)count * sizeof(float));
}

static void steps_taken_one_by_one_give_the_bits_of_the_whole(void **state)
{
    (void)state;
    att_tape *tape = new_tape();
    FOR_EACH_CELL(c)
    {
        att_rnn_inputs layer = new_layer(tape, cells[c]), step = layer;
        att_node *whole = att_rnn(tape, &layer, &(att_rnn_options){ .cell = cells[c] });
        att_node *states = att_rnn_all_states(tape, whole), *end = att_rnn_final_state(tape, whole);
        int64_t width = att_rnn_cell_states(cells[c]) * N;
        for (int64_t t = 0; t < T; t++) {
            att_node *x = att_select(tape, layer.x, t);
            step.x = att_reshape(tape, x, 3, (const int64_t[]){ B, 1, D });
            att_node *one = att_rnn(tape, &step, &(att_rnn_options){ .cell = cells[c] });
            step.initial_state = att_rnn_final_state(tape, one);
            for (int64_t b = 0; b < B; b++) {
                same_bits(one->value + b * N, whole->value + (b * T + t) * N, N);
                same_bits(step.initial_state->value + b * width,
                          states->value + (b * T + t) * width, width);
            }
        }
        same_bits(step.initial_state->value, end->value, end->count);
    }
    assert_int_equal(att_tape_status(tape, NULL), ATT_OK);
    att_tape_free(tape);
}

/* Row b of a batch, cut to its length, as a batch of one. */
static att_rnn_inputs alone(att_tape *tape, const att_rnn_inputs *layer, int64_t b)
{
    att_rnn_inputs one = *layer;
    int64_t width = att_node_last_dim(layer->initial_state);
    one.x = att_tape_variable(tape, 3, (const int64_t[]){ 1, lengths[b], D },
                              layer->x->value + b * T * D);
    one.initial_state = att_tape_variable(tape, 2, (const int64_t[]){ 1, width },
                                          layer->initial_state->value + b * width);
    return one;
}

static void a_sequence_is_the_same_alone_as_in_a_batch(void **state)
{
    (void)state;
    att_tape *tape = new_tape();
    static const float zeros[T * N];
    FOR_EACH_CELL(c)
    for (int reverse = 0; reverse < 2; reverse++) {
        att_rnn_inputs layer = new_layer(tape, cells[c]);
        att_rnn_options options = { cells[c], reverse, lengths };
        att_node *all = att_rnn(tape, &layer, &options), *end = att_rnn_final_state(tape, all);
        options.lengths = NULL;
        for (int64_t b = 0; b < B; b++) {
            att_rnn_inputs one = alone(tape, &layer, b);
            att_node *own = att_rnn(tape, &one, &options),
                     *own_end = att_rnn_final_state(tape, own);
            const float *in_all = all->value + b * T * N;
            same_bits(own->value, in_all, own->count);
            same_bits(in_all + lengths[b] * N, zeros, (T - lengths[b]) * N);
            same_bits(own_end->value, end->value + b * own_end->count, own_end->count);
        }
    }
    att_tape_free(tape);
}

static void reverse_is_forward_over_the_reversed_sequence(void **state)
{
    (void)state;
    att_tape *tape = new_tape();
    FOR_EACH_CELL(c)
    {
        att_rnn_inputs layer = new_layer(tape, cells[c]), reversed = layer;
        reversed.x = att_tape_variable(tape, 3, layer.x->shape, NULL);
        for (int64_t b = 0; b < B; b++)
            for (int64_t t = 0; t < lengths[b]; t++)
                memcpy(reversed.x->value + (b * T + lengths[b] - 1 - t) * D,
                       layer.x->value + (b * T + t) * D, D * sizeof(float));
        att_node *back = att_rnn(tape, &layer, &(att_rnn_options){ cells[c], true, lengths });
        att_node *forth = att_rnn(tape, &reversed, &(att_rnn_options){ cells[c], false, lengths });
        for (int64_t b = 0; b < B; b++)
            for (int64_t t = 0; t < lengths[b]; t++)
                same_bits(back->value + (b * T + t) * N,
                          forth->value + (b * T + lengths[b] - 1 - t) * N, N);
    }
    att_tape_free(tape);
}

static void padding_is_never_read(void **state)
{
    (void)state;
    att_tape *tape = new_tape();
    FOR_EACH_CELL(c)
    {
        att_rnn_inputs layer = new_layer(tape, cells[c]);
        for (int64_t b = 0; b < B; b++)
            for (int64_t i = lengths[b] * D; i < T * D; i++)
                layer.x->value[b * T * D + i] = NAN;
        att_node *all = att_rnn(tape, &layer, &(att_rnn_options){ cells[c], false, lengths });
        float *grad = att_node_grad(tape, all);
        for (int64_t b = 0; b < B; b++)
            for (int64_t i = 0; i < T * N; i++)
                grad[b * T * N + i] = i < lengths[b] * N ? 1 : NAN;
        assert_int_equal(att_tape_run_backward(tape, NULL), ATT_OK);
        att_node *const inputs[] = { layer.x, layer.w, layer.u, layer.bias, layer.initial_state };
        for (size_t n = 0; n < sizeof inputs / sizeof *inputs; n++)
            for (int64_t i = 0; i < inputs[n]->count; i++)
                assert_true(isfinite(inputs[n]->grad[i]));
        for (int64_t b = 0; b < B; b++)
            for (int64_t i = lengths[b] * D; i < T * D; i++)
                assert_true(layer.x->grad[b * T * D + i] == 0);
        att_tape_begin(tape, true, 1, 1);
    }
    att_tape_free(tape);
}

/* A layer over embedded tokens. A scale by 1 between them hides the embedding, so that the input
 * table is not used. */
typedef struct token_layer {
    att_rnn_cell cell;
    int64_t units;
    bool bias;   /* whether it has biases */
    bool hidden; /* whether the embedding is hidden */
} token_layer;

/* The result: output, embedding table and parameters with their gradients. */
typedef struct token_result {
    att_node *table, *w, *bias, *out;
} token_result;

static token_result over_tokens(att_tape *tape, const token_layer *options)
{
    static const int32_t ids[B * T] = { 3, 1, 4, 1, 5, 0, 2, 6, 5, 3, -1, 8, 0, 7, 0, 3, 2, 3,
                                        8, 4, 6, 2, 6, 4, 3, 3, 8, 3, 2,  0, 0, 2, 8, 8, 4 };
    att_rnn_inputs layer = layer_of(tape, options->cell, options->units);
    if (!options->bias)
        layer.bias = layer.bias_u = NULL;
    token_result result = { .table = random_node(tape, 9, 2, (const int64_t[]){ V, D }),
                            .w = layer.w,
                            .bias = layer.bias };
    layer.x = att_embedding_lookup(tape, result.table, B, T, ids);
    if (options->hidden)
        layer.x = att_scale(tape, layer.x, 1);
    result.out = att_rnn(tape, &layer, &(att_rnn_options){ options->cell, false, lengths });
    float *grad = att_node_grad(tape, result.out);
    for (int64_t i = 0; i < result.out->count; i++)
        grad[i] = 2 * att_random_float(2, 1, (uint64_t)i) - 1;
    assert_int_equal(att_tape_run_backward(tape, NULL), ATT_OK);
    return result;
}

/* Sums of up to B T terms below 4, and products of as many of those as there are units. */
static void near(const att_node *a, const att_node *b, int64_t units)
{
    float bound = (float)(B * T + 4 * units) * FLT_EPSILON * 4;
    for (int64_t i = 0; i < a->count; i++) {
        assert_true(fabsf(a->grad[i] - b->grad[i]) <= bound);
        assert_true(isfinite(a->grad[i]));
    }
}

static void check_table(token_layer options)
{
    att_tape *plain = new_tape(), *quick = new_tape();
    options.hidden = true;
    token_result a = over_tokens(plain, &options);
    options.hidden = false;
    token_result b = over_tokens(quick, &options);
    same_bits(a.out->value, b.out->value, a.out->count);
    near(a.table, b.table, options.units);
    near(a.w, b.w, options.units);
    if (options.bias)
        near(a.bias, b.bias, options.units);
    assert_true(b.out->in[0]->grad == NULL); /* the embedding was bypassed */
    assert_true(a.out->in[0]->grad != NULL);
    att_tape_free(plain);
    att_tape_free(quick);
}

/* Also with more units than one depth block of the product. */
static void a_small_table_gives_the_same_bits_and_gradients(void **state)
{
    (void)state;
    FOR_EACH_CELL(c)
    for (int bias = 0; bias < 2; bias++) {
        check_table((token_layer){ .cell = cells[c], .units = N, .bias = bias });
        check_table((token_layer){ .cell = cells[c], .units = 300, .bias = bias });
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_taken_one_by_one_give_the_bits_of_the_whole),
        cmocka_unit_test(a_sequence_is_the_same_alone_as_in_a_batch),
        cmocka_unit_test(reverse_is_forward_over_the_reversed_sequence),
        cmocka_unit_test(padding_is_never_read),
        cmocka_unit_test(a_small_table_gives_the_same_bits_and_gradients),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
