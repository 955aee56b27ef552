/* Every kernel of the list in kern.h as a benchmark. A kernel type without a runner is a compile
 * error. */
#include "bench/bench.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/minmax.h"
#include "bench/kernel_runners.h"
#include "bench/kernel_runners_rowwise.h"
#include "bench/kernel_runners_attention.h"

#include <math.h>
#include <string.h>

/* Type-safe: run_exp(kernels, fixture) runs exp of that instruction set. */
#define RUN_FUNCTION(type, kernel)                                                                 \
    static void run_##kernel(const att_kernels *kernels, kernel_fixture *s)                        \
    {                                                                                              \
        run_##type(kernels->kernel, s);                                                            \
    }
ATT_KERNELS(RUN_FUNCTION)

static const struct row {
    const char *name;
    void (*run)(const att_kernels *kernels, kernel_fixture *s);
} rows[] = {
#define KERNEL_ROW(type, kernel) { "kernel/" #kernel, run_##kernel },
    ATT_KERNELS(KERNEL_ROW)
};

/* A fixture without arrays, to find out what a runner needs. The mask is a part of a causal mask:
 * query q may attend to keys up to q and to the whole first half. */
static kernel_fixture fixture_empty(size_t row)
{
    kernel_fixture s = { .row = row, .shape = "a row of 512", .elements = (double)row };
    for (size_t j = 0; j < ATT_BLOCK_KEYS; j++)
        s.mask_bits[j] = j < ATT_BLOCK_KEYS / 2 ? UINT32_MAX : UINT32_MAX << j % 32;
    for (size_t i = 0; i < sizeof s.mask_bytes; i++)
        s.mask_bytes[i] = i % 3 != 0;
    return s;
}

static void info(att_bench *out, size_t index)
{
    kernel_fixture s = fixture_empty(BENCH_ROW);
    rows[index].run(att_kernels_get(), &s);
    *out = (att_bench){ .name = rows[index].name,
                        .help = s.shape,
                        .limit = s.flops > 0 ? ATT_LIMIT_COMPUTE : ATT_LIMIT_CACHE,
                        .flops = s.flops,
                        .bytes = s.bytes,
                        .elements = s.elements,
                        .one_thread = true };
}

typedef struct kernel_state {
    const struct row *row;
    kernel_fixture fixture;
} kernel_state;

/* Allocates and fills the arrays of kernel `index`. */
static att_status fixture_fill(kernel_fixture *s, size_t index, att_error *err)
{
    rows[index].run(att_kernels_get(), s);
    s->floats = att_alloc(s->allocated, sizeof(float));
    if (!s->floats)
        return att_fail_memory(err);
    att_bench_fill(s->floats, s->allocated, index);
    for (size_t i = 0; i < s->allocated; i++)
        s->floats[i] = fabsf(s->floats[i]); /* log and square roots need positive inputs */
    return ATT_OK;
}

static att_status open_kernel(void **state, size_t index, att_error *err)
{
    kernel_state *made = att_alloc(1, sizeof *made);
    *state = made;
    if (!made)
        return att_fail_memory(err);
    *made = (kernel_state){ &rows[index], fixture_empty(BENCH_ROW) };
    return fixture_fill(&made->fixture, index, err);
}

static att_status run_kernel(void *state, size_t times, att_error *err)
{
    kernel_state *k = state;
    (void)err;
    fixture_restart(&k->fixture, times);
    k->row->run(att_kernels_get(), &k->fixture);
    return ATT_OK;
}

static void close_kernel(void *state)
{
    kernel_state *k = state;
    if (k)
        att_free(k->fixture.floats);
    att_free(k);
}

const att_bench_suite att_bench_kernels = {
    .count = ATT_COUNT(rows),
    .info = info,
    .open = open_kernel,
    .run = run_kernel,
    .close = close_kernel,
};

/* ---- one call, for the self-test */

const char *att_kernel_name(size_t index)
{
    return index < ATT_COUNT(rows) ? rows[index].name + strlen("kernel/") : NULL;
}

att_status att_kernel_call(size_t index, size_t row, att_kernel_result *take, void *context,
                           att_error *err)
{
    kernel_fixture s = fixture_empty(row);
    ATT_TRY(fixture_fill(&s, index, err));
    fixture_restart(&s, 1);
    rows[index].run(att_kernels_get(), &s);
    for (size_t i = 0; i < s.output_count; i++)
        take(context, s.floats + s.outputs[i].start, s.outputs[i].count);
    take(context, &s.result, 1);
    for (size_t i = 0; i < ATT_COUNT(s.mask_bits); i++)
        take(context, (float[]){ (float)(s.mask_bits[i] >> 16), (float)(s.mask_bits[i] & 0xFFFF) },
             2);
    att_free(s.floats);
    return ATT_OK;
}
