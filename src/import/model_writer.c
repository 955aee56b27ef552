/* Foreign weights as the contents of a model file; see graft.h. */
#include "import/model_writer.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/progress.h"
#include "tensor/tensor.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A score so low that its token has the probability 0 exactly. */
#define IMPOSSIBLE_LOGIT (-1e9f)

/* ---- words */

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
    const char **own = att_alloc(foreign->count, sizeof *own);
    att_status status = own && out->file_rows ? ATT_OK : att_fail_memory(err);
    if (status == ATT_OK) {
        out->file_rows[ATT_ID_UNK] = foreign->unk_id;
        out->file_rows[ATT_ID_BOS] = foreign->bos_id;
        out->file_rows[ATT_ID_EOS] = foreign->eos_id;
        for (size_t i = 0; i < foreign->count; i++)
            if (!is_special_token(foreign, i)) {
                out->file_rows[ATT_ID_FIRST + count] = (int32_t)i;
                own[count++] = foreign->tokens[i];
            }
        out->count = count + ATT_ID_FIRST;
        out->file_row_count = foreign->count;
        status =
            att_vocab_from_tokens(&out->vocab, foreign->kind, foreign->lowercase, own, count, err);
    }
    att_free(own);
    if (status != ATT_OK)
        att_imported_vocab_free(out);
    return status;
}

void att_imported_vocab_free(att_imported_vocab *words)
{
    att_vocab_free(words->vocab);
    att_free(words->file_rows);
    *words = (att_imported_vocab){ 0 };
}

/* ---- tensors */

att_status att_model_writer_add(const att_model_writer *graft, const char *into,
                                const att_tensor *values, att_error *err)
{
    ATT_TRY(att_progress_check(err));
    return att_bundle_add(graft->bundle, into, values, err);
}

/* Rows of a table or numbers of a vector, by words; `missing` for those that the file lacks. */
static att_status gather_by_vocab(att_tensor *out, const att_tensor *from,
                                  const att_imported_vocab *words, float missing, att_error *err)
{
    int64_t shape[2] = { (int64_t)words->count, from->rank > 1 ? from->shape[1] : 1 };
    size_t width = (size_t)shape[1];
    ATT_TRY(att_tensor_new_uninitialized(out, ATT_F32, from->rank, shape, err));
    float *to = out->data;
    for (size_t i = 0; i < words->count; i++)
        for (size_t j = 0; j < width; j++)
            to[i * width + j] =
                words->file_rows[i] < 0
                    ? missing
                    : ((const float *)from->data)[(size_t)words->file_rows[i] * width + j];
    return ATT_OK;
}

/* Adds them, `turned` into columns if asked for. */
static att_status add_by_vocab(const att_model_writer *graft, const char *into,
                               const att_tensor *from, const att_imported_vocab *words,
                               float missing, bool turned, att_error *err)
{
    att_tensor picked, view;
    if (from->rank < 1 || from->rank > 2 || from->shape[0] != (int64_t)words->file_row_count) {
        char found[ATT_SHAPE_STRING_SIZE];
        return att_fail(err, ATT_BAD_INPUT, graft->name,
                        "what is to become '%s' is %s, and there are %zu tokens", into,
                        att_shape_to_string(found, from->rank, from->shape), words->file_row_count);
    }
    ATT_TRY(gather_by_vocab(&picked, from, words, missing, err));
    view = picked;
    att_status status = turned ? att_tensor_transpose(&view, &picked, 0, 1, err) : ATT_OK;
    if (status == ATT_OK)
        status = att_model_writer_add(graft, into, &view, err);
    att_tensor_free(&picked);
    return status;
}

att_status att_model_writer_add_embedding(const att_model_writer *graft, const char *into,
                                          const att_tensor *table, const att_imported_vocab *words,
                                          att_error *err)
{
    return add_by_vocab(graft, into, table, words, 0, false, err);
}

att_status att_model_writer_add_output(const att_model_writer *graft, const char *into,
                                       const att_tensor *table, const att_imported_vocab *words,
                                       att_error *err)
{
    return add_by_vocab(graft, into, table, words, 0, true, err);
}

att_status att_model_writer_add_output_bias(const att_model_writer *graft, const char *into,
                                            const att_tensor *bias, const att_imported_vocab *words,
                                            att_error *err)
{
    return add_by_vocab(graft, into, bias, words, IMPOSSIBLE_LOGIT, false, err);
}

/* ---- the model */

static att_status apply_settings(att_settings *settings, const att_model_writer_metadata *model,
                                 att_error *err)
{
    for (size_t i = 0; i < model->setting_count; i++) {
        const att_model_writer_setting *choice = &model->settings[i];
        char number[24];
        snprintf(number, sizeof number, "%" PRId64, choice->number);
        ATT_TRY(att_settings_set_from(settings, choice->key, choice->value ? choice->value : number,
                                      ATT_FROM_MODEL, err));
    }
    return ATT_OK;
}

/* Loading proves that the bundle is a model; the model itself is not needed. */
static att_status check_loads(const att_model_writer *graft, att_error *err)
{
    att_model *model;
    att_status status = att_model_from_bundle(&model, graft->bundle, graft->name, err);
    att_model_free(model);
    return status;
}

att_status att_model_writer_finish(const att_model_writer *graft,
                                   const att_model_writer_metadata *model, att_error *err)
{
    att_settings *settings;
    att_string notes = { 0 };
    ATT_TRY(att_settings_new(&settings, NULL, err));
    att_status status = apply_settings(settings, model, err);
    if (status == ATT_OK)
        status = att_metadata_write(&notes, model->entries, model->entry_count, err);
    if (status == ATT_OK) {
        const att_model_metadata meta = {
            .architecture =
                att_architectures[att_settings_model_type(settings)][settings->architecture],
            .settings = settings,
            .source_vocab = model->source_vocab,
            .target_vocab = model->target_vocab,
            .import_json = notes.data
        };
        status = att_model_set_metadata(graft->bundle, &meta, err);
    }
    att_string_free(&notes);
    att_settings_free(settings);
    return status == ATT_OK ? check_loads(graft, err) : status;
}
