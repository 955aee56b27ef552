/* Int8 products: exact sums, the bits of plain C in every version, at any number of threads and for
 * any rows, and the rules of quantization. */
#include "kern/check.h"

#include "base/alloc.h"
#include "base/parallel.h"
#include "kern/int8/kernels.h"

#include <math.h>
#include <stdlib.h>

/* ---------------------------------------------------------------- quantization */

static float quantize(int8_t *q, const float *x, size_t n)
{
    return att_int8_versions[0]->quantize(q, x, n);
}

static void a_row_is_its_integers_times_the_scale_within_half_a_step(void **state)
{
    (void)state;
    enum { N = 1000 };
    static float x[N];
    static int8_t q[N];
    for (size_t i = 0; i < N; i++)
        x[i] = 6 * att_random_float(1, 2, i) - 3;
    float scale = quantize(q, x, N);
    int largest = 0;
    for (size_t i = 0; i < N; i++) {
        assert_true(q[i] >= -127);
        largest = abs(q[i]) > largest ? abs(q[i]) : largest;
        assert_true(fabs((double)x[i] - (double)q[i] * (double)scale) <= 0.5001 * (double)scale);
    }
    assert_int_equal(largest, 127);
}

static void halves_round_to_even(void **state)
{
    (void)state;
    const float x[] = { 127, 0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -2.5f, -127 };
    const int8_t expected[] = { 127, 0, 2, 2, 0, -2, -2, -127 };
    int8_t q[8];
    assert_true(quantize(q, x, 8) == 1.0f);
    assert_memory_equal(q, expected, sizeof q);
}

static void rows_of_zeros_and_tiny_numbers_have_scale_zero(void **state)
{
    (void)state;
    const float rows[][3] = { { 0, -0.0f, 0 }, { 0x1p-101f, 0, -0x1p-149f } };
    for (size_t i = 0; i < 2; i++) {
        int8_t q[3] = { 1, 1, 1 };
        assert_true(quantize(q, rows[i], 3) == 0.0f);
        assert_true(q[0] == 0 && q[1] == 0 && q[2] == 0);
    }
    int8_t q[1];
    const float least = 0x1p-100f, most = 0x1.fffffep127f;
    assert_true(quantize(q, &least, 1) > 0 && q[0] == 127);
    assert_true(isfinite(quantize(q, &most, 1)) && q[0] == 127);
}

static void rows_that_are_not_finite_have_a_scale_that_is_not_a_number(void **state)
{
    (void)state;
    const float bad[] = { NAN, INFINITY, -INFINITY };
    for (size_t i = 0; i < 3; i++) {
        const float x[] = { 1, bad[i], 2 };
        int8_t q[3];
        assert_true(isnan(quantize(q, x, 3)));
    }
}

/* ---------------------------------------------------------------- products */

typedef struct scene {
    size_t rows, columns, depth;
    float *a, *bias;
    int8_t *b; /* [columns, depth] */
    float *b_scales;
    att_int8_matrix matrix;
    void *block, *scratch;
    float *c, *expected; /* [rows, columns] */
} scene;

static void *bytes(size_t size)
{
    void *block = att_alloc(size + 1, 1);
    assert_non_null(block);
    return block;
}

