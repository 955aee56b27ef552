/* The five formats of a trace with one of everything. Golden files are the whole documents; the
 * other tests check their properties. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "base/minmax.h"
#include "base/string.h"
#include "json_help.h"
#include "render/golden.h"
#include "render/page.h"
#include "render/sample.h"
#include "render/xml_check.h"
#include "text/display_width.h"

#include <stdlib.h>
#include <string.h>

static sample *it;

static int make_sample(void **state)
{
    (void)state;
    it = sample_new();
    return 0;
}

static int drop_sample(void **state)
{
    (void)state;
    sample_free(it);
    return 0;
}

static att_string rendered(att_render_options options)
{
    att_string text = { 0 };
    att_error err = { 0 };
    options.size = sizeof options;
    if (att_sheet_render(&text, &it->sheet, &options, &err) != ATT_OK)
        fail_msg("%s", err.message);
    return text;
}

static void assert_holds(const att_string *text, const char *word)
{
    if (!strstr(text->data, word))
        fail_msg("not in the document: %s", word);
}

static void assert_lacks(const att_string *text, const char *word)
{
    if (strstr(text->data, word))
        fail_msg("in the document: %s", word);
}

static const struct {
    const char *file;
    att_render_options options;
} goldens[] = {
    { "sample.txt", { .format = ATT_FORMAT_TEXT, .width = 80 } },
    { "sample-ascii.txt", { .format = ATT_FORMAT_TEXT, .width = 80, .ascii = true } },
    { "sample-color.txt", { .format = ATT_FORMAT_TEXT, .width = 80, .color = ATT_COLOR_TRUE } },
    { "sample-row-head.txt", { .format = ATT_FORMAT_TEXT, .width = 80, .row = 2, .head = 2 } },
    { "sample.md", { .format = ATT_FORMAT_MARKDOWN } },
    { "sample.tex", { .format = ATT_FORMAT_LATEX } },
    { "sample.html", { .format = ATT_FORMAT_HTML } },
    { "sample.json", { .format = ATT_FORMAT_JSON } },
};

enum { GOLDENS = ATT_COUNT(goldens) };

static void documents_are_as_they_were(void **state)
{
    (void)state;
    for (size_t i = 0; i < GOLDENS; i++) {
        att_string text = rendered(goldens[i].options);
        assert_golden("render", goldens[i].file, &text);
        att_string_free(&text);
    }
}

static void two_runs_give_the_same_bytes(void **state)
{
    (void)state;
    for (size_t i = 0; i < GOLDENS; i++) {
        att_string a = rendered(goldens[i].options), b = rendered(goldens[i].options);
        assert_int_equal(a.length, b.length);
        assert_memory_equal(a.data, b.data, a.length);
        att_string_free(&a);
        att_string_free(&b);
    }
}

static void no_escape_of_the_users_reaches_the_terminal(void **state)
{
    (void)state;
    att_string text = rendered(
        (att_render_options){ .size = sizeof(att_render_options), .format = ATT_FORMAT_TEXT });
    assert_null(strchr(text.data, '\033'));
    att_string_free(&text);
    text = rendered((att_render_options){
        .size = sizeof(att_render_options), .format = ATT_FORMAT_TEXT, .color = ATT_COLOR_TRUE });
    assert_lacks(&text, "\033[31m\n"); /* the escape sequence in the prose */
    assert_holds(&text, "√2 \xEF\xBF\xBD[31m");
    att_string_free(&text);
}

static void prose_and_calculations_keep_within_the_width(void **state)
{
    (void)state;
    for (int width = 50; width <= 120; width += 19) {
        att_string text = rendered((att_render_options){
            .size = sizeof(att_render_options), .format = ATT_FORMAT_TEXT, .width = width });
        for (char *line = strtok(text.data, "\n"); line; line = strtok(NULL, "\n"))
            if (att_display_width(line) > width)
                fail_msg("%d columns of %d: %s", att_display_width(line), width, line);
        att_string_free(&text);
    }
}

