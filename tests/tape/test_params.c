/* Parameters: the table, initial values, packed forms. */
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

static int add(att_params *params, const char *name, int rank, int64_t a, int64_t b, att_init init,
               float init_scale)
{
    int index = -1;
    att_param row = {
        .name = name, .rank = rank, .shape = { a, b }, .init = init, .init_scale = init_scale
    };
    assert_int_equal(att_params_add(params, &row, &index, NULL), ATT_OK);
    return index;
}

static void initial_values_have_the_declared_distribution(void **state)
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
    float max = 0, limit = sqrtf(6.0f / 50);
    for (size_t i = 0; i < 2000; i++)
        max = fmaxf(max, fabsf(v[p.items[uniform].offset + i]));
    assert_true(max <= 0.25f && max > 0.24f);
    max = 0;
    for (size_t i = 0; i < 600; i++)
        max = fmaxf(max, fabsf(v[p.items[glorot].offset + i]));
    assert_true(max <= limit && max > 0.95f * limit);
    double squares = 0;
    for (size_t i = 0; i < 2000; i++)
        squares += pow((double)v[p.items[normal].offset + i], 2) / 2000;
    assert_true(fabs(squares - 4) < 4 * 4 * sqrt(2.0 / 2000)); /* four standard errors */
    att_params_free(&p);
}

static void initial_values_depend_on_seed_and_name_alone(void **state)
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

enum { ROWS = 5, COLUMNS = 19 };

/* The panels of a 5 x 19 matrix and of its transpose. */
typedef struct panels {
    float plain[32 * ROWS], transposed[16 * COLUMNS];
} panels;

static panels pack(const float *values)
{
    panels out;
    att_matmul_pack(out.plain, values, COLUMNS, false, ROWS, COLUMNS);
    att_matmul_pack(out.transposed, values, COLUMNS, true, COLUMNS, ROWS);
    return out;
}

static void a_matrix_packed_on_demand_follows_its_values(void **state)
{
    (void)state;
    att_params p = { 0 };
    int w = add(&p, "w", 2, ROWS, COLUMNS, ATT_INIT_UNIFORM, 1);
    assert_int_equal(att_params_init(&p, 3, NULL), ATT_OK);
    panels want = pack(p.value);
    const float *packed = att_param_pack(&p, w, false);
    assert_memory_equal(packed, want.plain, sizeof want.plain);
    assert_memory_equal(att_param_pack(&p, w, true), want.transposed, sizeof want.transposed);
    p.value[3] = 42;
    assert_memory_equal(att_param_pack(&p, w, false), want.plain, sizeof want.plain);
    att_params_mark_changed(&p);
    assert_ptr_equal(att_param_pack(&p, w, false), packed);
    assert_memory_not_equal(packed, want.plain, sizeof want.plain);
    assert_true(packed[3] == 42);
    att_params_free(&p);
}

static void declared_forms_are_packed_at_once_and_others_not(void **state)
{
    (void)state;
    att_params p = { 0 };
    static const unsigned packing[] = { 0, ATT_PACK_PLAIN, ATT_PACK_TRANSPOSED,
                                        ATT_PACK_PLAIN | ATT_PACK_TRANSPOSED };
    for (int i = 0; i < 4; i++) {
        char name[] = { 'w', (char)('0' + i), 0 };
        att_param_add_packing(&p, add(&p, name, 2, ROWS, COLUMNS, ATT_INIT_UNIFORM, 1), packing[i]);
    }
    assert_int_equal(att_params_init(&p, 3, NULL), ATT_OK);
    for (int i = 0; i < 4; i++)
        assert_null(att_param_packed(&p, i, false));
    assert_int_equal(att_params_pack(&p, NULL), ATT_OK);
    for (int i = 0; i < 4; i++) {
        panels want = pack(p.value + p.items[i].offset);
        const float *plain = att_param_packed(&p, i, false);
        const float *transposed = att_param_packed(&p, i, true);
        assert_int_equal(plain != NULL, (packing[i] & ATT_PACK_PLAIN) != 0);
        assert_int_equal(transposed != NULL, (packing[i] & ATT_PACK_TRANSPOSED) != 0);
        if (plain)
            assert_memory_equal(plain, want.plain, sizeof want.plain);
        if (transposed)
            assert_memory_equal(transposed, want.transposed, sizeof want.transposed);
    }
    att_params_free(&p);
}

static void a_change_makes_packed_forms_out_of_date_until_they_are_packed_again(void **state)
{
    (void)state;
    att_params p = { 0 };
    for (int i = 0; i < 2; i++)
        att_param_add_packing(&p, add(&p, i ? "b" : "a", 2, ROWS, COLUMNS, ATT_INIT_UNIFORM, 1),
                              ATT_PACK_PLAIN);
    assert_int_equal(att_params_init(&p, 3, NULL), ATT_OK);
    assert_int_equal(att_params_pack(&p, NULL), ATT_OK);
    const float *a = att_param_packed(&p, 0, false), *b = att_param_packed(&p, 1, false);
    p.value[p.items[1].offset] = 7;
    att_param_mark_changed(&p, 1); /* of one parameter: the other stays */
    assert_ptr_equal(att_param_packed(&p, 0, false), a);
    assert_null(att_param_packed(&p, 1, false));
    assert_int_equal(att_params_pack(&p, NULL), ATT_OK);
    assert_ptr_equal(att_param_packed(&p, 1, false), b); /* packed in place */
    assert_true(b[0] == 7);
    att_params_mark_changed(&p); /* of all */
    assert_null(att_param_packed(&p, 0, false));
    assert_null(att_param_packed(&p, 1, false));
    att_params_free(&p);
}

static void nothing_is_lost_when_memory_is_out(void **state)
{
    (void)state;
    size_t before = att_alloc_live();
    for (size_t n = 1; n < 12; n++) {
        att_params p = { 0 };
        int index;
        att_param row = {
            .name = "w", .rank = 2, .shape = { 3, 4 }, .packing = ATT_PACK_TRANSPOSED
        };
        att_alloc_fail_at(n);
        bool done = att_params_add(&p, &row, &index, NULL) == ATT_OK &&
                    att_params_init(&p, 1, NULL) == ATT_OK &&
                    att_params_alloc_grad(&p, NULL) == ATT_OK &&
                    att_params_pack(&p, NULL) == ATT_OK;
        att_alloc_fail_at(0);
        assert_true(done == (n > 6));
        att_params_free(&p);
        assert_int_equal(att_alloc_live(), before);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(initial_values_have_the_declared_distribution),
        cmocka_unit_test(initial_values_depend_on_seed_and_name_alone),
        cmocka_unit_test(a_name_is_used_once_and_found),
        cmocka_unit_test(a_matrix_packed_on_demand_follows_its_values),
        cmocka_unit_test(declared_forms_are_packed_at_once_and_others_not),
        cmocka_unit_test(a_change_makes_packed_forms_out_of_date_until_they_are_packed_again),
        cmocka_unit_test(nothing_is_lost_when_memory_is_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
