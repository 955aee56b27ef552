/* Settings that contradict each other. */
#include "settings/settings_help.h"

/* Keys and values in turn, ended by NULL; the first is the task. */
static att_settings *made_of(const char *const *given)
{
    att_settings *settings = settings_of(given[0]);
    for (int i = 1; given[i]; i += 2)
        set(settings, given[i], given[i + 1]);
    return settings;
}

#define GIVEN(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void assert_good(const char *const *given)
{
    att_settings *settings = made_of(given);
    att_error err = { 0 };
    if (att_settings_check(settings, &err) != ATT_OK)
        fail_msg("%s", err.message);
    att_settings_free(settings);
}

static void assert_contradicts(const char *const *given, const char *message)
{
    att_settings *settings = made_of(given);
    att_error err = { 0 };
    assert_int_equal(att_settings_check(settings, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, message);
    assert_int_equal(att_settings_check(settings, NULL), ATT_BAD_INPUT);
    att_settings_free(settings);
}

static void defaults_agree_with_each_other(void **state)
{
    (void)state;
    assert_good(GIVEN("reverse"));
    assert_good(GIVEN("copy"));
    assert_good(GIVEN("sort"));
    assert_good(GIVEN("shapes"));
    assert_good(GIVEN("pairs", "train", "f"));
    assert_good(GIVEN("pairs", "source", "f", "target", "g"));
}

/* Whatever is chosen of one key alone leaves nothing but defaults beside it. */
static void every_word_of_every_key_goes_with_the_defaults(void **state)
{
    (void)state;
    static const char *const choices[] = { "rnn-cell", "attention", "positions", "optimizer",
                                           "schedule" };
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
        for (const char *const *word = att_setting_find(choices[i])->choices; *word; word++)
            assert_good(GIVEN("reverse", choices[i], *word));
}

static void what_needs_attention_is_refused_without_it(void **state)
{
    (void)state;
    assert_contradicts(GIVEN("reverse", "attention", "none", "normalizer", "sparsemax"),
                       "normaliser contradicts attention none: there are no weights to normalise");
    assert_contradicts(GIVEN("reverse", "attention", "fixed", "normalizer", "sparsemax"),
                       "normaliser contradicts attention fixed: there are no weights to normalise");
    assert_contradicts(GIVEN("reverse", "attention", "none", "attention-context", "state"),
                       "feed contradicts attention none: there is no context to feed");
    assert_contradicts(GIVEN("reverse", "attention-window", "3"),
                       "window contradicts attention dot: only local attention has a window");
    assert_contradicts(GIVEN("pairs", "train", "f", "guided-alignment", "g", "attention", "none"),
                       "align contradicts attention none: there are no weights to teach");
    for (int starts = 0; starts < 2; starts++)
        assert_contradicts(
            GIVEN("shapes", "attention", "none", "init-from-image", starts ? "yes" : "no"),
            "picture-start contradicts attention none: the start is all that the decoder sees");
    assert_good(GIVEN("shapes", "attention", "none"));
    assert_good(GIVEN("shapes", "attention", "fixed", "init-from-image", "no"));
    assert_good(GIVEN("reverse", "attention", "fixed", "attention-context", "state"));
    assert_good(GIVEN("reverse", "attention", "local", "attention-window", "3"));
    assert_good(GIVEN("reverse", "attention", "additive", "normalizer", "sparsemax"));
}

static void a_parameter_of_another_choice_is_refused(void **state)
{
    (void)state;
    assert_contradicts(GIVEN("reverse", "momentum", "0.9"),
                       "momentum contradicts optimiser adam: only sgd has momentum");
    assert_contradicts(GIVEN("reverse", "optimizer", "sgd", "beta1", "0.8"),
                       "beta1 contradicts optimiser sgd: only adam and adamw have it");
    assert_contradicts(GIVEN("reverse", "rho", "0.9"),
                       "rho contradicts optimiser adam: only adadelta has it");
    assert_contradicts(GIVEN("reverse", "plateau-factor", "0.1"),
                       "plateau-factor contradicts schedule constant: only plateau has it");
    assert_contradicts(GIVEN("reverse", "positions-join", "concat"),
                       "positions-join contradicts positions none: there are no positions to join");
    assert_good(GIVEN("reverse", "momentum", "0.9", "optimizer", "sgd"));
    assert_good(GIVEN("reverse", "rho", "0.9", "optimizer", "adadelta"));
    assert_good(GIVEN("reverse", "plateau-factor", "0.1", "schedule", "plateau"));
}

static void files_come_as_one_or_as_a_couple(void **state)
{
    (void)state;
    assert_contradicts(GIVEN("pairs", "source", "f"), "source needs target beside it");
    assert_contradicts(GIVEN("pairs", "target", "f"), "target needs source beside it");
    assert_contradicts(GIVEN("pairs", "train", "f", "valid-source", "g"),
                       "valid-source needs valid-target beside it");
    assert_contradicts(GIVEN("pairs", "train", "f", "source", "g", "target", "h"),
                       "train and source exclude each other");
    assert_contradicts(GIVEN("pairs", "train", "f", "valid", "g", "valid-fraction", "0.1"),
                       "hold-out and valid exclude each other");
    assert_contradicts(GIVEN("pairs"),
                       "task pairs needs train, or source and target: the files to learn from");
}

static void vocabularies_must_go_together(void **state)
{
    (void)state;
    assert_contradicts(GIVEN("pairs", "train", "f", "joint", "yes", "source-tokens", "subword"),
                       "joint needs source-tokens and target-tokens to be the same");
    assert_contradicts(GIVEN("pairs", "train", "f", "bpe-merges", "9"),
                       "subwords needs source-tokens or target-tokens to be subword");
    assert_good(GIVEN("pairs", "train", "f", "bpe-merges", "9", "target-tokens", "bpe"));
    assert_good(GIVEN("pairs", "train", "f", "joint", "yes"));
}

static void a_setting_of_another_task_is_refused(void **state)
{
    (void)state;
    assert_contradicts(GIVEN("pairs", "train", "f", "alphabet", "xyz"),
                       "alphabet contradicts task pairs: its pairs come from files");
    assert_contradicts(GIVEN("reverse", "train", "f"),
                       "train contradicts task reverse: its strings are made up");
    assert_contradicts(GIVEN("reverse", "word-dropout", "0.1"),
                       "word-dropout contradicts task reverse: its strings are made up");
}

static void numbers_out_of_order_are_refused(void **state)
{
    (void)state;
    assert_contradicts(GIVEN("reverse", "min-string-length", "20", "max-string-length", "10"),
                       "least-length 20 exceeds most-length 10");
    assert_contradicts(GIVEN("reverse", "schedule", "cosine", "learning-rate", "0.1", "min-learning-rate", "0.2"),
                       "least-rate 0.2 exceeds rate 0.1");
}

/* A model has a value for every key; that says nothing about what a user wanted. */
static void what_a_model_brought_contradicts_nothing(void **state)
{
    (void)state;
    att_settings *settings = settings_of("reverse");
    assert_int_equal(
        att_settings_set_from(settings, "normalizer", "sparsemax", ATT_FROM_MODEL, NULL), ATT_OK);
    set(settings, "attention", "none");
    assert_int_equal(att_settings_check(settings, NULL), ATT_OK);
    att_settings_free(settings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_agree_with_each_other),
        cmocka_unit_test(every_word_of_every_key_goes_with_the_defaults),
        cmocka_unit_test(what_needs_attention_is_refused_without_it),
        cmocka_unit_test(a_parameter_of_another_choice_is_refused),
        cmocka_unit_test(files_come_as_one_or_as_a_couple),
        cmocka_unit_test(vocabularies_must_go_together),
        cmocka_unit_test(a_setting_of_another_task_is_refused),
        cmocka_unit_test(numbers_out_of_order_are_refused),
        cmocka_unit_test(what_a_model_brought_contradicts_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
