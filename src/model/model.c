/* Creating, freeing and querying models, their loss, and the dispatch to their architecture. */
#include "model/model.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/random.h"
#include "model/model_file.h"
#include "model/classifier.h"
#include "model/copying.h"
#include "model/rnn.h"
#include "model/tagger.h"
#include "model/transformer.h"

#include <string.h>

const att_architecture *const att_architectures[ATT_MODEL_TYPES][ATT_ARCHITECTURE_COUNT] = {
    [ATT_MODEL_SEQ2SEQ] = { [ATT_ARCHITECTURE_RNN] = &att_rnn_architecture,
                            [ATT_ARCHITECTURE_TRANSFORMER] = &att_transformer_architecture },
    [ATT_MODEL_LM] = { [ATT_ARCHITECTURE_RNN] = &att_rnn_lm_architecture,
                       [ATT_ARCHITECTURE_TRANSFORMER] = &att_transformer_lm_architecture },
    [ATT_MODEL_CLASSIFIER] = { [ATT_ARCHITECTURE_RNN] = &att_rnn_classifier_architecture,
                               [ATT_ARCHITECTURE_TRANSFORMER] =
                                   &att_transformer_classifier_architecture,
                               [ATT_ARCHITECTURE_CNN] = &att_cnn_classifier_architecture },
    [ATT_MODEL_CAPTION] = { [ATT_ARCHITECTURE_RNN] = &att_rnn_caption_architecture,
                            [ATT_ARCHITECTURE_TRANSFORMER] =
                                &att_transformer_caption_architecture },
    [ATT_MODEL_TAGGER] = { [ATT_ARCHITECTURE_RNN] = &att_rnn_tagger_architecture,
                           [ATT_ARCHITECTURE_TRANSFORMER] = &att_transformer_tagger_architecture,
                           [ATT_ARCHITECTURE_CNN] = &att_cnn_tagger_architecture },
};

att_model *att_model_alloc(void)
{
    att_model *model = att_alloc_zero(1, sizeof *model);
    if (model)
        model->temperature = 1;
    return model;
}

att_status att_model_new(att_model **out, const att_settings *settings,
                         const att_vocab *source_vocab, const att_vocab *target_vocab,
                         att_error *err)
{
    *out = NULL;
    att_model *model = att_model_alloc();
    if (!model)
        return att_fail_memory(err);
    model->settings = settings;
    model->source_vocab = source_vocab;
    model->target_vocab = target_vocab;
    model->architecture =
        att_architectures[att_settings_model_type(settings)][settings->architecture];
    att_status status =
        model->architecture
            ? model->architecture->build(model, err)
            : att_fail(err, ATT_BAD_INPUT, NULL, "no architecture of this name does this task");
    if (status == ATT_OK)
        status = att_params_init(&model->params, (uint64_t)settings->seed, err);
    if (status == ATT_OK)
        status = att_params_pack(&model->params, err);
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
    att_arena_free(&model->arena);
    att_settings_free(model->owned_settings);
    att_vocab_free(model->owned_source_vocab);
    att_vocab_free(model->owned_target_vocab);
    att_free(model);
}

att_param_builder att_model_builder(att_model *model, att_error *err)
{
    return (att_param_builder){ .params = &model->params,
                                .init_range = (float)model->settings->init_range,
                                .err = err };
}

att_model_type att_model_type_get(const att_model *model)
{
    return att_settings_model_type(model->settings);
}

const char *att_model_type_phrase(att_model_type type)
{
    static const char *const phrases[ATT_MODEL_TYPES] = {
        [ATT_MODEL_SEQ2SEQ] = "a seq2seq model", [ATT_MODEL_LM] = "a language model",
        [ATT_MODEL_CLASSIFIER] = "a classifier", [ATT_MODEL_CAPTION] = "a caption model",
        [ATT_MODEL_TAGGER] = "a tagger",
    };
    return phrases[type];
}

att_status att_model_require_type(const att_model *model, att_model_type type, att_error *err)
{
    att_model_type found = att_model_type_get(model);
    if (found == type)
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, NULL, "expected %s, found %s (%s)",
                    att_model_type_phrase(type), att_model_type_phrase(found),
                    model->architecture->name);
}

