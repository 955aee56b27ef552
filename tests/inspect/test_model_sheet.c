/* Worksheets of whole models: for every variant of every type, the sheet computes in double
 * precision what the model itself computes. */
#include "attend.h"
#include "model/classifier_help.h"
#include "model/public_models.h"

#include <unistd.h>

static char path[64];

static void save(att_model *model)
{
    att_error err = { 0 };
    snprintf(path, sizeof path, "test_model_sheet.%ld.safetensors", (long)getpid());
    if (att_model_save(model, path, &err) != ATT_OK)
        fail_msg("%s", err.message);
}

/* Every claim of the sheet holds, and there are at least `checks` of them. */
static void assert_holds(att_model *model, const att_model_sheet_options *options, size_t checks,
                         const char *name)
{
    att_string text = { 0 };
    att_error err = { 0 };
    att_sheet *sheet;
    if (att_model_sheet(&text, model, path, options, &err) != ATT_OK)
        fail_msg("%s: %s", name, err.message);
    if (att_sheet_read(&sheet, text.data, text.length, "model", ".", &err) != ATT_OK)
        fail_msg("%s: line %d: %s: %s", name, err.line, err.message, err.excerpt);
    if (att_sheet_failures(sheet) > 0) {
        att_sheet_failure_get(&err, sheet, 0);
        fail_msg("%s: line %d: %s", name, err.line, err.message);
    }
    assert_true(att_sheet_checks(sheet) >= checks);
    att_sheet_free(sheet);
    att_string_free(&text);
}

static void every_seq2seq_model_agrees_with_its_sheet(void **state)
{
    (void)state;
    for (const variant *row = variants; row->name; row++) {
        scene s;
        scene_of(&s, row);
        scene_learn(&s, 2, NULL);
        save(s.model);
        att_model_sheet_options options = ATT_INIT(att_model_sheet_options);
        options.input = "abca";
        options.target = "acb";
        assert_holds(s.model, &options, is_transformer(row) ? 3 : 2, row->name);
        options.step = 3; /* from the states that the model computed */
        assert_holds(s.model, &options, 1, row->name);
        options = (att_model_sheet_options)ATT_INIT(att_model_sheet_options);
        options.input = "d";
        options.step = 1;
        assert_holds(s.model, &options, 1, row->name);
        scene_free(&s);
        unlink(path);
    }
}

static void every_classifier_agrees_with_its_sheet(void **state)
{
    (void)state;
    for (const variant *row = label_variants; row->name; row++) {
        scene s;
        label_scene_of(&s, row);
        scene_learn(&s, 2, NULL);
        s.model->temperature = 1.25;
        save(s.model);
        att_model_sheet_options options = ATT_INIT(att_model_sheet_options);
        options.input = "a b c a";
        assert_holds(s.model, &options, 1, row->name);
        options.input = "c";
        assert_holds(s.model, &options, 1, row->name);
        scene_free(&s);
        unlink(path);
    }
}

static att_model *build(const char *task, const setting_pair *set)
{
    static const char *const words[] = { "a", "b", "c", " ", "\n", "\"" };
    att_settings *settings;
    att_model *model;
    att_error err = { 0 };
    assert_int_equal(att_settings_new(&settings, task, &err), ATT_OK);
    for (; set->key; set++)
        if (att_settings_set(settings, set->key, set->value, &err) != ATT_OK)
            fail_msg("%s", err.message);
    const att_token_list list = { words, 6 };
    bool lm = strcmp(task, "lm") == 0;
    if (att_model_build(&model, settings, lm ? NULL : &list, &list, &err) != ATT_OK)
        fail_msg("%s", err.message);
    att_settings_free(settings);
    return model;
}

/* The sheet of each head of a Transformer expects the model's weights too. */
static void assert_heads_hold(att_model *model, bool lm, const char *name)
{
    att_attention_block block = lm ? ATT_BLOCK_DECODER : ATT_BLOCK_ENCODER;
    int64_t heads = att_model_attention_heads(model);
    for (int64_t i = 0; i < att_model_attention_layers(model, block) * heads; i++) {
        const att_head_selection which = {
            .block = block, .layer = i / heads + 1, .head = i % heads + 1, .input = "a b"
        };
        att_string text = { 0 };
        att_error err = { 0 };
        att_sheet *sheet;
        if (att_model_head_sheet(&text, model, path, &which, &err) != ATT_OK ||
            att_sheet_read(&sheet, text.data, text.length, "head", ".", &err) != ATT_OK)
            fail_msg("%s: %s", name, err.message);
        assert_int_equal(att_sheet_checks(sheet), 1);
        assert_int_equal(att_sheet_failures(sheet), 0);
        att_sheet_free(sheet);
        att_string_free(&text);
    }
}

