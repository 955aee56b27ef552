/* How far a loss reaches back, against the chain rule written out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "failing_memory.h"
#include "inspect/rnn_help.h"
#include "model/model.h"

/* A language model over a, b, c and ends of lines; it lends what it stands on. */
typedef struct speaker {
    att_settings *settings;
    att_vocab *words;
    att_model *model;
} speaker;

enum { WORDS = 4, VOCABULARY = ATT_ID_FIRST + WORDS };

static speaker make_speaker(const char *const (*choices)[2], size_t count)
{
    static const char *const tokens[] = { "a", "b", "c", "\n" };
    speaker out;
    att_error err = { 0 };
    reader_must(att_settings_new(&out.settings, "lm", &err), &err);
    for (size_t i = 0; i < count; i++)
        reader_must(att_settings_set(out.settings, choices[i][0], choices[i][1], &err), &err);
    reader_must(att_vocab_from_tokens(&out.words, ATT_TOKENIZER_CHAR, false, tokens, WORDS, &err),
                &err);
    att_vocab_set_whole_text(out.words);
    reader_must(att_model_new(&out.model, out.settings, NULL, out.words, &err), &err);
    return out;
}

static void free_speaker(speaker *of)
{
    att_model_free(of->model);
    att_vocab_free(of->words);
    att_settings_free(of->settings);
}

static att_gradient_flow *flow_of(att_model *model, const char *text)
{
    att_gradient_flow *flow;
    att_error err = { 0 };
    reader_must(att_model_gradient_flow(&flow, model, text, strlen(text), &err), &err);
    return flow;
}

/* One unit: h' = tanh(x + 0.8 h), scores h w. */
static const double embed[VOCABULARY] = { 0, 0, 0, 0.3, -0.7, 1.1, 0.2 };
static const double out_w[VOCABULARY] = { 0.1, -0.4, 0.2, 0.9, -0.6, 0.5, 1.3 };
static const double again = 0.8;

static speaker one_unit(void)
{
    static const char *const choices[][2] = {
        { "rnn-cell", "vanilla" }, { "layers", "1" },          { "hidden-size", "1" },
        { "embedding-size", "1" }, { "tie-embeddings", "no" }, { "dropout", "0.5" }
    }; /* which must not act here */
    speaker of = make_speaker(choices, sizeof choices / sizeof *choices);
    static const double one = 1, zeros[VOCABULARY] = { 0 };
    att_bundle *tensors;
    att_model *model;
    att_error err = { 0 };
    reader_must(att_bundle_new(&tensors, &err), &err);
    reader_set(tensors, "target.embed", 2, (const int64_t[]){ VOCABULARY, 1 }, embed);
    reader_set(tensors, "decoder.0.w", 2, (const int64_t[]){ 1, 1 }, &one);
    reader_set(tensors, "decoder.0.u", 2, (const int64_t[]){ 1, 1 }, &again);
    reader_set(tensors, "decoder.0.bias", 1, (const int64_t[]){ 1 }, zeros);
    reader_set(tensors, "output.w", 2, (const int64_t[]){ 1, VOCABULARY }, out_w);
    reader_set(tensors, "output.bias", 1, (const int64_t[]){ VOCABULARY }, zeros);
    reader_must(att_model_replace_tensors(&model, of.model, tensors, &err), &err);
    att_bundle_free(tensors);
    att_model_free(of.model);
    of.model = model;
    return of;
}

static void norms_are_those_of_the_chain_rule(void **state)
{
    (void)state;
    static const int read[] = { 3, 5, 4, 4, 6 }; /* a c b b and an end, then a */
    enum { STATES = 5, TARGET = 3 };
    double h[STATES], sum = 0, gradient = 0, before = 0;
    for (int t = 0; t < STATES; t++)
        before = h[t] = tanh(embed[read[t]] + again * before);
    for (int k = 0; k < VOCABULARY; k++)
        sum += exp(h[STATES - 1] * out_w[k]);
    for (int k = 0; k < VOCABULARY; k++)
        gradient += (exp(h[STATES - 1] * out_w[k]) / sum - (k == TARGET)) * out_w[k];
    speaker of = one_unit();
    att_gradient_flow *flow = flow_of(of.model, "acbb\na");
    assert_int_equal(att_gradient_flow_count(flow), STATES);
    assert_int_equal(att_gradient_flow_layers(flow), 1);
    assert_true(fabs(att_gradient_flow_loss(flow) - (log(sum) - h[STATES - 1] * out_w[TARGET])) <
                1e-6);
    att_curve curve = *att_gradient_flow_get(flow, 0);
    assert_string_equal(curve.name, "RNN, layer 1");
    for (int t = STATES - 1; t >= 0; t--) {
        assert_true(fabs(curve.values[t] - fabs(gradient)) < 1e-6);
        gradient *= again * (1 - h[t] * h[t]);
    }
    att_gradient_flow_free(flow);
    free_speaker(&of);
}

static void every_layer_of_an_lstm_has_a_curve(void **state)
{
    (void)state;
    static const char *const choices[][2] = { { "rnn-cell", "lstm" },
                                              { "layers", "2" },
                                              { "hidden-size", "3" },
                                              { "embedding-size", "2" },
                                              { "tie-embeddings", "output" } };
    speaker of = make_speaker(choices, sizeof choices / sizeof *choices);
    att_gradient_flow *flow = flow_of(of.model, "abcabcab");
    assert_int_equal(att_gradient_flow_layers(flow), 2);
    assert_string_equal(att_gradient_flow_get(flow, 1)->name, "LSTM, layer 2");
    assert_null(att_gradient_flow_get(flow, 2));
    for (size_t k = 0; k < 2; k++)
        for (int t = 0; t < 7; t++)
            assert_true(att_gradient_flow_get(flow, k)->values[t] > 0);
    att_gradient_flow_free(flow);
    free_speaker(&of);
}

static void texts_and_models_without_a_next_token_are_refused(void **state)
{
    (void)state;
    speaker of = one_unit();
    att_model *reader = reader_model();
    att_gradient_flow *flow;
    att_error err = { 0 };
    assert_int_equal(att_model_gradient_flow(&flow, of.model, "a", 1, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "the text has 1 token: the last is foreseen from others, and "
                                     "two are the least");
    assert_int_equal(att_model_gradient_flow(&flow, reader, "ab", 2, &err), ATT_BAD_INPUT);
    assert_null(flow);
    assert_non_null(strstr(err.message, "a language model does"));
    att_model_free(reader);
    free_speaker(&of);
}

static att_status look_back(void *context)
{
    att_gradient_flow *flow;
    att_status status = att_model_gradient_flow(&flow, context, "abc", 3, NULL);
    att_gradient_flow_free(flow);
    return status;
}

static void running_out_of_memory_leaves_nothing_behind(void **state)
{
    (void)state;
    speaker of = one_unit();
    assert_int_equal(look_back(of.model), ATT_OK); /* what a model keeps once it was used */
    every_allocation_fails(look_back, of.model, 500);
    free_speaker(&of);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(norms_are_those_of_the_chain_rule),
        cmocka_unit_test(every_layer_of_an_lstm_has_a_curve),
        cmocka_unit_test(texts_and_models_without_a_next_token_are_refused),
        cmocka_unit_test(running_out_of_memory_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
