/* Random products compared with the order of summation that attend.h states, computed here by
 * scalar fused multiply-adds: the same bits with any strides, leading dimensions, packed or not, at
 * any number of threads and on any instruction set; and nothing written between the results.
 *
 *   test_matmul_random [FIRST [COUNT]]     seeds other than the default ones */
#include "attend.h"

#include "base/cpu.h"
#include "base/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t first_seed = 1, seed_count = 300;

typedef struct dice {
    uint64_t seed, count;
} dice;

static int64_t roll(dice *d, int64_t sides)
{
    return (int64_t)(att_random_bits(d->seed, 3, d->count++) % (uint64_t)sides);
}

/* Numbers of about 1; in some products also denormals, infinities and NaN. */
static float draw_number(dice *d, bool wild)
{
    static const float odd[] = { NAN, INFINITY, -INFINITY, 1e-40f, -3e-45f, 3e38f, -0.0f, 0.0f };
    if (wild && roll(d, 40) == 0)
        return odd[roll(d, 8)];
    return (float)(2 * att_random_double(d->seed, 4, d->count++) - 1);
}

typedef struct array {
    att_tensor t;
    float *block;
    size_t count;
} array;

static void array_free(array *a)
{
    free(a->block);
}

/* A tensor with `leading` dimensions before its two last, which may be exchanged in memory; rows
 * have a gap, and dimensions that `repeat` permits may have stride 0. */
static array array_new(dice *d, int rank, const int64_t *shape, bool turned, bool repeat, bool wild)
{
    array a = { .t = { .dtype = ATT_F32, .rank = rank } };
    int64_t stride = 1, gap = roll(d, 3);
    memcpy(a.t.shape, shape, (size_t)rank * sizeof *shape);
    for (int n = rank - 1; n >= 0; n--) {
        int dim = turned && n >= rank - 2 ? 2 * rank - 3 - n : n;
        a.t.stride[dim] = stride;
        stride *= shape[dim] + (n == rank - 1 ? gap : 0);
        if (repeat && n < rank - 1 && roll(d, 10) == 0)
            a.t.stride[dim] = 0;
    }
    a.count = (size_t)stride + 32;
    a.block = malloc(a.count * sizeof *a.block);
    for (size_t n = 0; n < a.count; n++)
        a.block[n] = draw_number(d, wild);
    a.t.data = a.block + 15; /* never aligned */
    return a;
}

static float *element(const att_tensor *t, const int64_t *lead, int64_t i, int64_t j, int leading)
{
    int own = t->rank - 2;
    int64_t at = i * t->stride[own] + j * t->stride[own + 1];
    for (int n = 0; n < own; n++)
        at += t->shape[n] == 1 ? 0 : lead[leading - own + n] * t->stride[n];
    return (float *)t->data + at;
}

static float activate(att_activation activation, float x)
{
    return activation == ATT_ACTIVATION_RELU && 0 > x ? 0 : x; /* NaN and -0 are unchanged */
}

/* One element, as attend.h defines it. */
static float sum_of(const att_tensor *a, const att_tensor *b, const int64_t *lead, int64_t i,
                    int64_t j, int leading, float start, bool add)
{
    int64_t depth = a->shape[a->rank - 1];
    float total = add ? start : 0;
    int64_t k = 0;
    do { /* an empty sum is one block: 0 */
        float sum = 0;
        int64_t end = k + 256 < depth ? k + 256 : depth;
        for (int64_t n = k; n < end; n++)
            sum = fmaf(*element(a, lead, i, n, leading), *element(b, lead, n, j, leading), sum);
        total = k == 0 && !add ? sum : total + sum;
        k += 256;
    } while (k < depth);
    return total;
}

typedef struct product {
    int leading;
    array a, b, c, bias;
    att_matmul_options how;
    float *wanted; /* the whole block of c */
} product;

static void work_out(product *p)
{
    const att_tensor *c = &p->c.t;
    int64_t lead[ATT_MAX_RANK] = { 0 }, items = 1;
    p->wanted = malloc(p->c.count * sizeof(float));
    memcpy(p->wanted, p->c.block, p->c.count * sizeof(float));
    for (int n = 0; n < p->leading; n++)
        items *= c->shape[n];
    for (; items > 0; items--) {
        for (int64_t i = 0; i < c->shape[p->leading]; i++)
            for (int64_t j = 0; j < c->shape[p->leading + 1]; j++) {
                float *at = element(c, lead, i, j, p->leading);
                float x = sum_of(&p->a.t, &p->b.t, lead, i, j, p->leading, *at, p->how.add);
                if (p->how.bias)
                    x += ((const float *)p->bias.t.data)[j];
                p->wanted[at - p->c.block] = activate(p->how.activation, x);
            }
        for (int n = p->leading - 1; n >= 0 && ++lead[n] == c->shape[n]; n--)
            lead[n] = 0;
    }
}

