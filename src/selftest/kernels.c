/* Every kernel of the list in kern.h, on rows that fill whole vectors and on rows that do not. */
#include "selftest/selftest.h"

#include "base/error.h"
#include "bench/bench.h"

static void add_result(void *hash, const float *values, size_t count)
{
    att_selftest_add_floats(hash, values, count);
}

static att_status run_kernel(att_sha256 *hash, size_t index, att_error *err)
{
    static const size_t rows[] = { 512, 509, 16, 7, 1 };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ATT_TRY(att_kernel_call(index, rows[i], add_result, hash, err));
    return ATT_OK;
}

const att_selftest_item att_selftest_kernels = {
    .name = "kernels",
    .help = "every kernel, on rows of 1 to 512 numbers",
    .every_cpu = true,
    .name_case = att_kernel_name,
    .run_case = run_kernel,
};
