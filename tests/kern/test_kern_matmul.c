/* The matrix product on arrays: against double precision, and the same bits whatever the threads,
 * the instruction set, the packing, the layout and the number of rows. */
#include "kern/check.h"

#include "base/alloc.h"
#include "kern/matmul.h"
#include "thin.h"

#include <stdlib.h>

/* A product with everything it points to. */
typedef struct problem {
    att_matmul_call call;
    float *a, *b, *c, *bias, *panels;
    size_t c_size;
} problem;

typedef struct shape {
    size_t batch, rows, columns, depth;
} shape;

enum { A_TRANSPOSED = 1, B_TRANSPOSED = 2, ADD = 4, BIAS = 8, PACKED = 16, SHARED_B = 32 };

static float value(uint64_t stream, size_t i, size_t j, size_t item)
{
    return 2 * att_random_float(stream, item, i * 100003 + j) - 1;
}

static float *new_floats(size_t count)
{
    float *all = att_alloc(count, sizeof *all);
    assert_non_null(all);
    return all;
}

/* Element [i, j] of item n of A and B does not depend on layout, so neither must C. */
static problem problem_new(shape s, int flags, att_activation activation)
{
    problem p = { .c_size = s.batch * s.rows * (s.columns + 5) };
    size_t gap = 3;
    bool at = flags & A_TRANSPOSED, bt = flags & B_TRANSPOSED, shared = flags & SHARED_B;
    size_t a_line = (at ? s.rows : s.depth) + gap, b_line = (bt ? s.depth : s.columns) + gap;
    size_t a_item = a_line * (at ? s.depth : s.rows), b_item = b_line * (bt ? s.columns : s.depth);
    p.a = new_floats(s.batch * a_item);
    p.b = new_floats(s.batch * b_item);
    p.c = new_floats(p.c_size);
    p.bias = new_floats(s.columns);
    p.panels = new_floats(att_matmul_packed_size(s.depth, s.columns));
    for (size_t n = 0; n < s.batch; n++) {
        for (size_t i = 0; i < s.rows; i++)
            for (size_t k = 0; k < s.depth; k++)
                p.a[n * a_item + (at ? k * a_line + i : i * a_line + k)] = value(1, i, k, n);
        for (size_t k = 0; k < s.depth; k++)
            for (size_t j = 0; j < s.columns; j++)
                p.b[n * b_item + (bt ? j * b_line + k : k * b_line + j)] =
                    value(2, k, j, shared ? 0 : n);
    }
    for (size_t i = 0; i < p.c_size; i++)
        p.c[i] = value(3, i, 0, 0);
    for (size_t j = 0; j < s.columns; j++)
        p.bias[j] = value(4, j, 0, 0);
    p.call = (att_matmul_call){ .batch = s.batch,
                                .rows = s.rows,
                                .columns = s.columns,
                                .depth = s.depth,
                                .a = p.a,
                                .a_row_stride = at ? 1 : a_line,
                                .a_column_stride = at ? a_line : 1,
                                .a_batch_stride = a_item,
                                .b = p.b,
                                .b_stride = b_line,
                                .b_transposed = bt,
                                .b_batch_stride = shared ? 0 : b_item,
                                .c = p.c,
                                .c_row_stride = s.columns + 5,
                                .c_batch_stride = s.rows * (s.columns + 5),
                                .accumulate = flags & ADD,
                                .bias = flags & BIAS ? p.bias : NULL,
                                .activation = activation };
    if (flags & PACKED) {
        att_matmul_pack(p.panels, p.b, b_line, bt, s.depth, s.columns);
        p.call.panels = p.panels;
        p.call.b = NULL;
    }
    return p;
}

static void problem_free(problem *p)
{
    att_free(p->a);
    att_free(p->b);
    att_free(p->c);
    att_free(p->bias);
    att_free(p->panels);
}

static void run(problem *p)
{
    att_error err = { 0 };
    assert_int_equal(att_matmul_run(&p->call, &err), ATT_OK);
}

static double activate(att_activation activation, double x)
{
    switch (activation) {
    case ATT_ACTIVATION_RELU:
        return x > 0 ? x : 0;
    case ATT_ACTIVATION_GELU:
        return x * 0.5 * erfc(-x * sqrt(0.5));
    case ATT_ACTIVATION_SILU:
        return x / (1 + exp(-x));
    case ATT_ACTIVATION_TANH:
        return tanh(x);
    case ATT_ACTIVATION_SIGMOID:
        return 1 / (1 + exp(-x));
    default:
        return x;
    }
}

/* Each term passes through at most min(depth, 256) fused multiply-adds and one addition per block,
 * each wrong by EPS of the sum of sizes. An activation's slope is at most 1.13 (GELU's), and it
 * adds six roundings of its own. */
