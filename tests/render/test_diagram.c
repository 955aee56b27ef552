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
    if (att_diagram_build(d, sheet, NULL, &err) != ATT_OK)
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

/* A chain of values that all use the first one has a lane for each arrow in each layer. */
static void a_diagram_that_would_take_too_long_is_refused(void **state)
{
    (void)state;
    att_string text = { 0 };
    att_error err = { 0 };
    assert_int_equal(att_string_puts(&text, "x1 = 1\nx2 = x1\n"), ATT_OK);
    for (int i = 3; i < 200; i++)
        assert_int_equal(att_string_printf(&text, "x%d = x1 + x%d\n", i, i - 1), ATT_OK);
    att_sheet *sheet = sheet_of(text.data);
    att_string_free(&text);
    assert_int_equal(att_sheet_diagram(&text, sheet, NULL, ATT_FORMAT_SVG, &err), ATT_BAD_INPUT);
    assert_non_null(strstr(err.message, "too many values and arrows"));
    assert_int_equal(att_sheet_diagram(&text, sheet, "x40", ATT_FORMAT_SVG, &err), ATT_OK);
    att_string_free(&text);
    att_sheet_free(sheet);
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
    every_allocation_fails(draw_flow, sheet, 2000);
    att_sheet_free(sheet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_box_overlaps_and_no_arrow_crosses_a_box),
        cmocka_unit_test(arrows_lead_to_the_inputs_of_attention),
        cmocka_unit_test(a_diagram_of_one_value_has_what_leads_to_it),
        cmocka_unit_test(a_sheet_without_values_has_no_diagram),
        cmocka_unit_test(a_diagram_that_would_take_too_long_is_refused),
        cmocka_unit_test(failing_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
