/* Attention overlays of captions: one copy of the image per word, bright where its attention is
 * high; the files are well-formed, and outputs without a grid or attention are refused. */
#include "render/render_as.h"
#include "attend.h"

#include "inspect/overlay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "render/xml_check.h"

/* Two words and <end> over a grid of 2 x 3 cells. */
static const double weights[] = {
    0.1, 0.0, 0.0, 0.8, 0.1, 0.0, /* mostly at the lower left */
    0.0, 0.0, 0.5, 0.0, 0.0, 0.5, /* at the right */
    0.0, 0.0, 0.0, 0.0, 0.0, 0.0, /* nowhere */
};
static const double scores[] = { -0.5, -1, -0.1 };
static const char *const words[] = { "a", "<dog> & co", "<end>" };
static const char *const cells[] = { "1,1", "1,2", "1,3", "2,1", "2,2", "2,3" };

static const att_output output = { .text = "a <dog> & co",
                                   .score = -1.6,
                                   .source_count = 6,
                                   .target_count = 3,
                                   .source_tokens = cells,
                                   .target_tokens = words,
                                   .token_scores = scores,
                                   .weights = weights,
                                   .grid_rows = 2,
                                   .grid_columns = 3 };

static int count_of(const char *text, const char *part)
{
    int count = 0;
    for (const char *at = strstr(text, part); at; at = strstr(at + 1, part))
        count++;
    return count;
}

static void weights_are_relative_to_the_largest_of_the_word(void **state)
{
    (void)state;
    assert_true(att_overlay_weight(&output, 0, 1, 0) == 1);
    assert_true(att_overlay_weight(&output, 0, 0, 0) == 0.1 / 0.8);
    assert_true(att_overlay_weight(&output, 1, 0, 2) == 1);
    assert_true(att_overlay_weight(&output, 2, 0, 0) == 0);
    assert_true(att_overlay_weight(&output, 0, 5, -1) ==
                1); /* outside the grid, beyond the lower left corner */
}

static void there_is_a_copy_of_the_image_and_one_per_word(void **state)
{
    (void)state;
    static const uint8_t jpeg[] = { 0xFF, 0xD8, 0xFF, 0xE0, 0x10 };
    const att_overlay_image image = { .file = jpeg, .size = sizeof jpeg, .rows = 2, .columns = 4 };
    att_string svg = { 0 };
    assert_int_equal(
        att_output_overlay_render(&svg, &output, &image, RENDER_AS(ATT_FORMAT_SVG), NULL), ATT_OK);
    assert_well_formed(svg.data);
    assert_int_equal(count_of(svg.data, "<use xlink:href=\"#image\"/>"), 4);
    assert_int_equal(count_of(svg.data, "data:image/jpeg;base64,/9j/4BA="), 1);
    assert_int_equal(count_of(svg.data, "&lt;dog&gt; &amp; co</text>"), 1);
    assert_int_equal(count_of(svg.data, "61 %</text>"), 1); /* exp(-0.5) */
    att_string_free(&svg);
}

static void a_copy_has_the_aspect_ratio_of_the_encoded_image(void **state)
{
    (void)state;
    static const uint8_t png[] = { 0x89, 'P', 'N', 'G' };
    att_overlay_image image = { .file = png, .size = sizeof png, .rows = 100, .columns = 200 };
    att_string svg = { 0 };
    assert_int_equal(
        att_output_overlay_render(&svg, &output, &image, RENDER_AS(ATT_FORMAT_SVG), NULL), ATT_OK);
    assert_non_null(strstr(svg.data, "width=\"168\" height=\"84\" preserveAspectRatio=\"none\""));
    assert_non_null(strstr(svg.data, "data:image/png;base64,iVBORw=="));
    svg.length = 0;
    image.crop = true;
    assert_int_equal(
        att_output_overlay_render(&svg, &output, &image, RENDER_AS(ATT_FORMAT_SVG), NULL), ATT_OK);
    assert_non_null(
        strstr(svg.data, "width=\"168\" height=\"168\" preserveAspectRatio=\"xMidYMid slice\""));
    att_string_free(&svg);
}

