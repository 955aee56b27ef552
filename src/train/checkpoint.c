/* Checkpoints: a model file that holds, under ATT_TRAINING_PREFIX, the moments of the optimiser and
 * the parameters that are kept, and in its metadata the state. A file is written beside its place
 * and renamed into it (att_file_save), so at every moment there is a whole one. */
#include "train/training.h"

#include "base/error.h"
#include "base/text.h"
#include "tensor/bundle.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- blocks as tensors: training.<block>.<parameter> */

/* A block of the parameters' layout that a checkpoint holds. */
typedef struct kept_block {
    char name[32];
    float *values;
} kept_block;

/* Block `index` of those that this state has; false beyond the last. */
static bool kept_get(kept_block *out, const att_training *training, int64_t index)
{
    const att_run_state *state = &training->state;
    for (int i = 0; att_optimiser_moment(&training->optimiser, i); i++)
        if (index-- == 0) {
            snprintf(out->name, sizeof out->name, "%s",
                     att_optimiser_moment(&training->optimiser, i));
            out->values = training->optimiser.moments[i];
            return true;
        }
    if (state->best > 0 && index-- == 0) {
        strcpy(out->name, "best");
        out->values = training->best;
        return true;
    }
    int64_t average = training->settings->average;
    if (index >= average || index >= state->history_count)
        return false;
    snprintf(out->name, sizeof out->name, "snapshot.%lld", (long long)index);
    out->values = training->snapshots + (size_t)index * training->model->params.size;
    return true;
}

/* A view of one parameter in a block. */
static att_tensor view_in(const att_params *params, int index, float *block)
{
    const att_param *param = &params->items[index];
    return att_tensor_view(block + param->offset, ATT_F32, param->rank, param->shape);
}

static att_status tensor_name(att_text *out, const char *block, const char *param, att_error *err)
{
    out->length = 0;
    return att_text_print(out, "%s%s.%s", ATT_TRAINING_PREFIX, block, param) == ATT_OK
               ? ATT_OK
               : att_fail_memory(err);
}

/* ---- what is carried from batch to batch: a tensor of its own */

#define CARRIED ATT_TRAINING_PREFIX "carried"

static att_tensor view_carried(const att_carried *carried)
{
    const int64_t shape[] = { carried->rows, carried->width };
    return att_tensor_view(carried->states, ATT_F32, 2, shape);
}

/* Only in the middle of an epoch does the next batch follow one. */
static bool carries(const att_training *training)
{
    return training->carried.width > 0 && training->state.position > 0;
}

static att_status add_carried(att_bundle *bundle, const att_training *training, att_error *err)
{
    if (!carries(training))
        return ATT_OK;
    att_tensor view = view_carried(&training->carried);
    return att_bundle_take(bundle, CARRIED, &view, err);
}

static att_status take_carried(att_training *training, const att_bundle *bundle, const char *file,
                               att_error *err)
{
    att_carried *carried = &training->carried;
    const att_tensor *found = att_bundle_get(bundle, CARRIED);
    if (!carries(training))
        return ATT_OK;
    bool fits = found && found->dtype == ATT_F32 && found->rank == 2 &&
                found->shape[0] <= carried->most && found->shape[1] == carried->width;
    if (!fits)
        return att_fail(err, ATT_BAD_INPUT, file,
                        "has no tensor '" CARRIED "' of %lld columns: where its rows ended",
                        (long long)carried->width);
    carried->rows = found->shape[0];
    memcpy(carried->states, found->data,
           (size_t)(carried->rows * carried->width) * sizeof *carried->states);
    return ATT_OK;
}

/* ---- saving */

/* The bundle looks at the block, which must outlive it. */
static att_status add_block(att_bundle *bundle, const att_params *params, const kept_block *block,
                            att_text *name, att_error *err)
{
    for (int i = 0; i < params->count; i++) {
        att_tensor view = view_in(params, i, block->values);
        ATT_TRY(tensor_name(name, block->name, params->items[i].name, err));
        ATT_TRY(att_bundle_take(bundle, name->data, &view, err));
    }
    return ATT_OK;
}

