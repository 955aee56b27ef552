/* Limits of the machine (roofline): arithmetic, memory bandwidth, cache bandwidth. Every thread
 * works on its own data with the kernels `fma_chains`, `axpy` and `sum` of the instruction set in
 * use, so the limits are measured on that set and not taken from a data sheet. */
#include "bench/bench.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/parallel.h"
#include "kern/kern.h"

#include <math.h>
#include <string.h>

enum {
    ROUNDS = 50000, /* of ATT_FMA_CHAINS vectors: a quarter of a millisecond */
    CACHED_FLOATS =
        3072, /* per array; two arrays: 24 KB, three quarters of a small level 1 cache */
    SECOND_ARRAY_OFFSET = 3584, /* in floats: half a page beyond a multiple of the page size, since
                                   loads wait for stores with the same page offset */
    GAP_FLOATS = ATT_WORKER_GAP / sizeof(float),
    PASSES = 1000,          /* over the arrays */
    CHUNK_FLOATS = 1 << 18, /* of a large array, read as one range: 1 MB */
};
static const int64_t min_array_bytes = INT64_C(256) << 20;

/* Range i works on `floats` elements of `numbers`, from i * floats on. */
typedef struct limit_state {
    const att_kernels *kernels;
    float *numbers;
    size_t floats;
    int64_t ranges;
    void (*body)(void *context, int64_t begin, int64_t end);
} limit_state;

static void compute_body(void *context, int64_t begin, int64_t end)
{
    limit_state *s = context;
    for (int64_t i = begin; i < end; i++)
        s->kernels->fma_chains(s->numbers + (size_t)i * s->floats, ROUNDS, 0.5f, 0.5f);
}

/* Two loads, one store and one fused multiply-add per element: no kernel moves bytes faster. */
static void cache_body(void *context, int64_t begin, int64_t end)
{
    limit_state *s = context;
    for (int64_t i = begin; i < end; i++) {
        float *x = s->numbers + (size_t)i * s->floats;
        for (int pass = 0; pass < PASSES; pass++)
            s->kernels->axpy(x, 0.5f, x + SECOND_ARRAY_OFFSET, CACHED_FLOATS);
    }
}

/* `volatile` keeps the compiler from removing the unused sum. */
static void memory_body(void *context, int64_t begin, int64_t end)
{
    limit_state *s = context;
    for (int64_t i = begin; i < end; i++) {
        volatile float sum = s->kernels->sum(s->numbers + (size_t)i * s->floats, s->floats);
        (void)sum;
    }
}

/* The number of ranges of an array of eight times the last-level cache, but at most a quarter of
 * the memory. */
static int64_t memory_ranges(void)
{
    att_machine_info machine;
    att_machine_get(&machine);
    int64_t bytes = att_max_i64(8 * machine.cache[2], min_array_bytes);
    if (machine.memory > 0)
        bytes = att_min_i64(bytes, machine.memory / 4);
    return bytes / (CHUNK_FLOATS * (int64_t)sizeof(float));
}

static const struct limit_row {
    const char *name;
    void (*body)(void *context, int64_t begin, int64_t end);
    size_t floats;
    double work; /* operations or bytes per range */
} rows[] = {
    [ATT_LIMIT_COMPUTE] = { "compute", compute_body, ATT_FMA_CHAINS *ATT_LANES + GAP_FLOATS,
                            2.0 * ROUNDS *ATT_FMA_CHAINS *ATT_LANES },
    [ATT_LIMIT_MEMORY] = { "memory", memory_body, CHUNK_FLOATS, CHUNK_FLOATS * sizeof(float) },
    [ATT_LIMIT_CACHE] = { "cache", cache_body, SECOND_ARRAY_OFFSET + CACHED_FLOATS + GAP_FLOATS,
                          3.0 * PASSES *CACHED_FLOATS * sizeof(float) },
};

const char *att_limit_name(att_limit limit)
{
    return (unsigned)limit < ATT_LIMITS ? rows[limit].name : NULL;
}

static att_status run_limit(void *context, size_t times, att_error *err)
{
    limit_state *s = context;
    (void)err;
    while (times-- > 0)
        att_parallel_for(s->ranges, 1, s->body, s);
    return ATT_OK;
}

static void touch_body(void *context, int64_t begin, int64_t end)
{
    limit_state *s = context;
    for (int64_t i = begin; i < end; i++)
        memset(s->numbers + (size_t)i * s->floats, 0, s->floats * sizeof(float));
}

static att_status measure_limit(double *out, att_limit limit, double seconds, att_error *err)
{
    const struct limit_row *row = &rows[limit];
    int64_t ranges = limit == ATT_LIMIT_MEMORY ? memory_ranges() : att_threads_get();
    limit_state s = { att_kernels_get(), NULL, row->floats, ranges, row->body };
    s.numbers = att_alloc((size_t)ranges * row->floats, sizeof(float));
    if (!s.numbers)
        return att_fail_memory(err);
    att_parallel_for(ranges, 1, touch_body, &s);
    att_bench_times times;
    att_status status = att_bench_time(&times, run_limit, &s, seconds, err);
    if (status == ATT_OK)
        *out = row->work * (double)ranges / times.best;
    att_free(s.numbers);
    return status;
}

att_status att_limit_measure(double *out, att_limit limit, const att_bench_options *options,
                             att_error *err)
{
    *out = 0;
    if ((unsigned)limit >= ATT_LIMITS)
        return att_fail(err, ATT_BAD_INPUT, "bench", "unknown limit %d", (int)limit);
    att_bench_saved_state before;
    ATT_TRY(att_bench_begin(&before, options, err));
    /* Longer than a benchmark, since all of them are compared with the limits. */
    double seconds = att_bench_seconds(options);
    att_status status = measure_limit(out, limit, fmax(seconds, fmin(0.3, 20 * seconds)), err);
    att_bench_end(before);
    return status;
}
