/* The int8 product with AMX: a tile register multiplies 16 rows of A by 16 columns of B over 64
 * depths, signed by signed. Panels already lie as the instruction reads B. The operating system
 * grants the tile registers on request (base/cpu.c); they are configured and released in each call,
 * so that other code on the thread finds them unused. Depths beyond a multiple of 64 have tiles of
 * their own, configured for what is left. */
#include "kern/int8/body.h"

#include <immintrin.h>

enum { ROWS_IN_TILE = 16, FULL_GROUPS = 16, MAX_COLUMN_BYTES = 64 };

/* tile 0: sums; 1 and 2: A and B of 64 depths; 3 and 4: of the rest. */
enum { SUMS, A_FULL, B_FULL, A_REST, B_REST };

typedef struct tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t column_bytes[16];
    uint8_t rows[16];
} tile_config;

static tile_config config_for(int rows, size_t rest)
{
    tile_config config = { .palette = 1 };
    config.rows[SUMS] = config.rows[A_FULL] = (uint8_t)rows;
    config.rows[B_FULL] = FULL_GROUPS;
    config.column_bytes[SUMS] = config.column_bytes[A_FULL] = config.column_bytes[B_FULL] =
        MAX_COLUMN_BYTES;
    if (rest > 0) {
        config.rows[A_REST] = (uint8_t)rows;
        config.column_bytes[A_REST] = (uint16_t)(rest * GROUP);
        config.rows[B_REST] = (uint8_t)rest;
        config.column_bytes[B_REST] = MAX_COLUMN_BYTES;
    }
    return config;
}

static void add_products(int32_t *sums, int rows, const int8_t *a, size_t a_row_size,
                         const int8_t *b, const int32_t *b_sums, size_t groups)
{
    (void)b_sums;
    size_t rest = groups % FULL_GROUPS, g = 0;
    const tile_config config = config_for(rows, rest);
    _tile_loadconfig(&config);
    _tile_zero(0);
    for (; g + FULL_GROUPS <= groups; g += FULL_GROUPS) {
        _tile_loadd(1, a + g * GROUP, a_row_size);
        _tile_loadd(2, b + g * GROUP_BYTES, GROUP_BYTES);
        _tile_dpbssd(0, 1, 2);
    }
    if (rest > 0) {
        _tile_loadd(3, a + g * GROUP, a_row_size);
        _tile_loadd(4, b + g * GROUP_BYTES, GROUP_BYTES);
        _tile_dpbssd(0, 3, 4);
    }
    _tile_stored(0, sums, PANEL * sizeof *sums);
    _tile_release();
}

VERSION(amx, ATT_CPU_AVX512, ATT_CPU_AMX_INT8);
