/* Character features in training: which words share their dropout. */
#include "nn/char_features.h"

#include "tape/op.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

enum { WORDS = 4, SIZE = 60 };

/* Two sentences of two words. */
static const char *const words[WORDS] = { "one", "two", "one", NULL };

typedef struct scene {
    att_settings *settings;
    att_params params;
    att_char_features features;
    att_tape *tape;
} scene;

static void scene_new(scene *s)
{
    static const char *const set[][2] = { { "char-features", "cnn" },
                                          { "char-size", "60" },
                                          { "dropout", "0.5" } };
    *s = (scene){ 0 };
    assert_int_equal(att_settings_new(&s->settings, "tag", NULL), ATT_OK);
    for (size_t i = 0; i < sizeof set / sizeof *set; i++)
        assert_int_equal(att_settings_set(s->settings, set[i][0], set[i][1], NULL), ATT_OK);
    att_param_builder builder = { .params = &s->params };
    att_char_features_build(&s->features, &builder, s->settings);
    assert_int_equal(builder.status, ATT_OK);
    assert_int_equal(att_params_init(&s->params, 1, NULL), ATT_OK);
    assert_int_equal(att_params_alloc_grad(&s->params, NULL), ATT_OK);
    assert_int_equal(att_tape_new_training(&s->tape, &s->params, NULL), ATT_OK);
}

static void scene_free(scene *s)
{
    att_tape_free(s->tape);
    att_params_free(&s->params);
    att_settings_free(s->settings);
}

/* The number of features that one of the two words lost and the other kept. */
static int different(const float *a, const float *b)
{
    int count = 0;
    for (int i = 0; i < SIZE; i++)
        count += (a[i] == 0) != (b[i] == 0);
    return count;
}

static void a_word_loses_the_same_features_wherever_it_occurs(void **state)
{
    (void)state;
    scene s;
    const int32_t *rows;
    scene_new(&s);
    att_tape_begin(s.tape, true, 1, 5);
    const att_node *x = att_char_features_run(&s.features, s.tape, words, WORDS, &rows);
    assert_non_null(x);
    assert_true(x->rank == 2 && x->shape[0] == 2 && x->shape[1] == SIZE);
    assert_true(rows[0] == 0 && rows[1] == 1 && rows[2] == 0 && rows[3] == -1);
    scene_free(&s);
}

/* Without dropout the two would have the same features. */
static void a_word_of_rows_that_are_there_twice_loses_other_features(void **state)
{
    (void)state;
    scene s;
    const int32_t *rows;
    const char *const twice[] = { "one", "two", NULL, "one", "two", NULL };
    float value[2 * SIZE];
    scene_new(&s);
    att_tape_begin(s.tape, false, 1, 5);
    const att_node *x = att_char_features_run(&s.features, s.tape, twice, 6, &rows);
    assert_non_null(x);
    for (int i = 0; i < 2 * SIZE; i++)
        value[i] = x->value[i];
    att_tape_begin(s.tape, true, 1, 5);
    att_tape_set_rows_twice(s.tape);
    x = att_char_features_run(&s.features, s.tape, twice, 6, &rows);
    assert_non_null(x);
    assert_true(x->rank == 2 && x->shape[0] == 4 && x->shape[1] == SIZE);
    assert_true(rows[0] == 0 && rows[1] == 1 && rows[2] == -1);
    assert_true(rows[3] == 2 && rows[4] == 3 && rows[5] == -1);
    for (int i = 0; i < 2 * SIZE; i++) {
        float one = x->value[i], other = x->value[2 * SIZE + i];
        assert_true(one == 0 || one == 2 * value[i]);
        assert_true(other == 0 || other == 2 * value[i]);
    }
    assert_in_range(different(x->value, x->value + 2 * SIZE), SIZE / 6, SIZE);
    assert_in_range(different(x->value + SIZE, x->value + 3 * SIZE), SIZE / 6, SIZE);
    scene_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_word_loses_the_same_features_wherever_it_occurs),
        cmocka_unit_test(a_word_of_rows_that_are_there_twice_loses_other_features),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
