/* gradient L: every operation and function of the language against central differences, the steps
 * of the backward pass, and gradients as values of the sheet. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sheet/gradient.h"
#include "sheet_help.h"

#include "attention/normalize.h"
#include "attention/score.h"

/* Runs the sheet; its checks, of which it must have some, must pass, and all workings must hold. */
static void assert_gradients_hold(const char *text)
{
    att_sheet *sheet = sheet_from(text);
    show_failures(sheet);
    if (att_sheet_failures(sheet) > 0 || att_sheet_checks(sheet) == 0)
        fail_msg("in:\n%s", text);
    assert_workings_hold(sheet);
    att_sheet_free(sheet);
}

static void assert_refused(const char *text, const char *saying)
{
    att_sheet *sheet = NULL;
    att_error err = { 0 };
    att_status status = att_sheet_read(&sheet, text, strlen(text), "test", NULL, &err);
    if (status != ATT_BAD_INPUT || !strstr(err.message, saying))
        fail_msg("expected \"%s\", found \"%s\" in:\n%s", saying, err.message, text);
    assert_true(err.line > 0 && err.column > 0);
    att_sheet_free(sheet);
}

/* ---------------------------------------------------------------- every operation */

#define VALUES                                                                                     \
    "X = [0.3 -0.5 0.8; 1.2 0.4 -0.7]\n"                                                           \
    "Y = [0.9 0.2; -0.4 0.6; 0.5 1.1]\n"                                                           \
    "P = [0.3 0.5 0.8; 1.2 0.4 0.7]\n"                                                             \
    "r = [0.2 -0.3 0.7]\n"                                                                         \
    "c = [0.4; -0.9]\n"                                                                            \
    "s = 1.3\n"

/* Expressions away from ties and kinks. Each uses the function that `of` names, or an operator. */
static const struct {
    const char *of;
    const char *expression;
} cases[] = {
    { NULL, "X * Y" },
    { NULL, "Y * X" },
    { NULL, "X + X" },
    { NULL, "X + r" },
    { NULL, "X - c" },
    { NULL, "r + c" },
    { NULL, "r - s" },
    { NULL, "X * s" },
    { NULL, "s * X" },
    { NULL, "X / s" },
    { NULL, "X / P" },
    { NULL, "X ./ P" },
    { NULL, "s ./ P" },
    { NULL, "P ./ c" },
    { NULL, "r ./ c" },
    { NULL, "X .* r" },
    { NULL, "X .* c" },
    { NULL, "P^s" },
    { NULL, "P^X" },
    { NULL, "X^2" },
    { NULL, "X^3" },
    { NULL, "2^X" },
    { NULL, "-X" },
    { NULL, "X'" },
    { NULL, "[X, c]" },
    { NULL, "[X; r]" },
    { NULL, "[X, c; r, s]" },
    { NULL, "[s 2; X[1, 1:2]]" },
    { NULL, "X[2]" },
    { NULL, "X[:, [3 1 3]]" },
    { NULL, "X[[2 2 1], 2:3]" },
    { NULL, "r[2]" },
    { NULL, "{X, P}[2]" },
    { NULL, "(X > r) .* X" },
    { NULL, "(X <= 0.35) .* P + (r >= X) .* c" },
    { NULL, "(s == s) * X - (P != X) .* r + (X < c)" },
    { NULL, "X .* (1:3)" },
    { NULL, "X[:, 2:3]" },
    { "tanh", "tanh(X)" },
    { "relu", "relu(X)" },
    { "sigmoid", "sigmoid(X)" },
    { "gelu", "gelu(X)" },
    { "exp", "exp(X)" },
    { "log", "log(P)" },
    { "sqrt", "sqrt(P)" },
    { "abs", "abs(X)" },
    { "sin", "sin(X)" },
    { "cos", "cos(X)" },
    { "softmax", "softmax(X)" },
    { "softmax", "softmax(X, cols)" },
    { "softmax", "softmax([X; -inf -inf -inf])" },
    { "sum", "sum(X)" },
    { "sum", "sum(X, rows)" },
    { "sum", "sum(X, cols)" },
    { "mean", "mean(X)" },
    { "mean", "mean(X, rows)" },
    { "mean", "mean(X, cols)" },
    { "max", "max(X)" },
    { "max", "max(X, rows)" },
    { "max", "max(X, cols)" },
    { "min", "min(X)" },
    { "min", "min(X, rows)" },
    { "min", "min(X, cols)" },
    { "layernorm", "layernorm(X)" },
    { "layernorm", "layernorm(X, r)" },
    { "layernorm", "layernorm(X, r, 2 * r, eps = 0.1)" },
    { "rmsnorm", "rmsnorm(X)" },
    { "rmsnorm", "rmsnorm(X, r)" },
    { "permute", "permute(X, [2 1])" },
    { "permute", "permute(X, [3 1 2], cols)" },
    { "transpose", "transpose(X)" },
    { "where", "where([1 0 1; 0 0 1], X, r)" },
    { "where", "where([1 0 1], s, P)" },
    { "where", "where(X > 0.1, X, r^2)" },
    { "diag", "diag(r)" },
    { "diag", "diag(r')" },
    { "diag", "diag(X)" },
    { "sort", "sort(X)" },
    { "sort", "sort(X, cols)" },
    { "sort", "sort(P, descending)" },
    { "topk", "topk(X, 2)" },
    { "topk", "X .* topk(X, 2, mask)" },
    { "cross_entropy", "cross_entropy(X, [3 1])" },
    { "cross_entropy", "cross_entropy(X, [3; 1], rows)" },
    { "dropout", "dropout([X, X - X], 0.4, seed = 3)" },
    { "linear", "linear(X, Y)" },
    { "linear", "linear(X, Y, c)" },
    { "linear", "linear(X, Y, c')" },
    { "linear", "linear(Y, X, c, vectors = columns)" },
    { "linear", "linear(Y, X, c', vectors = columns)" },
    { "conv1d", "conv1d(Y, s * [0.5 0.2 -0.3])" },
    { "conv1d", "conv1d(Y, {s * X, X}, r)" },
    { "conv1d", "conv1d(Y, [X; s * X], r')" },
    { "conv1d", "conv1d(Y, [X; X; X], r, padding = valid)" },
    { "conv1d", "conv1d(Y, [X; X; X], stride = 2)" },
    { "conv1d", "conv1d(Y, r, s * [0.1 0.3], stride = 2)" },
};

