/* Writes imported weights as the contents of a model file, with token rows in the order of our ids.
 */
#include "import/model_writer.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/progress.h"
#include "tensor/bundle.h"
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

static att_status check_rows(const att_model_writer *writer, const char *into,
                             const att_tensor *from, const att_imported_vocab *imported,
                             att_error *err)
{
    char found[ATT_SHAPE_STRING_SIZE];
    if (from->rank >= 1 && from->rank <= 2 && from->shape[0] == (int64_t)imported->file_row_count)
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, writer->name,
                    "the array for '%s' is %s, expected one row for each of %zu tokens", into,
                    att_shape_to_string(found, from->rank, from->shape), imported->file_row_count);
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
    ATT_TRY(check_rows(writer, into, from, imported, err));
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

/* Row `row` of the integers goes to row or column `i` of `to`. */
static void copy_int8_row(att_tensor *to, size_t i, const att_int8_rows_view *matrix, size_t row)
{
    size_t width = (size_t)matrix->integers->shape[1];
    const int8_t *from = (const int8_t *)matrix->integers->data + row * width;
    int8_t *integers = to->data;
    if (!matrix->transposed) {
        memcpy(integers + i * width, from, width);
        return;
    }
    size_t columns = (size_t)to->shape[1];
    for (size_t j = 0; j < width; j++)
        integers[j * columns + i] = from[j];
}

/* The tensors of the model, which are zeros: for tokens that the file lacks, they stay so. */
static void fill_int8(att_tensor *integers, att_tensor *scales, const att_int8_rows_view *matrix)
{
    const float *from = matrix->scales->data;
    for (size_t i = 0; i < (size_t)scales->shape[0]; i++) {
        int64_t row = matrix->vocab ? matrix->vocab->file_rows[i] : (int64_t)i;
        if (row < 0)
            continue;
        ((float *)scales->data)[i] = from[row];
        copy_int8_row(integers, i, matrix, (size_t)row);
    }
}

att_status att_model_writer_add_int8(att_model_writer *writer, const char *into,
                                     const att_int8_rows_view *matrix, att_error *err)
{
    enum { NAME_SIZE = 160 };
    char scale_name[NAME_SIZE];
    ATT_TRY(att_progress_check(err));
    if (matrix->vocab)
        ATT_TRY(check_rows(writer, into, matrix->integers, matrix->vocab, err));
    int64_t rows = matrix->vocab ? (int64_t)matrix->vocab->count : matrix->integers->shape[0];
    int64_t shape[2];
    shape[matrix->transposed] = rows;
    shape[!matrix->transposed] = matrix->integers->shape[1];
    att_tensor integers = { 0 }, scales = { 0 };
    att_status status = att_tensor_new(&integers, ATT_I8, 2, shape, err);
    if (status == ATT_OK)
        status = att_tensor_new(&scales, ATT_F32, 1, &rows, err);
    if (status == ATT_OK) {
        fill_int8(&integers, &scales, matrix);
        status = att_bundle_take(writer->bundle, into, &integers, err);
    }
    snprintf(scale_name, sizeof scale_name, "%s" ATT_SCALE_SUFFIX, into);
    if (status == ATT_OK)
        status = att_bundle_take(writer->bundle, scale_name, &scales, err);
    writer->int8 = true;
    att_tensor_free(&integers);
    att_tensor_free(&scales);
    return status;
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
            .int8 = writer->int8,
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
