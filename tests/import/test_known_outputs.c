/* Published weights and their known outputs. The weights are not part of the source: the
 * environment variable ATTEND_DATA names the folder that contains them; without it, the tests are
 * skipped with a message that names the missing file. */
#include "attend.h"

#include "model/image_encoder.h"
#include "model/model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { PATH_ROOM = 1024 };

/* The path of a data file; skips the test if it is missing. */
static void find_data(char path[PATH_ROOM], const char *file)
{
    const char *folder = getenv("ATTEND_DATA");
    snprintf(path, PATH_ROOM, "%s/%s", folder ? folder : "", file);
    if (folder && access(path, R_OK) == 0)
        return;
    print_message("# skipped: no %s in the folder ATTEND_DATA\n", file);
    skip();
}

static att_model *import(const char *format, const char *file)
{
    char path[PATH_ROOM];
    att_error err = { 0 };
    att_bundle *bundle;
    att_model *model;
    find_data(path, file);
    att_status status = att_import(&bundle, format, path, NULL, &err);
    if (status == ATT_UNSUPPORTED) {
        print_message("# skipped: %s\n", err.message);
        skip();
    }
    if (status != ATT_OK || att_model_from_bundle(&model, bundle, file, &err) != ATT_OK)
        fail_msg("%s: %s", err.place, err.message);
    att_bundle_free(bundle);
    return model;
}

typedef struct known {
    const char *line, *output;
} known;

static void assert_known(att_model *model, const known *rows, size_t count, int64_t beam)
{
    const att_generate_options options = { .size = sizeof(att_generate_options),
                                           .decoding = &(const att_decoding_options){
                                               .size = sizeof(att_decoding_options),
                                               .beam = beam } };
    for (size_t i = 0; i < count; i++) {
        att_outputs *outputs;
        att_error err = { 0 };
        if (att_model_generate(&outputs, model, &rows[i].line, 1, &options, &err) != ATT_OK)
            fail_msg("%s", err.message);
        assert_string_equal(att_outputs_get(outputs, 0)->text, rows[i].output);
        att_outputs_free(outputs);
    }
}

/* ---- CTranslate2: the outputs that its own tests expect of these weights */

static const known names[] = {
    { "آ ت ز م و ن", "a t z m o n" },
    { "آ ز ا", "a z z a" },
    { "آ ت ش ي س و ن", "a c h i s o n" },
};
enum { NAMES = sizeof names / sizeof *names };

static void assert_names(const char *file)
{
    att_model *model = import("ctranslate2", file);
    assert_known(model, names, NAMES, 1);
    assert_known(model, names, NAMES, 5);
    att_model_free(model);
}

static void arabic_names_are_transliterated_as_known(void **state)
{
    (void)state;
    assert_names("weights_ct2_aren_translit/aren-transliteration/model.bin");
}

static void arabic_names_with_int16_weights_are_transliterated_as_known(void **state)
{
    (void)state;
    assert_names("weights_ct2_aren_translit/aren-transliteration-i16/model.bin");
}

/* Its integers are those of the file, and our int8 kernels compute with them. */
static void arabic_names_with_int8_weights_are_transliterated_as_known(void **state)
{
    (void)state;
    static const char file[] = "weights_ct2_aren_translit/aren-transliteration-i8/model.bin";
    att_model *model = import("ctranslate2", file);
    assert_int_equal(att_model_precision(model), ATT_PRECISION_INT8);
    att_model_free(model);
    assert_names(file);
}

