/* The convolution over tokens: the sum of each window, with zeros outside the sentence. */
#include "nn/text_cnn.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum {
    B = 2,
    S = 5,
    D = 3,
    MIN_WINDOW = 2,
    MAX_WINDOW = 4,
    N = 6,
    EACH = N / (MAX_WINDOW - MIN_WINDOW + 1)
};

static const int64_t lengths[B] = { 5, 3 };

typedef struct scene {
    att_params params;
    att_text_cnn windows;
    att_tape *tape;
    float x[B * S * D];
} scene;

/* Every parameter has values, biases too. */
static void scene_new(scene *s)
{
    *s = (scene){ .windows = { .min_window = MIN_WINDOW,
                               .max_window = MAX_WINDOW,
                               .input_size = D,
                               .output_size = N } };
    att_param_builder builder = { .params = &s->params };
    att_text_cnn_build(&s->windows, &builder, "encoder.0");
    assert_int_equal(builder.status, ATT_OK);
    assert_int_equal(att_params_init(&s->params, 3, NULL), ATT_OK);
    for (int p = 0; p < s->params.count; p++)
        for (size_t i = 0; i < s->params.items[p].count; i++)
            s->params.value[s->params.items[p].offset + i] = cosf((float)(7 * p + (int)i));
    assert_int_equal(att_tape_new(&s->tape, &s->params, NULL), ATT_OK);
    for (int i = 0; i < B * S * D; i++)
        s->x[i] = sinf((float)i * 1.7f);
}

static void scene_free(scene *s)
{
    att_tape_free(s->tape);
    att_params_free(&s->params);
}

static const float *run(scene *s)
{
    att_tape_begin(s->tape, false, 0, 0);
    att_node *x = att_tape_input(s->tape, 3, (int64_t[]){ B, S, D }, s->x);
    att_node *out = att_text_cnn_run(&s->windows, s->tape, x, lengths);
    assert_int_equal(att_tape_status(s->tape, NULL), ATT_OK);
    const int64_t shape[] = { B, S, N };
    assert_int_equal(out->rank, 3);
    assert_memory_equal(out->shape, shape, sizeof shape);
    return out->value;
}

/* Column j of the window of `size` tokens around token t of sentence b, by the formula. */
static double truth(const scene *s, int size, int j, int b, int t)
{
    const att_linear_layer *filter = &s->windows.filters[size - MIN_WINDOW];
    const float *w = s->params.value + s->params.items[filter->w].offset;
    double sum = (double)s->params.value[s->params.items[filter->bias].offset + (size_t)j];
    for (int i = 0; i < size; i++) {
        int at = t - (size - 1) / 2 + i;
        for (int d = 0; d < D && at >= 0 && at < lengths[b]; d++)
            sum += (double)s->x[(b * S + at) * D + d] * (double)w[(i * D + d) * EACH + j];
    }
    return sum > 0 ? sum : 0;
}

static void a_window_sums_its_tokens_and_nothing_beyond_the_sentence(void **state)
{
    (void)state;
    scene s;
    scene_new(&s);
    const float *out = run(&s);
    int live = 0;
    for (int b = 0; b < B; b++)
        for (int t = 0; t < lengths[b]; t++)
            for (int c = 0; c < N; c++) {
                double want = truth(&s, MIN_WINDOW + c / EACH, c % EACH, b, t);
                /* at most MAX_WINDOW D products of numbers up to 1, and a bias */
                assert_true(fabs((double)out[(b * S + t) * N + c] - want) <=
                            (MAX_WINDOW * D + 1) * 1.2e-7 * (MAX_WINDOW * D + 1));
                live += want > 0;
            }
    assert_true(live > 10); /* not all zeros */
    scene_free(&s);
}

/* Not even a NaN after a sentence's end. */
static void padding_is_not_read(void **state)
{
    (void)state;
    scene s;
    float before[3 * N];
    scene_new(&s);
    memcpy(before, run(&s) + S * N, sizeof before);
    for (int i = (S + 3) * D; i < B * S * D; i++)
        s.x[i] = NAN;
    assert_memory_equal(before, run(&s) + S * N, sizeof before);
    scene_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_window_sums_its_tokens_and_nothing_beyond_the_sentence),
        cmocka_unit_test(padding_is_not_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