static void ascii_draws_with_ascii_alone(void **state)
{
    (void)state;
    att_string text = rendered((att_render_options){
        .size = sizeof(att_render_options), .format = ATT_FORMAT_TEXT, .ascii = true });
    static const char *const drawn[] = {
        "⎡", "│", "═", "─", "✓", "✗", "·", "ᵀ", "√d", "╱", "░", "…"
    };
    for (size_t i = 0; i < ATT_COUNT(drawn); i++)
        assert_lacks(&text, drawn[i]);
    assert_holds(&text, "  FAIL h = [1 2] to 2 decimals");
    assert_holds(&text, "  ok a.scores = [0.6 0.82] within 0.005");
    att_string_free(&text);
}

static void the_rounding_is_stated_once(void **state)
{
    (void)state;
    static const att_format formats[] = { ATT_FORMAT_TEXT, ATT_FORMAT_MARKDOWN, ATT_FORMAT_LATEX,
                                          ATT_FORMAT_HTML };
    const char *sentence = "Shown to 2 decimals; computed in double precision.";
    for (size_t i = 0; i < 4; i++) {
        att_string text = rendered((att_render_options){
            .size = sizeof(att_render_options), .format = formats[i], .digits = 2 });
        assert_holds(&text, sentence);
        assert_null(strstr(strstr(text.data, sentence) + 1, sentence));
        att_string_free(&text);
    }
}

static void masked_cells_never_look_like_numbers(void **state)
{
    (void)state;
    att_string text = rendered(
        (att_render_options){ .size = sizeof(att_render_options), .format = ATT_FORMAT_TEXT });
    assert_holds(&text, "· is masked");
    assert_lacks(&text, "-inf");
    att_string_free(&text);
    text = rendered(
        (att_render_options){ .size = sizeof(att_render_options), .format = ATT_FORMAT_HTML });
    assert_holds(&text, "<td class=\"masked\">masked</td>");
    att_string_free(&text);
}

static void a_large_matrix_is_abridged_except_in_json(void **state)
{
    (void)state;
    static const char *const marks[] = { [ATT_FORMAT_TEXT] = "…  298.50",
                                         [ATT_FORMAT_MARKDOWN] = "\\cdots",
                                         [ATT_FORMAT_LATEX] = "\\cdots",
                                         [ATT_FORMAT_HTML] = "⋯" };
    for (int format = ATT_FORMAT_TEXT; format < ATT_FORMAT_JSON; format++) {
        att_string text = rendered((att_render_options){ .size = sizeof(att_render_options),
                                                         .format = (att_format)format });
        assert_lacks(&text, "122.75"); /* element 491, in the middle */
        assert_holds(&text, "299.75"); /* the last */
        if (format != ATT_FORMAT_TEXT)
            assert_holds(&text, marks[format]);
        att_string_free(&text);
    }
    att_string text = rendered(
        (att_render_options){ .size = sizeof(att_render_options), .format = ATT_FORMAT_JSON });
    assert_holds(&text, "122.75");
    att_string_free(&text);
}

static void only_shows_the_steps_of_a_name_and_what_concerns_them(void **state)
{
    (void)state;
    att_string text = rendered((att_render_options){
        .size = sizeof(att_render_options), .format = ATT_FORMAT_TEXT, .only = "a" });
    assert_holds(&text, "a = attention(");
    assert_holds(&text, "✓ a.scores = ");
    assert_holds(&text, "query"); /* its plot */
    assert_lacks(&text, "tiny");
    assert_lacks(&text, "Values");
    att_string_free(&text);
    text = rendered((att_render_options){
        .size = sizeof(att_render_options), .format = ATT_FORMAT_TEXT, .only = "a.q" });
    assert_holds(&text, "q = s");
    assert_holds(&text, "0.3333"); /* selected by name, its value is shown */
    assert_lacks(&text, "scores");
    att_string_free(&text);
}