/* The result of score_batch() of CTranslate2 4.8.4 for the first name, in float32. */
static void the_log_probabilities_are_those_of_ctranslate2(void **state)
{
    (void)state;
    static const double expected[] = { -0.1060228, -0.0654106, -0.0560026, -0.4479532,
                                       -0.2307138, -0.0921831, -0.0634632 };
    const char *target = names[0].output;
    const att_generate_options options = { .size = sizeof(att_generate_options),
                                           .targets = &target };
    att_model *model =
        import("ctranslate2", "weights_ct2_aren_translit/aren-transliteration/model.bin");
    att_outputs *outputs;
    assert_int_equal(att_model_generate(&outputs, model, &names[0].line, 1, &options, NULL),
                     ATT_OK);
    const att_output *output = att_outputs_get(outputs, 0);
    assert_int_equal(output->target_count, 7);
    for (int i = 0; i < 7; i++) /* both sides sum 32 products in single precision, 12 layers deep */
        assert_true(output->token_scores[i] - expected[i] < 2e-5 &&
                    expected[i] - output->token_scores[i] < 2e-5);
    att_outputs_free(outputs);
    att_model_free(model);
}

/* ---- g2p_en. The first word was published with the weights, the second is in the documentation of
 * g2p_en; the others were computed with NumPy from the same arrays. */

static void english_words_are_pronounced_as_known(void **state)
{
    (void)state;
    static const known words[] = {
        { "hello", "HH EH1 L OW0" },
        { "activationist", "AE2 K T IH0 V EY1 SH AH0 N IH0 S T" },
        { "attention", "AH0 T EH1 N SH AH0 N" },
        { "Attention", "AH0 T EH1 N SH AH0 N" },
    };
    att_model *model = import("g2p", "weights_g2p_en/checkpoint20.npz");
    assert_known(model, words, sizeof words / sizeof *words, 1);
    att_model_free(model);
}

/* ---- llama2.c: the text in its documentation for these weights, up to its end; and values
 * computed with NumPy from the same arrays in double precision */

static const char story[] =
    "Once upon a time, there was a little girl named Lily. She loved to play outside in the park. "
    "One day, she saw a big, red ball. She wanted to play with it, but it was too high.\n"
    "Lily's mom said, \"Lily, let's go to the park.\" Lily was sad and didn't know what to do. She "
    "said, \"I want to play with your ball, but I can't find it.\"\n"
    "Lily was sad and didn't know what to do. She said, \"I'm sorry, Lily. I didn't know what to "
    "do.\"\n"
    "Lily didn't want to help her mom, so she said, \"I'm sorry, mom. I didn't know what to do.\" "
    "Her mom said, \"Don't worry, Lily. We can help you.\"\n"
    "Lily and her mom went to the park to play. They played together and had fun. After a while, "
    "Lily's mom came into the room and saw the park. She was so happy and said, \"Thank you, Lily! "
    "You are a good friend.\"";

typedef struct completion_text {
    char text[2048];
    double scores[512];
    int tokens;
} completion_text;

static bool on_token(void *context, const char *text, size_t length, double score)
{
    completion_text *h = context;
    strncat(h->text, text, length);
    h->scores[h->tokens++] = score;
    return h->tokens < 512;
}

static void a_story_is_completed_as_known(void **state)
{
    (void)state;
    static completion_text h;
    const att_complete_options options = { .size = sizeof(att_complete_options),
                                           .max_new_tokens = 400 };
    att_completion found = ATT_INIT(att_completion);
    att_error err = { 0 };
    att_model *model = import("llama2c", "weights_stories260K/stories260K.bin");
    if (att_model_complete(&found, model, "", 0, &options, on_token, &h, &err) != ATT_OK)
        fail_msg("%s", err.message);
    assert_string_equal(h.text, story);
    assert_int_equal(found.tokens,
                     346); /* the last is the <s> of the next text, which has no text */
    att_model_free(model);
}

