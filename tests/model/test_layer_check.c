/* Weights that are finite but overflow: every call that computes with a model refuses them, and
 * names the line and the layer where the first value that is not finite appeared. */
#include "model/model.h"
#include "model/public_models.h"

#include <math.h>
#include <stdlib.h>

enum { LINES = 3, MAX_ROWS = 16, HUGE_COUNT = 2 };

static const char *const lines[LINES] = { "ab", "abcd", "dd" };

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* ---- damaged models */

typedef struct damage {
    const char *tensor;
    float value; /* of the elements; a single tensor gets alternating signs */
} damage;

static void apply(att_model *model, const damage *rows, size_t count)
{
    for (size_t i = 0; i < count && rows[i].tensor; i++) {
        int index = att_params_find(&model->params, rows[i].tensor);
        if (index < 0)
            fail_msg("no tensor %s", rows[i].tensor);
        const att_param *param = &model->params.items[index];
        for (size_t j = 0; j < param->count; j++)
            model->params.value[param->offset + j] =
                count == 1 && j % 2 ? -rows[i].value : rows[i].value;
    }
    att_params_mark_changed(&model->params);
    assert_int_equal(att_params_pack(&model->params, NULL), ATT_OK);
}

/* ---- one run of each type of model: an output with finite scores, or an error */

static void check_outputs(att_outputs *outputs)
{
    for (size_t i = 0; i < att_outputs_count(outputs); i++)
        assert_true(isfinite(att_outputs_get(outputs, i)->score));
    att_outputs_free(outputs);
}

static bool ignore_token(void *context, const char *text, size_t length, double score)
{
    (void)context;
    (void)text;
    (void)length;
    assert_true(isfinite(score));
    return true;
}

static att_status run_model(const att_model *model, att_error *err)
{
    att_outputs *outputs = NULL;
    att_predictions *predictions = NULL;
    att_completion completion = ATT_INIT(att_completion);
    float values[PUBLIC_IMAGE_FLOATS];
    att_status status;
    att_decoding_options decoding = ATT_INIT(att_decoding_options);
    att_generate_options options = ATT_INIT(att_generate_options);
    decoding.max_output_length = 12;
    options.decoding = &decoding;
    *err = (att_error){ 0 };
    if (att_model_type_get(model) == ATT_MODEL_LM)
        return att_model_score_text(&completion, model, "abcabc", 6, NULL, ignore_token, NULL, err);
    if (att_model_type_get(model) == ATT_MODEL_CLASSIFIER) {
        status = att_model_classify(&predictions, model, lines, LINES, NULL, err);
        for (size_t i = 0; status == ATT_OK && i < LINES; i++)
            assert_true(isfinite(att_predictions_get(predictions, i)->probabilities[0]));
        att_predictions_free(predictions);
        return status;
    }
    if (att_model_type_get(model) == ATT_MODEL_SEQ2SEQ) {
        status = att_model_generate(&outputs, model, lines, LINES, &options, err);
    } else {
        const att_tensor images = public_images(values);
        status = att_model_caption(&outputs, model, &images, &options, err);
    }
    if (status == ATT_OK)
        check_outputs(outputs);
    return status;
}

static void expect_layer(att_status status, const att_error *err, const char *layer,
                         const char *what)
{
    char expected[128];
    snprintf(expected, sizeof expected, "%s: its output is not finite (", layer);
    if (status != ATT_BAD_INPUT || strncmp(err->message, expected, strlen(expected)) != 0)
        fail_msg("%s: expected '%s…', found status %d and '%s'", what, expected, (int)status,
                 err->message);
}

/* ---- every tensor of every family, one after the other */

static att_model *classifier_cnn(void)
{
    return public_model("classify",
                        (const char *const[]){ "architecture", "cnn", "layers", "2", "hidden-size",
                                               "12", "min-window", "1", "max-window", "3",
                                               "source-tokens", "char", NULL });
}

static att_model *caption_convolutions(void)
{
    const char *const pairs[] = { "image-rows",  "4", "image-columns", "4", "image-depth", "1",
                                  "conv-layers", "2", PUBLIC_RNN,      NULL };
    return public_model("caption", pairs);
}

/* Tensors whose name starts so overflow in that layer, whatever the input. Biases are left out:
 * they are added last, so that their layer may stay finite. */
typedef struct expectation {
    const char *tensors, *layer;
} expectation;

typedef struct family {
    att_model *(*make)(void);
    expectation rows[MAX_ROWS];
} family;

