/* Synthetic string tasks. */
#include "data/synthetic_strings.h"

#include "base/alloc.h"
#include "text/lines.h"
#include "base/string.h"
#include "failing_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

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

typedef struct strings {
    att_string train, valid;
} strings;

static strings make(const char *const *given)
{
    att_settings *settings = settings_of(given);
    strings out = { 0 };
    att_error err = { 0 };
    if (att_task_generate(&out.train, &out.valid, settings, &err) != ATT_OK)
        fail_msg("%s", err.message);
    att_settings_free(settings);
    return out;
}

static void free_strings(strings *got)
{
    att_string_free(&got->train);
    att_string_free(&got->valid);
}

static void assert_refused(const char *const *given, const char *message)
{
    att_settings *settings = settings_of(given);
    strings out = { 0 };
    att_error err = { 0 };
    size_t live = att_alloc_live();
    assert_int_equal(att_task_generate(&out.train, &out.valid, settings, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, message);
    assert_int_equal(att_alloc_live(), live);
    att_settings_free(settings);
}

/* Calls `check` with source and target of each line. */
static int for_each(const att_string *text, void (*check)(const char *source, const char *target))
{
    att_line_reader lines = att_line_reader_start(text->data, text->length);
    att_line_view line;
    while (att_line_reader_next(&lines, &line)) {
        char copy[256];
        assert_true(line.length < sizeof copy);
        memcpy(copy, line.text, line.length);
        copy[line.length] = '\0';
        char *tab = strchr(copy, '\t');
        assert_non_null(tab);
        *tab = '\0';
        check(copy, tab + 1);
    }
    return (int)lines.number;
}

static void is_reversed(const char *source, const char *target)
{
    size_t length = strlen(source);
    assert_true(length >= 2 && length <= 9 && length == strlen(target));
    assert_int_equal(strspn(source, "abcd"), length);
    for (size_t i = 0; i < length; i++)
        assert_int_equal(source[i], target[length - 1 - i]);
}

static void is_copied(const char *source, const char *target)
{
    assert_string_equal(source, target);
}

/* In the order of the alphabet "zyx". */
static void is_sorted(const char *source, const char *target)
{
    assert_int_equal(strlen(source), strlen(target));
    for (size_t i = 1; target[i]; i++)
        assert_true(target[i - 1] >= target[i]);
    for (const char *letter = "zyx"; *letter; letter++) {
        int more = 0;
        for (size_t i = 0; source[i]; i++)
            more += (source[i] == *letter) - (target[i] == *letter);
        assert_int_equal(more, 0);
    }
}

static void each_task_does_what_its_name_says(void **state)
{
    (void)state;
    strings got = make(GIVEN("reverse", "min-string-length", "2", "max-string-length", "9",
                             "train-count", "200", "valid-count", "50"));
    assert_int_equal(for_each(&got.train, is_reversed), 200);
    assert_int_equal(for_each(&got.valid, is_reversed), 50);
    free_strings(&got);
    got = make(GIVEN("copy", "train-count", "100"));
    assert_int_equal(for_each(&got.train, is_copied), 100);
    free_strings(&got);
    got = make(GIVEN("sort", "alphabet", "zyx", "train-count", "100", "valid-count", "10"));
    assert_int_equal(for_each(&got.train, is_sorted), 100);
    free_strings(&got);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void all_strings_are_different(void **state)
{
    (void)state;
    strings got =
        make(GIVEN("copy", "max-string-length", "6", "train-count", "1500", "valid-count", "500"));
    char *lines[2000];
    int count = 0;
    for (char *line = strtok(got.train.data, "\n"); line; line = strtok(NULL, "\n"))
        lines[count++] = line;
    for (char *line = strtok(got.valid.data, "\n"); line; line = strtok(NULL, "\n"))
        lines[count++] = line;
    assert_int_equal(count, 2000);
    qsort(lines, 2000, sizeof *lines, by_text);
    for (int i = 1; i < 2000; i++)
        assert_string_not_equal(lines[i - 1], lines[i]);
    free_strings(&got);
}

enum { LONGEST = 15 };
static int lengths[LONGEST + 1];

static void count_length(const char *source, const char *target)
{
    (void)target;
    size_t length = strlen(source);
    assert_in_range(length, 0, LONGEST);
    lengths[length]++;
}

/* Short strings are few; both sides must have some. */
static void short_strings_go_to_both_sides(void **state)
{
    (void)state;
    strings got = make(
        GIVEN("copy", "max-string-length", "15", "train-count", "5000", "valid-count", "5000"));
    for (int side = 0; side < 2; side++) {
        memset(lengths, 0, sizeof lengths);
        for_each(side ? &got.valid : &got.train, count_length);
        assert_true(lengths[2] > 0 && lengths[3] > 0);
        assert_int_equal(lengths[0], 0);
    }
    free_strings(&got);
}

static void lengths_are_uniform(void **state)
{
    (void)state;
    strings got = make(GIVEN("copy", "min-string-length", "6", "max-string-length", "15"));
    memset(lengths, 0, sizeof lengths);
    for_each(&got.train, count_length);
    for (int i = 8; i <= 15; i++) /* 1000 expected; 5 standard deviations are 150 */
        assert_in_range(lengths[i], 850, 1150);
    free_strings(&got);
}

static void a_seed_decides_everything(void **state)
{
    (void)state;
    strings one = make(GIVEN("reverse", "train-count", "50")),
            same = make(GIVEN("reverse", "train-count", "50")),
            other = make(GIVEN("reverse", "train-count", "50", "data-seed", "2"));
    assert_string_equal(one.train.data, same.train.data);
    assert_string_equal(one.valid.data, same.valid.data);
    assert_string_not_equal(one.train.data, other.train.data);
    free_strings(&one);
    free_strings(&same);
    free_strings(&other);
}

static void characters_may_be_of_any_script(void **state)
{
    (void)state;
    strings got = make(GIVEN("reverse", "alphabet", "äß", "min-string-length", "3",
                             "max-string-length", "3", "train-count", "3", "valid-count", "1"));
    att_line_reader lines = att_line_reader_start(got.train.data, got.train.length);
    att_line_view line;
    assert_true(att_line_reader_next(&lines, &line));
    assert_int_equal(line.length, 6 + 1 + 6);
    free_strings(&got);
}

static void characters_of_an_alphabet_must_stay_separate(void **state)
{
    (void)state;
    assert_refused(GIVEN("copy", "alphabet", "abca"), "alphabet: 'a' occurs twice");
    assert_refused(GIVEN("copy", "alphabet", "a b"),
                   "alphabet: ' ' is white space or a control character");
    assert_refused(GIVEN("copy", "alphabet", "  "), "alphabet has no characters");
    assert_refused(GIVEN("copy", "alphabet", "a\tb"),
                   "alphabet: '\\x09' is white space or a control character");
    assert_refused(GIVEN("copy", "alphabet", "가가"), "alphabet: '가' occurs twice");
    att_string many = { 0 };
    for (uint32_t code = 0x4E00; code < 0x4E00 + 1001; code++) /* Han characters */
        assert_int_equal(att_string_printf(&many, "%c%c%c", (int)(0xE0 | code >> 12),
                                           (int)(0x80 | (code >> 6 & 63)),
                                           (int)(0x80 | (code & 63))),
                         ATT_OK);
    assert_refused(GIVEN("copy", "alphabet", many.data), "alphabet has more than 1000 characters");
    att_string_free(&many);
    assert_refused(GIVEN("copy", "alphabet", "ᅡᄀ"),
                   "alphabet: 'ᅡ' merges with the character before it");
}

static void too_many_strings_are_refused(void **state)
{
    (void)state;
    assert_refused(GIVEN("copy", "alphabet", "ab", "max-string-length", "3", "train-count", "6",
                         "valid-count", "2"),
                   "train-count and valid-count ask for 8 different strings, more than half of "
                   "all: alphabet 'ab' has 14 strings of 1 to 3 characters");
    strings got = make(GIVEN("copy", "alphabet", "ab", "max-string-length", "3", "train-count", "5",
                             "valid-count", "2"));
    assert_int_equal(for_each(&got.train, is_copied), 5);
    assert_int_equal(for_each(&got.valid, is_copied), 2);
    free_strings(&got);
}

static att_status make_strings(void *settings)
{
    strings out = { 0 };
    att_status status = att_task_generate(&out.train, &out.valid, settings, NULL);
    free_strings(&out);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    att_settings *settings = settings_of(GIVEN("sort", "train-count", "3", "valid-count", "1"));
    every_allocation_fails(make_strings, settings, 50);
    att_settings_free(settings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_task_does_what_its_name_says),
        cmocka_unit_test(all_strings_are_different),
        cmocka_unit_test(short_strings_go_to_both_sides),
        cmocka_unit_test(lengths_are_uniform),
        cmocka_unit_test(a_seed_decides_everything),
        cmocka_unit_test(characters_may_be_of_any_script),
        cmocka_unit_test(characters_of_an_alphabet_must_stay_separate),
        cmocka_unit_test(too_many_strings_are_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
