/* Properties of places in a text, marked by hand beneath it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "inspect/properties.h"

#include <stdio.h>
#include <string.h>

static const att_property *find(const char *name)
{
    for (int i = 0; i < att_property_count; i++)
        if (strcmp(att_properties[i].name, name) == 0)
            return &att_properties[i];
    fail_msg("no property %s", name);
    return NULL;
}

/* `wanted` has a sign for each character of the text: a digit, or '.' for 0. */
static void assert_marks(const char *name, const char *text, const char *wanted)
{
    const att_property *property = find(name);
    att_scanner scan;
    char found[1000] = "";
    size_t count = 0;
    att_scanner_start(&scan, text, strlen(text));
    while (att_scanner_next(&scan) > 0 && count < sizeof found - 1) {
        double value = property->value(&scan);
        assert_true(value >= 0 && value < 36 && value == (int)value);
        assert_true(!property->is_binary || value <= 1);
        found[count++] = ".123456789abcdefghijklmnopqrstuvwxyz"[(int)value];
    }
    if (strcmp(found, wanted) != 0)
        fail_msg("%s:\n%s\nfound:\n%s\nwanted:\n%s", name, text, found, wanted);
}

static void columns_count_characters_and_begin_again_after_a_line(void **state)
{
    (void)state;
    assert_marks("column", "ab\n\né日\n", "12..12.");
    assert_marks("line-end", "1234567890\n12\nx", "....11111111111");
    assert_marks("newline", "a\n\nb", ".11.");
    assert_marks("column", "ab\r\n\r\nc", "12..1");
    assert_marks("line-end", "1234567\r\n1", ".11111111");
    assert_marks("directive", "#a\\\r\nb\r\nc", "11111..");
}

static void indentation_is_the_lines_own_from_the_first_letter_to_the_end(void **state)
{
    (void)state;
    assert_marks("indent", "a\n  b c\n\td\n", "..12222.88.");
    assert_marks("indent", " \tx\n", "188.");
}

static void quotations_open_and_close_and_end_with_the_paragraph(void **state)
{
    (void)state;
    assert_marks("quotes", "a \"bc\" d", "..111...");
    assert_marks("quotes", "“é” «x»", "11..11.");
    assert_marks("quotes", "\"a\nb\n\nc", "11111..");
    assert_marks("quotes", "\"a\r\nb\r\n\r\nc", "11111.."); /* a line of DOS has one end */
    assert_marks("quotes", "\"a\n \t\nc", "11111..");
}

static void comments_of_both_kinds_are_known_and_their_signs_in_strings_are_not(void **state)
{
    (void)state;
    assert_marks("comment", "a/*b*/c", "..111..");
    assert_marks("comment", "/*/ */x", ".1111..");
    assert_marks("comment", "a//b\nc", ".111..");
    assert_marks("comment", "\"/*\" x", "......");
    assert_marks("comment", "http://x", "........");
    assert_marks("comment", "/* // */x", ".111111..");
}

static void literals_end_where_they_are_closed_and_not_where_that_is_escaped(void **state)
{
    (void)state;
    assert_marks("literal", "a\"b\\\"c\"d", ".11111..");
    assert_marks("literal", "'\\'' + 'x'", "111....11.");
    assert_marks("literal", "\"a\nb", "11..");
    assert_marks("literal", "don't x", ".......");
}

static void conditions_of_ifs_end_with_their_own_bracket(void **state)
{
    (void)state;
    assert_marks("condition", "if (a(b)) c", "...11111...");
    assert_marks("condition", "f(a) if(b)", ".......11.");
    assert_marks("condition", "elif (b)", "........");
    assert_marks("condition", "while (b)", ".........");
}

