/* Values: operators, functions, indices, records and lists. Most tests are sheets with checks;
 * test_expect.c tests that `expect` can fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/minmax.h"
#include "sheet/eval.h"
#include "sheet_help.h"

#include <locale.h>

/* The matrix of the sheet's last step. */
static void assert_value(const char *expression, int64_t rows, int64_t cols, const double *data)
{
    char text[512];
    snprintf(text, sizeof text, "a = [1 2; 3 4]\nb = [5 6]\nc = [7; 8]\nvalue = %s", expression);
    att_sheet *sheet = sheet_from(text);
    const att_matrix *value = step_named(sheet, "value")->value;
    if (value->rows != rows || value->cols != cols)
        fail_msg("%s is %d × %d, expected %d × %d", expression, (int)value->rows, (int)value->cols,
                 (int)rows, (int)cols);
    for (int64_t i = 0; i < rows * cols; i++)
        if (value->data[i] != data[i] && !(isnan(value->data[i]) && isnan(data[i])))
            fail_msg("%s: element %d is %.17g, expected %.17g", expression, (int)i, value->data[i],
                     data[i]);
    att_sheet_free(sheet);
}

#define ASSERT_VALUE(expression, rows, cols, ...)                                                  \
    assert_value(expression, rows, cols, (const double[]){ __VA_ARGS__ })

static void sums_and_element_products_repeat_rows_columns_and_numbers(void **state)
{
    (void)state;
    ASSERT_VALUE("a + a", 2, 2, 2, 4, 6, 8);
    ASSERT_VALUE("a + b", 2, 2, 6, 8, 8, 10);
    ASSERT_VALUE("b + a", 2, 2, 6, 8, 8, 10);
    ASSERT_VALUE("a - c", 2, 2, -6, -5, -5, -4);
    ASSERT_VALUE("c - a", 2, 2, 6, 5, 5, 4);
    ASSERT_VALUE("b + c", 2, 2, 12, 13, 13, 14);
    ASSERT_VALUE("a .* b", 2, 2, 5, 12, 15, 24);
    ASSERT_VALUE("a ./ c", 2, 2, 1.0 / 7, 2.0 / 7, 3.0 / 8, 0.5);
    ASSERT_VALUE("10 - a", 2, 2, 9, 8, 7, 6);
    ASSERT_VALUE("a ^ 2", 2, 2, 1, 4, 9, 16);
    ASSERT_VALUE("2 ^ a", 2, 2, 2, 4, 8, 16);
    ASSERT_VALUE("-a", 2, 2, -1, -2, -3, -4);
}

static void products_are_matrix_products_unless_one_side_is_a_number(void **state)
{
    (void)state;
    ASSERT_VALUE("a * a", 2, 2, 7, 10, 15, 22);
    ASSERT_VALUE("b * a", 1, 2, 23, 34);
    ASSERT_VALUE("a * c", 2, 1, 23, 53);
    ASSERT_VALUE("b * c", 1, 1, 83);
    ASSERT_VALUE("c * b", 2, 2, 35, 42, 40, 48);
    ASSERT_VALUE("2 * a", 2, 2, 2, 4, 6, 8);
    ASSERT_VALUE("a * 2", 2, 2, 2, 4, 6, 8);
    ASSERT_VALUE("b * c * a", 2, 2, 83, 166, 249, 332);
    ASSERT_VALUE("a / 2", 2, 2, 0.5, 1, 1.5, 2);
    ASSERT_VALUE("a / a", 2, 2, 1, 1, 1, 1);
    ASSERT_VALUE("zeros(2, 0) * zeros(0, 3)", 2, 3, 0, 0, 0, 0, 0, 0);
}

static void dividing_by_zero_shows_as_infinity_and_nan(void **state)
{
    (void)state;
    ASSERT_VALUE("[1 -1 0] / 0", 1, 3, INFINITY, -INFINITY, NAN);
    ASSERT_VALUE("inf - inf", 1, 1, NAN);
    ASSERT_VALUE("nan * 0", 1, 1, NAN);
    ASSERT_VALUE("log(0)", 1, 1, -INFINITY);
    ASSERT_VALUE("sqrt(-1)", 1, 1, NAN);
}

