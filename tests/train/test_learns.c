/* The experiment of handout 003, question 3, on a small scale: an RNN learns to reverse strings
 * with attention and much less without, and its attention map is the reversed diagonal. The same
 * settings give the same bits on every machine, so the outcome does not vary. */
#include "train/small_run.h"

#include "base/random.h"
#include "thin.h"

/* The string of handout 003, and random strings of the same kind. */
static const char word[] = "abacadabacc";
enum { MAX_LENGTH = 12, STRINGS = 100 };

/* Trains into `folder` with the defaults of `reverse`, but fewer and shorter strings and smaller
 * batches. Returns the best validation. */
static att_validation train(const char *folder, const char *attention)
{
    static const char *const keys[][2] = {
        { "max-string-length", "12" }, { "train-count", "3000" }, { "epochs", "12" },
        { "learning-rate", "0.002" },  { "batch-tokens", "256" },
    };
    att_settings *settings;
    att_training *training;
    char path[256];
    assert_int_equal(att_settings_new(&settings, "reverse", NULL), ATT_OK);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        small_set(settings, keys[i][0], keys[i][1]);
    small_set(settings, "attention", attention);
    snprintf(path, sizeof path, "%s/m.safetensors", folder);
    small_set(settings, "out", path);
    assert_int_equal(att_training_new(&training, settings, NULL, NULL), ATT_OK);
    assert_int_equal(att_training_run(training, NULL, NULL, NULL), ATT_OK);
    att_validation best = *att_training_best(training);
    att_training_free(training);
    att_settings_free(settings);
    return best;
}

static int64_t largest_weight(const double *weights, int64_t count)
{
    int64_t most = 0;
    for (int64_t i = 1; i < count; i++)
        if (weights[i] > weights[most])
            most = i;
    return most;
}

/* The number of output characters whose largest weight is within one character of the one to be
 * written: the state of a unidirectional encoder lags. */
static int64_t aligned_characters(const att_output *output)
{
    int64_t aligned = 0, count = output->source_count;
    for (int64_t t = 0; t < count && t < output->target_count; t++)
        aligned += llabs(largest_weight(output->weights + t * count, count) - (count - 1 - t)) <= 1;
    return aligned;
}

static void random_strings(char strings[STRINGS][MAX_LENGTH + 1], const char *lines[STRINGS])
{
    for (uint64_t i = 0; i < STRINGS; i++) {
        uint64_t length = 2 + att_random_bits(3, 1, i) % (MAX_LENGTH - 1);
        for (uint64_t k = 0; k < length; k++)
            strings[i][k] = "abcd"[att_random_bits(3, 2 + i, k) % 4];
        strings[i][length] = '\0';
        lines[i] = strings[i];
    }
    lines[0] = word;
}

/* The maps are the reversed diagonal, within one character: for `word` in at least
 * `word_characters` characters, for random strings in 90 %. */
static void check_maps(const char *folder, int64_t word_characters)
{
    char path[256], strings[STRINGS][MAX_LENGTH + 1];
    const char *lines[STRINGS];
    att_model *model;
    att_outputs *outputs;
    int64_t aligned = 0, characters = 0;
    random_strings(strings, lines);
    snprintf(path, sizeof path, "%s/m.safetensors", folder);
    assert_int_equal(att_model_load(&model, path, NULL), ATT_OK);
    assert_int_equal(
        att_model_generate(
            &outputs, model, lines, STRINGS,
            &(att_generate_options){ .size = sizeof(att_generate_options), .attention = true },
            NULL),
        ATT_OK);
    assert_string_equal(att_outputs_get(outputs, 0)->text, "ccabadacaba");
    assert_true(aligned_characters(att_outputs_get(outputs, 0)) >= word_characters);
    for (size_t i = 0; i < STRINGS; i++) {
        aligned += aligned_characters(att_outputs_get(outputs, i));
        characters += att_outputs_get(outputs, i)->source_count;
    }
    if (aligned < characters * 9 / 10)
        fail_msg("%d of %d characters aligned", (int)aligned, (int)characters);
    att_outputs_free(outputs);
    att_model_free(model);
}

static void with_attention_it_learns_to_reverse_and_attends_to_the_copied_character(void **state)
{
    (void)state;
    static const struct {
        const char *attention;
        int64_t characters; /* at least, of the 11 of `word` */
    } rows[] = { { "general", 10 }, { "dot", 10 } };
    char folder[64];
    if (THIN > 1) /* under sanitizers: other tests run this code */
        skip();
    folder_new(folder);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        att_validation best = train(folder, rows[i].attention);
        assert_true(best.exact_match > 0.98);
        assert_true(best.token_error_rate < 0.01);
        check_maps(folder, rows[i].characters);
    }
    folder_remove(folder);
}

static void without_attention_it_learns_much_less(void **state)
{
    (void)state;
    char folder[64];
    if (THIN > 1) /* under sanitizers: other tests run this code */
        skip();
    folder_new(folder);
    att_validation best = train(folder, "none");
    assert_true(best.exact_match < 0.9);
    folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_attention_it_learns_to_reverse_and_attends_to_the_copied_character),
        cmocka_unit_test(without_attention_it_learns_much_less),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
