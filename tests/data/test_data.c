/* Loading the data that settings ask for, and the report on them. */
#include "data/data.h"
#include "failing_memory.h"
#include "data/pairs_help.h"

/* `given`: the task, then keys and values in turn, then NULL. */
static att_settings *settings_of(const char *const *given)
{
    att_settings *settings;
    assert_int_equal(att_settings_new(&settings, given[0], NULL), ATT_OK);
    att_error err = { 0 };
    for (int i = 1; given[i]; i += 2)
        if (att_settings_set(settings, given[i], given[i + 1], &err) != ATT_OK)
            fail_msg("%s", err.message);
    return settings;
}

#define GIVEN(...) ((const char *const[]){ __VA_ARGS__, NULL })

static att_data load(const char *const *given)
{
    att_settings *settings = settings_of(given);
    att_data data;
    att_error err = { 0 };
    if (att_data_load(&data, settings, &err) != ATT_OK)
        fail_msg("%s:%d: %s", err.place, err.line, err.message);
    att_settings_free(settings);
    return data;
}

static void assert_refused(const char *const *given, const char *place, const char *message)
{
    att_settings *settings = settings_of(given);
    att_data data;
    att_error err = { 0 };
    size_t live = att_alloc_live();
    assert_int_equal(att_data_load(&data, settings, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, message);
    assert_string_equal(err.place, place);
    assert_int_equal(att_alloc_live(), live);
    att_settings_free(settings);
}

static void assert_report(const att_data *data, const char *expected)
{
    att_string report = { 0 };
    assert_int_equal(att_data_report(&report, data), ATT_OK);
    assert_string_equal(report.data, expected);
    att_string_free(&report);
}

static void a_synthetic_task_needs_no_file(void **state)
{
    (void)state;
    att_data data =
        load(GIVEN("reverse", "train-count", "300", "valid-count", "40", "max-string-length", "6"));
    assert_int_equal(data.train.pairs, 300);
    assert_int_equal(data.valid.pairs, 40);
    assert_int_equal(att_vocab_size(data.source_vocab), 3 + 4);
    assert_int_equal(data.valid.stats.source.unknown_tokens, 0);
    assert_int_equal(data.overlapping_sources, 0);
    att_data_free(&data);
}

/* max-length applies to files only. */
static void long_synthetic_strings_are_kept(void **state)
{
    (void)state;
    att_data data = load(GIVEN("copy", "train-count", "5", "valid-count", "5", "min-string-length",
                               "600", "max-string-length", "700"));
    assert_int_equal(data.train.pairs, 5);
    assert_true(data.train.stats.source.min_length >= 600);
    att_data_free(&data);
}

static void vocabularies_come_from_training_alone(void **state)
{
    (void)state;
    put("t", "aab\tx\nab\ty\n");
    put("v", "ac\tx\nab\tz\n");
    att_data data = load(GIVEN("pairs", "train", "t", "valid", "v"));
    assert_int_equal(att_vocab_size(data.source_vocab), 3 + 2);
    assert_int_equal(att_vocab_size(data.target_vocab), 3 + 2);
    assert_int_equal(data.valid.stats.source.unknown_tokens, 1);
    assert_int_equal(data.valid.stats.target.unknown_tokens, 1);
    assert_int_equal(data.overlapping_sources, 1);
    assert_int_equal(data.held_out, 0);
    att_data_free(&data);
}

static void settings_say_what_tokens_are(void **state)
{
    (void)state;
    put("s", "The cat.\nthe DOG\n");
    put("t", "a b\nb c\n");
    att_data data = load(GIVEN("pairs", "source", "s", "target", "t", "valid-source", "s",
                               "valid-target", "t", "source-tokens", "word", "target-tokens",
                               "space", "lowercase", "yes", "min-count", "2"));
    assert_int_equal(att_vocab_size(data.source_vocab), 3 + 1); /* the */
    assert_int_equal(att_vocab_size(data.target_vocab), 3 + 1); /* b */
    assert_int_equal(data.train.stats.source.unknown_tokens, 3);
    att_data_free(&data);
}

static void bpe_is_learned_and_pairs_are_encoded_with_it(void **state)
{
    (void)state;
    put("f", "low lower\tein ei\nlowest low\tei eine\n");
    att_data data = load(GIVEN("pairs", "train", "f", "valid", "f", "source-tokens", "bpe",
                               "target-tokens", "bpe", "bpe-merges", "3"));
    assert_int_equal(att_vocab_size(data.source_vocab), 3 + 256 + 3); /* lo, low, ▁low */
    pairs got = { data.train, data.source_vocab, data.target_vocab };
    assert_pair(&got, 0, "low lower>ein ei");
    assert_pair(&got, 1, "lowest low>ei eine");
    int64_t length;
    att_sequences_get(&data.train.source, 0, &length);
    assert_int_equal(length, 1 + 3); /* ▁low, ▁low e r */
    assert_int_equal(data.valid.stats.source.unknown_tokens, 0);
    att_data_free(&data);
}

static void one_vocabulary_can_serve_both_sides(void **state)
{
    (void)state;
    put("f", "a b\tb c\nb\tc\n");
    for (int subwords = 0; subwords < 2; subwords++) {
        const char *kind = subwords ? "bpe" : "space";
        att_data data = load(GIVEN("pairs", "train", "f", "valid", "f", "source-tokens", kind,
                                   "target-tokens", kind, "joint", "yes"));
        assert_ptr_equal(data.source_vocab, data.target_vocab);
        pairs got = { data.train, data.source_vocab, data.target_vocab };
        assert_pair(&got, 0, "a b>b c");
        assert_pair(&got, 1, "b>c");
        if (!subwords)
            assert_int_equal(att_vocab_token_count(data.source_vocab, ATT_ID_FIRST), 3); /* b */
        att_data_free(&data);
    }
}

/* The length limit counts BPE tokens, which are known only after training BPE. */
static void lines_with_too_many_bpe_tokens_are_skipped(void **state)
{
    (void)state;
    put("f", "abcdef\tx\nab\tx\n");
    att_data data = load(GIVEN("pairs", "train", "f", "valid", "f", "source-tokens", "bpe",
                               "bpe-merges", "0", "max-length", "3"));
    assert_int_equal(data.train.pairs, 1);
    assert_int_equal(data.train.stats.skipped[ATT_SKIP_LONG_SOURCE], 1);
    att_data_free(&data);
}

static void without_a_validation_file_pairs_are_held_out(void **state)
{
    (void)state;
    att_string text = { 0 };
    for (int i = 0; i < 400; i++)
        assert_int_equal(att_string_printf(&text, "%d\t%d\n", i, i), ATT_OK);
    put("t", text.data);
    att_string_free(&text);
    att_data data = load(GIVEN("pairs", "train", "t", "valid-fraction", "0.1"));
    assert_int_equal(data.train.pairs + data.valid.pairs, 400);
    assert_int_equal(data.held_out, data.valid.pairs);
    assert_in_range(data.valid.pairs, 10, 70);
    assert_int_equal(data.overlapping_sources, 0);
    att_data_free(&data);
}

static void the_validation_of_a_model_is_read_by_its_vocabularies(void **state)
{
    (void)state;
    const char *const *given = GIVEN("reverse", "train-count", "50", "valid-count", "20");
    att_data data = load(given);
    att_settings *settings = settings_of(given);
    att_corpus valid;
    const att_data_read_options options = { .settings = settings,
                                            .recorded_data = true,
                                            .source_vocab = data.source_vocab,
                                            .target_vocab = data.target_vocab };
    assert_int_equal(att_data_read(&valid, &options, NULL), ATT_OK);
    assert_int_equal(valid.pairs, data.valid.pairs);
    assert_memory_equal(valid.source.ids, data.valid.source.ids,
                        (size_t)valid.source.offsets[valid.pairs] * sizeof *valid.source.ids);
    att_corpus_free(&valid);
    att_settings_free(settings);
    att_data_free(&data);
}

static void data_without_examples_are_refused(void **state)
{
    (void)state;
    put("empty", "");
    put("blank", "\n\tx\n");
    put("good", "a\tb\n");
    assert_refused(GIVEN("pairs", "train", "empty", "valid", "good"), "empty",
                   "has no pairs to train on");
    assert_refused(GIVEN("pairs", "train", "blank", "valid", "good"), "blank",
                   "has no pairs to train on: each of its 2 lines has an empty side or more tokens "
                   "than max-length");
    put("long", "c c c c\tb\naaaa\td\naaaa\td\n");
    assert_refused(
        GIVEN("pairs", "train", "long", "valid-fraction", "0.5", "max-length", "4"), "long",
        "has no pairs to train on: each of its 1 lines that are not held out for validation "
        "has an empty side or more tokens than max-length");
    assert_refused(GIVEN("pairs", "train", "good", "valid", "empty"), "empty",
                   "has no pairs to validate on");
    assert_refused(GIVEN("pairs", "train", "good", "valid-fraction", "0.1"), "good",
                   "has too few different sources to hold some out for validation; give valid, "
                   "or valid-fraction 0 to validate on the training data");
    assert_refused(GIVEN("pairs"), "",
                   "there is no training data: give train, or source and target");
}

/* Of all pairs with it, if it has several; tags belong to a source. */
static void small_data_hold_out_one_source(void **state)
{
    (void)state;
    static const struct {
        const char *task, *text;
        int64_t train, valid;
    } rows[] = {
        { "pairs", "a\tb\nc\td\n", 1, 1 },
        { "pairs", "a\tb\nc\td\ne\tf\ng\th\n\tx\n", 3, 1 },
        { "pairs", "a\tb\tX\na\tc\tY\na\td\tZ\n", 2, 1 },
        { "pairs", "a\tb\nc\td\na\te\nc\tf\n", 2, 2 },
        { "classify", "a\tX\nb\tX\na b\tY\nb a\tY\nb b\tY\na a\tX\n", 5, 1 },
        { "tag", "a b\tX Y\nb\tY\nb a\tY X\n", 2, 1 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        put("small", rows[i].text);
        att_data data = load(GIVEN(rows[i].task, "train", "small", "valid-fraction", "0.001"));
        assert_int_equal(data.train.pairs, rows[i].train);
        assert_int_equal(data.valid.pairs, rows[i].valid);
        assert_int_equal(data.held_out, rows[i].valid);
        assert_int_equal(data.overlapping_sources, 0);
        att_data_free(&data);
    }
}

static void valid_fraction_0_trains_on_everything(void **state)
{
    (void)state;
    att_string text = { 0 };
    for (int i = 0; i < 90; i++)
        assert_int_equal(att_string_printf(&text, "%d\tx\n", 100 + i), ATT_OK);
    put("all", text.data);
    att_data data = load(GIVEN("pairs", "train", "all", "valid-fraction", "0"));
    assert_int_equal(data.train.pairs, 90);
    assert_true(data.valid.pairs > 0 && data.valid.pairs < 20);
    assert_true(data.valid_in_train);
    assert_int_equal(data.held_out, 0);
    att_data_free(&data);
    att_string_free(&text);
    put("all", "a\tb\n"); /* too few for a sample */
    data = load(GIVEN("pairs", "train", "all", "valid-fraction", "0"));
    assert_report(&data,
                  "training    1 pair, 1 source and 1 target tokens\n"
                  "validation  1 pair, 1 source and 1 target tokens, a sample of the training "
                  "data: nothing is held out\n"
                  "source      characters, vocabulary size 4; sequence length 1 to 1, mean 1.0\n"
                  "target      characters, vocabulary size 4; sequence length 1 to 1, mean "
                  "1.0\n");
    att_data_free(&data);
}

static void the_report_has_lengths_vocabularies_and_skipped_lines(void **state)
{
    (void)state;
    put("t", "\xEF\xBB\xBF"
             "aab\tx y\r\n\nab\ty\n\tz\n\n\n\n\n\nabcdef\tx\n");
    put("v", "ac\tx\nab\tw y\n");
    att_data data = load(GIVEN("pairs", "train", "t", "valid", "v", "target-tokens", "space",
                               "max-length", "5", "min-count", "2"));
    assert_report(
        &data,
        "training    2 pairs, 5 source and 3 target tokens\n"
        "validation  2 pairs, 4 source and 3 target tokens\n"
        "source      characters, vocabulary size 5; sequence length 2 to 3, mean 2.5\n"
        "            unknown tokens: 0 (0.00 %) in training, 1 (25.00 %) in validation\n"
        "target      whitespace-separated tokens, vocabulary size 4; sequence length 1 to 2, "
        "mean 1.5\n"
        "            unknown tokens: 1 (33.33 %) in training, 2 (66.67 %) in validation\n"
        "skipped     training: 6 empty (lines 2, 5, 6, 7, 8, …), 1 with an empty source "
        "(line 4), 1 with a source longer than max-length (line 10)\n"
        "note        training: 1 line with CRLF line ends, read as LF\n"
        "note        training: starts with a byte order mark, which is ignored\n"
        "note        1 of 2 validation sources (50.0 %) are also in the training data\n");
    att_data_free(&data);
}

/* Sources are compared as the tokenizer reads them: composed, and lowercased by the setting. */
static void sources_that_differ_in_case_alone_are_the_same_with_lowercase(void **state)
{
    (void)state;
    put("t", "Go on\tx\nstop\ty\n\xC3\xA9\tz\n");
    put("v", "GO on\tx\nSTOP it\tz\ne\xCC\x81\tz\n");
    for (int lower = 0; lower < 2; lower++) {
        att_data data =
            load(GIVEN("pairs", "train", "t", "valid", "v", "lowercase", lower ? "yes" : "no"));
        assert_int_equal(data.overlapping_sources, 1 + lower);
        att_data_free(&data);
    }
}

static void line_ends_of_a_file_that_is_split_are_noted_once(void **state)
{
    (void)state;
    put("t", "ab\tx\r\nba\ty\r\naa\tz\r\nbb\tz\r\n");
    att_data data = load(GIVEN("pairs", "train", "t", "valid-fraction", "0.5"));
    att_string report = { 0 };
    assert_true(data.held_out > 0);
    assert_int_equal(att_data_report(&report, &data), ATT_OK);
    const char *first = strstr(report.data, "CRLF");
    assert_non_null(first);
    assert_null(strstr(first + 1, "CRLF"));
    att_string_free(&report);
    att_data_free(&data);
}

static void without_warnings_the_report_has_four_lines(void **state)
{
    (void)state;
    put("t", "ab\txy\nba\tyx\n");
    put("v", "aa\txx\n");
    att_data data = load(GIVEN("pairs", "train", "t", "valid", "v"));
    assert_report(&data,
                  "training    2 pairs, 4 source and 4 target tokens\n"
                  "validation  1 pair, 2 source and 2 target tokens\n"
                  "source      characters, vocabulary size 5; sequence length 2 to 2, mean 2.0\n"
                  "target      characters, vocabulary size 5; sequence length 2 to 2, mean 2.0\n");
    att_data_free(&data);
}

static void the_report_of_a_classifier_says_what_was_held_out(void **state)
{
    (void)state;
    att_string text = { 0 }, report = { 0 };
    char line[80];
    for (int i = 0; i < 100; i++)
        assert_int_equal(att_string_printf(&text, "w%d x\t%s\n", i, i % 2 ? "odd" : "even"),
                         ATT_OK);
    put("t", text.data);
    att_data data = load(GIVEN("classify", "train", "t", "valid-fraction", "0.2"));
    assert_true(data.held_out > 0);
    assert_int_equal(att_data_report(&report, &data), ATT_OK);
    snprintf(line, sizeof line,
             "\nvalidation  %d sentences, %d tokens, held out of the training data\ntokens ",
             (int)data.valid.pairs, 2 * (int)data.valid.pairs);
    assert_non_null(strstr(report.data, line));
    att_data_free(&data);
    att_string_free(&report);
    att_string_free(&text);
}

static att_status load_data(void *context)
{
    att_data data;
    att_status status = att_data_load(&data, context, NULL);
    att_data_free(&data);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    put("t", "ab\txy\nba\tyx\n");
    att_settings *settings = settings_of(GIVEN("pairs", "train", "t", "valid", "t"));
    every_allocation_fails(load_data, settings, 100);
    att_settings_free(settings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(a_synthetic_task_needs_no_file),
        IN_FOLDER(long_synthetic_strings_are_kept),
        IN_FOLDER(vocabularies_come_from_training_alone),
        IN_FOLDER(settings_say_what_tokens_are),
        IN_FOLDER(bpe_is_learned_and_pairs_are_encoded_with_it),
        IN_FOLDER(one_vocabulary_can_serve_both_sides),
        IN_FOLDER(lines_with_too_many_bpe_tokens_are_skipped),
        IN_FOLDER(without_a_validation_file_pairs_are_held_out),
        IN_FOLDER(the_validation_of_a_model_is_read_by_its_vocabularies),
        IN_FOLDER(data_without_examples_are_refused),
        IN_FOLDER(small_data_hold_out_one_source),
        IN_FOLDER(valid_fraction_0_trains_on_everything),
        IN_FOLDER(the_report_has_lengths_vocabularies_and_skipped_lines),
        IN_FOLDER(sources_that_differ_in_case_alone_are_the_same_with_lowercase),
        IN_FOLDER(line_ends_of_a_file_that_is_split_are_noted_once),
        IN_FOLDER(without_warnings_the_report_has_four_lines),
        IN_FOLDER(the_report_of_a_classifier_says_what_was_held_out),
        IN_FOLDER(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