static void tokens_and_log_probabilities_are_those_of_llama2c(void **state)
{
    (void)state;
    static const char line[] = "Once upon a time, there was a caf\xC3\xA9{";
    static const int32_t ids[] = { ATT_ID_BOS, 403, 407, 261, 378, 432, 383,
                                   286,        261, 280, 412, 431, 485, 126 };
    static const double scores[] = { -0.2437434, -0.0175127, -0.0121104, -0.0007239, -0.0317029,
                                     -0.0684235, -0.0159549, -0.0007842, -0.4939787, -0.4458666 };
    static completion_text h;
    att_ids found = { 0 };
    att_completion sums = ATT_INIT(att_completion);
    att_model *model = import("llama2c", "weights_stories260K/stories260K.bin");
    assert_int_equal(att_vocab_encode(model->target_vocab, NULL, &found, line, strlen(line), NULL),
                     ATT_OK);
    assert_int_equal(found.count, sizeof ids / sizeof *ids);
    assert_memory_equal(found.items, ids, sizeof ids);
    att_ids_free(&found);
    assert_int_equal(
        att_model_score_text(&sums, model, story, strlen(story), NULL, on_token, &h, NULL), ATT_OK);
    for (size_t i = 0; i < sizeof scores / sizeof *scores;
         i++) /* five layers in single precision */
        assert_true(h.scores[i] - scores[i] < 1e-5 && scores[i] - h.scores[i] < 1e-5);
    att_model_free(model);
}

/* ---- SqueezeNet: known labels of images */

#ifdef ATT_HAVE_JPEG
/* The most probable label of an image. Returns its probability. */
static double best_label(char label[PATH_ROOM], att_image_encoder *encoder, const char *image_file)
{
    char path[PATH_ROOM];
    att_image image;
    size_t count = att_image_encoder_label_count(encoder), best = 0;
    float *probabilities = calloc(count, sizeof *probabilities);
    find_data(path, image_file);
    assert_non_null(probabilities);
    assert_int_equal(att_image_load(&image, path, NULL), ATT_OK);
    assert_int_equal(att_image_encoder_classify(probabilities, encoder, &image, NULL), ATT_OK);
    for (size_t i = 1; i < count; i++)
        best = probabilities[i] > probabilities[best] ? i : best;
    double probability = (double)probabilities[best];
    snprintf(label, PATH_ROOM, "%s", att_image_encoder_label(encoder, best));
    att_image_free(&image);
    free(probabilities);
    return probability;
}

static void images_are_classified_as_known(void **state)
{
    (void)state;
    char path[PATH_ROOM], label[PATH_ROOM];
    att_error err = { 0 };
    att_bundle *bundle;
    att_image_encoder *encoder;
    find_data(path, "weights_squeezenet_v1.0/squeezenet_v1.0.f32");
    if (att_import(&bundle, "squeezenet", path, NULL, &err) != ATT_OK ||
        att_image_encoder_from_bundle(&encoder, bundle, path, &err) != ATT_OK)
        fail_msg("%s: %s", err.place, err.message);
    att_bundle_free(bundle);
    double hippo = best_label(label, encoder, "weights_squeezenet_v1.0/hippo.jpg");
    assert_string_equal(label, "hippopotamus, hippo, river horse, Hippopotamus amphibius");
    assert_true(hippo >= 0.9995 && hippo <= 1);
    double cat = best_label(label, encoder, "weights_squeezenet_v1.0/cat.jpg");
    assert_string_equal(label, "tabby, tabby cat");
    assert_true(cat >= 0.9415 && cat < 0.9425); /* the known value is 0.942 */
    att_image_encoder_free(encoder);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arabic_names_are_transliterated_as_known),
        cmocka_unit_test(arabic_names_with_int16_weights_are_transliterated_as_known),
        cmocka_unit_test(arabic_names_with_int8_weights_are_transliterated_as_known),
        cmocka_unit_test(the_log_probabilities_are_those_of_ctranslate2),
        cmocka_unit_test(english_words_are_pronounced_as_known),
        cmocka_unit_test(a_story_is_completed_as_known),
        cmocka_unit_test(tokens_and_log_probabilities_are_those_of_llama2c),
#ifdef ATT_HAVE_JPEG
        cmocka_unit_test(images_are_classified_as_known),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