static void operators_and_functions_agree_with_differences(void **state)
{
    (void)state;
    for (size_t i = 0; i < ATT_COUNT(cases); i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 VALUES "y = %s\nL = sum(0.5 * y .* y + sin(y))\ngradient L check\n",
                 cases[i].expression);
        assert_gradients_hold(text);
    }
}

/* Functions with tests of their own below. */
static const char *const tested_below[] = {
    "attention", "self_attention", "cross_attention", "multihead", "rnn", "lstm", "gru"
};

static bool is_tested(const char *name)
{
    for (size_t i = 0; i < ATT_COUNT(cases); i++)
        if (cases[i].of && strcmp(cases[i].of, name) == 0)
            return true;
    for (size_t i = 0; i < ATT_COUNT(tested_below); i++)
        if (strcmp(tested_below[i], name) == 0)
            return true;
    return false;
}

static void every_function_has_a_tested_gradient_or_says_why_it_has_none(void **state)
{
    (void)state;
    const att_function *row;
    for (size_t i = 0; (row = att_function_get(i)); i++) {
        const att_gradient_spec *spec = att_gradient_spec_of(row);
        if (!spec)
            fail_msg("%s has no row in gradient_functions.c", row->name);
        assert_string_equal(spec->name, row->name);
        assert_non_null(spec->again);
        if (!spec->backward && !spec->constant)
            fail_msg("%s has neither a gradient nor a reason", row->name);
        if (spec->backward && !is_tested(row->name))
            fail_msg("the gradient of %s has no test", row->name);
    }
}

/* ---------------------------------------------------------------- own functions and loops */

static void gradients_go_through_own_functions_and_loops(void **state)
{
    (void)state;
    static const char *const sheets[] = {
        "f(x, w) = tanh(x * w)\ng(x) = f(x, Y) + s\ny = g(X) .* f(P, Y)\nL = sum(y)\n",
        "head(x) = attention(x, x, P)\na = head(X)\nL = sum(a .* a) + sum(sin(a.weights))\n",
        "h = c'\nfor x of X: h = tanh(x * Y + h)\nL = sum(h[2]) + sum(h .* h)\n",
        "for x of X': u = x .* c'; w = u * u' + s\nL = sum(u) + w[1] * w[3]\n",
        "for i in 1:3: y = s^i * X[2, i]\nL = sum(y .* y)\n",
        "for v in c: y = v^2 * r\nL = sum(sin(y))\n",
        "for A of {X, P}: y = A * Y\nL = sum(y[1] .* y[2])\n",
        "for x of X: x2 = x .* x\nfor x of P: x3 = x + x2[1]\nL = sum(x3 .* x3)\n",
    };
    for (size_t i = 0; i < ATT_COUNT(sheets); i++) {
        char text[1024];
        snprintf(text, sizeof text, VALUES "%sgradient L check\n", sheets[i]);
        assert_gradients_hold(text);
    }
    /* A loop is the RNN that it writes out. */
    assert_sheet_passes("X = [0.1 0.2; -0.3 0.4]\nh = [0.5 -0.1]\nh0 = h + 0\n"
                        "for x of X: h = tanh(x + h)\ngradient sum(h[2])\nD = X.grad\n"
                        "y = rnn(X, h0, identity(2), identity(2))\ngradient sum(y[2])\n"
                        "expect X.grad = D\n");
}

/* ---------------------------------------------------------------- RNN cells */

#define CELL_VALUES                                                                                \
    "X = [0.5 -0.3 0.2; 0.8 -0.6 0.1; -0.2 0.7 0.4; 0.9 0.3 -0.5]\n"                               \
    "h0 = [0.3 -0.1]\nc0 = [0.2 0.5]\n"                                                            \
    "K = [0.4 -0.2 0.7 0.1 -0.5 0.3 0.6 -0.8; 0.2 0.5 -0.4 0.9 0.3 -0.7 0.1 0.6;"                  \
    " -0.3 0.8 0.2 -0.6 0.4 0.1 -0.9 0.5]\n"                                                       \
    "R = [0.3 0.6 -0.5 0.2 0.8 -0.1 0.4 -0.7; -0.4 0.1 0.9 -0.3 0.5 0.7 -0.2 0.6]\n"               \
    "v = [0.1 -0.2 0.3 0.4 -0.1 0.2 -0.3 0.5]\n"

