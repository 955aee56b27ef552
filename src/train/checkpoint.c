/* Checkpoints: a model file with additional tensors under ATT_TRAINING_PREFIX (the moments of the
 * optimizer, the best parameters, snapshots, the carried RNN state) and the training state in its
 * metadata. The file is replaced atomically by a rename (att_file_save), so there is always a
 * complete one. */
#include "train/training.h"

#include "base/error.h"
#include "base/minmax.h"
#include "base/string.h"
#include "tensor/bundle.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- blocks as tensors: training.<block>.<parameter> */

/* A block with the layout of the parameters. */
typedef struct checkpoint_block {
    char name[32];
    float *values;
    bool is_square; /* means of squares, which are not below 0 */
} checkpoint_block;

/* Block `index` of the run in its current state; false after the last. */
static bool checkpoint_block_get(checkpoint_block *out, const att_training *training, int64_t index)
{
    const att_training_state *state = &training->state;
    out->is_square = false;
    for (int i = 0; att_optimizer_moment_name(&training->optimizer, i); i++)
        if (index-- == 0) {
            snprintf(out->name, sizeof out->name, "%s",
                     att_optimizer_moment_name(&training->optimizer, i));
            out->values = training->whole_moments[i] ? training->whole_moments[i]
                                                     : training->optimizer.moments[i];
            out->is_square = att_optimizer_moment_is_square(&training->optimizer, i);
            return true;
        }
    if (state->best_validation > 0 && index-- == 0) {
        strcpy(out->name, "best");
        out->values = training->best_params;
        return true;
    }
    int64_t average = training->settings->average_checkpoints;
    if (index >= average || index >= state->history_count)
        return false;
    snprintf(out->name, sizeof out->name, "checkpoint.%lld", (long long)index);
    out->values = training->snapshots + (size_t)index * training->model->params.size;
    return true;
}

/* A view of one parameter in a block. */
static att_tensor view_param(const att_params *params, int index, float *block)
{
    const att_param *param = &params->items[index];
    return att_tensor_view(block + param->offset, ATT_F32, param->rank, param->shape);
}

static att_status tensor_name(att_string *out, const char *block, const char *param, att_error *err)
{
    out->length = 0;
    return att_string_printf(out, "%s%s.%s", ATT_TRAINING_PREFIX, block, param) == ATT_OK
               ? ATT_OK
               : att_fail_memory(err);
}

/* ---- the RNN state carried across batches (truncated BPTT) */

#define CARRIED_STATE ATT_TRAINING_PREFIX "rnn_state"

/* An epoch starts without a carried state. */
static bool has_carried_state(const att_training *training)
{
    return training->carried_states && training->state.epoch_batches > 0;
}

/* The states of all groups of streams, one after the other. */
static att_status join_carried_states(att_tensor *out, const att_training *training, att_error *err)
{
    const att_carried_state *groups = training->carried_states;
    int64_t shape[] = { 0, groups[0].width };
    for (int64_t g = 0; g < training->settings->accumulate; g++)
        shape[0] += groups[g].rows;
    ATT_TRY(att_tensor_new(out, ATT_F32, 2, shape, err));
    float *to = out->data;
    for (int64_t g = 0; g < training->settings->accumulate; g++) {
        size_t count = (size_t)(groups[g].rows * groups[g].width);
        memcpy(to, groups[g].states, count * sizeof *to);
        to += count;
    }
    return ATT_OK;
}

static att_status add_carried_state(att_bundle *bundle, const att_training *training,
                                    att_error *err)
{
    if (!has_carried_state(training))
        return ATT_OK;
    att_tensor joined;
    ATT_TRY(join_carried_states(&joined, training, err));
    att_status status = att_bundle_take(bundle, CARRIED_STATE, &joined, err);
    if (status != ATT_OK)
        att_tensor_free(&joined);
    return status;
}

/* A value that is not finite would appear as NaN many steps later, and the root of a negative mean
 * of squares at once: both without the name of the file. */
static att_status check_values(const att_tensor *tensor, const char *name, bool is_square,
                               const char *file, att_error *err)
{
    const float *values = tensor->data;
    int64_t count = att_tensor_count(tensor);
    for (int64_t i = 0; i < count; i++)
        if (!isfinite(values[i]) || (is_square && values[i] < 0))
            return att_fail(err, ATT_BAD_INPUT, file,
                            "the tensor '%s' holds %g at index %lld, expected finite numbers%s",
                            name, (double)values[i], (long long)i,
                            is_square ? " that are not negative" : "");
    return ATT_OK;
}