static void every_format_shows_the_comments_of_checks_and_plots(void **state)
{
    (void)state;
    static const char *const notes[][3] = {
        [ATT_FORMAT_TEXT] = { "so it is <in the lecture>", "sizes & shapes", "as_a map" },
        [ATT_FORMAT_MARKDOWN] = { "so it is &lt;in the lecture&gt;", "sizes &amp; shapes",
                                  "as\\_a map" },
        [ATT_FORMAT_LATEX] = { "in the lecture", "sizes \\& shapes", "as\\_a map" },
        [ATT_FORMAT_HTML] = { "so it is &lt;in the lecture&gt;", "sizes &amp; shapes", "as_a map" },
        [ATT_FORMAT_JSON] = { "so it is <in the lecture>", "sizes & shapes", "as_a map" },
    };
    for (size_t f = 0; f < ATT_COUNT(notes); f++) {
        att_string text = rendered(
            (att_render_options){ .size = sizeof(att_render_options), .format = (att_format)f });
        for (size_t i = 0; i < 3; i++)
            assert_holds(&text, notes[f][i]);
        att_string_free(&text);
    }
}

static void assert_claim(const att_check *check, const att_notation *notation, const char *expected)
{
    att_string text = { 0 };
    att_writer out = att_writer_on(&text);
    att_put_check(&out, check, notation, 4);
    assert_string_equal(text.data, expected);
    att_string_free(&text);
}

static void a_claim_states_the_rule_it_was_held_to(void **state)
{
    (void)state;
    const att_check unsaid = { .left = formula(it, "h"),
                               .right = formula(it, "1"),
                               .rule = ATT_RULE_DEFAULT,
                               .tolerance = 1e-9 };
    const att_check error_check = { .left = formula(it, "h * h"),
                                    .rule = ATT_RULE_ERROR,
                                    .error_contains = "inner" };
    const att_check compared = {
        .left = formula(it, "h"), .file = "f.npz", .array = "name", .tolerance = 0.5
    };
    assert_claim(&unsaid, &att_notation_unicode, "h = 1 to 1e-09 relative");
    assert_claim(&unsaid, &att_notation_tex,
                 "h=1\\ \\mathrm{to}\\ 1{\\times}10^{-9}\\ \\mathrm{relative}");
    assert_claim(&error_check, &att_notation_unicode, "error h · h saying \"inner\"");
    assert_claim(&compared, &att_notation_unicode, "h compared with \"f.npz\" \"name\" within 0.5");
}

static void a_row_shows_that_row_and_its_calculations(void **state)
{
    (void)state;
    att_string text = rendered((att_render_options){
        .size = sizeof(att_render_options), .format = ATT_FORMAT_TEXT, .row = 2 });
    assert_holds(&text, "日本 [ 0.3  0.4 ]");
    assert_lacks(&text, "0.1  0.2");
    assert_holds(&text, "e₂₁ = ");
    assert_lacks(&text, "e₁₁ = ");
    att_string_free(&text);
    text = rendered((att_render_options){
        .size = sizeof(att_render_options), .format = ATT_FORMAT_TEXT, .row = 3 });
    assert_holds(&text, "2 × 3: no row 3"); /* the scores have two */
    att_string_free(&text);
}

static void a_head_shows_that_head_alone(void **state)
{
    (void)state;
    att_string text = rendered((att_render_options){
        .size = sizeof(att_render_options), .format = ATT_FORMAT_TEXT, .head = 2, .only = "b" });
    assert_holds(&text, "head 2");
    assert_lacks(&text, "head 1");
    assert_holds(&text, "heads ="); /* the concatenated output remains */
    att_string_free(&text);
    static const char *const fields[] = { "b.head[2]", "b.head[2].weights" };
    for (size_t i = 0; i < 2; i++) {
        text = rendered((att_render_options){
            .size = sizeof(att_render_options), .format = ATT_FORMAT_TEXT, .only = fields[i] });
        assert_holds(&text, "head 2");
        assert_lacks(&text, "head 1");
        assert_lacks(&text, "heads =");
        att_string_free(&text);
    }
}

