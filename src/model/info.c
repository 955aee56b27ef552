/* What is inside a model, told to people and to programs. */
#include "model/model.h"

#include "base/error.h"
#include "base/text.h"
#include "model/format.h"
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
static const char *tokens_word(const att_vocab *vocab)
{
    return att_setting_find("source-tokens")->words[att_vocab_tokens(vocab)];
}

/* ---- text */

/* The values of a setting: the key, then the value, in line with the others. */
static att_status setting_line(att_text *out, const att_model *model, const att_setting *setting)
{
    att_text value = { 0 };
    att_status status = att_settings_get(&value, model->settings, setting->key, NULL);
    if (status == ATT_OK && value.length > 0)
        status = att_text_print(out, "  %-18s %s\n", setting->key, value.data);
    att_text_free(&value);
    return status;
}

/* Whether a group of settings tells what a model is, or how one was trained. */
static bool is_of_model(const char *group)
{
    static const char *const groups[] = { "task", "tokens", "model", "recurrent", "transformer" };
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (strcmp(groups[i], group) == 0)
            return true;
    return false;
}

static bool is_told(const att_model *model, const att_setting *setting)
{
    return att_settings_use(model->settings, setting) && strcmp(setting->group, "output") != 0 &&
           (!model->imported || is_of_model(setting->group));
}

/* The settings that concern the task and the family, by group. What this run wrote where is not
 * kept, and how others have trained is not known. */
static att_status settings_lines(att_text *out, const att_model *model)
{
    att_status status = ATT_OK;
    const char *group = "";
    for (size_t i = 0; i < att_setting_count() && status == ATT_OK; i++) {
        const att_setting *setting = att_setting_get(i);
        if (!is_told(model, setting))
            continue;
        if (strcmp(setting->group, group) != 0 && strcmp(setting->group, "task") != 0)
            status = att_text_print(out, "%s\n", setting->group);
        group = setting->group;
        if (status == ATT_OK)
            status = setting_line(out, model, setting);
    }
    return status;
}

static att_status parameter_lines(att_text *out, const att_params *params)
{
    ATT_TRY(att_text_puts(out, "parameters\n"));
    for (int i = 0; i < params->count; i++) {
        char shape[ATT_SHAPE_TEXT];
        const att_param *param = &params->items[i];
        ATT_TRY(att_text_print(out, "  %-26s %s\n", param->name,
                               att_shape_text(shape, param->rank, param->shape)));
    }
    return ATT_OK;
}

static att_status vocabulary_line(att_text *out, const char *name, const att_vocab *vocab)
{
    return att_text_print(out, "  %-18s %d, tokens: %s\n", name, att_vocab_size(vocab),
                          tokens_word(vocab));
}

static att_status info_text(att_text *out, const att_model *model)
{
    ATT_TRY(att_text_print(out, "a %s model with %zu parameters in %d tensors\n",
                           model->family->name, value_count(&model->params), model->params.count));
    const char *target = model->source_words ? "target vocabulary" : "vocabulary";
    if (model->source_words)
        ATT_TRY(vocabulary_line(out, "source vocabulary", model->source_words));
    ATT_TRY(vocabulary_line(out, target, model->target_words));
    if (model->training) {
        ATT_TRY(att_text_puts(out, "trained\n"));
        ATT_TRY(att_notes_lines(out, model->training));
    }
    if (model->imported) {
        ATT_TRY(att_text_puts(out, "imported\n"));
        ATT_TRY(att_notes_lines(out, model->imported));
    }
    ATT_TRY(settings_lines(out, model));
    return parameter_lines(out, &model->params);
}

/* ---- JSON */

static att_status vocabulary_json(att_text *out, const char *key, const att_vocab *vocab)
{
    return att_text_print(out, "\"%s\":{\"tokens\":\"%s\",\"size\":%d},", key, tokens_word(vocab),
                          att_vocab_size(vocab));
}

static att_status tensors_json(att_text *out, const att_params *params)
{
    for (int i = 0; i < params->count; i++) {
        const att_param *param = &params->items[i];
        ATT_TRY(
            att_text_print(out, "%s{\"name\":\"%s\",\"shape\":[", i > 0 ? "," : "", param->name));
        for (int d = 0; d < param->rank; d++)
            ATT_TRY(att_text_print(out, "%s%" PRId64, d > 0 ? "," : "", param->shape[d]));
        ATT_TRY(att_text_puts(out, "]}"));
    }
    return ATT_OK;
}

static att_status info_json(att_text *out, const att_model *model, att_error *err)
{
    ATT_TRY(att_text_print(out, "{\"format\":%s,\"family\":\"%s\",", ATT_MODEL_FORMAT,
                           model->family->name));
    if (model->source_words)
        ATT_TRY(vocabulary_json(out, "source", model->source_words));
    ATT_TRY(vocabulary_json(out, "target", model->target_words));
    ATT_TRY(att_text_print(out, "\"parameters\":%zu,\"tensors\":[", value_count(&model->params)));
    ATT_TRY(tensors_json(out, &model->params));
    ATT_TRY(att_text_puts(out, "],\"settings\":"));
    ATT_TRY(att_settings_to_json(out, model->settings, err));
    ATT_TRY(att_text_print(out, ",\"training\":%s,\"imported\":%s}\n",
                           model->training ? model->training : "null",
                           model->imported ? model->imported : "null"));
    return ATT_OK;
}

att_status att_model_info(att_text *out, const att_model *model, bool json, att_error *err)
{
    size_t before = out->length;
    att_status status = json ? info_json(out, model, err) : info_text(out, model);
    if (status == ATT_OK)
        return ATT_OK;
    out->length = before;
    return status == ATT_NO_MEMORY ? att_fail_memory(err) : status;
}
