/* Outputs as HTML pages: pointing at a token highlights the right input tokens, and text is
 * escaped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "attend.h"
#include "base/alloc.h"
#include "render/golden.h"
#include "render/xml_check.h"

#include <math.h>
#include <string.h>

static const char *const source_tokens[] = { "<a>", "b", "গ" };
static const char *const target_tokens[] = { "গ", "b&b", "<end>" };
static const double token_scores[] = { -0.001, -0.6931471805599453, -9.3 };
static const double weights[] = { 0.004, 0.086, 0.91, 0.5, 0.5, 0, 0.25, 0.5, 0.25 };

/* An output whose text contains markup characters, and its attention map. */
static att_output sample(att_map *map)
{
    const att_output output = { .text = "গb&b",
                                .score = -9.994147180559945,
                                .source_count = 3,
                                .target_count = 3,
                                .source_tokens = source_tokens,
                                .target_tokens = target_tokens,
                                .token_scores = token_scores,
                                .weights = weights,
                                .layers = 1,
                                .heads = 1 };
    *map = (att_map){ .panels = 1,
                      .queries = 3,
                      .keys = 3,
                      .weights = weights,
                      .query_labels = target_tokens,
                      .key_labels = source_tokens };
    return output;
}

static att_string page_of(const att_output *output, const att_map *map)
{
    att_string text = { 0 };
    assert_int_equal(att_output_html(&text, output, map, NULL), ATT_OK);
    return text;
}

static void assert_holds(const att_string *text, const char *part)
{
    if (!strstr(text->data, part))
        fail_msg("not found: %s", part);
}

static void the_page_equals_the_golden_file(void **state)
{
    (void)state;
    att_map map;
    att_output output = sample(&map);
    att_string text = page_of(&output, &map);
    assert_golden("inspect", "output.html", &text);
    att_string_free(&text);
}

static void the_page_is_well_formed_and_needs_nothing_from_elsewhere(void **state)
{
    (void)state;
    att_map map;
    att_output output = sample(&map);
    att_string text = page_of(&output, &map);
    assert_well_formed(text.data);
    assert_null(strstr(text.data, "<script"));
    assert_null(strstr(text.data, "src="));
    for (const char *at = text.data; (at = strstr(at, "http")); at++)
        assert_memory_equal(at, "http://www.w3.org/2000/svg", 26);
    att_string_free(&text);
}

static void pointing_at_a_token_sets_its_attention_weights(void **state)
{
    (void)state;
    att_map map;
    att_output output = sample(&map);
    att_string text = page_of(&output, &map);
    assert_holds(&text, "#t0:hover~.source,#t0:focus~.source{--w1:9;--w2:91;}");
    assert_holds(&text, "#t1:hover~.source,#t1:focus~.source{--w0:50;--w1:50;}");
    assert_holds(&text, "<bdi style=\"--w:var(--w0,0)\">&lt;a&gt;</bdi>");
    assert_holds(&text, "tabindex=\"0\">b&amp;b<small>50.0 %</small></bdi>");
    att_string_free(&text);
}

static void copied_tokens_are_marked(void **state)
{
    (void)state;
    static const double copy_probs[] = { 0.987, 0.25, 0 };
    static const uint8_t copied[] = { 1, 0, 0 };
    att_map map;
    att_output output = sample(&map);
    output.copy_probs = copy_probs;
    output.copied = map.marked = copied;
    map.mark_name = "copied";
    att_string text = page_of(&output, &map), json = { 0 };
    assert_well_formed(text.data);
    assert_holds(&text, "<bdi class=\"output copied\" id=\"t0\" tabindex=\"0\">গ<small>");
    assert_holds(&text, "<bdi class=\"output\" id=\"t1\"");
    assert_holds(&text, ">গ*</text>");
    assert_holds(&text, ">b&amp;b</text>");
    assert_holds(&text, ">query (* copied)</text>");
    assert_holds(&text, "<th class=\"number\">by copying</th>");
    assert_holds(&text, "<td class=\"number\">99.90 %</td><td class=\"number\">99 %</td>");
    assert_int_equal(att_output_json(&json, &output, NULL), ATT_OK);
    assert_holds(&json, ",\"copy_probs\":[0.987,0.25,0],");
    att_string_free(&text);
    att_string_free(&json);
}