/* Settings of small models, which are worked out whole, and of larger ones, which are not. */
static const struct {
    const char *name, *task;
    setting_pair set[9];
} built[] = {
    { "rnn lm, two layers", "lm", { { "layers", "2" }, { "hidden-size", "6" } } },
    { "gru lm, tied",
      "lm",
      { { "rnn-cell", "gru" }, { "tie-embeddings", "output" }, { "hidden-size", "6" } } },
    { "transformer lm",
      "lm",
      { { "architecture", "transformer" }, { "layers", "2" }, { "hidden-size", "8" } } },
    { "deep transformer lm, rotary",
      "lm",
      { { "architecture", "transformer" },
        { "layers", "3" },
        { "hidden-size", "8" },
        { "positions", "rotary" } } },
    { "deep post-norm transformer lm, learned",
      "lm",
      { { "architecture", "transformer" },
        { "layers", "3" },
        { "hidden-size", "8" },
        { "norm", "post" },
        { "positions", "learned" } } },
    { "deep transformer classifier",
      "classify",
      { { "architecture", "transformer" },
        { "layers", "4" },
        { "hidden-size", "8" },
        { "pool", "stop" } } },
    { "tagger", "tag", { { "hidden-size", "6" } } },
    { "tagger with a CRF", "tag", { { "hidden-size", "6" }, { "crf", "yes" } } },
    { "transformer tagger, characters",
      "tag",
      { { "architecture", "transformer" },
        { "hidden-size", "8" },
        { "layers", "1" },
        { "char-features", "lstm" } } },
};

static void language_models_taggers_and_deep_models_agree_with_their_sheets(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof built / sizeof *built; i++) {
        setting_pair set[10] = { { 0 } };
        for (int j = 0; j < 9; j++)
            set[j] = built[i].set[j];
        att_model *model = build(built[i].task, set);
        save(model);
        bool lm = strcmp(built[i].task, "lm") == 0;
        att_model_sheet_options options = ATT_INIT(att_model_sheet_options);
        options.input = lm ? "ab \"a\n" : "a b unseen";
        assert_holds(model, &options, 1, built[i].name);
        options.input = "a";
        assert_holds(model, &options, 1, built[i].name);
        assert_heads_hold(model, lm, built[i].name);
        att_model_free(model);
        unlink(path);
    }
}

static const struct {
    const char *name;
    size_t checks;
    const char *set[20];
} captions[] = {
    { "rnn", 3, { PUBLIC_RNN } },
    { "gru, general, input feeding, two layers",
      3,
      { "architecture", "rnn", "rnn-cell", "gru", "attention", "general", "layers", "2",
        "hidden-size", "6", "embedding-size", "5", "attention-context", "both" } },
    { "lstm, no first state from the image",
      3,
      { "architecture", "rnn", "hidden-size", "6", "embedding-size", "5", "init-from-image", "no",
        "image-positions", "no" } },
    { "lstm, fixed context",
      2,
      { "architecture", "rnn", "hidden-size", "6", "embedding-size", "5", "attention", "fixed" } },
    { "coverage",
      3,
      { "architecture", "rnn", "hidden-size", "6", "embedding-size", "5", "attention",
        "coverage" } },
    { "no attention",
      2,
      { "architecture", "rnn", "hidden-size", "6", "embedding-size", "5", "attention", "none" } },
    { "vanilla, location",
      3,
      { "architecture", "rnn", "rnn-cell", "vanilla", "hidden-size", "6", "embedding-size", "5",
        "attention", "location", "max-length", "9" } },
    { "transformer", 4, { PUBLIC_TRANSFORMER } },
    { "deep transformer",
      2,
      { "architecture", "transformer", "hidden-size", "8", "heads", "2", "layers", "3" } },
};

/* A sheet of a caption model on image `index` of public_images(). */
static void assert_caption_holds(att_model *model, const att_tensor *images, const char *target,
                                 int64_t step, size_t checks, const char *name)
{
    att_tensor image;
    assert_int_equal(att_tensor_slice(&image, images, 0, 2, 1, NULL), ATT_OK);
    att_model_sheet_options options = ATT_INIT(att_model_sheet_options);
    options.image = &image;
    options.target = target;
    options.step = step;
    assert_holds(model, &options, checks, name);
}

static void every_caption_model_agrees_with_its_sheet(void **state)
{
    (void)state;
    float values[PUBLIC_IMAGE_FLOATS];
    const att_tensor images = public_images(values);
    for (size_t i = 0; i < sizeof captions / sizeof *captions; i++) {
        att_model *model = caption_model(captions[i].set);
        save(model);
        assert_caption_holds(model, &images, NULL, 1, captions[i].checks, captions[i].name);
        assert_caption_holds(model, &images, "ab", 0, captions[i].checks, captions[i].name);
        assert_caption_holds(model, &images, "aba", 3, captions[i].checks, captions[i].name);
        att_model_free(model);
        unlink(path);
    }
}