static void options_that_nothing_satisfies_are_refused(void **state)
{
    (void)state;
    static const struct {
        att_render_options options;
        const char *message;
    } refused[] = {
        { { .only = "tinny" }, "no step is called 'tinny': did you mean 'tiny'?" },
        { { .only = "zebra" }, "no step is called 'zebra'" },
        { { .only = "a.score" }, "no part of 'a' is called 'score': did you mean 'scores'?" },
        { { .only = "tinny.weights" }, "no step is called 'tinny': did you mean 'tiny'?" },
        { { .only = "b.typo.weights" }, "no part of 'b' is called 'typo.weights'" },
        { { .only = "b.head[9].weights" }, "head 9 is out of range: 'b' has 2" },
        { { .only = "a.head[1]" }, "head 1 is out of range: 'a' has 0" },
        { { .only = "b.head[1].wights" },
          "no part of 'b' is called 'wights': did you mean 'weights'?" },
        { { .only = "b.head[1].heads" }, "no part of 'b' is called 'heads'" },
        { { .only = "b.head[x]" }, "no part of 'b' is called 'head[x]'" },
        { { .only = "b.head[1]", .head = 2 }, "'b.head[1]' does not belong to head 2" },
        { { .row = 31 }, "row 31 is out of range: the largest matrix shown has 30" },
        { { .row = 4, .only = "h" }, "row 4 is out of range: the largest matrix shown has 3" },
        { { .row = -1 }, "row -1 is out of range: the largest matrix shown has 30" },
        { { .head = 3 }, "head 3 is out of range: the largest number of heads shown is 2" },
        { { .digits = 18 }, "expected at most 17, found 18" },
        { { .format = (att_format)9 }, "unknown format number 9" },
    };
    for (size_t i = 0; i < ATT_COUNT(refused); i++) {
        att_string text = { 0 };
        att_error err = { 0 };
        att_render_options options = refused[i].options;
        options.size = sizeof options;
        assert_int_equal(att_sheet_render(&text, &it->sheet, &options, &err), ATT_BAD_INPUT);
        assert_string_equal(err.message, refused[i].message);
        assert_null(text.data);
    }
}

/* A box that scrolls horizontally would get a vertical scroll bar for a fraction of a pixel. */
static void html_scrolls_wide_formulas_sideways_only(void **state)
{
    (void)state;
    att_string text = rendered(
        (att_render_options){ .size = sizeof(att_render_options), .format = ATT_FORMAT_HTML });
    size_t sideways = 0;
    for (const char *at = text.data; (at = strstr(at, "overflow-x:auto")); at++, sideways++)
        assert_memory_equal(at, "overflow-x:auto;overflow-y:hidden", 33);
    assert_int_equal(sideways, 3);
    assert_holds(&text, "overflow-wrap:break-word"); /* a word wider than the page */
    att_string_free(&text);
}

static void html_is_well_formed_and_self_contained(void **state)
{
    (void)state;
    att_string text = rendered(
        (att_render_options){ .size = sizeof(att_render_options), .format = ATT_FORMAT_HTML });
    assert_well_formed(text.data);
    assert_lacks(&text, "<script");
    assert_lacks(&text, "http://www.w3.org/1999");
    for (const char *at = text.data; (at = strstr(at, "http")); at++)
        assert_memory_equal(at, "http://www.w3.org/2000/svg", 26);
    assert_lacks(&text, "src=");
    assert_lacks(&text, "@import");
    assert_holds(&text, "<html lang=\"en\">");
    assert_holds(&text, "2 of 6 checks failed: line <a href=\"#s1-10\">10</a>");
    assert_holds(&text, "id=\"s1-10\"");
    att_string_free(&text);
}

