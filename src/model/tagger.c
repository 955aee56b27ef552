/* Taggers: the logits of the labels of each token, their loss, and the best labels. */
#include "model/tagger.h"

#include "base/error.h"
#include "model/layer_check.h"
#include "model/log_softmax.h"
#include "tape/op.h"

/* The random stream of dropout; differs from the streams of encoders. */
#define DROPOUT_STATES (UINT64_C(1) << 60)

/* ---- parameters */

static att_status build(att_model *model, att_error *err)
{
    const att_settings *settings = model->settings;
    att_tagger_network *parts = att_arena_alloc(&model->arena, 1, sizeof *parts);
    if (!parts)
        return att_fail_memory(err);
    *parts = (att_tagger_network){ .labels = att_vocab_size(model->target_vocab) - ATT_ID_FIRST,
                                   .has_crf = settings->crf,
                                   .dropout = (float)settings->dropout,
                                   .word_dropout = (float)settings->word_dropout };
    att_param_builder builder = att_model_builder(model, err);
    ATT_TRY(att_sentence_encoder_build(&parts->encoder, model, &builder));
    att_linear_layer_build(&parts->output, &builder, parts->encoder.hidden_size, parts->labels,
                           true, "output", "w");
    if (parts->has_crf)
        att_crf_layer_build(&parts->crf, &builder, parts->labels);
    model->network = parts;
    return builder.status;
}

/* ---- logits */

/* The logits of the labels, [..., L], of the token states in *read. */
static att_node *compute_logits(const att_tagger_network *parts, att_tape *tape,
                                const att_sources *sources, att_encoded_batch *read)
{
    if (!sources)
        return NULL;
    att_sentence_encoder_run(&parts->encoder, tape, sources, read);
    att_node *states = att_dropout(tape, read->states, parts->dropout, DROPOUT_STATES);
    return att_tape_name_layer(
        tape, att_linear_layer_run(&parts->output, tape, states, ATT_ACTIVATION_NONE),
        "output layer", 0);
}

/* ---- loss */

/* The labels of a batch by row of the logits, from 0; -1: padding, or a label that the model lacks.
 * In the memory of the tape; NULL on failure. */
static const int32_t *row_labels(const att_tagger_network *parts, att_tape *tape,
                                 const att_batch *batch, const att_encoded_batch *read,
                                 int64_t rows)
{
    int32_t *labels = att_tape_alloc(tape, rows, sizeof *labels);
    for (int64_t i = 0; labels && i < rows; i++)
        labels[i] = -1;
    for (int64_t r = 0; labels && r < batch->rows; r++)
        for (int64_t t = 0; t < batch->target_lengths[r]; t++) {
            int32_t id = batch->target_out[r * batch->target_length + t];
            bool is_label = id >= ATT_ID_FIRST && id - ATT_ID_FIRST < parts->labels;
            if (t >= batch->source_lengths[r] || !(is_label || id == ATT_ID_UNK)) {
                att_tape_fail(tape, "tagger",
                              "expected a label for each of %lld tokens, found the token id %ld as "
                              "label %lld in row %lld",
                              (long long)batch->source_lengths[r], (long)id, (long long)t,
                              (long long)r);
                return NULL;
            }
            labels[read->offsets[r] + t] = is_label ? id - ATT_ID_FIRST : -1;
        }
    return labels;
}

static void accumulate_loss(att_loss_result *result, const att_node *logits,
                            const att_encoded_batch *read, const int32_t *labels,
                            const float *losses)
{
    int64_t width = att_node_last_dim(logits);
    for (int64_t r = 0; r < read->sequences; r++)
        for (int64_t t = 0; t < read->lengths[r]; t++) {
            int64_t row = read->offsets[r] + t;
            bool known = labels[row] >= 0;
            bool best = known && att_argmax(logits->value + row * width, width) == labels[row];
            att_loss_result_add(result, r, losses[row], known ? ATT_ID_FIRST : ATT_ID_UNK, best);
            result->unscored += !known;
        }
}

/* A sentence with a label that the model lacks has no loss. */
static void accumulate_crf_loss(att_loss_result *result, const att_encoded_batch *read,
                                const int32_t *labels, const int32_t *best, const float *losses)
{
    for (int64_t r = 0; r < read->sequences; r++) {
        int64_t known = 0, correct = 0, length = read->lengths[r];
        for (int64_t i = read->offsets[r]; i < read->offsets[r] + length; i++) {
            known += labels[i] >= 0;
            correct += labels[i] == best[i];
        }
        result->loss += (double)losses[r];
        result->tokens += length;
        result->correct += correct;
        result->unscored += known < length ? length : 0;
        if (!result->rows)
            continue;
        result->rows[r].loss += (double)losses[r];
        result->rows[r].tokens += length;
        result->rows[r].correct += correct;
    }
}

