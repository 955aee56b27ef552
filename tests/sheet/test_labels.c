/* Labels: set by `label`, kept by every operation that keeps rows or columns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/minmax.h"
#include "base/string.h"
#include "sheet_help.h"

/* "I go home", "-" for a missing label, "none" for no labels at all. */
static void assert_labels(const char *what, const char *const *labels, int64_t count,
                          const char *expected)
{
    att_string text = { 0 };
    if (!labels)
        att_string_puts(&text, "none");
    for (int64_t i = 0; labels && i < count; i++)
        att_string_printf(&text, "%s%s", i ? " " : "", labels[i] ? labels[i] : "-");
    if (strcmp(text.data, expected) != 0)
        fail_msg("%s has labels %s, expected %s", what, text.data, expected);
    att_string_free(&text);
}

struct label_case {
    const char *expression;
    const char *rows;
    const char *cols;
};

static void labels_follow_rows_and_columns(void **state)
{
    (void)state;
    static const struct label_case cases[] = {
        { "h", "I go home", "a b" },
        { "-h", "I go home", "a b" },
        { "h'", "a b", "I go home" },
        { "h * W", "I go home", "none" },
        { "W * h'", "none", "I go home" },
        { "s * h'", "none", "I go home" },
        { "2 * h", "I go home", "a b" },
        { "h + P", "I go home", "a b" },
        { "P + h", "I go home", "a b" },
        { "h + s", "I go home", "a b" },
        { "h .* h[:, 1]", "I go home", "a b" },
        { "h / 2", "I go home", "a b" },
        { "h ^ 2", "I go home", "a b" },
        { "h[2]", "go", "a b" },
        { "h[2:3, 1]", "go home", "a" },
        { "h[[3 1]]", "home I", "a b" },
        { "[h; s]", "I go home -", "a b" },
        { "[s; h]", "- I go home", "a b" },
        { "[P; P]", "none", "none" },
        { "[h, P]", "I go home", "a b - -" },
        { "[P, h]", "I go home", "- - a b" },
        { "permute(h, [3 1 2])", "home I go", "a b" },
        { "permute(h, [2 1], cols)", "I go home", "b a" },
        { "softmax(h)", "I go home", "a b" },
        { "softmax(h, cols)", "I go home", "a b" },
        { "tanh(h)", "I go home", "a b" },
        { "layernorm(h)", "I go home", "a b" },
        { "round(h, 1)", "I go home", "a b" },
        { "transpose(h)", "a b", "I go home" },
        { "sum(h, rows)", "I go home", "none" },
        { "sum(h, cols)", "none", "a b" },
        { "argmax(h)", "I go home", "none" },
        { "attention(s, h, h).weights", "none", "I go home" },
        { "attention(h, h, h).weights", "I go home", "I go home" },
        { "attention(h, h, h)", "I go home", "a b" },
    };
    for (size_t i = 0; i < ATT_COUNT(cases); i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "h = [1 2; 3 4; 5 6]\nlabel h rows \"I\" \"go\" \"home\" cols \"a\" \"b\"\n"
                 "s = [1 1]\nP = ones(3, 2)\nW = [1 2; 3 4]\n"
                 "value = %s\n",
                 cases[i].expression);
        att_sheet *sheet = sheet_from(text);
        const att_matrix *value = step_named(sheet, "value")->value;
        assert_labels(cases[i].expression, value->row_labels, value->rows, cases[i].rows);
        assert_labels(cases[i].expression, value->col_labels, value->cols, cases[i].cols);
        att_sheet_free(sheet);
    }
}

static void a_label_shows_where_the_matrix_was_given_and_not_in_copies_made_before(void **state)
{
    (void)state;
    att_sheet *sheet = sheet_from("h = [1; 2]\ncopy = h\nlabel h \"I\", \"go\"\nlater = h\n");
    assert_labels("h", step_named(sheet, "h")->value->row_labels, 2, "I go");
    assert_labels("copy", step_named(sheet, "copy")->value->row_labels, 2, "none");
    assert_labels("later", step_named(sheet, "later")->value->row_labels, 2, "I go");
    assert_int_equal(sheet->step_count, 3); /* a label statement adds no step */
    att_sheet_free(sheet);
}

static void rows_and_columns_can_be_labeled_one_after_the_other_and_again(void **state)
{
    (void)state;
    att_sheet *sheet = sheet_from("h = [1 2]\nlabel h cols \"a\" \"b\"\nlabel h \"x\"\n"
                                  "label h \"আমি\"\n");
    const att_matrix *value = step_named(sheet, "h")->value;
    assert_labels("h", value->row_labels, 1, "আমি");
    assert_labels("h", value->col_labels, 2, "a b");
    att_sheet_free(sheet);
}

static void a_name_given_again_loses_its_labels_and_keeps_the_old_ones_where_they_were(void **state)
{
    (void)state;
    att_sheet *sheet = sheet_from("h = [1; 2]\nlabel h \"I\" \"go\"\nh = [3; 4]\n");
    assert_labels("the first h", sheet->steps[0].value->row_labels, 2, "I go");
    assert_labels("the second h", sheet->steps[1].value->row_labels, 2, "none");
    att_sheet_free(sheet);
}

static void a_matrix_has_as_many_labels_as_rows(void **state)
{
    (void)state;
    att_sheet *sheet =
        sheet_from("x = zeros(20, 1)\nlabel x \"1\" \"2\" \"3\" \"4\" \"5\" \"6\" \"7\" "
                   "\"8\" \"9\" \"10\" \"11\" \"12\" \"13\" \"14\" \"15\" \"16\" "
                   "\"17\" \"18\" \"19\" \"20\"\n");
    assert_labels("x", step_named(sheet, "x")->value->row_labels, 20,
                  "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20");
    att_sheet_free(sheet);
}

static void masks_follow_selection_and_transposition(void **state)
{
    (void)state;
    att_sheet *sheet = sheet_from("h = [1 2; 3 4]\na = attention(h, h, h, causal)\n"
                                  "turned = a.weights'\nfirst = a.weights[1]\n");
    assert_memory_equal(step_named(sheet, "turned")->value->allowed,
                        ((const uint8_t[]){ 1, 1, 0, 1 }), 4);
    assert_memory_equal(step_named(sheet, "first")->value->allowed, ((const uint8_t[]){ 1, 0 }), 2);
    att_sheet_free(sheet);
}

static void a_plot_of_half_labeled_rows_numbers_the_others(void **state)
{
    (void)state;
    att_sheet *sheet = sheet_from("h = [1; 2]\nlabel h \"I\" \"go\"\nplot [h; 3]\n");
    const att_map *map = att_sheet_map_get(sheet, 0);
    assert_string_equal(map->query_labels[1], "go");
    assert_string_equal(map->query_labels[2], "3");
    att_sheet_free(sheet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_follow_rows_and_columns),
        cmocka_unit_test(a_label_shows_where_the_matrix_was_given_and_not_in_copies_made_before),
        cmocka_unit_test(rows_and_columns_can_be_labeled_one_after_the_other_and_again),
        cmocka_unit_test(
            a_name_given_again_loses_its_labels_and_keeps_the_old_ones_where_they_were),
        cmocka_unit_test(a_matrix_has_as_many_labels_as_rows),
        cmocka_unit_test(masks_follow_selection_and_transposition),
        cmocka_unit_test(a_plot_of_half_labeled_rows_numbers_the_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