static void check_against_double(shape s, int flags, att_activation activation)
{
    problem p = problem_new(s, flags, activation);
    run(&p);
    double chain = (double)(s.depth < 256 ? s.depth : 256) + (double)s.depth / 256 + 3;
    for (size_t n = 0; n < s.batch; n++)
        for (size_t i = 0; i < s.rows; i++)
            for (size_t j = 0; j < s.columns + 5 && j < s.columns; j++) {
                size_t at = n * p.call.c_batch_stride + i * p.call.c_row_stride + j;
                double sum = flags & ADD ? value(3, at, 0, 0) : 0, size = fabs(sum) + 1;
                for (size_t k = 0; k < s.depth; k++) {
                    double term = (double)value(1, i, k, n) *
                                  value(2, k, j, flags & (SHARED_B | PACKED) ? 0 : n);
                    sum += term;
                    size += fabs(term);
                }
                sum += flags & BIAS ? value(4, j, 0, 0) : 0;
                double want = activate(activation, sum);
                check_near(p.c[at], want, 1.13 * chain * EPS * size + 6 * EPS * (1 + fabs(sum)),
                           "product", att_cpu_name(), s.depth, at);
            }
    for (size_t r = 0; r < s.batch * s.rows; r++)
        for (size_t j = s.columns; j < s.columns + 5; j++) /* the gaps between rows stay */
            assert_true(p.c[r * p.call.c_row_stride + j] ==
                        value(3, r * p.call.c_row_stride + j, 0, 0));
    problem_free(&p);
}

static const shape shapes[] = {
    { 1, 1, 1, 1 },    { 1, 1, 17, 3 },    { 1, 2, 128, 40 },   { 1, 3, 130, 257 },
    { 1, 5, 33, 512 }, { 1, 7, 64, 64 },   { 1, 13, 48, 255 },  { 1, 14, 31, 256 },
    { 1, 15, 16, 9 },  { 1, 16, 100, 70 }, { 1, 29, 47, 33 },   { 1, 64, 65, 300 },
    { 3, 4, 20, 11 },  { 5, 18, 32, 16 },  { 1, 200, 150, 20 }, { 1, 20, 200, 0 },
    { 2, 3, 5, 700 },
};
enum { SHAPES = sizeof shapes / sizeof *shapes, SHAPE_STEP = THIN > 1 ? 3 : 1 };

static void products_are_near_the_truth_in_every_layout(void **state)
{
    (void)state;
    att_cpu before = att_cpu_get();
    ATT_FOR_EACH_CPU (cpu) {
        att_cpu_set((att_cpu)cpu);
        for (size_t i = 0; i < SHAPES; i += SHAPE_STEP)
            for (int layout = 0; layout < 4; layout++)
                check_against_double(shapes[i], layout, ATT_ACTIVATION_NONE);
    }
    att_cpu_set(before);
}

static void bias_activation_and_adding_are_applied_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPES; i += SHAPE_STEP)
        for (int activation = 0; activation < ATT_ACTIVATION_COUNT; activation++) {
            check_against_double(shapes[i], BIAS, (att_activation)activation);
            check_against_double(shapes[i], BIAS | ADD | B_TRANSPOSED, (att_activation)activation);
            check_against_double(shapes[i], SHARED_B, (att_activation)activation);
            if (shapes[i].batch == 1)
                check_against_double(shapes[i], PACKED | ADD, (att_activation)activation);
        }
}

static void empty_shapes_touch_nothing_and_no_depth_gives_the_bias(void **state)
{
    (void)state;
    const shape empty[] = { { 0, 3, 3, 3 }, { 2, 0, 3, 3 }, { 2, 3, 0, 3 } };
    for (size_t i = 0; i < 3; i++)
        check_against_double(empty[i], BIAS, ATT_ACTIVATION_NONE);
    problem p = problem_new((shape){ 1, 3, 20, 0 }, BIAS, ATT_ACTIVATION_NONE);
    run(&p);
    for (size_t i = 0; i < 3; i++)
        assert_memory_equal(p.c + i * 25, p.bias, 20 * sizeof(float));
    problem_free(&p);
}

/* A shape and everything that may be varied without changing a bit. */
static void check_same_bits(shape s, int fixed)
{
    problem first = problem_new(s, fixed, ATT_ACTIVATION_GELU);
    att_threads_set(1);
    att_cpu_set(ATT_CPU_SCALAR);
    run(&first);
    static const int threads[] = { 1, 2, 3, 8 };
    static const int layouts[] = { 0, A_TRANSPOSED, B_TRANSPOSED, A_TRANSPOSED | B_TRANSPOSED };
    ATT_FOR_EACH_CPU (cpu)
        for (size_t t = 0; t < 4; t++)
            for (size_t l = 0; l < 4; l++)
                for (int packed = 0; packed <= (s.batch == 1 ? PACKED : 0); packed += PACKED) {
                    att_cpu_set((att_cpu)cpu);
                    att_threads_set(threads[t]);
                    problem p = problem_new(s, fixed | layouts[l] | packed, ATT_ACTIVATION_GELU);
                    run(&p);
                    if (memcmp(p.c, first.c, p.c_size * sizeof(float)) != 0)
                        fail_msg("%zu x %zu x %zu on %s, %d threads, layout %d, packed %d differs",
                                 s.rows, s.columns, s.depth, att_cpu_name(), threads[t], layouts[l],
                                 packed);
                    problem_free(&p);
                }
    problem_free(&first);
    att_threads_set(0);
    att_cpu_set(att_cpu_best());
}