static void cells_agree_with_differences_in_all_their_parts(void **state)
{
    (void)state;
    static const struct {
        const char *arguments;
        const char *loss;
    } cells[] = {
        { "rnn(X, h0, K[:, 1:2], R[:, 1:2])", "sum(sin(y.z)) + sum(cos(y.h))" },
        { "rnn(X, h0, K[:, 1:2], R[:, 1:2], v[1:2]')", "sum(y[4])" },
        { "lstm(X, h0, c0, K, R)", "sum(y[4] .* [1 2])" },
        { "lstm(X, h0, c0, K, R, v)",
          "sum(sin(y.i + 2 * y.f)) + sum(y.g .* y.o) + sum(y.c .* y.h)" },
        { "gru(X, h0, K[:, 1:6], R[:, 1:6])", "sum(y[4])" },
        { "gru(X, h0, K[:, 1:6], R[:, 1:6], v[1:6], 2 * v[3:8])",
          "sum(sin(y.r + 2 * y.z)) + sum(y.n .* y.h)" },
        { "gru(X, h0, K[:, 1:6], R[:, 1:6], reset = before)", "sum(y[4])" },
        { "gru(X, h0, K[:, 1:6], R[:, 1:6], v[1:6], 2 * v[3:8], reset = before)",
          "sum(sin(y.r + 2 * y.z)) + sum(y.n .* y.h)" },
    };
    for (size_t i = 0; i < ATT_COUNT(cells); i++) {
        char text[2048];
        snprintf(text, sizeof text, CELL_VALUES "y = %s\nL = %s\ngradient L check\nshow y.grad\n",
                 cells[i].arguments, cells[i].loss);
        assert_gradients_hold(text);
    }
}

/* ---------------------------------------------------------------- attention */

#define HEAD_VALUES                                                                                \
    "q = [0.4 -0.7 0.2 0.9; -0.3 0.5 0.8 -0.1; 0.6 0.3 -0.5 0.2]\n"                                \
    "k = [0.5 0.1 -0.6 0.3; 0.2 -0.4 0.7 0.9; -0.8 0.6 0.1 -0.2; 0.3 0.3 0.5 -0.7;"                \
    " 0.9 -0.1 0.4 0.6]\n"                                                                         \
    "v = [0.2 0.7; -0.5 0.3; 0.9 -0.4; 0.1 0.8; -0.6 0.2]\n"                                       \
    "W = [0.3 -0.5 0.7 0.1; 0.6 0.2 -0.4 0.8; -0.1 0.9 0.3 -0.6; 0.5 0.4 -0.2 0.7]\n"              \
    "Wl = [0.2 0.5 -0.3 0.7 0.1; -0.6 0.4 0.8 -0.2 0.3; 0.9 -0.1 0.2 0.6 -0.5;"                    \
    " 0.3 0.7 -0.4 0.1 0.8]\n"                                                                     \
    "va = [0.7 -0.5 0.9]\nba = [0.1 -0.2 0.4]\nvc = [0.5 0.2 0.7 0.4 0.3 0.6 0.1 0.8]\n"           \
    "bl = [0.2 -0.1 0.4 0.3 0.6]\ns0 = 0.4\nc0 = 1.7\nslope = 0.3\n"                               \
    "B = [0.1 0.3 -0.2 0.5 0.4; -0.3 0.2 0.6 0.1 -0.5; 0.7 -0.4 0.2 0.3 0.1]\n"

/* The parameters of each score where vectors are rows, and where they are columns. */
static const char *const parameters[ATT_SCORE_COUNT][2] = {
    [ATT_SCORE_DOT] = { "", "" },
    [ATT_SCORE_SCALED] = { "", "" },
    [ATT_SCORE_GENERAL] = { ", W = W", ", W = W" },
    [ATT_SCORE_ADDITIVE] = { ", W = W[:, 1:3], U = W[:, 2:4], v = va, b = ba",
                             ", W = W[1:3], U = W[2:4], v = va', b = ba'" },
    [ATT_SCORE_CONCAT] = { ", v = vc", ", v = vc'" },
    [ATT_SCORE_GAUSSIAN] = { "", "" },
    [ATT_SCORE_COSINE] = { "", "" },
    [ATT_SCORE_LOCATION] = { ", W = Wl, b = bl", ", W = Wl', b = bl" },
};

static void check_head(const char *call, const char *more)
{
    char text[4096];
    snprintf(text, sizeof text,
             HEAD_VALUES "a = %s\nL = sum(a .* a) + sum(cos(a.weights))%s\ngradient L check\n"
                         "show a.grad.weights + a.grad.scores\nshow a.grad.q\nshow a.grad.v\n",
             call, more);
    assert_gradients_hold(text);
}

static void every_score_and_normalizer_agrees_with_differences(void **state)
{
    (void)state;
    /* Masks with an empty row; scale and soft cap; bias and ALiBi. Each as the turn comes. */
    static const char *const options[] = {
        "",
        ", causal, offset = 1",
        ", mask = [1 1 0 1 1; 0 0 0 0 0; 1 0 1 0 1]",
        ", scale = s0, softcap = c0",
        ", bias = B, alibi = slope",
        ", length = 3, bias = B[1]",
        ", bias = B[:, 1], window = 1",
    };
    for (size_t s = 0; s < ATT_SCORE_COUNT; s++)
        for (size_t n = 0; n < ATT_NORMALIZER_COUNT; n++) {
            char call[512];
            const char *option = options[(3 * n + s) % ATT_COUNT(options)];
            snprintf(call, sizeof call, "attention(q, k, v, score = %s, normalizer = %s%s%s)",
                     att_score_name((att_score)s), att_normalizer_name((att_normalizer)n),
                     parameters[s][0], option);
            bool masked = !strstr(option, "scale") && !strstr(option, "bias = B,") && *option;
            check_head(call, masked ? "" : " + 0.1 * sum(a.scores .* a.scores)");
        }
}

