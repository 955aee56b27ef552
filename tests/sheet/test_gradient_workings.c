/* Every step of a backward pass through a layer shows its sums with numbers, and the inputs that a
 * layer names have gradients under their names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sheet/gradient.h"
#include "sheet_help.h"

#define CELLS                                                                                      \
    "X = [0.5 -0.3; 0.8 -0.6]\nh = [0.3]\nc = [0.2]\n"                                             \
    "W = [0.4 -0.2 0.7 0.1; 0.2 0.5 -0.4 0.9]\nU = [0.3 0.6 -0.5 0.2]\nb = [0.1 -0.2 0.3 0.4]\n"

/* Layers, and the steps of their gradients that must be worked out. */
static const struct {
    const char *layer;
    const char *worked[10];
} cases[] = {
    { "X = [1 2 5; 3 4 1]\ng = [0.5 1 2]\nb = [0.1 0.2 0.4]\na = layernorm(X, g, b)\n",
      { "dX", "dg", "db" } },
    { "X = [1 3; 2 4; 5 1]\na = layernorm(X, vectors = columns)\n", { "dX" } },
    { "X = [1 2 5; 3 4 1]\na = cross_entropy(X, [2 1])\n", { "dX" } },
    { "X = [1 2 5; 3 4 1]\na = cross_entropy(X, [2 1], rows)\n", { "dX" } },
    { "X = [1 2 5; 3 4 1]\ng = [0.5 1 2]\na = rmsnorm(X, g)\n", { "dX", "dg" } },
    { "X = [1 2; 3 4; 0.3 1]\nK = [0.5 1; 2 0.3; 1 1; 0.2 0.1]\nb = [0.1 0.2]\n"
      "a = conv1d(X, K, b)\n",
      { "dX", "dK", "db" } },
    { "X = [1 2; 3 4; 0.3 1]\nK = [0.5 1 0.2]\na = conv1d(X, K, padding = valid)\n",
      { "dX", "dK" } },
    { CELLS "a = rnn(X, h, W[:, 1], U[:, 1], b[1])\n", { "da", "da.z", "dX", "dh" } },
    { CELLS "a = lstm(X, h, c, W, U, b)\n",
      { "da", "da.i", "da.f", "da.g", "da.o", "da.c", "dgates", "dW", "dh", "dc" } },
    { CELLS "W = W[:, 1:3]\nU = U[:, 1:3]\nb = b[1:3]\nd = [0.2 0.1 0.5]\na = gru(X, h, W, U, b, "
            "d)\n",
      { "da", "da.r", "da.z", "da.n", "dgates", "dgates_h", "dU", "dd", "dh", "dX" } },
    { CELLS "W = W[:, 1:3]\nU = U[:, 1:3]\nb = b[1:3]\nd = [0.2 0.1 0.5]\na = gru(X, h, W, U, b, "
            "d, reset = before)\n",
      { "da", "da.r", "da.z", "da.n", "dgates", "dU", "dd", "dh", "dX" } },
    { "X = [0.5 0.8; -0.3 -0.6]\nh = [0.3; 0.1]\nW = [0.4 -0.2; 0.7 0.1; 0.2 0.5; -0.4 0.9; 0.3 "
      "0.6; -0.5 0.2]\na = gru(X, h, W, W, vectors = columns)\n",
      { "da", "da.r", "da.z", "da.n", "dgates", "dgates_h", "dh" } },
};

static bool is_worked(const att_trace_step *step, const char *name)
{
    for (size_t i = 0; i < step->part_count; i++)
        if (strcmp(step->parts[i].name, name) == 0)
            return step->parts[i].calculation_count > 0;
    return false;
}

static void every_step_through_a_layer_is_worked_out(void **state)
{
    (void)state;
    for (size_t i = 0; i < ATT_COUNT(cases); i++) {
        char text[1024];
        snprintf(text, sizeof text, "%sL = sum(sin(a))\ngradient L check\n", cases[i].layer);
        att_sheet *sheet = sheet_from(text);
        assert_int_equal(att_sheet_failures(sheet), 0);
        const att_trace_step *gradient = NULL;
        for (size_t s = 0; s < sheet->step_count && !gradient; s++)
            if (sheet->steps[s].part_count > 0 && strcmp(sheet->steps[s].parts[0].name, "dL") == 0)
                gradient = &sheet->steps[s];
        assert_non_null(gradient);
        for (size_t w = 0; w < 10 && cases[i].worked[w]; w++)
            if (!is_worked(gradient, cases[i].worked[w]))
                fail_msg("%s has no workings in:\n%s", cases[i].worked[w], text);
        assert_workings_hold(sheet);
        att_sheet_free(sheet);
    }
}

#define VALUES                                                                                     \
    "X = [0.3 -0.5; 1.2 0.4]\nY = [0.9 0.2; -0.4 0.6; 0.5 1.1]\nW = [0.4 -0.2; 0.7 0.1]\n"         \
    "V = [0.1 0.6; -0.3 0.8]\n"

/* An input that has other uses: its gradient by the layer alone is that of a copy of it. */
static void inputs_of_a_layer_have_gradients_by_that_layer_alone(void **state)
{
    (void)state;
    assert_sheet_passes(VALUES "a = self_attention(X, W, V, W)\n"
                               "gradient sum(a .* a) + sum(X .* X) check\n"
                               "expect a.grad.x + 2 * X = X.grad within 1e-12\n");
    assert_sheet_passes(VALUES "a = self_attention(X, W, V)\ngradient sum(a .* a) check\n"
                               "expect a.grad.x = X.grad within 1e-12\n");
    assert_sheet_passes(VALUES "x = X + 0\ny = X + 0\nb = cross_attention(x, y, W, V, W)\n"
                               "gradient sum(b .* b)\nDx = x.grad\nDy = y.grad\n"
                               "a = cross_attention(X, X, W, V, W)\ngradient sum(a .* a) check\n"
                               "expect a.grad.x = Dx within 1e-12\n"
                               "expect a.grad.y = Dy within 1e-12\n");
    assert_sheet_passes(VALUES "a = multihead(X, W, V, W, V, heads = 2)\n"
                               "gradient sum(a .* a) - sum(X) check\n"
                               "expect a.grad.x - 1 = X.grad within 1e-12\n");
    assert_sheet_passes(VALUES "a = multihead(X, W, V, W, V, heads = 2, from = Y)\n"
                               "gradient sum(a .* a) - sum(X) + sum(Y) check\n"
                               "expect a.grad.x - 1 = X.grad within 1e-12\n"
                               "expect a.grad.y + 1 = Y.grad within 1e-12\n");
    assert_sheet_passes(VALUES "a = self_attention(X', W', V', W', vectors = columns)\n"
                               "gradient sum(a .* a) check\n"
                               "expect a.grad.x' = X.grad within 1e-12\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_step_through_a_layer_is_worked_out),
        cmocka_unit_test(inputs_of_a_layer_have_gradients_by_that_layer_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
