/* Models made by hand: from settings and lists of tokens, their parameters set one by one. */
#include "model/model.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/quote.h"
#include "tensor/tensor.h"

#include <string.h>

/* ---- making */

/* All settings by their keys, so that the model has its own. */
static att_status copy_settings(att_settings **out, const att_settings *from, att_error *err)
{
    ATT_TRY(att_settings_new(out, NULL, err));
    for (size_t i = 0; i < att_setting_count(); i++) {
        const char *key = att_setting_get(i)->key;
        att_text value = { 0 };
        att_status status = att_settings_get(&value, from, key, err);
        if (status == ATT_OK && value.length > 0)
            status = att_settings_put(*out, key, value.data, ATT_FROM_MODEL, err);
        att_text_free(&value);
        ATT_TRY(status);
    }
    return ATT_OK;
}

/* What a model owns, before there is one. */
typedef struct owned {
    att_settings *settings;
    att_vocab *source, *target;
} owned;

/* What a target token is. */
static att_tokens target_tokens(const att_settings *settings)
{
    switch (att_settings_kind(settings)) {
    case ATT_KIND_TEXT:
        return (att_tokens)settings->tokens;
    case ATT_KIND_LABEL:
        return ATT_TOKENS_LINE;
    case ATT_KIND_PAIRS:
    case ATT_KIND_PICTURE:
        break;
    }
    return (att_tokens)settings->target_tokens;
}

static att_status make_owned(owned *own, const att_settings *settings, const att_token_list *source,
                             const att_token_list *target, att_error *err)
{
    att_kind kind = att_settings_kind(settings);
    ATT_TRY(copy_settings(&own->settings, settings, err));
    if (att_kind_reads(kind))
        ATT_TRY(att_vocab_of_tokens(&own->source, (att_tokens)settings->source_tokens,
                                    settings->lower, source->tokens, source->count, err));
    ATT_TRY(att_vocab_of_tokens(&own->target, target_tokens(settings), settings->lower,
                                target->tokens, target->count, err));
    if (kind == ATT_KIND_TEXT)
        att_vocab_take_texts(own->target);
    return ATT_OK;
}

att_status att_model_make(att_model **out, const att_settings *settings,
                          const att_token_list *source, const att_token_list *target,
                          att_error *err)
{
    *out = NULL;
    owned own = { 0 };
    att_model *model = NULL;
    att_status status = make_owned(&own, settings, source, target, err);
    if (status == ATT_OK)
        status = att_model_new(&model, own.settings, own.source, own.target, err);
    if (status != ATT_OK) {
        att_settings_free(own.settings);
        att_vocab_free(own.source);
        att_vocab_free(own.target);
        return status;
    }
    model->own = own.settings;
    model->own_source = own.source;
    model->own_target = own.target;
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

static att_status find(int *out, const att_model *model, const char *name, att_error *err)
{
    char quoted[ATT_QUOTED];
    *out = att_params_find(&model->params, name);
    if (*out >= 0)
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, NULL, "the model has no tensor '%s'",
                    att_quote(quoted, name, strlen(name)));
}

att_status att_model_tensor_get(att_tensor *out, const att_model *model, const char *name,
                                att_error *err)
{
    int index;
    ATT_TRY(find(&index, model, name, err));
    att_tensor view = att_param_view(&model->params, index);
    return att_tensor_copy(out, &view, ATT_F32, err);
}

att_status att_model_tensor_set(att_model *model, const char *name, const att_tensor *values,
                                att_error *err)
{
    int index;
    ATT_TRY(find(&index, model, name, err));
    const att_param *param = &model->params.items[index];
    if (values->rank != param->rank ||
        memcmp(values->shape, param->shape, (size_t)param->rank * sizeof *param->shape) != 0) {
        char found[ATT_SHAPE_TEXT], wanted[ATT_SHAPE_TEXT];
        return att_fail(err, ATT_BAD_INPUT, NULL, "the tensor '%s' is %s, and was given %s", name,
                        att_shape_text(wanted, param->rank, param->shape),
                        att_shape_text(found, values->rank, values->shape));
    }
    att_tensor copy;
    ATT_TRY(att_tensor_copy(&copy, values, ATT_F32, err));
    memcpy(model->params.value + param->offset, copy.data, param->count * sizeof(float));
    att_tensor_free(&copy);
    att_params_changed(&model->params);
    return ATT_OK;
}
