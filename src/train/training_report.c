/* The report before training: data, model size, memory and the planned number of steps. */
#include "train/training.h"

#include "base/error.h"
#include "base/string.h"

#include <inttypes.h>

static int64_t parameter_count(const att_params *params)
{
    size_t count = 0;
    for (int i = 0; i < params->count; i++)
        count += params->items[i].count;
    return (int64_t)count;
}

static double megabytes(size_t bytes)
{
    return (double)bytes / 1e6;
}

static size_t corpus_bytes(const att_corpus *corpus)
{
    size_t tokens =
        (size_t)(corpus->source.offsets[corpus->pairs] + corpus->target.offsets[corpus->pairs]);
    size_t features =
        (size_t)(corpus->image_grids.count * att_image_grids_stride(&corpus->image_grids));
    return features * sizeof(float) + tokens * sizeof(int32_t) +
           (size_t)corpus->pairs * 3 * sizeof(int64_t);
}

static att_status report_run(att_string *out, const att_training *training)
{
    const att_training_state *state = &training->state;
    const att_params *params = &training->model->params;
    size_t batch = att_tape_peak_bytes(training->tape);
    size_t data = corpus_bytes(&training->data.train) + corpus_bytes(&training->data.valid);
    ATT_TRY(att_string_printf(out, "%-12s%s, %" PRId64 " parameters\n", "model",
                              training->model->architecture->name, parameter_count(params)));
    ATT_TRY(
        att_string_printf(out,
                          "%-12s%.1f MB: parameters and optimizer %.1f, largest batch %.1f, data "
                          "%.1f\n",
                          "memory", megabytes(training->params_bytes + batch + data),
                          megabytes(training->params_bytes), megabytes(batch), megabytes(data)));
    ATT_TRY(att_string_printf(out, "%-12s%" PRId64 " steps in %" PRId64 " epoch%s\n", "plan",
                              training->plan.total_steps, training->settings->epochs,
                              training->settings->epochs == 1 ? "" : "s"));
    if (state->step == 0)
        return ATT_OK;
    return att_string_printf(out, "%-12safter step %" PRId64 ", in epoch %" PRId64 "\n", "resumed",
                             state->step, att_training_state_epoch(state));
}

att_status att_training_report(att_string *out, const att_training *training, att_error *err)
{
    att_status status = att_data_report(out, &training->data);
    if (status == ATT_OK)
        status = report_run(out, training);
    return status == ATT_OK ? ATT_OK : att_fail_memory(err);
}