#define ENCODER_LAYERS                                                                             \
    { "encoder.0.", "encoder layer 1" },                                                           \
    {                                                                                              \
        "encoder.1.", "encoder layer 2"                                                            \
    }
#define DECODER_LAYERS                                                                             \
    { "decoder.0.", "decoder layer 1" },                                                           \
    {                                                                                              \
        "decoder.1.", "decoder layer 2"                                                            \
    }
#define NORM(SIDE)                                                                                 \
    {                                                                                              \
        SIDE ".norm", SIDE " norm"                                                                 \
    }

static const family families[] = {
    { seq2seq_rnn,
      { { "bridge.0.w", "bridge of encoder layer 1" }, { "output.w", "output layer" } } },
    { seq2seq_transformer,
      { ENCODER_LAYERS,
        DECODER_LAYERS,
        NORM("encoder"),
        NORM("decoder"),
        { "source.embed", "source embedding" },
        { "target.embed", "target embedding" },
        { "output.w", "output layer" } } },
    { lm_rnn, { { 0 } } },
    { lm_transformer,
      { DECODER_LAYERS,
        NORM("decoder"),
        { "target.embed", "target embedding" },
        { "output.w", "output layer" } } },
    { classifier_rnn, { { "pool.query", "pooling" } } },
    { classifier_transformer,
      { ENCODER_LAYERS,
        NORM("encoder"),
        { "source.embed", "source embedding" },
        { "pool.query", "pooling" } } },
    { classifier_cnn, { { "output.w", "output layer" } } },
    { caption_rnn, { { 0 } } },
    { caption_transformer, { ENCODER_LAYERS, DECODER_LAYERS, { "output.w", "output layer" } } },
};

static const expectation *find_expectation(const family *of, const char *tensor)
{
    for (const expectation *row = of->rows; row->tensors; row++)
        if (strncmp(tensor, row->tensors, strlen(row->tensors)) == 0 && !ends_with(tensor, "bias"))
            return row;
    return NULL;
}

/* Returns whether the tensor has an expectation. */
static bool check_tensor(const family *of, att_model *model, int tensor, float value)
{
    att_error err;
    const char *name = model->params.items[tensor].name;
    const expectation *row = find_expectation(of, name);
    apply(model, &(damage){ name, value }, 1);
    att_status status = run_model(model, &err);
    if (row && value > 1e35f)
        expect_layer(status, &err, row->layer, name);
    else if (status != ATT_OK)
        assert_non_null(strstr(err.message, " is not finite ("));
    return row != NULL;
}

static void the_layer_of_a_tensor_that_overflows_is_named(void **state)
{
    (void)state;
    static const float values[HUGE_COUNT] = { 3e38f, 1e30f };
    for (size_t f = 0; f < sizeof families / sizeof *families; f++) {
        att_model *model = families[f].make();
        att_params *params = &model->params;
        float *original = malloc(params->size * sizeof *original);
        assert_non_null(original);
        memcpy(original, params->value, params->size * sizeof *original);
        bool expected = false;
        for (int i = 0; i < params->count * HUGE_COUNT; i++) {
            expected |= check_tensor(&families[f], model, i / HUGE_COUNT, values[i % HUGE_COUNT]);
            memcpy(params->value, original, params->size * sizeof *original);
        }
        assert_true(expected || !families[f].rows[0].tensors);
        free(original);
        att_model_free(model);
    }
}

/* Cells of an RNN saturate: their states stay finite unless the two sums of a gate are inf and
 * -inf. A large bias opens all gates, so that all states have the same sign. */
#define INF_MINUS_INF(EMBEDDING, W, U)                                                             \
    {                                                                                              \
        { EMBEDDING, 1e30f }, { W, 1e30f },                                                        \
        {                                                                                          \
            U, -3e38f                                                                              \
        }                                                                                          \
    }

