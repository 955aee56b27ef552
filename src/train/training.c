/* Creates a training run from settings: the data, the model and everything that is allocated once.
 */
#include "train/training.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/options.h"
#include "base/file.h"
#include "base/minmax.h"
#include "base/progress.h"
#include "base/string.h"
#include "data/data_hash.h"
#include "data/prepared.h"
#include "settings/setting_specs.h"
#include "tensor/bundle.h"
#include "train/examples.h"

#include <stdio.h>
#include <string.h>

/* ---- output files */

#define SUFFIX            ".safetensors"
#define CHECKPOINT_SUFFIX ".last"

static bool ends_with(const char *text, size_t length, const char *end)
{
    return length >= strlen(end) && memcmp(text + length - strlen(end), end, strlen(end)) == 0;
}

static size_t without_suffix(const char *path)
{
    size_t length = strlen(path);
    return ends_with(path, length, SUFFIX) ? length - strlen(SUFFIX) : length;
}

/* The model is written to `out`; by default, a resumed run writes it beside its checkpoint, and a
 * new run to a file named after the task. */
static att_status add_model_path(att_string *out, const att_settings *settings)
{
    if (settings->out)
        return att_string_puts(out, settings->out);
    if (!settings->resume)
        return att_string_printf(out, "%s%s", att_setting_find("task")->choices[settings->task],
                                 SUFFIX);
    size_t stem = without_suffix(settings->resume);
    size_t kept = ends_with(settings->resume, stem, CHECKPOINT_SUFFIX)
                      ? stem - strlen(CHECKPOINT_SUFFIX)
                      : stem;
    att_status status = att_string_append(out, settings->resume, kept);
    return status == ATT_OK ? att_string_puts(out, settings->resume + stem) : status;
}

/* The checkpoint is written beside the model: m.safetensors, m.last.safetensors. */
static att_status choose_paths(att_training *training, att_error *err)
{
    att_string *out = &training->model_path, *last = &training->checkpoint_path;
    if (add_model_path(out, training->settings) != ATT_OK)
        return att_fail_memory(err);
    size_t stem = without_suffix(out->data);
    if (att_string_append(last, out->data, stem) != ATT_OK ||
        att_string_puts(last, CHECKPOINT_SUFFIX) != ATT_OK ||
        att_string_puts(last, out->data + stem) != ATT_OK)
        return att_fail_memory(err);
    return ATT_OK;
}

/* Refuses to overwrite a file that the run reads. */
static att_status check_outputs_differ(const att_training *training, att_error *err)
{
    const char *const written[] = { training->model_path.data, training->checkpoint_path.data,
                                    training->settings->log };
    const att_setting *row;
    att_status status = ATT_OK;
    for (size_t i = 0; status == ATT_OK && (row = att_setting_get(i)) != NULL; i++) {
        att_string input = { 0 };
        if (row->type != ATT_SETTING_TEXT || !att_setting_group_is_saved(row->group))
            continue;
        status = att_settings_get(&input, training->settings, row->key, err);
        for (size_t k = 0; status == ATT_OK && k < ATT_COUNT(written); k++)
            if (input.length > 0 && written[k] && att_file_same(input.data, written[k]))
                status = att_fail(err, ATT_BAD_INPUT, written[k],
                                  "would be overwritten: it is also the input '%s'", row->key);
        att_string_free(&input);
    }
    return status;
}

/* ---- parts of a run */

/* Sets the image size in the settings from the image features. */
static att_status set_image_settings(att_training *training, att_error *err)
{
    const att_image_grids *grids = &training->data.train.image_grids;
    const struct {
        const char *key;
        int64_t found;
        const int64_t *setting;
    } rows[] = {
        { "image-rows", grids->rows, &training->settings->image_rows },
        { "image-columns", grids->columns, &training->settings->image_columns },
        { "image-depth", grids->depth, &training->settings->image_depth },
    };
    for (size_t i = 0; grids->count > 0 && i < ATT_COUNT(rows); i++) {
        char value[32];
        snprintf(value, sizeof value, "%lld", (long long)rows[i].found);
        ATT_TRY(att_settings_set_from(training->settings, rows[i].key, value, ATT_FROM_MODEL, err));
        if (*rows[i].setting != rows[i].found)
            return att_fail(err, ATT_BAD_INPUT, NULL, "%s is %lld, but the features have %s",
                            rows[i].key, (long long)*rows[i].setting, value);
    }
    return ATT_OK;
}

/* `from`, unless NULL, is a model whose vocabularies are kept, or extended if `extend`. */
static att_status load_data(att_training *training, const att_model *from, bool extend,
                            att_error *err)
{
    att_data *data = &training->data;
    const att_initial_vocabs initial = { from ? from->source_vocab : NULL,
                                         from ? from->target_vocab : NULL, extend };
    ATT_TRY(att_data_load_initial(data, training->settings, from ? &initial : NULL, err));
    ATT_TRY(set_image_settings(training, err));
    if (data->valid.pairs == 0)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "there are no validation examples: set valid, or another valid-fraction");
    training->state.train_pairs = data->train.pairs;
    training->state.valid_pairs = data->valid.pairs;
    training->state.data_hash = att_data_hash(data);
    return ATT_OK;
}