/* The rows of the last batches, which the next ones continue. */
static int64_t set_carried_rows(att_training *training)
{
    int64_t groups = training->settings->accumulate, rows = 0;
    for (int64_t g = 0; g < groups; g++) {
        int64_t index = training->state.epoch_batches - groups + g;
        training->carried_states[g].rows = att_batches_get(training->batches, index)->rows;
        rows += training->carried_states[g].rows;
    }
    return rows;
}

static att_status load_carried_state(att_training *training, const att_bundle *bundle,
                                     const char *file, att_error *err)
{
    const att_tensor *found = att_bundle_get(bundle, CARRIED_STATE);
    if (!has_carried_state(training))
        return ATT_OK;
    if (training->state.epoch_batches % training->settings->accumulate != 0)
        return att_fail(err, ATT_BAD_INPUT, file,
                        "the training state: \"epoch_batch\" is %lld, expected a multiple of %lld",
                        (long long)training->state.epoch_batches,
                        (long long)training->settings->accumulate);
    int64_t rows = set_carried_rows(training), width = training->carried_states[0].width;
    bool fits = found && found->dtype == ATT_F32 && found->rank == 2 && found->shape[0] == rows &&
                found->shape[1] == width;
    if (!fits)
        return att_fail(err, ATT_BAD_INPUT, file,
                        "the tensor '" CARRIED_STATE "': expected shape [%lld, %lld], found %s",
                        (long long)rows, (long long)width, found ? "another" : "none");
    const float *from = found->data;
    ATT_TRY(check_values(found, CARRIED_STATE, false, file, err));
    for (int64_t g = 0; g < training->settings->accumulate; g++) {
        size_t count = (size_t)(training->carried_states[g].rows * width);
        memcpy(training->carried_states[g].states, from, count * sizeof *from);
        from += count;
    }
    return ATT_OK;
}

/* ---- saving */

/* The bundle refers to the block, which must outlive it. */
static att_status add_block(att_bundle *bundle, const att_params *params,
                            const checkpoint_block *block, att_string *name, att_error *err)
{
    for (int i = 0; i < params->count; i++) {
        att_tensor view = view_param(params, i, block->values);
        ATT_TRY(tensor_name(name, block->name, params->items[i].name, err));
        ATT_TRY(att_bundle_take(bundle, name->data, &view, err));
    }
    return ATT_OK;
}

static att_status add_blocks(att_bundle *bundle, const att_training *training, att_error *err)
{
    att_string name = { 0 };
    checkpoint_block block;
    att_status status = ATT_OK;
    for (int64_t i = 0; status == ATT_OK && checkpoint_block_get(&block, training, i); i++)
        status = add_block(bundle, &training->model->params, &block, &name, err);
    att_string_free(&name);
    return status;
}

static att_status add_model(att_bundle *bundle, const att_training *training, double temperature,
                            att_error *err)
{
    att_string record = { 0 };
    att_status status = att_training_state_to_json(&record, &training->state, err);
    if (status == ATT_OK)
        status = att_model_to_bundle(bundle, training->model, temperature, record.data, err);
    att_string_free(&record);
    return status;
}

static att_status write_checkpoint(const att_training *training, att_error *err)
{
    const att_params *params = &training->model->params;
    if (!isfinite(att_l2_norm(params->value, params->size, training->norm_sums)))
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "step %lld: a parameter is NaN or infinite; try a lower learning-rate",
                        (long long)training->state.step);
    att_bundle *bundle;
    ATT_TRY(att_bundle_new(&bundle, err));
    att_status status = add_model(bundle, training, 1, err);
    if (status == ATT_OK)
        status = add_blocks(bundle, training, err);
    if (status == ATT_OK)
        status = add_carried_state(bundle, training, err);
    if (status == ATT_OK)
        status = att_safetensors_save(bundle, training->checkpoint_path.data, err);
    att_bundle_free(bundle);
    return status;
}

/* Of several processes, process 0 writes. */
att_status att_checkpoint_save(att_training *training, att_error *err)
{
    att_group *group = &training->exchange.group;
    ATT_TRY(att_training_gather(training, err));
    att_status status = group->rank == 0 ? write_checkpoint(training, err) : ATT_OK;
    att_training_free_moments(training);
    return att_group_agree(group, status, err);
}

/* Temporarily replaces the parameter block of the model by `values`. */
att_status att_training_model_bundle(att_bundle **out, const att_training *training, float *values,
                                     double temperature, att_error *err)
{
    ATT_TRY(att_bundle_new(out, err));
    float *params = training->model->params.value;
    training->model->params.value = values;
    att_status status = add_model(*out, training, temperature, err);
    training->model->params.value = params;
    if (status == ATT_OK)
        return ATT_OK;
    att_bundle_free(*out);
    *out = NULL;
    return status;
}

