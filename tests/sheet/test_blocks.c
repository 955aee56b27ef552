/* The attention functions of worksheets: values, parts, labels, masks, orientation,
 * calculations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "base/minmax.h"
#include "sheet/sheet_help.h"

/* One query, three keys; numbers that can be checked by hand. */
#define SMALL                                                                                      \
    "q = [1 0.5]\n"                                                                                \
    "k = [0.5 1; -1 0.5; 2 -1]\n"                                                                  \
    "v = [1 0; 0 1; 2 2]\n"

/* Three vectors and three matrices. */
#define LAYER                                                                                      \
    "X = [1 0 2; 0 1 -1; 2 1 0]\n"                                                                 \
    "A = [1 0; 0.5 1; -1 0.5]\n"                                                                   \
    "B = [0 1; 1 0; 0.5 -0.5]\n"                                                                   \
    "C = [1 0 1; 0 1 1; 1 -1 0]\n"

static void attention_is_scaled_softmax_by_default(void **state)
{
    (void)state;
    assert_sheet_passes(SMALL "expect attention(q, k, v) = softmax(q * k' / sqrt(2)) * v\n");
}

static void each_score_gives_its_own_numbers(void **state)
{
    (void)state;
    assert_sheet_passes(
        SMALL "a = attention(q, k, v, score = dot)\n"
              "expect a.scores = [1 -0.75 1.5]\n"
              "b = attention(q, k, v, score = scaled)\n"
              "expect b.scores = [1 -0.75 1.5] / sqrt(2)\n"
              "c = attention(q, k, v, score = general, W = [1 0.5; 0 2])\n"
              "expect c.scores = [2 -0.25 0.5]\n"
              "d = attention(q, k, v, score = additive, W = [1 0 0.5; 0 1 -1],"
              " U = [0.5 1 0; 1 0 1], b = [0 0.1 -0.2], v = [1 2 -1])\n"
              "expect d.scores = [1.9149873879922 -0.2896163810063 3.5733035673701] within 1e-12\n"
              "e = attention(q, k, v, score = concat, v = [1 -1 0.5 1])\n"
              "expect e.scores = [1.75 0.5 0.5]\n"
              "f = attention(q, k, v, score = gaussian)\n"
              "expect f.scores = exp([1 -0.75 1.5])\n"
              "g = attention(q, k, v, score = cosine)\n"
              "expect g.scores = [0.8 -0.6 0.6]\n"
              "h = attention(q, k, v, score = location, W = [1 0 -1; 0.5 1 0], b = [0 0.2 0.1])\n"
              "expect h.scores = [1.25 0.7 -0.9]\n");
}

static void each_normalizer_gives_its_own_weights(void **state)
{
    (void)state;
    assert_sheet_passes(SMALL "a = attention(q, k, v, score = dot, normalizer = softmax)\n"
                              "expect a.weights = softmax([1 -0.75 1.5])\n"
                              "b = attention(q, k, v, score = dot, normalizer = mean)\n"
                              "expect b.weights = [1 -0.75 1.5] / 3\n"
                              "c = attention(q, k, v, score = dot, normalizer = sparsemax)\n"
                              "expect c.weights = [0.25 0 0.75]\n"
                              "d = attention(q, k, v, score = dot, normalizer = entmax)\n"
                              "expect d.weights = [0.326007 0 0.673993] within 5e-7\n"
                              "e = attention(q, k, v, score = dot, normalizer = sigmoid)\n"
                              "expect e.weights = sigmoid([1 -0.75 1.5])\n"
                              "f = attention(q, k, v, score = dot, normalizer = sum)\n"
                              "expect f.weights = [1 -0.75 1.5] / 1.75\n"
                              "g = attention(q, k, v, score = dot, normalizer = none)\n"
                              "expect g = [1 -0.75 1.5] * v\n");
}

static void scale_cap_bias_and_alibi_come_in_this_order(void **state)
{
    (void)state;
    assert_sheet_passes(
        SMALL "a = attention(q, k, v, score = dot, scale = 3, softcap = 2, bias = [1 2 3],"
              " alibi = 0.5, offset = 1)\n"
              "expect a.products = [1 -0.75 1.5]\n"
              "expect a.scores = 2 * tanh(3 * [1 -0.75 1.5] / 2) + [1 2 3] - 0.5 * [1 0 1]\n");
}

