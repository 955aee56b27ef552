/* A unit watched while a text is read, on a model whose units are known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "failing_memory.h"
#include "inspect/rnn_help.h"
#include "inspect/unit_states.h"

static att_unit_activations *watch(att_model *model, const char *text, int64_t layer, int64_t unit)
{
    att_unit_activations *watched;
    att_error err = { 0 };
    reader_must(att_model_unit_activations(&watched, model, text, strlen(text),
                                           (att_layer_unit){ layer, unit }, ATT_SIGNAL_DEFAULT,
                                           &err),
                &err);
    return watched;
}

static void a_unit_has_after_each_token_what_its_formula_gives(void **state)
{
    (void)state;
    att_model *model = reader_model();
    att_unit_activations *blanks = watch(model, "a b“a”", 1, 1),
                         *marks = watch(model, "a b“a”", 1, 2);
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

static void what_there_is_not_is_refused_by_name(void **state)
{
    (void)state;
    static const struct {
        att_layer_unit unit;
        att_unit_signal signal;
        const char *text, *says;
    } cases[] = {
        { { 2, 1 }, ATT_SIGNAL_DEFAULT, "a", "there is no layer 2: the model has 1" },
        { { 0, 1 }, ATT_SIGNAL_DEFAULT, "a", "there is no layer 0: the model has 1" },
        { { 1, 4 }, ATT_SIGNAL_DEFAULT, "a", "there is no unit 4: a layer has 3" },
        { { 1, 1 }, ATT_SIGNAL_DEFAULT, "", "the text has no tokens" },
        { { 1, 1 }, ATT_SIGNAL_DEFAULT, "a\xff", "byte 2 of the line, 0xFF, is not UTF-8" },
        { { 1, 1 },
          ATT_SIGNAL_CELL,
          "a",
          "the model's layers have a hidden state alone: an LSTM has cells" },
    };
    att_model *model = reader_model();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        att_unit_activations *watched;
        att_error err = { 0 };
        assert_int_equal(att_model_unit_activations(&watched, model, cases[i].text,
                                                    strlen(cases[i].text), cases[i].unit,
                                                    cases[i].signal, &err),
                         ATT_BAD_INPUT);
        assert_null(watched);
        assert_string_equal(err.message, cases[i].says);
    }
    att_model_free(model);
}

static void models_without_such_layers_are_refused(void **state)
{
    (void)state;
    static const char *const both[][2] = { { "bidirectional", "yes" }, { "hidden-size", "4" } };
    static const char *const heads[][2] = { { "architecture", "transformer" },
                                            { "hidden-size", "4" },
                                            { "heads", "1" } };
    att_model *models[] = { reader_with(both, 2), reader_with(heads, 3) };
    for (int i = 0; i < 2; i++) {
        att_unit_activations *watched;
        att_error err = { 0 };
        assert_int_equal(att_model_unit_activations(&watched, models[i], "a", 1,
                                                    (att_layer_unit){ 1, 1 }, ATT_SIGNAL_DEFAULT,
                                                    &err),
                         ATT_BAD_INPUT);
        assert_non_null(strstr(err.message, i == 0 ? "bidirectional" : "RNN layers"));
        att_model_free(models[i]);
    }
}

/* ---- stretches */

enum { TOKENS = 300 };

typedef struct seen {
    float units[TOKENS][6];
    int times[TOKENS];
    int width;
} seen;

static void note(void *context, int64_t stretch, int64_t token, const float *units)
{
    seen *all = context;
    (void)stretch;
    memcpy(all->units[token], units, (size_t)all->width * sizeof *units);
    all->times[token]++;
}

/* An LSTM of two layers as it starts: nothing in it is special. */
static att_model *lstm(void)
{
    static const char *const choices[][2] = {
        { "rnn-cell", "lstm" },      { "layers", "2" },           { "hidden-size", "3" },
        { "embedding-size", "4" },   { "bidirectional", "no" },   { "attention", "none" },
        { "source-tokens", "char" }, { "target-tokens", "char" },
    };
    return reader_with(choices, sizeof choices / sizeof *choices);
}

static void read_all(seen *out, att_model *model, const att_rnn_stack *tower,
                     const att_encoding *text, const att_token_range *stretches, int64_t count,
                     int64_t warm, att_unit_signal signal)
{
    att_error err = { 0 };
    *out = (seen){ .width = (int)(tower->layers * tower->hidden_size) };
    const att_states_options how = { .signal = signal,
                                     .ranges = stretches,
                                     .count = count,
                                     .warmup_tokens = warm,
                                     .on_token = note,
                                     .context = out };
    reader_must(att_states_run(model, tower, text, &how, &err), &err);
}

static void stretches_warmed_up_from_the_start_see_what_one_reading_sees(void **state)
{
    (void)state;
    static const att_token_range whole = { 0, TOKENS };
    static const att_token_range parts[] = { { 0, 7 }, { 7, 100 }, { 100, 101 }, { 101, TOKENS } };
    static seen one, several;
    static char text[TOKENS + 1];
    for (int i = 0; i < TOKENS; i++)
        text[i] = "ab a"[(i * i + i / 3) % 4];
    text[0] = text[TOKENS - 1] = 'a';
    att_model *model = lstm();
    att_rnn_stack tower;
    att_encoding spelt = { 0 };
    att_error err = { 0 };
    reader_must(att_model_rnn_stack(&tower, model, &err), &err);
    reader_must(att_encoding_new(&spelt, tower.vocab, NULL, text, TOKENS, &err), &err);
    assert_int_equal(spelt.ids.count, TOKENS);
    for (att_unit_signal signal = ATT_SIGNAL_HIDDEN; signal <= ATT_SIGNAL_CELL; signal++) {
        read_all(&one, model, &tower, &spelt, &whole, 1, 0, signal);
        read_all(&several, model, &tower, &spelt, parts, 4, TOKENS, signal);
        for (int i = 0; i < TOKENS; i++) {
            assert_int_equal(one.times[i], 1);
            assert_int_equal(several.times[i], 1);
        }
        assert_memory_equal(one.units, several.units, sizeof one.units);
    }
    read_all(&several, model, &tower, &spelt, parts, 4, 0, ATT_SIGNAL_CELL);
    assert_memory_not_equal(one.units, several.units, sizeof one.units); /* cold, they do not */
    att_encoding_free(&spelt);
    att_model_free(model);
}

static att_status watch_first(void *context)
{
    att_unit_activations *watched;
    att_status status = att_model_unit_activations(
        &watched, context, "a b", 3, (att_layer_unit){ 1, 1 }, ATT_SIGNAL_DEFAULT, NULL);
    att_unit_activations_free(watched);
    return status;
}

static void running_out_of_memory_leaves_nothing_behind(void **state)
{
    (void)state;
    att_model *model = reader_model();
    assert_int_equal(watch_first(model), ATT_OK); /* what a model keeps once it was used */
    every_allocation_fails(watch_first, model, 500);
    att_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_unit_has_after_each_token_what_its_formula_gives),
        cmocka_unit_test(what_there_is_not_is_refused_by_name),
        cmocka_unit_test(models_without_such_layers_are_refused),
        cmocka_unit_test(stretches_warmed_up_from_the_start_see_what_one_reading_sees),
        cmocka_unit_test(running_out_of_memory_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
