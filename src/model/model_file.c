/* Model files: parameters as tensors by name, everything else in the metadata. The metadata keys
 * are listed in model.h. */
#include "model/model.h"

#include "base/error.h"
#include "base/file.h"
#include "base/number.h"
#include "base/options.h"
#include "base/progress.h"
#include "base/quote.h"
#include "base/string.h"
#include "model/model_file.h"
#include "tensor/bundle.h"
#include "tensor/checksum.h"
#include "tensor/tensor.h"

#include <math.h>
#include <string.h>

#define KEY_FORMAT       ATT_KEY_FORMAT
#define KEY_ARCHITECTURE ATT_KEY_ARCHITECTURE
#define KEY_SETTINGS     "attend.settings"
#define KEY_SOURCE       "attend.source_vocab"
#define KEY_TARGET       "attend.target_vocab"
#define KEY_TRAINING     "attend.training"
#define KEY_TEMPERATURE  "attend.temperature"
#define KEY_IMPORT       "attend.import"
#define KEY_RATIO        "attend.output_ratio"
#define KEY_EXCESS       "attend.output_excess"
#define KEY_PRECISION    ATT_KEY_PRECISION

/* ---- writing */

static att_status set_metadata_json(att_bundle *bundle, const char *key, const char *json,
                                    att_error *err)
{
    return json ? att_bundle_meta_set(bundle, key, json, err) : ATT_OK;
}

static att_status set_vocabulary(att_bundle *bundle, const char *key, const att_vocab *vocab,
                                 att_string *scratch, att_error *err)
{
    scratch->length = 0;
    ATT_TRY(att_vocab_to_json(scratch, vocab, err));
    return att_bundle_meta_set(bundle, key, scratch->data, err);
}

static att_status set_number(att_bundle *bundle, const char *key, double value, att_error *err)
{
    char text[ATT_DOUBLE_STRING_SIZE];
    return att_bundle_meta_set(bundle, key, att_double_format(text, value), err);
}

static att_status set_temperature(att_bundle *bundle, double temperature, att_error *err)
{
    return temperature == 1 ? ATT_OK : set_number(bundle, KEY_TEMPERATURE, temperature, err);
}

static att_status set_output_length(att_bundle *bundle, const att_output_length *length,
                                    att_error *err)
{
    if (!(length->ratio > 0))
        return ATT_OK;
    ATT_TRY(set_number(bundle, KEY_RATIO, length->ratio, err));
    return set_number(bundle, KEY_EXCESS, length->excess, err);
}

static att_status set_all_metadata(att_bundle *bundle, const att_model_metadata *meta,
                                   att_string *scratch, att_error *err)
{
    ATT_TRY(att_bundle_meta_set(bundle, KEY_FORMAT, ATT_MODEL_FORMAT, err));
    ATT_TRY(att_bundle_meta_set(bundle, KEY_ARCHITECTURE, meta->architecture->name, err));
    ATT_TRY(att_settings_to_json(scratch, meta->settings, err));
    ATT_TRY(att_bundle_meta_set(bundle, KEY_SETTINGS, scratch->data, err));
    if (meta->source_vocab)
        ATT_TRY(set_vocabulary(bundle, KEY_SOURCE, meta->source_vocab, scratch, err));
    if (!meta->source_vocab || !meta->settings->joint ||
        !att_vocab_equal(meta->source_vocab, meta->target_vocab))
        ATT_TRY(set_vocabulary(bundle, KEY_TARGET, meta->target_vocab, scratch, err));
    if (meta->int8)
        ATT_TRY(att_bundle_meta_set(bundle, KEY_PRECISION, ATT_PRECISION_INT8_NAME, err));
    ATT_TRY(set_metadata_json(bundle, KEY_TRAINING, meta->training_json, err));
    return set_metadata_json(bundle, KEY_IMPORT, meta->import_json, err);
}

att_status att_model_set_metadata(att_bundle *bundle, const att_model_metadata *meta,
                                  att_error *err)
{
    att_string scratch = { 0 };
    att_status status = set_all_metadata(bundle, meta, &scratch, err);
    att_string_free(&scratch);
    return status;
}

