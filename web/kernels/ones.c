/* The table of kern.c that kernels read. */
#include "kern/kern.h"

const float att_tile_ones[ATT_TILE_LANES] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                              1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