static void masks_combine_and_masked_keys_do_not_count(void **state)
{
    (void)state;
    assert_sheet_passes(LAYER
                        "K = [X; 1 1 1]\n"
                        "a = attention(X, K, K, score = dot, mask = causal)\n"
                        "expect a.weights[1] = [1 0 0 0]\n"
                        "expect a[2] = softmax(X[2] * K[1:2]') * K[1:2]\n"
                        "b = attention(X, K, K, score = dot, causal, offset = 1)\n"
                        "expect b.weights[1,3:4] = [0 0]\n"
                        "expect b[3] = softmax(X[3] * K') * K\n"
                        "c = attention(X, K, K, score = dot, window = [1 0], length = 2)\n"
                        "expect c.weights[1] = [1 0 0 0]\n"
                        "expect c.weights[3] = [0 1 0 0]\n"
                        "d = attention(X, K, K, score = dot, mask = [1 0 0 1; 0 0 0 0; 1 1 1 1])\n"
                        "expect d[1] = softmax(X[1] * [K[1]; K[4]]') * [K[1]; K[4]]\n"
                        "expect d[2] = [0 0 0]\n"
                        "e = attention(X, K, K, score = dot, mask = [0 1 1 0])\n"
                        "expect e.weights[:,1] = [0; 0; 0]\n"
                        "f = attention(X, K, K, score = dot, window = 1)\n"
                        "expect f.weights[1,3:4] = [0 0]\n"
                        "expect f.weights[3,1] = 0\n");
}

static void masked_cells_are_marked_in_scores_and_weights_alike(void **state)
{
    (void)state;
    att_sheet *sheet = sheet_from(LAYER "a = self_attention(X, A, B, mask = causal)\n");
    const att_trace_step *step = step_named(sheet, "a");
    static const char *const marked[] = { "scores", "weights" };
    for (size_t p = 0; p < 2; p++) {
        const att_matrix *m = part_named(step, marked[p], 0)->value;
        assert_non_null(m->allowed);
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                assert_int_equal(m->allowed[i * 3 + j], j <= i);
    }
    assert_null(part_named(step, "products", 0)->value->allowed);
    att_sheet_free(sheet);
}

static void parts_stand_in_the_order_of_computation(void **state)
{
    (void)state;
    static const struct {
        const char *call;
        const char *names;
    } cases[] = {
        { "attention(X, X, X, score = dot)", "q k v scores weights output " },
        { "attention(X, X, X)", "q k v products scores weights output " },
        { "attention(X, X, X, score = general, W = C)", "q k v projected scores weights output " },
        { "attention(X, X, X, score = dot, bias = 1)", "q k v products scores weights output " },
        { "self_attention(X, A, B, C, score = dot)", "x q k v scores weights output " },
        { "cross_attention(X, 2 * X, A, B, C, score = dot)", "x y q k v scores weights output " },
        { "multihead(X, {A, B}, {B, A}, {C, C}, score = dot)",
          "x q1 k1 v1 scores1 weights1 output1 q2 k2 v2 scores2 weights2 output2 heads " },
        { "multihead(X, A, B, C, C, score = dot, from = X)",
          "x y q1 k1 v1 scores1 weights1 output1 heads output " },
        { "rnn(X, [0 0], A, ones(2, 2))", "z h " },
        { "lstm(X, [0 0], [0 0], [A, A, A, A], ones(2, 8))", "i f g o c h " },
        { "gru(X, [0 0], [A, A, A], ones(2, 6))", "r z n h " },
    };
    for (size_t c = 0; c < ATT_COUNT(cases); c++) {
        char text[512], names[256] = "";
        snprintf(text, sizeof text, LAYER "a = %s\n", cases[c].call);
        att_sheet *sheet = sheet_from(text);
        const att_trace_step *step = step_named(sheet, "a");
        for (size_t p = 0; p < step->part_count; p++) {
            if (step->parts[p].inner)
                continue;
            char number[16] = "";
            if (step->parts[p].head > 0)
                snprintf(number, sizeof number, "%d", (int)step->parts[p].head);
            strcat(strcat(strcat(names, step->parts[p].name), number), " ");
        }
        assert_string_equal(names, cases[c].names);
        assert_ptr_equal(step->value, step->parts[step->part_count - 1].value);
        att_sheet_free(sheet);
    }
}