att_status att_model_metadata_to_bundle(att_bundle *bundle, const att_model *model,
                                        double temperature, const char *training, att_error *err)
{
    const att_model_metadata meta = { .architecture = model->architecture,
                                      .settings = model->settings,
                                      .source_vocab = model->source_vocab,
                                      .target_vocab = model->target_vocab,
                                      .int8 = model->params.int8 != NULL,
                                      .training_json = training,
                                      .import_json = model->import_json };
    ATT_TRY(att_model_set_metadata(bundle, &meta, err));
    ATT_TRY(set_output_length(bundle, &model->output_length, err));
    return set_temperature(bundle, temperature, err);
}

att_status att_model_to_bundle(att_bundle *bundle, const att_model *model, double temperature,
                               const char *training, att_error *err)
{
    ATT_TRY(att_model_metadata_to_bundle(bundle, model, temperature, training, err));
    return att_params_to_bundle(bundle, &model->params, err);
}

static att_status bundle_of_model(att_bundle **out, const att_model *model, att_error *err)
{
    ATT_TRY(att_bundle_new(out, err));
    return att_model_to_bundle(*out, model, model->temperature, model->training_json, err);
}

att_status att_model_save(const att_model *model, const char *path, att_error *err)
{
    att_bundle *bundle = NULL;
    att_status status = bundle_of_model(&bundle, model, err);
    if (status == ATT_OK)
        status = att_safetensors_save(bundle, path, err);
    att_bundle_free(bundle);
    return status;
}

att_status att_model_write(att_string *out, const att_model *model, att_error *err)
{
    att_bundle *bundle = NULL;
    att_status status = bundle_of_model(&bundle, model, err);
    if (status == ATT_OK)
        status = att_safetensors_write(out, bundle, "model", err);
    att_bundle_free(bundle);
    return status;
}

/* ---- reading */

static att_status require_metadata(const char **out, const att_bundle *bundle, const char *key,
                                   const char *name, att_error *err)
{
    *out = att_bundle_meta_get(bundle, key);
    if (*out)
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, name,
                    "is a .safetensors file, but not a model of attend: its metadata lacks '%s'",
                    key);
}

att_status att_model_check_format(const att_bundle *bundle, const char *name, att_error *err)
{
    char quoted[ATT_QUOTED_SIZE];
    const char *format;
    ATT_TRY(require_metadata(&format, bundle, KEY_FORMAT, name, err));
    if (strcmp(format, ATT_MODEL_FORMAT) == 0)
        return ATT_OK;
    if (strcmp(format, "1") == 0)
        return att_fail(err, ATT_BAD_INPUT, name,
                        "is a model of attend 0.1 (format 1); attend 0.2 reads format 2: train or "
                        "import it again");
    if (strncmp(format, ATT_TOKENS_FORMAT_PREFIX, strlen(ATT_TOKENS_FORMAT_PREFIX)) == 0)
        return att_fail(err, ATT_BAD_INPUT, name, ATT_TOKENS_NOT_MODEL);
    return att_fail(err, ATT_BAD_INPUT, name,
                    "has format '%s'; attend " ATT_VERSION " reads format " ATT_MODEL_FORMAT,
                    att_quote(quoted, format, strlen(format)));
}

static att_status find_architecture(const att_architecture **out, const att_bundle *bundle,
                                    const char *name, att_error *err)
{
    char quoted[ATT_QUOTED_SIZE];
    const char *architecture;
    ATT_TRY(att_model_check_format(bundle, name, err));
    ATT_TRY(require_metadata(&architecture, bundle, KEY_ARCHITECTURE, name, err));
    for (int i = 0; i < ATT_MODEL_TYPES * ATT_ARCHITECTURE_COUNT; i++) {
        *out = att_architectures[i / ATT_ARCHITECTURE_COUNT][i % ATT_ARCHITECTURE_COUNT];
        if (*out && strcmp((*out)->name, architecture) == 0)
            return ATT_OK;
    }
    if (strcmp(architecture, ATT_IMAGE_ENCODER_ARCHITECTURE) == 0)
        return att_fail(err, ATT_BAD_INPUT, name, "is an image encoder (%s), expected a model",
                        architecture);
    return att_fail(err, ATT_BAD_INPUT, name, "has the unknown architecture '%s'",
                    att_quote(quoted, architecture, strlen(architecture)));
}