/* Equal weights are in the order of the tokens, and each token is listed once. */
static void the_table_lists_the_largest_weights_in_order(void **state)
{
    (void)state;
    att_map map;
    att_output output = sample(&map);
    att_string text = page_of(&output, &map);
    assert_holds(&text, "<td><bdi>গ</bdi> (3) 91 %, <bdi>b</bdi> (2) 9 %</td>");
    assert_holds(&text, "<td><bdi>&lt;a&gt;</bdi> (1) 50 %, <bdi>b</bdi> (2) 50 %</td>");
    assert_holds(&text,
                 "<td><bdi>b</bdi> (2) 50 %, <bdi>&lt;a&gt;</bdi> (1) 25 %, <bdi>গ</bdi> (3) "
                 "25 %</td>");
    att_string_free(&text);
}

/* Normalizers other than softmax may give weights outside [0, 1], and a broken model gives NaN. */
static void weights_outside_of_0_and_1_are_clamped(void **state)
{
    (void)state;
    att_map map;
    att_output output = sample(&map);
    const double odd[] = { -3, 7, NAN, NAN, NAN, NAN, 1, INFINITY, 0 };
    output.weights = map.weights = odd;
    att_string text = page_of(&output, &map);
    assert_holds(&text, "#t0:focus~.source{--w1:100;}");
    assert_holds(&text, "#t1:focus~.source{}");
    assert_holds(&text, "#t2:focus~.source{--w0:100;--w1:100;}");
    assert_well_formed(text.data);
    att_string_free(&text);
}

static void a_truncated_output_and_unknown_tokens_are_reported(void **state)
{
    (void)state;
    att_map map;
    att_output output = sample(&map);
    att_string text = page_of(&output, &map);
    assert_null(strstr(text.data, "class=\"warn\""));
    att_string_free(&text);
    output.truncated = true;
    output.unknown_tokens = 2;
    text = page_of(&output, &map);
    assert_holds(&text, "The output was truncated at the maximum length.");
    assert_holds(&text, "2 of the 3 input tokens are not in the vocabulary.");
    att_string_free(&text);
}

static void an_output_without_attention_is_refused(void **state)
{
    (void)state;
    att_map map;
    att_output output = sample(&map);
    att_string text = { 0 };
    att_error err = { 0 };
    output.weights = NULL;
    assert_int_equal(att_output_html(&text, &output, &map, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "the output has no attention weights");
    assert_int_equal(text.length, 0);
    att_string_free(&text);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    enum { LONG = 150 }; /* more tokens than a map shows, so that it is reduced */
    static double many[LONG * LONG], scores[LONG];
    static const char *names[LONG];
    for (int i = 0; i < LONG; i++)
        names[i] = "x";
    att_map map;
    att_output output = sample(&map);
    output.source_count = output.target_count = map.queries = map.keys = LONG;
    output.source_tokens = output.target_tokens = map.query_labels = map.key_labels = names;
    output.weights = map.weights = many;
    output.token_scores = scores;
    att_status status = ATT_NO_MEMORY;
    for (size_t n = 1; status != ATT_OK; n++) {
        att_string text = { 0 };
        size_t live = att_alloc_live();
        att_alloc_fail_at(n);
        status = att_output_html(&text, &output, &map, NULL);
        att_alloc_fail_at(0);
        assert_true(status == ATT_OK || status == ATT_NO_MEMORY);
        assert_true(status == ATT_OK || text.length == 0);
        if (status == ATT_OK)
            assert_holds(&text, "150 × 150 shown as 100 × 100");
        att_string_free(&text);
        assert_int_equal(att_alloc_live(), live);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_page_equals_the_golden_file),
        cmocka_unit_test(the_page_is_well_formed_and_needs_nothing_from_elsewhere),
        cmocka_unit_test(pointing_at_a_token_sets_its_attention_weights),
        cmocka_unit_test(copied_tokens_are_marked),
        cmocka_unit_test(the_table_lists_the_largest_weights_in_order),
        cmocka_unit_test(weights_outside_of_0_and_1_are_clamped),
        cmocka_unit_test(a_truncated_output_and_unknown_tokens_are_reported),
        cmocka_unit_test(an_output_without_attention_is_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
