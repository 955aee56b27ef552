/* Model files: a model comes back as it was saved, and malformed files are refused with the tensor
 * or the metadata that is wrong. */
#include "base/alloc.h"
#include "base/cpu.h"
#include "failing_memory.h"
#include "model/classifier_help.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

static char path[64];

static int make_path(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "/tmp/attend-model-XXXXXX");
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_path(void **state)
{
    (void)state;
    return unlink(path);
}

static const setting_pair wide[] = { { "attention", "coverage" },
                                     { "bidirectional", "yes" },
                                     { "layers", "2" },
                                     { "attention-context", "both" } };

static float loss_of(att_model *model, const att_batch *batch)
{
    att_tape *tape;
    assert_int_equal(att_tape_new(&tape, &model->params, NULL), ATT_OK);
    att_tape_begin(tape, false, 0, 0);
    float loss = att_model_loss(model, tape, batch, NULL, NULL)->value[0];
    att_tape_free(tape);
    return loss;
}

static void a_model_comes_back_as_it_was(void **state)
{
    (void)state;
    scene s;
    scene_new(&s, wide, 4);
    scene_learn(&s, 1, NULL);
    assert_int_equal(att_model_save(s.model, path, NULL), ATT_OK);
    att_model *read;
    att_error err = { 0 };
    if (att_model_load(&read, path, &err) != ATT_OK)
        fail_msg("%s: %s", err.place, err.message);
    assert_int_equal(read->params.count, s.model->params.count);
    for (int i = 0; i < read->params.count; i++) { /* not the padding between them */
        const att_param *param = &read->params.items[i];
        assert_memory_equal(read->params.value + param->offset,
                            s.model->params.value + param->offset, param->count * sizeof(float));
    }
    const att_batch *batch = att_batches_get(s.batches, 0);
    assert_true(loss_of(read, batch) == loss_of(s.model, batch));
    assert_string_equal(att_vocab_token(read->target_vocab, ATT_ID_FIRST),
                        att_vocab_token(s.model->target_vocab, ATT_ID_FIRST));
    att_model_free(read);
    scene_free(&s);
}

/* ---- changed files */

/* The bundle of a small model, for tests that damage it. */
static att_bundle *bundle_of(scene *s)
{
    att_bundle *bundle;
    assert_int_equal(att_bundle_new(&bundle, NULL), ATT_OK);
    assert_int_equal(att_model_to_bundle(bundle, s->model, 1, "{\"steps\":3,\"loss\":0.25}", NULL),
                     ATT_OK);
    return bundle;
}

static void assert_bundle_refused(const att_bundle *bundle, const char *message)
{
    att_model *model;
    att_error err = { 0 };
    assert_int_equal(att_model_from_bundle(&model, bundle, "m.safetensors", &err), ATT_BAD_INPUT);
    assert_null(model);
    assert_string_equal(err.place, "m.safetensors");
    assert_string_equal(err.message, message);
}

/* A copy of `from` without one tensor or one entry of the metadata. */
static att_bundle *without(const att_bundle *from, const char *tensor, const char *meta)
{
    static const char *const keys[] = { "attend.format",       "attend.architecture",
                                        "attend.settings",     "attend.source_vocab",
                                        "attend.target_vocab", "attend.training" };
    att_bundle *copy;
    assert_int_equal(att_bundle_new(&copy, NULL), ATT_OK);
    for (size_t i = 0; i < att_bundle_count(from); i++)
        if (!tensor || strcmp(att_bundle_name(from, i), tensor) != 0)
            assert_int_equal(
                att_bundle_add(copy, att_bundle_name(from, i), att_bundle_at(from, i), NULL),
                ATT_OK);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!meta || strcmp(keys[i], meta) != 0)
            assert_int_equal(
                att_bundle_meta_set(copy, keys[i], att_bundle_meta_get(from, keys[i]), NULL),
                ATT_OK);
    return copy;
}

