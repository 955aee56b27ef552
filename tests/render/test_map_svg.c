/* Maps as SVG: every cell has its data, with any labels. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "render/render_as.h"
#include "base/alloc.h"
#include "base/string.h"
#include "failing_memory.h"
#include "render/maps.h"
#include "render/xml_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const att_render_options flat_svg = { .size = sizeof flat_svg,
                                             .format = ATT_FORMAT_SVG,
                                             .flat = true };

static att_string svg_of(const att_map *map)
{
    att_string text = { 0 };
    assert_int_equal(att_map_render(&text, map, RENDER_AS(ATT_FORMAT_SVG), NULL), ATT_OK);
    return text;
}

/* Not with strstr(): that of a sanitizer measures the remaining text at every call. */
static size_t count(const char *text, const char *word)
{
    size_t found = 0, length = strlen(word);
    for (; *text; text++)
        found += *text == *word && strncmp(text, word, length) == 0;
    return found;
}

static void assert_holds(const att_string *text, const char *word)
{
    if (!strstr(text->data, word))
        fail_msg("not in the document: %s", word);
}

static void every_cell_is_a_rect_with_its_query_key_and_value(void **state)
{
    (void)state;
    att_string text = svg_of(&dot_map);
    assert_well_formed(text.data);
    assert_int_equal(count(text.data, "data-value="), 3);
    assert_holds(&text, "data-query=\"s_t\" data-key=\"home\" data-value=\"0.408738\">"
                        "<title>query &quot;s_t&quot;, key &quot;home&quot;: 0.408738</title>");
    assert_holds(&text, ">key</text>");
    assert_holds(&text, ">query</text>");
    assert_holds(&text, "<title>Attention of the decoder</title>");
    assert_holds(&text, ">0.41</text>"); /* the value, in its cell */
    att_string_free(&text);
}

static void labels_of_any_script_are_escaped_and_long_ones_truncated(void **state)
{
    (void)state;
    att_string text = svg_of(&causal_map);
    assert_well_formed(text.data);
    assert_int_equal(count(text.data, "<rect x="), 2 * 9 + 1 + 2); /* cells, bar, two swatches */
    assert_holds(&text, ">স্কুলে</text>");
    assert_holds(&text, "data-key=\"&lt;b&gt;&amp;&quot;&#39;\"");
    assert_holds(&text, "data-key=\"a very long label that goes on and on\"");
    assert_holds(&text, ">a very long label that …</text>");
    assert_holds(&text, ">head 2</text>");
    att_string_free(&text);
}

static void masked_cells_and_nan_look_like_neither_zero_nor_each_other(void **state)
{
    (void)state;
    att_string text = svg_of(&causal_map);
    assert_int_equal(count(text.data, "fill=\"url(#map-masked)\" data-"), 6);
    assert_int_equal(count(text.data, "data-value=\"masked\""), 6);
    assert_int_equal(count(text.data, "fill=\"url(#map-nan)\" data-"), 1);
    assert_holds(&text, "data-value=\"nan\"");
    assert_holds(&text, ">masked</text>");
    assert_holds(&text, ">not a number</text>");
    assert_holds(&text, "fill=\"#f7fbf3\" data-query=\"যাই\""); /* zero, in the color of zero */
    att_string_free(&text);
    att_string plain = svg_of(&dot_map);
    assert_null(strstr(plain.data, ">masked</text>")); /* no legend for marks that do not occur */
    att_string_free(&plain);
}

static void infinite_cells_are_marked_and_do_not_stretch_the_scale(void **state)
{
    (void)state;
    att_string text = svg_of(&infinite_map);
    assert_well_formed(text.data);
    assert_int_equal(count(text.data, "fill=\"url(#map-infinite)\" data-"), 2);
    assert_holds(&text, "data-value=\"-inf\"");
    assert_holds(&text, ">∞</text>");
    assert_holds(&text, ">-∞</text>");
    assert_holds(&text, ">infinite</text>");
    assert_holds(&text, ">1.00</text>");
    att_string_free(&text);
}

static void small_weights_fit_their_cells_and_are_exact_under_the_pointer(void **state)
{
    (void)state;
    att_string text = svg_of(&small_map);
    assert_int_equal(count(text.data, ">0.00</text>"), 2);
    assert_int_equal(count(text.data, ">0.01</text>"), 1);
    assert_holds(&text, "data-value=\"0.00085\"");
    att_string_free(&text);
}

static void negative_values_get_a_scale_that_is_symmetric_around_zero(void **state)
{
    (void)state;
    att_string text = svg_of(&signed_map);
    assert_well_formed(text.data);
    assert_holds(&text, ">-3</text>");
    assert_holds(&text, ">0</text>");
    assert_holds(&text, ">3</text>");
    assert_holds(&text, "fill=\"#f8f8f4\" data-query=\"2\" data-key=\"3\" data-value=\"0\"");
    att_string_free(&text);
}

static void the_same_map_gives_the_same_bytes(void **state)
{
    (void)state;
    att_string a = svg_of(&causal_map), b = svg_of(&causal_map);
    assert_int_equal(a.length, b.length);
    assert_memory_equal(a.data, b.data, a.length);
    att_string_free(&a);
    att_string_free(&b);
}