/* Reads an optional JSON object of the metadata. */
static att_status read_metadata_json(char **out, att_model *model, const att_bundle *bundle,
                                     const char *key, const char *name, att_error *err)
{
    const char *json = att_bundle_meta_get(bundle, key);
    if (!json)
        return ATT_OK;
    ATT_TRY(att_metadata_check(json, key, name, err));
    *out = att_arena_strndup(&model->arena, json, strlen(json));
    return *out ? ATT_OK : att_fail_memory(err);
}

static att_status read_settings(att_model *model, const att_bundle *bundle, const char *name,
                                att_error *err)
{
    const char *settings;
    ATT_TRY(require_metadata(&settings, bundle, KEY_SETTINGS, name, err));
    ATT_TRY(att_settings_new(&model->owned_settings, NULL, err));
    ATT_TRY(att_settings_from_json(model->owned_settings, settings, name, err));
    model->settings = model->owned_settings;
    if (model->architecture == att_architectures[att_settings_model_type(model->owned_settings)]
                                                [model->owned_settings->architecture])
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, name,
                    "has the architecture '%s', but its settings are of another",
                    model->architecture->name);
}

static att_vocab_role target_role(att_model_type type)
{
    switch (type) {
    case ATT_MODEL_LM:
        return ATT_VOCAB_TEXT;
    case ATT_MODEL_CLASSIFIER:
        return ATT_VOCAB_LABELS;
    case ATT_MODEL_TAGGER:
        return ATT_VOCAB_TAGS;
    case ATT_MODEL_SEQ2SEQ:
    case ATT_MODEL_CAPTION:
        break;
    }
    return ATT_VOCAB_TARGET;
}

/* Reads the vocabularies that models of its type have. */
static att_status read_vocabularies(att_model *model, const att_bundle *bundle, const char *name,
                                    att_error *err)
{
    const char *source, *target;
    att_model_type type = att_settings_model_type(model->owned_settings);
    bool reads = att_model_type_has_source_vocab(type);
    if (reads) {
        ATT_TRY(require_metadata(&source, bundle, KEY_SOURCE, name, err));
        ATT_TRY(att_vocab_from_json(&model->owned_source_vocab, source, name, err));
        /* a tagger has a label for each word of a line */
        ATT_TRY(att_vocab_check_role(model->owned_source_vocab,
                                     type == ATT_MODEL_TAGGER ? ATT_VOCAB_TAGS : ATT_VOCAB_SOURCE,
                                     name, err));
    }
    model->source_vocab = model->target_vocab = model->owned_source_vocab;
    bool joint = reads && model->owned_settings->joint;
    if (!joint || att_bundle_meta_get(bundle, KEY_TARGET)) {
        ATT_TRY(require_metadata(&target, bundle, KEY_TARGET, name, err));
        ATT_TRY(att_vocab_from_json(&model->owned_target_vocab, target, name, err));
        model->target_vocab = model->owned_target_vocab;
    }
    if (joint && !att_vocab_same_tokens(model->source_vocab, model->target_vocab))
        return att_fail(err, ATT_BAD_INPUT, name,
                        "its vocabularies have different tokens, expected the same (joint)");
    return att_vocab_check_role(model->target_vocab, joint ? ATT_VOCAB_JOINT : target_role(type),
                                name, err);
}

static att_status read_temperature(att_model *model, const att_bundle *bundle, const char *name,
                                   att_error *err)
{
    char quoted[ATT_QUOTED_SIZE];
    const char *text = att_bundle_meta_get(bundle, KEY_TEMPERATURE);
    if (!text)
        return ATT_OK;
    if (att_double_parse(&model->temperature, text) && model->temperature > 0)
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, name, "its temperature is '%s', expected a number above 0",
                    att_quote(quoted, text, strlen(text)));
}