static void matrices_are_put_together_from_matrices(void **state)
{
    (void)state;
    ASSERT_VALUE("[b, b]", 1, 4, 5, 6, 5, 6);
    ASSERT_VALUE("[a; b]", 3, 2, 1, 2, 3, 4, 5, 6);
    ASSERT_VALUE("[a c; b 9]", 3, 3, 1, 2, 7, 3, 4, 8, 5, 6, 9);
    ASSERT_VALUE("[a'; -b]", 3, 2, 1, 3, 2, 4, -5, -6);
    ASSERT_VALUE("[[] ]", 0, 0, 0);
    ASSERT_VALUE("[1 -2 3 - 4]", 1, 3, 1, -2, -1);
}

static void an_index_counts_from_one_and_picks_rows_elements_and_ranges(void **state)
{
    (void)state;
    ASSERT_VALUE("a[2]", 1, 2, 3, 4);
    ASSERT_VALUE("a[2, 1]", 1, 1, 3);
    ASSERT_VALUE("a[:, 2]", 2, 1, 2, 4);
    ASSERT_VALUE("a[1, :]", 1, 2, 1, 2);
    ASSERT_VALUE("b[2]", 1, 1, 6);
    ASSERT_VALUE("c[2]", 1, 1, 8);
    ASSERT_VALUE("[a; b][2:3]", 2, 2, 3, 4, 5, 6);
    ASSERT_VALUE("[a; b][[3 1]]", 2, 2, 5, 6, 1, 2);
    ASSERT_VALUE("[a; b][[3 1], [2 2]]", 2, 2, 6, 6, 2, 2);
    ASSERT_VALUE("a[b[1] - 3][1]", 1, 1, 3);
    ASSERT_VALUE("a'[2]", 1, 2, 2, 4);
}

static void functions_work_on_every_element(void **state)
{
    (void)state;
    assert_sheet_passes(
        "x = [-2 -0.5 0 1]\n"
        "expect relu(x) = [0 0 0 1] within 0\n"
        "expect abs(x) = [2 0.5 0 1] within 0\n"
        "expect tanh(x) = [-0.9640275801 -0.4621171573 0 0.7615941560] to 9 digits\n"
        "expect sigmoid(x) = [0.1192029220 0.3775406688 0.5 0.7310585786] to 9 digits\n"
        "expect exp(x) = [0.1353352832 0.6065306597 1 2.718281828] to 9 digits\n"
        "expect gelu(x) = [-0.04550026390 -0.1542687694 0 0.8413447461] to 9 digits\n"
        "expect sin(x) = [-0.9092974268 -0.4794255386 0 0.8414709848] to 9 digits\n"
        "expect cos(x) = [-0.4161468365 0.8775825619 1 0.5403023059] to 9 digits\n"
        "expect log(exp(x)) = x\n"
        "expect sqrt(x .* x) = abs(x)\n");
}

static void sums_means_and_extremes_go_over_all_or_along_rows_or_columns(void **state)
{
    (void)state;
    ASSERT_VALUE("sum(a)", 1, 1, 10);
    ASSERT_VALUE("sum(a, rows)", 2, 1, 3, 7);
    ASSERT_VALUE("sum(a, cols)", 1, 2, 4, 6);
    ASSERT_VALUE("mean(a)", 1, 1, 2.5);
    ASSERT_VALUE("mean(a, rows)", 2, 1, 1.5, 3.5);
    ASSERT_VALUE("mean(a, cols)", 1, 2, 2, 3);
    ASSERT_VALUE("max(a)", 1, 1, 4);
    ASSERT_VALUE("max(a, cols)", 1, 2, 3, 4);
    ASSERT_VALUE("min(a, rows)", 2, 1, 1, 3);
    ASSERT_VALUE("argmax([3 9 9; 5 1 0])", 2, 1, 2, 1);
    ASSERT_VALUE("argmax([3 9 9; 5 1 0], cols)", 1, 3, 2, 1, 1);
    ASSERT_VALUE("max([1 nan 3])", 1, 1, NAN);
    ASSERT_VALUE("min([1 nan 3])", 1, 1, NAN);
    ASSERT_VALUE("sum([])", 1, 1, 0);
}

static void softmax_is_exact_where_exp_alone_would_overflow_and_zero_where_nothing_may_be_seen(
    void **state)
{
    (void)state;
    ASSERT_VALUE("softmax([1000 1000])", 1, 2, 0.5, 0.5);
    ASSERT_VALUE("softmax([0 -inf; -inf -inf])", 2, 2, 1, 0, 0, 0);
    ASSERT_VALUE("softmax([0 nan])", 1, 2, NAN, NAN);
    ASSERT_VALUE("softmax([5; 5], cols)", 2, 1, 0.5, 0.5);
    assert_sheet_passes(
        "expect softmax([0.6 0.82 1.04]) = [0.263242 0.328020 0.408738] as printed\n"
        "expect softmax([1 2; 3 4], cols) = softmax([1 2; 3 4]')' within 0\n");
}

