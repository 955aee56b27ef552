/* Properties of text positions, compared with marks set by hand. */
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

/* `expected` has one digit per character of the text, with '.' for 0. */
static void assert_marks(const char *name, const char *text, const char *expected)
{
    const att_property *property = find(name);
    att_scanner scanner;
    char found[1000] = "";
    size_t count = 0;
    att_scanner_start(&scanner, text, strlen(text));
    while (att_scanner_next(&scanner) > 0 && count < sizeof found - 1) {
        double value = property->value(&scanner);
        assert_true(value >= 0 && value < 36 && value == (int)value);
        assert_true(!property->is_binary || value <= 1);
        found[count++] = ".123456789abcdefghijklmnopqrstuvwxyz"[(int)value];
    }
    if (strcmp(found, expected) != 0)
        fail_msg("%s:\n%s\nfound:\n%s\nexpected:\n%s", name, text, found, expected);
}

static void columns_count_characters_from_the_start_of_the_line(void **state)
{
    (void)state;
    assert_marks("column", "ab\n\né日\n", "12..12.");
    assert_marks("line-end", "1234567890\n12\nx", "....11111111111");
    assert_marks("newline", "a\n\nb", ".11.");
    assert_marks("column", "ab\r\n\r\nc", "12..1");
    assert_marks("line-end", "1234567\r\n1", ".11111111");
    assert_marks("directive", "#a\\\r\nb\r\nc", "11111..");
}

static void indentation_is_that_of_the_line_up_to_its_end(void **state)
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
    assert_marks("quotes", "\"a\r\nb\r\n\r\nc", "11111.."); /* CR LF is one line end */
    assert_marks("quotes", "\"a\n \t\nc", "11111..");
}

static void comments_of_both_kinds_are_found_but_not_inside_strings(void **state)
{
    (void)state;
    assert_marks("comment", "a/*b*/c", "..111..");
    assert_marks("comment", "/*/ */x", ".1111..");
    assert_marks("comment", "a//b\nc", ".111..");
    assert_marks("comment", "\"/*\" x", "......");
    assert_marks("comment", "http://x", "........");
    assert_marks("comment", "/* // */x", ".111111..");
}

static void literals_end_at_the_first_unescaped_quote(void **state)
{
    (void)state;
    assert_marks("literal", "a\"b\\\"c\"d", ".11111..");
    assert_marks("literal", "'\\'' + 'x'", "111....11.");
    assert_marks("literal", "\"a\nb", "11..");
    assert_marks("literal", "don't x", ".......");
}

static void the_condition_of_an_if_ends_at_its_closing_bracket(void **state)
{
    (void)state;
    assert_marks("condition", "if (a(b)) c", "...11111...");
    assert_marks("condition", "f(a) if(b)", ".......11.");
    assert_marks("condition", "elif (b)", "........");
    assert_marks("condition", "while (b)", ".........");
}

static void brackets_are_counted_only_in_code(void **state)
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

static void a_backslash_continues_a_directive(void **state)
{
    (void)state;
    assert_marks("directive", "#if a\nb", "11111..");
    assert_marks("directive", " #a \\\nb\nc # d", ".111111......");
}

static void numbers_words_and_urls_are_distinguished(void **state)
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

static void sentences_start_after_a_period_and_white_space(void **state)
{
    (void)state;
    assert_marks("sentence-start", "Go on. \"He is\" 3.5 x", "11......11..........");
    assert_marks("sentence-words", "a b. c\n\nd", "1122.11.1");
}

static void invalid_utf8_is_read_byte_by_byte(void **state)
{
    (void)state;
    static const char bytes[] = "a\xff\0\xc3";
    att_scanner scanner;
    att_scanner_start(&scanner, bytes, sizeof bytes - 1);
    size_t count = 0;
    while (att_scanner_next(&scanner) > 0)
        count++;
    assert_int_equal(count, 4);
    assert_int_equal(scanner.column, 4);
    att_scanner_start(&scanner, "", 0);
    assert_int_equal(att_scanner_next(&scanner), 0);
}

static void every_property_has_a_unique_name_and_a_description(void **state)
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
        cmocka_unit_test(columns_count_characters_from_the_start_of_the_line),
        cmocka_unit_test(indentation_is_that_of_the_line_up_to_its_end),
        cmocka_unit_test(quotations_open_and_close_and_end_with_the_paragraph),
        cmocka_unit_test(comments_of_both_kinds_are_found_but_not_inside_strings),
        cmocka_unit_test(literals_end_at_the_first_unescaped_quote),
        cmocka_unit_test(the_condition_of_an_if_ends_at_its_closing_bracket),
        cmocka_unit_test(brackets_are_counted_only_in_code),
        cmocka_unit_test(assignments_reach_to_the_semicolon_and_are_not_comparisons),
        cmocka_unit_test(a_backslash_continues_a_directive),
        cmocka_unit_test(numbers_words_and_urls_are_distinguished),
        cmocka_unit_test(sentences_start_after_a_period_and_white_space),
        cmocka_unit_test(invalid_utf8_is_read_byte_by_byte),
        cmocka_unit_test(every_property_has_a_unique_name_and_a_description),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
