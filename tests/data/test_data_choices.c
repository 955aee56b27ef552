/* Settings that nobody gave are chosen by the data: kinds of tokens, sentences, copying, sizes. */
#include "data/data_choices.h"

#include "base/minmax.h"
#include "base/string.h"
#include "failing_memory.h"

#include <string.h>

enum { LINES = 120 };

/* Lines made by `line` for n = 0, 1, …; the settings given as keys and values in turn. */
typedef struct data_case {
    const char *task;
    const char *const *given;
    void (*line)(att_string *out, int n);
    int lines;
} data_case;

/* ---- kinds of lines */

static void put(att_string *out, const char *text)
{
    assert_int_equal(att_string_puts(out, text), ATT_OK);
}

/* Seven letters that differ from line to line. */
static void put_name(att_string *out, int n)
{
    uint32_t mixed = 2654435761U * (uint32_t)(n + 1);
    for (int i = 0; i < 7; i++, mixed = mixed / 23 + mixed * 31)
        assert_int_equal(att_string_printf(out, "%c", 'a' + (int)(mixed % 23)), ATT_OK);
}

static void names(att_string *out, int n)
{
    put_name(out, n);
    put(out, "\t");
    put_name(out, n + 1);
    put(out, "\n");
}

/* A name, and its sounds as symbols between spaces. */
static void phonemes(att_string *out, int n)
{
    static const char *const sounds[] = { "AH0", "B", "EY1", "T", "NG" };
    put_name(out, n);
    for (int i = 0; i < 4; i++) {
        put(out, i ? " " : "\t");
        put(out, sounds[(n + i * i) % 5]);
    }
    put(out, "\n");
}

/* Few words, with punctuation that is not a word of its own. */
static void sentences(att_string *out, int n)
{
    static const char *const words[] = { "walk", "jump", "look", "twice", "left" };
    for (int i = 0; i < 5; i++) {
        put(out, i ? " " : "");
        put(out, words[(n + i * i) % 5]);
    }
    put(out, "!\tab\n");
}

/* Few words among many that occur once. */
static void rare_sentences(att_string *out, int n)
{
    for (int i = 0; i < 4; i++) {
        put_name(out, 4 * n + i);
        put(out, " ");
    }
    put(out, "\tab\n");
}

/* Each of 20 Devanagari letters with each of 10 vowel signs: 200 clusters. */
static void devanagari(att_string *out, int n)
{
    put(out, "ab\t");
    for (int i = 0; i < 3; i++) {
        int letter = 0x915 + (3 * n + i) % 20, sign = 0x93E + (3 * n + i) / 20 % 10;
        assert_int_equal(att_string_printf(out, "\xE0\xA4%c\xE0%c%c", 0x80 + (letter & 0x3F),
                                           0xA4 + (sign >= 0x940), 0x80 + (sign & 0x3F)),
                         ATT_OK);
    }
    put(out, "\n");
}

/* ---- choosing */

static att_settings *settings_of(const data_case *c)
{
    att_settings *settings;
    assert_int_equal(att_settings_new(&settings, c->task, NULL), ATT_OK);
    for (int i = 0; c->given && c->given[i]; i += 2)
        assert_int_equal(att_settings_set(settings, c->given[i], c->given[i + 1], NULL), ATT_OK);
    return settings;
}

static void assert_chosen(data_case c, const char *source, const char *target, const char *told)
{
    att_settings *settings = settings_of(&c);
    att_data data = { 0 };
    att_pair_text text = { .tsv.name = "f" };
    for (int n = 0; n < c.lines; n++)
        c.line(&text.tsv.text, n);
    assert_int_equal(att_data_choose_tokens(&data, settings, &text, NULL), ATT_OK);
    assert_string_equal(att_tokenizer_kind_names[settings->source_tokens], source);
    assert_string_equal(att_tokenizer_kind_names[settings->target_tokens], target);
    assert_string_equal(data.choices.data ? data.choices.data : "", told);
    att_data_free(&data);
    att_pair_text_free(&text);
    att_settings_free(settings);
}

#define GIVEN(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void names_are_characters(void **state)
{
    (void)state;
    assert_chosen((data_case){ "pairs", NULL, names, LINES }, "char", "char", "");
}

