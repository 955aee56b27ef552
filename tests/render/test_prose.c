/* Prose: emphasis, code, links, mathematics and lists in every format, and text that only looks
 * like them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "attend.h"
#include "base/minmax.h"
#include "base/string.h"
#include "render/tex_math.h"
#include "xml_check.h"

#include <stdio.h>
#include <string.h>

static void render(att_string *out, const char *text, att_format format)
{
    att_error err = { 0 };
    att_sheet *sheet = NULL;
    const att_render_options options = { .size = sizeof options, .format = format, .width = 80 };
    if (att_sheet_read(&sheet, text, strlen(text), "test", NULL, &err) != ATT_OK)
        fail_msg("%s\nin:\n%s", err.message, text);
    assert_int_equal(att_sheet_render(out, sheet, &options, &err), ATT_OK);
    att_sheet_free(sheet);
}

static const struct {
    const char *text;
    const char *shown[4]; /* text, Markdown, LaTeX, HTML */
} rows[] = {
    { "An *important* word",
      { "*important*", "*important*", "\\emph{important}", "<em>important</em>" } },
    { "A **strong** one",
      { "**strong**", "**strong**", "\\textbf{strong}", "<strong>strong</strong>" } },
    { "**both *at once* now**",
      { "**both *at once* now**", "**both *at once* now**", "\\textbf{both \\emph{at once} now}",
        "<strong>both <em>at once</em> now</strong>" } },
    { "Code `a_b*c*` here",
      { "`a_b*c*`", "`a_b*c*`", "\\texttt{a\\_b*c*}", "<code>a_b*c*</code>" } },
    { "See [this](https://a.org/x?y=1&z=2) now",
      { "this (https://a.org/x?y=1&z=2)", "[this](<https://a.org/x?y=1&z=2>)",
        "this (\\texttt{https://a.org/x?y=1\\&z=2})",
        "<a href=\"https://a.org/x?y=1&amp;z=2\">this</a>" } },
    { "[a *b*](page.html#top) first",
      { "a *b* (page.html#top)", "[a *b*](<page.html#top>)",
        "a \\emph{b} (\\texttt{page.html\\#top})", "<a href=\"page.html#top\">a <em>b</em></a>" } },
    { "Here $x_1^2 \\le \\sqrt{d_k}$ holds",
      { "x₁² ≤ √(d_k) holds", "$`x_{1}^{2} \\le  \\sqrt{d_{k}}`$",
        "$x_{1}^{2} \\le  \\sqrt{d_{k}}$",
        "<msubsup><mrow><mi>x</mi></mrow><mrow><mn>1</mn></mrow><mrow><mn>2</mn></mrow></"
        "msubsup>" } },
    { "and $W_Q^\\top x$ too",
      { "W_QᵀHERE", "$`W_{Q}^{\\top } x`$", "$W_{Q}^{\\top } x$", "<mo>⊤</mo>" } },
    { "Take $\\frac{a + b}{\\text{keys}}$ now",
      { "(a + b)/(keys)", "\\frac{a + b}{\\text{keys}}", "\\frac{a + b}{\\text{keys}}",
        "<mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mrow><mtext>keys</mtext></mrow></"
        "mfrac>" } },
    { "- one\n- two *2*\n  goes on",
      { "  • one\n  • two *2* goes on\n", "- one\n- two *2* goes on\n",
        "\\item one\n\\item two \\emph{2}\ngoes on\n\\end{itemize}",
        "<ul>\n<li>one</li>\n<li>two <em>2</em>\ngoes on</li>\n</ul>" } },
    { "First:\n2. two\n3. three",
      { "First:\n  2. two\n  3. three\n", "First:\n\n2. two\n3. three\n", "\\item[2.] two",
        "<p>First:</p>\n<ol>\n<li value=\"2\">two</li>" } },
};

static const att_format formats[] = { ATT_FORMAT_TEXT, ATT_FORMAT_MARKDOWN, ATT_FORMAT_LATEX,
                                      ATT_FORMAT_HTML };

static void every_format_writes_markup(void **state)
{
    (void)state;
    for (size_t i = 0; i < ATT_COUNT(rows); i++)
        for (size_t f = 0; f < ATT_COUNT(formats); f++) {
            att_string out = { 0 };
            char shown[256];
            snprintf(shown, sizeof shown, "%s", rows[i].shown[f]);
            char *here = strstr(shown, "HERE");
            if (here)
                *here = '\0';
            render(&out, rows[i].text, formats[f]);
            if (!strstr(out.data, shown))
                fail_msg("no \"%s\" in:\n%s", shown, out.data);
            att_string_free(&out);
        }
}

