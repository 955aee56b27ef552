/* Gradient flow, compared with the chain rule written out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "failing_memory.h"
#include "inspect/rnn_help.h"
#include "model/model.h"

/* A language model over a, b, c and line ends, with the settings and the vocabulary it refers to.
 */
typedef struct lm {
    att_settings *settings;
    att_vocab *vocab;
    att_model *model;
} lm;

enum { TOKENS = 4, VOCABULARY = ATT_ID_FIRST + TOKENS };

static lm make_lm(const char *const (*options)[2], size_t count)
{
    static const char *const tokens[] = { "a", "b", "c", "\n" };
    lm out;
    att_error err = { 0 };
    reader_must(att_settings_new(&out.settings, "lm", &err), &err);
    for (size_t i = 0; i < count; i++)
        reader_must(att_settings_set(out.settings, options[i][0], options[i][1], &err), &err);
    reader_must(att_vocab_from_tokens(&out.vocab, ATT_TOKENIZER_CHAR, false, tokens, TOKENS, &err),
                &err);
    att_vocab_set_whole_text(out.vocab);
    reader_must(att_model_new(&out.model, out.settings, NULL, out.vocab, &err), &err);
    return out;
}

static void free_lm(lm *of)
{
    att_model_free(of->model);
    att_vocab_free(of->vocab);
    att_settings_free(of->settings);
}

static att_gradient_flow *flow_of(att_model *model, const char *text)
{
    att_gradient_flow *flow;
    att_error err = { 0 };
    reader_must(att_model_gradient_flow(&flow, model, text, strlen(text), &err), &err);
    return flow;
}

/* One unit: h' = tanh(x + 0.8 h), logits h w. */
static const double embed[VOCABULARY] = { 0, 0, 0, 0.3, -0.7, 1.1, 0.2 };
static const double out_w[VOCABULARY] = { 0.1, -0.4, 0.2, 0.9, -0.6, 0.5, 1.3 };
static const double recurrent_weight = 0.8;

static lm one_unit(void)
{
    static const char *const options[][2] = {
        { "rnn-cell", "vanilla" }, { "layers", "1" },          { "hidden-size", "1" },
        { "embedding-size", "1" }, { "tie-embeddings", "no" }, { "dropout", "0.5" }
    }; /* dropout must have no effect here */
    lm of = make_lm(options, sizeof options / sizeof *options);
    static const double one = 1, zeros[VOCABULARY] = { 0 };
    att_bundle *tensors;
    att_model *model;
    att_error err = { 0 };
    reader_must(att_bundle_new(&tensors, &err), &err);
    reader_set(tensors, "target.embed", 2, (const int64_t[]){ VOCABULARY, 1 }, embed);
    reader_set(tensors, "decoder.0.w", 2, (const int64_t[]){ 1, 1 }, &one);
    reader_set(tensors, "decoder.0.u", 2, (const int64_t[]){ 1, 1 }, &recurrent_weight);
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
    static const int read[] = { 3, 5, 4, 4, 6 }; /* a c b b, a line end, then a */
    enum { STATES = 5, TARGET = 3 };
    double h[STATES], sum = 0, gradient = 0, before = 0;
    for (int t = 0; t < STATES; t++)
        before = h[t] = tanh(embed[read[t]] + recurrent_weight * before);
    for (int k = 0; k < VOCABULARY; k++)
        sum += exp(h[STATES - 1] * out_w[k]);
    for (int k = 0; k < VOCABULARY; k++)
        gradient += (exp(h[STATES - 1] * out_w[k]) / sum - (k == TARGET)) * out_w[k];
    lm of = one_unit();
    att_gradient_flow *flow = flow_of(of.model, "acbb\na");
    assert_int_equal(att_gradient_flow_count(flow), STATES);
    assert_int_equal(att_gradient_flow_layers(flow), 1);
    assert_true(fabs(att_gradient_flow_loss(flow) - (log(sum) - h[STATES - 1] * out_w[TARGET])) <
                1e-6);
    att_curve curve = *att_gradient_flow_get(flow, 0);
    assert_string_equal(curve.name, "RNN, layer 1");
    for (int t = STATES - 1; t >= 0; t--) {
        assert_true(fabs(curve.values[t] - fabs(gradient)) < 1e-6);
        gradient *= recurrent_weight * (1 - h[t] * h[t]);
    }
    att_gradient_flow_free(flow);
    free_lm(&of);
}

static void every_layer_of_an_lstm_has_a_curve(void **state)
{
    (void)state;
    static const char *const options[][2] = { { "rnn-cell", "lstm" },
                                              { "layers", "2" },
                                              { "hidden-size", "3" },
                                              { "embedding-size", "2" },
                                              { "tie-embeddings", "output" } };
    lm of = make_lm(options, sizeof options / sizeof *options);
    att_gradient_flow *flow = flow_of(of.model, "abcabcab");
    assert_int_equal(att_gradient_flow_layers(flow), 2);
    assert_string_equal(att_gradient_flow_get(flow, 1)->name, "LSTM, layer 2");
    assert_null(att_gradient_flow_get(flow, 2));
    for (size_t k = 0; k < 2; k++)
        for (int t = 0; t < 7; t++)
            assert_true(att_gradient_flow_get(flow, k)->values[t] > 0);
    att_gradient_flow_free(flow);
    free_lm(&of);
}

static void texts_and_models_without_a_next_token_are_refused(void **state)
{
    (void)state;
    lm of = one_unit();
    att_model *reader = reader_model();
    att_gradient_flow *flow;
    att_error err = { 0 };
    assert_int_equal(att_model_gradient_flow(&flow, of.model, "a", 1, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "the text has 1 token, expected at least 2");
    assert_int_equal(att_model_gradient_flow(&flow, reader, "ab", 2, &err), ATT_BAD_INPUT);
    assert_null(flow);
    assert_non_null(strstr(err.message, "needs an RNN language model"));
    att_model_free(reader);
    free_lm(&of);
}

static att_status compute_flow(void *context)
{
    att_gradient_flow *flow;
    att_status status = att_model_gradient_flow(&flow, context, "abc", 3, NULL);
    att_gradient_flow_free(flow);
    return status;
}

static void running_out_of_memory_leaves_nothing_behind(void **state)
{
    (void)state;
    lm of = one_unit();
    assert_int_equal(compute_flow(of.model),
                     ATT_OK); /* packs the weights once, before allocations fail */
    every_allocation_fails(compute_flow, of.model, 500);
    free_lm(&of);
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
