/* Learning rate schedules, each a row of a table, and scheduled sampling. Only operations that IEEE
 * 754 rounds correctly are used, so that a run does not depend on the C library's cos() or pow().
 */
#include "train/schedule.h"

#include <math.h>

static double clamp(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}

/* How far `step` is between `from` and `to`, in [0, 1]. */
static double fraction_done(int64_t from, int64_t step, int64_t to)
{
    return to <= from ? 1.0 : clamp((double)(step - from) / (double)(to - from), 0, 1);
}

/* The same to the end of the plan. Each change of the plan continues from the fraction that was
 * reached, so that the learning rate does not jump. */
static double plan_done(const att_training_plan *plan, int64_t from, int64_t step)
{
    int64_t total = plan->piece_count > 0 ? plan->pieces[0].steps : plan->total_steps;
    int64_t start = from;
    double before = 0;
    for (size_t i = 1; i < plan->piece_count && plan->pieces[i].from < step; i++) {
        if (plan->pieces[i].from > start) {
            before += (1 - before) * fraction_done(start, plan->pieces[i].from, total);
            start = plan->pieces[i].from;
        }
        total = plan->pieces[i].steps;
    }
    double done = fraction_done(start, step, total);
    return before > 0 ? before + (1 - before) * done : done;
}

/* sin(x) for 0 <= x <= pi/2 by its Taylor series; the eleventh term is below the last bit. */
static double sine(double x)
{
    double term = x, sum = x;
    for (int k = 1; k <= 11; k++) {
        term *= -x * x / ((2 * k) * (2 * k + 1));
        sum += term;
    }
    return sum;
}

/* ---- learning rates after the warm-up */

typedef double schedule_function(const att_settings *settings, const att_training_plan *plan,
                                 const att_plateau *plateau, int64_t step);

static double constant_learning_rate(const att_settings *settings, const att_training_plan *plan,
                                     const att_plateau *plateau, int64_t step)
{
    (void)plan;
    (void)plateau;
    (void)step;
    return settings->learning_rate;
}

/* Vaswani et al. 2017, section 5.3, with the peak `learning-rate` at the end of the
 * warm-up. */
static double inverse_sqrt_learning_rate(const att_settings *settings,
                                         const att_training_plan *plan, const att_plateau *plateau,
                                         int64_t step)
{
    (void)plan;
    (void)plateau;
    double warmup = settings->warmup > 0 ? (double)settings->warmup : 1;
    return settings->learning_rate * sqrt(warmup / (double)step);
}

/* Cosine annealing from `learning-rate` to `min-learning-rate`:
 * (1 + cos(pi t)) / 2 = 1 - sin(pi t / 2)^2. */
static double cosine_learning_rate(const att_settings *settings, const att_training_plan *plan,
                                   const att_plateau *plateau, int64_t step)
{
    (void)plateau;
    const double half_pi = 0x1.921fb54442d18p+0;
    double s = sine(half_pi * plan_done(plan, settings->warmup, step));
    return settings->min_learning_rate +
           (settings->learning_rate - settings->min_learning_rate) * fmax(1 - s * s, 0);
}

static double plateau_learning_rate(const att_settings *settings, const att_training_plan *plan,
                                    const att_plateau *plateau, int64_t step)
{
    (void)plan;
    (void)step;
    double learning_rate = settings->learning_rate;
    for (int64_t i = 0; i < plateau->reductions && learning_rate > settings->min_learning_rate; i++)
        learning_rate *= settings->plateau_factor;
    return learning_rate > settings->min_learning_rate ? learning_rate
                                                       : settings->min_learning_rate;
}

static schedule_function *const schedules[] = {
    [ATT_SCHEDULE_CONSTANT] = constant_learning_rate,
    [ATT_SCHEDULE_INVERSE_SQRT] = inverse_sqrt_learning_rate,
    [ATT_SCHEDULE_COSINE] = cosine_learning_rate,
    [ATT_SCHEDULE_PLATEAU] = plateau_learning_rate,
};

double att_schedule_learning_rate(const att_settings *settings, const att_training_plan *plan,
                                  const att_plateau *plateau, int64_t step)
{
    if (step < settings->warmup)
        return settings->learning_rate * ((double)step / (double)settings->warmup);
    return schedules[settings->schedule](settings, plan, plateau, step);
}

void att_plateau_update(att_plateau *plateau, const att_settings *settings, double loss)
{
    if (isnan(loss)) /* no label of the validation data is known */
        return;
    if (plateau->validations++ == 0 || loss < plateau->best) {
        plateau->best = loss;
        plateau->bad_validations = 0;
    } else if (++plateau->bad_validations >= settings->plateau_patience) {
        plateau->reductions++;
        plateau->bad_validations = 0;
    }
}

double att_schedule_sampling_probability(const att_settings *settings,
                                         const att_training_plan *plan, int64_t step)
{
    int64_t from = (settings->scheduled_sampling_start - 1) * plan->epoch_steps;
    return step > from ? settings->scheduled_sampling * plan_done(plan, from, step) : 0;
}
