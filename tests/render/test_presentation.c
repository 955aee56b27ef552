/* How sheets look where numbers, labels and lines need care: round-off, positions that count from
 * 0, long lines, captions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "attend.h"
#include "base/minmax.h"
#include "base/string.h"

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

static void assert_shows(const char *text, att_format format, const char *needle, bool shown)
{
    att_string out = { 0 };
    render(&out, text, format);
    if ((strstr(out.data, needle) != NULL) != shown)
        fail_msg("expected %s\"%s\" in:\n%s", shown ? "" : "no ", needle, out.data);
    att_string_free(&out);
}

/* 0.1 + 0.2 - 0.3 is 5.6e-17, and so is its tenth of a tenth. */
static void round_off_beside_its_terms_is_zero(void **state)
{
    (void)state;
    static const struct {
        const char *sheet, *shown;
    } cases[] = {
        { "x = 0.1 + 0.2 - 0.3", "= 0\n" },
        { "x = [1 (0.1 + 0.2 - 0.3)]", "[ 1  0 ]" },
        { "x = 2 * (0.1 + 0.2 - 0.3)", "= 0\n" },
        { "x = (0.1 + 0.2 - 0.3) / 10", "= 0\n" },
        { "x = sum([0.1 0.2 -0.3])", "= 0\n" },
        { "x = [0.1 0.2 -0.3] * [1; 1; 1]", "= 0\n" },
        { "x = linear([0.1 0.2 -0.3], [1; 1; 1])", "0" },
        { "x = softmax([0 37])", "8.5e-17" }, /* no round-off: a small weight */
        { "x = 1e-17", "1.0000e-17" },
    };
    for (size_t i = 0; i < ATT_COUNT(cases); i++) {
        assert_shows(cases[i].sheet, ATT_FORMAT_TEXT, cases[i].shown, true);
        if (strstr(cases[i].sheet, "-0.3") || strstr(cases[i].sheet, "- 0.3"))
            for (att_format f = ATT_FORMAT_TEXT; f <= ATT_FORMAT_HTML; f++)
                assert_shows(cases[i].sheet, f, "e-17", false);
    }
    assert_shows("x = 0.1 + 0.2 - 0.3", ATT_FORMAT_JSON, "5.551115123125783e-17", true);
}

static void positions_count_from_zero(void **state)
{
    (void)state;
    assert_shows("P = positional(2, 2)", ATT_FORMAT_TEXT, "\n        0 ⎡ 0.0000", true);
    assert_shows("plot positional(2, 2)", ATT_FORMAT_TEXT, "position   0      1", true);
    assert_shows("plot positional(2, 2)", ATT_FORMAT_TEXT, "element", true);
    assert_shows("plot positional(2, 2)", ATT_FORMAT_MARKDOWN, "| position \\\\ element | 0 | 1 |",
                 true);
    assert_shows("plot positional(2, 2)", ATT_FORMAT_LATEX, "position $\\backslash$ element", true);
    assert_shows("x = positional(2, 2)[2]", ATT_FORMAT_JSON, "\"row_labels\":[\"1\"]", true);
    assert_shows("x = positional(2, 2, start = 7)", ATT_FORMAT_JSON, "\"row_labels\":[\"7\",\"8\"]",
                 true);
    /* Words are not called by their positions. */
    assert_shows("P = positional(2, 2)\nx = [1 2; 3 4] + P\ny = x * P", ATT_FORMAT_JSON,
                 "\"data\":[[1,3],[3.8414709848078967,4.54030230586814]]}", true);
    assert_shows("P = positional(2, 2)\ny = P * [1; 1]", ATT_FORMAT_TEXT,
                 "⎡ 1.0000 ⎤\n    ⎣ 1.3818 ⎦", true);
    assert_shows("x = [[1; 2], positional(2, 1)]", ATT_FORMAT_JSON, "labels", false);
}

static void masked_pairs_are_mentioned_where_there_are_some(void **state)
{
    (void)state;
    static const char call[] = "a = attention([1 2], [1 2; 3 4], [1; 2], mask = [1 %d])";
    char sheet[128];
    for (int bit = 0; bit <= 1; bit++) {
        snprintf(sheet, sizeof sheet, call, bit);
        assert_shows(sheet, ATT_FORMAT_TEXT, "masked pairs are excluded", !bit);
    }
}

static const char long_sum[] =
    "x = 0.11111111 + 0.22222222 + 0.33333333 + 0.44444444 + 0.55555555 + 0.66666666 + 0.77777777";

static void long_lines_wrap(void **state)
{
    (void)state;
    att_string out = { 0 };
    render(&out, long_sum, ATT_FORMAT_TEXT);
    for (const char *line = out.data; *line; line += strcspn(line, "\n") + 1)
        assert_true(strcspn(line, "\n") <= 80);
    assert_non_null(strstr(out.data, "= 3.1111\n"));
    att_string_free(&out);
    assert_shows(long_sum, ATT_FORMAT_LATEX, "\\attendsum{x = 0.11111111", true);
}

static void a_latex_caption_stays_with_its_formula(void **state)
{
    (void)state;
    assert_shows("y = linear([1 2], [1; 2])", ATT_FORMAT_LATEX,
                 "\\attendcaption{\\textit{the same linear map for every vector}}\n\\attend", true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_off_beside_its_terms_is_zero),
        cmocka_unit_test(positions_count_from_zero),
        cmocka_unit_test(masked_pairs_are_mentioned_where_there_are_some),
        cmocka_unit_test(long_lines_wrap),
        cmocka_unit_test(a_latex_caption_stays_with_its_formula),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