static void labels_of_queries_and_keys_reach_the_weights(void **state)
{
    (void)state;
    static const char *const calls[] = {
        "attention(X, Y, Y)",
        "cross_attention(X, Y, identity(3), identity(3), identity(3))",
        "multihead(X, {identity(3)}, {identity(3)}, {identity(3)}, from = Y)",
        "attention(X', Y', Y', vectors = columns)",
    };
    for (size_t c = 0; c < ATT_COUNT(calls); c++) {
        char text[512];
        snprintf(text, sizeof text,
                 LAYER "Y = X[1:2]\nlabel X \"a\" \"b\" \"c\"\nlabel Y \"d\" \"e\"\na = %s\n",
                 calls[c]);
        att_sheet *sheet = sheet_from(text);
        const att_trace_step *step = step_named(sheet, "a");
        const att_matrix *weights = NULL;
        for (size_t p = 0; p < step->part_count; p++)
            if (strcmp(step->parts[p].name, "weights") == 0)
                weights = step->parts[p].value;
        assert_string_equal(weights->row_labels[2], "c");
        assert_string_equal(weights->col_labels[1], "e");
        bool columns = strstr(calls[c], "columns") != NULL;
        const char *const *labels = columns ? step->value->col_labels : step->value->row_labels;
        assert_string_equal(labels[1], "b");
        att_sheet_free(sheet);
    }
}

static void columns_mean_the_same_as_rows(void **state)
{
    (void)state;
    assert_sheet_passes(
        LAYER "Y = [1 1 0; -1 0 1]\n"
              "W = [1 0 0.5; 0 1 -1; 1 1 0]\n"
              "a = attention(X, Y, Y, score = general, W = W)\n"
              "b = attention(X', Y', Y', score = general, W = W, vectors = columns)\n"
              "expect b = a'\n"
              "expect b.projected = a.projected'\n"
              "U = [1 2; 0 1; -1 0]\n"
              "c = attention(X, Y, Y, score = additive, W = A, U = U, b = [1 2], v = [1 -1])\n"
              "d = attention(X', Y', Y', score = additive, W = A', U = U', b = [1; 2], v = [1; -1],"
              " vectors = columns)\n"
              "expect d.scores = c.scores\n"
              "expect d = c'\n"
              "e = attention(X, Y, Y, score = location, W = A)\n"
              "f = attention(X', Y', Y', score = location, W = A', vectors = columns)\n"
              "expect f = e'\n"
              "g = cross_attention(X, Y, A, B, C, mask = [1 0; 1 1; 0 1])\n"
              "h = cross_attention(X', Y', A', B', C', mask = [1 0; 1 1; 0 1], vectors = columns)\n"
              "expect h.q = g.q'\n"
              "expect h.scores = g.scores\n"
              "expect h = g'\n"
              "i = linear(X, A, [1 2])\n"
              "j = linear(X', A', [1 2], vectors = columns)\n"
              "expect j = i'\n");
}

static void heads_can_be_listed_stacked_or_shared(void **state)
{
    (void)state;
    assert_sheet_passes(LAYER
                        "one = self_attention(X, A, B, C)\n"
                        "two = self_attention(X, B, A, 2 * C)\n"
                        "y = multihead(X, {A, B}, {B, A}, {C, 2 * C})\n"
                        "expect y = [one, two]\n"
                        "expect y.head[2].weights = two.weights\n"
                        "z = multihead(X, [A, B], [B, A], [C, 2 * C], heads = 2)\n"
                        "expect z = y\n"
                        "W = [C; C]\n"
                        "expect multihead(X, {A, B}, {B, A}, {C, 2 * C}, W) = [one, two] * W\n"
                        "g = multihead(X, {A, A, B, B}, {B, A}, {C, 2 * C})\n"
                        "expect g = [one, one, two, two]\n"
                        "expect g.head[2].k = g.head[1].k\n"
                        "expect g.head[3].v = X * (2 * C)\n");
}