static void a_missing_tensor_or_metadata_is_named(void **state)
{
    (void)state;
    scene s;
    scene_new(&s, NULL, 0);
    att_bundle *whole = bundle_of(&s), *part = without(whole, "decoder.0.u", NULL);
    assert_bundle_refused(part, "the tensor 'decoder.0.u' is missing");
    att_bundle_free(part);
    part = without(whole, NULL, "attend.source_vocab");
    assert_bundle_refused(part, "is a .safetensors file, but not a model of attend: its metadata "
                                "lacks 'attend.source_vocab'");
    att_bundle_free(part);
    part = without(whole, NULL, "attend.format");
    assert_bundle_refused(
        part,
        "is a .safetensors file, but not a model of attend: its metadata lacks 'attend.format'");
    att_bundle_free(part);
    att_bundle_free(whole);
    scene_free(&s);
}

/* The error names the format of a file that is not a model. */
static void a_file_that_is_not_a_model_is_reported_with_its_format(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        const char *message;
    } rows[] = {
        { "", 0, "is empty (0 bytes), expected a model" },
        { "a\tb\n", 4, "is text (4 bytes), expected a model" },
        { "\x93NUMPY\1\0{\0", 10, "is a .npy file (10 bytes), expected a model" },
        { "PK\3\4\24\0", 6, "is a .npz or .zip file (6 bytes), expected a model" },
        { "\x7f"
          "ELF\2\1\1\0",
          8, "is binary data (8 bytes), expected a model" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        att_model *model;
        att_error err = { 0 };
        assert_int_equal(att_file_save(path, rows[i].bytes, rows[i].size, NULL), ATT_OK);
        assert_int_equal(att_model_load(&model, path, &err), ATT_BAD_INPUT);
        assert_string_equal(err.message, rows[i].message);
        assert_string_equal(err.place, path);
        assert_null(model);
    }
}

static void add_zeros(att_bundle *bundle, const char *name, int64_t rows, int64_t columns)
{
    att_tensor tensor;
    assert_int_equal(att_tensor_new(&tensor, ATT_F32, 2, (int64_t[]){ rows, columns }, NULL),
                     ATT_OK);
    assert_int_equal(att_bundle_add(bundle, name, &tensor, NULL), ATT_OK);
    att_tensor_free(&tensor);
}

static void tensors_of_a_wrong_shape_or_name_are_named(void **state)
{
    (void)state;
    scene s;
    scene_new(&s, NULL, 0);
    att_bundle *whole = bundle_of(&s), *part = without(whole, "decoder.0.u", NULL);
    add_zeros(part, "decoder.0.u", 10, 3);
    assert_bundle_refused(part,
                          "the tensor 'decoder.0.u': expected shape [10, 40] by the settings, "
                          "found [10, 3]");
    att_bundle_free(part);
    add_zeros(whole, "decoder.9.u", 1, 1);
    assert_bundle_refused(whole, "the tensor 'decoder.9.u' is not a parameter of this model");
    att_bundle_free(whole);
    scene_free(&s);
}

/* A bundle with another value of the setting `copy`. */
static void set_copy(att_bundle *bundle, const char *from, const char *to)
{
    char *text = strdup(att_bundle_meta_get(bundle, "attend.settings")), *at = strstr(text, from);
    char changed[8192];
    assert_non_null(at);
    assert_true(strlen(text) + strlen(to) < sizeof changed);
    snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    assert_int_equal(att_bundle_meta_set(bundle, "attend.settings", changed, NULL), ATT_OK);
    free(text);
}