/* ---- labels of a classifier or a tagger */

size_t att_model_label_count(const att_model *model)
{
    att_model_type type = att_model_type_get(model);
    if (type != ATT_MODEL_CLASSIFIER && type != ATT_MODEL_TAGGER)
        return 0;
    return (size_t)(att_vocab_size(model->target_vocab) - ATT_ID_FIRST);
}

const char *att_model_label(const att_model *model, size_t index)
{
    if (index >= att_model_label_count(model))
        return NULL;
    return att_vocab_token(model->target_vocab, ATT_ID_FIRST + (int32_t)index);
}

att_sources att_batch_sources(const att_batch *batch)
{
    return (att_sources){ .rows = batch->rows,
                          .length = batch->source_length,
                          .ids = batch->source,
                          .lengths = batch->source_lengths,
                          .copy_ids = batch->copy_ids,
                          .words = batch->source_words,
                          .image_grid = batch->image_grid,
                          .cells = batch->cells,
                          .depth = batch->depth };
}

att_node *att_sources_concat_features(att_tape *tape, const att_sources *sources, att_node *x)
{
    if (!sources->word_features)
        return x;
    att_node *features = att_embedding_lookup(tape, sources->word_features, sources->rows,
                                              sources->length, sources->word_rows);
    return att_concat(tape, (att_node *[]){ x, features }, 2);
}

void att_carried_state_free(att_carried_state *carried)
{
    att_free(carried->states);
    *carried = (att_carried_state){ 0 };
}

att_status att_carried_state_new(att_carried_state *out, const att_model *model, int64_t max_rows,
                                 att_error *err)
{
    *out = (att_carried_state){ .max_rows = max_rows };
    if (model->architecture->carried_state_size)
        out->width = model->architecture->carried_state_size(model);
    if (out->width == 0)
        return ATT_OK;
    out->states = att_alloc_zero((size_t)max_rows, (size_t)out->width * sizeof *out->states);
    return out->states ? ATT_OK : att_fail_memory(err);
}

void att_word_dropout(const att_loss_options *options, int32_t *ids, int64_t length,
                      float probability, int64_t pair)
{
    uint64_t stream = UINT64_C(0x776f726400000000) + options->step; /* "word" */
    for (int64_t i = 0; i < length; i++) {
        uint64_t index = ((uint64_t)pair << 24) + (uint64_t)i;
        if (ids[i] != ATT_ID_BOS && att_random_float(options->seed, stream, index) < probability)
            ids[i] = ATT_ID_UNK;
    }
}

/* The decoder input with word dropout (Bowman et al. 2016, "Generating sentences from a continuous
 * space"), which makes the decoder depend on the source. In the memory of the tape; NULL on
 * failure.
 */
static const int32_t *dropped_target_in(att_tape *tape, const att_batch *batch,
                                        const att_loss_options *options, float probability)
{
    int64_t length = batch->target_length, count = batch->rows * length;
    int32_t *ids = att_tape_alloc(tape, count, sizeof *ids);
    if (!ids)
        return NULL;
    memcpy(ids, batch->target_in, (size_t)count * sizeof *ids);
    for (int64_t r = 0; r < batch->rows; r++)
        att_word_dropout(options, ids + r * length, batch->target_lengths[r], probability,
                         batch->pair_index[r]);
    return ids;
}

/* Whether a token of a pair is dropped, wherever it occurs. */
static bool is_dropped(const att_loss_options *options, float probability, int64_t pair, int32_t id)
{
    uint64_t stream = UINT64_C(0x636f707900000000) + options->step; /* "copy" */
    uint64_t index = ((uint64_t)pair << 32) + (uint32_t)id;
    return id >= ATT_ID_FIRST && att_random_float(options->seed, stream, index) < probability;
}

static bool is_among(const int32_t *ids, int64_t count, int32_t id)
{
    for (int64_t i = 0; i < count; i++)
        if (ids[i] == id)
            return true;
    return false;
}