static void vectors_may_be_columns(void **state)
{
    (void)state;
    for (size_t s = 0; s < ATT_SCORE_COUNT; s++) {
        char call[512];
        snprintf(call, sizeof call, "attention(q', k', v', score = %s, vectors = columns%s%s)",
                 att_score_name((att_score)s), parameters[s][1],
                 s == ATT_SCORE_GENERAL ? "" : ", softcap = c0");
        check_head(call, s == ATT_SCORE_GENERAL ? " + sum(sin(a.projected))" : "");
    }
}

static void products_and_projected_keys_may_be_in_the_loss(void **state)
{
    (void)state;
    check_head("attention(q, k, v, causal)", " + sum(sin(a.products))");
    check_head("attention(q, k, v, score = general, W = W, causal)", " + sum(sin(a.projected))");
    check_head("attention(q, k, v, bias = B)", " + sum(a.q .* a.q) + sum(a.k) + sum(a.v)");
}

static void projections_and_heads_agree_with_differences(void **state)
{
    (void)state;
    static const char *const calls[] = {
        "self_attention(q, W, W', W)",
        "self_attention(q, W, W', causal)",
        "self_attention(q', W, W', W, vectors = columns)",
        "cross_attention(q, k, W, W', W)",
        "cross_attention(q, k, W, W')",
        "multihead(q, {A, D}, {D, A}, {A, A})",
        "multihead(q, {A, D}, {D, A}, {A, D}, W)",
        "multihead(q, {A, D}, {D}, {A}, W, causal)",
        "multihead(q, W, W', W, W, heads = 2)",
        "multihead(q, W, W', W, heads = 2, from = k, alibi = [0.1 0.4] * s0)",
        "multihead(q', W, W', W, W, heads = 2, vectors = columns)",
        "multihead(q, {A, D}, {D, A}, {A, D}, bias = {s0 * B[:, 1:3], B[:, 2:4]})",
        "multihead(q, {A, D}, {D, A}, {A, D}, score = additive, W = A', U = {D', A'}, v = {q[1], "
        "q[2]})",
    };
    for (size_t i = 0; i < ATT_COUNT(calls); i++) {
        char text[4096];
        const char *head = strstr(calls[i], "multihead") ? "a.head[2]" : "a";
        snprintf(text, sizeof text,
                 HEAD_VALUES "A = W[:, 1:2]\nD = W[:, 3:4]\na = %s\n"
                             "L = sum(a .* a) + sum(sin(%s.weights)) + sum(%s.q .* %s.k[1, 1])\n"
                             "gradient L check\nshow %s.grad.weights\n",
                 calls[i], head, head, head, head);
        assert_gradients_hold(text);
    }
}

static void masked_pairs_and_empty_rows_get_zeros(void **state)
{
    (void)state;
    assert_sheet_passes(HEAD_VALUES "a = attention(q, k, v, mask = [1 1 0 1 1; 0 0 0 0 0; "
                                    "1 0 1 0 1])\n"
                                    "gradient a with ones(3, 2)\n"
                                    "expect a.grad.weights[2] = 0\n"
                                    "expect a.grad.scores[2] = 0\n"
                                    "expect q.grad[2] = 0\n"
                                    "expect a.grad.scores[1, 3] = 0\n"
                                    "expect a.grad.weights[3, [2 4]] = 0\n"
                                    "expect sum(a.grad.scores, rows) = 0 within 1e-15\n");
}

/* The formulas that a student would write. */
static void attention_sends_back_the_textbook_formulas(void **state)
{
    (void)state;
    assert_sheet_passes(HEAD_VALUES "a = attention(q, k, v)\nG = [0.1 0.5; -0.3 0.2; 0.7 0.4]\n"
                                    "gradient a with G\n"
                                    "A = a.weights\ndA = G * v'\n"
                                    "dS = A .* (dA - sum(dA .* A, rows))\n"
                                    "expect a.grad = G\nexpect a.grad.output = G\n"
                                    "expect a.grad.weights = dA\nexpect a.grad.scores = dS\n"
                                    "expect a.grad.products = dS / 2\n"
                                    "expect v.grad = A' * G\nexpect q.grad = dS * k / 2\n"
                                    "expect k.grad = dS' * q / 2\nexpect a.grad.k = k.grad\n");
}

/* ---------------------------------------------------------------- names and values */