static void symbols_between_spaces_are_tokens(void **state)
{
    (void)state;
    assert_chosen((data_case){ "pairs", NULL, phonemes, LINES }, "char", "space",
                  "chosen      target-tokens space: 5 different words in 120 lines of 4.0 on "
                  "average\n");
}

static void punctuation_makes_words(void **state)
{
    (void)state;
    assert_chosen((data_case){ "pairs", NULL, sentences, LINES }, "word", "char",
                  "chosen      source-tokens word: 10 different words in 120 lines of 5.0 on "
                  "average\n");
}

static void letters_with_many_signs_are_code_points(void **state)
{
    (void)state;
    assert_chosen((data_case){ "pairs", NULL, devanagari, LINES }, "char", "codepoint",
                  "chosen      target-tokens codepoint: 200 different characters of only 30 code "
                  "points\n");
}

static void rare_words_are_characters_with_a_hint(void **state)
{
    (void)state;
    assert_chosen((data_case){ "pairs", NULL, rare_sentences, LINES }, "char", "char",
                  "hint        4.0 words a line: try source-tokens bpe (or word) instead of "
                  "characters\n");
}

static void what_is_given_stays(void **state)
{
    (void)state;
    assert_chosen((data_case){ "pairs", GIVEN("target-tokens", "char"), phonemes, LINES }, "char",
                  "char", "");
    assert_chosen((data_case){ "translate", NULL, phonemes, LINES }, "bpe", "bpe", "");
}

static void few_lines_choose_nothing(void **state)
{
    (void)state;
    assert_chosen((data_case){ "pairs", NULL, phonemes, 99 }, "char", "char",
                  "hint        4.0 words a line: try target-tokens word (or space) instead of "
                  "characters\n");
    assert_chosen((data_case){ "pairs", NULL, phonemes, 0 }, "char", "char", "");
}

/* One vocabulary for both sides: both are looked at together. */
static void joint_sides_get_the_same_tokens(void **state)
{
    (void)state;
    assert_chosen((data_case){ "pairs", GIVEN("joint", "yes"), devanagari, LINES }, "codepoint",
                  "codepoint",
                  "chosen      source-tokens codepoint: 202 different characters of only 32 code "
                  "points\n"
                  "chosen      target-tokens codepoint: 202 different characters of only 32 code "
                  "points\n");
}

/* Reading tells what is wrong with them. */
static void lines_that_cannot_be_read_are_left_out(void **state)
{
    (void)state;
    static char bad[] = "no tab\n\xFF\tb c d\n";
    att_settings *settings = settings_of(&(data_case){ .task = "pairs" });
    att_data data = { 0 };
    att_pair_text text = { .tsv = { "f", { .data = bad, .length = sizeof bad - 1 } } };
    assert_int_equal(att_data_choose_tokens(&data, settings, &text, NULL), ATT_OK);
    assert_null(data.choices.data);
    att_settings_free(settings);
}

/* ---- sentences */

enum { SOME_LINES = 1000, MANY_LINES = 10000 };

/* Sentences of rare words on both sides. */
static void translations(att_string *out, int n)
{
    for (int i = 0; i < 8; i++) {
        put_name(out, 8 * n + i);
        put(out, i == 3 ? "\t" : i == 7 ? "\n" : " ");
    }
}

static void sentences_are_trained_as_translate_does(void **state)
{
    (void)state;
    assert_chosen(
        (data_case){ "pairs", NULL, translations, MANY_LINES }, "bpe", "bpe",
        "chosen      as for translate: sentences of 4.0 and 4.0 words, most of them rare\n"
        "            architecture transformer, dropout 0.3, source-tokens bpe, target-tokens bpe,\n"
        "            bpe-merges 10000, joint yes, tie-embeddings all, attention-dropout 0.1,\n"
        "            learning-rate 0.005, warmup 1000, epochs 60, batch-tokens 4096, "
        "best-metric loss,\n"
        "            average-checkpoints 5\n");
}

