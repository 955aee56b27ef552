/* Column vectors: every layer that accepts `vectors = columns` computes the transpose of what it
 * computes with rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/minmax.h"
#include "sheet_help.h"

static const char setup[] = "X = [1 -2 0.5; 0.3 0.7 -1]\n"
                            "h = [0.1 -0.2]\n"
                            "c = [0.5 0.25]\n"
                            "W = [0.1 0.2; -0.3 0.4; 0.5 -0.6]\n"
                            "U = [0.7 -0.1; 0.2 0.3]\n"
                            "b = [0.01 -0.02]\n"
                            "W4 = [W, -W, 2 * W, W / 2]\n"
                            "U4 = [U, U', -U, U / 2]\n"
                            "b4 = [b, b, -b, b]\n"
                            "W3 = W4[:, 1:6]\n"
                            "U3 = U4[:, 1:6]\n"
                            "b3 = b4[1:6]\n";

static void columns_are_transposed_rows(void **state)
{
    (void)state;
    static const char *const claims[] = {
        "r = rnn(X, h, W, U, b)\ns = rnn(X', h', W', U', b', vectors = columns)\n"
        "expect s = r' within 0\nexpect s.z = r.z' within 0",
        "r = rnn(X, h, W, U)\ns = rnn(X', h', W', U', vectors = columns)\nexpect s = r' within 0",
        "r = lstm(X, h, c, W4, U4, b4)\n"
        "s = lstm(X', h', c', W4', U4', b4', vectors = columns)\n"
        "expect s = r' within 0\nexpect s.c = r.c' within 0\nexpect s.f = r.f' within 0",
        "r = gru(X, h, W3, U3, b3, b3)\n"
        "s = gru(X', h', W3', U3', b3', b3', vectors = columns)\nexpect s = r' within 0",
        "r = gru(X, h, W3, U3, b3, b3, reset = before)\n"
        "s = gru(X', h', W3', U3', b3', b3', reset = before, vectors = columns)\n"
        "expect s = r' within 0",
        "expect layernorm(X', vectors = columns) = layernorm(X)' within 0",
        "expect layernorm(X', W[:, 1], W[:, 2], vectors = columns) = layernorm(X, W[:, 1]', W[:, "
        "2]')' within 0",
        "expect rmsnorm(X', W[:, 1], vectors = columns) = rmsnorm(X, W[:, 1]')' within 0",
        "expect error rnn(X, h', W, U) saying \"for column vectors: vectors = columns\"",
        "expect error rnn(X', h, W', U', vectors = columns) saying \"vectors are rows\"",
        "expect error rnn(X', h', W, U', vectors = columns) saying \"W is 3 × 2, but must be 2 × "
        "3: "
        "a column for each element of X', a row for each unit\"",
        "expect error lstm(X', h', c, W4', U4', vectors = columns) saying \"one column as high as "
        "h, 2 × 1\"",
        "expect error layernorm(X', [1 1 1], vectors = columns) saying \"3 × 1 like the columns\"",
    };
    char text[2048];
    for (size_t i = 0; i < ATT_COUNT(claims); i++) {
        snprintf(text, sizeof text, "%s%s\n", setup, claims[i]);
        assert_sheet_passes(text);
    }
}

/* The numbers of a calculation stand in the order of the formula, W x, and under its indices. */
static void calculations_have_the_order_of_the_formula(void **state)
{
    (void)state;
    char text[2048];
    snprintf(text, sizeof text, "%ss = rnn(X', h', W', U', vectors = columns)\n", setup);
    att_sheet *sheet = sheet_from(text);
    const att_trace_part *z = part_named(step_named(sheet, "s"), "z", 0);
    assert_int_equal(z->calculation_count, 4);
    assert_int_equal(z->calculations[0].row, 1);
    assert_int_equal(z->calculations[1].row, 2); /* unit 2 of step 1 */
    const att_expr *first = z->calculations[1].right;
    while (first->children > 0)
        first = first->child[0];
    assert_true(first->number == 0.2);
    att_sheet_free(sheet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_transposed_rows),
        cmocka_unit_test(calculations_have_the_order_of_the_formula),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
