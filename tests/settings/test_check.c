/* Settings that contradict each other. */
#include "settings/settings_help.h"

/* `given`: the task, then keys and values in turn, then NULL. */
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

/* If only one key is given, all others keep defaults that agree with it. */
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
    assert_contradicts(
        GIVEN("reverse", "attention", "none", "normalizer", "sparsemax"),
        "normalizer contradicts attention none: there are no attention weights to normalize");
    assert_contradicts(
        GIVEN("reverse", "attention", "fixed", "normalizer", "sparsemax"),
        "normalizer contradicts attention fixed: there are no attention weights to normalize");
    assert_contradicts(
        GIVEN("reverse", "attention", "none", "attention-context", "state"),
        "attention-context contradicts attention none: there is no attention context");
    assert_contradicts(
        GIVEN("reverse", "attention-window", "3"),
        "attention-window contradicts attention dot: only local attention has a window");
    assert_contradicts(
        GIVEN("reverse", "copy", "yes", "attention", "none"),
        "copy contradicts attention none: there are no attention weights to copy by");
    assert_contradicts(
        GIVEN("reverse", "copy", "yes", "attention", "fixed"),
        "copy contradicts attention fixed: there are no attention weights to copy by");
    assert_contradicts(GIVEN("reverse", "copy", "yes", "normalizer", "sigmoid"),
                       "copy contradicts normalizer sigmoid: its weights do not add up to 1");
    assert_good(GIVEN("reverse", "copy", "yes", "normalizer", "sparsemax"));
    assert_good(GIVEN("reverse", "copy", "yes", "architecture", "transformer"));
    assert_good(GIVEN("reverse", "copy", "no", "attention", "none"));
    assert_contradicts(
        GIVEN("pairs", "train", "f", "guided-alignment", "g", "attention", "none"),
        "guided-alignment contradicts attention none: there are no attention weights to align");
    for (int starts = 0; starts < 2; starts++)
        assert_contradicts(
            GIVEN("shapes", "attention", "none", "init-from-image", starts ? "yes" : "no"),
            "init-from-image contradicts attention none: without attention the decoder always "
            "starts from the image");
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
                       "momentum contradicts optimizer adam: only sgd has momentum");
    assert_contradicts(GIVEN("reverse", "optimizer", "sgd", "beta1", "0.8"),
                       "beta1 contradicts optimizer sgd: only adam and adamw have it");
    assert_contradicts(GIVEN("reverse", "rho", "0.9"),
                       "rho contradicts optimizer adam: only adadelta has it");
    assert_contradicts(GIVEN("reverse", "plateau-factor", "0.1"),
                       "plateau-factor contradicts schedule cosine: only plateau has it");
    assert_contradicts(
        GIVEN("reverse", "positions-join", "concat"),
        "positions-join contradicts positions none: there are no position embeddings to join");
    assert_good(GIVEN("reverse", "momentum", "0.9", "optimizer", "sgd"));
    assert_good(GIVEN("reverse", "rho", "0.9", "optimizer", "adadelta"));
    assert_good(GIVEN("reverse", "plateau-factor", "0.1", "schedule", "plateau"));
}

static void files_come_as_one_or_as_a_couple(void **state)
{
    (void)state;
    assert_contradicts(GIVEN("pairs", "source", "f"), "source also needs target");
    assert_contradicts(GIVEN("pairs", "target", "f"), "target also needs source");
    assert_contradicts(GIVEN("pairs", "train", "f", "valid-source", "g"),
                       "valid-source also needs valid-target");
    assert_contradicts(GIVEN("pairs", "train", "f", "source", "g", "target", "h"),
                       "train and source cannot be used together");
    assert_contradicts(GIVEN("pairs", "train", "f", "valid", "g", "valid-fraction", "0.1"),
                       "valid-fraction and valid cannot be used together");
    assert_contradicts(GIVEN("pairs"), "task pairs needs --train, or --source and --target");
}

