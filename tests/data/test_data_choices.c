/* Settings that nobody gave are chosen by the data: kinds of tokens and the batch size. */
#include "data/data_choices.h"

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
    assert_chosen((data_case){ "pairs", NULL, phonemes, 99 }, "char", "char", "");
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

/* ---- batches */

static void assert_batch(int64_t tokens, const char *const *given, int64_t batch, const char *told)
{
    att_settings *settings = settings_of(&(data_case){ .task = "pairs", .given = given });
    att_data data = { .train = { .pairs = 100,
                                 .stats = { .source.tokens = tokens, .target.tokens = 5 } } };
    assert_int_equal(att_data_choose_batch(&data, settings, NULL), ATT_OK);
    assert_int_equal(settings->batch_tokens, batch);
    assert_string_equal(data.choices.data ? data.choices.data : "", told);
    att_string_free(&data.choices);
    att_settings_free(settings);
}

static void small_data_get_small_batches(void **state)
{
    (void)state;
    assert_batch(2048 * 200, NULL, 2048, "");
    assert_batch(2048 * 200 - 1, NULL, 1024,
                 "chosen      batch-tokens 1024: 2048 would make only about 200 steps an epoch\n");
    assert_batch(2048 * 20, NULL, 512,
                 "chosen      batch-tokens 512: 2048 would make only about 20 steps an epoch\n");
    assert_batch(2048 * 20, GIVEN("batch-tokens", "2048"), 2048, "");
    assert_batch(2048 * 20, GIVEN("batch-tokens", "300"), 300, "");
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
    att_data_free(&data);
    att_settings_free(settings);
    return status;
}

static void memory_may_run_out(void **state)
{
    (void)state;
    att_pair_text text = { .tsv.name = "f" };
    for (int n = 0; n < LINES; n++)
        phonemes(&text.tsv.text, n);
    every_allocation_fails(choose, &text, 2000);
    att_pair_text_free(&text);
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
        cmocka_unit_test(small_data_get_small_batches),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
