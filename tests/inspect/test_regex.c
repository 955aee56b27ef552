/* Regular expressions of properties: what they match, and what is refused. */
#include "inspect/regex.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* `expected` has x at every byte of a match. */
static const struct {
    const char *pattern, *text, *expected;
} matches[] = {
    { "b", "abcb", "-x-x" },
    { "ab|cd", "abcd ad", "xxxx---" },
    { "a|ab|abc", "abcd", "xxx-" },
    { "a*", "baab", "-xx-" },
    { "ba+", "b ba baaa", "--xx-xxxx" },
    { "colou?r", "color colour", "xxxxx-xxxxxx" },
    { "a{2}", "a aa aaa", "--xx-xx-" },
    { "a{2,}", "a aa aaa", "--xx-xxx" },
    { "a{1,2}b", "ab aab aaab", "xx-xxx--xxx" },
    { "(ab){2}", "ab abab", "---xxxx" },
    { "(a|bc){0,2}d", "d abcd", "x-xxxx" },
    { "[a-c]+", "xabcx", "-xxx-" },
    { "[^a-c ]+", "abcd ef", "---x-xx" },
    { "[]a]", "]a[", "xx-" },
    { "[a-]", "-ab", "xx-" },
    { "\\d+", "a12 3", "-xx-x" },
    { "\\w+", "it's", "xx-x" },
    { "\\D", "1a", "-x" },
    { "[\\d.]+", "v1.2!", "-xxx-" },
    { "\\(\\)", "f()", "-xx" },
    { "^a", "aa\naa", "x--x-" },
    { "a$", "aa\naa", "-x--x" },
    { "a.c", "abc a\nc", "xxx----" },
    { "é+", "éé", "xxxx" },
    { "[à-é]", "aé", "-xx" },
    { "“[^”]*”", "a “b” c", "--xxxxxxx--" },
    { "(a*)*b", "aaab aaa", "xxxx----" },
    { "(a|)(b|)c", "abc c", "xxx-x" },
};

static void a_pattern_marks_its_leftmost_longest_matches(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof matches / sizeof *matches; i++) {
        att_regex *regex;
        att_error err = { 0 };
        uint8_t marks[64];
        char found[64] = "";
        size_t length = strlen(matches[i].text);
        if (att_regex_new(&regex, matches[i].pattern, &err) != ATT_OK)
            fail_msg("%s: %s", matches[i].pattern, err.message);
        assert_int_equal(att_regex_mark(regex, matches[i].text, length, marks, &err), ATT_OK);
        for (size_t j = 0; j < length; j++)
            found[j] = marks[j] ? 'x' : '-';
        if (strcmp(found, matches[i].expected) != 0)
            fail_msg("%s in '%s': %s, expected %s", matches[i].pattern, matches[i].text, found,
                     matches[i].expected);
        att_regex_free(regex);
    }
}

static void a_bad_pattern_is_refused_with_its_column(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { "", "column 1 of the pattern '': the pattern is empty" },
        { "a(\r", "column 4 of the pattern 'a(\\x0D': expected )" },
        { "a(b", "column 4 of the pattern 'a(b': expected )" },
        { "a)", "column 2 of the pattern 'a)': unexpected )" },
        { "[ab", "column 4 of the pattern '[ab': expected ] at the end of the class" },
        { "*a", "column 1 of the pattern '*a': nothing to repeat" },
        { "a**", "column 3 of the pattern 'a**': a repetition cannot be repeated; use a group" },
        { "[z-a]",
          "column 5 of the pattern '[z-a]': the range of the class ends before it begins" },
        { "\\1",
          "column 2 of the pattern '\\1': unknown escape; expected \\d, \\w, \\s, \\n, \\t or "
          "\\ before a sign" },
        { "a\\", "column 3 of the pattern 'a\\': expected a character after \\" },
        { "a{2,1}", "column 2 of the pattern 'a{2,1}': expected 0 <= m <= n <= 200 in {m,n}" },
        { "a{x}", "column 2 of the pattern 'a{x}': expected {m}, {m,} or {m,n}" },
        { "\xff", "column 1 of the pattern '\\xFF': expected UTF-8" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        att_regex *regex;
        att_error err = { 0 };
        assert_int_equal(att_regex_new(&regex, cases[i][0], &err), ATT_BAD_INPUT);
        assert_null(regex);
        assert_string_equal(err.message, cases[i][1]);
    }
    att_regex *regex;
    assert_int_equal(att_regex_new(&regex, "((a{100}){100}){100}", NULL), ATT_BAD_INPUT);
}

/* Backtracking engines take 2^n steps for such a pattern. */
static void a_pattern_that_explodes_elsewhere_takes_linear_time(void **state)
{
    (void)state;
    enum { LENGTH = 20000 };
    static char text[LENGTH];
    static uint8_t marks[LENGTH];
    att_regex *regex;
    memset(text, 'a', LENGTH);
    assert_int_equal(att_regex_new(&regex, "^(a|a|aa)*(a*)*b$", NULL), ATT_OK);
    assert_int_equal(att_regex_mark(regex, text, LENGTH, marks, NULL), ATT_OK);
    assert_null(memchr(marks, 1, LENGTH));
    att_regex_free(regex);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pattern_marks_its_leftmost_longest_matches),
        cmocka_unit_test(a_bad_pattern_is_refused_with_its_column),
        cmocka_unit_test(a_pattern_that_explodes_elsewhere_takes_linear_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
