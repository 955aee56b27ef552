/* The AMX version of the int8 product on a software model of the tile registers, since few machines
 * have them: the kernel's source is compiled here with the instructions replaced. The model refuses
 * what the processor would refuse. Where the machine has AMX, test_int8 runs the real one. */
#include "kern/check.h"

#include "base/alloc.h"
#include "kern/int8/kernels.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>

typedef struct tile_model {
    size_t rows, bytes; /* as configured; 0: none */
    uint8_t data[16][64];
} tile_model;

static tile_model tiles[8];
static int configured; /* how often, without the releases */
static bool in_use;

static void model_loadconfig(const void *config)
{
    const uint8_t *at = config;
    assert_int_equal(at[0], 1); /* the palette */
    for (size_t i = 1; i < 16; i++)
        assert_int_equal(at[i], 0);
    for (size_t i = 0; i < 16; i++) {
        uint16_t bytes;
        memcpy(&bytes, at + 16 + 2 * i, sizeof bytes);
        size_t rows = at[48 + i];
        assert_true(rows <= 16 && bytes <= 64 && (rows == 0) == (bytes == 0));
        assert_true(i < 8 || rows == 0);
        if (i < 8)
            tiles[i] = (tile_model){ .rows = rows, .bytes = bytes };
    }
    configured++;
    in_use = true;
}

static void model_release(void)
{
    assert_true(in_use);
    in_use = false;
}

static tile_model *used(int number)
{
    assert_true(in_use && tiles[number].rows > 0);
    return &tiles[number];
}

static void model_zero(int number)
{
    memset(used(number)->data, 0, sizeof tiles[number].data);
}

static void model_loadd(int number, const void *base, size_t stride)
{
    tile_model *t = used(number);
    memset(t->data, 0, sizeof t->data);
    for (size_t r = 0; r < t->rows; r++)
        memcpy(t->data[r], (const uint8_t *)base + r * stride, t->bytes);
}

static void model_stored(int number, void *base, size_t stride)
{
    tile_model *t = used(number);
    for (size_t r = 0; r < t->rows; r++)
        memcpy((uint8_t *)base + r * stride, t->data[r], t->bytes);
}

static void model_dpbssd(int c_number, int a_number, int b_number)
{
    tile_model *c = used(c_number), *a = used(a_number), *b = used(b_number);
    assert_true(c_number != a_number && a_number != b_number && c_number != b_number);
    assert_true(a->rows == c->rows && b->bytes == c->bytes && a->bytes == b->rows * 4);
    for (size_t m = 0; m < c->rows; m++)
        for (size_t n = 0; n < c->bytes / 4; n++) {
            int32_t sum;
            memcpy(&sum, &c->data[m][4 * n], sizeof sum);
            for (size_t k = 0; k < a->bytes; k++)
                sum += (int8_t)a->data[m][k] * (int8_t)b->data[k / 4][4 * n + k % 4];
            memcpy(&c->data[m][4 * n], &sum, sizeof sum);
        }
}

#undef _tile_loadconfig
#undef _tile_release
#undef _tile_zero
#undef _tile_loadd
#undef _tile_stored
#undef _tile_dpbssd
#define _tile_loadconfig(config)           model_loadconfig(config)
#define _tile_release()                    model_release()
#define _tile_zero(number)                 model_zero(number)
#define _tile_loadd(number, base, stride)  model_loadd(number, base, stride)
#define _tile_stored(number, base, stride) model_stored(number, base, stride)
#define _tile_dpbssd(c, a, b)              model_dpbssd(c, a, b)
#define att_int8_amx                       modeled_amx

#include "../../src/kern/int8/amx.c"

#include "kern/int8_product.h"

static void the_kernel_has_the_bits_of_plain_c_on_a_model_of_tiles(void **state)
{
    (void)state;
    const size_t rows[] = { 1, 5, 15, 16, 17, 32, 43 }, columns[] = { 1, 16, 35 },
                 depths[] = { 0, 1, 4, 63, 64, 65, 130, 256, 300 };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t j = 0; j < sizeof columns / sizeof *columns; j++)
            for (size_t k = 0; k < sizeof depths / sizeof *depths; k++)
                int8_product_has_the_bits_of_plain_c(&modeled_amx, rows[i], columns[j], depths[k]);
}

static void tiles_are_configured_once_in_a_call_and_released(void **state)
{
    (void)state;
    static float c[43 * 100];
    configured = 0;
    multiply_random(&modeled_amx, c, 43, 100, 130);
    assert_int_equal(configured, 1);
    assert_false(in_use);
}

static void few_rows_are_left_to_another_version(void **state)
{
    (void)state;
    assert_true(modeled_amx.least_rows > 1 && modeled_amx.least_rows <= 16);
    const att_int8_kernels *best = att_int8_kernels_get(16), *few = att_int8_kernels_get(1);
    if (strcmp(best->name, "amx") == 0)
        assert_string_not_equal(few->name, "amx");
    else
        assert_ptr_equal(few, best);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_kernel_has_the_bits_of_plain_c_on_a_model_of_tiles),
        cmocka_unit_test(tiles_are_configured_once_in_a_call_and_released),
        cmocka_unit_test(few_rows_are_left_to_another_version),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    printf("1..1\nok 1 - AMX on a model of tiles # SKIP not x86-64\n");
    return 0;
}

#endif