/* Every id once: two maps in one page must not share their patterns' names. */
static void several_sheets_make_one_document_without_a_clash(void **state)
{
    (void)state;
    const att_sheet *both[] = { &it->sheet, &it->sheet };
    const att_render_options options = { .size = sizeof(att_render_options),
                                         .format = ATT_FORMAT_HTML };
    att_string text = { 0 };
    assert_int_equal(att_sheets_render(&text, both, 2, &options, NULL), ATT_OK);
    assert_well_formed(text.data);
    for (const char *at = text.data; (at = strstr(at, " id=\"")); at++) {
        char id[64];
        size_t length = strcspn(at + 5, "\"") + 6;
        snprintf(id, sizeof id, "%.*s", (int)length, at);
        assert_null(strstr(at + 1, id));
    }
    att_string_free(&text);
    const att_render_options latex = { .size = sizeof(att_render_options),
                                       .format = ATT_FORMAT_LATEX };
    assert_int_equal(att_sheets_render(&text, both, 2, &latex, NULL), ATT_OK);
    assert_null(strstr(strstr(text.data, "\\end{document}") + 1, "\\end{document}"));
    att_string_free(&text);
    const att_render_options plain = { .size = sizeof(att_render_options),
                                       .format = ATT_FORMAT_TEXT };
    assert_int_equal(att_sheets_render(&text, both, 2, &plain, NULL), ATT_OK);
    assert_holds(&text, "── sample_<&>.att ──");
    att_string_free(&text);
}

static void an_empty_sheet_renders_in_every_format(void **state)
{
    (void)state;
    const att_sheet empty = { .name = "empty.att" };
    for (int format = ATT_FORMAT_TEXT; format <= ATT_FORMAT_JSON; format++) {
        const att_render_options options = { .size = sizeof(att_render_options),
                                             .format = (att_format)format };
        att_string text = { 0 };
        assert_int_equal(att_sheet_render(&text, &empty, &options, NULL), ATT_OK);
        if (format == ATT_FORMAT_TEXT || format == ATT_FORMAT_MARKDOWN)
            assert_int_equal(text.length, 0);
        att_string_free(&text);
    }
}

static const att_json *step_of(const att_json *root, size_t index)
{
    return item(item(root, "sheets", 0), "steps", index);
}

static void json_holds_every_step_exactly(void **state)
{
    (void)state;
    att_string text = rendered((att_render_options){
        .size = sizeof(att_render_options), .format = ATT_FORMAT_JSON, .digits = 1 });
    att_json_doc doc = json_of(&text);
    assert_int_equal(number_of(doc.root, "schema"), 2);
    const att_json *sheet = item(doc.root, "sheets", 0);
    assert_int_equal(item_count(sheet, "steps"), it->sheet.step_count);
    assert_string_equal(string_of(sheet, "name"), "sample_<&>.att");
    const att_json *step = step_of(doc.root, 5);
    assert_true(item(member(step, "value"), "data", 0)->items[0].number == 1.0 / 3);
    const att_json *scores = member(item(step, "parts", 1), "value");
    assert_string_equal(item(scores, "data", 0)->items[2].string, "-inf");
    assert_int_equal(item(scores, "allowed", 0)->items[2].integer, 0);
    assert_string_equal(item(scores, "col_labels", 0)->string, "আমি");
    assert_string_equal(string_of(step_of(doc.root, 12), "max_difference"), "inf");
    att_json_free(&doc);
    att_string_free(&text);
}