/* Their size would halve the batch otherwise, and choose other epochs. */
static void sentences_keep_the_batch_and_the_epochs_of_translate(void **state)
{
    (void)state;
    data_case c = { "pairs", NULL, translations, MANY_LINES };
    att_settings *settings = settings_of(&c);
    att_data data = { .train = { .pairs = MANY_LINES,
                                 .stats = { .source.tokens = 9 * MANY_LINES } } };
    att_pair_text text = { .tsv.name = "f" };
    for (int n = 0; n < c.lines; n++)
        c.line(&text.tsv.text, n);
    assert_int_equal(att_data_choose_tokens(&data, settings, &text, NULL), ATT_OK);
    size_t told = data.choices.length;
    assert_int_equal(att_data_choose_run(&data, settings, NULL), ATT_OK);
    assert_int_equal(settings->batch_tokens, 4096);
    assert_int_equal(settings->epochs, 60);
    assert_int_equal(data.choices.length, told);
    att_string_free(&data.choices);
    att_pair_text_free(&text);
    att_settings_free(settings);
}

static void few_sentences_are_subwords_of_an_rnn(void **state)
{
    (void)state;
    assert_chosen(
        (data_case){ "pairs", NULL, translations, SOME_LINES }, "bpe", "bpe",
        "chosen      source-tokens bpe: sentences of 4.0 and 4.0 words, most of them rare\n"
        "chosen      target-tokens bpe: sentences of 4.0 and 4.0 words, most of them rare\n"
        "chosen      bpe-merges 2000: 1000 sentences\n");
    assert_chosen(
        (data_case){ "pairs", GIVEN("bpe-merges", "300"), translations, SOME_LINES }, "bpe", "bpe",
        "chosen      source-tokens bpe: sentences of 4.0 and 4.0 words, most of them rare\n"
        "chosen      target-tokens bpe: sentences of 4.0 and 4.0 words, most of them rare\n");
}

/* A given setting of an RNN keeps the RNN; given values stay. */
static void given_settings_hold_among_sentences(void **state)
{
    (void)state;
    const char *const given[] = { "rnn-cell", "gru", "dropout", "0.15", "epochs", "7", NULL };
    data_case c = { "pairs", given, translations, MANY_LINES };
    att_settings *settings = settings_of(&c);
    att_data data = { 0 };
    att_pair_text text = { .tsv.name = "f" };
    for (int n = 0; n < c.lines; n++)
        c.line(&text.tsv.text, n);
    assert_int_equal(att_data_choose_tokens(&data, settings, &text, NULL), ATT_OK);
    assert_int_equal(settings->architecture, ATT_ARCHITECTURE_RNN);
    assert_int_equal(settings->source_tokens, ATT_TOKENIZER_BPE);
    assert_true(settings->dropout == 0.15);
    assert_int_equal(settings->epochs, 7);
    assert_true(settings->joint);
    att_data_free(&data);
    att_pair_text_free(&text);
    att_settings_free(settings);
}

/* Two parallel files are looked at as one file is. */
static void parallel_files_are_sentences_too(void **state)
{
    (void)state;
    data_case c = { "pairs", NULL, translations, MANY_LINES };
    att_settings *settings = settings_of(&c);
    att_data data = { 0 };
    att_pair_text text = { .source.name = "s", .target.name = "t" };
    for (int n = 0; n < c.lines; n++)
        for (int i = 0; i < 4; i++) {
            put_name(&text.source.text, 4 * n + i);
            put(&text.source.text, i == 3 ? "\n" : " ");
            put_name(&text.target.text, 4 * n + i + 1);
            put(&text.target.text, i == 3 ? "\n" : " ");
        }
    assert_int_equal(att_data_choose_tokens(&data, settings, &text, NULL), ATT_OK);
    assert_int_equal(settings->architecture, ATT_ARCHITECTURE_TRANSFORMER);
    att_data_free(&data);
    att_pair_text_free(&text);
    att_settings_free(settings);
}

/* ---- copying */

/* A name and the name with an ending. */
static void forms(att_string *out, int n)
{
    put_name(out, n);
    put(out, "\t");
    put_name(out, n);
    put(out, "ed\n");
}

/* Sentences of two languages that share most of their characters. */
static void other_words(att_string *out, int n)
{
    put(out, "the cat sees a red house ");
    put_name(out, n);
    put(out, "\ta red house the cat ");
    put_name(out, n);
    put(out, "\n");
}

static void assert_copying(data_case c, bool copies, const char *told)
{
    att_settings *settings = settings_of(&c);
    att_data data = { 0 };
    att_pair_text text = { .tsv.name = "f" };
    for (int n = 0; n < c.lines; n++)
        c.line(&text.tsv.text, n);
    assert_int_equal(att_data_choose_copy(&data, settings, &text, NULL), ATT_OK);
    assert_int_equal(settings->copy, copies);
    assert_string_equal(data.choices.data ? data.choices.data : "", told);
    att_data_free(&data);
    att_pair_text_free(&text);
    att_settings_free(settings);
}