static void options_can_be_given_per_head(void **state)
{
    (void)state;
    assert_sheet_passes(
        LAYER "y = multihead(X, {A, B}, {B, A}, {C, C}, score = dot, alibi = [0.5 2],"
              " bias = {1, [1 2 3]})\n"
              "one = self_attention(X, A, B, C, score = dot, alibi = 0.5, bias = 1)\n"
              "two = self_attention(X, B, A, C, score = dot, alibi = 2, bias = [1 2 3])\n"
              "expect y = [one, two]\n"
              "I = identity(2)\n"
              "z = multihead(X, {A, B}, {B, A}, {C, C}, score = general, W = {I, 2 * I})\n"
              "expect z.head[1].scores = X * A * (X * B)'\n"
              "expect z.head[2].scores = 2 * X * B * (X * A)'\n");
}

/* Every score with every normalizer, masked and not, in both orientations. */
static void every_calculation_holds(void **state)
{
    (void)state;
    static const char *const scores[] = {
        "dot",
        "scaled",
        "gaussian",
        "cosine",
        "general, W = [1 0 0.5; 0 1 -1; 1 1 0]",
        "additive, W = [1 0 0; 0 1 0; 1 1 1], U = [1 2 0; 2 0 1; 0 1 1], b = [1 2 3], v = [1 2 -1]",
        "concat, v = [1 -1 2 0.5 1 0]",
        "location, W = [1 0 2; 0 1 1; 1 1 0], b = [1 2 3]",
    };
    static const char *const normalizers[] = { "softmax", "mean", "sparsemax", "entmax",
                                               "sigmoid", "sum",  "none" };
    static const char *const extras[] = { "", ", causal", ", mask = [1 0 1; 0 1 1; 1 1 1]",
                                          ", scale = 0.25, bias = [1 2 3], alibi = 0.5",
                                          ", softcap = 3, window = 1" };
    size_t sums = 0;
    for (size_t s = 0; s < ATT_COUNT(scores); s++)
        for (size_t n = 0; n < ATT_COUNT(normalizers); n++)
            for (size_t e = 0; e < ATT_COUNT(extras); e++) {
                char text[1024];
                snprintf(text, sizeof text,
                         LAYER "a = attention(X / 2, [X[2:3]; 1 1 0.5], X, score = %s,"
                               " normalizer = %s%s)\n"
                               "b = attention(X, X, C, score = %s, normalizer = %s%s,"
                               " vectors = columns)\n",
                         scores[s], normalizers[n], extras[e], scores[s], normalizers[n],
                         extras[e]);
                att_sheet *sheet = sheet_from(text);
                sums += assert_workings_hold(sheet);
                att_sheet_free(sheet);
            }
    assert_true(sums > 8 * 7 * 5 * 2 * 10);
}

static void calculations_of_other_layers_hold(void **state)
{
    (void)state;
    att_sheet *sheet = sheet_from(
        LAYER "a = self_attention(X, A, B, C)\n"
              "b = multihead(X, {A, B}, {B, A}, {C, C}, [C; C])\n"
              "c = linear(X, A, [1 2])\n"
              "d = linear(X', A', vectors = columns)\n"
              "e = conv1d(X, [1 2 3], [1 1 1])\n"
              "f = conv1d(X, {A, B}, [1 2])\n"
              "g = rnn(X, [1 -1], A, [1 2; 3 4] / 4, [1 2])\n"
              "h = lstm(X, [1 -1], [0.5 2], [A, B, A, B], [A[1:2], B[1:2], B[1:2], A[1:2]])\n"
              "i = gru(X, [1 -1], [A, B, A], [A[1:2], B[1:2], B[1:2]], [1 2 3 4 5 6] / 6,"
              " [6 5 4 3 2 1] / 6)\n"
              "j = gru(X, [1 -1], [A, B, A], [A[1:2], B[1:2], B[1:2]], reset = before)\n"
              "k = positional(5, 5, base = 100, start = 3)\n");
    static const char *const names[] = { "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k" };
    for (size_t i = 0; i < ATT_COUNT(names); i++) {
        const att_trace_step *step = step_named(sheet, names[i]);
        assert_int_not_equal(step->parts[step->part_count - 1].calculation_count +
                                 step->parts[0].calculation_count,
                             0);
    }
    assert_true(assert_workings_hold(sheet) > 100);
    att_sheet_free(sheet);
}