static void tensors_of_copying_and_the_setting_must_agree(void **state)
{
    (void)state;
    scene s;
    scene_new(&s, (setting_pair[]){ { "copy", "yes" }, { "attention", "general" } }, 2);
    att_bundle *whole = bundle_of(&s), *part = without(whole, "copy.gate_bias", NULL);
    assert_bundle_refused(part, "the tensor 'copy.gate_bias' is missing");
    att_bundle_free(part);
    set_copy(whole, "\"copy\":true", "\"copy\":false");
    assert_bundle_refused(whole, "the tensor 'copy.gate' is not a parameter of this model");
    att_bundle_free(whole);
    scene_free(&s);
    scene_new(&s, NULL, 0);
    whole = bundle_of(&s);
    set_copy(whole, "\"copy\":false", "\"copy\":true");
    assert_bundle_refused(whole, "the tensor 'copy.gate' is missing");
    set_copy(whole, "\"attention\":\"dot\"", "\"attention\":\"none\"");
    assert_bundle_refused(
        whole, "copy contradicts attention none: there are no attention weights to copy by");
    att_bundle_free(whole);
    scene_free(&s);
}

static void a_number_that_is_not_finite_is_named_by_tensor_and_index(void **state)
{
    (void)state;
    scene s;
    scene_new(&s, NULL, 0);
    int bias = att_params_find(&s.model->params, "output.bias");
    float *values = s.model->params.value + s.model->params.items[bias].offset;
    values[1] = NAN;
    att_bundle *bad = bundle_of(&s);
    assert_bundle_refused(bad,
                          "the tensor 'output.bias' holds nan at index 1, expected finite numbers");
    att_bundle_free(bad);
    values[1] = -INFINITY;
    bad = bundle_of(&s);
    assert_bundle_refused(
        bad, "the tensor 'output.bias' holds -inf at index 1, expected finite numbers");
    att_bundle_free(bad);
    scene_free(&s);
}

static void another_format_or_architecture_or_malformed_metadata_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *key, *value, *message;
    } rows[] = {
        { "attend.format", "1",
          "is a model of attend 0.1 (format 1); attend 0.2 reads format 2: train or import it "
          "again" },
        { "attend.format", "7", "has format '7'; attend " ATT_VERSION " reads format 2" },
        { "attend.architecture", "abacus", "has the unknown architecture 'abacus'" },
        { "attend.architecture", "rnn-lm",
          "has the architecture 'rnn-lm', but its settings are of another" },
        { "attend.settings", "[]", "the settings: expected an object, found an array" },
        { "attend.training", "7",
          "the metadata 'attend.training': expected an object, found a whole number" },
        { "attend.training", "{",
          "the metadata 'attend.training': line 1, column 2: expected a key in double quotes, "
          "found the end of the text" },
        { "attend.import", "[]",
          "the metadata 'attend.import': expected an object, found an array" },
        { "attend.temperature", "0", "its temperature is '0', expected a number above 0" },
        { "attend.temperature", "-1.5", "its temperature is '-1.5', expected a number above 0" },
        { "attend.temperature", "inf", "its temperature is 'inf', expected a number above 0" },
        { "attend.temperature", "nan", "its temperature is 'nan', expected a number above 0" },
        { "attend.temperature", "warm", "its temperature is 'warm', expected a number above 0" },
        { "attend.output_ratio", "-1",
          "its 'attend.output_ratio' is '-1', expected a number from 0 to 1000000" },
        { "attend.output_ratio", "nan",
          "its 'attend.output_ratio' is 'nan', expected a number from 0 to 1000000" },
        { "attend.output_excess", "1e7",
          "its 'attend.output_excess' is '1e7', expected a number from 0 to 1000000" },
        { "attend.output_excess", "long",
          "its 'attend.output_excess' is 'long', expected a number from 0 to 1000000" },
        { "attend.source_vocab", "{}",
          "the vocabulary: expected a string for \"tokens\", which is missing" },
    };
    scene s;
    scene_new(&s, NULL, 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        att_bundle *bundle = bundle_of(&s);
        assert_int_equal(att_bundle_meta_set(bundle, rows[i].key, rows[i].value, NULL), ATT_OK);
        assert_bundle_refused(bundle, rows[i].message);
        att_bundle_free(bundle);
    }
    scene_free(&s);
}