static void json_keeps_the_sign_of_zero(void **state)
{
    (void)state;
    double zeros[] = { -0.0, 0.0 };
    const att_matrix value = { .rows = 1, .cols = 2, .data = zeros };
    att_trace_step step = { .kind = ATT_STEP_VALUE, .line = 1, .name = "z", .value = &value };
    const att_sheet sheet = { .name = "zeros.att", .steps = &step, .step_count = 1 };
    att_string text = { 0 };
    const att_render_options options = { .size = sizeof(att_render_options),
                                         .format = ATT_FORMAT_JSON };
    assert_int_equal(att_sheet_render(&text, &sheet, &options, NULL), ATT_OK);
    assert_holds(&text, "\"data\":[[-0.0,0]]"); /* as -0 readers would take it for an integer */
    att_json_doc doc = json_of(&text);
    const att_json *row = item(member(step_of(doc.root, 0), "value"), "data", 0);
    assert_true(signbit(row->items[0].number));
    att_json_free(&doc);
    att_string_free(&text);
}

static void json_of_one_row_has_its_number(void **state)
{
    (void)state;
    att_string text = rendered((att_render_options){
        .size = sizeof(att_render_options), .format = ATT_FORMAT_JSON, .row = 2, .only = "h" });
    att_json_doc doc = json_of(&text);
    const att_json *value = member(step_of(doc.root, 0), "value");
    assert_int_equal(number_of(value, "row"), 2);
    assert_int_equal(number_of(value, "rows"), 3);
    assert_int_equal(item_count(value, "data"), 1);
    att_json_free(&doc);
    att_string_free(&text);
}

static void running_out_of_memory_is_reported_leaks_nothing_and_keeps_the_text(void **state)
{
    (void)state;
    for (int format = ATT_FORMAT_TEXT; format <= ATT_FORMAT_JSON; format++) {
        const att_render_options options = { .size = sizeof(att_render_options),
                                             .format = (att_format)format };
        att_status status = ATT_NO_MEMORY;
        for (size_t n = 1; status != ATT_OK; n++) {
            att_string text = { 0 };
            att_error err = { 0 };
            assert_int_equal(att_string_puts(&text, "kept"), ATT_OK);
            size_t live = att_alloc_live();
            att_alloc_fail_at(n);
            status = att_sheet_render(&text, &it->sheet, &options, &err);
            att_alloc_fail_at(0);
            assert_true(n < 2000);
            assert_int_equal(att_alloc_live(), live);
            if (status != ATT_OK) {
                assert_int_equal(status, ATT_NO_MEMORY);
                assert_int_equal(err.status, ATT_NO_MEMORY);
                assert_string_equal(text.data, "kept");
            }
            att_string_free(&text);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(documents_are_as_they_were),
        cmocka_unit_test(two_runs_give_the_same_bytes),
        cmocka_unit_test(no_escape_of_the_users_reaches_the_terminal),
        cmocka_unit_test(prose_and_calculations_keep_within_the_width),
        cmocka_unit_test(ascii_draws_with_ascii_alone),
        cmocka_unit_test(the_rounding_is_stated_once),
        cmocka_unit_test(masked_cells_never_look_like_numbers),
        cmocka_unit_test(a_large_matrix_is_abridged_except_in_json),
        cmocka_unit_test(only_shows_the_steps_of_a_name_and_what_concerns_them),
        cmocka_unit_test(every_format_shows_the_comments_of_checks_and_plots),
        cmocka_unit_test(a_claim_states_the_rule_it_was_held_to),
        cmocka_unit_test(a_row_shows_that_row_and_its_calculations),
        cmocka_unit_test(a_head_shows_that_head_alone),
        cmocka_unit_test(options_that_nothing_satisfies_are_refused),
        cmocka_unit_test(html_scrolls_wide_formulas_sideways_only),
        cmocka_unit_test(html_is_well_formed_and_self_contained),
        cmocka_unit_test(several_sheets_make_one_document_without_a_clash),
        cmocka_unit_test(an_empty_sheet_renders_in_every_format),
        cmocka_unit_test(json_holds_every_step_exactly),
        cmocka_unit_test(json_keeps_the_sign_of_zero),
        cmocka_unit_test(json_of_one_row_has_its_number),
        cmocka_unit_test(running_out_of_memory_is_reported_leaks_nothing_and_keeps_the_text),
    };
    return cmocka_run_group_tests(tests, make_sample, drop_sample);
}