/* Reads an optional number of 0 to ATT_OUTPUT_LENGTH_MAX. */
static att_status read_output_number(double *out, const att_bundle *bundle, const char *key,
                                     const char *name, att_error *err)
{
    char quoted[ATT_QUOTED_SIZE];
    const char *text = att_bundle_meta_get(bundle, key);
    if (!text || (att_double_parse(out, text) && *out >= 0 && *out <= ATT_OUTPUT_LENGTH_MAX))
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, name, "its '%s' is '%s', expected a number from 0 to %d",
                    key, att_quote(quoted, text, strlen(text)), ATT_OUTPUT_LENGTH_MAX);
}

/* Reads settings and vocabularies, which the model owns. */
static att_status read_metadata(att_model *model, const att_bundle *bundle, const char *name,
                                att_error *err)
{
    ATT_TRY(read_settings(model, bundle, name, err));
    ATT_TRY(read_vocabularies(model, bundle, name, err));
    ATT_TRY(read_temperature(model, bundle, name, err));
    ATT_TRY(read_output_number(&model->output_length.ratio, bundle, KEY_RATIO, name, err));
    ATT_TRY(read_output_number(&model->output_length.excess, bundle, KEY_EXCESS, name, err));
    ATT_TRY(read_metadata_json(&model->training_json, model, bundle, KEY_TRAINING, name, err));
    return read_metadata_json(&model->import_json, model, bundle, KEY_IMPORT, name, err);
}

/* Which values are to be int8: by the request, else by the file. */
static att_status choose_int8(att_int8_scope *out, const att_bundle *bundle,
                              att_precision precision, const char *name, att_error *err)
{
    char quoted[ATT_QUOTED_SIZE];
    const char *stored = att_bundle_meta_get(bundle, KEY_PRECISION);
    if (stored && strcmp(stored, ATT_PRECISION_INT8_NAME) != 0)
        return att_fail(err, ATT_BAD_INPUT, name, "its '" KEY_PRECISION "' is '%s', expected int8",
                        att_quote(quoted, stored, strlen(stored)));
    *out = precision == ATT_PRECISION_INT8               ? ATT_INT8_ALL
           : precision == ATT_PRECISION_STORED && stored ? ATT_INT8_STORED
                                                         : ATT_INT8_NONE;
    return ATT_OK;
}

static att_status fill(att_model *model, const att_bundle *bundle, att_precision precision,
                       const char *name, att_error *err)
{
    att_error inner = { 0 };
    att_int8_scope int8 = ATT_INT8_NONE;
    ATT_TRY(choose_int8(&int8, bundle, precision, name, err));
    ATT_TRY(find_architecture(&model->architecture, bundle, name, err));
    ATT_TRY(read_metadata(model, bundle, name, err));
    att_status status = model->architecture->build(model, &inner);
    if (status != ATT_OK)
        return att_fail(err, status, name, "%s", inner.message);
    return att_params_from_bundle(&model->params, bundle, int8, name, err);
}

att_status att_model_from_bundle(att_model **out, const att_bundle *bundle, const char *name,
                                 att_error *err)
{
    return att_model_from_bundle_as(out, bundle, ATT_PRECISION_STORED, name, err);
}

att_status att_model_from_bundle_as(att_model **out, const att_bundle *bundle,
                                    att_precision precision, const char *name, att_error *err)
{
    *out = NULL;
    att_model *model = att_model_alloc();
    if (!model)
        return att_fail_memory(err);
    att_status status = fill(model, bundle, precision, name, err);
    if (status == ATT_OK)
        *out = model;
    else
        att_model_free(model);
    return status;
}

static att_status check_file_format(const void *bytes, size_t size, const char *name,
                                    att_error *err)
{
    att_file_format format = att_file_format_detect(bytes, size);
    if (format == ATT_FILE_SAFETENSORS)
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, name, "is %s (%zu bytes), expected a model",
                    att_file_format_name(format), size);
}

static att_status load_bundle(att_bundle **out, const char *path, att_verify_scope verified,
                              att_error *err)
{
    *out = NULL;
    att_string bytes = { 0 };
    ATT_TRY(att_file_read(&bytes, path, SIZE_MAX, err));
    att_status status = check_file_format(bytes.data, bytes.length, path, err);
    if (status == ATT_OK)
        status = att_safetensors_read_in_place(
            out, &bytes, (att_safetensors_options){ .scope = verified, .keeps_int8 = true }, path,
            err);
    att_string_free(&bytes);
    return status;
}