/* ---- loading */

static bool same_shape(const att_tensor *a, const att_tensor *b)
{
    bool same = a->dtype == b->dtype && a->rank == b->rank;
    for (int i = 0; same && i < a->rank; i++)
        same = a->shape[i] == b->shape[i];
    return same;
}

static att_status load_block(const att_params *params, const checkpoint_block *block,
                             const att_bundle *bundle, const char *file, att_string *name,
                             att_error *err)
{
    for (int i = 0; i < params->count; i++) {
        att_tensor view = view_param(params, i, block->values);
        ATT_TRY(tensor_name(name, block->name, params->items[i].name, err));
        const att_tensor *found = att_bundle_get(bundle, name->data);
        if (!found)
            return att_fail(
                err, ATT_BAD_INPUT, file,
                "the tensor '%s' is missing: expected a checkpoint (….last.safetensors)",
                name->data);
        if (!same_shape(&view, found))
            return att_fail(err, ATT_BAD_INPUT, file,
                            "the shape of the tensor '%s' differs from that of '%s'", name->data,
                            params->items[i].name);
        ATT_TRY(check_values(found, name->data, block->is_square, file, err));
        memcpy(view.data, found->data, params->items[i].count * sizeof(float));
    }
    return ATT_OK;
}

static att_status load_blocks(att_training *training, const att_bundle *bundle, const char *file,
                              att_error *err)
{
    att_string name = { 0 };
    checkpoint_block block;
    att_status status = ATT_OK;
    for (int64_t i = 0; status == ATT_OK && checkpoint_block_get(&block, training, i); i++)
        status = load_block(&training->model->params, &block, bundle, file, &name, err);
    att_string_free(&name);
    return status;
}

static att_status check_counter(const char *key, int64_t found, int64_t min, int64_t max,
                                const char *name, att_error *err)
{
    if (found >= min && found <= max)
        return ATT_OK;
    char expected[48];
    snprintf(expected, sizeof expected, min == max ? "%lld" : "%lld to %lld", (long long)min,
             (long long)max);
    return att_fail(err, ATT_BAD_INPUT, name, "the training state: \"%s\" is %lld, expected %s",
                    key, (long long)found, expected);
}

/* The state must be one of this run. Arranges the batches of its epoch. */
static att_status check_state(att_training *training, const att_training_state *state,
                              const char *name, att_error *err)
{
    const att_training_state *own = &training->state;
    if (state->data_hash != own->data_hash)
        return att_fail(err, ATT_BAD_INPUT, name,
                        "was trained on different data: the data files have changed");
    att_batches_start_epoch(training->batches, state->epoch);
    training->arranged_epoch = state->epoch;
    const struct {
        const char *key;
        int64_t found, min, max;
    } rows[] = {
        { "train_examples", state->train_pairs, own->train_pairs, own->train_pairs },
        { "valid_examples", state->valid_pairs, own->valid_pairs, own->valid_pairs },
        { "averaged_checkpoints", state->averaged_checkpoints, 0,
          training->settings->average_checkpoints },
        { "epoch_batch", state->epoch_batches, 0, att_batches_count(training->batches) - 1 },
    };
    for (size_t i = 0; i < ATT_COUNT(rows); i++)
        ATT_TRY(check_counter(rows[i].key, rows[i].found, rows[i].min, rows[i].max, name, err));
    return ATT_OK;
}

att_status att_checkpoint_load(att_training *training, const att_bundle *bundle, const char *name,
                               att_error *err)
{
    const char *record = att_bundle_meta_get(bundle, "attend.training");
    if (!record)
        return att_fail(err, ATT_BAD_INPUT, name, "is not a checkpoint: it has no training state");
    att_training_state state;
    ATT_TRY(att_training_state_from_json(&state, record, name, err));
    att_status status = check_state(training, &state, name, err);
    if (status != ATT_OK) {
        att_training_state_free(&state);
        return status;
    }
    att_training_state_free(&training->state);
    training->state = state;
    ATT_TRY(att_model_load_values(training->model, bundle, name, err));
    if (training->exchange.group.count > 1)
        ATT_TRY(att_training_alloc_moments(training, err));
    ATT_TRY(load_blocks(training, bundle, name, err));
    for (int i = 0; i < ATT_MAX_MOMENTS && training->whole_moments[i]; i++)
        memcpy(training->optimizer.moments[i],
               training->whole_moments[i] + training->exchange.slice.begin,
               training->optimizer.size * sizeof(float));
    att_training_free_moments(training);
    return load_carried_state(training, bundle, name, err);
}
