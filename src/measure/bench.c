/* The list of benchmarks; see attend.h, "Measuring". */
#include "measure/measure.h"

#include "base/error.h"

static const att_bench_family *const families[] = {
    &att_bench_attention,    &att_bench_products, &att_bench_recurrent,
    &att_bench_convolutions, &att_bench_kernels,
};
enum { FAMILIES = sizeof families / sizeof *families };

/* The family of benchmark *index, which becomes the place in it; NULL past the last. */
static const att_bench_family *find_family(size_t *index)
{
    for (size_t f = 0; f < FAMILIES; f++) {
        if (*index < families[f]->count)
            return families[f];
        *index -= families[f]->count;
    }
    return NULL;
}

size_t att_bench_count(void)
{
    size_t count = 0;
    for (size_t f = 0; f < FAMILIES; f++)
        count += families[f]->count;
    return count;
}

void att_bench_get(att_bench *out, size_t index)
{
    const att_bench_family *family = find_family(&index);
    *out = (att_bench){ 0 };
    if (family)
        family->about(out, index);
}

att_status att_bench_run(att_bench_times *out, size_t index, const att_bench_how *how,
                         att_error *err)
{
    *out = (att_bench_times){ 0 };
    const att_bench_family *family = find_family(&index);
    if (!family)
        return att_fail(err, ATT_BAD_INPUT, "bench", "there are %zu benchmarks, from 0 on",
                        att_bench_count());
    att_bench_setting before;
    ATT_TRY(att_bench_enter(&before, how, err));
    void *state = NULL;
    att_status status = family->open(&state, index, err);
    if (status == ATT_OK)
        status = att_time(out, family->run, state, att_bench_seconds(how), err);
    family->close(state);
    att_bench_leave(before);
    return status;
}
