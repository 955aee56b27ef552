/* Out of memory: each allocation, and each piece of the trace, fails in turn. Nothing leaks,
 * nothing crashes, and the error is the right one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "sheet/interpreter.h"
#include "thin.h"

#include <string.h>

#define FOLDER ATTEND_SOURCE_DIR "/tests/sheet/data"

/* Every statement, every kind of expression, and every function with its own allocations. */
static const char everything[] =
    "# Heading\n"
    "Some text, on\n"
    "two lines.\n"
    "\n"
    "X = [1 0; 0 1; 1 1] # note\n"
    "label X rows \"I\" \"go\" \"home\" cols \"a\" \"b\"\n"
    "W = {[1 2; 3 4], -identity(2)}\n"
    "m = multihead(X, W, W, W, causal)\n"
    "a = attention(X, X, X, score = scaled)\n"
    "y = [X, a; X[[3 1]], 2 * X[1:2]]' ./ 3 + (X * X')[1, 1] - 2^X[1, 1]\n"
    "show softmax(y, cols) + mean(y) - sum(y, cols)\n"
    "z = permute(layernorm(X, [1 1], [0 0]), [3 2 1])\n"
    "r = round(load \"x.npy\", 2)\n"
    "plot m.weights \"heads\"\n"
    "plot [X; 1 2]\n"
    "expect a.weights[1] = [0.4 0.2 0.4] within 0.01\n"
    "expect X = [1 0; 0 1; 1 2] as printed\n"
    "expect not X = 0.5 to 2 digits\n"
    "expect error X * X saying \"inner\"\n"
    "expect error X\n"
    "compare X \"x.npy\" within 0\n"
    "compare a \"x.npy\" within 5\n"
    "f(x) = relu(linear(x, [1 0; 0 1]))\n"
    "- an *item* with $x_1$\n"
    "detail all\n"
    "for v of X: h = f(v) + 1\n"
    "c = where(X < 1, sort(X), topk(X, 2)) + diag([1 2])[1] + rmsnorm(X)\n"
    "l = cross_entropy(X, argmax(X)) * random(1, 1, seed = 1)\n"
    "round each step to 1 decimal\n"
    "label X rows \"you\" \"go\" \"home\"\n"
    "u = attention(X / 3, X, X, score = additive, W = X', U = X', v = 1:3)\n"
    "for i in 1:2: w = X[i] / 3\n"
    "expect w = [0.3 0; 0 0.3] by hand\n";

/* The backward pass, through every kind of operation. */
static const char backward[] =
    "X = [1 0; 0 1]\n"
    "W = {[1 2; 3 4], -identity(2)}\n"
    "m = multihead(X, W, W, W, [X; X], causal)\n"
    "y = [X, m; X[[2 1]], 2 * X]' ./ 3 + (X * X')[1, 1] - 2^X[1, 1]\n"
    "L = sum(softmax(y)) + sum(permute(layernorm(X, [1 1], [0 0]), [2 1])) + max(relu(m.heads))\n"
    "h = gru(X, [0.1], [1 2 3; 4 5 6], [1 2 3], [0 0 0], [0 0 0])\n"
    "c = conv1d(linear(X, X, [1 2]), {X, X}, [1 1])\n"
    "g = attention(X, X, X, score = additive, W = X, U = X, v = [1 2], b = [0 1], alibi = 0.1)\n"
    "a = attention(X, X, X, score = general, W = X, bias = X, softcap = 2)\n"
    "gradient L + sum(h) + sum(c) + sum(g) + sum(a .* a)\n"
    "show m.grad.head[1].weights + X.grad + W.grad[2]\n"
    "gradient a with X for X\n"
    "f(x) = where(x > 0, sort(x), diag(x)) + cross_entropy(x, 2)\n"
    "for x of X: s = f(x * X) .* x\n"
    "gradient sum(s[1] .* s[2]) + sum(topk(X, 1)) + sum(dropout(X, 0.5, seed = 1))\n"
    "p = [1 2]\n"
    "gradient sum(tanh(p)) + sum(linear(p, X)) check\n";

