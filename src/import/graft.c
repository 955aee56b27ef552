/* Foreign weights as the contents of a model file; see graft.h. */
#include "import/graft.h"

#include "base/alloc.h"
#include "base/error.h"
#include "tensor/tensor.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A score so low that its token has the probability 0 exactly. */
#define RULED_OUT (-1e9f)

/* ---- words */

static bool is_ours(const att_foreign_words *foreign, size_t row)
{
    int32_t id = (int32_t)row;
    return id == foreign->unknown || id == foreign->start || id == foreign->end;
}

att_status att_graft_words_new(att_graft_words *out, const att_foreign_words *foreign,
                               att_error *err)
{
    size_t count = 0;
    *out = (att_graft_words){ .rows = att_alloc(foreign->count + ATT_ID_FIRST, sizeof *out->rows) };
    const char **own = att_alloc(foreign->count, sizeof *own);
    att_status status = own && out->rows ? ATT_OK : att_fail_memory(err);
    if (status == ATT_OK) {
        out->rows[ATT_ID_UNKNOWN] = foreign->unknown;
        out->rows[ATT_ID_START] = foreign->start;
        out->rows[ATT_ID_END] = foreign->end;
        for (size_t i = 0; i < foreign->count; i++)
            if (!is_ours(foreign, i)) {
                out->rows[ATT_ID_FIRST + count] = (int32_t)i;
                own[count++] = foreign->tokens[i];
            }
        out->count = count + ATT_ID_FIRST;
        out->foreign_count = foreign->count;
        status = att_vocab_of_tokens(&out->vocab, foreign->kind, foreign->lower, own, count, err);
    }
    att_free(own);
    if (status != ATT_OK)
        att_graft_words_free(out);
    return status;
}

void att_graft_words_free(att_graft_words *words)
{
    att_vocab_free(words->vocab);
    att_free(words->rows);
    *words = (att_graft_words){ 0 };
}

/* ---- tensors */

att_status att_graft_add(const att_graft *graft, const char *into, const att_tensor *values,
                         att_error *err)
{
    return att_bundle_add(graft->bundle, into, values, err);
}

/* Rows of a table or numbers of a vector, by words; `missing` for those that the file lacks. */
static att_status by_words(att_tensor *out, const att_tensor *from, const att_graft_words *words,
                           float missing, att_error *err)
{
    int64_t shape[2] = { (int64_t)words->count, from->rank > 1 ? from->shape[1] : 1 };
    size_t width = (size_t)shape[1];
    ATT_TRY(att_tensor_new_raw(out, ATT_F32, from->rank, shape, err));
    float *to = out->data;
    for (size_t i = 0; i < words->count; i++)
        for (size_t j = 0; j < width; j++)
            to[i * width + j] =
                words->rows[i] < 0
                    ? missing
                    : ((const float *)from->data)[(size_t)words->rows[i] * width + j];
    return ATT_OK;
}

/* Adds them, `turned` into columns if asked for. */
static att_status add_by_words(const att_graft *graft, const char *into, const att_tensor *from,
                               const att_graft_words *words, float missing, bool turned,
                               att_error *err)
{
    att_tensor picked, view;
    if (from->rank < 1 || from->rank > 2 || from->shape[0] != (int64_t)words->foreign_count) {
        char found[ATT_SHAPE_TEXT];
        return att_fail(err, ATT_BAD_INPUT, graft->name,
                        "what is to become '%s' is %s, and there are %zu tokens", into,
                        att_shape_text(found, from->rank, from->shape), words->foreign_count);
    }
    ATT_TRY(by_words(&picked, from, words, missing, err));
    view = picked;
    att_status status = turned ? att_tensor_transpose(&view, &picked, 0, 1, err) : ATT_OK;
    if (status == ATT_OK)
        status = att_graft_add(graft, into, &view, err);
    att_tensor_free(&picked);
    return status;
}

att_status att_graft_table(const att_graft *graft, const char *into, const att_tensor *table,
                           const att_graft_words *words, att_error *err)
{
    return add_by_words(graft, into, table, words, 0, false, err);
}

att_status att_graft_output(const att_graft *graft, const char *into, const att_tensor *table,
                            const att_graft_words *words, att_error *err)
{
    return add_by_words(graft, into, table, words, 0, true, err);
}

att_status att_graft_output_bias(const att_graft *graft, const char *into, const att_tensor *bias,
                                 const att_graft_words *words, att_error *err)
{
    return add_by_words(graft, into, bias, words, RULED_OUT, false, err);
}

/* ---- the model */

static att_status choose(att_settings *settings, const att_graft_model *model, att_error *err)
{
    for (size_t i = 0; i < model->choice_count; i++) {
        const att_graft_choice *choice = &model->choices[i];
        char number[24];
        snprintf(number, sizeof number, "%" PRId64, choice->number);
        ATT_TRY(att_settings_put(settings, choice->key, choice->word ? choice->word : number,
                                 ATT_FROM_MODEL, err));
    }
    return ATT_OK;
}

/* Loading proves that the bundle is a model; the model itself is not needed. */
static att_status prove(const att_graft *graft, att_error *err)
{
    att_model *model;
    att_status status = att_model_from_bundle(&model, graft->bundle, graft->name, err);
    att_model_free(model);
    return status;
}

att_status att_graft_finish(const att_graft *graft, const att_graft_model *model, att_error *err)
{
    att_settings *settings;
    att_text notes = { 0 };
    ATT_TRY(att_settings_new(&settings, NULL, err));
    att_status status = choose(settings, model, err);
    if (status == ATT_OK)
        status = att_notes_write(&notes, model->notes, model->note_count, err);
    if (status == ATT_OK) {
        const att_model_meta meta = {
            .family = att_families[att_settings_kind(settings)][settings->family],
            .settings = settings,
            .source_words = model->source,
            .target_words = model->target,
            .imported = notes.data
        };
        status = att_model_set_meta(graft->bundle, &meta, err);
    }
    att_text_free(&notes);
    att_settings_free(settings);
    return status == ATT_OK ? prove(graft, err) : status;
}
