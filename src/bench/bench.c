/* The list of all benchmarks, and running one of them. */
#include "bench/bench.h"

#include "base/error.h"
#include "base/minmax.h"
#include "base/progress.h"

static const att_bench_suite *const suites[] = {
    &att_bench_attention, &att_bench_matmul, &att_bench_rnn, &att_bench_conv2d, &att_bench_kernels,
};

/* The suite of benchmark *index, which becomes the index in the suite; NULL past the last. */
static const att_bench_suite *find_suite(size_t *index)
{
    for (size_t f = 0; f < ATT_COUNT(suites); f++) {
        if (*index < suites[f]->count)
            return suites[f];
        *index -= suites[f]->count;
    }
    return NULL;
}

size_t att_bench_count(void)
{
    size_t count = 0;
    for (size_t f = 0; f < ATT_COUNT(suites); f++)
        count += suites[f]->count;
    return count;
}

void att_bench_get(att_bench *out, size_t index)
{
    const att_bench_suite *suite = find_suite(&index);
    *out = (att_bench){ 0 };
    if (suite)
        suite->info(out, index);
}

att_status att_bench_run(att_bench_times *out, size_t index, const att_bench_options *options,
                         att_error *err)
{
    *out = (att_bench_times){ 0 };
    const att_bench_suite *suite = find_suite(&index);
    if (!suite)
        return att_fail(err, ATT_BAD_INPUT, "bench",
                        "expected an index below %zu, the number of benchmarks", att_bench_count());
    att_bench_saved_state before;
    ATT_TRY(att_bench_begin(&before, options, err));
    att_progress_scope scope;
    att_progress_begin(&scope, "measuring", 0);
    void *state = NULL;
    att_status status = suite->open(&state, index, err);
    if (status == ATT_OK)
        status = att_bench_time(out, suite->run, state, att_bench_seconds(options), err);
    status = att_progress_end(&scope, status, err);
    suite->close(state);
    att_bench_end(before);
    return status;
}