/* The first pair is too long to be trained on, and repeats nothing. */
static void forms_after_a_long_line(att_string *out, int n)
{
    for (int side = 0; n == 0 && side < 2; side++) {
        for (int i = 0; i < 3000; i++)
            put(out, side ? "y" : "x");
        put(out, side ? "\n" : "\t");
    }
    forms(out, n);
}

static void few_pairs_that_repeat_their_source_are_copied(void **state)
{
    (void)state;
    assert_copying(
        (data_case){ "pairs", NULL, forms, LINES }, true,
        "chosen      copy yes: only 120 pairs, and 84 % of the target tokens are in their "
        "source\n");
    assert_copying(
        (data_case){ "pairs", NULL, forms_after_a_long_line, LINES }, true,
        "chosen      copy yes: only 120 pairs, and 84 % of the target tokens are in their "
        "source\n");
    assert_copying((data_case){ "pairs", NULL, names, LINES }, false, "");
    assert_copying((data_case){ "pairs", NULL, forms, 99 }, false, "");
    assert_copying((data_case){ "pairs", NULL, forms, 5000 }, false, "");
    assert_copying((data_case){ "pairs", GIVEN("copy", "no"), forms, LINES }, false, "");
    assert_copying((data_case){ "pairs", GIVEN("attention", "none"), forms, LINES }, false, "");
    assert_copying((data_case){ "pairs", GIVEN("attention", "fixed"), forms, LINES }, false, "");
    assert_copying((data_case){ "pairs", GIVEN("normalizer", "sigmoid"), forms, LINES }, false, "");
    assert_copying((data_case){ "pairs", GIVEN("consistency", "1"), forms, LINES }, false, "");
    assert_copying((data_case){ "pairs", GIVEN("target-tokens", "word"), forms, LINES }, false, "");
    assert_copying((data_case){ "translate", NULL, forms, LINES }, false, "");
    assert_copying((data_case){ "pairs", NULL, other_words, LINES }, false, "");
    assert_copying((data_case){ "pairs", GIVEN("source-tokens", "space", "target-tokens", "space"),
                                other_words, LINES },
                   true,
                   "chosen      copy yes: only 120 pairs, and 100 % of the target tokens are in "
                   "their source\n");
}

/* ---- batch, model and run */

typedef struct run_case {
    int64_t pairs, tokens;
    const char *const *given;
} run_case;

static void assert_run(run_case c, const char *told)
{
    att_settings *settings = settings_of(&(data_case){ .task = "pairs", .given = c.given });
    att_data data = { .train = { .pairs = c.pairs,
                                 .stats = { .source.tokens = c.tokens, .target.tokens = 5 } } };
    assert_int_equal(att_data_choose_run(&data, settings, NULL), ATT_OK);
    assert_string_equal(data.choices.data ? data.choices.data : "", told);
    att_string_free(&data.choices);
    att_settings_free(settings);
}

#define EPOCHS "epochs", "5"

static void small_data_get_small_batches(void **state)
{
    (void)state;
    assert_run((run_case){ 100, 2048 * 200, GIVEN(EPOCHS) }, "");
    assert_run((run_case){ 100, 2048 * 200 - 1, GIVEN(EPOCHS) },
               "chosen      batch-tokens 1024: 2048 would make only about 200 steps an epoch\n");
    assert_run((run_case){ 100, 2048 * 20, GIVEN(EPOCHS) },
               "chosen      batch-tokens 512: 2048 would make only about 20 steps an epoch\n");
    assert_run((run_case){ 100, 2048 * 20, GIVEN(EPOCHS, "batch-tokens", "2048") }, "");
    assert_run((run_case){ 100, 2048 * 20, GIVEN(EPOCHS, "batch-tokens", "300") }, "");
}

#define FEEDING                                                                                    \
    "chosen      attention additive: 50000 pairs\n"                                                \
    "chosen      attention-context both: 50000 pairs\n"

