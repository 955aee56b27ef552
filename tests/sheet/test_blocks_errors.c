/* Errors of the attention functions and layers: each message names the matrices as the user wrote
 * them, their shapes and the violated rule, and points at the place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "attend.h"
#include "base/minmax.h"

#include <stdio.h>
#include <string.h>

#define BEFORE                                                                                     \
    "s = [1 2 3]\n"                                                                                \
    "k = [1 2; 3 4; 5 6; 7 8]\n"                                                                   \
    "X = [1 0 2; 0 1 -1]\n"                                                                        \
    "A = [1 0; 0.5 1; -1 0.5]\n"                                                                   \
    "heads = {A, A}\n"
enum { LINE = 6 };

static const struct refusal {
    const char *line;
    int column;
    const char *message;
} bad_calls[] = {
    /* shapes */
    { "attention(s, k, k, score = dot)", 18,
      "attention: s is 1 × 3 and k is 4 × 2: the dot score needs d_q = d_k, but 3 ≠ 2" },
    { "attention([1 2 3], k, k)", 24,
      "attention: q is 1 × 3 and k is 4 × 2: the scaled score needs d_q = d_k, but 3 ≠ 2" },
    { "attention(k, k, k[1:3])", 21,
      "attention: k[1:3] is 3 × 2 and k is 4 × 2: each key needs one value, n_v = n_k, but 3 ≠ 4" },
    { "attention(k, k', k, vectors = columns)", 18,
      "attention: k is 4 × 2 and k' is 2 × 4: the scaled score needs d_q = d_k, but 4 ≠ 2" },
    { "attention(k, k, k', vectors = columns)", 21,
      "attention: k' is 2 × 4 and k is 4 × 2: each key needs one value, n_v = n_k, but 4 ≠ 2" },
    { "self_attention(X, k, A)", 23,
      "self_attention: X is 2 × 3 and k is 4 × 2: X * k needs the columns of X to match the rows "
      "of "
      "k, but 3 ≠ 4" },
    { "self_attention(X, k, A, vectors = columns)", 26,
      "self_attention: k is 4 × 2 and A is 3 × 2: the scaled score needs d_q = d_k, but 4 ≠ 3" },
    { "self_attention(X, A, identity(3))", 26,
      "self_attention: A is 3 × 2 and identity(3) is 3 × 3: the scaled score needs d_q = d_k, but "
      "2 "
      "≠ 3" },
    { "cross_attention(X, k, A, A)", 30,
      "cross_attention: k is 4 × 2 and A is 3 × 2: k * A needs the columns of k to match the rows "
      "of "
      "A, but 2 ≠ 3" },
    { "multihead(X, {A, A}, {A, k}, {A, A})", 30,
      "multihead: X is 2 × 3 and k is 4 × 2: X * k needs the columns of X to match the rows of k, "
      "but 3 ≠ 4" },
    { "multihead(X, heads, {A, A}, {A, [1 2]})", 37,
      "multihead: X is 2 × 3 and W_v[2] is 1 × 2: X * W_v[2] needs the columns of X to match the "
      "rows of W_v[2], but 3 ≠ 1" },
    { "multihead(X, heads, heads, {A, A}, A)", 40,
      "multihead: heads is 2 × 4 and A is 3 × 2: heads * A needs the columns of heads to match the "
      "rows of A, but 4 ≠ 3" },
    { "multihead(X, {A, A}, {A}, {A, A})", 5,
      "multihead: there are 2 query, 1 key and 2 value heads: expected as many key heads as value "
      "heads, and a multiple of that as query heads" },
    { "multihead(X, A, A, A, heads = 3)", 18,
      "multihead: the 2 columns of A cannot be shared by 3 heads" },
    { "multihead(X, heads, heads, heads, heads = 3)", 47,
      "multihead: heads = 3, but heads lists 2" },
    { "linear(X, k)", 15,
      "linear: X is 2 × 3 and k is 4 × 2: X * k needs the columns of X to match the rows of k, but "
      "3 "
      "≠ 4" },
    { "linear(X, A, s)", 18, "linear: s is 1 × 3, but a vector of 2 was expected" },

    { "multihead(X, {A, A}, {A, zeros(3, 0)}, {A, A})", 30,
      "multihead: zeros(3, 0) is empty (3 × 0)" },
    { "attention(zeros(0, 2), k, k)", 15, "attention: zeros(0, 2) is empty (0 × 2)" },
    { "multihead(X, A, A, A, from = heads)", 34, "multihead: from takes a matrix" },

    /* work */
    { "attention(zeros(99999, 8), zeros(99999, 8), zeros(99999, 1))", 5,
      "attention: 1.7e+11 multiplications are more than a sheet may take" },
    { "attention(ones(99, 9000), k, k, score = general, W = ones(9000, 2) * 3)", 0, NULL },
    { "self_attention(zeros(99999, 12), zeros(12, 99999), zeros(12, 1))", 5,
      "self_attention: 1.2e+11 multiplications are more than a sheet may take" },
    { "conv1d(zeros(999999, 1), ones(1, 120000))", 5,
      "conv1d: 1.2e+11 multiplications are more than a sheet may take" },
    { "rnn(ones(99999, 1), zeros(1, 1100), ones(1, 1100), zeros(1100, 1100))", 5,
      "rnn: 1.2e+11 multiplications are more than a sheet may take" },

    /* score parameters */
    { "attention(s, k, k, score = general)", 5,
      "attention: the general score needs the parameter W" },
    { "attention(s, k, k, score = general, W = k)", 45,
      "attention: W is 4 × 2, but the general score needs d_q × d_k, here 3 × 2" },
    { "attention(k, k, k, score = dot, W = k)", 41, "attention: the dot score has no parameter W" },
    { "attention(k, k, k, score = additive, W = A, U = A, v = [1 2])", 46,
      "attention: W is 3 × 2, but the additive score needs d_q × A, here 2 × A" },
    { "attention(k, k, k, score = additive, W = A', U = k', v = [1 2])", 54,
      "attention: U is 2 × 4, but the additive score needs d_k × A, here 2 × 3" },
    { "attention(k, k, k, score = additive, W = A', U = A', v = [1 2])", 62,
      "attention: v is 1 × 2, but the additive score needs 1 × A, here 1 × 3" },
    { "attention(k', k', k', score = additive, W = A', U = A', v = [1 2 3], vectors = columns)", 49,
      "attention: W is 2 × 3, but the additive score needs A × d_q, here A × 2" },
    { "attention(k, k, k, score = additive, W = zeros(2, 0), U = zeros(2, 0), v = 1)", 46,
      "attention: W is 2 × 0, but the additive score needs d_q × A, here 2 × A" },
    { "attention(k, k, k, score = concat, v = [1 2 3])", 44,
      "attention: v is 1 × 3, but the concat score needs 1 × (d_q + d_k), here 1 × 4" },
    { "attention(k, k, k, score = location, W = k')", 5, NULL },
    { "attention(k, k, k, score = location, W = A')", 46,
      "attention: W is 2 × 3, but the location score needs d_q × n_k, here 2 × 4" },
    { "multihead(X, heads, heads, heads, score = general, W = {A, A, A})", 60,
      "multihead: W is a list of 3, but there are 2 heads" },
    { "attention(k, k, k, score = general, W = {A, A})", 45,
      "attention: W is a list of 2, but there is 1 head" },

    /* numbers */
    { "attention(k, k, k, scale = 0)", 32,
      "attention: scale must not be 0, which would make every score 0" },
    { "attention(k, k, k, scale = [1 2])", 32, "attention: scale takes a number" },
    { "attention(k, k, k, scale = inf)", 32, "attention: scale must be finite, not inf" },
    { "attention(k, k, k, softcap = -1)", 34, "attention: softcap must be above 0, found -1" },
    { "attention(k, k, k, offset = 0.5)", 33,
      "attention: offset takes a whole number from -1073741824 to 1073741824, not 0.5" },
    { "attention(k, k, k, length = 5)", 33, "attention: length = 5, but there are only 4 keys" },
    { "attention(k, k, k, window = [1 2 3])", 33,
      "attention: window: expected a number of keys or [left right]" },
    { "attention(k, k, k, window = 1.5)", 33,
      "attention: window: expected whole numbers, or -1 for unlimited, found 1.5" },
    { "attention(k, k, k, mask = [1 0; 0 1])", 31,
      "attention: mask is 2 × 2, but there are 4 queries and 4 keys: expected n_q × n_k (a side of "
      "1 is repeated)" },
    { "attention(k, k, k, mask = [1 0.5 1 1])", 31,
      "attention: mask holds 1 where a query may attend a key and 0 where not; for query 1 and key "
      "2 "
      "it holds 0.5" },
    { "attention(k, k, k, bias = [1 2])", 31,
      "attention: bias is 1 × 2, but there are 4 queries and 4 keys: expected n_q × n_k (a side of "
      "1 is repeated)" },
    { "attention(k, k, k, alibi = [1 2])", 32,
      "attention: alibi: expected one finite slope, or one for each head" },

    /* other layers */
    { "positional(0, 4)", 16, "positional: n must be a whole number, 1 or more" },
    { "positional(3, 1.5)", 19, "positional: d must be a whole number, 1 or more" },
    { "positional(3, 4, base = 0)", 29, "positional: base must be above 0, found 0" },
    { "conv1d(X, k)", 15,
      "conv1d: the kernel is 4 × 2 and X has 3 columns: expected a list of 3-row matrices, one per "
      "tap, or the same stacked, or a row of numbers" },
    { "conv1d(X, {A, k})", 15,
      "conv1d: matrix 2 of the kernel must be 3 rows high (the columns of X) and as wide as the "
      "first" },
    { "conv1d(X, [1 1 1], padding = valid)", 15,
      "conv1d: a kernel of 3 taps does not fit into 2 rows: expected a shorter kernel or padding = "
      "same" },
    { "conv1d(X, [1 1], stride = 0)", 31,
      "conv1d: stride takes a whole number from 1 to 1073741824, not 0" },
    { "rnn(X, k, A, A)", 12, "rnn: k is 4 × 2, but a state must be one row" },
    { "rnn(X, [1 2], k, A)", 19,
      "rnn: k is 4 × 2, but must be 3 × 2: a row for each element of X, a column for each unit" },
    { "rnn(X, [1 2], A, A)", 22,
      "rnn: A is 3 × 2, but must be 2 × 2: a row for each element of h, a column for each unit" },
    { "lstm(X, [1 2], s, A, A)", 20, "lstm: s is 1 × 3, but must be one row as wide as h, 1 × 2" },
    { "gru(X, [1 2], [A, A, A], ones(2, 6), s)", 42,
      "gru: s is 1 × 3, but a vector of 6 was expected" },
};

static void errors_name_shapes_rules_and_places(void **state)
{
    (void)state;
    size_t wrong = 0;
    for (size_t i = 0; i < ATT_COUNT(bad_calls); i++) {
        const struct refusal *want = &bad_calls[i];
        char text[1024];
        att_sheet *sheet = NULL;
        att_error err = { 0 };
        snprintf(text, sizeof text, BEFORE "a = %s\n", want->line);
        att_status status = att_sheet_read(&sheet, text, strlen(text), "sheet", NULL, &err);
        bool same = want->message
                        ? status == ATT_BAD_INPUT && err.line == LINE &&
                              err.column == want->column && strcmp(err.message, want->message) == 0
                        : status == ATT_OK;
        if (!same) {
            wrong++;
            print_message("a = %s\n  found  %d:%d: %s\n  expected %d:%d: %s\n", want->line,
                          err.line, err.column, err.message, LINE, want->column,
                          want->message ? want->message : "no error");
        }
        att_sheet_free(sheet);
    }
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_name_shapes_rules_and_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
