/* A stage for a kernel to be timed on: arrays that fit the first cache, and a count of the work.
 *
 * A runner names its arrays, states its work and calls the kernel `times` times. Run with times = 0
 * and no arrays, it only says what it needs. */
#ifndef ATT_MEASURE_STAGE_H
#define ATT_MEASURE_STAGE_H

#include "kern/kern.h"

enum {
    ROW = 512, /* floats: all rows of a kernel fit a first cache of 32 KB */
    TILE_KEYS = ATT_BLOCK_KEYS,
    TILE_WIDTH = 64,
    STAGE_GAP = 5 * ATT_LANES, /* floats between arrays */
};

typedef struct stage {
    float *floats; /* what arrays are taken from, or NULL */
    size_t taken;
    size_t times;
    const char *says; /* the shape in words */
    double flops, bytes, elements;
    float result; /* where kernels that give one number leave it */
    uint32_t allow[ATT_BLOCK_KEYS];
    uint8_t allow_bytes[ATT_TILE_LANES * ATT_BLOCK_KEYS];
} stage;

#define TIMES(s) for (size_t time_ = 0; time_ < (s)->times; time_++)

/* An array of its own, touched `passes` times in a call. Arrays at equal offsets of a page would
 * make loads wait for stores that have nothing to do with them; a gap keeps them apart. */
static inline float *stage_take(stage *s, size_t count, int passes)
{
    float *at = s->floats ? s->floats + s->taken : NULL;
    s->taken += (count + ATT_LANES - 1) / ATT_LANES * ATT_LANES + STAGE_GAP;
    s->bytes += (double)passes * (double)count * sizeof(float);
    return at;
}

static inline const float *reads(stage *s, size_t count)
{
    return stage_take(s, count, 1);
}

static inline float *writes(stage *s, size_t count)
{
    return stage_take(s, count, 1);
}

static inline float *updates(stage *s, size_t count)
{
    return stage_take(s, count, 2);
}

static inline att_rows reads_rows(stage *s, size_t count, size_t width)
{
    return (att_rows){ reads(s, count * width), (ptrdiff_t)width, count, width };
}

/* What is worked on, where it is not a row. */
static inline void stage_shape(stage *s, const char *says, double elements)
{
    s->says = says;
    s->elements = elements;
}

/* The work is multiplications and additions rather than moving bytes. */
static inline void computes(stage *s, double flops)
{
    s->flops = flops;
}

#endif
