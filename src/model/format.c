/* Models in files: parameters as tensors by name, all else in the metadata; see model.h. */
#include "model/model.h"

#include "base/error.h"
#include "base/file.h"
#include "base/number.h"
#include "base/quote.h"
#include "base/text.h"
#include "model/format.h"
#include "tensor/bundle.h"
#include "tensor/tensor.h"

#include <math.h>
#include <string.h>

#define KEY_FORMAT      ATT_KEY_FORMAT
#define KEY_FAMILY      ATT_KEY_FAMILY
#define KEY_SETTINGS    "attend.settings"
#define KEY_SOURCE      "attend.source"
#define KEY_TARGET      "attend.target"
#define KEY_TRAINING    "attend.training"
#define KEY_TEMPERATURE "attend.temperature"
#define KEY_IMPORTED    "attend.imported"

/* ---- writing */

static att_status set_notes(att_bundle *bundle, const char *key, const char *json, att_error *err)
{
    return json ? att_bundle_meta_set(bundle, key, json, err) : ATT_OK;
}

static att_status set_vocabulary(att_bundle *bundle, const char *key, const att_vocab *words,
                                 att_text *scratch, att_error *err)
{
    scratch->length = 0;
    ATT_TRY(att_vocab_to_json(scratch, words, err));
    return att_bundle_meta_set(bundle, key, scratch->data, err);
}

static att_status set_temperature(att_bundle *bundle, const att_model *model, att_error *err)
{
    char text[ATT_REAL_WRITTEN];
    if (model->temperature == 1)
        return ATT_OK;
    return att_bundle_meta_set(bundle, KEY_TEMPERATURE, att_real_write(text, model->temperature),
                               err);
}

static att_status set_meta(att_bundle *bundle, const att_model_meta *meta, att_text *scratch,
                           att_error *err)
{
    ATT_TRY(att_bundle_meta_set(bundle, KEY_FORMAT, ATT_MODEL_FORMAT, err));
    ATT_TRY(att_bundle_meta_set(bundle, KEY_FAMILY, meta->family->name, err));
    ATT_TRY(att_settings_to_json(scratch, meta->settings, err));
    ATT_TRY(att_bundle_meta_set(bundle, KEY_SETTINGS, scratch->data, err));
    if (meta->source_words)
        ATT_TRY(set_vocabulary(bundle, KEY_SOURCE, meta->source_words, scratch, err));
    if (!meta->source_words || !meta->settings->joint)
        ATT_TRY(set_vocabulary(bundle, KEY_TARGET, meta->target_words, scratch, err));
    ATT_TRY(set_notes(bundle, KEY_TRAINING, meta->training, err));
    return set_notes(bundle, KEY_IMPORTED, meta->imported, err);
}

att_status att_model_set_meta(att_bundle *bundle, const att_model_meta *meta, att_error *err)
{
    att_text scratch = { 0 };
    att_status status = set_meta(bundle, meta, &scratch, err);
    att_text_free(&scratch);
    return status;
}

att_status att_model_to_bundle(att_bundle *bundle, const att_model *model, const char *training,
                               att_error *err)
{
    const att_model_meta meta = { .family = model->family,
                                  .settings = model->settings,
                                  .source_words = model->source_words,
                                  .target_words = model->target_words,
                                  .training = training,
                                  .imported = model->imported };
    ATT_TRY(att_model_set_meta(bundle, &meta, err));
    ATT_TRY(set_temperature(bundle, model, err));
    return att_params_write(bundle, &model->params, err);
}

att_status att_model_save(const att_model *model, const char *path, att_error *err)
{
    att_bundle *bundle;
    ATT_TRY(att_bundle_new(&bundle, err));
    att_status status = att_model_to_bundle(bundle, model, model->training, err);
    if (status == ATT_OK)
        status = att_safetensors_save(bundle, path, err);
    att_bundle_free(bundle);
    return status;
}

/* ---- reading */

static bool same_shape(const att_tensor *tensor, const att_param *param)
{
    return tensor->rank == param->rank &&
           memcmp(tensor->shape, param->shape, (size_t)param->rank * sizeof *param->shape) == 0;
}

static att_status check_tensor(const att_bundle *bundle, const att_param *param, const char *name,
                               att_error *err)
{
    const att_tensor *tensor = att_bundle_get(bundle, param->name);
    if (!tensor)
        return att_fail(err, ATT_BAD_INPUT, name, "the tensor '%s' of the model is missing",
                        param->name);
    if (same_shape(tensor, param))
        return ATT_OK;
    char found[ATT_SHAPE_TEXT], wanted[ATT_SHAPE_TEXT];
    return att_fail(err, ATT_BAD_INPUT, name,
                    "the tensor '%s' is %s, and by its settings the model needs %s", param->name,
                    att_shape_text(found, tensor->rank, tensor->shape),
                    att_shape_text(wanted, param->rank, param->shape));
}

