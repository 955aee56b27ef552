/* Models built in memory: from settings and token lists, and with tensors replaced. */
#include "model/model.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/quote.h"
#include "model/model_file.h"
#include "tensor/tensor.h"

#include <string.h>

/* ---- building */

/* Copies all settings by key, so that the model owns its settings. */
static att_status copy_settings(att_settings **out, const att_settings *from, att_error *err)
{
    ATT_TRY(att_settings_new(out, NULL, err));
    for (size_t i = 0; i < att_setting_count(); i++) {
        const char *key = att_setting_get(i)->key;
        att_string value = { 0 };
        att_status status = att_settings_get(&value, from, key, err);
        if (status == ATT_OK && value.length > 0)
            status = att_settings_set_from(*out, key, value.data, ATT_FROM_MODEL, err);
        att_string_free(&value);
        ATT_TRY(status);
    }
    return ATT_OK;
}

/* The copies that the new model takes ownership of. */
typedef struct owned_parts {
    att_settings *settings;
    att_vocab *source, *target;
} owned_parts;

static att_tokenizer_kind target_tokenizer_kind(const att_settings *settings)
{
    switch (att_settings_model_type(settings)) {
    case ATT_MODEL_LM:
        return (att_tokenizer_kind)settings->tokens;
    case ATT_MODEL_CLASSIFIER:
        return ATT_TOKENIZER_LINE;
    case ATT_MODEL_TAGGER:
        return ATT_TOKENIZER_SPACE;
    case ATT_MODEL_SEQ2SEQ:
    case ATT_MODEL_CAPTION:
        break;
    }
    return (att_tokenizer_kind)settings->target_tokens;
}

static att_status copy_owned_parts(owned_parts *own, const att_settings *settings,
                                   const att_token_list *source, const att_token_list *target,
                                   att_error *err)
{
    att_model_type type = att_settings_model_type(settings);
    ATT_TRY(copy_settings(&own->settings, settings, err));
    if (att_model_type_has_source_vocab(type))
        ATT_TRY(att_vocab_from_tokens(&own->source, (att_tokenizer_kind)settings->source_tokens,
                                      settings->lowercase, source->tokens, source->count, err));
    ATT_TRY(att_vocab_from_tokens(&own->target, target_tokenizer_kind(settings),
                                  settings->lowercase && type != ATT_MODEL_TAGGER, target->tokens,
                                  target->count, err));
    if (type == ATT_MODEL_LM)
        att_vocab_set_whole_text(own->target);
    if (own->source && settings->joint && !att_vocab_same_tokens(own->source, own->target))
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "joint yes needs the same tokens in the same order for source and target, "
                        "found different ones");
    return ATT_OK;
}

att_status att_model_build(att_model **out, const att_settings *settings,
                           const att_token_list *source, const att_token_list *target,
                           att_error *err)
{
    *out = NULL;
    owned_parts own = { 0 };
    att_model *model = NULL;
    att_status status = copy_owned_parts(&own, settings, source, target, err);
    if (status == ATT_OK)
        status = att_model_new(&model, own.settings, own.source, own.target, err);
    if (status != ATT_OK) {
        att_settings_free(own.settings);
        att_vocab_free(own.source);
        att_vocab_free(own.target);
        return status;
    }
    model->owned_settings = own.settings;
    model->owned_source_vocab = own.source;
    model->owned_target_vocab = own.target;
    *out = model;
    return ATT_OK;
}

/* ---- parameters */

size_t att_model_tensor_count(const att_model *model)
{
    return (size_t)model->params.count;
}

const char *att_model_tensor_name(const att_model *model, size_t index)
{
    return index < att_model_tensor_count(model) ? model->params.items[index].name : NULL;
}

static att_status find_tensor(int *out, const att_model *model, const char *name, att_error *err)
{
    char quoted[ATT_QUOTED_SIZE];
    *out = att_params_find(&model->params, name);
    if (*out >= 0)
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, NULL, "the model has no tensor '%s'",
                    att_quote(quoted, name, strlen(name)));
}

att_status att_model_tensor_view(att_tensor *out, const att_model *model, const char *name,
                                 att_error *err)
{
    int index;
    *out = (att_tensor){ 0 };
    ATT_TRY(find_tensor(&index, model, name, err));
    if (att_param_int8(&model->params, index))
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "the tensor '%s' is int8 and has no view as float: copy it", name);
    *out = att_param_view(&model->params, index);
    return ATT_OK;
}

att_status att_model_tensor_get(att_tensor *out, const att_model *model, const char *name,
                                att_error *err)
{
    att_tensor view;
    int index;
    *out = (att_tensor){ 0 };
    ATT_TRY(find_tensor(&index, model, name, err));
    const att_param *param = &model->params.items[index];
    if (att_param_int8(&model->params, index)) {
        ATT_TRY(att_tensor_new_uninitialized(out, ATT_F32, param->rank, param->shape, err));
        att_param_int8_floats(out->data, &model->params, index);
        return ATT_OK;
    }
    view = att_param_view(&model->params, index);
    return att_tensor_copy(out, &view, ATT_F32, err);
}

/* Every tensor of `tensors` must be a parameter of the model, in its shape. */
static att_status check_replacements(const att_model *model, const att_bundle *tensors,
                                     att_error *err)
{
    for (size_t i = 0; i < att_bundle_count(tensors); i++) {
        int index;
        const char *name = att_bundle_name(tensors, i);
        const att_tensor *values = att_bundle_at(tensors, i);
        ATT_TRY(find_tensor(&index, model, name, err));
        ATT_TRY(att_tensor_check_float("tensor", name, values, err));
        const att_param *param = &model->params.items[index];
        if (values->rank == param->rank &&
            memcmp(values->shape, param->shape, (size_t)param->rank * sizeof *param->shape) == 0)
            continue;
        char found[ATT_SHAPE_STRING_SIZE], expected[ATT_SHAPE_STRING_SIZE];
        return att_fail(err, ATT_BAD_INPUT, NULL, "the tensor '%s': expected shape %s, found %s",
                        name, att_shape_to_string(expected, param->rank, param->shape),
                        att_shape_to_string(found, values->rank, values->shape));
    }
    return ATT_OK;
}

static att_status add_tensors(att_bundle *out, const att_model *model, const att_bundle *tensors,
                              att_error *err)
{
    for (int i = 0; i < model->params.count; i++) {
        const att_param *param = &model->params.items[i];
        const att_tensor *replacement = att_bundle_get(tensors, param->name);
        if (!replacement)
            ATT_TRY(att_param_to_bundle(out, &model->params, i, err));
        else if (att_param_int8(&model->params, i))
            ATT_TRY(att_param_quantized_to_bundle(out, param, replacement, err));
        else
            ATT_TRY(att_bundle_add(out, param->name, replacement, err));
    }
    return ATT_OK;
}

/* The new model is read from a bundle: that of the old model's file, with the new values. So it
 * owns its settings and vocabularies, and its values are checked like those of a file. */
att_status att_model_replace_tensors(att_model **out, const att_model *model,
                                     const att_bundle *tensors, att_error *err)
{
    *out = NULL;
    att_bundle *bundle = NULL;
    ATT_TRY(check_replacements(model, tensors, err));
    att_status status = att_bundle_new(&bundle, err);
    if (status == ATT_OK)
        status = att_model_metadata_to_bundle(bundle, model, model->temperature,
                                              model->training_json, err);
    if (status == ATT_OK)
        status = add_tensors(bundle, model, tensors, err);
    if (status == ATT_OK)
        status = att_model_from_bundle(out, bundle, "tensors", err);
    att_bundle_free(bundle);
    return status;
}
