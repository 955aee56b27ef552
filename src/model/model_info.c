/* A description of a model, as text or as JSON: `attend info`. */
#include "model/model.h"

#include "base/error.h"
#include "base/json.h"
#include "base/string.h"
#include "model/model_file.h"
#include "tensor/tensor.h"

#include <string.h>

static size_t value_count(const att_params *params)
{
    size_t count = 0;
    for (int i = 0; i < params->count; i++)
        count += params->items[i].count;
    return count;
}

static int int8_count(const att_params *params)
{
    int count = 0;
    for (int i = 0; i < params->count; i++)
        count += att_param_int8(params, i) != NULL;
    return count;
}

/* ---- text */

/* Prints the key of a setting and its value; nothing for a setting without a value. */
static att_status setting_line(att_string *out, const att_model *model, const att_setting *setting)
{
    att_string value = { 0 };
    att_status status = att_settings_get(&value, model->settings, setting->key, NULL);
    if (status == ATT_OK && value.length > 0)
        status =
            att_string_printf(out, "  %-*s %s\n", ATT_INFO_KEY_WIDTH, setting->key, value.data);
    att_string_free(&value);
    return status;
}

/* Whether a group of settings describes a model, not its training. */
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

/* Prints the settings that apply to the task and the architecture, by group. Output files of the
 * run are not saved in a model, and how an imported model was trained is not known. */
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
        ATT_TRY(att_string_printf(out, "  %-26s %s%s\n", param->name,
                                  att_shape_to_string(shape, param->rank, param->shape),
                                  att_param_int8(params, i) ? " int8" : ""));
    }
    return ATT_OK;
}

static att_status vocabulary_line(att_string *out, const char *name, const att_vocab *vocab)
{
    return att_string_printf(out, "  %-*s %d, tokens: %s\n", ATT_INFO_KEY_WIDTH, name,
                             att_vocab_size(vocab),
                             att_tokenizer_kind_names[att_vocab_tokenizer_kind(vocab)]);
}

static att_status info_text(att_string *out, const att_model *model)
{
    ATT_TRY(att_string_printf(out, "%s model with %zu parameters in %d tensors\n",
                              model->architecture->name, value_count(&model->params),
                              model->params.count));
    if (model->params.int8)
        ATT_TRY(att_string_printf(out, "  %-*s int8 in %d tensors\n", ATT_INFO_KEY_WIDTH,
                                  "precision", int8_count(&model->params)));
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

static void put_vocabulary(att_json_writer *out, const char *key, const att_vocab *vocab)
{
    att_json_begin_object(out, key);
    att_json_put_string(out, "tokens", att_tokenizer_kind_names[att_vocab_tokenizer_kind(vocab)]);
    att_json_put_integer(out, "size", att_vocab_size(vocab));
    att_json_end(out);
}

static void put_tensors(att_json_writer *out, const att_params *params)
{
    att_json_begin_array(out, "tensors");
    for (int i = 0; i < params->count; i++) {
        const att_param *param = &params->items[i];
        att_json_begin_object(out, NULL);
        att_json_put_string(out, "name", param->name);
        att_json_begin_array(out, "shape");
        for (int d = 0; d < param->rank; d++)
            att_json_put_integer(out, NULL, param->shape[d]);
        att_json_end(out);
        att_json_put_string(out, "dtype", att_param_int8(params, i) ? "int8" : "float32");
        att_json_end(out);
    }
    att_json_end(out);
}

/* Writes JSON that was checked when the model was loaded, or null. */
static void put_json(att_json_writer *out, const char *key, const char *json)
{
    if (json)
        att_json_put_raw(out, key, json, strlen(json));
    else
        att_json_put_null(out, key);
}

static void put_kind(att_json_writer *out, const att_model *model)
{
    static const char *const architectures[] = { [ATT_ARCHITECTURE_RNN] = "rnn",
                                                 [ATT_ARCHITECTURE_TRANSFORMER] = "transformer",
                                                 [ATT_ARCHITECTURE_CNN] = "cnn" };
    static const char *const types[] = { [ATT_MODEL_SEQ2SEQ] = "seq2seq",
                                         [ATT_MODEL_LM] = "lm",
                                         [ATT_MODEL_CLASSIFIER] = "classifier",
                                         [ATT_MODEL_CAPTION] = "caption",
                                         [ATT_MODEL_TAGGER] = "tagger" };
    att_json_put_string(out, "architecture", architectures[model->settings->architecture]);
    att_json_put_string(out, "type", types[att_settings_model_type(model->settings)]);
}

static att_status info_json(att_string *out, const att_model *model, att_error *err)
{
    att_string settings = { 0 };
    att_status status = att_settings_to_json(&settings, model->settings, err);
    if (status != ATT_OK) {
        att_string_free(&settings);
        return status;
    }
    att_json_writer json = att_json_begin(out, ATT_JSON_EXACT);
    att_json_begin_object(&json, NULL);
    att_json_put_raw(&json, "format", ATT_MODEL_FORMAT, strlen(ATT_MODEL_FORMAT));
    put_kind(&json, model);
    if (model->source_vocab)
        put_vocabulary(&json, "source_vocab", model->source_vocab);
    put_vocabulary(&json, "target_vocab", model->target_vocab);
    att_json_put_string(&json, "precision", model->params.int8 ? "int8" : "float32");
    att_json_put_integer(&json, "parameters", (int64_t)value_count(&model->params));
    put_tensors(&json, &model->params);
    put_json(&json, "settings", settings.data);
    put_json(&json, "training", model->training_json);
    put_json(&json, "import", model->import_json);
    att_json_end(&json);
    att_string_free(&settings);
    ATT_TRY(att_json_finish(&json, NULL, err));
    return att_string_puts(out, "\n");
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