static void vocabularies_must_go_together(void **state)
{
    (void)state;
    assert_contradicts(GIVEN("pairs", "train", "f", "joint", "yes", "source-tokens", "bpe"),
                       "joint needs the same source-tokens and target-tokens if either is bpe or "
                       "byte: their tokens are not those of other kinds");
    assert_good(GIVEN("pairs", "train", "f", "joint", "yes", "source-tokens", "space"));
    assert_contradicts(GIVEN("tag", "train", "f", "format", "scan"),
                       "format scan contradicts task tag: it reads sentences with a label for each "
                       "token from files");
    assert_contradicts(GIVEN("pairs", "train", "f", "format", "scan", "columns", "1,2"),
                       "columns contradicts format scan: its lines have no columns");
    assert_contradicts(GIVEN("pairs", "train", "f", "vectors", "v", "tie-embeddings", "all"),
                       "vectors contradicts tie-embeddings all: they are for the source alone");
    assert_contradicts(
        GIVEN("classify", "train", "f", "char-features", "cnn", "source-tokens", "char"),
        "char-features contradicts source-tokens char: only words have characters "
        "of their own");
    assert_contradicts(GIVEN("pairs", "train", "f", "bpe-merges", "9"),
                       "bpe-merges needs source-tokens bpe or target-tokens bpe");
    assert_good(GIVEN("pairs", "train", "f", "bpe-merges", "9", "target-tokens", "bpe"));
    assert_good(GIVEN("pairs", "train", "f", "joint", "yes"));
}

static void a_setting_of_another_task_is_refused(void **state)
{
    (void)state;
    assert_contradicts(GIVEN("pairs", "train", "f", "alphabet", "xyz"),
                       "alphabet contradicts task pairs: it reads sentence pairs from files");
    assert_contradicts(GIVEN("reverse", "train", "f"),
                       "train contradicts task reverse: it generates its own strings");
    assert_contradicts(GIVEN("reverse", "crf", "yes"),
                       "crf contradicts task reverse: it generates its own strings");
    assert_contradicts(GIVEN("shapes", "copy", "yes"),
                       "copy contradicts task shapes: it generates its own images");
}

static void settings_of_a_missing_part_are_refused(void **state)
{
    (void)state;
    assert_contradicts(
        GIVEN("reverse", "architecture", "transformer", "ffn-size", "0", "activation", "gelu"),
        "activation contradicts ffn-size 0: there is no feed-forward network");
    assert_contradicts(GIVEN("caption", "train", "f", "features", "g", "conv-channels", "8"),
                       "conv-channels contradicts conv-layers 0: there are no convolution layers");
    assert_contradicts(
        GIVEN("reverse", "architecture", "cnn"),
        "architecture cnn contradicts task reverse: it is for tasks classify and tag only");
    assert_contradicts(GIVEN("lm", "train", "f", "tokens", "byte", "lowercase", "yes"),
                       "lowercase contradicts byte tokens: bytes have no case");
    assert_contradicts(GIVEN("lm", "train", "f", "bpe-merges", "9"), "bpe-merges needs tokens bpe");
    assert_contradicts(GIVEN("caption", "train", "f"),
                       "task caption needs --train and --features: captions and image features");
    assert_contradicts(GIVEN("pairs", "train", "f", "guided-alignment-weight", "1"),
                       "guided-alignment-weight also needs guided-alignment");
    assert_contradicts(GIVEN("reverse", "scheduled-sampling-start", "2"),
                       "scheduled-sampling-start also needs scheduled-sampling");
}

static void numbers_out_of_order_are_refused(void **state)
{
    (void)state;
    assert_contradicts(GIVEN("reverse", "min-string-length", "20", "max-string-length", "10"),
                       "min-string-length 20 exceeds max-string-length 10");
    assert_contradicts(
        GIVEN("reverse", "schedule", "cosine", "learning-rate", "0.1", "min-learning-rate", "0.2"),
        "min-learning-rate 0.2 exceeds learning-rate 0.1");
}

static void consistency_needs_two_predictions_that_differ_in_dropout_alone(void **state)
{
    (void)state;
    assert_good(GIVEN("pairs", "train", "f", "consistency", "1"));
    assert_good(GIVEN("classify", "train", "f", "consistency", "4"));
    assert_good(GIVEN("lm", "train", "f", "architecture", "transformer", "consistency", "1"));
    assert_good(GIVEN("tag", "train", "f", "consistency", "1", "dropout", "0"));
    assert_good(GIVEN("translate", "train", "f", "consistency", "1", "dropout", "0"));
    assert_good(GIVEN("pairs", "train", "f", "architecture", "transformer", "consistency", "1",
                      "dropout", "0", "embedding-dropout", "0.1"));
    assert_good(GIVEN("shapes", "consistency", "1"));
    assert_contradicts(GIVEN("lm", "train", "f", "consistency", "1"),
                       "consistency contradicts architecture rnn of task lm: each batch continues "
                       "the state of the "
                       "batch before");
    assert_contradicts(GIVEN("pairs", "train", "f", "consistency", "1", "dropout", "0"),
                       "consistency contradicts dropout 0: without dropout the two predictions are "
                       "the same");
    assert_contradicts(
        GIVEN("pairs", "train", "f", "consistency", "1", "copy", "yes"),
        "consistency contradicts copy: it compares predictions of the vocabulary alone");
    assert_contradicts(GIVEN("tag", "train", "f", "consistency", "1", "crf", "yes"),
                       "consistency contradicts crf: it compares predictions of single labels");
    assert_contradicts(
        GIVEN("reverse", "consistency", "1", "scheduled-sampling", "0.2"),
        "consistency contradicts scheduled-sampling: the two predictions would follow different "
        "tokens");
}

