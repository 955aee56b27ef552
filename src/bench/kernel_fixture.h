/* A fixture for timing or testing a kernel: arrays that fit the level 1 cache, and a count of the
 * work.
 *
 * A runner requests its arrays, states its work and calls the kernel `times` times. With times = 0
 * and no memory for arrays it only counts the memory it needs. */
#ifndef ATT_BENCH_KERNEL_FIXTURE_H
#define ATT_BENCH_KERNEL_FIXTURE_H

#include "kern/kern.h"

enum {
    BENCH_ROW = 512, /* floats: all rows of a kernel fit a level 1 cache of 32 KB */
    TILE_KEYS = ATT_BLOCK_KEYS,
    TILE_WIDTH = 64,
    ARRAY_GAP = 5 * ATT_LANES, /* floats between arrays */
    MAX_OUTPUTS = 4,
};

typedef struct kernel_fixture {
    size_t row;    /* floats in a row */
    float *floats; /* memory for the arrays, or NULL */
    size_t allocated;
    size_t times;
    const char *shape; /* the shape in words */
    double flops, bytes, elements;
    float result; /* of kernels that return one number */
    struct {
        size_t start, count;
    } outputs[MAX_OUTPUTS]; /* arrays that the kernel writes, as floats from `floats` */
    size_t output_count;
    uint32_t mask_bits[ATT_BLOCK_KEYS];
    uint8_t mask_bytes[ATT_TILE_LANES * ATT_BLOCK_KEYS];
} kernel_fixture;

/* Forgets the arrays, before a runner requests them again. */
static inline void fixture_restart(kernel_fixture *s, size_t times)
{
    s->allocated = 0;
    s->output_count = 0;
    s->times = times;
}

#define REPEAT(s) for (size_t time_ = 0; time_ < (s)->times; time_++)

/* A separate array, read or written `passes` times in a call. A gap keeps arrays at different page
 * offsets, because loads wait for unrelated stores with the same page offset. */
static inline float *fixture_alloc(kernel_fixture *s, size_t count, int passes)
{
    float *at = s->floats ? s->floats + s->allocated : NULL;
    s->allocated += (count + ATT_LANES - 1) / ATT_LANES * ATT_LANES + ARRAY_GAP;
    s->bytes += (double)passes * (double)count * sizeof(float);
    return at;
}

static inline const float *fixture_input(kernel_fixture *s, size_t count)
{
    return fixture_alloc(s, count, 1);
}

static inline float *fixture_written(kernel_fixture *s, size_t count, int passes)
{
    s->outputs[s->output_count].start = s->allocated;
    s->outputs[s->output_count++].count = count;
    return fixture_alloc(s, count, passes);
}

static inline float *fixture_output(kernel_fixture *s, size_t count)
{
    return fixture_written(s, count, 1);
}

static inline float *fixture_inout(kernel_fixture *s, size_t count)
{
    return fixture_written(s, count, 2);
}

/* 16-bit numbers, the same on machines of either byte order. */
static inline const uint16_t *fixture_halves(kernel_fixture *s, size_t count)
{
    uint16_t *halves = (uint16_t *)(void *)fixture_alloc(s, count, 1);
    for (size_t i = 0; halves && i < count; i++)
        halves[i] = (uint16_t)(i * 40503u);
    return halves;
}

static inline att_matrix_view fixture_input_rows(kernel_fixture *s, size_t count, size_t width)
{
    return (att_matrix_view){ fixture_input(s, count * width), (ptrdiff_t)width, count, width };
}

/* Sets the shape in words and the number of elements, where they are not those of a row. */
static inline void fixture_shape(kernel_fixture *s, const char *says, double elements)
{
    s->shape = says;
    s->elements = elements;
}

/* States that arithmetic, not the movement of bytes, limits the kernel. */
static inline void fixture_flops(kernel_fixture *s, double flops)
{
    s->flops = flops;
}

#endif
