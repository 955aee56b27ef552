/* Making a run out of settings: data, model, and everything that is allocated once. */
#include "train/training.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "settings/rows.h"
#include "tensor/bundle.h"

#include <stdio.h>
#include <string.h>

/* ---- where files go */

#define SUFFIX ".safetensors"
#define LAST   ".last"

static bool ends_in(const char *text, size_t length, const char *end)
{
    return length >= strlen(end) && memcmp(text + length - strlen(end), end, strlen(end)) == 0;
}

static size_t without_suffix(const char *path)
{
    size_t length = strlen(path);
    return ends_in(path, length, SUFFIX) ? length - strlen(SUFFIX) : length;
}

/* The model goes where `out` says; else a resumed run's beside its checkpoint, and a new one's into
 * a file named after the task. */
static att_status add_model_path(att_text *out, const att_settings *settings)
{
    if (settings->out)
        return att_text_puts(out, settings->out);
    if (!settings->resume)
        return att_text_print(out, "%s%s", att_setting_find("task")->words[settings->task], SUFFIX);
    size_t stem = without_suffix(settings->resume);
    size_t kept = ends_in(settings->resume, stem, LAST) ? stem - strlen(LAST) : stem;
    att_status status = att_text_add(out, settings->resume, kept);
    return status == ATT_OK ? att_text_puts(out, settings->resume + stem) : status;
}

/* The checkpoint goes beside the model: m.safetensors, m.last.safetensors. */
static att_status choose_paths(att_training *training, att_error *err)
{
    att_text *out = &training->out, *last = &training->last;
    if (add_model_path(out, training->settings) != ATT_OK)
        return att_fail_memory(err);
    size_t stem = without_suffix(out->data);
    if (att_text_add(last, out->data, stem) != ATT_OK || att_text_puts(last, LAST) != ATT_OK ||
        att_text_puts(last, out->data + stem) != ATT_OK)
        return att_fail_memory(err);
    return ATT_OK;
}

/* No file of a run may take the place of one that it reads. */
static att_status spare_inputs(const att_training *training, att_error *err)
{
    const char *const written[] = { training->out.data, training->last.data,
                                    training->settings->log };
    const att_setting *row;
    att_status status = ATT_OK;
    for (size_t i = 0; status == ATT_OK && (row = att_setting_get(i)) != NULL; i++) {
        att_text input = { 0 };
        if (row->kind != ATT_SETTING_TEXT || strcmp(row->group, ATT_GROUP_OUTPUT) == 0)
            continue;
        status = att_settings_get(&input, training->settings, row->key, err);
        for (size_t k = 0; status == ATT_OK && k < sizeof written / sizeof *written; k++)
            if (input.length > 0 && written[k] && att_file_same(input.data, written[k]))
                status = att_fail(err, ATT_BAD_INPUT, written[k],
                                  "is what '%s' names: it would be written over", row->key);
        att_text_free(&input);
    }
    return status;
}

/* ---- the parts */

/* What a model must know of its pictures is found in the data, and kept among the settings. */
static att_status take_pictures(att_training *training, att_error *err)
{
    const att_grids *grids = &training->data.train.grids;
    const struct {
        const char *key;
        int64_t found;
        const int64_t *setting;
    } rows[] = {
        { "picture-rows", grids->rows, &training->settings->picture_rows },
        { "picture-columns", grids->columns, &training->settings->picture_columns },
        { "picture-depth", grids->depth, &training->settings->picture_depth },
    };
    for (size_t i = 0; grids->count > 0 && i < sizeof rows / sizeof *rows; i++) {
        char value[32];
        snprintf(value, sizeof value, "%lld", (long long)rows[i].found);
        ATT_TRY(att_settings_put(training->settings, rows[i].key, value, ATT_FROM_MODEL, err));
        if (*rows[i].setting != rows[i].found)
            return att_fail(err, ATT_BAD_INPUT, NULL, "%s is %lld, and the features have %s",
                            rows[i].key, (long long)*rows[i].setting, value);
    }
    return ATT_OK;
}

static att_status load_data(att_training *training, att_error *err)
{
    att_data *data = &training->data;
    ATT_TRY(att_data_load(data, training->settings, err));
    ATT_TRY(take_pictures(training, err));
    if (data->valid.pairs == 0)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "there are no pairs to validate on: give valid, or a hold-out above 0");
    training->state.train_pairs = data->train.pairs;
    training->state.valid_pairs = data->valid.pairs;
    training->state.data = att_data_hash(data);
    return ATT_OK;
}

