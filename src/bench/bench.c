/* The list of benchmarks; see attend.h, "Measuring". */
#include "bench/bench.h"

#include "base/error.h"

static const att_bench_suite *const suites[] = {
    &att_bench_attention, &att_bench_matmul, &att_bench_rnn, &att_bench_conv2d, &att_bench_kernels,
};
enum { SUITE_COUNT = sizeof suites / sizeof *suites };

/* The family of benchmark *index, which becomes the place in it; NULL past the last. */
static const att_bench_suite *find_suite(size_t *index)
{
    for (size_t f = 0; f < SUITE_COUNT; f++) {
        if (*index < suites[f]->count)
            return suites[f];
        *index -= suites[f]->count;
    }
    return NULL;
}

size_t att_bench_count(void)
{
    size_t count = 0;
    for (size_t f = 0; f < SUITE_COUNT; f++)
        count += suites[f]->count;
    return count;
}

void att_bench_get(att_bench *out, size_t index)
{
    const att_bench_suite *family = find_suite(&index);
    *out = (att_bench){ 0 };
    if (family)
        family->info(out, index);
}

att_status att_bench_run(att_bench_times *out, size_t index, const att_bench_options *options,
                         att_error *err)
{
    *out = (att_bench_times){ 0 };
    const att_bench_suite *family = find_suite(&index);
    if (!family)
        return att_fail(err, ATT_BAD_INPUT, "bench", "there are %zu benchmarks, from 0 on",
                        att_bench_count());
    att_bench_saved_state before;
    ATT_TRY(att_bench_begin(&before, options, err));
    void *state = NULL;
    att_status status = family->open(&state, index, err);
    if (status == ATT_OK)
        status = att_bench_time(out, family->run, state, att_bench_seconds(options), err);
    family->close(state);
    att_bench_end(before);
    return status;
}
