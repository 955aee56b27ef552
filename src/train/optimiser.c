/* The optimisers; see optimiser.h. What each does to one element is a kernel (kern/kern.h). */
#include "train/optimiser.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/parallel.h"
#include "kern/kern.h"

#include <math.h>

/* Elements of a block that one call of a kernel works on. */
enum { GRAIN = 1 << 14 };

/* The step of whichever optimiser it is. */
typedef union any_step {
    att_sgd_step sgd;
    att_adam_step adam;
    att_adadelta_step adadelta;
} any_step;

/* A stretch of all blocks. */
typedef struct stretch {
    float *value;
    const float *grad;
    float *moments[ATT_MOST_MOMENTS];
    size_t count;
} stretch;

typedef struct att_optimiser_row {
    const char *moments[ATT_MOST_MOMENTS]; /* their names; NULL beyond those there are */
    void (*prepare)(any_step *out, const att_settings *settings, const att_optimiser_step *step);
    void (*run)(const att_kernels *kernels, const stretch *at, const any_step *step);
} att_optimiser_row;

/* ---- each optimiser: its step from the settings, and its kernel */

static att_gradient_use use_of(const att_optimiser_step *step, double pull)
{
    return (att_gradient_use){ (float)step->scale, (float)pull };
}

static void sgd_prepare(any_step *out, const att_settings *settings, const att_optimiser_step *step)
{
    out->sgd = (att_sgd_step){
        .use = use_of(step, settings->decay),
        .rate = (float)step->rate,
        .momentum = (float)settings->momentum,
    };
}

static void sgd_run(const att_kernels *kernels, const stretch *at, const any_step *step)
{
    kernels->sgd(at->value, at->moments[0], at->grad, at->count, &step->sgd);
}

/* base^n by squaring: the same bits whatever the C library's pow(). */
static double power(double base, int64_t n)
{
    double result = 1;
    for (; n > 0; n /= 2, base *= base)
        if (n % 2 == 1)
            result *= base;
    return result;
}

static void adam_prepare(any_step *out, const att_settings *settings,
                         const att_optimiser_step *step)
{
    bool apart = settings->optimiser == ATT_OPTIMISER_ADAMW;
    out->adam = (att_adam_step){
        .use = use_of(step, apart ? 0 : settings->decay),
        .rate = (float)step->rate,
        .beta1 = (float)settings->beta1,
        .beta2 = (float)settings->beta2,
        .epsilon = (float)settings->epsilon,
        .decay = apart ? (float)settings->decay : 0,
        .first = (float)(1 - power(settings->beta1, step->step)),
        .second = (float)(1 - power(settings->beta2, step->step)),
    };
}

static void adam_run(const att_kernels *kernels, const stretch *at, const any_step *step)
{
    kernels->adam(at->value, at->moments[0], at->moments[1], at->grad, at->count, &step->adam);
}

static void adadelta_prepare(any_step *out, const att_settings *settings,
                             const att_optimiser_step *step)
{
    out->adadelta = (att_adadelta_step){
        .use = use_of(step, settings->decay),
        .rate = (float)step->rate,
        .rho = (float)settings->rho,
        .epsilon = (float)settings->epsilon,
    };
}

static void adadelta_run(const att_kernels *kernels, const stretch *at, const any_step *step)
{
    kernels->adadelta(at->value, at->moments[0], at->moments[1], at->grad, at->count,
                      &step->adadelta);
}

static const att_optimiser_row rows[] = {
    [ATT_OPTIMISER_SGD] = { { "velocity" }, sgd_prepare, sgd_run },
    [ATT_OPTIMISER_ADAM] = { { "mean", "square" }, adam_prepare, adam_run },
    [ATT_OPTIMISER_ADAMW] = { { "mean", "square" }, adam_prepare, adam_run },
    [ATT_OPTIMISER_ADADELTA] = { { "square", "change" }, adadelta_prepare, adadelta_run },
};

/* ---- on whole blocks */

att_status att_optimiser_make(att_optimiser *out, att_optimiser_kind kind, size_t size,
                              att_error *err)
{
    *out = (att_optimiser){ .row = &rows[kind], .size = size };
    for (int i = 0; i < ATT_MOST_MOMENTS && rows[kind].moments[i]; i++) {
        out->moments[i] = att_alloc_zero(size, sizeof *out->moments[i]);
        if (!out->moments[i])
            return att_fail_memory(err);
    }
    return ATT_OK;
}

void att_optimiser_free(att_optimiser *optimiser)
{
    for (int i = 0; i < ATT_MOST_MOMENTS; i++)
        att_free(optimiser->moments[i]);
    *optimiser = (att_optimiser){ 0 };
}

const char *att_optimiser_moment(const att_optimiser *optimiser, int index)
{
    return index < ATT_MOST_MOMENTS ? optimiser->row->moments[index] : NULL;
}

typedef struct update {
    const att_optimiser *optimiser;
    const att_kernels *kernels;
    float *value;
    const float *grad;
    any_step step;
} update;

static void update_range(void *context, int64_t begin, int64_t end)
{
    const update *all = context;
    stretch at = { all->value + begin, all->grad + begin, { 0 }, (size_t)(end - begin) };
    for (int i = 0; i < ATT_MOST_MOMENTS && all->optimiser->moments[i]; i++)
        at.moments[i] = all->optimiser->moments[i] + begin;
    all->optimiser->row->run(all->kernels, &at, &all->step);
}

void att_optimiser_apply(att_optimiser *optimiser, const att_settings *settings, float *value,
                         const float *grad, const att_optimiser_step *step)
{
    update all = {
        .optimiser = optimiser, .kernels = att_kernels_get(), .value = value, .grad = grad
    };
    optimiser->row->prepare(&all.step, settings, step);
    att_parallel_for((int64_t)optimiser->size, GRAIN, update_range, &all);
}

/* ---- the norm */

typedef struct squares {
    const float *block;
    double *sums;
} squares;

/* Eight partial sums let the compiler use vectors without changing an order; the square of a float
 * is exact in double precision, and no sum of them overflows. */
static void add_squares(void *context, int64_t begin, int64_t end)
{
    enum { LANES = 8 };
    const squares *all = context;
    double lanes[LANES] = { 0 };
    int64_t i = begin;
    for (; i + LANES <= end; i += LANES)
        for (int k = 0; k < LANES; k++)
            lanes[k] += (double)all->block[i + k] * all->block[i + k];
    for (; i < end; i++)
        lanes[i % LANES] += (double)all->block[i] * all->block[i];
    double sum = 0;
    for (int k = 0; k < LANES; k++)
        sum += lanes[k];
    all->sums[begin / ATT_NORM_STRETCH] = sum;
}

double att_block_norm(const float *block, size_t size, double *sums)
{
    squares all = { block, sums };
    att_parallel_for((int64_t)size, ATT_NORM_STRETCH, add_squares, &all);
    double sum = 0;
    for (size_t i = 0; i * ATT_NORM_STRETCH < size; i++)
        sum += sums[i];
    return sqrt(sum);
}