static void the_value_that_was_used_counts(void **state)
{
    (void)state;
    /* x is assigned again; y uses both. */
    assert_sheet_passes("x = 2\ny = x^2\nx = 5\nL = y * x\ngradient L\nexpect x.grad = 4\n"
                        "expect y.grad = 5\n");
    /* Two names of one value share its gradient. */
    assert_sheet_passes("a = [1 2]\nb = a\nL = sum(a .* b)\ngradient L check\n"
                        "expect a.grad = [2 4]\nexpect b.grad = [2 4]\n");
    /* Items of a list. */
    assert_sheet_passes("W = {[1 2], [3 4]}\nL = sum(W[1] .* W[2])\ngradient L check\n"
                        "expect W.grad[1] = [3 4]\nexpect W.grad[2] = [1 2]\n");
    assert_sheet_passes("W = {[1 2], [3 4]}\nL = sum(W[1])\ngradient L\nexpect W.grad[1] = 1\n"
                        "expect W.grad[2] = 0\n");
    /* Labels do not make another value. */
    assert_sheet_passes("a = [1 2; 3 4]\nlabel a \"x\" \"y\"\nL = sum(a .* a)\ngradient L\n"
                        "expect a.grad = [2 4; 6 8]\n");
    /* Constants that a function or an expression makes are inputs too, as literals are. */
    assert_sheet_passes(
        "h = zeros(1, 2)\nI = identity(2)\nP = positional(1, 2)\nr = round(1.26, 1)\n"
        "w = 2 * [1 2]\nL = sum(tanh(h * I + w .* P + r))\ngradient L check\n"
        "expect I.grad = 0\nexpect w.grad[1] = 0\nshow h.grad + P.grad * r.grad\n");
    /* A hand-written recurrence. */
    assert_sheet_passes("h = 0.5\nu = 0.9\nh = tanh(u * h + 0.1)\nh = tanh(u * h + 0.2)\n"
                        "gradient h check\n");
}

static void gradients_are_values(void **state)
{
    (void)state;
    assert_sheet_passes("w = [1 2]\nL = sum(w .* w)\ngradient L\nw2 = w - 0.1 * w.grad\n"
                        "M = sum(w2 .* w2)\nexpect M = 3.2\nplot w.grad\n");
    /* A later gradient takes them as constants and replaces them. */
    assert_sheet_passes("w = [1 2]\nL = sum(w .* w)\ngradient L\nM = sum(w .* w.grad)\n"
                        "gradient M\nexpect w.grad = [2 4]\n");
    /* Only what is asked for. */
    assert_sheet_passes("w = 3\nb = 2\nL = w * b\ngradient L for w check\nexpect w.grad = 2\n"
                        "expect error b.grad saying \"has no gradient\"\n");
    /* Inside of the sheet: with respect to a value that was computed. */
    assert_sheet_passes("w = 3\ny = w^2\nL = y^2\ngradient L for y check\nexpect y.grad = 18\n");
    assert_sheet_passes("x = 3\ngradient x\nexpect x.grad = 1\n");
    assert_sheet_passes("x = 3\ny = 2 * x\ngradient x * y\nexpect x.grad = 12\n");
}

static void what_has_no_gradient_says_so(void **state)
{
    (void)state;
    assert_refused("x = 3\nshow x.grad\n", "expected a line 'gradient");
    assert_refused("x = 3\nz = 1\ngradient x\nshow z.grad\n", "does not depend on it");
    assert_refused("x = [1 2]\nL = sum(x)\ngradient L\nshow x[1].grad\n", "X.grad[1]");
    assert_refused("x = [1 2]\ngradient x\n", "expected one number, or 'gradient x with G'");
    assert_refused("x = [1 2]\ngradient x with 3\n", "must have its shape, 1 × 2: found 1 × 1");
    assert_refused("x = [1 2]\nL = argmax(x)\ngradient L\n", "has no gradient");
    assert_refused("gradient 3\n", "has no gradient");
    assert_refused("x = 3\ny = 2\nL = 2 * x\ngradient L for y\n", "does not depend");
    assert_refused("x = 3\nL = 2 * x\ngradient L for x + 1\n", "expected a name or a part");
    assert_refused("x = {[1 2], [3 4]}\ngradient x\n", "is a list of 2");
    assert_refused("a = attention([1 0], [1 0; 0 1], [1 2; 3 4])\nL = sum(a)\ngradient L\n"
                   "show a.grad.wieghts\n",
                   "did you mean 'weights'");
    assert_refused("x = 3\ngradient x chek\n", "expected an operator, 'with', 'for', 'check'");
    assert_refused("x = 3\ngradient = 4\n", "is a keyword");
    assert_refused("h = rnn([1; 2], [0.5], [0.3], [0.4])\nL = sum(h)\ngradient L for h.z check\n",
                   "nothing to check");
    assert_refused("x = 0\nL = 1 / x\ngradient L check\n", "a check needs a finite result");
    assert_refused("X = ones(300, 300)\nL = sum(X * X)\ngradient L check\n", "takes more work");
}

static void rounded_steps_have_no_gradient_and_leave_the_exact_ones_alone(void **state)
{
    (void)state;
    assert_refused("x = 2\nround each step to 1 decimal\ngradient x^2\n", "'round no step'");
    assert_refused("x = 2\ncut each step to 1 decimal\ngradient x^2 check\n", "'round no step'");
    assert_gradients_hold("x = [1.234 2.345]\nround each step to 1 decimal\ny = x * 2.17\n"
                          "f(v) = v .* y\nfor a of [1.11 2.22; 3.33 4.44]: s = f(a) + x\n"
                          "round no step\ngradient sum(y) + sum(s .* s) check\n"
                          "expect y.grad = 1 + 2 * sum(s .* [1.11 2.22; 3.33 4.44], cols)\n");
    assert_sheet_passes("x = 1.234\ngradient x^2\nround each step to 1 decimal\n"
                        "z = x.grad * 1\nexpect z = 2.5 by hand\nexpect z = 2.468\n");
}

