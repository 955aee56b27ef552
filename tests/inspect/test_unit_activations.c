/* Activations of single units, on a model whose units have known behavior. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "failing_memory.h"
#include "inspect/rnn_help.h"
#include "inspect/unit_states.h"

static att_unit_activations *activations_of(att_model *model, const char *text, int64_t layer,
                                            int64_t unit)
{
    att_unit_activations *activations;
    att_error err = { 0 };
    reader_must(att_model_unit_activations(&activations, model, text, strlen(text),
                                           (att_layer_unit){ layer, unit }, ATT_SIGNAL_DEFAULT,
                                           &err),
                &err);
    return activations;
}

static void activations_follow_the_formula_of_the_rnn(void **state)
{
    (void)state;
    att_model *model = reader_model();
    att_unit_activations *blanks = activations_of(model, "a b“a”", 1, 1),
                         *marks = activations_of(model, "a b“a”", 1, 2);
    const att_highlight *first = att_unit_activations_get(blanks),
                        *second = att_unit_activations_get(marks);
    assert_int_equal(first->count, 6);
    assert_string_equal(first->tokens[3], "“");
    assert_string_equal(second->title, "layer 1, unit 2: hidden state");
    double expected = 0;
    static const double input[] = { 0, 0, 0, 6, 0, -6 };
    for (int i = 0; i < 6; i++) {
        assert_true(fabs(first->values[i] - (i == 1 ? tanh(2) : 0)) < 1e-6);
        expected = tanh(input[i] + 3 * expected);
        assert_true(fabs(second->values[i] - expected) < 1e-6);
    }
    att_unit_activations_free(blanks);
    att_unit_activations_free(marks);
    att_model_free(model);
}

static void missing_layers_units_and_signals_are_refused(void **state)
{
    (void)state;
    static const struct {
        att_layer_unit unit;
        att_unit_signal signal;
        const char *text, *message;
    } cases[] = {
        { { 2, 1 }, ATT_SIGNAL_DEFAULT, "a", "there is no layer 2: the model has 1" },
        { { 0, 1 }, ATT_SIGNAL_DEFAULT, "a", "there is no layer 0: the model has 1" },
        { { 1, 4 }, ATT_SIGNAL_DEFAULT, "a", "there is no unit 4: a layer has 3" },
        { { 1, 1 }, ATT_SIGNAL_DEFAULT, "", "the input has no tokens" },
        { { 1, 1 }, ATT_SIGNAL_DEFAULT, "a\xff", "byte 2 of the line, 0xFF, is not UTF-8" },
        { { 1, 1 }, ATT_SIGNAL_CELL, "a", "the RNN has no cell state: only an LSTM has one" },
    };
    att_model *model = reader_model();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        att_unit_activations *activations;
        att_error err = { 0 };
        assert_int_equal(att_model_unit_activations(&activations, model, cases[i].text,
                                                    strlen(cases[i].text), cases[i].unit,
                                                    cases[i].signal, &err),
                         ATT_BAD_INPUT);
        assert_null(activations);
        assert_string_equal(err.message, cases[i].message);
    }
    att_model_free(model);
}

static void models_without_unidirectional_rnn_layers_are_refused(void **state)
{
    (void)state;
    static const char *const both[][2] = { { "bidirectional", "yes" }, { "hidden-size", "4" } };
    static const char *const heads[][2] = { { "architecture", "transformer" },
                                            { "hidden-size", "4" },
                                            { "heads", "1" } };
    att_model *models[] = { reader_with(both, 2), reader_with(heads, 3) };
    for (int i = 0; i < 2; i++) {
        att_unit_activations *activations;
        att_error err = { 0 };
        assert_int_equal(att_model_unit_activations(&activations, models[i], "a", 1,
                                                    (att_layer_unit){ 1, 1 }, ATT_SIGNAL_DEFAULT,
                                                    &err),
                         ATT_BAD_INPUT);
        assert_non_null(strstr(err.message, i == 0 ? "bidirectional" : "RNN layers"));
        att_model_free(models[i]);
    }
}

/* ---- ranges */

enum { TOKENS = 300 };