/* Text that looks like markup, and markup that would be dangerous, is text. */
static const char *const plain[] = {
    "two times 2*3*4 is 24",
    "a * b and c * d",
    "it costs $5 and $6",
    "an open *star",
    "an open `tick",
    "a $ sign and a $",
    "[bad](javascript:alert(1))",
    "[bad](JavaScript:x)",
    "[bad](data:text/html,x)",
    "[bad](vbscript:x)",
    "[bad](//evil.example)",
    "[bad](file:///etc/passwd)",
    "so $\\input{/etc/passwd}$",
    "so $\\write18{rm}$",
    "so $\\def\\x{1}$",
    "so $x^1^2$",
    "so $^2$",
    "so $\\frac{a}$",
    "so ${$",
    "so $a}$",
    "so $a & b$",
    "so $\\text{\\input{x}}$",
    "so $x \\\\ y$",
    "<script>alert(1)</script>",
    "so $x_$",
    "so $#1$",
};

static void text_that_looks_like_markup_stays_text(void **state)
{
    (void)state;
    static const char *const tags[] = { "<em>", "<strong>", "<a ", "<code>", "<math>", "<script>" };
    for (size_t i = 0; i < ATT_COUNT(plain); i++) {
        att_string out = { 0 };
        char text[256];
        snprintf(text, sizeof text, "See: %s", plain[i]);
        render(&out, text, ATT_FORMAT_HTML);
        for (size_t t = 0; t < ATT_COUNT(tags); t++)
            if (strstr(strstr(out.data, "<p>"), tags[t]))
                fail_msg("%s became %s", plain[i], strstr(out.data, "<p>"));
        att_string_free(&out);
        out = (att_string){ 0 };
        render(&out, text, ATT_FORMAT_LATEX);
        assert_null(strstr(strstr(out.data, "\\begin{document}"), "\\input"));
        assert_null(strstr(strstr(out.data, "\\begin{document}"), "\\write"));
        att_string_free(&out);
    }
}

static void backslashes_escape_marks(void **state)
{
    (void)state;
    att_string out = { 0 };
    render(&out, "See \\*this\\* and \\$x\\$ and \\`y\\`", ATT_FORMAT_HTML);
    assert_non_null(strstr(out.data, "<p>See *this* and $x$ and `y`</p>"));
    att_string_free(&out);
}

/* Many open marks must not take quadratic time. */
static void open_marks_are_fast(void **state)
{
    (void)state;
    static const char *const marks[] = { "*a ", "`", "$a ", "[a", "**a ", "$\\frac{" };
    for (size_t m = 0; m < ATT_COUNT(marks); m++) {
        att_string text = { 0 }, out = { 0 };
        att_string_puts(&text, "> ");
        for (int i = 0; i < 20000; i++)
            att_string_puts(&text, marks[m]);
        render(&out, text.data, ATT_FORMAT_HTML);
        att_string_free(&out);
        att_string_free(&text);
    }
}

static void nested_mathematics_is_limited(void **state)
{
    (void)state;
    att_string tex = { 0 };
    for (int i = 0; i < 100; i++)
        att_string_puts(&tex, "{");
    att_string_puts(&tex, "x");
    for (int i = 0; i < 100; i++)
        att_string_puts(&tex, "}");
    assert_false(att_math_is_valid(tex.data, tex.length));
    assert_true(att_math_is_valid("{{x}}", 5));
    assert_true(att_math_is_valid("x^2'", 4));
    assert_true(att_math_is_valid("\\alpha\\,\\beta", 13));
    att_string_free(&tex);
}

static void prose_is_well_formed_in_html(void **state)
{
    (void)state;
    for (size_t i = 0; i < ATT_COUNT(rows); i++) {
        att_string out = { 0 };
        render(&out, rows[i].text, ATT_FORMAT_HTML);
        assert_well_formed(strstr(out.data, "<html"));
        att_string_free(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_format_writes_markup),
        cmocka_unit_test(text_that_looks_like_markup_stays_text),
        cmocka_unit_test(backslashes_escape_marks),
        cmocka_unit_test(open_marks_are_fast),
        cmocka_unit_test(nested_mathematics_is_limited),
        cmocka_unit_test(prose_is_well_formed_in_html),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