/* Pixels through convolutions, which are left out; the attention is drawn as a grid. */
static void a_caption_model_of_pixels_is_worked_out_from_its_cells(void **state)
{
    (void)state;
    static const char model_path[] = ATTEND_SOURCE_DIR "/tests/decode/golden/shapes.safetensors";
    att_error err = { 0 };
    att_tensor images, image;
    att_model *model;
    att_string text = { 0 };
    att_sheet *sheet;
    if (att_model_load(&model, model_path, &err) != ATT_OK ||
        att_model_images(&images, model, NULL, false, &err) != ATT_OK)
        fail_msg("%s", err.message);
    assert_int_equal(att_tensor_slice(&image, &images, 0, 3, 1, NULL), ATT_OK);
    att_model_sheet_options options = ATT_INIT(att_model_sheet_options);
    options.image = &image;
    options.step = 3;
    if (att_model_sheet(&text, model, "shapes.safetensors", &options, &err) != ATT_OK)
        fail_msg("%s", err.message);
    assert_non_null(strstr(text.data, "Left out: 2 convolutions"));
    if (att_sheet_read(&sheet, text.data, text.length, "shapes",
                       ATTEND_SOURCE_DIR "/tests/decode/golden", &err) != ATT_OK)
        fail_msg("line %d: %s", err.line, err.message);
    assert_int_equal(att_sheet_checks(sheet), 3);
    assert_int_equal(att_sheet_failures(sheet), 0);
    assert_int_equal(att_sheet_map_count(sheet), 1);
    assert_int_equal(att_sheet_map_get(sheet, 0)->queries, 8);
    assert_int_equal(att_sheet_map_get(sheet, 0)->keys, 8);
    att_sheet_free(sheet);
    att_string_free(&text);
    att_tensor_free(&images);
    att_model_free(model);
}

static void an_image_that_does_not_suit_the_model_is_refused(void **state)
{
    (void)state;
    float values[PUBLIC_IMAGE_FLOATS];
    const att_tensor images = public_images(values);
    const att_tensor wide = att_tensor_view(values, ATT_F32, 4, (const int64_t[]){ 1, 3, 2, 4 });
    const struct {
        const att_tensor *image;
        const char *message;
    } cases[] = {
        { NULL, "expected an image: the model reads images, not text" },
        { &images, "expected one image, found 5" },
        { &wide, "expected images of 2 × 3 cells with 4 channels, found 3 × 2 with 4" },
    };
    att_model *model = caption_rnn();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        att_string text = { 0 };
        att_error err = { 0 };
        att_model_sheet_options options = ATT_INIT(att_model_sheet_options);
        options.image = cases[i].image;
        assert_int_equal(att_model_sheet(&text, model, "m", &options, &err), ATT_BAD_INPUT);
        assert_string_equal(err.message, cases[i].message);
        assert_int_equal(text.length, 0);
        att_string_free(&text);
    }
    att_model_free(model);
}

static void a_large_seq2seq_model_is_worked_out_in_part(void **state)
{
    (void)state;
    static const setting_pair sets[][5] = {
        { { "hidden-size", "66" } },
        { { "architecture", "transformer" }, { "hidden-size", "8" }, { "layers", "3" } },
    };
    for (size_t i = 0; i < 2; i++) {
        scene s;
        scene_new(&s, sets[i], 5);
        save(s.model);
        att_model_sheet_options options = ATT_INIT(att_model_sheet_options);
        options.input = "abcd";
        options.target = "dcba";
        att_string text = { 0 };
        assert_int_equal(att_model_sheet(&text, s.model, path, &options, NULL), ATT_OK);
        assert_non_null(strstr(text.data, "Left out:"));
        assert_holds(s.model, &options, 2, "large");
        att_string_free(&text);
        scene_free(&s);
        unlink(path);
    }
}

static void what_cannot_be_explained_is_refused(void **state)
{
    (void)state;
    scene s;
    scene_new(&s, NULL, 0);
    static const struct {
        att_model_sheet_options options;
        const char *message;
    } cases[] = {
        { ATT_INIT(att_model_sheet_options), "expected an input" },
        { { .size = sizeof(att_model_sheet_options), .input = "" }, "the input has no tokens" },
        { { .size = sizeof(att_model_sheet_options), .input = "ab", .target = "b", .step = 3 },
          "there is no step 3: the output has 2" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        att_string text = { 0 };
        att_error err = { 0 };
        assert_int_equal(att_model_sheet(&text, s.model, "m", &cases[i].options, &err),
                         ATT_BAD_INPUT);
        assert_string_equal(err.message, cases[i].message);
        assert_int_equal(text.length, 0);
        att_string_free(&text);
    }
    scene_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_seq2seq_model_agrees_with_its_sheet),
        cmocka_unit_test(every_classifier_agrees_with_its_sheet),
        cmocka_unit_test(language_models_taggers_and_deep_models_agree_with_their_sheets),
        cmocka_unit_test(every_caption_model_agrees_with_its_sheet),
        cmocka_unit_test(a_caption_model_of_pixels_is_worked_out_from_its_cells),
        cmocka_unit_test(an_image_that_does_not_suit_the_model_is_refused),
        cmocka_unit_test(a_large_seq2seq_model_is_worked_out_in_part),
        cmocka_unit_test(what_cannot_be_explained_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