static void a_wrong_gradient_fails_the_check(void **state)
{
    (void)state;
    /* The differences are those of a function with a hundred waves within the smallest step. */
    att_sheet *sheet = sheet_from("x = 0.3\nL = sin(1e9 * x)\ngradient L check\n");
    assert_int_equal(att_sheet_checks(sheet), 1);
    assert_int_equal(att_sheet_failures(sheet), 1);
    const att_check *check = sheet->steps[sheet->step_count - 1].check;
    assert_int_equal(check->rule, ATT_RULE_GRADIENT);
    assert_non_null(
        strstr(check->message, "1 of 1 number differs from central differences: dx[1, 1] is"));
    assert_null(strstr(check->message, "kink"));
    att_sheet_free(sheet);
}

/* The message of the check at the end of a sheet that passes. */
static void assert_check_says(const char *text, const char *says)
{
    att_sheet *sheet = sheet_from(text);
    assert_int_equal(att_sheet_failures(sheet), 0);
    const att_check *check = sheet->steps[sheet->step_count - 1].check;
    if (says && !strstr(check->message, says))
        fail_msg("'%s' does not say '%s'", check->message, says);
    if (!says)
        assert_null(strstr(check->message, "kink"));
    att_sheet_free(sheet);
}

static void a_check_names_the_numbers_at_a_kink(void **state)
{
    (void)state;
    assert_check_says("x = [0 2 2]\nL = sum(relu(x)) + max(x)\ngradient L check\n",
                      "3 of them are at a kink");
    /* The function is x, whose slope at 0 is 1, while both parts have 0 there by convention. */
    assert_check_says("x = [0 1]\nL = sum(relu(x) - relu(-x))\ngradient L check\n",
                      "1 of them is at a kink");
    /* A state of zeros through weights of both signs: 0 is not between the slopes of both sides. */
    assert_check_says("h = [0 0]\nU = [1 -2; 3 -5]\nL = sum(relu(h * U) * [1; 4])\n"
                      "gradient L for h check\n",
                      "2 of them are at a kink");
    assert_check_says("x = [1 3]\nL = sum(abs(x - 1) + relu(x - 1))\ngradient L check\n",
                      "1 of them is");
    assert_check_says("x = [2 1 2]\nL = sum(sort(x) .* [1 2 3])\ngradient L check\n", "2 of them");
    assert_check_says("x = [2 1 2]\nL = topk(x, 1)\ngradient L check\n", "2 of them are");
    assert_check_says("x = 0.0005\nL = x + round(x, 3)\ngradient L check\n", "1 of them is");
    assert_check_says("x = [0 1]\nL = sum(where(x < 0, x, 3 * x))\ngradient L check\n",
                      "1 of them is");
    /* The score of the first key is relu(0). */
    assert_check_says("q = [1 -1]\nk = [0 2; 1 3]\nv = [1; 2]\n"
                      "a = attention(q, k, v, score = concat, v = [2 2 1 1] .* [1 1 1 0])\n"
                      "gradient a for q check\n",
                      "2 of them are at a kink");
    assert_check_says("q = [0 0]\nk = [0 2; 1 3]\nv = [1; 2]\n"
                      "a = attention(q, k, v, score = cosine)\ngradient a for q check\n",
                      "2 of them are at a kink, a tie or a jump");
    /* The third key is at the threshold of sparsemax. */
    assert_check_says("q = [1 0]\nk = [1 0; 1 1; 0 1]\nv = [1; 2; 9]\n"
                      "a = attention(q, k, v, score = dot, normalizer = sparsemax)\n"
                      "expect a.weights = [0.5 0.5 0]\ngradient a for q check\n",
                      NULL);
    assert_check_says("q = [0.5 0]\nk = [1 0; 1 1; 0 1]\nv = [1; 2; 9]\n"
                      "a = attention(q, k, v, score = dot, normalizer = sparsemax)\n"
                      "expect a.weights = [0.5 0.5 0]\ngradient a for q check\n",
                      "at a kink");
}

static void beside_a_kink_and_where_a_function_bends_smaller_steps_are_taken(void **state)
{
    (void)state;
    assert_check_says("x = [0.00015 -0.00003 0.00001]\nL = sum(relu(x)) + max(x)\n"
                      "gradient L check\n",
                      NULL);
    assert_check_says("x = 0.00035\nL = x + round(x, 3)\ngradient L check\n", NULL);
    /* Numbers that are nearly equal: a norm divides by a little more than the root of eps. */
    assert_check_says("x = [1 1.0001 0.9999]\nL = sum(layernorm(x, eps = 1e-8) .* [1 2 4])\n"
                      "gradient L check\n",
                      NULL);
}

static void a_check_leaves_every_number_as_it_was(void **state)
{
    (void)state;
    att_sheet *sheet = sheet_from(HEAD_VALUES "a = attention(q, k, v)\nL = sum(a .* a)\nb = a + 0\n"
                                              "M = L + 0\ngradient L check\nc = a + 0\nN = L + 0\n"
                                              "expect c = b within 0\nexpect M = N within 0\n");
    assert_int_equal(att_sheet_failures(sheet), 0);
    att_sheet_free(sheet);
}

/* ---------------------------------------------------------------- steps and formats */

static const att_trace_step *gradient_step(const att_sheet *sheet)
{
    for (size_t i = 0; i < sheet->step_count; i++)
        if (sheet->steps[i].kind == ATT_STEP_GRADIENT)
            return &sheet->steps[i];
    fail_msg("no gradient");
    return NULL;
}

