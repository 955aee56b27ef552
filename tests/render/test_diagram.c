/* Diagrams of worksheets: boxes do not overlap, arrows cross no box, every name has its box. */
#include "failing_memory.h"

#include "base/minmax.h"
#include "base/string.h"
#include "render/diagram.h"
#include "xml_check.h"

#include <glob.h>
#include <string.h>

static att_sheet *sheet_of(const char *text)
{
    att_sheet *sheet;
    att_error err = { 0 };
    if (att_sheet_read(&sheet, text, strlen(text), "sheet.att", NULL, &err) != ATT_OK)
        fail_msg("%s: %s", text, err.message);
    return sheet;
}

#define FLOW                                                                                       \
    "x = [1 2; 3 4]\nh = [0.5 1]\nW = identity(2)\n"                                               \
    "r = rnn(x, h, W, W)\na = attention(h, r, x, score = general, W = W, causal)\n"                \
    "m = multihead(x, {W, W}, {W, W}, {W, W}, [1; 2; 3; 4], from = r)\n"                           \
    "y = a.weights + m[1, 1] * a\nunused = 3\n"

/* The boxes of a laid out diagram of the sheet. */
static void lay_out(att_diagram *d, att_arena *arena, const att_sheet *sheet)
{
    *d = (att_diagram){ .arena = arena };
    att_error err = { 0 };
    if (att_diagram_build(d, sheet, sheet->step_count, NULL, &err) != ATT_OK)
        fail_msg("%s", err.message);
    for (size_t i = 0; i < d->node_count; i++)
        assert_true(att_diagram_draw_node(&d->nodes[i], arena));
    assert_true(att_diagram_lay_out(d));
}

static void check_boxes(const att_diagram *d, const char *name)
{
    for (size_t i = 0; i < d->node_count; i++) {
        const att_diagram_node *a = &d->nodes[i];
        if (a->x < 0 || a->y < 0 || a->x + a->width > d->width || a->y + a->height > d->height)
            fail_msg("%s: %s is outside", name, a->step->name);
        for (size_t j = i + 1; j < d->node_count; j++) {
            const att_diagram_node *b = &d->nodes[j];
            bool apart = a->x + a->width < b->x || b->x + b->width < a->x ||
                         a->y + a->height < b->y || b->y + b->height < a->y;
            if (!apart)
                fail_msg("%s: %s overlaps %s", name, a->step->name, b->step->name);
        }
    }
}

/* Whether the piece of an arrow, a curve inside the rectangle of its ends, meets the box. */
static bool meets(const att_diagram_node *node, att_point a, att_point b)
{
    int64_t left = a.x < b.x ? a.x : b.x, right = a.x < b.x ? b.x : a.x;
    return right > node->x && left < node->x + node->width && b.y > node->y &&
           a.y < node->y + node->height;
}

static void check_arrows(const att_diagram *d, const char *name)
{
    for (size_t i = 0; i < d->edge_count; i++) {
        const att_diagram_edge *edge = &d->edges[i];
        assert_true(d->nodes[edge->from].layer < d->nodes[edge->to].layer);
        for (size_t n = 0; n < d->node_count; n++)
            for (size_t p = 1; p < edge->path_length; p++)
                if (n != edge->from && n != edge->to &&
                    meets(&d->nodes[n], edge->path[p - 1], edge->path[p]))
                    fail_msg("%s: the arrow from %s to %s crosses %s", name,
                             d->nodes[edge->from].step->name, d->nodes[edge->to].step->name,
                             d->nodes[n].step->name);
    }
}

/* A folded diagram: each value has one full box, each arrow is still there, and each part is on the
 * page unless a single box is wider. */
static void check_folding(const att_diagram *whole, const att_diagram *d, const char *name)
{
    enum { PAGE = 1120, MARGINS = 40 };
    int64_t widest = 0;
    size_t full = 0;
    for (size_t i = 0; i < d->node_count; i++) {
        full += !d->nodes[i].repeated;
        widest = att_max_i64(widest, d->nodes[i].width + MARGINS);
    }
    assert_int_equal(full, whole->node_count);
    assert_int_equal(d->edge_count, whole->edge_count);
    if (d->width > PAGE + 60 && d->width > widest)
        fail_msg("%s: %d pixels wide", name, (int)d->width);
}