static att_status make_model(att_training *training, att_error *err)
{
    const att_settings *settings = training->settings;
    ATT_TRY(att_model_new(&training->model, settings, training->data.source_vocab,
                          training->data.target_vocab, err));
    if (training->data.model_type == ATT_MODEL_SEQ2SEQ)
        training->model->output_length = att_output_length_measure(&training->data.train);
    ATT_TRY(att_training_set_vectors(training, err));
    ATT_TRY(att_training_freeze_new(training, err));
    ATT_TRY(att_params_alloc_grad(&training->model->params, err));
    ATT_TRY(att_tape_new_training(&training->tape, &training->model->params, err));
    ATT_TRY(att_data_training_batches(&training->batches, &training->data.train, settings, err));
    return att_training_new_states(training, err);
}

static att_status alloc_blocks(att_training *training, att_error *err)
{
    const att_settings *settings = training->settings;
    size_t size = training->model->params.size, average = (size_t)settings->average_checkpoints;
    att_group *group = &training->exchange.group;
    att_range own = att_share(settings->accumulate, group->rank, group->count);
    ATT_TRY(att_exchange_divide(&training->exchange, &training->model->params, err));
    size_t slice = (size_t)(training->exchange.slice.end - training->exchange.slice.begin);
    ATT_TRY(att_optimizer_new(&training->optimizer, (att_optimizer_kind)settings->optimizer, slice,
                              err));
    if (group->count > 1)
        att_tape_on_final_param(training->tape, att_exchange_on_final, &training->exchange);
    training->best_params = att_alloc_zero(size, sizeof *training->best_params);
    training->norm_sums = att_alloc(size / ATT_NORM_BLOCK + 1, sizeof *training->norm_sums);
    if (average > 0 && size <= SIZE_MAX / average)
        training->snapshots = att_alloc_zero(size * average, sizeof *training->snapshots);
    if (!training->best_params || !training->norm_sums || (average > 0 && !training->snapshots))
        return att_fail_memory(err);
    ATT_TRY(att_gradient_tree_new(&training->tree, size, settings->accumulate, own.begin, own.end,
                                  err));
    /* values, gradients, best */
    size_t floats = (3 + average + (size_t)training->tree.spare_count) * size;
    for (int i = 0; att_optimizer_moment_name(&training->optimizer, i); i++)
        floats += slice;
    training->params_bytes = floats * sizeof(float);
    return ATT_OK;
}

static att_status plan_steps(att_training *training, att_error *err)
{
    const att_settings *settings = training->settings;
    att_training_plan *plan = &training->plan;
    att_batches_start_epoch(training->batches, 0);
    ATT_TRY(att_batches_status(training->batches, err));
    training->arranged_epoch = 0;
    int64_t batches = att_batches_count(training->batches);
    int64_t steps = att_ceil_div_i64(batches, settings->accumulate);
    int64_t total = settings->epochs > INT64_MAX / steps ? INT64_MAX : settings->epochs * steps;
    if (settings->steps > 0 && settings->steps < total)
        total = settings->steps;
    *plan = (att_training_plan){ .epoch_steps = steps, .total_steps = total };
    return att_settings_step_plan(plan->pieces, &plan->piece_count, settings, err);
}

att_status att_training_build(att_training *training, att_error *err)
{
    ATT_TRY(make_model(training, err));
    ATT_TRY(alloc_blocks(training, err));
    return plan_steps(training, err);
}

/* `from`: the model of init-from, or where a run of it is resumed, that of the checkpoint. */
static att_status init_training(att_training *training, const att_bundle *checkpoint,
                                const att_model *from, att_error *err)
{
    att_settings *settings = training->settings;
    double seconds;
    ATT_TRY(att_settings_check(settings, err));
    ATT_TRY(att_settings_seconds(&seconds, settings, err));
    ATT_TRY(choose_paths(training, err));
    if (training->exchange.group.rank == 0)
        ATT_TRY(att_file_check_output_path(training->model_path.data, err));
    ATT_TRY(check_outputs_differ(training, err));
    bool extend = !checkpoint && settings->init_vocab == ATT_INIT_VOCAB_EXTEND;
    ATT_TRY(load_data(training, from, extend, err));
    ATT_TRY(att_progress_step(1, err));
    if (seconds > 0 && training->exchange.group.count > 1)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "time %s: a run of several processes cannot have a time budget; set steps",
                        settings->time);
    if (seconds > 0)
        ATT_TRY(att_budget_choose(training, seconds, err));
    ATT_TRY(att_training_build(training, err));
    if (checkpoint)
        ATT_TRY(att_checkpoint_load(training, checkpoint, settings->resume, err));
    else if (from)
        ATT_TRY(att_init_from_values(training, from, err));
    ATT_TRY(att_progress_step(2, err));
    ATT_TRY(att_training_dry_run(training, err));
    return att_progress_step(3, err);
}