static void threads_sets_layouts_and_packing_change_no_bit(void **state)
{
    (void)state;
    check_same_bits((shape){ 1, 40, 200, 300 }, BIAS);
    check_same_bits((shape){ 1, 170, 130, 70 }, ADD);
    check_same_bits((shape){ 1, 1, 300, 520 }, BIAS | ADD);
    check_same_bits((shape){ 1, 9, 48, 90 }, 0);
    check_same_bits((shape){ 4, 20, 40, 30 }, BIAS);
}

/* The order that attend.h promises, written out. */
static void sums_run_in_index_order_in_blocks_of_256(void **state)
{
    (void)state;
    shape s = { 1, 3, 20, 600 };
    problem p = problem_new(s, ADD, ATT_ACTIVATION_NONE);
    run(&p);
    for (size_t i = 0; i < s.rows; i++)
        for (size_t j = 0; j < s.columns; j++) {
            size_t at = i * p.call.c_row_stride + j;
            float want = value(3, at, 0, 0);
            for (size_t block = 0; block < s.depth; block += 256) {
                float sum = 0;
                for (size_t k = block; k < s.depth && k < block + 256; k++)
                    sum = fmaf(value(1, i, k, 0), value(2, k, j, 0), sum);
                want += sum;
            }
            assert_true(p.c[at] == want);
        }
    problem_free(&p);
}

static void a_row_is_the_same_alone_or_among_others(void **state)
{
    (void)state;
    for (size_t rows = 1; rows <= 70; rows += rows < 20 ? 1 : 10) {
        shape s = { 1, rows, 90, 300 };
        problem all = problem_new(s, PACKED, ATT_ACTIVATION_SILU);
        run(&all);
        for (size_t i = 0; i < rows; i++) {
            float alone[90];
            att_matmul_call one = all.call;
            one.rows = 1;
            one.a += i * one.a_row_stride;
            one.c = alone;
            assert_int_equal(att_matmul_run(&one, NULL), ATT_OK);
            assert_memory_equal(alone, all.c + i * all.call.c_row_stride, sizeof alone);
        }
        problem_free(&all);
    }
}

static void nan_stays_in_its_row_and_its_column(void **state)
{
    (void)state;
    problem p = problem_new((shape){ 1, 20, 40, 30 }, 0, ATT_ACTIVATION_NONE);
    p.a[3 * p.call.a_row_stride + 7] = NAN;
    p.b[11 * p.call.b_stride + 22] = NAN;
    run(&p);
    for (size_t i = 0; i < 20; i++)
        for (size_t j = 0; j < 40; j++) {
            float c = p.c[i * p.call.c_row_stride + j];
            assert_int_equal(c != c, i == 3 || j == 22);
        }
    problem_free(&p);
}

static void without_memory_it_fails_before_touching_anything(void **state)
{
    (void)state;
    problem p = problem_new((shape){ 1, 200, 40, 40 }, B_TRANSPOSED, ATT_ACTIVATION_NONE);
    att_error err = { 0 };
    att_alloc_fail_at(1);
    att_status status = att_matmul_run(&p.call, &err);
    att_alloc_fail_at(0);
    assert_int_equal(status, ATT_NO_MEMORY);
    for (size_t i = 0; i < p.c_size; i++)
        assert_true(p.c[i] == value(3, i, 0, 0));
    problem_free(&p);
}

static void a_packed_product_needs_no_memory(void **state)
{
    (void)state;
    shape s = { 1, 60, 256, 1000 };
    problem with = problem_new(s, PACKED | A_TRANSPOSED, ATT_ACTIVATION_NONE);
    problem without = problem_new(s, PACKED | A_TRANSPOSED, ATT_ACTIVATION_NONE);
    run(&with);
    att_alloc_fail_at(1);
    att_status status = att_matmul_run(&without.call, NULL);
    att_alloc_fail_at(0);
    assert_int_equal(status, ATT_OK);
    assert_memory_equal(with.c, without.c, with.c_size * sizeof(float));
    problem_free(&with);
    problem_free(&without);
}

static void every_block_is_released(void **state)
{
    (void)state;
    size_t before = att_alloc_live();
    problem p = problem_new((shape){ 3, 60, 200, 300 }, A_TRANSPOSED, ATT_ACTIVATION_NONE);
    run(&p);
    problem_free(&p);
    assert_int_equal(att_alloc_live(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_near_the_truth_in_every_layout),
        cmocka_unit_test(bias_activation_and_adding_are_applied_once),
        cmocka_unit_test(empty_shapes_touch_nothing_and_no_depth_gives_the_bias),
        cmocka_unit_test(threads_sets_layouts_and_packing_change_no_bit),
        cmocka_unit_test(sums_run_in_index_order_in_blocks_of_256),
        cmocka_unit_test(a_row_is_the_same_alone_or_among_others),
        cmocka_unit_test(nan_stays_in_its_row_and_its_column),
        cmocka_unit_test(without_memory_it_fails_before_touching_anything),
        cmocka_unit_test(a_packed_product_needs_no_memory),
        cmocka_unit_test(every_block_is_released),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
