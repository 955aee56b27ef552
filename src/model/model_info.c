/* What is inside a model, told to people and to programs. */
#include "model/model.h"

#include "base/error.h"
#include "base/string.h"
#include "model/model_file.h"
#include "tensor/tensor.h"

#include <inttypes.h>
#include <string.h>

static size_t value_count(const att_params *params)
{
    size_t count = 0;
    for (int i = 0; i < params->count; i++)
        count += params->items[i].count;
    return count;
}

/* How a side's lines are split, as the settings spell it. */
static const char *tokenizer_kind_name(const att_vocab *vocab)
{
    return att_setting_find("source-tokens")->choices[att_vocab_tokenizer_kind(vocab)];
}

/* ---- text */

/* The values of a setting: the key, then the value, in line with the others. */
static att_status setting_line(att_string *out, const att_model *model, const att_setting *setting)
{
    att_string value = { 0 };
    att_status status = att_settings_get(&value, model->settings, setting->key, NULL);
    if (status == ATT_OK && value.length > 0)
        status = att_string_printf(out, "  %-18s %s\n", setting->key, value.data);
    att_string_free(&value);
    return status;
}

/* Whether a group of settings tells what a model is, or how one was trained. */
static bool is_model_group(const char *group)
{
    static const char *const groups[] = { "task", "tokens", "model", "rnn", "transformer" };
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (strcmp(groups[i], group) == 0)
            return true;
    return false;
}

static bool is_shown(const att_model *model, const att_setting *setting)
{
    return att_settings_applies(model->settings, setting) &&
           strcmp(setting->group, "output") != 0 &&
           (!model->import_json || is_model_group(setting->group));
}

/* The settings that concern the task and the family, by group. What this run wrote where is not
 * kept, and how others have trained is not known. */
static att_status settings_lines(att_string *out, const att_model *model)
{
    att_status status = ATT_OK;
    const char *group = "";
    for (size_t i = 0; i < att_setting_count() && status == ATT_OK; i++) {
        const att_setting *setting = att_setting_get(i);
        if (!is_shown(model, setting))
            continue;
        if (strcmp(setting->group, group) != 0 && strcmp(setting->group, "task") != 0)
            status = att_string_printf(out, "%s\n", setting->group);
        group = setting->group;
        if (status == ATT_OK)
            status = setting_line(out, model, setting);
    }
    return status;
}

static att_status parameter_lines(att_string *out, const att_params *params)
{
    ATT_TRY(att_string_puts(out, "parameters\n"));
    for (int i = 0; i < params->count; i++) {
        char shape[ATT_SHAPE_STRING_SIZE];
        const att_param *param = &params->items[i];
        ATT_TRY(att_string_printf(out, "  %-26s %s\n", param->name,
                                  att_shape_to_string(shape, param->rank, param->shape)));
    }
    return ATT_OK;
}

static att_status vocabulary_line(att_string *out, const char *name, const att_vocab *vocab)
{
    return att_string_printf(out, "  %-18s %d, tokens: %s\n", name, att_vocab_size(vocab),
                             tokenizer_kind_name(vocab));
}

static att_status info_text(att_string *out, const att_model *model)
{
    ATT_TRY(att_string_printf(out, "a %s model with %zu parameters in %d tensors\n",
                              model->architecture->name, value_count(&model->params),
                              model->params.count));
    const char *target = model->source_vocab ? "target vocabulary" : "vocabulary";
    if (model->source_vocab)
        ATT_TRY(vocabulary_line(out, "source vocabulary", model->source_vocab));
    ATT_TRY(vocabulary_line(out, target, model->target_vocab));
    if (model->training_json) {
        ATT_TRY(att_string_puts(out, "trained\n"));
        ATT_TRY(att_metadata_print(out, model->training_json));
    }
    if (model->import_json) {
        ATT_TRY(att_string_puts(out, "imported\n"));
        ATT_TRY(att_metadata_print(out, model->import_json));
    }
    ATT_TRY(settings_lines(out, model));
    return parameter_lines(out, &model->params);
}

/* ---- JSON */

static att_status vocabulary_json(att_string *out, const char *key, const att_vocab *vocab)
{
    return att_string_printf(out, "\"%s\":{\"tokens\":\"%s\",\"size\":%d},", key,
                             tokenizer_kind_name(vocab), att_vocab_size(vocab));
}

static att_status tensors_json(att_string *out, const att_params *params)
{
    for (int i = 0; i < params->count; i++) {
        const att_param *param = &params->items[i];
        ATT_TRY(att_string_printf(out, "%s{\"name\":\"%s\",\"shape\":[", i > 0 ? "," : "",
                                  param->name));
        for (int d = 0; d < param->rank; d++)
            ATT_TRY(att_string_printf(out, "%s%" PRId64, d > 0 ? "," : "", param->shape[d]));
        ATT_TRY(att_string_puts(out, "]}"));
    }
    return ATT_OK;
}

static att_status info_json(att_string *out, const att_model *model, att_error *err)
{
    ATT_TRY(att_string_printf(out, "{\"format\":%s,\"family\":\"%s\",", ATT_MODEL_FORMAT,
                              model->architecture->name));
    if (model->source_vocab)
        ATT_TRY(vocabulary_json(out, "source", model->source_vocab));
    ATT_TRY(vocabulary_json(out, "target", model->target_vocab));
    ATT_TRY(
        att_string_printf(out, "\"parameters\":%zu,\"tensors\":[", value_count(&model->params)));
    ATT_TRY(tensors_json(out, &model->params));
    ATT_TRY(att_string_puts(out, "],\"settings\":"));
    ATT_TRY(att_settings_to_json(out, model->settings, err));
    ATT_TRY(att_string_printf(out, ",\"training\":%s,\"imported\":%s}\n",
                              model->training_json ? model->training_json : "null",
                              model->import_json ? model->import_json : "null"));
    return ATT_OK;
}

att_status att_model_info(att_string *out, const att_model *model, bool json, att_error *err)
{
    size_t before = out->length;
    att_status status = json ? info_json(out, model, err) : info_text(out, model);
    if (status == ATT_OK)
        return ATT_OK;
    out->length = before;
    return status == ATT_NO_MEMORY ? att_fail_memory(err) : status;
}