static void layernorm_gives_rows_of_mean_0_and_variance_1_then_gain_and_bias(void **state)
{
    (void)state;
    assert_sheet_passes(
        "X = [1 2 3 4; 2 2 2 10]\n"
        "Y = layernorm(X, eps = 0)\n"
        "expect mean(Y, rows) = [0; 0]\n"
        "expect mean(Y .* Y, rows) = [1; 1]\n"
        "expect layernorm(X) = [-1.3416354 -0.4472118 0.4472118 1.3416354\n"
        "                       -0.5773500 -0.5773500 -0.5773500 1.7320501] to 6 decimals\n"
        "expect layernorm(X, [2 2 2 2], [1 1 1 1], eps = 0) = 2 * Y + 1\n"
        "expect rmsnorm([3 -4], eps = 0) = [3 -4] / sqrt(12.5)\n"
        "expect rmsnorm([3 -4], [2 10], eps = 1) = [6 -40] / sqrt(13.5)\n");
}

static void matrices_are_made_rearranged_and_rounded(void **state)
{
    (void)state;
    ASSERT_VALUE("zeros(1, 2)", 1, 2, 0, 0);
    ASSERT_VALUE("ones(2)", 2, 2, 1, 1, 1, 1);
    ASSERT_VALUE("identity(2)", 2, 2, 1, 0, 0, 1);
    ASSERT_VALUE("shape([1 2 3; 4 5 6])", 1, 2, 2, 3);
    ASSERT_VALUE("transpose(b)", 2, 1, 5, 6);
    ASSERT_VALUE("permute(a, [2 1])", 2, 2, 3, 4, 1, 2);
    ASSERT_VALUE("permute(a, [2 1], cols)", 2, 2, 2, 1, 4, 3);
    ASSERT_VALUE("round([0.285 2.5 -2.5 1.004], 0)", 1, 4, 0, 3, -3, 1);
    ASSERT_VALUE("round([0.285 -0.285 1.005 0.014999], 2)", 1, 4, 0.29, -0.29, 1.01, 0.01);
    ASSERT_VALUE("round(1234.5, -2)", 1, 1, 1200);
    ASSERT_VALUE("round([nan inf 1e300])", 1, 3, NAN, INFINITY, 1e300);
}

static void names_can_be_assigned_again_and_shadow_predefined_ones(void **state)
{
    (void)state;
    assert_sheet_passes("x = 1\n"
                        "y = x\n"
                        "x = x + 1\n"
                        "expect x = 2 within 0\n"
                        "expect y = 1 within 0\n"
                        "expect pi = 3.14159265358979 to 15 digits\n"
                        "pi = 3\n"
                        "expect pi = 3 within 0\n"
                        "sum = 4\n"
                        "expect sum([sum 1]) = 5 within 0\n"
                        "rows = 7\n"
                        "expect sum([1 2], rows) = 3 within 0 # the flag, not the name\n");
}

static void a_sheet_keeps_any_number_of_names(void **state)
{
    (void)state;
    char text[16384] = "";
    for (int i = 0; i < 500; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "x%d = %d\n", i, i);
    strcat(text, "expect [x0 x31 x32 x33 x255 x499] = [0 31 32 33 255 499] within 0\n");
    assert_sheet_passes(text);
}

static void a_record_is_its_result_and_gives_its_parts_by_name(void **state)
{
    (void)state;
    assert_sheet_passes("X = [1 0; 0 1; 1 1]\n"
                        "a = attention(X, X, X, score = dot)\n"
                        "expect a + 0 = a.weights * X\n"
                        "expect a[2, 1] = a.output[2, 1] within 0\n"
                        "b = a\n"
                        "expect b.weights = softmax(X * X')\n"
                        "expect (a).scores = X * X'\n"
                        "expect [a a.weights] = [a.output, a.weights] within 0\n");
}

static void heads_are_counted_and_each_has_its_parts(void **state)
{
    (void)state;
    assert_sheet_passes(
        "X = [1 0; 0 1; 1 1]\nP = [1 0; 0 1]\nN = -P\nm = multihead(X, {P, N}, {P, P}, {P, "
        "P})\nexpect m.head[1].weights = attention(X, X, X).weights\nexpect m.head[2].weights = "
        "attention(-X, X, X).weights\nexpect m.head[2] = m.head[2].output within 0\nh = "
        "m.head\nexpect h[2].scores = m.head[2].scores within 0\nexpect error m.weights saying "
        "\"each head has a part weights: expected m.head[1].weights to head[2]\"\nexpect error "
        "m.head[3] saying \"item 3 is out of range: m.head has 2 items\"\n");
}