/* The model of init-from; NULL: there is none. */
static att_status load_initial(att_model **out, att_settings *settings,
                               const att_bundle *checkpoint, att_error *err)
{
    *out = NULL;
    if (checkpoint) {
        if (att_bundle_meta_get(checkpoint, ATT_KEY_PRECISION))
            return att_fail(err, ATT_BAD_INPUT, settings->resume,
                            "is an int8 model, which cannot be trained: resume from the checkpoint "
                            "of the run");
        ATT_TRY(att_resume_settings(settings, checkpoint, settings->resume, err));
        return settings->init_from ? att_model_from_bundle(out, checkpoint, settings->resume, err)
                                   : ATT_OK;
    }
    if (!settings->init_from)
        return ATT_OK;
    ATT_TRY(att_model_load(out, settings->init_from, err));
    ATT_TRY(att_model_require_float(*out, settings->init_from, "training", err));
    return att_init_from_settings(settings, *out, err);
}

/* The dataset in `options` is mounted only while the run is created: training needs only its
 * tokens. */
static att_status open_training(att_training *training, const att_training_options *options,
                                att_error *err)
{
    att_settings *settings = training->settings;
    att_bundle *checkpoint = NULL;
    att_example_files files;
    att_status status = att_example_files_new(&files, settings, options, err);
    if (status == ATT_OK && settings->resume)
        status = att_model_load_bundle(&checkpoint, settings->resume, err);
    att_model *from = NULL;
    if (status == ATT_OK)
        status = load_initial(&from, settings, checkpoint, err);
    if (status == ATT_OK)
        status = att_prepared_settings(settings, err);
    if (status == ATT_OK)
        status = init_training(training, checkpoint, from, err);
    att_model_free(from);
    att_bundle_free(checkpoint);
    att_example_files_free(&files);
    return status;
}

att_status att_training_new(att_training **out, att_settings *settings,
                            const att_training_options *options, att_error *err)
{
    att_training_options resolved;
    *out = NULL;
    ATT_TRY(ATT_OPTIONS_COPY(att_training_options, &resolved, options, err));
    att_training *training = att_alloc_zero(1, sizeof *training);
    if (!training)
        return att_fail_memory(err);
    training->settings = settings;
    training->arranged_epoch = -1;
    training->budget.start = att_clock_seconds();
    att_progress_scope scope;
    att_progress_begin(&scope, "preparing the training run", 3);
    att_status status = att_exchange_new(&training->exchange, resolved.transport, err);
    if (status == ATT_OK) {
        status = open_training(training, &resolved, err);
        status = att_training_meet(training, status, err);
    }
    status = att_progress_end(&scope, status, err);
    if (status == ATT_OK)
        *out = training;
    else
        att_training_free(training);
    return status;
}

void att_training_release(att_training *training)
{
    att_free(training->best_params);
    att_free(training->snapshots);
    att_free(training->norm_sums);
    att_free(training->frozen_values);
    training->best_params = training->snapshots = training->frozen_values = NULL;
    training->norm_sums = NULL;
    att_optimizer_free(&training->optimizer);
    att_batches_free(training->batches);
    training->batches = NULL;
    att_training_free_states(training);
    att_training_free_moments(training);
    att_gradient_tree_free(&training->tree);
    att_exchange_free(&training->exchange);
    att_tape_free(training->tape);
    training->tape = NULL;
    att_model_free(training->model);
    training->model = NULL;
}

void att_training_free(att_training *training)
{
    if (!training)
        return;
    att_file_lock_release(&training->output_lock);
    att_string_free(&training->model_path);
    att_string_free(&training->checkpoint_path);
    att_string_free(&training->choices);
    att_training_state_free(&training->state);
    att_training_release(training);
    att_data_free(&training->data);
    att_free(training);
}

/* ---- accessors */

att_model_type att_training_model_type(const att_training *training)
{
    return att_model_type_get(training->model);
}

int64_t att_training_steps(const att_training *training)
{
    return training->state.step;
}

size_t att_training_validation_count(const att_training *training)
{
    return (size_t)training->state.history_count;
}

const att_validation *att_training_validation(const att_training *training, size_t index)
{
    return index < att_training_validation_count(training) ? &training->state.history[index] : NULL;
}

const att_validation *att_training_best(const att_training *training)
{
    int64_t best = training->state.best_validation; /* from 1 */
    return best > 0 ? att_training_validation(training, (size_t)best - 1) : NULL;
}

const char *att_training_model_path(const att_training *training)
{
    return training->model_path.data;
}

const char *att_training_checkpoint_path(const att_training *training)
{
    return training->checkpoint_path.data;
}