static void a_zero_vector_has_no_angle_and_scores_nothing(void **state)
{
    (void)state;
    static const char text[] = SMALL "a = attention(0 * q, k, v, score = cosine)\n"
                                     "expect a.scores = [0 0 0]\n";
    assert_sheet_passes(text);
    att_sheet *sheet = sheet_from(text);
    assert_true(assert_workings_hold(sheet) > 0);
    att_sheet_free(sheet);
}

static void a_calculation_names_its_query_and_its_element(void **state)
{
    (void)state;
    att_sheet *sheet = sheet_from(LAYER "a = attention(X, X, X, score = dot, causal)\n");
    const att_trace_part *scores = part_named(step_named(sheet, "a"), "scores", 0);
    assert_int_equal(scores->calculation_count, 6);
    const att_calculation *third = &scores->calculations[2];
    assert_int_equal(third->row, 2);
    assert_int_equal(third->left->kind, ATT_EXPR_INDEXED);
    assert_string_equal(third->left->text, "e");
    assert_true(third->left->child[0]->number == 2.0 && third->left->child[1]->number == 2.0);
    att_sheet_free(sheet);
}

static void large_results_have_no_calculations(void **state)
{
    (void)state;
    att_sheet *sheet =
        sheet_from("X = ones(7, 2)\nY = ones(2, 9)\n"
                   "a = attention(X, X, X)\nb = attention(Y, Y, Y)\nc = linear(X, X')\n"
                   "d = conv1d(X, [1 1])\ne = rnn(X, [0 0], ones(2, 2), ones(2, 2))\n"
                   "f = positional(7, 2)\ng = self_attention(Y, ones(9, 2), ones(9, 2))\n");
    static const char *const names[] = { "a", "b", "c", "d", "e", "f", "g" };
    for (size_t i = 0; i < ATT_COUNT(names); i++) {
        const att_trace_step *step = step_named(sheet, names[i]);
        for (size_t p = 0; p < step->part_count; p++)
            if (step->value->rows > 2 || step->parts[p].value->cols > 2)
                assert_int_equal(step->parts[p].calculation_count, 0);
    }
    att_sheet_free(sheet);
}

static void positions_pair_sines_with_cosines_of_one_angle(void **state)
{
    (void)state;
    assert_sheet_passes("P = positional(3, 5)\n"
                        "expect P[1] = [0 1 0 1 0]\n"
                        "w = 10000^(-2/5)\n"
                        "expect P[3] = [sin(2) cos(2) sin(2*w) cos(2*w) sin(2*w^2)]\n"
                        "expect positional(2, 5, start = 1) = P[2:3]\n"
                        "expect positional(2, 2, base = 7)[2] = [sin(1) cos(1)]\n"
                        "expect positional(2, 4, base = 4)[2,3] = sin(1/2)\n");
}

static void a_convolution_uses_only_neighboring_rows(void **state)
{
    (void)state;
    assert_sheet_passes("X = [1 2; 3 4; 5 6; 7 8]\n"
                        "expect conv1d(X, [1 10 100]) = [310 420; 531 642; 753 864; 75 86]\n"
                        "expect conv1d(X, [1 10], padding = valid) = [31 42; 53 64; 75 86]\n"
                        "expect conv1d(X, [1 10]) = [31 42; 53 64; 75 86; 7 8]\n"
                        "expect conv1d(X, [1 10 100], stride = 2) = [310 420; 753 864]\n"
                        "expect conv1d(X, [1 10 100], padding = valid, stride = 2) = [531 642]\n"
                        "K = [1; 0]\nL = [0; 1]\n"
                        "expect conv1d(X, {K, L}, 0.5, padding = valid) = [5.5; 9.5; 13.5]\n"
                        "expect conv1d(X, [K; L], padding = valid) = [5; 9; 13]\n"
                        "expect conv1d(X[1], [1 1 1 1 1]) = X[1]\n");
}