/* The same for a model that copies: a token of the source is dropped wherever it occurs in the
 * pair, as if the vocabulary lacked it, but it is still to be predicted. So the model learns to
 * copy tokens that it does not know. */
static bool drop_pair_tokens(att_tape *tape, att_batch *batch, const att_loss_options *options,
                             float probability)
{
    int64_t S = batch->source_length, T = batch->target_length;
    int32_t *source = att_tape_alloc(tape, batch->rows * S, sizeof *source);
    int32_t *target = att_tape_alloc(tape, batch->rows * T, sizeof *target);
    if (!source || !target)
        return false;
    for (int64_t r = 0; r < batch->rows; r++) {
        int64_t pair = batch->pair_index[r];
        for (int64_t i = r * S; i < (r + 1) * S; i++)
            source[i] = is_dropped(options, probability, pair, batch->copy_ids[i])
                            ? ATT_ID_UNK
                            : batch->source[i];
        for (int64_t i = r * T; i < (r + 1) * T; i++)
            target[i] = is_dropped(options, probability, pair, batch->target_in[i]) &&
                                is_among(batch->copy_ids + r * S, S, batch->target_in[i])
                            ? ATT_ID_UNK
                            : batch->target_in[i];
    }
    batch->source = source;
    batch->target_in = target;
    return true;
}

att_node *att_model_loss(const att_model *model, att_tape *tape, const att_batch *batch,
                         const att_loss_options *options, att_loss_result *result)
{
    att_batch input = *batch;
    att_model_type type = att_settings_model_type(model->settings);
    /* word dropout of classifiers and taggers is on the source */
    bool has_decoder = type != ATT_MODEL_CLASSIFIER && type != ATT_MODEL_TAGGER;
    float dropped = has_decoder ? (float)model->settings->word_dropout : 0;
    bool drops = options && dropped > 0 && att_tape_is_training(tape);
    if (drops && att_settings_copies(model->settings) && batch->copy_ids) {
        if (!drop_pair_tokens(tape, &input, options, dropped))
            return NULL;
    } else if (drops) {
        input.target_in = dropped_target_in(tape, batch, options, dropped);
        if (!input.target_in)
            return NULL;
    }
    return model->architecture->loss(model, tape, &input, options, result);
}

att_status att_decoder_new(att_decoder **out, const att_model *model, att_error *err)
{
    *out = NULL;
    att_decoder *decoder = att_alloc_zero(1, sizeof *decoder);
    if (!decoder)
        return att_fail_memory(err);
    decoder->model = model;
    att_status status = att_tape_new(&decoder->tape, &model->params, err);
    if (status == ATT_OK)
        status = model->architecture->open(decoder, err);
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
    decoder->model->architecture->close(decoder);
    att_copy_index_free(&decoder->copy);
    att_candidate_layer_free(&decoder->candidates);
    att_tape_free(decoder->tape);
    att_free(decoder);
}

att_status att_decoder_start(att_decoder *decoder, const att_sources *sources, att_error *err)
{
    att_tape_begin(decoder->tape, false, 0, 0);
    att_candidate_layer_start(&decoder->candidates, sources->candidates);
    if (att_settings_copies(decoder->model->settings))
        ATT_TRY(att_copy_index_set(&decoder->copy, decoder->model, sources, err));
    return decoder->model->architecture->start(decoder, sources, err);
}

att_status att_decoder_step(att_decoder *decoder, int64_t rows, const int32_t *tokens,
                            const int64_t *order, att_decoder_output *out, att_error *err)
{
    *out = (att_decoder_output){ 0 };
    att_tape_begin(decoder->tape, false, 0, 0);
    if (att_settings_copies(decoder->model->settings)) {
        tokens = att_copy_decoder_input(decoder->tape, &decoder->copy, tokens, rows);
        if (!tokens)
            return att_tape_status(decoder->tape, err);
    }
    return decoder->model->architecture->step(decoder, rows, tokens, order, out, err);
}

int64_t att_model_max_source_length(const att_model *model)
{
    return model->architecture->max_source_length ? model->architecture->max_source_length(model)
                                                  : 0;
}
