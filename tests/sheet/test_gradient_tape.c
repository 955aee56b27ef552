/* Gradients of a sheet against those of the library: the tape, which trains models, in float. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sheet_help.h"

#include "attention/normalize.h"
#include "attention/score.h"
#include "base/string.h"
#include "tape/ops.h"

enum { MAX_LEAVES = 8, MAX_NUMBERS = 64 };

/* A leaf of both computations. Its numbers are multiples of 1/16, which float has exactly. */
struct leaf {
    const char *name;
    int64_t rows, cols;
    float numbers[MAX_NUMBERS];
    att_node *node;
};

struct scene {
    struct leaf leaves[MAX_LEAVES];
    int count;
    att_tape *tape;
    att_string sheet;
};

static void open_scene(struct scene *s)
{
    *s = (struct scene){ 0 };
    assert_int_equal(att_tape_new(&s->tape, NULL, NULL), ATT_OK);
    att_tape_begin(s->tape, true, 1, 1);
}

/* Adds a matrix to the sheet, and to the tape with the given shape. */
static att_node *leaf(struct scene *s, const char *name, int64_t rows, int64_t cols, int rank,
                      const int64_t *shape)
{
    struct leaf *l = &s->leaves[s->count++];
    *l = (struct leaf){ .name = name, .rows = rows, .cols = cols };
    assert_true(s->count <= MAX_LEAVES && rows * cols <= MAX_NUMBERS);
    att_string_printf(&s->sheet, "%s = [", name);
    for (int64_t i = 0; i < rows * cols; i++) {
        l->numbers[i] = (float)((i * 7 + s->count * 5 + i * i) % 29 - 14) / 16;
        att_string_printf(&s->sheet, "%s%.10g",
                          i == 0          ? ""
                          : i % cols == 0 ? "; "
                                          : " ",
                          (double)l->numbers[i]);
    }
    att_string_puts(&s->sheet, "]\n");
    l->node = att_tape_variable(s->tape, rank, shape, l->numbers);
    return l->node;
}

static att_node *matrix(struct scene *s, const char *name, int64_t rows, int64_t cols)
{
    return leaf(s, name, rows, cols, 2, (int64_t[]){ rows, cols });
}

static att_node *vector(struct scene *s, const char *name, int64_t size)
{
    return leaf(s, name, 1, size, 1, &size);
}

static att_node *batch(struct scene *s, const char *name, int64_t rows, int64_t cols)
{
    return leaf(s, name, rows, cols, 3, (int64_t[]){ 1, rows, cols });
}

/* Runs both backward passes of the sum of squares of `y` and compares the gradients of all leaves:
 * float has 24 bits, and sums of a few dozen terms lose a few of them. */
static void compare_scene(struct scene *s, const char *expression, att_node *y)
{
    att_error err = { 0 };
    att_node *loss = att_sum(s->tape, att_multiply(s->tape, y, y));
    if (att_tape_backward(s->tape, loss, 1, &err) != ATT_OK)
        fail_msg("%s: %s", expression, err.message);
    att_string_printf(&s->sheet, "y = %s\nL = sum(y .* y)\ngradient L\n", expression);
    for (int i = 0; i < s->count; i++)
        att_string_printf(&s->sheet, "g%d = %s.grad\n", i, s->leaves[i].name);
    att_sheet *sheet = sheet_from(s->sheet.data);
    for (int i = 0; i < s->count; i++) {
        char name[16];
        const struct leaf *l = &s->leaves[i];
        snprintf(name, sizeof name, "g%d", i);
        const att_matrix *found = step_named(sheet, name)->value;
        for (int64_t n = 0; n < l->rows * l->cols; n++) {
            double want = l->node->grad ? (double)l->node->grad[n] : 0;
            if (!(fabs(found->data[n] - want) <= 1e-5 * (1 + fabs(want))))
                fail_msg("%s: %s[%d]: the sheet says %.9g, the tape %.9g", expression, l->name,
                         (int)n, found->data[n], want);
        }
    }
    att_sheet_free(sheet);
    att_string_free(&s->sheet);
    att_tape_free(s->tape);
}

static void linear_layers_and_activations_have_the_gradients_of_the_tape(void **state)
{
    (void)state;
    static const struct {
        att_activation activation;
        const char *expression;
    } cases[] = {
        { ATT_ACTIVATION_NONE, "linear(X, W, b)" },
        { ATT_ACTIVATION_RELU, "relu(linear(X, W, b))" },
        { ATT_ACTIVATION_GELU, "gelu(X * W + b)" },
        { ATT_ACTIVATION_TANH, "tanh(linear(X, W, b))" },
        { ATT_ACTIVATION_SIGMOID, "sigmoid(X * W + b)" },
    };
    for (size_t i = 0; i < ATT_COUNT(cases); i++) {
        struct scene s;
        open_scene(&s);
        att_node *x = matrix(&s, "X", 3, 4), *w = matrix(&s, "W", 4, 2), *b = vector(&s, "b", 2);
        compare_scene(&s, cases[i].expression,
                      att_linear(s.tape, x, w, b, cases[i].activation, false));
    }
}