static void the_document_is_added_to_what_the_text_holds(void **state)
{
    (void)state;
    att_string text = { 0 };
    assert_int_equal(att_string_puts(&text, "kept"), ATT_OK);
    assert_int_equal(att_map_render(&text, &dot_map, RENDER_AS(ATT_FORMAT_SVG), NULL), ATT_OK);
    assert_memory_equal(text.data, "kept<?xml", 9);
    att_string_free(&text);
}

/* Rasterizes a document; false if rsvg-convert is missing. */
static bool rasterize(const att_string *svg, const char *folder, const char *name)
{
    char path[256], command[600];
    snprintf(path, sizeof path, "%s/%s.svg", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(svg->data, 1, svg->length, file), svg->length);
    assert_int_equal(fclose(file), 0);
    snprintf(command, sizeof command, "rsvg-convert %s/%s.svg -o %s/%s.png 2>/dev/null", folder,
             name, folder, name);
    return system(command) == 0;
}

static void the_flat_form_is_the_same_image_to_the_pixel(void **state)
{
    (void)state;
    char folder[] = "/tmp/attend-svg-XXXXXX";
    char command[300];
    assert_non_null(mkdtemp(folder));
    att_string full = svg_of(&dot_map), flat = { 0 };
    assert_int_equal(att_map_render(&flat, &dot_map, &flat_svg, NULL), ATT_OK);
    assert_well_formed(flat.data);
    assert_null(strstr(flat.data, "data-value"));
    bool drawn = rasterize(&full, folder, "full") && rasterize(&flat, folder, "flat");
    snprintf(command, sizeof command, "cmp -s %s/full.png %s/flat.png", folder, folder);
    int differs = drawn ? system(command) : 0;
    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
    att_string_free(&full);
    att_string_free(&flat);
    if (!drawn)
        skip();
    assert_int_equal(differs, 0);
}

enum { LARGE = 1000 };

static void a_million_cells_are_drawn_each(void **state)
{
    (void)state;
    double *weights = att_alloc((size_t)LARGE * LARGE, sizeof *weights);
    assert_non_null(weights);
    for (int i = 0; i < LARGE * LARGE; i++)
        weights[i] = 0.001 * (1 + (i % 7919 % 1000) / 500.0);
    const att_map map = { .panels = 1, .queries = LARGE, .keys = LARGE, .weights = weights };
    att_string text = svg_of(&map);
    assert_int_equal(count(text.data, "data-value="), LARGE * LARGE);
    assert_true(text.length < 150 * 1000 * 1000);
    att_string_free(&text);
    assert_int_equal(att_map_render(&text, &map, &flat_svg, NULL), ATT_OK);
    assert_true(count(text.data, "<path") < 300);
    assert_true(text.length < 30 * 1000 * 1000);
    att_string_free(&text);
    att_free(weights);
}

static void a_map_of_one_thin_row_still_has_ticks_and_a_scale_that_can_be_seen(void **state)
{
    (void)state;
    static double weights[300];
    for (int i = 0; i < 300; i++)
        weights[i] = 1.0 / 300;
    const att_map map = { .panels = 1, .queries = 1, .keys = 300, .weights = weights };
    att_string text = svg_of(&map);
    assert_well_formed(text.data);
    assert_holds(&text, ">0.003333</text>"); /* the scale ends at the largest weight */
    assert_holds(&text, ">300</text>");
    assert_null(strstr(text.data, ">299</text>")); /* labels are thinned, cells are not */
    assert_int_equal(count(text.data, "data-value="), 300);
    att_string_free(&text);
}

static att_status draw_causal(void *context)
{
    const att_render_options *options = context;
    att_string text = { 0 };
    att_error err = { 0 };
    att_status status = att_map_render(&text, &causal_map, options, &err);
    if (status != ATT_OK) {
        assert_int_equal(err.status, ATT_NO_MEMORY);
        assert_int_equal(text.length, 0);
    }
    att_string_free(&text);
    return status;
}

static void running_out_of_memory_leaves_the_text_as_it_was(void **state)
{
    (void)state;
    att_render_options draw[] = { flat_svg, flat_svg };
    draw[1].flat = false;
    for (size_t k = 0; k < 2; k++)
        every_allocation_fails(draw_causal, &draw[k], 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cell_is_a_rect_with_its_query_key_and_value),
        cmocka_unit_test(labels_of_any_script_are_escaped_and_long_ones_truncated),
        cmocka_unit_test(masked_cells_and_nan_look_like_neither_zero_nor_each_other),
        cmocka_unit_test(infinite_cells_are_marked_and_do_not_stretch_the_scale),
        cmocka_unit_test(small_weights_fit_their_cells_and_are_exact_under_the_pointer),
        cmocka_unit_test(negative_values_get_a_scale_that_is_symmetric_around_zero),
        cmocka_unit_test(the_same_map_gives_the_same_bytes),
        cmocka_unit_test(the_document_is_added_to_what_the_text_holds),
        cmocka_unit_test(the_flat_form_is_the_same_image_to_the_pixel),
        cmocka_unit_test(a_million_cells_are_drawn_each),
        cmocka_unit_test(a_map_of_one_thin_row_still_has_ticks_and_a_scale_that_can_be_seen),
        cmocka_unit_test(running_out_of_memory_leaves_the_text_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