static void a_nan_that_arises_inside_a_layer_is_found(void **state)
{
    (void)state;
    static const struct {
        att_model *(*make)(void);
        damage rows[3];
        const char *layer;
    } cases[] = {
        { seq2seq_rnn, INF_MINUS_INF("source.embed", "encoder.0.forward.w", "encoder.0.forward.u"),
          "encoder layer 1" },
        { seq2seq_rnn, INF_MINUS_INF("target.embed", "decoder.0.w", "decoder.0.u"),
          "decoder layer 1" },
        { lm_rnn, INF_MINUS_INF("target.embed", "decoder.0.w", "decoder.0.u"), "decoder layer 1" },
        { lm_rnn, { { "decoder.0.bias", 1e30f }, { "output.w", 3e38f } }, "output layer" },
        { classifier_rnn,
          INF_MINUS_INF("source.embed", "encoder.0.backward.w", "encoder.0.backward.u"),
          "encoder layer 1" },
        { classifier_rnn,
          { { "encoder.0.forward.bias", 1e30f }, { "output.w", 3e38f } },
          "output layer" },
        { classifier_cnn,
          { { "source.embed", 1e30f }, { "encoder.0.window2", 1e30f } },
          "encoder layer 1" },
        { classifier_cnn,
          { { "source.embed", 1 }, { "encoder.0.window1", 1e20f }, { "encoder.1.window3", 1e30f } },
          "encoder layer 2" },
        { caption_rnn,
          { { "eye.norm.bias", 1e30f }, { "eye.project", 1e30f }, { "eye.rows", -3e38f } },
          NULL }, /* its tanh saturates */
        { caption_rnn, INF_MINUS_INF("target.embed", "decoder.0.w", "decoder.0.u"),
          "decoder layer 1" },
        { caption_rnn,
          { { "decoder.0.bias", 1e30f }, { "output.join", 1 }, { "output.w", 3e38f } },
          "output layer" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        att_error err;
        att_model *model = cases[i].make();
        apply(model, cases[i].rows, 3);
        att_status status = run_model(model, &err);
        if (cases[i].layer)
            expect_layer(status, &err, cases[i].layer, cases[i].rows[1].tensor);
        else
            must(status, &err);
        att_model_free(model);
    }
}

static void convolutions_over_images_are_named(void **state)
{
    (void)state;
    float pixels[16];
    for (size_t i = 0; i < 16; i++)
        pixels[i] = 200.0f + (float)i;
    const att_tensor image = att_tensor_view(pixels, ATT_F32, 4, (const int64_t[]){ 1, 4, 4, 1 });
    att_outputs *outputs;
    att_error err = { 0 };
    att_model *model = caption_convolutions();
    apply(model, &(damage){ "eye.convolution.0.w", 3e38f }, 1);
    expect_layer(att_model_caption(&outputs, model, &image, NULL, &err), &err,
                 "image convolution 1", "eye.convolution.0.w");
    assert_int_equal(err.line, 1);
    att_model_free(model);
}

/* ---- the line */

/* Embeddings of 1e30 are finite and so are their sums, but not the mean square that a norm divides
 * by. */
static void a_norm_that_overflows_does_not_hide_it(void **state)
{
    (void)state;
    static att_model *(*const makers[])(void) = { seq2seq_transformer, lm_transformer,
                                                  classifier_transformer };
    static const char *const tables[] = { "source.embed", "target.embed", "source.embed" };
    for (size_t m = 0; m < sizeof makers / sizeof *makers; m++) {
        att_model *model = makers[m]();
        att_error err;
        apply(model, &(damage){ tables[m], 1e30f }, 1);
        assert_int_equal(run_model(model, &err), ATT_BAD_INPUT);
        assert_non_null(strstr(err.message, " is not finite (nan)"));
        att_model_free(model);
    }
}

/* Only one token of the vocabulary overflows: "d", in the second and the third line. */
static att_model *model_with_huge_token(att_model *(*make)(void), const char *table, int32_t id)
{
    att_model *model = make();
    const att_param *param = &model->params.items[att_params_find(&model->params, table)];
    size_t width = (size_t)param->shape[1];
    for (size_t i = 0; i < width; i++)
        model->params.value[param->offset + (size_t)id * width + i] = i % 2 ? -3e38f : 3e38f;
    att_params_mark_changed(&model->params);
    assert_int_equal(att_params_pack(&model->params, NULL), ATT_OK);
    return model;
}

static int32_t token_id(const att_model *model, const char *token)
{
    return att_vocab_find(model->source_vocab, token, strlen(token));
}

static void the_line_that_overflows_is_named(void **state)
{
    (void)state;
    static const char *const input[] = { "abc", "ab", "a", "d", "bcb" };
    att_error err = { 0 };
    att_outputs *outputs = NULL;
    att_model *plain = seq2seq_transformer();
    att_model *model =
        model_with_huge_token(seq2seq_transformer, "source.embed", token_id(plain, "d"));
    for (int64_t beam = 1; beam <= 3; beam += 2) {
        att_decoding_options decoding = ATT_INIT(att_decoding_options);
        att_generate_options options = ATT_INIT(att_generate_options);
        decoding.beam = beam;
        options.decoding = &decoding;
        expect_layer(att_model_generate(&outputs, model, input, 5, &options, &err), &err,
                     "source embedding", "d");
        assert_int_equal(err.line, 4);
        must(att_model_generate(&outputs, model, input, 3, &options, &err), &err);
        att_outputs_free(outputs);
    }
    att_model_free(model);
    att_predictions *predictions;
    model = model_with_huge_token(classifier_transformer, "source.embed", token_id(plain, "d"));
    expect_layer(att_model_classify(&predictions, model, input, 5, NULL, &err), &err,
                 "source embedding", "d");
    assert_int_equal(err.line, 4);
    att_model_free(model);
    att_model_free(plain);
}

/* ---- the other calls */

static void sampling_prefixes_and_sessions_refuse_it_too(void **state)
{
    (void)state;
    att_error err = { 0 };
    att_outputs *outputs;
    att_model *model = seq2seq_transformer();
    apply(model, &(damage){ "decoder.1.feed.second", 3e38f }, 1);
    att_decoding_options decoding = ATT_INIT(att_decoding_options);
    att_generate_options options = ATT_INIT(att_generate_options);
    decoding.sample = true;
    decoding.n_best = 3;
    options.decoding = &decoding;
    expect_layer(att_model_generate(&outputs, model, lines, LINES, &options, &err), &err,
                 "decoder layer 2", "sampling");
    static const char *const targets[LINES] = { "ab", "ab", "ab" };
    options = (att_generate_options)ATT_INIT(att_generate_options);
    options.targets = targets;
    expect_layer(att_model_generate(&outputs, model, lines, LINES, &options, &err), &err,
                 "decoder layer 2", "targets");
    att_session *session;
    const att_session_output *out;
    const int32_t start[LINES] = { ATT_TOKEN_BOS, ATT_TOKEN_BOS, ATT_TOKEN_BOS };
    must(att_session_new(&session, model, NULL, &err), &err);
    must(att_session_start_lines(session, lines, LINES, &err), &err);
    expect_layer(att_session_step(session, LINES, start, NULL, &out, &err), &err, "decoder layer 2",
                 "session");
    assert_int_equal(err.line, 1);
    assert_null(out);
    att_session_free(session);
    att_model_free(model);
}

static void an_ensemble_names_the_model(void **state)
{
    (void)state;
    att_error err = { 0 };
    att_outputs *outputs;
    att_model *good = seq2seq_transformer(), *bad = seq2seq_transformer();
    apply(bad, &(damage){ "encoder.1.self.out", 3e38f }, 1);
    att_decoding_options decoding = ATT_INIT(att_decoding_options);
    att_generate_options options = ATT_INIT(att_generate_options);
    decoding.ensemble = &bad;
    decoding.ensemble_count = 1;
    options.decoding = &decoding;
    expect_layer(att_model_generate(&outputs, good, lines, LINES, &options, &err), &err,
                 "model 2: encoder layer 2", "ensemble");
    assert_true(err.line >= 1 && err.line <= LINES);
    att_model_free(good);
    att_model_free(bad);
}

static bool next_example(void *context, att_example *example)
{
    int *count = context;
    *example = (att_example){ .source = lines[*count % LINES], .target = "ab" };
    return (*count)++ < LINES;
}

static const att_model *classifier_in_use;

static bool next_labels(void *context, att_example *example)
{
    int *count = context;
    const att_model *model = classifier_in_use;
    *example = (att_example){ .source = lines[*count % LINES],
                              .target = att_model_label(model, (size_t)(*count % 2)) };
    return (*count)++ < 2;
}

/* Finite logits so far apart that a label has the probability 0: its loss is infinite. */
static void a_label_that_is_impossible_is_refused_in_evaluation(void **state)
{
    (void)state;
    att_error err = { 0 };
    int count = 0;
    att_classifier_eval *found = NULL;
    att_model *model = classifier_transformer();
    classifier_in_use = model;
    att_eval_options options = ATT_INIT(att_eval_options);
    options.examples = next_labels;
    options.examples_context = &count;
    apply(model, &(damage){ "output.w_bias", 3e38f }, 1);
    assert_int_equal(att_model_evaluate_classifier(&found, model, NULL, &options, NULL, &err),
                     ATT_BAD_INPUT);
    assert_string_equal(err.message,
                        "output layer: the log-probability of a label is not finite (-inf); the "
                        "weights of the model are too large or damaged");
    assert_int_equal(err.line, 2);
    assert_null(found);
    att_model_free(model);
}

static void evaluation_refuses_it(void **state)
{
    (void)state;
    att_error err = { 0 };
    int count = 0;
    att_eval_options options = ATT_INIT(att_eval_options);
    options.examples = next_example;
    options.examples_context = &count;
    att_seq2seq_eval found = ATT_INIT(att_seq2seq_eval);
    att_model *model = seq2seq_transformer();
    apply(model, &(damage){ "decoder.0.cross.out", 3e38f }, 1);
    expect_layer(att_model_evaluate_seq2seq(&found, NULL, model, NULL, &options, NULL, &err), &err,
                 "decoder layer 1", "seq2seq");
    assert_true(err.line >= 1 && err.line <= LINES);
    assert_string_equal(err.place, "<examples>");
    att_model_free(model);

    att_lm_eval text = ATT_INIT(att_lm_eval);
    count = 0;
    model = lm_transformer();
    apply(model, &(damage){ "decoder.1.self.out", 3e38f }, 1);
    expect_layer(att_model_evaluate_lm(&text, model, NULL, &options, NULL, &err), &err,
                 "decoder layer 2", "text");
    assert_string_equal(err.place, "<examples>");
    att_model_free(model);
}

static void maps_units_and_gradients_refuse_it(void **state)
{
    (void)state;
    att_error err = { 0 };
    att_string sheet = { 0 };
    att_attention_map *map;
    att_model *model = seq2seq_transformer();
    apply(model, &(damage){ "encoder.0.self.out", 3e38f }, 1);
    const att_head_selection which = { .block = ATT_BLOCK_ENCODER, .input = "abc", .layer = 2 };
    expect_layer(att_model_attention_map(&map, model, &which, false, &err), &err, "encoder layer 1",
                 "map");
    expect_layer(att_model_head_sheet(&sheet, model, "m", &which, &err), &err, "encoder layer 1",
                 "sheet");
    assert_int_equal(sheet.length, 0);
    att_string_free(&sheet);
    att_model_free(model);

    att_unit_activations *activations;
    att_gradient_flow *flow;
    model = lm_rnn();
    static const damage rows[] = INF_MINUS_INF("target.embed", "decoder.0.w", "decoder.0.u");
    apply(model, rows, 3);
    expect_layer(att_model_unit_activations(&activations, model, "abcd", 4,
                                            (att_layer_unit){ 1, 1 }, ATT_SIGNAL_DEFAULT, &err),
                 &err, "layer 1", "units");
    expect_layer(att_model_gradient_flow(&flow, model, "abcd", 4, &err), &err, "layer 1",
                 "gradient flow");
    att_cells *cells;
    att_cells_options options = ATT_INIT(att_cells_options);
    char text[1400];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = "abcd\n"[i * i % 5];
    options.text = text;
    options.length = sizeof text;
    expect_layer(att_model_cells(&cells, model, NULL, &options, &err), &err, "layer 1", "cells");
    assert_null(cells);
    att_model_free(model);
}

/* An impossible token, with a logit of -inf, is not an error. */
static void minus_infinity_beside_finite_scores_is_accepted(void **state)
{
    (void)state;
    att_error err = { 0 };
    att_model *model = lm_rnn();
    const att_param *bias = &model->params.items[att_params_find(&model->params, "output.bias")];
    model->params.value[bias->offset + ATT_ID_UNK] = -INFINITY;
    att_params_mark_changed(&model->params);
    assert_int_equal(att_params_pack(&model->params, NULL), ATT_OK);
    must(run_model(model, &err), &err);
    att_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_layer_of_a_tensor_that_overflows_is_named),
        cmocka_unit_test(a_nan_that_arises_inside_a_layer_is_found),
        cmocka_unit_test(convolutions_over_images_are_named),
        cmocka_unit_test(a_norm_that_overflows_does_not_hide_it),
        cmocka_unit_test(the_line_that_overflows_is_named),
        cmocka_unit_test(sampling_prefixes_and_sessions_refuse_it_too),
        cmocka_unit_test(an_ensemble_names_the_model),
        cmocka_unit_test(evaluation_refuses_it),
        cmocka_unit_test(a_label_that_is_impossible_is_refused_in_evaluation),
        cmocka_unit_test(maps_units_and_gradients_refuse_it),
        cmocka_unit_test(minus_infinity_beside_finite_scores_is_accepted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