static void norms_have_the_gradients_of_the_tape(void **state)
{
    (void)state;
    struct scene s;
    open_scene(&s);
    att_node *x = matrix(&s, "X", 3, 5), *gain = vector(&s, "g", 5), *bias = vector(&s, "b", 5);
    compare_scene(&s, "layernorm(X, g, b)", att_layer_norm(s.tape, x, gain, bias));
    open_scene(&s);
    x = matrix(&s, "X", 3, 5);
    gain = vector(&s, "g", 5);
    compare_scene(&s, "rmsnorm(X, g)", att_rms_norm(s.tape, x, gain));
}

static void cells_have_the_gradients_of_the_tape(void **state)
{
    (void)state;
    static const char *const calls[] = {
        [ATT_RNN_CELL_VANILLA] = "rnn(X, h[1:2], W, U, b)",
        [ATT_RNN_CELL_GRU] = "gru(X, h[1:2], W, U, b, c)",
        [ATT_RNN_CELL_LSTM] = "lstm(X, h[1:2], h[3:4], W, U, b)",
    };
    for (int cell = ATT_RNN_CELL_VANILLA; cell <= ATT_RNN_CELL_LSTM; cell++) {
        struct scene s;
        open_scene(&s);
        int64_t wide = 2 * att_rnn_cell_gates((att_rnn_cell)cell);
        att_rnn_inputs in = { .x = batch(&s, "X", 4, 3),
                              .w = matrix(&s, "W", 3, wide),
                              .u = matrix(&s, "U", 2, wide),
                              .bias = vector(&s, "b", wide) };
        if (cell == ATT_RNN_CELL_GRU)
            in.bias_u = vector(&s, "c", wide);
        in.initial_state = matrix(&s, "h", 1, 2 * att_rnn_cell_states((att_rnn_cell)cell));
        const att_rnn_options options = { .cell = (att_rnn_cell)cell };
        compare_scene(&s, calls[cell], att_rnn(s.tape, &in, &options));
    }
}

/* The tape has the parameters in the layout of attend.h: [A,Kq]. */
static void attention_has_the_gradients_of_the_tape(void **state)
{
    (void)state;
    static const char *const parameters[ATT_SCORE_COUNT] = {
        [ATT_SCORE_GENERAL] = ", W = W",
        [ATT_SCORE_ADDITIVE] = ", W = W', U = U', b = b, v = v",
        [ATT_SCORE_CONCAT] = ", v = v",
        [ATT_SCORE_LOCATION] = ", W = W', b = b",
    };
    for (int score = 0; score < ATT_SCORE_COUNT; score++)
        for (int n = 0; n < ATT_NORMALIZER_COUNT; n++) {
            struct scene s;
            char call[256];
            /* Scores of either sign may add up to almost 0. */
            if (n == ATT_NORMALIZE_SUM && score != ATT_SCORE_GAUSSIAN)
                continue;
            open_scene(&s);
            bool additive = score == ATT_SCORE_ADDITIVE, location = score == ATT_SCORE_LOCATION;
            att_attention_op_inputs in = { .query = batch(&s, "q", 3, 2),
                                           .key = batch(&s, "k", 4, 2),
                                           .value = batch(&s, "x", 4, 3) };
            if (additive || location || score == ATT_SCORE_GENERAL)
                in.w = matrix(&s, "W", location ? 4 : additive ? 3 : 2, 2);
            if (additive)
                in.u = matrix(&s, "U", 3, 2);
            if (additive || location)
                in.b = vector(&s, "b", location ? 4 : 3);
            if (additive || score == ATT_SCORE_CONCAT)
                in.v = vector(&s, "v", additive ? 3 : 4);
            const att_attention_options options = { .size = sizeof options,
                                                    .score = (att_score)score,
                                                    .normalizer = (att_normalizer)n,
                                                    .causal = true,
                                                    .offset = 1 };
            snprintf(call, sizeof call,
                     "attention(q, k, x, score = %s, normalizer = %s, causal, offset = 1%s)",
                     att_score_name((att_score)score), att_normalizer_name((att_normalizer)n),
                     parameters[score] ? parameters[score] : "");
            compare_scene(&s, call, att_attention_op(s.tape, &in, 1, 1, &options));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear_layers_and_activations_have_the_gradients_of_the_tape),
        cmocka_unit_test(norms_have_the_gradients_of_the_tape),
        cmocka_unit_test(cells_have_the_gradients_of_the_tape),
        cmocka_unit_test(attention_has_the_gradients_of_the_tape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
