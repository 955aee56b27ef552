/* Schedules: a row of a table each; see schedule.h. Only operations that IEEE 754 rounds exactly
 * are used, so that a run does not depend on the C library's cos() or pow(). */
#include "train/schedule.h"

#include <math.h>

static double between(double low, double x, double high)
{
    return x < low ? low : x > high ? high : x;
}

/* The part of the way from step `from` to step `to` that is done. */
static double part_of_way(int64_t from, int64_t step, int64_t to)
{
    return to <= from ? 1.0 : between(0, (double)(step - from) / (double)(to - from), 1);
}

/* sin(x) for 0 <= x <= pi/2 by its series; the eleventh term is below the last bit. */
static double sine(double x)
{
    double term = x, sum = x;
    for (int k = 1; k <= 11; k++) {
        term *= -x * x / ((2 * k) * (2 * k + 1));
        sum += term;
    }
    return sum;
}

/* ---- rates after the warm-up */

typedef double rate_function(const att_settings *settings, const att_plan *plan,
                             const att_plateau *plateau, int64_t step);

static double constant_rate(const att_settings *settings, const att_plan *plan,
                            const att_plateau *plateau, int64_t step)
{
    (void)plan;
    (void)plateau;
    (void)step;
    return settings->rate;
}

/* Vaswani et al. 2017, section 5.3, with `rate` as the highest. */
static double inverse_sqrt_rate(const att_settings *settings, const att_plan *plan,
                                const att_plateau *plateau, int64_t step)
{
    (void)plan;
    (void)plateau;
    double warmup = settings->warmup > 0 ? (double)settings->warmup : 1;
    return settings->rate * sqrt(warmup / (double)step);
}

/* Half a cosine from `rate` to `least-rate`: (1 + cos(pi t)) / 2 = 1 - sin(pi t / 2)^2. */
static double cosine_rate(const att_settings *settings, const att_plan *plan,
                          const att_plateau *plateau, int64_t step)
{
    (void)plateau;
    const double half_pi = 0x1.921fb54442d18p+0;
    double s = sine(half_pi * part_of_way(settings->warmup, step, plan->total));
    return settings->least_rate + (settings->rate - settings->least_rate) * fmax(1 - s * s, 0);
}

static double plateau_rate(const att_settings *settings, const att_plan *plan,
                           const att_plateau *plateau, int64_t step)
{
    (void)plan;
    (void)step;
    double rate = settings->rate;
    for (int64_t i = 0; i < plateau->cuts && rate > settings->least_rate; i++)
        rate *= settings->plateau_factor;
    return rate > settings->least_rate ? rate : settings->least_rate;
}

static rate_function *const rates[] = {
    [ATT_SCHEDULE_CONSTANT] = constant_rate,
    [ATT_SCHEDULE_INVERSE_SQRT] = inverse_sqrt_rate,
    [ATT_SCHEDULE_COSINE] = cosine_rate,
    [ATT_SCHEDULE_PLATEAU] = plateau_rate,
};

double att_schedule_rate(const att_settings *settings, const att_plan *plan,
                         const att_plateau *plateau, int64_t step)
{
    if (step < settings->warmup)
        return settings->rate * ((double)step / (double)settings->warmup);
    return rates[settings->schedule](settings, plan, plateau, step);
}

void att_plateau_note(att_plateau *plateau, const att_settings *settings, double loss)
{
    if (plateau->seen++ == 0 || loss < plateau->best) {
        plateau->best = loss;
        plateau->waited = 0;
    } else if (++plateau->waited >= settings->plateau_patience) {
        plateau->cuts++;
        plateau->waited = 0;
    }
}

double att_schedule_own(const att_settings *settings, const att_plan *plan, int64_t step)
{
    int64_t from = (settings->own_from - 1) * plan->epoch_steps;
    return step > from ? settings->own * part_of_way(from, step, plan->total) : 0;
}