static att_node *crf_loss(const att_tagger_network *parts, att_tape *tape, att_node *logits,
                          const att_encoded_batch *read, const int32_t *labels,
                          att_loss_result *result)
{
    float *losses = att_tape_alloc(tape, read->sequences, sizeof *losses);
    if (!losses)
        return NULL;
    att_node *loss = att_crf_layer_loss(&parts->crf, tape, logits, read, labels, losses);
    if (!loss || !result)
        return loss;
    const int32_t *best = att_crf_layer_best(&parts->crf, tape, logits, read);
    if (!best)
        return NULL;
    accumulate_crf_loss(result, read, labels, best, losses);
    return loss;
}

static att_node *tagger_loss(const att_model *model, att_tape *tape, const att_batch *batch,
                             const att_loss_options *options, att_loss_result *result)
{
    const att_tagger_network *parts = model->network;
    const att_sources sources = att_batch_sources(batch);
    att_encoded_batch read = { 0 };
    att_node *logits =
        compute_logits(parts, tape,
                       att_sentence_encoder_input(tape, &sources, false, parts->word_dropout,
                                                  options, batch->pair_index),
                       &read);
    if (!logits)
        return NULL;
    int64_t rows = att_node_rows(logits);
    const int32_t *labels = row_labels(parts, tape, batch, &read, rows);
    if (labels && parts->has_crf)
        return crf_loss(parts, tape, logits, &read, labels, result);
    float *losses = att_tape_alloc(tape, rows, sizeof *losses);
    if (!labels || !losses)
        return NULL;
    att_node *loss = att_cross_entropy(tape, logits, labels, att_loss_terms_of(options), losses);
    if (loss && result)
        accumulate_loss(result, logits, &read, labels, losses);
    return loss;
}

/* ---- tagging */

static const int32_t *best_labels(att_tape *tape, const float *scores, int64_t rows, int64_t labels)
{
    int32_t *best = att_tape_alloc(tape, rows, sizeof *best);
    for (int64_t i = 0; best && i < rows; i++)
        best[i] = (int32_t)att_argmax(scores + i * labels, labels);
    return best;
}

static att_status run_crf(const att_tagger_network *parts, att_tape *tape, att_node *logits,
                          const att_encoded_batch *read, att_tagger_output *out, att_error *err)
{
    int64_t failed;
    out->log_probs = att_crf_layer_log_probs(&parts->crf, tape, logits, read, &failed);
    out->best = att_crf_layer_best(&parts->crf, tape, logits, read);
    ATT_TRY(att_tape_status(tape, err));
    if (failed < 0)
        return ATT_OK;
    att_fail(err, ATT_BAD_INPUT, NULL,
             "CRF: no sequence of labels has a probability, because its weights are too large or "
             "damaged");
    if (err)
        err->line = (int)failed + 1;
    return ATT_BAD_INPUT;
}

att_status att_tagger_run(const att_model *model, att_tape *tape, const att_sources *sources,
                          att_tagger_output *out, att_error *err)
{
    const att_tagger_network *parts = model->network;
    att_encoded_batch read = { 0 };
    const att_sources *input = att_sentence_encoder_input(tape, sources, false, 0, NULL, NULL);
    att_node *logits = compute_logits(parts, tape, input, &read);
    ATT_TRY(att_tape_status(tape, err));
    ATT_TRY(att_layer_check_encoded(tape, input, err));
    *out = (att_tagger_output){ .labels = parts->labels, .offsets = read.offsets };
    if (parts->has_crf)
        return run_crf(parts, tape, logits, &read, out, err);
    out->log_probs = att_log_softmax(tape, logits);
    if (out->log_probs)
        out->best = best_labels(tape, out->log_probs, att_node_rows(logits), parts->labels);
    return att_tape_status(tape, err);
}

/* ---- the architectures, which differ only in their encoders. A tagger decodes no tokens. */

static att_status refuse_open(att_decoder *decoder, att_error *err)
{
    return att_fail(err, ATT_BAD_INPUT, NULL,
                    "expected a model that generates tokens, found a tagger (%s)",
                    decoder->model->architecture->name);
}

static void close_nothing(att_decoder *decoder)
{
    (void)decoder;
}

#define TAGGER(NAME)                                                                               \
    {                                                                                              \
        .name = NAME, .build = build, .loss = tagger_loss, .open = refuse_open,                    \
        .close = close_nothing                                                                     \
    }

const att_architecture att_rnn_tagger_architecture = TAGGER("rnn-tagger");
const att_architecture att_transformer_tagger_architecture = TAGGER("transformer-tagger");
const att_architecture att_cnn_tagger_architecture = TAGGER("cnn-tagger");
