/* Iterating over lines. */
#include "text/lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* The lines of a text, each followed by '|'. */
static void assert_lines(const char *text, size_t length, const char *expected)
{
    char got[128] = "";
    att_line_reader lines = att_line_reader_start(text, length);
    att_line_view line;
    int64_t number = 0;
    while (att_line_reader_next(&lines, &line)) {
        strncat(got, line.text, line.length);
        strcat(got, "|");
        assert_int_equal(line.number, ++number);
    }
    assert_string_equal(got, expected);
    assert_int_equal(att_line_reader_count(text, length), number);
    assert_false(att_line_reader_next(&lines, &line));
}

#define LINES(text, expected) assert_lines(text, sizeof text - 1, expected)

static void a_newline_ends_a_line_and_starts_none(void **state)
{
    (void)state;
    LINES("a\nb\n", "a|b|");
    LINES("a\nb", "a|b|");
    LINES("\n\n", "||");
    LINES("", "");
    assert_lines(NULL, 0, "");
}

static void crlf_ends_a_line_but_a_lone_cr_does_not(void **state)
{
    (void)state;
    LINES("a\r\nb\r\n\r\n", "a|b||");
    LINES("a\rb\n", "a\rb|");
    LINES("a\r", "a\r|"); /* no line feed: not the end of a line */
    att_line_reader lines = att_line_reader_start("a\r\nb\n", 5);
    att_line_view line;
    while (att_line_reader_next(&lines, &line))
        ;
    assert_int_equal(lines.crlf_lines, 1);
}

static void a_byte_order_mark_is_not_part_of_the_first_line(void **state)
{
    (void)state;
    LINES("\xEF\xBB\xBF"
          "a\n",
          "a|");
    LINES("\xEF\xBB\xBF", "");
    LINES("a\n\xEF\xBB\xBF", "a|\xEF\xBB\xBF|"); /* elsewhere it is text */
    assert_true(att_line_reader_start("\xEF\xBB\xBF", 3).has_bom);
    assert_false(att_line_reader_start("\xEF\xBB", 2).has_bom);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_newline_ends_a_line_and_starts_none),
        cmocka_unit_test(crlf_ends_a_line_but_a_lone_cr_does_not),
        cmocka_unit_test(a_byte_order_mark_is_not_part_of_the_first_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
