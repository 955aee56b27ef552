/* Writes imported weights as the contents of a model file, with token rows in the order of our ids.
 */
#include "import/model_writer.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/progress.h"
#include "tensor/tensor.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A logit so low that softmax gives exactly 0. */
#define IMPOSSIBLE_LOGIT (-1e9f)

/* ---- vocabularies */

static bool is_special_token(const att_foreign_vocab *foreign, size_t row)
{
    int32_t id = (int32_t)row;
    return id == foreign->unk_id || id == foreign->bos_id || id == foreign->eos_id;
}

att_status att_imported_vocab_new(att_imported_vocab *out, const att_foreign_vocab *foreign,
                                  att_error *err)
{
    size_t count = 0;
    *out = (att_imported_vocab){ .file_rows = att_alloc(foreign->count + ATT_ID_FIRST,
                                                        sizeof *out->file_rows) };
    const char **tokens = att_alloc(foreign->count, sizeof *tokens);
    att_status status = tokens && out->file_rows ? ATT_OK : att_fail_memory(err);
    if (status == ATT_OK) {
        out->file_rows[ATT_ID_UNK] = foreign->unk_id;
        out->file_rows[ATT_ID_BOS] = foreign->bos_id;
        out->file_rows[ATT_ID_EOS] = foreign->eos_id;
        for (size_t i = 0; i < foreign->count; i++)
            if (!is_special_token(foreign, i)) {
                out->file_rows[ATT_ID_FIRST + count] = (int32_t)i;
                tokens[count++] = foreign->tokens[i];
            }
        out->count = count + ATT_ID_FIRST;
        out->file_row_count = foreign->count;
        status = att_vocab_from_tokens(&out->vocab, foreign->kind, foreign->lowercase, tokens,
                                       count, err);
    }
    att_free(tokens);
    if (status != ATT_OK)
        att_imported_vocab_free(out);
    return status;
}

void att_imported_vocab_free(att_imported_vocab *imported)
{
    att_vocab_free(imported->vocab);
    att_free(imported->file_rows);
    *imported = (att_imported_vocab){ 0 };
}

/* ---- tensors */

att_status att_model_writer_add(const att_model_writer *writer, const char *into,
                                const att_tensor *values, att_error *err)
{
    ATT_TRY(att_progress_check(err));
    return att_bundle_add(writer->bundle, into, values, err);
}

/* The rows of a table, or the elements of a vector, in the order of our ids; `missing` for tokens
 * that the file lacks. */
static att_status gather_by_vocab(att_tensor *out, const att_tensor *from,
                                  const att_imported_vocab *imported, float missing, att_error *err)
{
    int64_t shape[2] = { (int64_t)imported->count, from->rank > 1 ? from->shape[1] : 1 };
    size_t width = (size_t)shape[1];
    ATT_TRY(att_tensor_new_uninitialized(out, ATT_F32, from->rank, shape, err));
    float *to = out->data;
    for (size_t i = 0; i < imported->count; i++)
        for (size_t j = 0; j < width; j++)
            to[i * width + j] =
                imported->file_rows[i] < 0
                    ? missing
                    : ((const float *)from->data)[(size_t)imported->file_rows[i] * width + j];
    return ATT_OK;
}

/* Adds the gathered rows, `transposed` if asked for. */
static att_status add_by_vocab(const att_model_writer *writer, const char *into,
                               const att_tensor *from, const att_imported_vocab *imported,
                               float missing, bool transposed, att_error *err)
{
    att_tensor gathered, view;
    if (from->rank < 1 || from->rank > 2 || from->shape[0] != (int64_t)imported->file_row_count) {
        char found[ATT_SHAPE_STRING_SIZE];
        return att_fail(err, ATT_BAD_INPUT, writer->name,
                        "the array for '%s' is %s, expected one row for each of %zu tokens", into,
                        att_shape_to_string(found, from->rank, from->shape),
                        imported->file_row_count);
    }
    ATT_TRY(gather_by_vocab(&gathered, from, imported, missing, err));
    view = gathered;
    att_status status = transposed ? att_tensor_transpose(&view, &gathered, 0, 1, err) : ATT_OK;
    if (status == ATT_OK)
        status = att_model_writer_add(writer, into, &view, err);
    att_tensor_free(&gathered);
    return status;
}

att_status att_model_writer_add_embedding(const att_model_writer *writer, const char *into,
                                          const att_tensor *table,
                                          const att_imported_vocab *imported, att_error *err)
{
    return add_by_vocab(writer, into, table, imported, 0, false, err);
}

att_status att_model_writer_add_output(const att_model_writer *writer, const char *into,
                                       const att_tensor *table, const att_imported_vocab *imported,
                                       att_error *err)
{
    return add_by_vocab(writer, into, table, imported, 0, true, err);
}

att_status att_model_writer_add_output_bias(const att_model_writer *writer, const char *into,
                                            const att_tensor *bias,
                                            const att_imported_vocab *imported, att_error *err)
{
    return add_by_vocab(writer, into, bias, imported, IMPOSSIBLE_LOGIT, false, err);
}

/* ---- the model */

static att_status apply_settings(att_settings *settings, const att_model_writer_metadata *model,
                                 att_error *err)
{
    for (size_t i = 0; i < model->setting_count; i++) {
        const att_model_writer_setting *setting = &model->settings[i];
        char number[24];
        snprintf(number, sizeof number, "%" PRId64, setting->number);
        ATT_TRY(att_settings_set_deferred(
            settings, setting->key, setting->value ? setting->value : number, ATT_FROM_MODEL, err));
    }
    att_settings_apply_defaults(settings);
    return ATT_OK;
}

att_status att_model_writer_finish(const att_model_writer *writer,
                                   const att_model_writer_metadata *model, att_error *err)
{
    att_settings *settings;
    att_string import_json = { 0 };
    ATT_TRY(att_settings_new(&settings, NULL, err));
    att_status status = apply_settings(settings, model, err);
    if (status == ATT_OK)
        status = att_metadata_write(&import_json, model->entries, model->entry_count, err);
    if (status == ATT_OK) {
        const att_model_metadata meta = {
            .architecture =
                att_architectures[att_settings_model_type(settings)][settings->architecture],
            .settings = settings,
            .source_vocab = model->source_vocab,
            .target_vocab = model->target_vocab,
            .import_json = import_json.data
        };
        status = att_model_set_metadata(writer->bundle, &meta, err);
    }
    att_string_free(&import_json);
    att_settings_free(settings);
    return status;
}

att_status att_imported_model_check(att_bundle **bundle, const char *name, att_error *err)
{
    att_model *model;
    att_status status = att_model_from_bundle(&model, *bundle, name, err);
    att_model_free(model);
    if (status != ATT_OK) {
        att_bundle_free(*bundle);
        *bundle = NULL;
    }
    return status;
}
