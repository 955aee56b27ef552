/* What more training would likely bring: a simple extrapolation of the validations so far. */
#include "train/training.h"

#include "base/error.h"
#include "base/string.h"

#include <inttypes.h>
#include <math.h>

/* The best validation of those up to a step; NULL: there is none. */
static const att_validation *best_until(const att_training *training, double step)
{
    const att_training_state *state = &training->state;
    att_best_metric by = (att_best_metric)training->settings->best_metric;
    const att_validation *best = NULL;
    for (int64_t i = 0; i < state->history_count; i++) {
        const att_validation *row = &state->history[i];
        if ((double)row->step <= step && (!best || att_validation_is_better(row, best, by)))
            best = row;
    }
    return best;
}

/* The gain of the metric; of the loss where the metric is the same, as always with language models,
 * whose only metric is the loss. */
static att_status report_gain(att_string *out, const att_validation *before,
                              const att_validation *best, att_best_metric by)
{
    double gain = att_validation_metric(before, by) - att_validation_metric(best, by);
    bool loss = by == ATT_BEST_METRIC_LOSS || gain == 0;
    double scale = loss || by == ATT_BEST_METRIC_BLEU ? 1 : 100;
    return att_string_printf(out,
                             "the last third of the run gained %.*f %s; twice the time may bring "
                             "about as much again\n",
                             loss ? 4 : 2, scale * (loss ? before->loss - best->loss : gain),
                             loss ? "nats of loss" : "points");
}

/* The last third of a run is log2(3/2) = 0.58 of a doubling of its time. If each doubling brings as
 * much as the one before, twice the time brings 1.7 times the gain of the last third; curves
 * flatten, so the same gain again is the honest guess. */
att_status att_training_outlook(att_string *out, const att_training *training, att_error *err)
{
    const att_training_state *state = &training->state;
    att_best_metric by = (att_best_metric)training->settings->best_metric;
    const att_validation *before = best_until(training, 2.0 * (double)state->step / 3);
    const att_validation *best = best_until(training, (double)state->step);
    att_status status;
    if (!before || !best)
        status = att_string_puts(out, "too few validations to say what more time would bring\n");
    else if (before->step == best->step)
        status = att_string_printf(out,
                                   "no gain since step %" PRId64 " of %" PRId64
                                   ": more time alone would likely bring nothing\n",
                                   before->step, state->step);
    else if (isnan(best->loss) &&
             att_validation_metric(before, by) == att_validation_metric(best, by))
        status = att_string_puts(out, "no label of the validation data is known: what more time "
                                      "would bring cannot be said\n");
    else
        status = report_gain(out, before, best, by);
    return status == ATT_OK ? ATT_OK : att_fail_memory(err);
}