static int64_t draw_size(dice *d, int64_t usual)
{
    int64_t kind = roll(d, 12);
    return kind == 0 ? 0 : kind == 1 ? 1 : kind == 2 ? 200 + roll(d, 400) : roll(d, usual);
}

static void product_draw(product *p, dice *d)
{
    bool wild = roll(d, 3) == 0;
    int64_t rows = roll(d, 2) ? roll(d, 17) : draw_size(d, 60), depth = draw_size(d, 70),
            columns = draw_size(d, 100), a[ATT_MAX_RANK], b[ATT_MAX_RANK], c[ATT_MAX_RANK];
    *p = (product){ .leading = (int)roll(d, 4) };
    int a_rank = 2 + (int)roll(d, p->leading + 1), b_rank = 2 + (int)roll(d, p->leading + 1);
    for (int n = 0; n < p->leading; n++) {
        c[n] = roll(d, 8) ? 1 + roll(d, 3) : 0;
        int of_a = n - p->leading + a_rank - 2, of_b = n - p->leading + b_rank - 2;
        if (of_a >= 0)
            a[of_a] = roll(d, 3) ? c[n] : 1;
        if (of_b >= 0)
            b[of_b] = roll(d, 3) ? c[n] : 1;
    }
    while (rows * columns * depth > 1000000)
        rows = (rows + 1) / 2, depth = (depth + 1) / 2;
    a[a_rank - 2] = c[p->leading] = rows;
    a[a_rank - 1] = b[b_rank - 2] = depth;
    b[b_rank - 1] = c[p->leading + 1] = columns;
    p->a = array_new(d, a_rank, a, roll(d, 2), true, wild);
    p->b = array_new(d, b_rank, b, roll(d, 2), true, wild);
    p->c = array_new(d, p->leading + 2, c, false, false, wild);
    p->bias = array_new(d, 2, (int64_t[]){ 1, columns }, false, false, wild);
    p->bias.t = att_tensor_view(p->bias.t.data, ATT_F32, 1, &columns);
    p->how = (att_matmul_options){ .size = sizeof(att_matmul_options),
                                   .add = roll(d, 2),
                                   .bias = roll(d, 2) ? &p->bias.t : NULL,
                                   .activation = roll(d, 2) ? ATT_ACTIVATION_RELU : 0 };
    work_out(p);
}

static void product_free(product *p)
{
    array_free(&p->a);
    array_free(&p->b);
    array_free(&p->c);
    array_free(&p->bias);
    free(p->wanted);
}

static void compare(const product *p, const float *found, uint64_t seed, const char *way)
{
    for (size_t n = 0; n < p->c.count; n++)
        if (memcmp(&found[n], &p->wanted[n], sizeof *found) != 0 &&
            !(isnan(found[n]) && isnan(p->wanted[n])))
            fail_msg("seed %llu, %s, %s with %d threads: place %zu is %a, expected %a",
                     (unsigned long long)seed, way, att_cpu_name(), att_threads_get(), n,
                     (double)found[n], (double)p->wanted[n]);
}

/* Computes the product into a copy of the block of c. */
static void run(const product *p, const att_packed_matrix *packed, uint64_t seed)
{
    att_error err = { 0 };
    att_tensor c = p->c.t;
    float *block = malloc(p->c.count * sizeof *block);
    memcpy(block, p->c.block, p->c.count * sizeof *block);
    c.data = block + ((float *)p->c.t.data - p->c.block);
    att_status status = packed ? att_matmul_packed(&c, &p->a.t, packed, &p->how, &err)
                               : att_matmul(&c, &p->a.t, &p->b.t, &p->how, &err);
    if (status != ATT_OK)
        fail_msg("seed %llu: %s", (unsigned long long)seed, err.message);
    compare(p, block, seed, packed ? "packed" : "not packed");
    free(block);
}

static void try_seed(uint64_t seed)
{
    static const int threads[] = { 1, 2, 3, 8 };
    dice d = { .seed = seed };
    product p;
    product_draw(&p, &d);
    ATT_FOR_EACH_CPU (cpu) {
        att_packed_matrix *packed = NULL;
        assert_true(att_cpu_set((att_cpu)cpu));
        att_threads_set(threads[(seed + (uint64_t)cpu) % 4]);
        run(&p, NULL, seed);
        if (p.b.t.rank == 2) {
            assert_int_equal(att_packed_matrix_new(&packed, &p.b.t, NULL), ATT_OK);
            run(&p, packed, seed);
            att_packed_matrix_free(packed);
        }
    }
    product_free(&p);
}

static void every_product_drawn_at_random_has_the_bits_that_are_stated(void **state)
{
    (void)state;
    for (uint64_t seed = first_seed; seed < first_seed + seed_count; seed++)
        try_seed(seed);
    att_cpu_set(att_cpu_best());
    att_threads_set(1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_product_drawn_at_random_has_the_bits_that_are_stated),
    };
    if (argc > 1)
        first_seed = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        seed_count = strtoull(argv[2], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