static att_status add_blocks(att_bundle *bundle, const att_training *training, att_error *err)
{
    att_text name = { 0 };
    kept_block block;
    att_status status = ATT_OK;
    for (int64_t i = 0; status == ATT_OK && kept_get(&block, training, i); i++)
        status = add_block(bundle, &training->model->params, &block, &name, err);
    att_text_free(&name);
    return status;
}

static att_status add_model(att_bundle *bundle, const att_training *training, att_error *err)
{
    att_text record = { 0 };
    att_status status = att_run_state_to_json(&record, &training->state, err);
    if (status == ATT_OK)
        status = att_model_to_bundle(bundle, training->model, record.data, err);
    att_text_free(&record);
    return status;
}

att_status att_checkpoint_save(const att_training *training, att_error *err)
{
    const att_params *params = &training->model->params;
    if (!isfinite(att_block_norm(params->value, params->size, training->norm_sums)))
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "step %lld: a parameter is no longer a number; a lower rate may help",
                        (long long)training->state.step);
    att_bundle *bundle;
    ATT_TRY(att_bundle_new(&bundle, err));
    att_status status = add_model(bundle, training, err);
    if (status == ATT_OK)
        status = add_blocks(bundle, training, err);
    if (status == ATT_OK)
        status = add_carried(bundle, training, err);
    if (status == ATT_OK)
        status = att_safetensors_save(bundle, training->last.data, err);
    att_bundle_free(bundle);
    return status;
}

/* The model is written with its block exchanged for `values`. */
att_status att_training_save_model(const att_training *training, float *values, att_error *err)
{
    att_bundle *bundle;
    ATT_TRY(att_bundle_new(&bundle, err));
    float *own = training->model->params.value;
    training->model->params.value = values;
    att_status status = add_model(bundle, training, err);
    if (status == ATT_OK)
        status = att_safetensors_save(bundle, training->out.data, err);
    training->model->params.value = own;
    att_bundle_free(bundle);
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

static att_status take_block(const att_params *params, const kept_block *block,
                             const att_bundle *bundle, const char *file, att_text *name,
                             att_error *err)
{
    for (int i = 0; i < params->count; i++) {
        att_tensor view = view_in(params, i, block->values);
        ATT_TRY(tensor_name(name, block->name, params->items[i].name, err));
        const att_tensor *found = att_bundle_get(bundle, name->data);
        if (!found)
            return att_fail(err, ATT_BAD_INPUT, file,
                            "lacks the tensor '%s': is it a checkpoint (….last.safetensors)?",
                            name->data);
        if (!same_shape(&view, found))
            return att_fail(err, ATT_BAD_INPUT, file, "the tensor '%s' has another shape than '%s'",
                            name->data, params->items[i].name);
        memcpy(view.data, found->data, params->items[i].count * sizeof(float));
    }
    return ATT_OK;
}

static att_status take_blocks(att_training *training, const att_bundle *bundle, const char *file,
                              att_error *err)
{
    att_text name = { 0 };
    kept_block block;
    att_status status = ATT_OK;
    for (int64_t i = 0; status == ATT_OK && kept_get(&block, training, i); i++)
        status = take_block(&training->model->params, &block, bundle, file, &name, err);
    att_text_free(&name);
    return status;
}

att_status att_checkpoint_take(att_training *training, const att_bundle *bundle, const char *name,
                               att_error *err)
{
    const char *record = att_bundle_meta_get(bundle, "attend.training");
    if (!record)
        return att_fail(err, ATT_BAD_INPUT, name, "has no record of training to go on from");
    att_run_state state;
    ATT_TRY(att_run_state_from_json(&state, record, name, err));
    if (state.data != training->state.data) {
        att_run_state_free(&state);
        return att_fail(err, ATT_BAD_INPUT, name,
                        "was trained on other data than these: the files have changed since");
    }
    att_run_state_free(&training->state);
    training->state = state;
    ATT_TRY(att_model_take_values(training->model, bundle, name, err));
    ATT_TRY(take_blocks(training, bundle, name, err));
    return take_carried(training, bundle, name, err);
}
