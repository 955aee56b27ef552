/* Expression trees of calculations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sheet/matrix.h"
#include "sheet/calculation.h"

static void a_sum_is_left_associative_and_needs_no_parentheses(void **state)
{
    (void)state;
    att_arena arena = { 0 };
    att_expr_sum sum = { .arena = &arena };
    for (int i = 1; i <= 3; i++)
        att_expr_sum_add(&sum, att_make_number(&arena, i));
    assert_int_equal(sum.terms, 3);
    assert_int_equal(sum.expr->op, ATT_OP_ADD);
    assert_true(sum.expr->child[1]->number == 3);
    assert_true(sum.expr->child[0]->child[0]->number == 1);
    assert_true(sum.expr->child[0]->child[1]->number == 2);
    assert_int_equal(sum.expr->height, 2);
    att_arena_free(&arena);
}

static void products_take_factors_at_their_strides(void **state)
{
    (void)state;
    att_arena arena = { 0 };
    static const double a[] = { 1, 2, 3, 4, 5 };
    static const double b[] = { 10, 20 };
    const att_expr *sum = att_make_dot_product(&arena, 2, a, 3, b, 1);
    assert_true(sum->child[0]->child[0]->number == 1 && sum->child[0]->child[1]->number == 10);
    assert_true(sum->child[1]->child[0]->number == 4 && sum->child[1]->child[1]->number == 20);
    att_arena_free(&arena);
}

static void a_builder_of_null_returns_null(void **state)
{
    (void)state;
    att_arena arena = { 0 };
    att_expr *one = att_make_number(&arena, 1);
    assert_null(att_make_binary(&arena, ATT_OP_ADD, NULL, one));
    assert_null(att_make_binary(&arena, ATT_OP_ADD, one, NULL));
    assert_null(att_make_call(&arena, "exp", NULL));
    assert_null(att_make_constant(&arena, NULL));
    att_expr_sum sum = { .arena = &arena };
    att_expr_sum_add(&sum, NULL);
    att_expr_sum_add(&sum, one);
    assert_null(sum.expr);
    arena.limit = arena.allocated;
    assert_null(att_make_number(&arena, 1));
    assert_null(att_make_indexed(&arena, "e", 1, 2));
    assert_null(att_make_binary(&arena, ATT_OP_ADD, one, one));
    att_arena_free(&arena);
}

static void every_element_of_a_product_has_a_calculation(void **state)
{
    (void)state;
    att_arena arena = { 0 };
    att_matrix *a = att_matrix_new(&arena, 2, 3);
    att_matrix *b = att_matrix_new(&arena, 3, 2);
    att_matrix *c = att_matrix_new(&arena, 2, 2);
    for (int i = 0; i < 6; i++) {
        a->data[i] = i;
        b->data[i] = 10 * i;
    }
    c->data[3] = 310;
    att_calculations calculations = { 0 };
    assert_int_equal(att_calculations_add_matmul(&calculations, &arena, "q", a, b, c, NULL),
                     ATT_OK);
    assert_int_equal(calculations.count, 4);
    const att_calculation *last = &calculations.items[3];
    assert_string_equal(last->left->text, "q");
    assert_int_equal(last->left->children, 2);
    assert_int_equal(last->row, 2);
    assert_true(last->value->data[0] == 310);
    const att_expr *term = last->right->child[1]; /* 5·50 */
    assert_true(term->child[0]->number == 5 && term->child[1]->number == 50);
    att_arena_free(&arena);
}

static void large_sizes_have_no_calculations(void **state)
{
    (void)state;
    assert_true(att_calculation_fits(1, 1, 1));
    assert_true(
        att_calculation_fits(ATT_CALCULATION_ROWS, ATT_CALCULATION_COLS, ATT_CALCULATION_TERMS));
    assert_false(att_calculation_fits(ATT_CALCULATION_ROWS + 1, 1, 1));
    assert_false(att_calculation_fits(1, ATT_CALCULATION_COLS + 1, 1));
    assert_false(att_calculation_fits(1, 1, ATT_CALCULATION_TERMS + 1));
    assert_false(att_calculation_fits(0, 1, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sum_is_left_associative_and_needs_no_parentheses),
        cmocka_unit_test(products_take_factors_at_their_strides),
        cmocka_unit_test(a_builder_of_null_returns_null),
        cmocka_unit_test(every_element_of_a_product_has_a_calculation),
        cmocka_unit_test(large_sizes_have_no_calculations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
