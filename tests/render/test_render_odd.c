/* Documents of sheets with odd values: masked numbers, infinities in maps, empty matrices, maps
 * that are reduced, long constants. Each format says what it cannot show. */
#include "failing_memory.h"

#include "base/string.h"

#include <string.h>

static att_sheet *sheet_of(const char *text)
{
    att_sheet *sheet;
    att_error err = { 0 };
    if (att_sheet_read(&sheet, text, strlen(text), "sheet", ATTEND_SOURCE_DIR "/tests/sheet/data",
                       &err) != ATT_OK)
        fail_msg("%s: %s", text, err.message);
    return sheet;
}

#define MASKED                                                                                     \
    "a = attention([1 0; 0 1], [1 0; 0 1], [1; 2], score = scaled, causal)\n"                      \
    "s = a.scores[1, 2]\n"
#define EMPTY "e = ones(0, 3)\n"
#define LARGE "m = ones(110, 120)\nplot m\n"
#define WILD  "w = [1 inf; -inf nan]\nplot w\n"
#define LONG  "x = [1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16] * 2\n"
#define HEADS                                                                                      \
    "X = [1 0; 0 1]\nW = {[1 2; 3 4], identity(2)}\nm = multihead(X, W, W, W)\nplot m.weights\n"

static const struct {
    const char *sheet;
    att_render_options options;
    const char *holds;
} rows[] = {
    { MASKED, { .format = ATT_FORMAT_TEXT }, "s = a.scores[1, 2] = masked\n" },
    { MASKED, { .format = ATT_FORMAT_HTML }, "<mo>=</mo><mtext>masked</mtext></mrow></math>" },
    { MASKED, { .format = ATT_FORMAT_LATEX }, "= \\cdot\\quad(\\cdot\\mathrm{\\ is\\ masked})" },
    { EMPTY, { .format = ATT_FORMAT_TEXT }, "e = ones(0, 3)\n    0 × 3: empty\n" },
    { EMPTY, { .format = ATT_FORMAT_TEXT, .ascii = true }, "    0 x 3: empty\n" },
    { EMPTY, { .format = ATT_FORMAT_LATEX }, "(0\\times3\\mathrm{,\\ empty})" },
    { EMPTY "x = [1; 2; 3]\n",
      { .format = ATT_FORMAT_LATEX, .row = 3 },
      "(0\\times3\\mathrm{,\\ empty})" },
    { "x = [1; 2; 3]\ny = [1 2; 3 4]\n",
      { .format = ATT_FORMAT_LATEX, .row = 3 },
      "(2\\times2\\mathrm{,\\ without\\ this\\ row})" },
    { "x = [1; 2; 3]\ny = [1 2; 3 4]\n",
      { .format = ATT_FORMAT_TEXT, .row = 3 },
      "2 × 2: no row 3\n" },
    { LARGE,
      { .format = ATT_FORMAT_HTML },
      "<figcaption>110 × 120 shown as 100 × 100, each cell the mean</figcaption>" },
    { LARGE, { .format = ATT_FORMAT_LATEX }, "{110 $\\times$ 120 shown as " },
    { LARGE,
      { .format = ATT_FORMAT_MARKDOWN },
      "\n110 × 120 shown as 24 × 16, each cell the mean\n" },
    { WILD, { .format = ATT_FORMAT_LATEX }, "\\attendcell{FFE9C7}{black}{$\\infty$}" },
    { WILD, { .format = ATT_FORMAT_LATEX }, "\\attendcell{FFE9C7}{black}{$-\\infty$}" },
    { WILD, { .format = ATT_FORMAT_LATEX }, "\\attendcell{FFD9D9}{attendfail}{nan}" },
    { LONG, { .format = ATT_FORMAT_TEXT }, "x = [1 2 3 4 5 6 … 15 16]·2" },
    { "# A\n## B\n### C\nText.\n", { .format = ATT_FORMAT_TEXT }, "A\n═\n\nB\n─\n\nC\n\nText.\n" },
    { "h = load \"x.npy\" at 2\n", { .format = ATT_FORMAT_TEXT }, "h = load \"x.npy\" at 2" },
    { HEADS, { .format = ATT_FORMAT_TEXT, .head = 2 }, "head 2" },
    { HEADS, { .format = ATT_FORMAT_JSON, .head = 2, .row = 1 }, "\"head 2\"" },
    { HEADS, { .format = ATT_FORMAT_TEXT, .only = "m.head[2].weights" }, "weights" },
};

static void each_format_says_what_it_cannot_show(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        att_sheet *sheet = sheet_of(rows[i].sheet);
        att_render_options options = rows[i].options;
        att_string text = { 0 };
        att_error err = { 0 };
        options.size = sizeof options;
        if (att_sheet_render(&text, sheet, &options, &err) != ATT_OK)
            fail_msg("row %zu: %s", i, err.message);
        if (!strstr(text.data, rows[i].holds))
            fail_msg("row %zu: no \"%s\" in:\n%s", i, rows[i].holds, text.data);
        att_string_free(&text);
        att_sheet_free(sheet);
    }
}

static void a_sheet_is_not_drawn_as_svg(void **state)
{
    (void)state;
    att_sheet *sheet = sheet_of(EMPTY);
    const att_render_options options = { .size = sizeof options, .format = ATT_FORMAT_SVG };
    att_string text = { 0 };
    att_error err = { 0 };
    assert_int_equal(att_sheet_render(&text, sheet, &options, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "a worksheet cannot be rendered as SVG");
    assert_int_equal(text.length, 0);
    att_sheet_free(sheet);
}

typedef struct drawing {
    const att_sheet *sheet;
    att_render_options options;
} drawing;

static att_status draw(void *context)
{
    const drawing *d = context;
    att_string text = { 0 };
    att_status status = att_sheet_render(&text, d->sheet, &d->options, NULL);
    att_string_free(&text);
    return status;
}

/* A head and a row of a map are copied, and the map of another is reduced. */
static void every_allocation_may_fail(void **state)
{
    (void)state;
    att_sheet *sheet = sheet_of(HEADS "n = ones(1, 101)\nplot n\n");
    for (int format = ATT_FORMAT_TEXT; format <= ATT_FORMAT_JSON; format++) {
        drawing d = { sheet,
                      { .size = sizeof(att_render_options),
                        .format = (att_format)format,
                        .head = 2,
                        .row = 1 } };
        assert_true(every_arena_allocation_fails(draw, &d, 2000) > 5);
    }
    att_sheet_free(sheet);
}

/* An option that nothing satisfies is looked for among the names that there are. */
static att_status draw_none(void *context)
{
    drawing *d = context;
    att_string text = { 0 };
    att_error err = { 0 };
    att_status status = att_sheet_render(&text, d->sheet, &d->options, &err);
    att_string_free(&text);
    return status == ATT_BAD_INPUT && err.status == ATT_BAD_INPUT ? ATT_OK : status;
}

static void memory_may_run_out_while_a_name_is_looked_for(void **state)
{
    (void)state;
    static const char *const names[] = { "mm", "m.weight", "m.head[2].weight" };
    att_sheet *sheet = sheet_of(HEADS);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        drawing d = { sheet, { .size = sizeof(att_render_options), .only = names[i] } };
        every_arena_allocation_fails(draw_none, &d, 100);
    }
    att_sheet_free(sheet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_format_says_what_it_cannot_show),
        cmocka_unit_test(a_sheet_is_not_drawn_as_svg),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(memory_may_run_out_while_a_name_is_looked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