static att_status read_text(const char *text, size_t checks, size_t failures, size_t limit,
                            att_error *err)
{
    att_sheet *sheet;
    att_status status =
        att_sheet_read_limited(&sheet, text, strlen(text), "sheet", FOLDER, limit, err);
    if (status == ATT_OK) {
        assert_int_equal(att_sheet_checks(sheet), checks);
        assert_int_equal(att_sheet_failures(sheet), failures);
    }
    att_sheet_free(sheet);
    return status;
}

static att_status read_everything(size_t limit, att_error *err)
{
    return read_text(everything, 8, 2, limit, err);
}

static att_status read_backward(size_t limit, att_error *err)
{
    return read_text(backward, 1, 0, limit, err);
}

typedef att_status reader(size_t limit, att_error *err);

static void fail_every_allocation(reader *read)
{
    size_t live = att_alloc_live();
    size_t n = 0;
    att_status status;
    do {
        att_error err = { 0 };
        att_alloc_fail_at(++n);
        status = read(0, &err);
        att_alloc_fail_at(0);
        assert_int_equal(att_alloc_live(), live);
        if (status != ATT_OK) {
            assert_int_equal(status, ATT_NO_MEMORY);
            assert_int_equal(err.status, ATT_NO_MEMORY);
            assert_string_equal(err.message, "out of memory");
        }
    } while (status != ATT_OK);
    assert_true(n > 10);
}

static void every_allocation_fails_in_turn_and_nothing_leaks(void **state)
{
    (void)state;
    fail_every_allocation(read_everything);
}

static void every_allocation_of_a_backward_pass_fails_in_turn(void **state)
{
    (void)state;
    fail_every_allocation(read_backward);
}

/* An arena serves many requests from each block; a limit makes each of them fail too. */
static void refuse_every_piece(reader *read, size_t step, size_t least)
{
    size_t live = att_alloc_live();
    size_t refused = 0;
    att_status status;
    size_t limit = 16;
    do {
        att_error err = { 0 };
        status = read(limit, &err);
        assert_int_equal(att_alloc_live(), live);
        if (status != ATT_OK) {
            refused++;
            assert_int_equal(status, ATT_BAD_INPUT);
            assert_non_null(strstr(err.message, "memory than"));
        }
        limit += step;
    } while (status != ATT_OK);
    assert_true(refused > least);
}

static void every_piece_of_the_trace_is_refused_in_turn_and_nothing_leaks(void **state)
{
    (void)state;
    refuse_every_piece(read_everything, 72 * THIN, 4000 / THIN);
}

/* The trace of a backward pass is long: a part of its pieces. */
static void pieces_of_a_backward_pass_are_refused_in_turn_and_nothing_leaks(void **state)
{
    (void)state;
    refuse_every_piece(read_backward, 5000, 50);
}

static void failing_without_a_place_for_the_detail_is_fine(void **state)
{
    (void)state;
    att_sheet *sheet;
    assert_int_equal(att_sheet_read(&sheet, "x = y", 5, "sheet", NULL, NULL), ATT_BAD_INPUT);
    assert_null(sheet);
    assert_int_equal(att_sheet_load(&sheet, FOLDER "/none.att", NULL), ATT_BAD_INPUT);
    att_sheet_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_fails_in_turn_and_nothing_leaks),
        cmocka_unit_test(every_allocation_of_a_backward_pass_fails_in_turn),
        cmocka_unit_test(pieces_of_a_backward_pass_are_refused_in_turn_and_nothing_leaks),
        cmocka_unit_test(every_piece_of_the_trace_is_refused_in_turn_and_nothing_leaks),
        cmocka_unit_test(failing_without_a_place_for_the_detail_is_fine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