/* `extreme`: all integers are 127 or -127, so that sums are as large as they can be. */
static scene scene_new(size_t rows, size_t columns, size_t depth, bool extreme)
{
    scene s = { .rows = rows, .columns = columns, .depth = depth };
    s.a = bytes(rows * depth * sizeof(float));
    s.bias = bytes(columns * sizeof(float));
    s.b = bytes(columns * depth);
    s.b_scales = bytes(columns * sizeof(float));
    s.c = bytes(rows * columns * sizeof(float));
    s.expected = bytes(rows * columns * sizeof(float));
    for (size_t i = 0; i < rows * depth; i++) {
        float x = 2 * att_random_float(3, rows, i) - 1;
        s.a[i] = extreme ? (i % 3 ? 1.0f : -1.0f) : x;
    }
    for (size_t i = 0; i < columns * depth; i++) {
        int value = (int)(att_random_float(4, columns, i) * 255) - 127;
        s.b[i] = (int8_t)(extreme ? (i % 5 ? 127 : -127) : value);
    }
    for (size_t j = 0; j < columns; j++) {
        s.b_scales[j] = 0.01f + att_random_float(5, 0, j);
        s.bias[j] = att_random_float(6, 0, j);
    }
    s.block = bytes(att_int8_matrix_size(depth, columns));
    s.scratch = bytes(att_int8_rows_size(rows, depth));
    s.matrix = att_int8_matrix_place(s.block, depth, columns);
    att_int8_matrix_pack(&s.matrix, s.b, depth, true, s.b_scales);
    return s;
}

static void scene_free(scene *s)
{
    void *all[] = { s->a, s->bias, s->b, s->b_scales, s->block, s->scratch, s->c, s->expected };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        att_free(all[i]);
}

/* The definition, on integers of 64 bits. */
static void compute_expected(scene *s)
{
    int8_t *q = bytes(s->depth);
    for (size_t i = 0; i < s->rows; i++) {
        float scale = quantize(q, s->a + i * s->depth, s->depth);
        for (size_t j = 0; j < s->columns; j++) {
            int64_t sum = 0;
            for (size_t k = 0; k < s->depth; k++)
                sum += q[k] * s->b[j * s->depth + k];
            float product = (float)sum * (scale * s->b_scales[j]);
            s->expected[i * s->columns + j] = product + s->bias[j];
        }
    }
    att_free(q);
}

static void multiply(scene *s, size_t rows)
{
    att_int8_matmul(&(att_int8_product){ .b = &s->matrix,
                                         .rows = rows,
                                         .a = s->a,
                                         .a_row_stride = s->depth,
                                         .scratch = s->scratch,
                                         .c = s->c,
                                         .c_row_stride = s->columns,
                                         .bias = s->bias });
}

static void same(const float *expected, const float *found, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (memcmp(&expected[i], &found[i], sizeof(float)) != 0)
            fail_msg("element %zu: expected %.9g, found %.9g", i, (double)expected[i],
                     (double)found[i]);
}

static const struct {
    size_t rows, columns, depth;
    bool extreme;
} shapes[] = {
    { 1, 1, 1, false },    { 1, 16, 4, false },   { 2, 17, 5, false },    { 3, 15, 64, false },
    { 5, 33, 63, true },   { 4, 48, 130, false }, { 13, 31, 259, false }, { 17, 100, 66, true },
    { 300, 20, 7, false }, { 33, 64, 512, true }, { 2, 3, 0, false },
};

static void every_version_has_the_bits_of_the_definition(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        scene s = scene_new(shapes[i].rows, shapes[i].columns, shapes[i].depth, shapes[i].extreme);
        compute_expected(&s);
        for (int v = 0; v < att_int8_version_count; v++) {
            const att_int8_kernels *version = att_int8_versions[v];
            if (!att_int8_version_runs(version, att_cpu_best()))
                continue;
            att_int8_rows rows = att_int8_rows_place(s.scratch, s.rows, s.depth);
            memset(rows.values, 0, s.rows * rows.row_size);
            for (size_t r = 0; r < s.rows; r++)
                rows.scales[r] =
                    version->quantize(rows.values + r * rows.row_size, s.a + r * s.depth, s.depth);
            version->matmul(&(att_int8_block){ .rows = s.rows,
                                               .columns = s.columns,
                                               .groups = rows.row_size / ATT_INT8_GROUP,
                                               .a = rows.values,
                                               .a_row_size = rows.row_size,
                                               .a_scales = rows.scales,
                                               .b = s.matrix.panels,
                                               .b_scales = s.matrix.scales,
                                               .b_sums = s.matrix.sums,
                                               .c = s.c,
                                               .c_row_stride = s.columns,
                                               .bias = s.bias });
            same(s.expected, s.c, s.rows * s.columns);
        }
        scene_free(&s);
    }
}

