/* The int8 product with AMX: a tile register multiplies 16 rows of A by 16 columns of B over 64
 * depths, signed by signed. Panels already lie as the instruction reads B. The operating system
 * grants the tile registers on request (base/cpu_features.c); they are configured once in each call
 * and released at its end, so that other code on the thread finds them unused. Rows beyond a
 * multiple of 16 and depths beyond a multiple of 64 have tiles of their own, so that one
 * configuration serves the whole call. */
#include "kern/int8/body.h"

#include <immintrin.h>

enum { ROWS_IN_TILE = 16, FULL_GROUPS = 16 };

/* The tile registers: sums, and A of 64 depths and of the rest, for 16 rows and for the last rows;
 * B of 64 depths and of the rest. Macros, since the instructions are written with the number. */
#define SUMS        0
#define A_FULL      1
#define A_REST      2
#define LAST_SUMS   3
#define LAST_A_FULL 4
#define LAST_A_REST 5
#define B_FULL      6
#define B_REST      7

typedef struct tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t column_bytes[16];
    uint8_t rows[16];
} tile_config;

_Static_assert(sizeof(tile_config) == 64, "ldtilecfg reads 64 bytes");

/* A tile of so many rows of so many words of 4 bytes: a group of depths or a sum. Without rows or
 * without words it stays unused: ldtilecfg faults where one of both is 0. */
static void set_tile(tile_config *config, int tile, size_t rows, size_t words)
{
    if (rows == 0 || words == 0)
        return;
    config->rows[tile] = (uint8_t)rows;
    config->column_bytes[tile] = (uint16_t)(words * 4);
}

static tile_config config_for(size_t rows, size_t groups)
{
    tile_config config = { .palette = 1 };
    size_t rest = groups % FULL_GROUPS, last = rows % ROWS_IN_TILE;
    set_tile(&config, SUMS, ROWS_IN_TILE, PANEL);
    set_tile(&config, A_FULL, ROWS_IN_TILE, FULL_GROUPS);
    set_tile(&config, A_REST, ROWS_IN_TILE, rest);
    set_tile(&config, LAST_SUMS, last, PANEL);
    set_tile(&config, LAST_A_FULL, last, FULL_GROUPS);
    set_tile(&config, LAST_A_REST, last, rest);
    set_tile(&config, B_FULL, FULL_GROUPS, PANEL);
    set_tile(&config, B_REST, rest, PANEL);
    return config;
}

/* GCC's _tile_loadconfig() names 8 of the 64 bytes as its input: without the barrier, the compiler
 * may drop or delay the stores of the others. The clobber completes those of A and B, too, which
 * its _tile_loadd() does not name. */
static void configure(const att_int8_block *block)
{
    const tile_config config = config_for(block->rows, block->groups);
    __asm__ volatile("" : : "m"(config) : "memory");
    _tile_loadconfig(&config);
}

static void release(void)
{
    _tile_release();
}

#define MULTIPLY(sums_tile, a_full, a_rest)                                                        \
    do {                                                                                           \
        size_t g = 0;                                                                              \
        _tile_zero(sums_tile);                                                                     \
        for (; g + FULL_GROUPS <= groups; g += FULL_GROUPS) {                                      \
            _tile_loadd(a_full, a + g * GROUP, a_row_size);                                        \
            _tile_loadd(B_FULL, b + g * GROUP_BYTES, GROUP_BYTES);                                 \
            _tile_dpbssd(sums_tile, a_full, B_FULL);                                               \
        }                                                                                          \
        if (g < groups) {                                                                          \
            _tile_loadd(a_rest, a + g * GROUP, a_row_size);                                        \
            _tile_loadd(B_REST, b + g * GROUP_BYTES, GROUP_BYTES);                                 \
            _tile_dpbssd(sums_tile, a_rest, B_REST);                                               \
        }                                                                                          \
        _tile_stored(sums_tile, sums, PANEL * sizeof *sums);                                       \
    } while (0)

static void add_products(int32_t *sums, int rows, const int8_t *a, size_t a_row_size,
                         const int8_t *b, const int32_t *b_sums, size_t groups)
{
    (void)b_sums;
    if (rows == ROWS_IN_TILE)
        MULTIPLY(SUMS, A_FULL, A_REST);
    else
        MULTIPLY(LAST_SUMS, LAST_A_FULL, LAST_A_REST);
}

/* Sums of a tile form a chain of one tdpbssd per 16 groups, with a latency of 52 cycles: 3.3 cycles
 * per group whatever the rows. With avx512vnni, up to 4 rows are as many chains of one vpdpbusd per
 * group, with a latency of 5 cycles; that is less than it takes to fetch the 64 bytes of a group
 * from beyond the second-level cache, and there is nothing to configure. From 5 rows on
 * avx512vnni reads the panel twice, and a tile is faster. By these counts, not by measurement. */
enum { LEAST_ROWS = 5 };

VERSION_WITH(amx, ATT_CPU_AVX512, ATT_CPU_AMX_INT8, LEAST_ROWS, configure(block), release());