static void wide_diagrams_are_folded(void **state)
{
    (void)state;
    glob_t found;
    size_t folded = 0;
    assert_int_equal(glob(ATTEND_EXAMPLES, 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        att_sheet *sheet;
        att_arena arena = { 0 };
        att_diagram whole, d = { .arena = &arena };
        assert_int_equal(att_sheet_load(&sheet, found.gl_pathv[i], NULL), ATT_OK);
        lay_out(&whole, &arena, sheet);
        assert_int_equal(att_diagram_build(&d, sheet, sheet->step_count, NULL, NULL), ATT_OK);
        for (size_t n = 0; n < d.node_count; n++)
            assert_true(att_diagram_draw_node(&d.nodes[n], &arena));
        assert_true(att_diagram_arrange(&d));
        check_boxes(&d, found.gl_pathv[i]);
        check_arrows(&d, found.gl_pathv[i]);
        check_folding(&whole, &d, found.gl_pathv[i]);
        folded += d.node_count > whole.node_count;
        att_arena_free(&arena);
        att_sheet_free(sheet);
    }
    globfree(&found);
    assert_true(folded >= 5);
}

static void no_box_overlaps_and_no_arrow_crosses_a_box(void **state)
{
    (void)state;
    glob_t found;
    assert_int_equal(glob(ATTEND_EXAMPLES, 0, NULL, &found), 0);
    assert_true(found.gl_pathc > 10);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        att_sheet *sheet;
        att_arena arena = { 0 };
        att_diagram d;
        assert_int_equal(att_sheet_load(&sheet, found.gl_pathv[i], NULL), ATT_OK);
        lay_out(&d, &arena, sheet);
        assert_true(d.node_count > 1);
        check_boxes(&d, found.gl_pathv[i]);
        check_arrows(&d, found.gl_pathv[i]);
        att_arena_free(&arena);
        att_sheet_free(sheet);
    }
    globfree(&found);
}

static const att_diagram_node *node_of(const att_diagram *d, const char *name)
{
    for (size_t i = 0; i < d->node_count; i++)
        if (strcmp(d->nodes[i].step->name, name) == 0)
            return &d->nodes[i];
    return NULL;
}

static size_t count_edges(const att_diagram *d, const char *from, const char *to)
{
    size_t count = 0;
    for (size_t i = 0; i < d->edge_count; i++)
        count += &d->nodes[d->edges[i].from] == node_of(d, from) &&
                 &d->nodes[d->edges[i].to] == node_of(d, to);
    return count;
}

/* An argument of attention enters at each of the boxes that it is used for. */
static void arrows_lead_to_the_inputs_of_attention(void **state)
{
    (void)state;
    att_sheet *sheet = sheet_of(FLOW);
    att_arena arena = { 0 };
    att_diagram d;
    lay_out(&d, &arena, sheet);
    assert_null(node_of(&d, "unused"));
    assert_int_equal(d.node_count, 7);
    assert_int_equal(count_edges(&d, "h", "a"), 1); /* the query */
    assert_int_equal(count_edges(&d, "r", "a"), 1); /* the keys */
    assert_int_equal(count_edges(&d, "W", "a"), 1); /* the parameter of the score */
    assert_int_equal(count_edges(&d, "x", "m"), 1); /* queries alone: the rest is from r */
    assert_int_equal(count_edges(&d, "r", "m"), 2);
    assert_int_equal(count_edges(&d, "W", "m"), 3);
    assert_int_equal(count_edges(&d, "a", "y"), 1); /* a.weights and a: one arrow */
    assert_int_equal(count_edges(&d, "h", "y"), 0);
    att_arena_free(&arena);
    att_sheet_free(sheet);
}

static void a_diagram_of_one_value_has_what_leads_to_it(void **state)
{
    (void)state;
    att_sheet *sheet = sheet_of(FLOW);
    att_string text = { 0 };
    att_error err = { 0 };
    assert_int_equal(att_sheet_diagram(&text, sheet, "r", ATT_FORMAT_SVG, &err), ATT_OK);
    assert_non_null(strstr(text.data, ">r = rnn, unrolled<"));
    assert_null(strstr(text.data, "attention"));
    att_string_free(&text);
    assert_int_equal(att_sheet_diagram(&text, sheet, "nothing", ATT_FORMAT_SVG, &err),
                     ATT_BAD_INPUT);
    assert_string_equal(err.message, "no value 'nothing' to draw a diagram of");
    assert_int_equal(att_sheet_diagram(&text, sheet, NULL, ATT_FORMAT_HTML, &err), ATT_BAD_INPUT);
    assert_int_equal(text.length, 0);
    att_string_free(&text);
    att_sheet_free(sheet);
}