/* A model file whose vocabulary adds tokens that its model does not expect would put a reserved
 * token in the place of a label, or show more tokens than the line has. */
static void a_vocabulary_with_a_flag_that_its_role_does_not_use_is_refused(void **state)
{
    (void)state;
#define WORDS(flag) "{\"tokens\":\"word\",\"lowercase\":false,\"" flag "\":true,\"words\":[\"a\"]}"
#define PIECES(flag)                                                                               \
    "{\"tokens\":\"bpe\",\"lowercase\":false,\"" flag "\":true,\"pieces\":[\" a\"]}"
#define LABELS(flag) "{\"tokens\":\"line\",\"lowercase\":false," flag "\"words\":[\"a\"]}"
    static const struct {
        bool classifier;
        const char *key, *value, *message;
    } rows[] = {
        { true, "attend.target_vocab", LABELS("\"add_bos\":true,"),
          "the vocabulary: \"add_bos\" is true, but tokens of the kind 'line' have no use for it" },
        { true, "attend.target_vocab", LABELS("\"add_eos\":true,"),
          "the vocabulary: \"add_eos\" is true, but a vocabulary of labels has no use for it" },
        { true, "attend.target_vocab", PIECES("add_bos"),
          "the vocabulary: \"add_bos\" is true, but a vocabulary of labels has no use for it" },
        { true, "attend.target_vocab",
          "{\"tokens\":\"word\",\"lowercase\":false,\"words\":[\"a\"]}",
          "the vocabulary: labels have tokens of the kind 'word', expected 'line'" },
        { true, "attend.source_vocab", PIECES("add_bos"),
          "the vocabulary: \"add_bos\" is true, but a source vocabulary has no use for it" },
        { true, "attend.source_vocab", WORDS("add_bos"),
          "the vocabulary: \"add_bos\" is true, but tokens of the kind 'word' have no use for it" },
        { false, "attend.source_vocab", WORDS("whole_text"),
          "the vocabulary: \"whole_text\" is true, but a source vocabulary has no use for it" },
        { false, "attend.target_vocab", WORDS("add_eos"),
          "the vocabulary: \"add_eos\" is true, but a target vocabulary has no use for it" },
        { false, "attend.target_vocab", WORDS("whole_text"),
          "the vocabulary: \"whole_text\" is true, but a target vocabulary has no use for it" },
    };
    scene scenes[2];
    scene_new(&scenes[0], NULL, 0);
    label_scene_new(&scenes[1], NULL, 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        att_bundle *bundle = bundle_of(&scenes[rows[i].classifier]);
        assert_int_equal(att_bundle_meta_set(bundle, rows[i].key, rows[i].value, NULL), ATT_OK);
        assert_bundle_refused(bundle, rows[i].message);
        att_bundle_free(bundle);
    }
    scene_free(&scenes[0]);
    scene_free(&scenes[1]);
}

/* Settings that would need terabytes cost nothing: the shapes are compared first. */
static void a_file_that_claims_to_be_huge_is_refused_at_once(void **state)
{
    (void)state;
    scene s;
    scene_new(&s, NULL, 0);
    att_bundle *bundle = bundle_of(&s);
    assert_int_equal(
        att_bundle_meta_set(bundle, "attend.settings",
                            "{\"task\":\"reverse\",\"hidden-size\":65536,\"layers\":64}", NULL),
        ATT_OK);
    att_model *model;
    att_error err = { 0 };
    assert_int_equal(att_model_from_bundle(&model, bundle, "m", &err), ATT_BAD_INPUT);
    /* where size_t has 32 bits, one of the parameters has no size at all */
    assert_non_null(strstr(err.message, SIZE_MAX > UINT32_MAX ? "by the settings, found"
                                                              : "is invalid or too large"));
    att_bundle_free(bundle);
    scene_free(&s);
}