static att_status make_model(att_training *training, att_error *err)
{
    const att_settings *settings = training->settings;
    ATT_TRY(att_model_new(&training->model, settings, training->data.source_words,
                          training->data.target_words, err));
    ATT_TRY(att_params_want_grad(&training->model->params, err));
    ATT_TRY(att_tape_new(&training->tape, &training->model->params, err));
    ATT_TRY(att_data_batches(&training->batches, &training->data.train, settings, settings->batch,
                             (uint64_t)settings->seed, err));
    return att_carried_make(&training->carried, training->model,
                            att_batches_limits(training->batches).rows, err);
}

static att_status make_blocks(att_training *training, att_error *err)
{
    const att_settings *settings = training->settings;
    size_t size = training->model->params.size, average = (size_t)settings->average;
    ATT_TRY(att_optimiser_make(&training->optimiser, (att_optimiser_kind)settings->optimiser, size,
                               err));
    training->best = att_alloc_zero(size, sizeof *training->best);
    training->norm_sums = att_alloc(size / ATT_NORM_STRETCH + 1, sizeof *training->norm_sums);
    if (average > 0 && size <= SIZE_MAX / average)
        training->snapshots = att_alloc_zero(size * average, sizeof *training->snapshots);
    if (!training->best || !training->norm_sums || (average > 0 && !training->snapshots))
        return att_fail_memory(err);
    size_t blocks = 3 + average; /* values, gradients, the best */
    for (int i = 0; att_optimiser_moment(&training->optimiser, i); i++)
        blocks++;
    training->blocks = blocks * size * sizeof(float);
    return ATT_OK;
}

static void make_plan(att_training *training)
{
    const att_settings *settings = training->settings;
    att_batches_start(training->batches, 0);
    training->started = 0;
    int64_t batches = att_batches_count(training->batches);
    int64_t steps = (batches + settings->accumulate - 1) / settings->accumulate;
    int64_t total = settings->epochs > INT64_MAX / steps ? INT64_MAX : settings->epochs * steps;
    if (settings->steps > 0 && settings->steps < total)
        total = settings->steps;
    training->plan = (att_plan){ steps, total };
}

static att_status make_parts(att_training *training, const att_bundle *checkpoint, att_error *err)
{
    att_settings *settings = training->settings;
    if (checkpoint)
        ATT_TRY(att_resume_settings(settings, checkpoint, settings->resume, err));
    ATT_TRY(att_settings_check(settings, err));
    ATT_TRY(choose_paths(training, err));
    ATT_TRY(att_file_check_place(training->out.data, err));
    ATT_TRY(spare_inputs(training, err));
    ATT_TRY(load_data(training, err));
    ATT_TRY(make_model(training, err));
    ATT_TRY(make_blocks(training, err));
    make_plan(training);
    if (checkpoint)
        ATT_TRY(att_checkpoint_take(training, checkpoint, settings->resume, err));
    return att_training_rehearse(training, err);
}

att_status att_training_new(att_training **out, att_settings *settings, att_error *err)
{
    *out = NULL;
    att_bundle *checkpoint = NULL;
    if (settings->resume)
        ATT_TRY(att_model_read_bundle(&checkpoint, settings->resume, err));
    att_training *training = att_alloc_zero(1, sizeof *training);
    att_status status = ATT_NO_MEMORY;
    if (training) {
        training->settings = settings;
        training->started = -1;
        status = make_parts(training, checkpoint, err);
    } else {
        att_fail_memory(err);
    }
    att_bundle_free(checkpoint);
    if (status == ATT_OK)
        *out = training;
    else
        att_training_free(training);
    return status;
}

void att_training_free(att_training *training)
{
    if (!training)
        return;
    att_text_free(&training->out);
    att_text_free(&training->last);
    att_free(training->best);
    att_free(training->snapshots);
    att_free(training->norm_sums);
    att_run_state_free(&training->state);
    att_optimiser_free(&training->optimiser);
    att_batches_free(training->batches);
    att_carried_free(&training->carried);
    att_tape_free(training->tape);
    att_model_free(training->model);
    att_data_free(&training->data);
    att_free(training);
}

/* ---- questions */

att_kind att_training_kind(const att_training *training)
{
    return att_model_kind(training->model);
}

int64_t att_training_steps(const att_training *training)
{
    return training->state.step;
}

size_t att_training_history(const att_training *training, const att_validation **rows)
{
    *rows = training->state.history;
    return (size_t)training->state.history_count;
}

size_t att_training_best(const att_training *training)
{
    return (size_t)training->state.best;
}

const char *att_training_model_path(const att_training *training)
{
    return training->out.data;
}

const char *att_training_checkpoint_path(const att_training *training)
{
    return training->last.data;
}
