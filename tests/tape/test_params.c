/* Parameters: the table, starting values, packed forms. */
#include "tape/params.h"

#include "base/alloc.h"
#include "kern/matmul.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static int add(att_params *params, const char *name, int rank, int64_t a, int64_t b, att_init start,
               float spread)
{
    int index = -1;
    att_param row = {
        .name = name, .rank = rank, .shape = { a, b }, .init = start, .init_scale = spread
    };
    assert_int_equal(att_params_add(params, &row, &index, NULL), ATT_OK);
    return index;
}

static void parameters_start_as_they_say(void **state)
{
    (void)state;
    att_params p = { 0 };
    int zero = add(&p, "zero", 1, 5, 0, ATT_INIT_ZERO, 0);
    int one = add(&p, "one", 1, 3, 0, ATT_INIT_ONE, 0);
    int uniform = add(&p, "uniform", 2, 40, 50, ATT_INIT_UNIFORM, 0.25f);
    int normal = add(&p, "normal", 2, 40, 50, ATT_INIT_NORMAL, 2);
    int glorot = add(&p, "glorot", 2, 20, 30, ATT_INIT_GLOROT, 1);
    int forget = add(&p, "forget", 1, 8, 0, ATT_INIT_FORGET_BIAS, 0);
    assert_int_equal(att_params_init(&p, 7, NULL), ATT_OK);
    const float *v = p.value;
    for (size_t i = 0; i < 5; i++)
        assert_true(v[p.items[zero].offset + i] == 0);
    for (size_t i = 0; i < 3; i++)
        assert_true(v[p.items[one].offset + i] == 1);
    for (size_t i = 0; i < 8; i++)
        assert_true(v[p.items[forget].offset + i] == (i == 2 || i == 3));
    float most = 0, limit = sqrtf(6.0f / 50);
    for (size_t i = 0; i < 2000; i++)
        most = fmaxf(most, fabsf(v[p.items[uniform].offset + i]));
    assert_true(most <= 0.25f && most > 0.24f);
    most = 0;
    for (size_t i = 0; i < 600; i++)
        most = fmaxf(most, fabsf(v[p.items[glorot].offset + i]));
    assert_true(most <= limit && most > 0.95f * limit);
    double squares = 0;
    for (size_t i = 0; i < 2000; i++)
        squares += pow((double)v[p.items[normal].offset + i], 2) / 2000;
    assert_true(fabs(squares - 4) < 4 * 4 * sqrt(2.0 / 2000)); /* four standard errors */
    att_params_free(&p);
}

static void a_start_depends_on_seed_and_name_alone(void **state)
{
    (void)state;
    att_params a = { 0 }, b = { 0 }, c = { 0 };
    int first = add(&a, "layer.w", 2, 7, 9, ATT_INIT_UNIFORM, 1);
    add(&b, "another", 2, 3, 3, ATT_INIT_UNIFORM, 1);
    int second = add(&b, "layer.w", 2, 7, 9, ATT_INIT_UNIFORM, 1);
    add(&c, "layer.w", 2, 7, 9, ATT_INIT_UNIFORM, 1);
    assert_int_equal(att_params_init(&a, 7, NULL), ATT_OK);
    assert_int_equal(att_params_init(&b, 7, NULL), ATT_OK);
    assert_int_equal(att_params_init(&c, 8, NULL), ATT_OK);
    const float *of_a = a.value + a.items[first].offset, *of_b = b.value + b.items[second].offset;
    assert_memory_equal(of_a, of_b, 63 * sizeof(float));
    assert_memory_not_equal(of_a, c.value, 63 * sizeof(float));
    assert_memory_not_equal(b.value, of_b, 9 * sizeof(float));
    att_params_free(&a);
    att_params_free(&b);
    att_params_free(&c);
}

static void a_name_is_used_once_and_found(void **state)
{
    (void)state;
    att_params p = { 0 };
    char name[16];
    for (int i = 0; i < 100; i++) { /* the table grows meanwhile */
        snprintf(name, sizeof name, "w%d", i);
        assert_int_equal(add(&p, name, 1, i, 0, ATT_INIT_ZERO, 0), i);
        assert_int_equal(p.items[i].offset % 16, 0);
    }
    att_error err = { 0 };
    int index;
    att_param again = { .name = "w7", .rank = 1, .shape = { 3 } };
    assert_int_equal(att_params_add(&p, &again, &index, &err), ATT_BAD_INPUT);
    assert_string_equal(err.place, "w7");
    att_param huge = { .name = "huge", .rank = 2, .shape = { INT64_MAX, 3 } };
    assert_int_equal(att_params_add(&p, &huge, &index, &err), ATT_BAD_INPUT);
    assert_int_equal(att_params_find(&p, "w42"), 42);
    assert_int_equal(att_params_find(&p, "w100"), -1);
    att_params_free(&p);
}

static void a_packed_matrix_follows_its_values(void **state)
{
    (void)state;
    att_params p = { 0 };
    int w = add(&p, "w", 2, 5, 19, ATT_INIT_UNIFORM, 1);
    assert_int_equal(att_params_init(&p, 3, NULL), ATT_OK);
    float want[32 * 5], turned[16 * 19];
    att_matmul_pack(want, p.value, 19, false, 5, 19);
    att_matmul_pack(turned, p.value, 19, true, 19, 5);
    const float *panels = att_param_packed(&p, w, false);
    assert_memory_equal(panels, want, sizeof want);
    assert_memory_equal(att_param_packed(&p, w, true), turned, sizeof turned);
    p.value[3] = 42;
    assert_memory_equal(att_param_packed(&p, w, false), want, sizeof want);
    att_params_mark_changed(&p);
    assert_ptr_equal(att_param_packed(&p, w, false), panels);
    assert_memory_not_equal(panels, want, sizeof want);
    assert_true(panels[3] == 42);
    att_params_free(&p);
}

static void nothing_is_lost_when_memory_is_out(void **state)
{
    (void)state;
    size_t before = att_alloc_live();
    for (size_t n = 1; n < 12; n++) {
        att_params p = { 0 };
        int index;
        att_param row = { .name = "w", .rank = 2, .shape = { 3, 4 } };
        att_alloc_fail_at(n);
        bool done = att_params_add(&p, &row, &index, NULL) == ATT_OK &&
                    att_params_init(&p, 1, NULL) == ATT_OK &&
                    att_params_alloc_grad(&p, NULL) == ATT_OK && att_param_packed(&p, 0, true);
        att_alloc_fail_at(0);
        assert_true(done == (n > 6));
        att_params_free(&p);
        assert_int_equal(att_alloc_live(), before);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_start_as_they_say),
        cmocka_unit_test(a_start_depends_on_seed_and_name_alone),
        cmocka_unit_test(a_name_is_used_once_and_found),
        cmocka_unit_test(a_packed_matrix_follows_its_values),
        cmocka_unit_test(nothing_is_lost_when_memory_is_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