static void sums_are_exact_at_the_greatest_depth(void **state)
{
    (void)state;
    scene s = scene_new(2, 17, ATT_INT8_MAX_DEPTH, true);
    for (size_t i = 0; i < s.rows * s.depth; i++)
        s.a[i] = 1;
    memset(s.b, 127, s.columns * s.depth);
    att_int8_matrix_pack(&s.matrix, s.b, s.depth, true, s.b_scales);
    compute_expected(&s);
    for (int cpu = ATT_CPU_SCALAR; cpu <= (int)att_cpu_best(); cpu++) {
        if (!att_cpu_set((att_cpu)cpu))
            continue;
        multiply(&s, s.rows);
        same(s.expected, s.c, s.rows * s.columns);
    }
    scene_free(&s);
}

static void threads_and_the_number_of_rows_change_nothing(void **state)
{
    (void)state;
    scene s = scene_new(300, 530, 200, false);
    compute_expected(&s);
    for (int threads = 1; threads <= 3; threads++) {
        att_threads_set(threads);
        multiply(&s, s.rows);
        same(s.expected, s.c, s.rows * s.columns);
        for (size_t rows = 1; rows <= 9; rows++) {
            memset(s.c, 0, s.rows * s.columns * sizeof(float));
            multiply(&s, rows);
            same(s.expected, s.c, rows * s.columns);
        }
    }
    att_threads_set(1);
    scene_free(&s);
}

static void a_part_accumulates_and_applies_the_activation(void **state)
{
    (void)state;
    scene s = scene_new(3, 40, 20, false);
    att_int8_rows rows = att_int8_rows_place(s.scratch, s.rows, s.depth);
    att_int8_rows_quantize(&rows, s.a, s.depth, s.depth, 0, s.rows);
    compute_expected(&s);
    for (size_t j = 0; j < s.columns; j++) { /* without bias, from -1 */
        s.c[j] = -1;
        s.bias[j] = 0;
    }
    compute_expected(&s);
    att_int8_matmul_part(&(att_int8_call){ .b = &s.matrix,
                                           .a = &rows,
                                           .first_row = 1,
                                           .rows = 1,
                                           .first_column = 16,
                                           .columns = 24,
                                           .c = s.c,
                                           .accumulate = true,
                                           .activation = ATT_ACTIVATION_RELU });
    for (size_t j = 0; j < 24; j++) {
        float sum = s.expected[s.columns + 16 + j] + -1;
        assert_true(s.c[j] == (sum > 0 ? sum : 0));
    }
    scene_free(&s);
}

static void a_row_that_is_not_finite_spoils_its_results_alone(void **state)
{
    (void)state;
    scene s = scene_new(3, 20, 9, false);
    compute_expected(&s);
    s.a[9 + 4] = NAN;
    multiply(&s, 3);
    same(s.expected, s.c, 20);
    same(s.expected + 40, s.c + 40, 20);
    for (size_t j = 0; j < 20; j++)
        assert_true(isnan(s.c[20 + j]));
    scene_free(&s);
}

/* ---------------------------------------------------------------- matrices */

static void a_matrix_gives_back_its_columns(void **state)
{
    (void)state;
    scene s = scene_new(1, 37, 22, false);
    int8_t column[22];
    float floats[22];
    for (size_t j = 0; j < s.columns; j++) {
        att_int8_matrix_column(column, &s.matrix, j, 1);
        att_int8_matrix_column_floats(floats, &s.matrix, j, 1);
        assert_memory_equal(column, s.b + j * s.depth, s.depth);
        for (size_t k = 0; k < s.depth; k++)
            assert_true(floats[k] == (float)column[k] * s.b_scales[j]);
    }
    scene_free(&s);
}