static void pixels_are_drawn_in_runs(void **state)
{
    (void)state;
    static const uint8_t pixels[] = { 255, 0, 0, 255, 0, 0, 0, 0, 255, 1, 2, 3, 1, 2, 3, 1, 2, 3 };
    const att_overlay_image drawn = { .pixels = pixels, .rows = 2, .columns = 3 };
    att_string svg = { 0 };
    assert_int_equal(
        att_output_overlay_render(&svg, &output, &drawn, RENDER_AS(ATT_FORMAT_SVG), NULL), ATT_OK);
    assert_well_formed(svg.data);
    assert_non_null(
        strstr(svg.data, "<rect x=\"0\" y=\"0\" width=\"2\" height=\"1\" fill=\"#ff0000\"/>"));
    assert_non_null(
        strstr(svg.data, "<rect x=\"2\" y=\"0\" width=\"1\" height=\"1\" fill=\"#0000ff\"/>"));
    assert_non_null(
        strstr(svg.data, "<rect x=\"0\" y=\"1\" width=\"3\" height=\"1\" fill=\"#010203\"/>"));
    att_string_free(&svg);
}

static void a_terminal_shows_the_grid_of_each_word(void **state)
{
    (void)state;
    const att_render_options plain = { .size = sizeof(att_render_options),
                                       .ascii = true,
                                       .width = 20 };
    att_string text = { 0 };
    assert_int_equal(att_output_overlay_render(&text, &output, NULL, &plain, NULL), ATT_OK);
    assert_string_equal(text.data, "a       <dog>~\n"
                                   "..          @@\n"
                                   "@@..        @@\n"
                                   "\n"
                                   "<end>\n"
                                   "\n"
                                   "\n");
    att_string_free(&text);
}

static void a_page_contains_the_overlay(void **state)
{
    (void)state;
    att_string page = { 0 };
    assert_int_equal(
        att_output_overlay_render(&page, &output, NULL, RENDER_AS(ATT_FORMAT_HTML), NULL), ATT_OK);
    assert_well_formed(page.data + strlen("<!doctype html>\n"));
    assert_int_equal(count_of(page.data, "<use xlink:href=\"#image\"/>"), 4);
    att_string_free(&page);
}

static void an_output_without_a_grid_or_attention_is_refused(void **state)
{
    (void)state;
    att_string out = { 0 };
    att_error err = { 0 };
    att_output line = output;
    line.grid_rows = 0;
    assert_int_equal(att_output_overlay_render(&out, &line, NULL, RENDER_AS(ATT_FORMAT_SVG), &err),
                     ATT_BAD_INPUT);
    assert_string_equal(err.message, "the output is not the caption of an image");
    line = output;
    line.weights = NULL;
    assert_int_equal(att_output_overlay_render(&out, &line, NULL, RENDER_AS(ATT_FORMAT_HTML), &err),
                     ATT_BAD_INPUT);
    assert_non_null(strstr(err.message, "no attention"));
    assert_int_equal(att_output_overlay_render(&out, &line, NULL, NULL, &err), ATT_BAD_INPUT);
    assert_int_equal(out.length, 0);
    att_string_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_are_relative_to_the_largest_of_the_word),
        cmocka_unit_test(there_is_a_copy_of_the_image_and_one_per_word),
        cmocka_unit_test(a_copy_has_the_aspect_ratio_of_the_encoded_image),
        cmocka_unit_test(pixels_are_drawn_in_runs),
        cmocka_unit_test(a_terminal_shows_the_grid_of_each_word),
        cmocka_unit_test(a_page_contains_the_overlay),
        cmocka_unit_test(an_output_without_a_grid_or_attention_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
