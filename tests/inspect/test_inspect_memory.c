/* Sheets of models, overviews, alternatives and beam trees with each allocation failing in turn. */
#include "attend.h"

#include "failing_memory.h"
#include "inspect/regex.h"
#include "model/model_help.h"

static att_status write_sheet(void *model)
{
    att_string text = { 0 };
    const att_model_sheet_options options = { .size = sizeof(att_model_sheet_options),
                                              .input = "ab",
                                              .target = "b" };
    att_status status = att_model_sheet(&text, model, "m", &options, NULL);
    att_string_free(&text);
    return status;
}

static att_status list_alternatives(void *model)
{
    att_alternatives *found;
    att_string text = { 0 };
    const att_alternatives_options options = { .size = sizeof(att_alternatives_options),
                                               .count = 2,
                                               .target = "b" };
    att_status status = att_model_alternatives(&found, model, "ab", &options, NULL);
    const att_format formats[] = { ATT_FORMAT_TEXT, ATT_FORMAT_JSON, ATT_FORMAT_HTML };
    for (int i = 0; i < 3 && status == ATT_OK; i++)
        status = att_alternatives_render(
            &text, found,
            &(att_render_options){ .size = sizeof(att_render_options), .format = formats[i] },
            NULL);
    att_alternatives_free(found);
    att_string_free(&text);
    return status;
}

static att_status draw_tree(void *model)
{
    const att_decoding_options decoding = { .size = sizeof(att_decoding_options),
                                            .beam = 2,
                                            .max_output_length = 3 };
    att_beam_tree *tree;
    att_string text = { 0 };
    att_status status = att_model_beam_tree(&tree, model, "ab", &decoding, NULL);
    const att_format formats[] = { ATT_FORMAT_TEXT, ATT_FORMAT_JSON, ATT_FORMAT_SVG };
    for (int i = 0; i < 3 && status == ATT_OK; i++)
        status = att_beam_tree_render(
            &text, tree,
            &(att_render_options){ .size = sizeof(att_render_options), .format = formats[i] },
            NULL);
    att_beam_tree_free(tree);
    att_string_free(&text);
    return status;
}

static att_status draw_overview(void *model)
{
    const att_head_selection which = { .block = ATT_BLOCK_CROSS, .input = "ab", .target = "b" };
    att_attention_map *map;
    att_string text = { 0 };
    att_status status = att_model_attention_overview(&map, model, &which, NULL);
    for (int i = 0; i < 4 && status == ATT_OK; i++) {
        const att_render_options options = { .size = sizeof(att_render_options),
                                             .format = i == 0   ? ATT_FORMAT_TEXT
                                                       : i == 1 ? ATT_FORMAT_HTML
                                                       : i == 2 ? ATT_FORMAT_JSON
                                                                : ATT_FORMAT_SVG,
                                             .arcs = i == 3 };
        status = att_map_render(&text, att_attention_map_get(map), &options, NULL);
    }
    att_attention_map_free(map);
    att_string_free(&text);
    return status;
}

static att_status match(void *unused)
{
    (void)unused;
    att_regex *regex;
    uint8_t marks[3];
    att_status status = att_regex_new(&regex, "a|b", NULL);
    if (status == ATT_OK)
        status = att_regex_mark(regex, "abc", 3, marks, NULL);
    att_regex_free(regex);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    static const setting_pair sets[][6] = {
        { { "attention", "coverage" }, { "layers", "2" } },
        { { "architecture", "transformer" }, { "layers", "1" }, { "hidden-size", "8" } },
    };
    for (int i = 0; i < 2; i++) {
        scene s;
        scene_new(&s, sets[i], 6);
        att_status (*const works[])(void *) = { write_sheet, list_alternatives, draw_tree };
        for (size_t j = 0; j < 3; j++) {
            assert_int_equal(works[j](s.model), ATT_OK); /* packs the weights once */
            every_allocation_fails(works[j], s.model, 4000);
        }
        if (i == 1) {
            assert_int_equal(draw_overview(s.model), ATT_OK);
            every_allocation_fails(draw_overview, s.model, 4000);
        }
        scene_free(&s);
    }
    every_allocation_fails(match, NULL, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_allocation_may_fail) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
