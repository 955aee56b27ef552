/* The optimizers and the gradient norm. The update of one element is a kernel (kern/kern.h). */
#include "train/optimizer.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/parallel.h"
#include "kern/kern.h"

#include <math.h>

/* Elements per kernel call. */
enum { GRAIN = 1 << 14 };

/* The arguments of the kernel of each optimizer. */
typedef union any_step {
    att_sgd_step sgd;
    att_adam_step adam;
    att_adadelta_step adadelta;
} any_step;

/* The same range of the parameters, the gradient and the moments. */
typedef struct param_slice {
    float *value;
    const float *grad;
    float *moments[ATT_MAX_MOMENTS];
    size_t count;
} param_slice;

typedef struct att_optimizer_spec {
    const char *moments[ATT_MAX_MOMENTS]; /* names in checkpoints; NULL after the last */
    bool squares[ATT_MAX_MOMENTS];        /* which are means of squares: never below 0 */
    void (*prepare)(any_step *out, const att_settings *settings,
                    const att_optimizer_step_options *step);
    void (*run)(const att_kernels *kernels, const param_slice *at, const any_step *step);
} att_optimizer_spec;

/* ---- each optimizer: kernel arguments from the settings, and the kernel */

static att_gradient_options gradient_options(const att_optimizer_step_options *step,
                                             double weight_decay)
{
    return (att_gradient_options){ (float)step->gradient_scale, (float)weight_decay };
}

static void sgd_prepare(any_step *out, const att_settings *settings,
                        const att_optimizer_step_options *step)
{
    out->sgd = (att_sgd_step){
        .gradient = gradient_options(step, settings->weight_decay),
        .learning_rate = (float)step->learning_rate,
        .momentum = (float)settings->momentum,
    };
}

static void sgd_run(const att_kernels *kernels, const param_slice *at, const any_step *step)
{
    kernels->sgd(at->value, at->moments[0], at->grad, at->count, &step->sgd);
}

/* base^n by squaring: unlike pow(), the same bits with every C library. */
static double power(double base, int64_t n)
{
    double result = 1;
    for (; n > 0; n /= 2, base *= base)
        if (n % 2 == 1)
            result *= base;
    return result;
}

static void adam_prepare(any_step *out, const att_settings *settings,
                         const att_optimizer_step_options *step)
{
    /* AdamW applies weight decay to the parameters, not to the gradient (Loshchilov and Hutter
     * 2019). */
    bool decoupled = settings->optimizer == ATT_OPTIMIZER_ADAMW;
    out->adam = (att_adam_step){
        .gradient = gradient_options(step, decoupled ? 0 : settings->weight_decay),
        .learning_rate = (float)step->learning_rate,
        .beta1 = (float)settings->beta1,
        .beta2 = (float)settings->beta2,
        .epsilon = (float)settings->epsilon,
        .weight_decay = decoupled ? (float)settings->weight_decay : 0,
        .bias_correction1 = (float)(1 - power(settings->beta1, step->step)),
        .bias_correction2 = (float)(1 - power(settings->beta2, step->step)),
    };
}

static void adam_run(const att_kernels *kernels, const param_slice *at, const any_step *step)
{
    kernels->adam(at->value, at->moments[0], at->moments[1], at->grad, at->count, &step->adam);
}

static void adadelta_prepare(any_step *out, const att_settings *settings,
                             const att_optimizer_step_options *step)
{
    out->adadelta = (att_adadelta_step){
        .gradient = gradient_options(step, settings->weight_decay),
        .learning_rate = (float)step->learning_rate,
        .rho = (float)settings->rho,
        .epsilon = (float)settings->epsilon,
    };
}

static void adadelta_run(const att_kernels *kernels, const param_slice *at, const any_step *step)
{
    kernels->adadelta(at->value, at->moments[0], at->moments[1], at->grad, at->count,
                      &step->adadelta);
}

static const att_optimizer_spec optimizers[] = {
    [ATT_OPTIMIZER_SGD] = { { "velocity" }, { false }, sgd_prepare, sgd_run },
    [ATT_OPTIMIZER_ADAM] = { { "exp_avg", "exp_avg_sq" }, { false, true }, adam_prepare, adam_run },
    [ATT_OPTIMIZER_ADAMW] = { { "exp_avg", "exp_avg_sq" },
                              { false, true },
                              adam_prepare,
                              adam_run },
    [ATT_OPTIMIZER_ADADELTA] = { { "square_avg", "acc_delta" },
                                 { true, true },
                                 adadelta_prepare,
                                 adadelta_run },
};

/* ---- whole blocks */

att_status att_optimizer_new(att_optimizer *out, att_optimizer_kind kind, size_t size,
                             att_error *err)
{
    *out = (att_optimizer){ .spec = &optimizers[kind], .size = size };
    for (int i = 0; i < ATT_MAX_MOMENTS && optimizers[kind].moments[i]; i++) {
        out->moments[i] = att_alloc_zero(size > 0 ? size : 1, sizeof *out->moments[i]);
        if (!out->moments[i])
            return att_fail_memory(err);
    }
    return ATT_OK;
}

void att_optimizer_free(att_optimizer *optimizer)
{
    for (int i = 0; i < ATT_MAX_MOMENTS; i++)
        att_free(optimizer->moments[i]);
    *optimizer = (att_optimizer){ 0 };
}

const char *att_optimizer_moment_name(const att_optimizer *optimizer, int index)
{
    return index < ATT_MAX_MOMENTS ? optimizer->spec->moments[index] : NULL;
}

bool att_optimizer_moment_is_square(const att_optimizer *optimizer, int index)
{
    return optimizer->spec->squares[index];
}

typedef struct optimizer_job {
    const att_optimizer *optimizer;
    const att_kernels *kernels;
    float *value;
    const float *grad;
    any_step step;
} optimizer_job;

static void update_range(void *context, int64_t begin, int64_t end)
{
    const optimizer_job *all = context;
    param_slice at = { all->value + begin, all->grad + begin, { 0 }, (size_t)(end - begin) };
    for (int i = 0; i < ATT_MAX_MOMENTS && all->optimizer->moments[i]; i++)
        at.moments[i] = all->optimizer->moments[i] + begin;
    all->optimizer->spec->run(all->kernels, &at, &all->step);
}

void att_optimizer_step(att_optimizer *optimizer, const att_settings *settings, float *value,
                        const float *grad, const att_optimizer_step_options *step)
{
    optimizer_job all = {
        .optimizer = optimizer, .kernels = att_kernels_get(), .value = value, .grad = grad
    };
    optimizer->spec->prepare(&all.step, settings, step);
    att_parallel_for((int64_t)optimizer->size, GRAIN, update_range, &all);
}

/* ---- the gradient norm */

typedef struct norm_job {
    const float *block;
    double *sums;
} norm_job;

/* Eight partial sums allow the compiler to vectorize without reordering. The square of a float is
 * exact in double precision, and no sum of such squares overflows. */
static void add_squares(void *context, int64_t begin, int64_t end)
{
    enum { LANES = 8 };
    const norm_job *all = context;
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
    all->sums[begin / ATT_NORM_BLOCK] = sum;
}

void att_squares(double *sums, const float *block, size_t size)
{
    norm_job all = { block, sums };
    att_parallel_for((int64_t)size, ATT_NORM_BLOCK, add_squares, &all);
}

double att_l2_norm(const float *block, size_t size, double *sums)
{
    att_squares(sums, block, size);
    double sum = 0;
    for (size_t i = 0; i * ATT_NORM_BLOCK < size; i++)
        sum += sums[i];
    return sqrt(sum);
}