/* Whether the bundle has the model's tensors and, but for the training loop's, no others. */
static att_status check_tensors(const att_bundle *bundle, const att_params *params,
                                const char *name, att_error *err)
{
    for (int i = 0; i < params->count; i++)
        ATT_TRY(check_tensor(bundle, &params->items[i], name, err));
    for (size_t i = 0; i < att_bundle_count(bundle); i++) {
        const char *tensor = att_bundle_name(bundle, i);
        char quoted[ATT_QUOTED];
        if (strncmp(tensor, ATT_TRAINING_PREFIX, strlen(ATT_TRAINING_PREFIX)) != 0 &&
            att_params_find(params, tensor) < 0)
            return att_fail(err, ATT_BAD_INPUT, name,
                            "the tensor '%s' is none of those that the model's settings ask for",
                            att_quote(quoted, tensor, strlen(tensor)));
    }
    return ATT_OK;
}

/* Asked of whole tensors by their bits, which compilers turn into a few vectors at a time. */
static bool all_finite(const float *values, size_t count)
{
    const uint32_t exponent = 0x7F800000;
    uint32_t odd = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        odd |= (bits & exponent) == exponent;
    }
    return odd == 0;
}

/* One number that is none would make nonsense of every answer, without a word. */
static att_status check_numbers(const att_params *params, const att_param *param, const char *name,
                                att_error *err)
{
    const float *values = params->value + param->offset;
    size_t i = 0;
    if (all_finite(values, param->count))
        return ATT_OK;
    while (isfinite(values[i]))
        i++;
    return att_fail(err, ATT_BAD_INPUT, name,
                    "the tensor '%s' holds %g as its number %zu, expected finite numbers",
                    param->name, (double)values[i], i + 1);
}

static att_status copy_values(att_params *params, const att_bundle *bundle, const char *name,
                              att_error *err)
{
    for (int i = 0; i < params->count; i++) {
        const att_param *param = &params->items[i];
        att_tensor_store(params->value + param->offset, ATT_F32,
                         att_bundle_get(bundle, param->name));
        ATT_TRY(check_numbers(params, param, name, err));
    }
    att_params_changed(params);
    return ATT_OK;
}

att_status att_model_take_values(att_model *model, const att_bundle *bundle, const char *name,
                                 att_error *err)
{
    ATT_TRY(check_tensors(bundle, &model->params, name, err));
    return copy_values(&model->params, bundle, name, err);
}

/* Shapes are compared before anything of their size is allocated: what a file claims costs no more
 * than the file has. */
att_status att_params_read(att_params *params, const att_bundle *bundle, const char *name,
                           att_error *err)
{
    ATT_TRY(check_tensors(bundle, params, name, err));
    ATT_TRY(att_params_allot(params, err));
    return copy_values(params, bundle, name, err);
}

att_status att_params_write(att_bundle *bundle, const att_params *params, att_error *err)
{
    for (int i = 0; i < params->count; i++) {
        att_tensor view = att_param_view(params, i);
        ATT_TRY(att_bundle_add(bundle, params->items[i].name, &view, err));
    }
    return ATT_OK;
}

static att_status need_meta(const char **out, const att_bundle *bundle, const char *key,
                            const char *name, att_error *err)
{
    *out = att_bundle_meta_get(bundle, key);
    if (*out)
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, name,
                    "is a .safetensors file, but no model of attend: its metadata lacks '%s'", key);
}

static att_status find_family(const att_family **out, const att_bundle *bundle, const char *name,
                              att_error *err)
{
    char quoted[ATT_QUOTED];
    const char *format, *family;
    ATT_TRY(need_meta(&format, bundle, KEY_FORMAT, name, err));
    if (strcmp(format, ATT_MODEL_FORMAT) != 0)
        return att_fail(err, ATT_BAD_INPUT, name,
                        "is a model in format %s; attend " ATT_VERSION
                        " reads format " ATT_MODEL_FORMAT,
                        att_quote(quoted, format, strlen(format)));
    ATT_TRY(need_meta(&family, bundle, KEY_FAMILY, name, err));
    for (int i = 0; i < ATT_KINDS * ATT_FAMILIES; i++) {
        *out = att_families[i / ATT_FAMILIES][i % ATT_FAMILIES];
        if (*out && strcmp((*out)->name, family) == 0)
            return ATT_OK;
    }
    if (strcmp(family, ATT_EYES_FAMILY) == 0)
        return att_fail(err, ATT_BAD_INPUT, name,
                        "is a network that looks at photographs (%s), not a model that answers",
                        family);
    return att_fail(err, ATT_BAD_INPUT, name, "is a model of an unknown family '%s'",
                    att_quote(quoted, family, strlen(family)));
}

