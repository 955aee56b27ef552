/* What the handout says comes true on a small scale (handout 003, question 3): strings are reversed
 * with attention and much less so without, and the map of what the model looks at is the reversed
 * diagonal. The same settings give the same bits everywhere, so there is no luck in it. */
#include "train/small_run.h"

#ifdef ATT_HAVE_JANSSON

static const char word[] = "abacadabacc";
enum { LENGTH = sizeof word - 1 };

/* Trains into `folder` and gives the best validation. */
static att_validation train(const char *folder, const char *attention)
{
    static const char *const keys[][2] = {
        { "bidirectional", "yes" }, { "width", "32" },  { "most-length", "12" },
        { "train-count", "3000" },  { "epochs", "14" }, { "rate", "0.005" },
    };
    att_settings *settings;
    att_training *training;
    char path[256];
    const att_validation *rows;
    assert_int_equal(att_settings_new(&settings, "reverse", NULL), ATT_OK);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        small_set(settings, keys[i][0], keys[i][1]);
    small_set(settings, "attention", attention);
    snprintf(path, sizeof path, "%s/m.safetensors", folder);
    small_set(settings, "out", path);
    assert_int_equal(att_training_new(&training, settings, NULL), ATT_OK);
    assert_int_equal(att_training_run(training, NULL, NULL, NULL), ATT_OK);
    att_training_history(training, &rows);
    att_validation best = rows[att_training_best(training) - 1];
    att_training_free(training);
    att_settings_free(settings);
    return best;
}

static int64_t strongest(const double *weights, int64_t count)
{
    int64_t most = 0;
    for (int64_t i = 1; i < count; i++)
        if (weights[i] > weights[most])
            most = i;
    return most;
}

static void check_map(const char *folder)
{
    char path[256];
    att_model *model;
    att_answers *answers;
    const char *lines[] = { word };
    snprintf(path, sizeof path, "%s/m.safetensors", folder);
    assert_int_equal(att_model_load(&model, path, NULL), ATT_OK);
    assert_int_equal(
        att_model_answer(&answers, model, lines, 1, &(att_answer_how){ .attention = true }, NULL),
        ATT_OK);
    const att_answer *answer = att_answers_get(answers, 0);
    assert_string_equal(answer->text, "ccabadacaba");
    assert_int_equal(answer->source_count, LENGTH);
    for (int64_t t = 0; t < LENGTH; t++)
        assert_int_equal(strongest(answer->weights + t * LENGTH, LENGTH), LENGTH - 1 - t);
    att_answers_free(answers);
    att_model_free(model);
}

static void attention_learns_to_reverse_and_looks_at_the_letter_it_writes(void **state)
{
    (void)state;
    char folder[64];
    folder_new(folder);
    att_validation without = train(folder, "none");
    att_validation with = train(folder, "general");
    assert_true(with.exact > 0.9);
    assert_true(with.errors < 0.03);
    assert_true(without.exact < with.exact - 0.2);
    check_map(folder);
    folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_learns_to_reverse_and_looks_at_the_letter_it_writes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static void a_build_without_jansson_has_no_models(void **state)
{
    (void)state;
    att_model *model = NULL;
    assert_int_equal(att_model_load(&model, "none.safetensors", NULL), ATT_BAD_INPUT);
    assert_null(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_build_without_jansson_has_no_models) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