static void quantizing_a_matrix_or_its_transpose_is_the_same(void **state)
{
    (void)state;
    enum { DEPTH = 19, COLUMNS = 21 };
    static float plain[DEPTH * COLUMNS], transposed[COLUMNS * DEPTH], scratch[2 * DEPTH];
    for (size_t k = 0; k < DEPTH; k++)
        for (size_t j = 0; j < COLUMNS; j++)
            plain[k * COLUMNS + j] = transposed[j * DEPTH + k] = att_random_float(8, k, j) - 0.4f;
    size_t size = att_int8_matrix_size(DEPTH, COLUMNS);
    void *one = bytes(size), *other = bytes(size);
    att_int8_matrix a = att_int8_matrix_place(one, DEPTH, COLUMNS);
    att_int8_matrix b = att_int8_matrix_place(other, DEPTH, COLUMNS);
    att_int8_matrix_quantize(&a, plain, COLUMNS, false, scratch);
    att_int8_matrix_quantize(&b, transposed, DEPTH, true, scratch);
    assert_memory_equal(one, other, size);
    for (size_t j = 0; j < COLUMNS; j++) {
        int8_t q[DEPTH], found[DEPTH];
        assert_true(a.scales[j] == quantize(q, transposed + j * DEPTH, DEPTH));
        att_int8_matrix_column(found, &a, j, 1);
        assert_memory_equal(q, found, DEPTH);
    }
    att_free(one);
    att_free(other);
}

static void gathered_columns_give_the_same_products(void **state)
{
    (void)state;
    scene s = scene_new(4, 90, 33, false);
    const int32_t ids[] = { 3, 88, 17, 16, 0, 89, 45, 46, 47, 1, 2, 4, 5, 6, 7, 8, 31 };
    enum { COUNT = sizeof ids / sizeof *ids };
    void *block = bytes(att_int8_matrix_size(s.depth, COUNT));
    att_int8_matrix few = att_int8_matrix_place(block, s.depth, COUNT);
    att_int8_matrix_gather(&few, &s.matrix, ids, COUNT);
    for (size_t j = 0; j < s.columns; j++)
        s.bias[j] = 0;
    compute_expected(&s);
    att_int8_matmul(&(att_int8_product){ .b = &few,
                                         .rows = s.rows,
                                         .a = s.a,
                                         .a_row_stride = s.depth,
                                         .scratch = s.scratch,
                                         .c = s.c,
                                         .c_row_stride = COUNT });
    for (size_t i = 0; i < s.rows; i++)
        for (size_t j = 0; j < COUNT; j++)
            assert_true(s.c[i * COUNT + j] == s.expected[i * s.columns + (size_t)ids[j]]);
    att_free(block);
    scene_free(&s);
}

static void plain_c_runs_where_it_is_asked_for(void **state)
{
    (void)state;
    assert_true(att_cpu_set(ATT_CPU_SCALAR));
    assert_string_equal(att_int8_kernels_get(1)->name, "scalar");
    assert_true(att_cpu_set(att_cpu_best()));
    assert_true(att_int8_version_runs(att_int8_kernels_get(1), att_cpu_best()));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_is_its_integers_times_the_scale_within_half_a_step),
        cmocka_unit_test(halves_round_to_even),
        cmocka_unit_test(rows_of_zeros_and_tiny_numbers_have_scale_zero),
        cmocka_unit_test(rows_that_are_not_finite_have_a_scale_that_is_not_a_number),
        cmocka_unit_test(every_version_has_the_bits_of_the_definition),
        cmocka_unit_test(sums_are_exact_at_the_greatest_depth),
        cmocka_unit_test(threads_and_the_number_of_rows_change_nothing),
        cmocka_unit_test(a_part_accumulates_and_applies_the_activation),
        cmocka_unit_test(a_row_that_is_not_finite_spoils_its_results_alone),
        cmocka_unit_test(a_matrix_gives_back_its_columns),
        cmocka_unit_test(quantizing_a_matrix_or_its_transpose_is_the_same),
        cmocka_unit_test(gathered_columns_give_the_same_products),
        cmocka_unit_test(plain_c_runs_where_it_is_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
