/* The table of settings, its defaults, and values set one by one. */
#include "settings/settings_help.h"
#include "failing_memory.h"

static void assert_refused(const char *key, const char *value, const char *message)
{
    att_settings *settings = settings_of(NULL);
    att_error err = { 0 };
    assert_int_equal(att_settings_set(settings, key, value, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, message);
    att_settings_free(settings);
}

/* ---- the table */

static void every_row_is_complete_and_its_key_is_unique(void **state)
{
    (void)state;
    for (size_t i = 0; i < att_setting_count(); i++) {
        const att_setting *row = att_setting_get(i);
        assert_ptr_equal(att_setting_find(row->key), row);
        assert_true(row->help && row->help[0] && row->help[strlen(row->help) - 1] != '.');
        assert_true((row->placeholder == NULL) == (row->type == ATT_SETTING_FLAG));
        assert_true((row->choices != NULL) == (row->type == ATT_SETTING_CHOICE));
        bool ranged = row->type == ATT_SETTING_INTEGER || row->type == ATT_SETTING_REAL;
        assert_true(ranged ? row->min < row->max : row->min == 0 && row->max == 0);
        assert_int_equal(strspn(row->key, "abcdefghijklmnopqrstuvwxyz0123456789-"),
                         strlen(row->key));
    }
    assert_null(att_setting_get(att_setting_count()));
    assert_null(att_setting_find("no-such-key"));
}

static void rows_of_one_group_stand_together(void **state)
{
    (void)state;
    for (size_t i = 1; i < att_setting_count(); i++) {
        const char *group = att_setting_get(i)->group;
        if (strcmp(att_setting_get(i - 1)->group, group) == 0)
            continue;
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(att_setting_get(j)->group, group);
    }
}

static void no_two_rows_share_a_member(void **state)
{
    (void)state;
    for (size_t i = 0; i < att_setting_spec_count; i++)
        for (size_t j = 0; j < i; j++)
            assert_int_not_equal(att_setting_specs[i].offset, att_setting_specs[j].offset);
}

/* A default that its own row refuses would silently be zero. */
static void every_default_is_a_good_value(void **state)
{
    (void)state;
    att_settings *settings = settings_of(NULL);
    att_error err = { 0 };
    for (size_t i = 0; i < att_setting_spec_count; i++) {
        const att_setting_spec *row = &att_setting_specs[i];
        if (row->default_value && row->default_value[0] == '=') {
            int other = att_setting_spec_find(row->default_value + 1);
            assert_true(other >= 0);
            assert_int_equal(att_setting_specs[other].info.type, row->info.type);
            assert_true(row->info.type == ATT_SETTING_INTEGER ||
                        row->info.type == ATT_SETTING_REAL);
        } else if (row->default_value &&
                   att_setting_spec_set(row, settings, row->default_value, &err) != ATT_OK)
            fail_msg("%s", err.message);
    }
    for (size_t i = 0; i < att_conditional_default_count; i++) {
        const att_conditional_default *other = &att_conditional_defaults[i];
        int row = att_setting_spec_find(other->key), when = att_setting_spec_find(other->if_key);
        assert_true(row >= 0 && when >= 0);
        if (att_setting_spec_set(&att_setting_specs[row], settings, other->default_value, &err) !=
                ATT_OK ||
            att_setting_spec_set(&att_setting_specs[when], settings, other->if_value, &err) !=
                ATT_OK)
            fail_msg("%s", err.message);
        assert_true(att_setting_specs[when].info.type == ATT_SETTING_CHOICE ||
                    att_setting_specs[when].info.type == ATT_SETTING_FLAG);
    }
    att_settings_free(settings);
}

static void normalizers_have_the_names_that_attention_has(void **state)
{
    (void)state;
    const char *const *words = att_setting_find("normalizer")->choices;
    int count = 0;
    for (; words[count]; count++)
        assert_string_equal(words[count], att_normalizer_name((att_normalizer)count));
    assert_null(att_normalizer_name((att_normalizer)count));
}

static void a_setting_concerns_the_tasks_that_use_it(void **state)
{
    (void)state;
    assert_true(att_setting_applies(att_setting_find("alphabet"), "reverse"));
    assert_false(att_setting_applies(att_setting_find("alphabet"), "pairs"));
    assert_true(att_setting_applies(att_setting_find("train"), "pairs"));
    assert_false(att_setting_applies(att_setting_find("train"), "sort"));
    assert_true(att_setting_applies(att_setting_find("learning-rate"), "copy"));
    assert_false(att_setting_applies(att_setting_find("learning-rate"), "no such task"));
}

/* ---- defaults */

static void reverse_alone_is_the_handout(void **state)
{
    (void)state;
    att_settings *settings = settings_of("reverse");
    assert_int_equal(settings->task, ATT_TASK_REVERSE);
    assert_string_equal(settings->alphabet, "abcd");
    assert_int_equal(settings->epochs, 30);
    assert_int_equal(settings->attention, ATT_MECHANISM_DOT);
    assert_int_equal(settings->attention_context, ATT_ATTENTION_CONTEXT_OUTPUT);
    assert_false(settings->bidirectional);
    assert_value(settings, "rnn-cell", "lstm");
    att_settings_free(settings);
}

static void a_task_set_later_brings_its_defaults_but_keeps_what_was_set(void **state)
{
    (void)state;
    att_settings *settings = settings_of(NULL);
    int64_t of_pairs = settings->hidden_size;
    set(settings, "epochs", "7");
    set(settings, "task", "reverse");
    assert_int_equal(settings->epochs, 7);
    assert_int_not_equal(settings->hidden_size, of_pairs);
    set(settings, "task", "pairs");
    assert_int_equal(settings->hidden_size, of_pairs);
    assert_int_equal(settings->epochs, 7);
    att_settings_free(settings);
}

static void word_dropout_follows_copying_except_for_subwords(void **state)
{
    (void)state;
    att_settings *settings = settings_of("pairs");
    assert_value(settings, "word-dropout", "0");
    set(settings, "copy", "yes");
    assert_value(settings, "word-dropout", "0.1");
    set(settings, "source-tokens", "bpe");
    assert_value(settings, "word-dropout", "0");
    set(settings, "source-tokens", "word");
    set(settings, "copy", "no");
    assert_value(settings, "word-dropout", "0");
    att_settings_free(settings);
}

static void the_learning_rate_follows_the_optimizer_unless_it_was_set(void **state)
{
    (void)state;
    att_settings *settings = settings_of(NULL);
    assert_value(settings, "learning-rate", "0.002");
    set(settings, "optimizer", "adadelta");
    assert_value(settings, "learning-rate", "1");
    set(settings, "learning-rate", "0.3");
    set(settings, "optimizer", "sgd");
    assert_value(settings, "learning-rate", "0.3");
    att_settings_free(settings);
}

static void defaults_follow_the_architecture_its_preset_and_other_settings(void **state)
{
    (void)state;
    att_settings *settings = settings_of(NULL);
    set(settings, "architecture", "transformer");
    assert_value(settings, "layers", "4");
    assert_value(settings, "hidden-size", "128");
    assert_value(settings, "decoder-layers", "4");
    set(settings, "preset", "base");
    assert_value(settings, "hidden-size", "512");
    assert_value(settings, "heads", "8");
    assert_value(settings, "kv-heads", "8");
    assert_value(settings, "decoder-layers", "6");
    set(settings, "layers", "2");
    assert_value(settings, "decoder-layers", "2");
    set(settings, "decoder-layers", "3");
    set(settings, "dropout", "0.25");
    assert_value(settings, "attention-dropout", "0.25");
    assert_value(settings, "layers", "2");
    assert_value(settings, "decoder-layers", "3");
    att_settings_free(settings);
}

static void translation_is_a_transformer_on_bpe_by_default(void **state)
{
    (void)state;
    att_settings *settings = settings_of("translate");
    assert_value(settings, "architecture", "transformer");
    assert_value(settings, "layers", "4");
    assert_value(settings, "source-tokens", "bpe");
    assert_value(settings, "joint", "yes");
    assert_value(settings, "tie-embeddings", "all");
    assert_value(settings, "dropout", "0.3");
    assert_value(settings, "attention-dropout", "0.1"); /* not that of the other dropout */
    assert_value(settings, "embedding-dropout", "0.3");
    set(settings, "architecture", "rnn"); /* which cannot tie all, nor learn at such a rate */
    assert_value(settings, "tie-embeddings", "no");
    assert_value(settings, "learning-rate", "0.001");
    assert_value(settings, "source-tokens", "bpe");
    assert_value(settings, "dropout", "0.3");
    att_settings_free(settings);
}

static void what_belongs_to_one_architecture_is_refused_in_the_other(void **state)
{
    (void)state;
    static const struct {
        const char *architecture, *key, *value, *message;
    } rows[] = {
        { "transformer", "rnn-cell", "gru",
          "rnn-cell contradicts architecture transformer: it belongs to rnn" },
        { "transformer", "scheduled-sampling", "0.5",
          "scheduled-sampling contradicts architecture transformer: it belongs to rnn" },
        { "rnn", "heads", "8", "heads contradicts architecture rnn: it belongs to transformer" },
        { "rnn", "preset", "base",
          "preset contradicts architecture rnn: it belongs to transformer" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        att_settings *settings = settings_of("reverse");
        att_error err = { 0 };
        set(settings, "architecture", rows[i].architecture);
        assert_int_equal(att_settings_check(settings, &err), ATT_OK);
        set(settings, rows[i].key, rows[i].value);
        assert_int_equal(att_settings_check(settings, &err), ATT_BAD_INPUT);
        assert_string_equal(err.message, rows[i].message);
        att_settings_free(settings);
    }
}

/* ---- values */

static void values_of_every_kind_are_set_and_got(void **state)
{
    (void)state;
    att_settings *settings = settings_of(NULL);
    set(settings, "layers", "3");
    set(settings, "dropout", "0.125");
    set(settings, "attention", "coverage");
    set(settings, "lowercase", "yes");
    set(settings, "train", "naïve file.tsv");
    assert_int_equal(settings->layers, 3);
    assert_true(settings->dropout == 0.125);
    assert_int_equal(settings->attention, ATT_MECHANISM_COVERAGE);
    assert_true(settings->lowercase);
    assert_string_equal(settings->train, "naïve file.tsv");
    assert_value(settings, "layers", "3");
    assert_value(settings, "dropout", "0.125");
    assert_value(settings, "attention", "coverage");
    assert_value(settings, "lowercase", "yes");
    assert_value(settings, "train", "naïve file.tsv");
    assert_value(settings, "valid", "");
    att_settings_free(settings);
}

/* Whatever the program prints as a value can be given to it again. */
static void every_value_reads_back_as_itself(void **state)
{
    (void)state;
    att_settings *settings = settings_of("reverse"), *again = settings_of("reverse");
    for (size_t i = 0; i < att_setting_count(); i++) {
        const char *key = att_setting_get(i)->key;
        att_string value = { 0 };
        assert_int_equal(att_settings_get(&value, settings, key, NULL), ATT_OK);
        if (value.length > 0)
            set(again, key, value.data);
        assert_value(again, key, value.data ? value.data : "");
        att_string_free(&value);
    }
    att_settings_free(settings);
    att_settings_free(again);
}

static void the_ends_of_a_range_are_in_it(void **state)
{
    (void)state;
    att_settings *settings = settings_of(NULL);
    set(settings, "layers", "1");
    set(settings, "layers", "64");
    set(settings, "dropout", "0");
    set(settings, "dropout", "0.95");
    att_settings_free(settings);
    assert_refused("layers", "0", "layers expects a whole number from 1 to 64, not '0'");
    assert_refused("layers", "65", "layers expects a whole number from 1 to 64, not '65'");
    assert_refused("dropout", "0.96", "dropout expects a number from 0 to 0.95, not '0.96'");
    assert_refused("dropout", "-1e-9", "dropout expects a number from 0 to 0.95, not '-1e-9'");
}

static void a_value_of_the_wrong_kind_is_refused_by_its_key(void **state)
{
    (void)state;
    assert_refused("layers", "2.5", "layers expects a whole number from 1 to 64, not '2.5'");
    assert_refused("learning-rate", "fast",
                   "learning-rate expects a number from 0 to 1000, not 'fast'");
    assert_refused("learning-rate", "nan",
                   "learning-rate expects a number from 0 to 1000, not 'nan'");
    assert_refused("lowercase", "true", "lowercase expects yes or no, not 'true'");
    assert_refused("train", "", "train expects FILE, but it is empty");
    assert_refused("train", "a\xFF", "train expects UTF-8");
    assert_refused("rnn-cell", "ltsm",
                   "rnn-cell expects vanilla, gru or lstm, not 'ltsm'; did you mean lstm?");
    assert_refused("rnn-cell", "\033[1m", "rnn-cell expects vanilla, gru or lstm, not '\\x1B[1m'");
}

static void a_refused_value_leaves_the_old_one(void **state)
{
    (void)state;
    att_settings *settings = settings_of(NULL);
    set(settings, "hidden-size", "77");
    assert_int_equal(att_settings_set(settings, "hidden-size", "many", NULL), ATT_BAD_INPUT);
    assert_int_equal(settings->hidden_size, 77);
    att_settings_free(settings);
}

static void an_unknown_key_is_refused_with_the_nearest(void **state)
{
    (void)state;
    assert_refused("hiden-size", "3", "unknown setting 'hiden-size'; did you mean hidden-size?");
    assert_refused("train_count", "3", "unknown setting 'train_count'; did you mean train-count?");
    assert_refused("xyzzy", "3", "unknown setting 'xyzzy'");
    att_settings *settings = settings_of(NULL);
    att_string got = { 0 };
    assert_int_equal(att_settings_get(&got, settings, "hiden-size", NULL), ATT_BAD_INPUT);
    att_settings_free(settings);
}

/* Names of version 0.1 lead to those of today, however different they are. */
static void an_old_name_is_refused_with_the_new_one(void **state)
{
    (void)state;
    assert_refused("rate", "3", "unknown setting 'rate'; did you mean learning-rate?");
    assert_refused("own", "0.5", "unknown setting 'own'; did you mean scheduled-sampling?");
    assert_refused("start", "0.1", "unknown setting 'start'; did you mean init-range?");
    assert_refused("picture-start", "yes",
                   "unknown setting 'picture-start'; did you mean init-from-image?");
    assert_refused("architecture", "recurrent",
                   "architecture expects rnn, transformer or cnn, not 'recurrent'; did you mean "
                   "rnn?");
    assert_refused("rnn-cell", "rnn",
                   "rnn-cell expects vanilla, gru or lstm, not 'rnn'; did you mean vanilla?");
    assert_refused(
        "tokens", "subword",
        "tokens expects char, word, bpe, byte or codepoint, not 'subword'; did you mean bpe?");
    assert_refused("format", "json",
                   "format expects auto, tsv, conll, sigmorphon, scan, csv or jsonl, not 'json'; "
                   "did you mean jsonl?");
    static const char *const old_keys[] = { "width", "embed",   "feed",   "family",     "tie",
                                            "clip",  "chunk",   "cell",   "least-rate", "batch",
                                            "lower", "best-by", "average" };
    for (size_t i = 0; i < sizeof old_keys / sizeof *old_keys; i++) {
        assert_null(att_setting_find(old_keys[i]));
        assert_non_null(att_setting_suggest(old_keys[i]));
        assert_non_null(att_setting_find(att_setting_suggest(old_keys[i])));
    }
}

/* Names of other programs too, whose edit distance to ours is as large. */
static void a_name_of_another_program_is_refused_with_ours(void **state)
{
    (void)state;
    assert_refused("early-stopping", "3",
                   "unknown setting 'early-stopping'; did you mean patience?");
    assert_refused("lr", "3", "unknown setting 'lr'; did you mean learning-rate?");
    static const char *const names[] = { "dev",          "max-update",     "update-freq",
                                         "n-embd",       "emb-dim",        "num-layers",
                                         "dec-depth",    "nhead",          "smoothing",
                                         "warmup-steps", "lr-scheduler",   "grad-clip",
                                         "eval-every",   "metric",         "bptt",
                                         "max-len",      "vocab-size",     "share-vocab",
                                         "weight-tying", "min-freq",       "arch",
                                         "rnn-type",     "attn",           "optim",
                                         "adam-beta1",   "teacher-forcing" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_null(att_setting_find(names[i]));
        assert_non_null(att_setting_renamed(names[i]));
        assert_non_null(att_setting_find(att_setting_renamed(names[i])));
    }
    assert_null(att_setting_renamed("xyzzy"));
    assert_null(att_setting_renamed("hidden-size"));
}

static void an_unknown_task_is_refused_with_the_nearest(void **state)
{
    (void)state;
    att_settings *settings;
    att_error err = { 0 };
    assert_int_equal(att_settings_new(&settings, "revers", &err), ATT_BAD_INPUT);
    assert_null(settings);
    assert_string_equal(err.message,
                        "task expects pairs, translate, reverse, copy, sort, classify, tag, lm, "
                        "caption or shapes, not 'revers'; did you mean reverse?");
}

static att_status make_settings(void *context)
{
    (void)context;
    att_settings *settings;
    att_status status = att_settings_new(&settings, "pairs", NULL);
    if (status == ATT_OK)
        status = att_settings_set(settings, "train", "f", NULL);
    att_settings_free(settings);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    every_allocation_fails(make_settings, NULL, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_complete_and_its_key_is_unique),
        cmocka_unit_test(rows_of_one_group_stand_together),
        cmocka_unit_test(no_two_rows_share_a_member),
        cmocka_unit_test(every_default_is_a_good_value),
        cmocka_unit_test(normalizers_have_the_names_that_attention_has),
        cmocka_unit_test(a_setting_concerns_the_tasks_that_use_it),
        cmocka_unit_test(reverse_alone_is_the_handout),
        cmocka_unit_test(a_task_set_later_brings_its_defaults_but_keeps_what_was_set),
        cmocka_unit_test(word_dropout_follows_copying_except_for_subwords),
        cmocka_unit_test(the_learning_rate_follows_the_optimizer_unless_it_was_set),
        cmocka_unit_test(defaults_follow_the_architecture_its_preset_and_other_settings),
        cmocka_unit_test(translation_is_a_transformer_on_bpe_by_default),
        cmocka_unit_test(what_belongs_to_one_architecture_is_refused_in_the_other),
        cmocka_unit_test(values_of_every_kind_are_set_and_got),
        cmocka_unit_test(every_value_reads_back_as_itself),
        cmocka_unit_test(the_ends_of_a_range_are_in_it),
        cmocka_unit_test(a_value_of_the_wrong_kind_is_refused_by_its_key),
        cmocka_unit_test(a_refused_value_leaves_the_old_one),
        cmocka_unit_test(an_unknown_key_is_refused_with_the_nearest),
        cmocka_unit_test(an_old_name_is_refused_with_the_new_one),
        cmocka_unit_test(a_name_of_another_program_is_refused_with_ours),
        cmocka_unit_test(an_unknown_task_is_refused_with_the_nearest),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