static void many_pairs_get_a_larger_model(void **state)
{
    (void)state;
    assert_run((run_case){ 4999, 2048 * 400, GIVEN(EPOCHS) }, "");
    assert_run((run_case){ 5000, 2048 * 400, GIVEN(EPOCHS) }, "chosen      layers 2: 5000 pairs\n");
    assert_run((run_case){ 50000, 2048 * 400, GIVEN(EPOCHS) },
               "chosen      layers 2: 50000 pairs\n"
               "chosen      hidden-size 320: 50000 pairs\n"
               "chosen      dropout 0.3: 50000 pairs\n" FEEDING);
    assert_run((run_case){ 50000, 2048 * 400, GIVEN(EPOCHS, "dropout", "0.1") },
               "chosen      layers 2: 50000 pairs\n"
               "chosen      hidden-size 320: 50000 pairs\n" FEEDING);
    assert_run((run_case){ 50000, 2048 * 400, GIVEN(EPOCHS, "hidden-size", "100") }, FEEDING);
    assert_run(
        (run_case){ 50000, 2048 * 400, GIVEN(EPOCHS, "hidden-size", "100", "attention", "dot") },
        "");
    assert_run((run_case){ 50000, 2048 * 400,
                           GIVEN(EPOCHS, "hidden-size", "100", "attention-context", "state") },
               "");
    assert_run((run_case){ 50000, 2048 * 400, GIVEN(EPOCHS, "architecture", "transformer") }, "");
}

static void epochs_follow_the_steps_of_one(void **state)
{
    (void)state;
    assert_run((run_case){ 100, 512 * 10, NULL },
               "chosen      batch-tokens 512: 2048 would make only about 3 steps an epoch\n"
               "chosen      epochs 100: about 10 steps an epoch, 1000 in all\n");
    assert_run((run_case){ 100, 2048 * 200, NULL },
               "chosen      epochs 30: about 200 steps an epoch, 6000 in all\n");
    assert_run((run_case){ 100, 2048 * 4000, NULL },
               "chosen      epochs 24: about 4000 steps an epoch, 96000 in all\n");
    assert_run((run_case){ 100, 2048 * 4000, GIVEN("steps", "10") }, "");
}

/* ---- memory */

/* The text is made once, outside of what fails. */
static att_status choose(void *context)
{
    att_settings *settings;
    att_data data = { 0 };
    att_status status = att_settings_new(&settings, "pairs", NULL);
    if (status == ATT_OK)
        status = att_data_choose_tokens(&data, settings, context, NULL);
    if (status == ATT_OK)
        status = att_data_choose_copy(&data, settings, context, NULL);
    att_data_free(&data);
    att_settings_free(settings);
    return status;
}

static void memory_may_run_out(void **state)
{
    (void)state;
    void (*const kinds[])(att_string *, int) = { phonemes, forms, translations };
    for (size_t kind = 0; kind < ATT_COUNT(kinds); kind++) {
        att_pair_text text = { .tsv.name = "f" };
        for (int n = 0; n < (kind == 2 ? SOME_LINES : LINES); n++)
            kinds[kind](&text.tsv.text, n);
        every_allocation_fails(choose, &text, 2000);
        att_pair_text_free(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_characters),
        cmocka_unit_test(symbols_between_spaces_are_tokens),
        cmocka_unit_test(punctuation_makes_words),
        cmocka_unit_test(letters_with_many_signs_are_code_points),
        cmocka_unit_test(rare_words_are_characters_with_a_hint),
        cmocka_unit_test(what_is_given_stays),
        cmocka_unit_test(few_lines_choose_nothing),
        cmocka_unit_test(joint_sides_get_the_same_tokens),
        cmocka_unit_test(lines_that_cannot_be_read_are_left_out),
        cmocka_unit_test(sentences_are_trained_as_translate_does),
        cmocka_unit_test(sentences_keep_the_batch_and_the_epochs_of_translate),
        cmocka_unit_test(few_sentences_are_subwords_of_an_rnn),
        cmocka_unit_test(given_settings_hold_among_sentences),
        cmocka_unit_test(parallel_files_are_sentences_too),
        cmocka_unit_test(few_pairs_that_repeat_their_source_are_copied),
        cmocka_unit_test(many_pairs_get_a_larger_model),
        cmocka_unit_test(epochs_follow_the_steps_of_one),
        cmocka_unit_test(small_data_get_small_batches),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