/* The numbers follow the documented formulas of PyTorch's RNNCell, LSTMCell and GRUCell. */
static void rnn_cells_follow_their_formulas(void **state)
{
    (void)state;
    assert_sheet_passes(
        "x = [1 0.5]\nW = [0.5 -0.3 0.8 0.2; -0.4 0.6 0.1 -0.7]\nR = [0.3 0.1 -0.5 0.9]\n"
        "b = [0.1 0.2 -0.1 0]\nh = 0.2\nc = -0.4\n"
        "y = lstm(x, h, c, W, R, b)\n"
        "g = x * W + h * R + b\n"
        "expect y.i = sigmoid(g[1,1])\n"
        "expect y.f = sigmoid(g[1,2])\n"
        "expect y.g = tanh(g[1,3])\n"
        "expect y.o = sigmoid(g[1,4])\n"
        "expect y.c = 0.128530 within 5e-7\n"
        "expect y = 0.064872 within 5e-7\n"
        "z = gru(x, h, W[:,1:3], R[1,1:3], b[1,1:3], [1 2 3])\n"
        "r = sigmoid(g[1,1] + 1)\nu = sigmoid(g[1,2] + 2)\n"
        "n = tanh(x * W[:,3] - 0.1 + r * (h * -0.5 + 3))\n"
        "expect z.r = r\n"
        "expect z.n = n\n"
        "expect z = (1 - u) * n + u * h\n"
        "p = gru(x, h, W[:,1:3], R[1,1:3], b[1,1:3], reset = before)\n"
        "expect p.n = tanh(x * W[:,3] - 0.1 + sigmoid(g[1,1]) * h * -0.5)\n");
}

static void a_sequence_is_its_steps_one_after_the_other(void **state)
{
    (void)state;
    assert_sheet_passes(
        LAYER "W = [A, B, A, B]\nR = [A[1:2], B[1:2], B[1:2], A[1:2]]\n"
              "all = lstm(X, [0.1 0.2], [0.3 0.4], W, R)\n"
              "one = lstm(X[1], [0.1 0.2], [0.3 0.4], W, R)\n"
              "two = lstm(X[2], one, one.c, W, R)\n"
              "three = lstm(X[3], two, two.c, W, R)\n"
              "expect all = [one; two; three]\n"
              "expect all.c = [one.c; two.c; three.c]\n"
              "expect gru(X, [1 1], [A, B, A], [A[1:2], B[1:2], A[1:2]])[3] = gru(X[2:3], gru(X[1],"
              " [1 1], [A, B, A], [A[1:2], B[1:2], A[1:2]]), [A, B, A],"
              " [A[1:2], B[1:2], A[1:2]])[2]\n");
}

/* ---------------------------------------------------------------- memory */

enum { ARENA_BLOCK = 16 * 1024, PADDING_STEP = 128 };

/* Reads the text with each allocation failing in turn; nothing may leak. */
static void fail_each_allocation(const char *text)
{
    size_t alive = att_alloc_live();
    att_status status = ATT_NO_MEMORY;
    for (size_t n = 1; status != ATT_OK; n++) {
        att_sheet *sheet = NULL;
        att_error err = { 0 };
        att_alloc_fail_at(n);
        status = att_sheet_read(&sheet, text, strlen(text), "test", NULL, &err);
        att_alloc_fail_at(0);
        if (status != ATT_OK) {
            assert_int_equal(status, ATT_NO_MEMORY);
            assert_null(sheet);
        }
        att_sheet_free(sheet);
        assert_int_equal(att_alloc_live(), alive);
        assert_true(n < 100000);
    }
}

/* An arena allocates only when its block is full. Text of growing length before a call moves the
 * end of the first block through the call, so that a different request fails each time. */
static void running_out_of_memory_anywhere_leaks_nothing(void **state)
{
    (void)state;
    static const char *const calls[] = {
        "attention(X', X', X', score = general, W = C, vectors = columns)",
        "attention(X, X, X, score = additive, W = A, U = B, b = [1 2], v = [1 2], mask = ones(3, "
        "3))",
        "cross_attention(X, X[1:2], A, B, causal, bias = 1, softcap = 2)",
        "multihead(X, {A, B}, {B, A}, [C, C], [C; C], heads = 2, alibi = [1 2], from = 2 * X)",
        "multihead(X', {A'}, {B'}, {C'}, C, vectors = columns)",
        "lstm(X, [1 -1], [0 1], [A, B, A, B], ones(2, 8))",
        "gru(X, [1 -1], [A, B, A], [A[1:2], B[1:2], B[1:2]])",
        "conv1d(X, [A; B])",
        "conv1d(X, {A, B}, [1 2])",
        "positional(3, 4)",
        "linear(X, A, [1 2])",
    };
    static char text[ARENA_BLOCK + 1024];
    for (size_t c = 0; c < ATT_COUNT(calls); c++) {
        for (size_t padding = 0; padding < ARENA_BLOCK; padding += PADDING_STEP) {
            memset(text, 'T', padding);
            snprintf(text + padding, sizeof text - padding, "\n" LAYER "a = %s\n", calls[c]);
            fail_each_allocation(text);
        }
    }
}