static void tensors_of_the_training_loop_are_ignored(void **state)
{
    (void)state;
    scene s;
    scene_new(&s, NULL, 0);
    att_bundle *bundle = bundle_of(&s);
    add_zeros(bundle, "training.moment1", 3, 3);
    att_model *model;
    assert_int_equal(att_model_from_bundle(&model, bundle, "m", NULL), ATT_OK);
    assert_string_equal(model->training_json, "{\"steps\":3,\"loss\":0.25}");
    att_model_free(model);
    att_bundle_free(bundle);
    scene_free(&s);
}

/* ---- info */

static void info_has_parameters_settings_and_training(void **state)
{
    (void)state;
    scene s;
    scene_new(&s, NULL, 0);
    att_bundle *bundle = bundle_of(&s);
    att_model *model;
    att_string out = { 0 };
    assert_int_equal(att_bundle_meta_set(bundle, "attend.import",
                                         "{\"format\":\"other\",\"tied\":true,\"biases\":false,"
                                         "\"more\":{}}",
                                         NULL),
                     ATT_OK);
    assert_int_equal(att_model_from_bundle(&model, bundle, "m", NULL), ATT_OK);
    assert_int_equal(att_model_info(&out, model, false, NULL), ATT_OK);
    static const char *const lines[] = { "rnn model with ",
                                         "\ntrained\n",
                                         "  steps                    3\n",
                                         "  loss                     0.25\n",
                                         "  attention                dot\n",
                                         "  format                   other\n",
                                         "  tied                     yes\n",
                                         "  biases                   no\n",
                                         "  decoder.0.u ",
                                         "[10, 40]\n" };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (!strstr(out.data, lines[i]))
            fail_msg("no \"%s\" in:\n%s", lines[i], out.data);
    out.length = 0;
    assert_int_equal(att_model_info(&out, model, true, NULL), ATT_OK);
    assert_non_null(strstr(out.data, "\"training\":{\"steps\":3,\"loss\":0.25},\"import\":{"));
    assert_non_null(
        strstr(out.data, "{\"format\":2,\"architecture\":\"rnn\",\"type\":\"seq2seq\","));
    assert_non_null(
        strstr(out.data, "{\"name\":\"decoder.0.u\",\"shape\":[10,40],\"dtype\":\"float32\"}"));
    att_string_free(&out);
    att_model_free(model);
    att_bundle_free(bundle);
    scene_free(&s);
}

/* ---- memory */

static att_status load_model(void *context)
{
    att_model *model;
    att_status status = att_model_load(&model, context, NULL);
    att_model_free(model);
    return status;
}

static void every_failing_allocation_of_loading_is_reported_and_leaks_nothing(void **state)
{
    (void)state;
    scene s;
    scene_new(&s, NULL, 0);
    assert_int_equal(att_model_save(s.model, path, NULL), ATT_OK);
    assert_true(every_arena_allocation_fails(load_model, path, 10000) > 20);
    scene_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_model_comes_back_as_it_was, make_path, remove_path),
        cmocka_unit_test(a_missing_tensor_or_metadata_is_named),
        cmocka_unit_test_setup_teardown(a_file_that_is_not_a_model_is_reported_with_its_format,
                                        make_path, remove_path),
        cmocka_unit_test(tensors_of_a_wrong_shape_or_name_are_named),
        cmocka_unit_test(tensors_of_copying_and_the_setting_must_agree),
        cmocka_unit_test(a_number_that_is_not_finite_is_named_by_tensor_and_index),
        cmocka_unit_test(another_format_or_architecture_or_malformed_metadata_is_refused),
        cmocka_unit_test(a_vocabulary_with_a_flag_that_its_role_does_not_use_is_refused),
        cmocka_unit_test(a_file_that_claims_to_be_huge_is_refused_at_once),
        cmocka_unit_test(tensors_of_the_training_loop_are_ignored),
        cmocka_unit_test(info_has_parameters_settings_and_training),
        cmocka_unit_test_setup_teardown(
            every_failing_allocation_of_loading_is_reported_and_leaks_nothing, make_path,
            remove_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
