/* The writer and its escapes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "base/string.h"
#include "render/writer.h"

#include <string.h>

static void assert_written(void (*put)(att_writer *, const char *), const char *given,
                           const char *expected)
{
    att_string text = { 0 };
    att_writer out = att_writer_on(&text);
    put(&out, given);
    assert_int_equal(att_writer_finish(&out, NULL), ATT_OK);
    assert_string_equal(text.data, expected);
    att_string_free(&text);
}

static void plain_text_shows_control_characters_as_replacements(void **state)
{
    (void)state;
    assert_written(att_put_plain, "a\tb\nc", "a b c"); /* it takes one line */
    assert_written(att_put_plain, "\033[31mred\x7F", "\xEF\xBF\xBD[31mred\xEF\xBF\xBD");
    assert_written(att_put_plain,
                   "\xC2\x9B"
                   "1m",
                   "\xEF\xBF\xBD"
                   "1m"); /* the 8-bit escape */
    assert_written(att_put_plain,
                   "\xFF"
                   "x",
                   "\xEF\xBF\xBD"
                   "x");
}

static void xml_escapes_what_could_end_text_or_an_attribute(void **state)
{
    (void)state;
    assert_written(att_put_xml, "<a href='x'>&\"</a>",
                   "&lt;a href=&#39;x&#39;&gt;&amp;&quot;&lt;/a&gt;");
    assert_written(att_put_xml, "\x01\xEF\xBF\xBF", "\xEF\xBF\xBD\xEF\xBF\xBD");
    assert_written(att_put_xml, "আমি", "আমি");
}

static void json_strings_are_quoted_and_escaped(void **state)
{
    (void)state;
    assert_written(att_put_json, "a\"b\\c\n\t", "\"a\\\"b\\\\c\\n\\t\"");
    assert_written(att_put_json, "\x02", "\"\xEF\xBF\xBD\"");
    assert_written(att_put_json, "日本", "\"日本\"");
}

static void latex_text_is_escaped(void **state)
{
    (void)state;
    assert_written(att_put_tex, "50% of $5 & #1 a_b {x}", "50\\% of \\$5 \\& \\#1 a\\_b \\{x\\}");
    assert_written(att_put_tex, "\\input{x}~^",
                   "\\textbackslash{}input\\{x\\}\\textasciitilde{}"
                   "\\textasciicircum{}");
    assert_written(att_put_tex, "a < b > c | \"q\"", "a $<$ b $>$ c $|$ ''q''");
    assert_written(att_put_tex, "--", "{-}{-}");
    assert_written(att_put_tex, "ΑΔΚΩ", "$\\mathrm{A}$$\\Delta$$\\mathrm{K}$$\\Omega$");
    assert_written(att_put_tex, "α ≤ √2 × 3", "$\\alpha$ $\\leq$ $\\surd$2 $\\times$ 3");
}

static void latex_prints_the_code_points_of_characters_its_fonts_lack(void **state)
{
    (void)state;
    assert_written(att_put_tex, "আম!",
                   "\\attendother{U+0986 U+09AE}{আম}{Noto Sans Bengali}{Script=Bengali}!");
    assert_written(att_put_tex, "আ日",
                   "\\attendother{U+0986}{আ}{Noto Sans Bengali}{Script=Bengali}"
                   "\\attendother{U+65E5}{日}{Noto Sans CJK JP}{Script=CJK}");
    assert_written(att_put_tex, "😀", "\\attendother{U+1F600}{😀}{Noto Sans}{}");
    assert_written(att_put_tex, "é ï ế Č", "\\'{e} \\\"{\\i} \\'{\\^{e}} \\v{C}");
}

static void put_math_raw(att_writer *out, const char *text)
{
    att_put_tex_math(out, text, strlen(text), true);
}

static void put_math(att_writer *out, const char *text)
{
    att_put_tex_math(out, text, strlen(text), false);
}

static void words_in_mathematics_are_escaped_too(void **state)
{
    (void)state;
    assert_written(put_math, "a_b c^d", "a\\_b\\ c\\wedge{}d");
    assert_written(put_math, "α", "\\alpha{}");
    assert_written(put_math, "日x",
                   "\\text{\\attendother{U+65E5}{日}{Noto Sans CJK JP}{Script=CJK}}x");
    assert_written(put_math_raw, "日_x", "日\\_x");
}

static void formatted_text_may_be_longer_than_any_buffer(void **state)
{
    (void)state;
    char long_text[3000];
    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    att_string text = { 0 };
    att_writer out = att_writer_on(&text);
    att_putf(&out, "<%s>%d", long_text, 7);
    assert_int_equal(text.length, 3000 + 2);
    assert_int_equal(text.data[text.length - 1], '7');
    att_string_free(&text);
}

static void the_first_failure_stays_and_the_text_is_put_back(void **state)
{
    (void)state;
    att_string text = { 0 };
    assert_int_equal(att_string_puts(&text, "before"), ATT_OK);
    att_writer out = att_writer_on(&text);
    att_put(&out, " and more");
    att_alloc_fail_at(1);
    att_put_repeat(&out, "0123456789", 1000);
    att_alloc_fail_at(0);
    att_put(&out, "after the failure nothing is written");
    att_error err = { 0 };
    assert_int_equal(att_writer_finish(&out, &err), ATT_NO_MEMORY);
    assert_int_equal(err.status, ATT_NO_MEMORY);
    assert_string_equal(text.data, "before");
    assert_int_equal(text.length, 6);
    att_string_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_text_shows_control_characters_as_replacements),
        cmocka_unit_test(xml_escapes_what_could_end_text_or_an_attribute),
        cmocka_unit_test(json_strings_are_quoted_and_escaped),
        cmocka_unit_test(latex_text_is_escaped),
        cmocka_unit_test(latex_prints_the_code_points_of_characters_its_fonts_lack),
        cmocka_unit_test(words_in_mathematics_are_escaped_too),
        cmocka_unit_test(formatted_text_may_be_longer_than_any_buffer),
        cmocka_unit_test(the_first_failure_stays_and_the_text_is_put_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