/* Whether the sheet as plain text contains the formula. */
static void assert_shown(const char *statement, const char *formula)
{
    char text[512];
    snprintf(text, sizeof text, "x = [1 2]\nh = [1 1]\nk = [1 2; 3 4]\nG = ones(2, 8)\ny = %s\n",
             statement);
    att_sheet *sheet = sheet_from(text);
    att_string shown = { 0 };
    const att_render_options options = { .size = sizeof(att_render_options),
                                         .digits = 2,
                                         .ascii = true };
    assert_int_equal(att_sheet_render(&shown, sheet, &options, NULL), ATT_OK);
    if (!strstr(shown.data, formula))
        fail_msg("%s does not show %s:\n%s", statement, formula, shown.data);
    att_string_free(&shown);
    att_sheet_free(sheet);
}

static void formulas_name_the_biases_that_were_given_and_no_others(void **state)
{
    (void)state;
    assert_shown("rnn(x, h, k, k)", "x * W_x + h * W_h\n");
    assert_shown("rnn(x, h, k, k, [1 1])", "x * W_x + h * W_h + b\n");
    assert_shown("lstm(x, h, h, G, G)", "sigmoid(x * W_f + h * U_f)\n");
    assert_shown("lstm(x, h, h, G, G, ones(1, 8))", "sigmoid(x * W_f + h * U_f + b_f)\n");
    assert_shown("gru(x, h, ones(2, 6), ones(2, 6))", "tanh(x * W_n + r .* (h * U_n))\n");
    assert_shown("gru(x, h, ones(2, 6), ones(2, 6), ones(1, 6), ones(1, 6))",
                 "tanh(x * W_n + b_n + r .* (h * U_n + b_hn))\n");
}

static void the_vector_of_a_score_is_not_confused_with_the_values(void **state)
{
    (void)state;
    assert_shown("attention(x, k, k, score = additive, W = k, U = k, v = [1 1])",
                 "tanh(q_i * W + k_j * U) * v_a'\n");
    assert_shown("attention(x, k, k, score = additive, W = k, U = k, v = [1 1], b = [1 1])",
                 "tanh(q_i * W + k_j * U + b) * v_a'\n");
    assert_shown("attention(x, k, k, score = concat, v = ones(1, 4))", "relu([q_i, k_j] * v_a')\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_is_scaled_softmax_by_default),
        cmocka_unit_test(each_score_gives_its_own_numbers),
        cmocka_unit_test(each_normalizer_gives_its_own_weights),
        cmocka_unit_test(scale_cap_bias_and_alibi_come_in_this_order),
        cmocka_unit_test(masks_combine_and_masked_keys_do_not_count),
        cmocka_unit_test(masked_cells_are_marked_in_scores_and_weights_alike),
        cmocka_unit_test(parts_stand_in_the_order_of_computation),
        cmocka_unit_test(labels_of_queries_and_keys_reach_the_weights),
        cmocka_unit_test(columns_mean_the_same_as_rows),
        cmocka_unit_test(formulas_name_the_biases_that_were_given_and_no_others),
        cmocka_unit_test(the_vector_of_a_score_is_not_confused_with_the_values),
        cmocka_unit_test(heads_can_be_listed_stacked_or_shared),
        cmocka_unit_test(options_can_be_given_per_head),
        cmocka_unit_test(every_calculation_holds),
        cmocka_unit_test(calculations_of_other_layers_hold),
        cmocka_unit_test(a_zero_vector_has_no_angle_and_scores_nothing),
        cmocka_unit_test(a_calculation_names_its_query_and_its_element),
        cmocka_unit_test(large_results_have_no_calculations),
        cmocka_unit_test(positions_pair_sines_with_cosines_of_one_angle),
        cmocka_unit_test(a_convolution_uses_only_neighboring_rows),
        cmocka_unit_test(rnn_cells_follow_their_formulas),
        cmocka_unit_test(a_sequence_is_its_steps_one_after_the_other),
        cmocka_unit_test(running_out_of_memory_anywhere_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