/* An object of the metadata that may be missing. */
static att_status read_notes(char **out, att_model *model, const att_bundle *bundle,
                             const char *key, const char *name, att_error *err)
{
    const char *notes = att_bundle_meta_get(bundle, key);
    if (!notes)
        return ATT_OK;
    ATT_TRY(att_notes_check(notes, key, name, err));
    *out = att_arena_copy(&model->memory, notes, strlen(notes));
    return *out ? ATT_OK : att_fail_memory(err);
}

static att_status read_settings(att_model *model, const att_bundle *bundle, const char *name,
                                att_error *err)
{
    const char *settings;
    ATT_TRY(need_meta(&settings, bundle, KEY_SETTINGS, name, err));
    ATT_TRY(att_settings_new(&model->own, NULL, err));
    ATT_TRY(att_settings_from_json(model->own, settings, name, err));
    model->settings = model->own;
    if (model->family == att_families[att_settings_kind(model->own)][model->own->family])
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, name, "is of the family '%s', and its settings say another",
                    model->family->name);
}

/* The vocabularies that models of its kind have. */
static att_status read_words(att_model *model, const att_bundle *bundle, const char *name,
                             att_error *err)
{
    const char *source, *target;
    bool reads = att_kind_reads(att_settings_kind(model->own));
    if (reads) {
        ATT_TRY(need_meta(&source, bundle, KEY_SOURCE, name, err));
        ATT_TRY(att_vocab_from_json(&model->own_source, source, name, err));
    }
    model->source_words = model->target_words = model->own_source;
    if (!reads || !model->own->joint) {
        ATT_TRY(need_meta(&target, bundle, KEY_TARGET, name, err));
        ATT_TRY(att_vocab_from_json(&model->own_target, target, name, err));
        model->target_words = model->own_target;
    }
    return ATT_OK;
}

static att_status read_temperature(att_model *model, const att_bundle *bundle, const char *name,
                                   att_error *err)
{
    char quoted[ATT_QUOTED];
    const char *text = att_bundle_meta_get(bundle, KEY_TEMPERATURE);
    if (!text)
        return ATT_OK;
    if (att_real_read(&model->temperature, text) && model->temperature > 0)
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, name, "its temperature is '%s', expected a number above 0",
                    att_quote(quoted, text, strlen(text)));
}

/* Settings and vocabularies, which the model then owns. */
static att_status read_meta(att_model *model, const att_bundle *bundle, const char *name,
                            att_error *err)
{
    ATT_TRY(read_settings(model, bundle, name, err));
    ATT_TRY(read_words(model, bundle, name, err));
    ATT_TRY(read_temperature(model, bundle, name, err));
    ATT_TRY(read_notes(&model->training, model, bundle, KEY_TRAINING, name, err));
    return read_notes(&model->imported, model, bundle, KEY_IMPORTED, name, err);
}

static att_status fill(att_model *model, const att_bundle *bundle, const char *name, att_error *err)
{
    att_error inner = { 0 };
    ATT_TRY(find_family(&model->family, bundle, name, err));
    ATT_TRY(read_meta(model, bundle, name, err));
    att_status status = model->family->build(model, &inner);
    if (status != ATT_OK)
        return att_fail(err, status, name, "%s", inner.message);
    return att_params_read(&model->params, bundle, name, err);
}

att_status att_model_from_bundle(att_model **out, const att_bundle *bundle, const char *name,
                                 att_error *err)
{
    *out = NULL;
    att_model *model = att_model_blank();
    if (!model)
        return att_fail_memory(err);
    att_status status = fill(model, bundle, name, err);
    if (status == ATT_OK)
        *out = model;
    else
        att_model_free(model);
    return status;
}

att_status att_model_read_bundle(att_bundle **out, const char *path, att_error *err)
{
    *out = NULL;
    att_text bytes = { 0 };
    ATT_TRY(att_file_read(&bytes, path, SIZE_MAX, err));
    att_file_kind kind = att_file_kind_of(bytes.data, bytes.length);
    att_status status =
        kind == ATT_FILE_SAFETENSORS
            ? att_safetensors_adopt(out, &bytes, path, err)
            : att_fail(err, ATT_BAD_INPUT, path, "is %s (%zu bytes), expected a model",
                       att_file_kind_name(kind), bytes.length);
    att_text_free(&bytes);
    return status;
}

att_status att_model_load(att_model **out, const char *path, att_error *err)
{
    *out = NULL;
    att_bundle *bundle;
    ATT_TRY(att_model_read_bundle(&bundle, path, err));
    att_status status = att_model_from_bundle(out, bundle, path, err);
    att_bundle_free(bundle);
    return status;
}