att_status att_model_load_bundle(att_bundle **out, const char *path, att_error *err)
{
    return load_bundle(out, path, ATT_VERIFY_FILE, err);
}

att_status att_model_read_bundle(att_bundle **out, const void *bytes, size_t size, const char *name,
                                 att_error *err)
{
    *out = NULL;
    ATT_TRY(check_file_format(bytes, size, name, err));
    return att_safetensors_read_model(out, bytes, size, name, err);
}

static att_status load_model(att_model **out, const char *path, att_precision precision,
                             att_verify_scope verified, att_error *err)
{
    *out = NULL;
    att_bundle *bundle;
    att_progress_scope scope;
    att_progress_begin(&scope, "loading", 0);
    att_status status = load_bundle(&bundle, path, verified, err);
    if (status == ATT_OK)
        status = att_model_from_bundle_as(out, bundle, precision, path, err);
    status = att_progress_end(&scope, status, err);
    att_bundle_free(bundle);
    if (status != ATT_OK) {
        att_model_free(*out);
        *out = NULL;
    }
    return status;
}

att_status att_model_load(att_model **out, const char *path, att_error *err)
{
    return load_model(out, path, ATT_PRECISION_STORED, ATT_VERIFY_FILE, err);
}

att_status att_model_load_unverified(att_model **out, const char *path, att_error *err)
{
    return load_model(out, path, ATT_PRECISION_STORED, ATT_VERIFY_HEADER, err);
}

/* The options of a caller, checked. */
static att_status resolve_options(att_model_load_options *out,
                                  const att_model_load_options *options, att_error *err)
{
    ATT_TRY(ATT_OPTIONS_COPY(att_model_load_options, out, options, err));
    if ((unsigned)out->precision <= ATT_PRECISION_INT8)
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, "precision", "%d is not an att_precision",
                    (int)out->precision);
}

att_status att_model_load_with(att_model **out, const char *path,
                               const att_model_load_options *options, att_error *err)
{
    att_model_load_options resolved;
    *out = NULL;
    ATT_TRY(resolve_options(&resolved, options, err));
    return load_model(out, path, resolved.precision, ATT_VERIFY_FILE, err);
}

att_status att_model_read(att_model **out, const void *bytes, size_t size, const char *name,
                          att_error *err)
{
    return att_model_read_with(out, bytes, size, name, NULL, err);
}

att_status att_model_read_with(att_model **out, const void *bytes, size_t size, const char *name,
                               const att_model_load_options *options, att_error *err)
{
    att_model_load_options resolved;
    *out = NULL;
    ATT_TRY(resolve_options(&resolved, options, err));
    att_bundle *bundle;
    att_progress_scope scope;
    att_progress_begin(&scope, "loading", 0);
    att_status status = att_model_read_bundle(&bundle, bytes, size, name, err);
    if (status == ATT_OK)
        status = att_model_from_bundle_as(out, bundle, resolved.precision, name, err);
    status = att_progress_end(&scope, status, err);
    att_bundle_free(bundle);
    if (status != ATT_OK) {
        att_model_free(*out);
        *out = NULL;
    }
    return status;
}

att_status att_model_quantize(att_model **out, const att_model *model, att_error *err)
{
    *out = NULL;
    att_bundle *bundle = NULL;
    att_status status = bundle_of_model(&bundle, model, err);
    if (status == ATT_OK)
        status = att_model_from_bundle_as(out, bundle, ATT_PRECISION_INT8, "model", err);
    att_bundle_free(bundle);
    return status;
}

att_precision att_model_precision(const att_model *model)
{
    return model->params.int8 ? ATT_PRECISION_INT8 : ATT_PRECISION_FLOAT32;
}

att_status att_model_require_float(const att_model *model, const char *name, const char *what,
                                   att_error *err)
{
    if (!model->params.int8)
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, name,
                    "%sis an int8 model, but %s needs float weights: use the model that it was "
                    "quantized from",
                    name ? "" : "this ", what);
}
