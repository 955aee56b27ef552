/* Models and the families they belong to; see model.h. */
#include "model/model.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/random.h"
#include "model/format.h"
#include "model/label.h"
#include "model/recurrent.h"
#include "model/transformer.h"

#include <string.h>

const att_family *const att_families[ATT_KINDS][ATT_FAMILIES] = {
    [ATT_KIND_PAIRS] = { [ATT_FAMILY_RECURRENT] = &att_recurrent_family,
                         [ATT_FAMILY_TRANSFORMER] = &att_transformer_family },
    [ATT_KIND_TEXT] = { [ATT_FAMILY_RECURRENT] = &att_recurrent_text_family,
                        [ATT_FAMILY_TRANSFORMER] = &att_transformer_text_family },
    [ATT_KIND_LABEL] = { [ATT_FAMILY_RECURRENT] = &att_recurrent_label_family,
                         [ATT_FAMILY_TRANSFORMER] = &att_transformer_label_family,
                         [ATT_FAMILY_CONVOLUTION] = &att_convolution_label_family },
    [ATT_KIND_PICTURE] = { [ATT_FAMILY_RECURRENT] = &att_recurrent_picture_family,
                           [ATT_FAMILY_TRANSFORMER] = &att_transformer_picture_family },
};

att_model *att_model_blank(void)
{
    att_model *model = att_alloc_zero(1, sizeof *model);
    if (model)
        model->temperature = 1;
    return model;
}

att_status att_model_new(att_model **out, const att_settings *settings,
                         const att_vocab *source_words, const att_vocab *target_words,
                         att_error *err)
{
    *out = NULL;
    att_model *model = att_model_blank();
    if (!model)
        return att_fail_memory(err);
    model->settings = settings;
    model->source_words = source_words;
    model->target_words = target_words;
    model->family = att_families[att_settings_kind(settings)][settings->family];
    att_status status = model->family
                            ? model->family->build(model, err)
                            : att_fail(err, ATT_BAD_INPUT, NULL,
                                       "there is no family of models that do this task so");
    if (status == ATT_OK)
        status = att_params_build(&model->params, (uint64_t)settings->seed, err);
    if (status != ATT_OK) {
        att_model_free(model);
        return status;
    }
    *out = model;
    return ATT_OK;
}

void att_model_free(att_model *model)
{
    if (!model)
        return;
    att_params_free(&model->params);
    att_arena_free(&model->memory);
    att_settings_free(model->own);
    att_vocab_free(model->own_source);
    att_vocab_free(model->own_target);
    att_free(model);
}

att_builder att_model_builder(att_model *model, att_error *err)
{
    return (att_builder){ .params = &model->params,
                          .spread = (float)model->settings->start,
                          .err = err };
}

att_kind att_model_kind(const att_model *model)
{
    return att_settings_kind(model->settings);
}

att_sources att_batch_sources(const att_batch *batch)
{
    return (att_sources){ .rows = batch->rows,
                          .length = batch->source_length,
                          .ids = batch->source,
                          .lengths = batch->source_lengths,
                          .grid = batch->grid,
                          .cells = batch->cells,
                          .depth = batch->depth };
}

void att_carried_free(att_carried *carried)
{
    att_free(carried->states);
    *carried = (att_carried){ 0 };
}

att_status att_carried_make(att_carried *out, const att_model *model, int64_t most, att_error *err)
{
    *out = (att_carried){ .most = most };
    if (model->family->carries)
        out->width = model->family->carries(model);
    if (out->width == 0)
        return ATT_OK;
    out->states = att_alloc_zero((size_t)most, (size_t)out->width * sizeof *out->states);
    return out->states ? ATT_OK : att_fail_memory(err);
}

void att_lesson_drop_words(const att_lesson *lesson, int32_t *ids, int64_t length,
                           float probability, int64_t pair)
{
    uint64_t stream = UINT64_C(0x776f726400000000) + lesson->step; /* "word" */
    for (int64_t i = 0; i < length; i++) {
        uint64_t index = ((uint64_t)pair << 24) + (uint64_t)i;
        if (ids[i] != ATT_ID_START && att_random_float(lesson->seed, stream, index) < probability)
            ids[i] = ATT_ID_UNKNOWN;
    }
}

/* The tokens that a decoder is fed, some of them dropped (Bowman et al. 2016, "Generating sentences
 * from a continuous space"): it cannot learn by heart what follows what, and has to look. In the
 * tape's memory; NULL on failure. */
static const int32_t *fed_tokens(att_tape *tape, const att_batch *batch, const att_lesson *lesson,
                                 float probability)
{
    int64_t length = batch->target_length, count = batch->rows * length;
    int32_t *ids = att_tape_take(tape, count, sizeof *ids);
    if (!ids)
        return NULL;
    memcpy(ids, batch->target_in, (size_t)count * sizeof *ids);
    for (int64_t r = 0; r < batch->rows; r++)
        att_lesson_drop_words(lesson, ids + r * length, batch->target_lengths[r], probability,
                              batch->pair[r]);
    return ids;
}

att_node *att_model_loss(att_model *model, att_tape *tape, const att_batch *batch,
                         const att_lesson *lesson, att_lesson_result *result)
{
    att_batch fed = *batch;
    bool writes =
        att_settings_kind(model->settings) != ATT_KIND_LABEL; /* which drops what it reads */
    float dropped = writes ? (float)model->settings->word_dropout : 0;
    if (lesson && dropped > 0 && att_tape_learns(tape)) {
        fed.target_in = fed_tokens(tape, batch, lesson, dropped);
        if (!fed.target_in)
            return NULL;
    }
    return model->family->loss(model, tape, &fed, lesson, result);
}

att_status att_decoder_new(att_decoder **out, att_model *model, att_error *err)
{
    *out = NULL;
    att_decoder *decoder = att_alloc_zero(1, sizeof *decoder);
    if (!decoder)
        return att_fail_memory(err);
    decoder->model = model;
    att_status status = att_tape_new(&decoder->tape, &model->params, err);
    if (status == ATT_OK)
        status = model->family->open(decoder, err);
    if (status != ATT_OK) {
        att_decoder_free(decoder);
        return status;
    }
    *out = decoder;
    return ATT_OK;
}

void att_decoder_free(att_decoder *decoder)
{
    if (!decoder)
        return;
    decoder->model->family->close(decoder);
    att_tape_free(decoder->tape);
    att_free(decoder);
}

att_status att_decoder_start(att_decoder *decoder, const att_sources *sources, att_error *err)
{
    att_tape_begin(decoder->tape, false, 0, 0);
    return decoder->model->family->start(decoder, sources, err);
}

att_status att_decoder_step(att_decoder *decoder, int64_t rows, const int32_t *tokens,
                            const int64_t *order, att_decoded *out, att_error *err)
{
    att_tape_begin(decoder->tape, false, 0, 0);
    return decoder->model->family->step(decoder, rows, tokens, order, out, err);
}

int64_t att_model_longest(const att_model *model)
{
    return model->family->longest ? model->family->longest(model) : 0;
}