static void steps_go_from_the_result_to_the_inputs(void **state)
{
    (void)state;
    att_sheet *sheet = sheet_from("q = [0.4 0.5]\nk = [0.1 0.2; 0.3 0.1]\nv = [1 2; 3 4]\n"
                                  "a = attention(q, k, v)\nL = sum(a .* a)\ngradient L\n");
    static const char *const paths[] = {
        "L.grad",          NULL,     "a.grad", "a.grad.weights", "a.grad.scores",
        "a.grad.products", "q.grad", "k.grad", "v.grad"
    };
    const att_trace_step *step = gradient_step(sheet);
    assert_int_equal(step->part_count, ATT_COUNT(paths));
    for (size_t i = 0; i < ATT_COUNT(paths); i++)
        if (paths[i])
            assert_string_equal(step->parts[i].path, paths[i]);
        else
            assert_null(step->parts[i].path);
    assert_string_equal(step->parts[1].name, "du1");
    assert_non_null(strstr(step->parts[1].description, "u1 is a .* a"));
    const att_trace_part *scores = part_named(step, "da.scores", 0);
    assert_int_equal(scores->calculation_count, 2);
    assert_true(assert_workings_hold(sheet) > 20);
    att_sheet_free(sheet);
}

static void steps_of_a_loop_have_names(void **state)
{
    (void)state;
    att_sheet *sheet = sheet_from("X = [1 2; 3 4]\nh_step2 = 1\nh = [0.1 0.2]\n"
                                  "for x of X: h = x .* h\ngradient sum(h)\n");
    const att_trace_step *step = gradient_step(sheet);
    const att_trace_part *part = part_named(step, "dx_step2", 0);
    assert_non_null(strstr(part->description, "x_step2 is x in step 2 of line 4"));
    assert_null(part->path);
    part_named(step, "dh_step1", 0);
    part_named(step, "dh_step2_line4", 0); /* the sheet has another h_step2 */
    assert_string_equal(part_named(step, "dh", 0)->path, "h.grad");
    part_named(step, "dh_line3", 0);
    att_sheet_free(sheet);
}

static void an_item_of_a_list_that_was_assigned_anew_has_a_name(void **state)
{
    (void)state;
    att_sheet *sheet = sheet_from("W = {[0.5; -1], [1; 2]}\ny = [1 2] * W[1]\n"
                                  "W = {[1 2; 3 4], -identity(2)}\ngradient y check\n");
    part_named(gradient_step(sheet), "dW_line1[1]", 0);
    assert_int_equal(att_sheet_failures(sheet), 0);
    att_sheet_free(sheet);
}

static size_t count_of(const char *text, const char *word)
{
    size_t count = 0;
    for (; (text = strstr(text, word)); text += strlen(word))
        count++;
    return count;
}

static void detail_applies_to_the_backward_pass(void **state)
{
    (void)state;
    static const struct {
        const char *statement;
        att_detail option;
        size_t calculations;
    } details[] = {
        { "", ATT_DETAIL_SHEET, 1 },
        { "detail none\n", ATT_DETAIL_SHEET, 0 },
        { "detail one\n", ATT_DETAIL_SHEET, 1 },
        { "detail all\n", ATT_DETAIL_SHEET, 4 },
        { "detail all\n", ATT_DETAIL_NONE, 0 },
        { "detail none\n", ATT_DETAIL_ALL, 4 },
    };
    for (size_t i = 0; i < ATT_COUNT(details); i++) {
        char text[256];
        snprintf(text, sizeof text,
                 "X = [1 2; 3 4]\nW = [5 6; 7 8]\ny = X * W\n%sgradient y with X for W\n",
                 details[i].statement);
        att_sheet *sheet = sheet_from(text);
        const att_render_options options = { .size = sizeof options, .detail = details[i].option };
        att_string page = { 0 };
        assert_int_equal(att_sheet_render(&page, sheet, &options, NULL), ATT_OK);
        assert_int_equal(count_of(page.data, "    dW₁₁ =") + count_of(page.data, "    dW₁₂ =") +
                             count_of(page.data, "    dW₂₁ =") + count_of(page.data, "    dW₂₂ ="),
                         details[i].calculations);
        assert_int_equal(count_of(page.data, "dW = "), 1);
        att_string_free(&page);
        att_sheet_free(sheet);
    }
}

static void the_words_of_a_gradient_are_not_read_as_markdown(void **state)
{
    (void)state;
    att_sheet *sheet = sheet_from("a_1 = 2\nb_1 = 3\nL = a_1 * b_1 * a_1\n"
                                  "gradient a_1 * b_1 * a_1\n");
    static const struct {
        att_format format;
        const char *shows;
    } formats[] = {
        { ATT_FORMAT_TEXT, "The gradient of a_1 * b_1 * a_1, from" },
        { ATT_FORMAT_MARKDOWN, "The gradient of a\\_1 \\* b\\_1 \\* a\\_1, from" },
        { ATT_FORMAT_LATEX, "The gradient of a\\_1 * b\\_1 * a\\_1, from" },
        { ATT_FORMAT_HTML, "The gradient of a_1 * b_1 * a_1, from" },
    };
    for (size_t i = 0; i < ATT_COUNT(formats); i++) {
        const att_render_options options = { .size = sizeof options, .format = formats[i].format };
        att_string page = { 0 };
        assert_int_equal(att_sheet_render(&page, sheet, &options, NULL), ATT_OK);
        if (!strstr(page.data, formats[i].shows))
            fail_msg("no \"%s\" in:\n%s", formats[i].shows, page.data);
        att_string_free(&page);
    }
    att_sheet_free(sheet);
}