static void brackets_are_counted_in_code_alone(void **state)
{
    (void)state;
    assert_marks("round", "a((b)c)", ".12211.");
    assert_marks("brackets", "{[(x)]}", "123321.");
    assert_marks("curly", "{ '}' /*}*/ }", "111111111111.");
    assert_marks("square", "a[b[1]]]", ".11221..");
    assert_marks("curly", "{{\n}x", "122..");
    assert_marks("round", "f(\n\n)", ".11..");
}

static void assignments_reach_to_the_semicolon_and_are_not_comparisons(void **state)
{
    (void)state;
    assert_marks("assigned", "a = b; c", "..111...");
    assert_marks("assigned", "a == b <= c", "...........");
    assert_marks("assigned", "a += b;", "...111.");
}

static void directives_go_on_behind_a_backslash(void **state)
{
    (void)state;
    assert_marks("directive", "#if a\nb", "11111..");
    assert_marks("directive", " #a \\\nb\nc # d", ".111111......");
}

static void numbers_words_and_urls_are_told_apart(void **state)
{
    (void)state;
    assert_marks("number", "a1 0x2f, 3.14. b", "...1111..1111...");
    assert_marks("word", "ab, c_d", "11..111");
    assert_marks("word-place", "ab, c_d é日", "12..123.12");
    assert_marks("url", "see http://a.b/c?d=1 or (www.x.y)", "....1111111111111111.....1111111.");
    assert_marks("url", "nowww.x", ".......");
    assert_marks("capital", "Ab ÉÄ ЖЩ ×Z", "1..11.11..1");
    assert_marks("capitals", "Ab ABC_2 A 12", "....1111.....");
    assert_marks("punctuation", "a, b_(c)", ".1...1.1");
    assert_marks("blank", "a b\t\n", ".1.11");
}

static void sentences_begin_after_a_stop_and_a_blank(void **state)
{
    (void)state;
    assert_marks("sentence-start", "Go on. \"He is\" 3.5 x", "11......11..........");
    assert_marks("sentence-words", "a b. c\n\nd", "1122.11.1");
}

static void bytes_that_are_no_text_are_read_one_by_one(void **state)
{
    (void)state;
    static const char bytes[] = "a\xff\0\xc3";
    att_scanner scan;
    att_scanner_start(&scan, bytes, sizeof bytes - 1);
    size_t count = 0;
    while (att_scanner_next(&scan) > 0)
        count++;
    assert_int_equal(count, 4);
    assert_int_equal(scan.column, 4);
    att_scanner_start(&scan, "", 0);
    assert_int_equal(att_scanner_next(&scan), 0);
}

static void every_property_has_a_name_of_its_own_and_says_what_it_is(void **state)
{
    (void)state;
    for (int i = 0; i < att_property_count; i++) {
        assert_true(strlen(att_properties[i].help) > 3);
        for (int j = 0; j < i; j++)
            assert_string_not_equal(att_properties[i].name, att_properties[j].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_count_characters_and_begin_again_after_a_line),
        cmocka_unit_test(indentation_is_the_lines_own_from_the_first_letter_to_the_end),
        cmocka_unit_test(quotations_open_and_close_and_end_with_the_paragraph),
        cmocka_unit_test(comments_of_both_kinds_are_known_and_their_signs_in_strings_are_not),
        cmocka_unit_test(literals_end_where_they_are_closed_and_not_where_that_is_escaped),
        cmocka_unit_test(conditions_of_ifs_end_with_their_own_bracket),
        cmocka_unit_test(brackets_are_counted_in_code_alone),
        cmocka_unit_test(assignments_reach_to_the_semicolon_and_are_not_comparisons),
        cmocka_unit_test(directives_go_on_behind_a_backslash),
        cmocka_unit_test(numbers_words_and_urls_are_told_apart),
        cmocka_unit_test(sentences_begin_after_a_stop_and_a_blank),
        cmocka_unit_test(bytes_that_are_no_text_are_read_one_by_one),
        cmocka_unit_test(every_property_has_a_name_of_its_own_and_says_what_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