static void a_list_holds_matrices_and_is_shown_as_parts_by_their_index(void **state)
{
    (void)state;
    att_sheet *sheet = sheet_from("L = {[1 2], 3}\nx = L[1]\n");
    const att_trace_step *list = step_named(sheet, "L");
    assert_null(list->value);
    assert_int_equal(list->part_count, 2);
    assert_string_equal(list->parts[1].name, "L[2]");
    assert_true(list->parts[1].value->data[0] == 3);
    assert_int_equal(step_named(sheet, "x")->value->cols, 2);
    att_sheet_free(sheet);
}

static void the_parts_of_a_record_are_shown_where_it_is_made_and_not_where_it_is_named(void **state)
{
    (void)state;
    att_sheet *sheet =
        sheet_from("a = attention([1 2], [1 2], [1 2], score = dot)\nb = a\nshow a\n");
    assert_true(step_named(sheet, "a")->part_count > 0);
    assert_int_equal(step_named(sheet, "b")->part_count, 0);
    assert_int_equal(sheet->steps[2].part_count, 0);
    assert_non_null(sheet->steps[2].value);
    att_sheet_free(sheet);
}

static void an_option_takes_a_word_bare_or_quoted_even_where_a_value_has_that_name(void **state)
{
    (void)state;
    assert_sheet_passes("q = [1 2]\n"
                        "dot = attention(q, q, q, score = dot)\n"
                        "quoted = attention(q, q, q, score = \"dot\")\n"
                        "again = attention(q, q, q, score = dot)\n"
                        "expect again.scores = 5 within 0\n"
                        "expect quoted.scores = 5 within 0\n");
}

static void a_plot_has_a_panel_per_head_labels_and_masks(void **state)
{
    (void)state;
    att_sheet *sheet = sheet_from("X = [1 0; 0 1]\n"
                                  "label X \"I\" \"go\"\n"
                                  "P = [1 0; 0 1]\n"
                                  "a = attention(X, X, X, score = dot, causal)\n"
                                  "m = multihead(X, {P, P}, {P, P}, {P, P})\n"
                                  "plot a\n"
                                  "plot m.weights \"two heads\"\n"
                                  "plot {[1 2], [3 4], [5 6]}\n"
                                  "plot a.scores\n"
                                  "plot {a.weights, P}\n"
                                  "W = {P, X}\n"
                                  "plot W\n");
    assert_int_equal(att_sheet_map_count(sheet), 6);
    const att_map *causal = att_sheet_map_get(sheet, 0);
    assert_int_equal(causal->panels, 1);
    assert_null(causal->title);
    assert_string_equal(causal->query_labels[1], "go");
    assert_string_equal(causal->key_labels[0], "I");
    assert_memory_equal(causal->allowed, ((const uint8_t[]){ 1, 0, 1, 1 }), 4);
    assert_true(causal->weights[0] == 1 && causal->weights[1] == 0);
    const att_map *heads = att_sheet_map_get(sheet, 1);
    assert_int_equal(heads->panels, 2);
    assert_string_equal(heads->title, "two heads");
    assert_string_equal(heads->panel_labels[1], "head 2");
    const att_map *list = att_sheet_map_get(sheet, 2);
    assert_int_equal(list->panels, 3);
    assert_true(list->weights[4] == 5);
    assert_null(list->query_labels);
    assert_string_equal(list->panel_labels[2], "3"); /* a matrix without a name, and no head */
    const att_map *half_masked = att_sheet_map_get(sheet, 4);
    assert_memory_equal(half_masked->allowed, ((const uint8_t[]){ 1, 0, 1, 1, 1, 1, 1, 1 }), 8);
    assert_string_equal(half_masked->panel_labels[0], "a.weights");
    assert_string_equal(half_masked->panel_labels[1], "P");
    const att_map *named = att_sheet_map_get(sheet, 5);
    assert_string_equal(named->panel_labels[1], "W[2]");
    assert_null(att_sheet_map_get(sheet, 6));
    assert_ptr_equal(sheet->steps[sheet->step_count - 1].map, named);
    att_sheet_free(sheet);
}