typedef struct recording {
    float units[TOKENS][6];
    int calls[TOKENS];
    int width;
} recording;

static void record(void *context, int64_t row, int64_t token, const float *units)
{
    recording *all = context;
    (void)row;
    memcpy(all->units[token], units, (size_t)all->width * sizeof *units);
    all->calls[token]++;
}

/* An LSTM of two layers with random weights. */
static att_model *lstm(void)
{
    static const char *const options[][2] = {
        { "rnn-cell", "lstm" },      { "layers", "2" },           { "hidden-size", "3" },
        { "embedding-size", "4" },   { "bidirectional", "no" },   { "attention", "none" },
        { "source-tokens", "char" }, { "target-tokens", "char" },
    };
    return reader_with(options, sizeof options / sizeof *options);
}

static void read_all(recording *out, att_model *model, const att_rnn_stack *stack,
                     const att_encoding *text, const att_token_range *ranges, int64_t count,
                     int64_t warmup_tokens, att_unit_signal signal)
{
    att_error err = { 0 };
    *out = (recording){ .width = (int)(stack->layers * stack->hidden_size) };
    const att_states_options run_options = { .signal = signal,
                                             .ranges = ranges,
                                             .count = count,
                                             .warmup_tokens = warmup_tokens,
                                             .on_token = record,
                                             .context = out };
    reader_must(att_states_run(model, stack, text, &run_options, &err), &err);
}

static void ranges_with_full_warm_up_equal_one_sequential_pass(void **state)
{
    (void)state;
    static const att_token_range whole = { 0, TOKENS };
    static const att_token_range parts[] = { { 0, 7 }, { 7, 100 }, { 100, 101 }, { 101, TOKENS } };
    static recording one, several;
    static char text[TOKENS + 1];
    for (int i = 0; i < TOKENS; i++)
        text[i] = "ab a"[(i * i + i / 3) % 4];
    text[0] = text[TOKENS - 1] = 'a';
    att_model *model = lstm();
    att_rnn_stack stack;
    att_encoding encoding = { 0 };
    att_error err = { 0 };
    reader_must(att_model_rnn_stack(&stack, model, &err), &err);
    reader_must(att_encoding_new(&encoding, stack.vocab, NULL, text, TOKENS, &err), &err);
    assert_int_equal(encoding.ids.count, TOKENS);
    for (att_unit_signal signal = ATT_SIGNAL_HIDDEN; signal <= ATT_SIGNAL_CELL; signal++) {
        read_all(&one, model, &stack, &encoding, &whole, 1, 0, signal);
        read_all(&several, model, &stack, &encoding, parts, 4, TOKENS, signal);
        for (int i = 0; i < TOKENS; i++) {
            assert_int_equal(one.calls[i], 1);
            assert_int_equal(several.calls[i], 1);
        }
        assert_memory_equal(one.units, several.units, sizeof one.units);
    }
    read_all(&several, model, &stack, &encoding, parts, 4, 0, ATT_SIGNAL_CELL);
    assert_memory_not_equal(one.units, several.units,
                            sizeof one.units); /* without warm-up they differ */
    att_encoding_free(&encoding);
    att_model_free(model);
}

static att_status read_first_unit(void *context)
{
    att_unit_activations *activations;
    att_status status = att_model_unit_activations(
        &activations, context, "a b", 3, (att_layer_unit){ 1, 1 }, ATT_SIGNAL_DEFAULT, NULL);
    att_unit_activations_free(activations);
    return status;
}

static void running_out_of_memory_leaves_nothing_behind(void **state)
{
    (void)state;
    att_model *model = reader_model();
    assert_int_equal(read_first_unit(model),
                     ATT_OK); /* packs the weights once, before allocations fail */
    every_allocation_fails(read_first_unit, model, 500);
    att_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(activations_follow_the_formula_of_the_rnn),
        cmocka_unit_test(missing_layers_units_and_signals_are_refused),
        cmocka_unit_test(models_without_unidirectional_rnn_layers_are_refused),
        cmocka_unit_test(ranges_with_full_warm_up_equal_one_sequential_pass),
        cmocka_unit_test(running_out_of_memory_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