static void a_sheet_without_values_has_no_diagram(void **state)
{
    (void)state;
    att_sheet *sheet = sheet_of("Only text.\n");
    att_error err = { 0 };
    att_string text = { 0 };
    assert_int_equal(att_sheet_diagram(&text, sheet, NULL, ATT_FORMAT_SVG, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "no value to draw a diagram of");
    att_string_free(&text);
    att_sheet_free(sheet);
}

/* Every value uses all before it: a lane for each arrow in each layer. */
static void a_diagram_that_would_take_too_long_is_refused(void **state)
{
    (void)state;
    att_string text = { 0 };
    att_error err = { 0 };
    assert_int_equal(att_string_puts(&text, "x1 = 1\nx2 = x1\n"), ATT_OK);
    for (int i = 3; i < 120; i++) {
        assert_int_equal(att_string_printf(&text, "x%d = x%d", i, i - 1), ATT_OK);
        for (int j = 2; j < i - 1; j++)
            assert_int_equal(att_string_printf(&text, " + x%d", j), ATT_OK);
        assert_int_equal(att_string_puts(&text, "\n"), ATT_OK);
    }
    att_sheet *sheet = sheet_of(text.data);
    att_string_free(&text);
    assert_int_equal(att_sheet_diagram(&text, sheet, NULL, ATT_FORMAT_SVG, &err), ATT_BAD_INPUT);
    assert_non_null(strstr(err.message, "too many values and arrows"));
    assert_int_equal(att_sheet_diagram(&text, sheet, "x9", ATT_FORMAT_SVG, &err), ATT_OK);
    att_string_free(&text);
    att_sheet_free(sheet);
}

/* A loop is drawn as a row of steps; what is the same in each step enters at the side. */
static void a_loop_is_unrolled(void **state)
{
    (void)state;
    att_sheet *sheet = sheet_of("X = [1 2; 3 4]\nW = identity(2)\nf(x) = x * W\nh = [0 0]\n"
                                "for x of X: h = f(x) + h; s = sum(h)\n"
                                "for M of {X, W}: L = M * 2\ngiven g = random from 1 to 9\n"
                                "y = g * L[1]\n");
    att_arena arena = { 0 };
    att_diagram d;
    att_string text = { 0 };
    lay_out(&d, &arena, sheet);
    assert_null(node_of(&d, "f(x)"));
    assert_int_equal(count_edges(&d, "W", "L"), 1);
    assert_int_equal(count_edges(&d, "L", "y"), 1);
    assert_int_equal(count_edges(&d, "g", "y"), 1);
    assert_int_equal(att_sheet_diagram(&text, sheet, "s", ATT_FORMAT_SVG, NULL), ATT_OK);
    assert_non_null(strstr(text.data, ">h = f(x) + h, for x of X<"));
    assert_non_null(strstr(text.data, ">s = sum(h), for x of X<"));
    assert_non_null(strstr(text.data, ">other values<"));
    assert_non_null(strstr(text.data, ">step 2<"));
    assert_null(strstr(text.data, ">step 3<"));
    att_string_free(&text);
    att_arena_free(&arena);
    att_sheet_free(sheet);
}

static char *render(att_sheet *sheet, att_format format, att_string *text)
{
    att_string_free(text);
    assert_int_equal(
        att_sheet_render(text, sheet,
                         &(att_render_options){ sizeof(att_render_options), .format = format },
                         NULL),
        ATT_OK);
    return text->data;
}

static void a_document_has_the_diagram_of_what_was_computed_before_it(void **state)
{
    (void)state;
    att_sheet *sheet = sheet_of("x = [1 2]\ny = 2 * x\n\ndiagram\nz = y * 3\n"
                                "diagram y \"<b>&\\\"\" # why\n");
    att_string text = { 0 };
    const char *html = render(sheet, ATT_FORMAT_HTML, &text);
    assert_non_null(strstr(html, "<figcaption>Diagram</figcaption>"));
    assert_non_null(strstr(html, "<figcaption>&lt;b&gt;&amp;&quot;</figcaption>"));
    assert_non_null(strstr(html, "url(#s1-3-diagram-arrow)"));
    assert_non_null(strstr(html, "url(#s1-5-diagram-arrow)"));
    assert_null(strstr(html, "<?xml"));
    const char *latex = render(sheet, ATT_FORMAT_LATEX, &text);
    assert_non_null(strstr(latex, "\\usepackage{tikz}"));
    assert_non_null(strstr(latex, "\\begin{tikzpicture}"));
    const char *md = render(sheet, ATT_FORMAT_MARKDOWN, &text);
    assert_non_null(strstr(md, "```mermaid\nflowchart TD\n    n0([\"x<br/>1 × 2\"])\n"
                               "    n1[\"y<br/>2 · x<br/>1 × 2\"]\n    n0 --> n1\n```\n"));
    const char *plain = render(sheet, ATT_FORMAT_TEXT, &text);
    assert_non_null(strstr(plain, "  Diagram\n    given: x (1 × 2)\n    x → y (1 × 2) = 2 · x\n"));
    const char *json = render(sheet, ATT_FORMAT_JSON, &text);
    assert_non_null(strstr(json, "\"nodes\":[{\"name\":\"x\",\"line\":1,\"rows\":1,\"cols\":2},"
                                 "{\"name\":\"y\",\"line\":2,\"rows\":1,\"cols\":2}],"
                                 "\"edges\":[{\"from\":0,\"to\":1}]}"));
    att_string_free(&text);
    att_sheet_free(sheet);
    sheet = sheet_of("x = 1\n");
    assert_null(strstr(render(sheet, ATT_FORMAT_LATEX, &text), "tikz"));
    att_string_free(&text);
    att_sheet_free(sheet);
}

static att_status render_all(void *context)
{
    static const att_format formats[] = { ATT_FORMAT_TEXT, ATT_FORMAT_MARKDOWN, ATT_FORMAT_HTML,
                                          ATT_FORMAT_LATEX, ATT_FORMAT_JSON };
    att_status status = ATT_OK;
    for (size_t i = 0; i < ATT_COUNT(formats) && status == ATT_OK; i++) {
        att_string text = { 0 };
        status = att_sheet_render(
            &text, context,
            &(att_render_options){ sizeof(att_render_options), .format = formats[i] }, NULL);
        att_string_free(&text);
    }
    return status;
}

static att_status draw_flow(void *context)
{
    att_string text = { 0 };
    att_status status = att_sheet_diagram(&text, context, NULL, ATT_FORMAT_SVG, NULL);
    if (status == ATT_OK)
        status = att_sheet_diagram(&text, context, NULL, ATT_FORMAT_LATEX, NULL);
    att_string_free(&text);
    return status;
}

static void failing_memory_is_reported(void **state)
{
    (void)state;
    att_sheet *sheet = sheet_of(FLOW);
    every_allocation_fails(draw_flow, sheet, 4000);
    att_sheet_free(sheet);
    sheet = sheet_of("x = [1 2]\ny = x\ndiagram\n");
    every_allocation_fails(render_all, sheet, 4000);
    att_sheet_free(sheet);
    att_string text = { 0 }; /* wide enough to be folded */
    assert_int_equal(att_string_puts(&text, "x = [1 2]\n"), ATT_OK);
    for (int i = 0; i < 8; i++)
        assert_int_equal(att_string_printf(&text, "y%d = attention(x, x, x)\n", i), ATT_OK);
    sheet = sheet_of(text.data);
    att_string_free(&text);
    every_arena_allocation_fails(draw_flow, sheet, 4000);
    att_sheet_free(sheet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_box_overlaps_and_no_arrow_crosses_a_box),
        cmocka_unit_test(wide_diagrams_are_folded),
        cmocka_unit_test(a_loop_is_unrolled),
        cmocka_unit_test(a_document_has_the_diagram_of_what_was_computed_before_it),
        cmocka_unit_test(arrows_lead_to_the_inputs_of_attention),
        cmocka_unit_test(a_diagram_of_one_value_has_what_leads_to_it),
        cmocka_unit_test(a_sheet_without_values_has_no_diagram),
        cmocka_unit_test(a_diagram_that_would_take_too_long_is_refused),
        cmocka_unit_test(failing_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