/* The order of a sum is part of the definition: (1e16 + 1) - 1e16 is 0 and not 1. */
static void a_product_adds_in_index_order(void **state)
{
    (void)state;
    ASSERT_VALUE("[1e16 1 -1e16] * [1; 1; 1]", 1, 1, 0);
    ASSERT_VALUE("[1e16 -1e16 1] * [1; 1; 1]", 1, 1, 1);
}

static void numbers_have_a_point_in_any_locale(void **state)
{
    (void)state;
    static const char *const names[] = { "de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "fr_FR" };
    bool set = false;
    for (size_t i = 0; i < ATT_COUNT(names) && !set; i++)
        set = setlocale(LC_NUMERIC, names[i]) && localeconv()->decimal_point[0] == ',';
    if (!set)
        skip(); /* no locale with a decimal comma on this machine */
    att_sheet *sheet = sheet_from("x = 1.5\nexpect x = 2.25 within 0.125\n");
    assert_true(step_named(sheet, "x")->value->data[0] == 1.5);
    assert_string_equal(sheet->steps[1].check->message,
                        "it is 1.5, expected 2.25: off by 0.75, allowed 0.125");
    char one_and_a_half[8];
    snprintf(one_and_a_half, sizeof one_and_a_half, "%.1f", 1.5);
    assert_string_equal(one_and_a_half, "1,5"); /* the caller's locale is as it was */
    att_sheet_free(sheet);
    setlocale(LC_NUMERIC, "C");
}

static void an_expression_without_names_can_be_evaluated_alone(void **state)
{
    (void)state;
    att_arena arena = { 0 };
    att_error err = { 0 };
    const att_matrix *value;
    assert_int_equal(
        att_eval_closed(&arena, att_formula(&arena, "exp(0) * [1 2] + 1"), &value, &err), ATT_OK);
    assert_true(value->data[0] == 2 && value->data[1] == 3);
    const att_expr constant = { .kind = ATT_EXPR_CONSTANT, .matrix = value };
    const att_matrix *same;
    assert_int_equal(att_eval_closed(&arena, &constant, &same, &err), ATT_OK);
    assert_ptr_equal(same, value);
    const att_expr subscripted = { .kind = ATT_EXPR_INDEXED, .text = "e" };
    assert_int_equal(att_eval_closed(&arena, &subscripted, &same, &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "this is not allowed here: expected a value");
    assert_int_equal(att_eval_closed(&arena, att_formula(&arena, "x + 1"), &value, &err),
                     ATT_BAD_INPUT);
    assert_string_equal(err.message, "unknown name 'x'");
    att_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_and_element_products_repeat_rows_columns_and_numbers),
        cmocka_unit_test(products_are_matrix_products_unless_one_side_is_a_number),
        cmocka_unit_test(dividing_by_zero_shows_as_infinity_and_nan),
        cmocka_unit_test(matrices_are_put_together_from_matrices),
        cmocka_unit_test(an_index_counts_from_one_and_picks_rows_elements_and_ranges),
        cmocka_unit_test(functions_work_on_every_element),
        cmocka_unit_test(sums_means_and_extremes_go_over_all_or_along_rows_or_columns),
        cmocka_unit_test(
            softmax_is_exact_where_exp_alone_would_overflow_and_zero_where_nothing_may_be_seen),
        cmocka_unit_test(layernorm_gives_rows_of_mean_0_and_variance_1_then_gain_and_bias),
        cmocka_unit_test(matrices_are_made_rearranged_and_rounded),
        cmocka_unit_test(names_can_be_assigned_again_and_shadow_predefined_ones),
        cmocka_unit_test(a_sheet_keeps_any_number_of_names),
        cmocka_unit_test(a_record_is_its_result_and_gives_its_parts_by_name),
        cmocka_unit_test(heads_are_counted_and_each_has_its_parts),
        cmocka_unit_test(a_list_holds_matrices_and_is_shown_as_parts_by_their_index),
        cmocka_unit_test(
            the_parts_of_a_record_are_shown_where_it_is_made_and_not_where_it_is_named),
        cmocka_unit_test(an_option_takes_a_word_bare_or_quoted_even_where_a_value_has_that_name),
        cmocka_unit_test(a_plot_has_a_panel_per_head_labels_and_masks),
        cmocka_unit_test(a_product_adds_in_index_order),
        cmocka_unit_test(numbers_have_a_point_in_any_locale),
        cmocka_unit_test(an_expression_without_names_can_be_evaluated_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