static void every_format_shows_the_backward_pass(void **state)
{
    (void)state;
    static const struct {
        att_format format;
        const char *shows[4];
    } formats[] = {
        { ATT_FORMAT_TEXT,
          { "dW = Xᵀ · dy", "W.grad: ", "gradient L check", "The gradient of L" } },
        { ATT_FORMAT_MARKDOWN,
          { "{X}^{\\top}", "W.grad", "gradient L check", "The gradient of L" } },
        { ATT_FORMAT_LATEX, { "{X}^{\\top}", "W.grad: ", "\\mathrm{check}", "The gradient of L" } },
        { ATT_FORMAT_HTML, { "W.grad: ", "<math", "The gradient of L", "check" } },
        { ATT_FORMAT_JSON,
          { "\"kind\":\"gradient\"", "\"path\":\"W.grad\"", "\"formula\":\"X' * dy\"",
            "\"rule\":\"gradient\"" } },
    };
    att_sheet *sheet = sheet_from("X = [1 2; 3 4]\nW = [0.5; 0.2]\ny = X * W\nL = sum(y .* y)\n"
                                  "gradient L check # <b>&\n");
    for (size_t i = 0; i < ATT_COUNT(formats); i++) {
        const att_render_options options = { .size = sizeof options, .format = formats[i].format };
        att_string text = { 0 };
        att_error err = { 0 };
        assert_int_equal(att_sheet_render(&text, sheet, &options, &err), ATT_OK);
        for (size_t n = 0; n < 4; n++)
            if (!strstr(text.data, formats[i].shows[n]))
                fail_msg("no \"%s\" in:\n%s", formats[i].shows[n], text.data);
        if (formats[i].format == ATT_FORMAT_HTML)
            assert_null(strstr(text.data, "<b>"));
        att_string_free(&text);
    }
    att_sheet_free(sheet);
}

static void one_gradient_can_be_shown_alone(void **state)
{
    (void)state;
    static const struct {
        const char *only;
        const char *shows;
        const char *hides;
    } selections[] = {
        { "X.grad", "dX = ", "dW = " },
        { "a.grad", "da.weights = ", "dW = " },
        { "a.grad.scores", "da.scores = ", "da.weights = da" },
        { "L", "dL = 1", "a = attention" },
    };
    att_sheet *sheet = sheet_from("X = [1 2; 3 4]\nW = [0.5 1; 0.2 2]\na = attention(X * W, X, W)\n"
                                  "L = sum(a .* a)\ngradient L\nexpect X.grad = 0\n");
    for (size_t i = 0; i < ATT_COUNT(selections); i++) {
        const att_render_options options = { .size = sizeof options, .only = selections[i].only };
        att_string text = { 0 };
        att_error err = { 0 };
        if (att_sheet_render(&text, sheet, &options, &err) != ATT_OK)
            fail_msg("%s: %s", selections[i].only, err.message);
        if (!strstr(text.data, selections[i].shows) || strstr(text.data, selections[i].hides))
            fail_msg("only %s:\n%s", selections[i].only, text.data);
        att_string_free(&text);
    }
    const att_render_options options = { .size = sizeof options, .only = "Z.grad" };
    att_string text = { 0 };
    assert_int_equal(att_sheet_render(&text, sheet, &options, NULL), ATT_BAD_INPUT);
    att_string_free(&text);
    att_sheet_free(sheet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_and_functions_agree_with_differences),
        cmocka_unit_test(every_function_has_a_tested_gradient_or_says_why_it_has_none),
        cmocka_unit_test(gradients_go_through_own_functions_and_loops),
        cmocka_unit_test(rounded_steps_have_no_gradient_and_leave_the_exact_ones_alone),
        cmocka_unit_test(steps_of_a_loop_have_names),
        cmocka_unit_test(an_item_of_a_list_that_was_assigned_anew_has_a_name),
        cmocka_unit_test(detail_applies_to_the_backward_pass),
        cmocka_unit_test(the_words_of_a_gradient_are_not_read_as_markdown),
        cmocka_unit_test(cells_agree_with_differences_in_all_their_parts),
        cmocka_unit_test(every_score_and_normalizer_agrees_with_differences),
        cmocka_unit_test(vectors_may_be_columns),
        cmocka_unit_test(products_and_projected_keys_may_be_in_the_loss),
        cmocka_unit_test(projections_and_heads_agree_with_differences),
        cmocka_unit_test(masked_pairs_and_empty_rows_get_zeros),
        cmocka_unit_test(attention_sends_back_the_textbook_formulas),
        cmocka_unit_test(the_value_that_was_used_counts),
        cmocka_unit_test(gradients_are_values),
        cmocka_unit_test(what_has_no_gradient_says_so),
        cmocka_unit_test(a_wrong_gradient_fails_the_check),
        cmocka_unit_test(a_check_names_the_numbers_at_a_kink),
        cmocka_unit_test(beside_a_kink_and_where_a_function_bends_smaller_steps_are_taken),
        cmocka_unit_test(a_check_leaves_every_number_as_it_was),
        cmocka_unit_test(steps_go_from_the_result_to_the_inputs),
        cmocka_unit_test(every_format_shows_the_backward_pass),
        cmocka_unit_test(one_gradient_can_be_shown_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
