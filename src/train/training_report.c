/* The report before training: data, model size, memory and the planned number of steps. */
#include "train/training.h"

#include "base/error.h"
#include "base/minmax.h"
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

/* Of a token file, a window of it. */
static size_t corpus_bytes(const att_corpus *corpus)
{
    enum { MAX_WINDOW_TOKENS = 1 << 26, TEXT_ROW = 1 << 16, WINDOW_PAIRS = 1 << 20 };
    if (corpus->stored) {
        int64_t tokens = corpus->stats.source.tokens + corpus->stats.target.tokens;
        bool text = corpus->line_numbers == NULL && corpus->pairs == 1;
        return text ? TEXT_ROW
                    : (size_t)att_min_i64(tokens, MAX_WINDOW_TOKENS) * sizeof(int32_t) +
                          (size_t)att_min_i64(corpus->pairs, WINDOW_PAIRS) * 9 * sizeof(int64_t);
    }
    size_t tokens =
        (size_t)(corpus->source.offsets[corpus->pairs] + corpus->target.offsets[corpus->pairs]);
    size_t features =
        (size_t)(corpus->image_grids.count * att_image_grids_stride(&corpus->image_grids));
    return features * sizeof(float) + tokens * sizeof(int32_t) +
           (size_t)corpus->pairs * 3 * sizeof(int64_t);
}

/* What a fine-tuned model starts from. */
static att_status report_initial(att_string *out, const att_training *training)
{
    const att_settings *settings = training->settings;
    const att_data *data = &training->data;
    if (!settings->init_from)
        return ATT_OK;
    ATT_TRY(att_string_printf(out, "%-12sthe weights of %s; ", "start", settings->init_from));
    bool has_source = data->source_vocab && data->source_vocab != data->target_vocab;
    bool extended = settings->init_vocab == ATT_INIT_VOCAB_EXTEND;
    int64_t source = extended ? data->added_source : data->train.stats.source.unknown_tokens;
    int64_t target = extended ? data->added_target : data->train.stats.target.unknown_tokens;
    if (!has_source)
        return att_string_printf(out,
                                 extended ? "its vocabulary was extended by %" PRId64 " tokens\n"
                                          : "its vocabulary is kept: %" PRId64
                                            " training tokens are unknown\n",
                                 source + target);
    ATT_TRY(att_string_printf(out,
                              extended ? "its vocabularies were extended by %" PRId64
                                         " source and %" PRId64 " target tokens"
                                       : "its vocabularies are kept: %" PRId64
                                         " source and %" PRId64
                                         " target tokens of the training data are unknown",
                              source, target));
    return data->unknown_targets.length > 0
               ? att_string_printf(out, ", such as %s\n", data->unknown_targets.data)
               : att_string_puts(out, "\n");
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
    ATT_TRY(report_initial(out, training));
    if (training->choices.length > 0)
        ATT_TRY(att_string_append(out, training->choices.data, training->choices.length));
    ATT_TRY(
        att_string_printf(out, "%-12s%" PRId64 " step%s in %" PRId64 " epoch%s\n", "plan",
                          training->plan.total_steps, training->plan.total_steps == 1 ? "" : "s",
                          training->settings->epochs, training->settings->epochs == 1 ? "" : "s"));
    ATT_TRY(att_training_report_processes(out, training));
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