/* A model file has a value for every key; the user asked for none of them. */
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

/* A checkpoint could, and the run would generate text with a classifier. */
static void a_checkpoint_of_a_classifier_cannot_ask_for_bleu(void **state)
{
    (void)state;
    att_settings *settings = settings_of("classify");
    att_error err = { 0 };
    set(settings, "train", "f");
    assert_int_equal(att_settings_check(settings, NULL), ATT_OK);
    assert_int_equal(att_settings_set_from(settings, "best-metric", "bleu", ATT_FROM_MODEL, NULL),
                     ATT_OK);
    assert_int_equal(att_settings_check(settings, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "best-metric bleu contradicts task classify: its model "
                                     "generates no text");
    att_settings_free(settings);
}

/* ---- options of the command line against a config file */

/* Sets `options`, pairs ended by NULL, and reads the config before or after it. */
static att_settings *made_with_config(const char *task, const char *config, bool first,
                                      const char *const *options)
{
    att_settings *settings;
    assert_int_equal(att_settings_new(&settings, task, NULL), ATT_OK);
    if (first)
        assert_int_equal(att_settings_read(settings, config, strlen(config), "c", NULL), ATT_OK);
    for (size_t i = 0; options[i]; i += 2)
        assert_int_equal(att_settings_set(settings, options[i], options[i + 1], NULL), ATT_OK);
    if (!first)
        assert_int_equal(att_settings_read(settings, config, strlen(config), "c", NULL), ATT_OK);
    return settings;
}

static void an_option_wins_over_what_it_makes_meaningless_in_a_config(void **state)
{
    (void)state;
    static const struct {
        const char *task, *config;
        const char *options[5];
        const char *dropped;
    } cases[] = {
        { "pairs",
          "train = f\nattention-context = both\n",
          { "attention", "none" },
          "attention-context" },
        { "pairs", "train = f\nrnn-cell = gru\n", { "architecture", "transformer" }, "rnn-cell" },
        { "pairs", "source = s\ntarget = t\n", { "train", "f" }, "target" },
        { "pairs", "train = f\nvalid = v\n", { "valid-fraction", "0.2" }, "valid" },
        { "pairs", "train = f\nepochs = 9\n", { "time", "1m" }, "epochs" },
        { "pairs",
          "train = f\nsource-tokens = bpe\nbpe-merges = 9\n",
          { "source-tokens", "word" },
          "bpe-merges" },
        { "tag", "train = f\nlabel-smoothing = 0.1\n", { "crf", "yes" }, "label-smoothing" },
        { "pairs", "train = f\nbeta1 = 0.8\n", { "optimizer", "sgd" }, "beta1" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int first = 0; first < 2; first++) {
            att_settings *settings =
                made_with_config(cases[i].task, cases[i].config, first == 1, cases[i].options);
            att_error err = { 0 };
            if (att_settings_check(settings, &err) != ATT_OK)
                fail_msg("%s: %s", cases[i].dropped, err.message);
            assert_false(att_settings_is_given(settings, cases[i].dropped));
            att_settings_free(settings);
        }
}

static void settings_of_one_origin_still_contradict_each_other(void **state)
{
    (void)state;
    static const char config[] = "train = f\nattention = none\nattention-context = both\n";
    att_settings *settings = made_with_config("pairs", config, true, (const char *[]){ NULL });
    assert_int_equal(att_settings_check(settings, NULL), ATT_BAD_INPUT);
    att_settings_free(settings);
    static const char *const options[] = { "attention-context", "both", NULL };
    settings = made_with_config("pairs", "train = f\nattention = none\n", true, options);
    assert_int_equal(att_settings_check(settings, NULL), ATT_BAD_INPUT);
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
        cmocka_unit_test(settings_of_a_missing_part_are_refused),
        cmocka_unit_test(numbers_out_of_order_are_refused),
        cmocka_unit_test(consistency_needs_two_predictions_that_differ_in_dropout_alone),
        cmocka_unit_test(what_a_model_brought_contradicts_nothing),
        cmocka_unit_test(a_checkpoint_of_a_classifier_cannot_ask_for_bleu),
        cmocka_unit_test(an_option_wins_over_what_it_makes_meaningless_in_a_config),
        cmocka_unit_test(settings_of_one_origin_still_contradict_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
