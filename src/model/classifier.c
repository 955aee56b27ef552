/* The parts that all classifiers share: pooling, logits of the labels, loss, and the decoder
 * interface (a single step). classifier.h lists the architectures. */
#include "model/classifier.h"

#include "base/alloc.h"
#include "base/error.h"
#include "model/layer_check.h"
#include "model/log_softmax.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* The random stream of dropout; differs from the streams of encoders. */
#define DROPOUT_SENTENCE (UINT64_C(1) << 60)

/* ---- parameters */

static att_status check_settings(const att_settings *settings, att_error *err)
{
    if (settings->architecture == ATT_ARCHITECTURE_RNN && settings->pool == ATT_POOL_STOP &&
        settings->bidirectional)
        return att_fail(
            err, ATT_BAD_INPUT, NULL,
            "pool stop needs bidirectional no: the backward direction reads the stop token "
            "first, before any word of the sentence");
    if (settings->pool == ATT_POOL_ATTENTION && settings->hidden_size % settings->pool_heads != 0)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "hidden-size %lld is not a multiple of pool-heads %lld",
                        (long long)settings->hidden_size, (long long)settings->pool_heads);
    return ATT_OK;
}

static att_status build(att_model *model, att_error *err)
{
    const att_settings *settings = model->settings;
    ATT_TRY(check_settings(settings, err));
    att_classifier_network *parts = att_arena_alloc(&model->arena, 1, sizeof *parts);
    if (!parts)
        return att_fail_memory(err);
    *parts = (att_classifier_network){ .labels = att_vocab_size(model->target_vocab) - ATT_ID_FIRST,
                                       .dropout = (float)settings->dropout,
                                       .word_dropout = (float)settings->word_dropout };
    att_param_builder builder = att_model_builder(model, err);
    ATT_TRY(att_sentence_encoder_build(&parts->encoder, model, &builder));
    parts->encoder.final_states = settings->pool == ATT_POOL_LAST;
    int64_t width = parts->encoder.hidden_size;
    att_pooling_build(&parts->pooling, &builder, settings, width);
    att_linear_layer_build(&parts->output, &builder, width, parts->labels, true, "output", "w");
    model->network = parts;
    return builder.status;
}

/* ---- logits */

static const att_sources *prepare_sources(const att_classifier_network *parts, att_tape *tape,
                                          const att_sources *from, const att_loss_options *options,
                                          const int64_t *pair)
{
    return att_sentence_encoder_input(tape, from, parts->pooling.kind == ATT_POOL_STOP,
                                      parts->word_dropout, options, pair);
}

/* The logits of the labels, [B,L]. */
static att_node *compute_logits(const att_classifier_network *parts, att_tape *tape,
                                const att_sources *sources, const float **weights)
{
    att_encoded_batch read = { 0 };
    if (!sources)
        return NULL;
    att_sentence_encoder_run(&parts->encoder, tape, sources, &read);
    att_node *sentence = att_pooling_run(&parts->pooling, tape, &read, weights);
    att_tape_name_layer(tape, sentence, "pooling", 0);
    sentence = att_dropout(tape, sentence, parts->dropout, DROPOUT_SENTENCE);
    return att_tape_name_layer(
        tape, att_linear_layer_run(&parts->output, tape, sentence, ATT_ACTIVATION_NONE),
        "output layer", 0);
}

/* ---- loss */

static void accumulate_loss(att_loss_result *result, const att_node *scores, const int32_t *targets,
                            const float *losses)
{
    int64_t rows = scores->shape[0], labels = scores->shape[1];
    for (int64_t r = 0; r < rows; r++) {
        result->loss += (double)losses[r];
        if (result->rows)
            result->rows[r].loss += (double)losses[r];
        result->correct += att_argmax(scores->value + r * labels, labels) == targets[r];
        result->unscored += targets[r] < 0;
    }
    result->tokens += rows;
}

/* The labels of a batch, from 0, -1 where the model lacks a label, in the memory of the tape; NULL
 * on failure, also if a target is not a label. */
static const int32_t *batch_labels(const att_classifier_network *parts, att_tape *tape,
                                   const att_batch *batch)
{
    int32_t *labels = att_tape_alloc(tape, batch->rows, sizeof *labels);
    for (int64_t r = 0; labels && r < batch->rows; r++) {
        int32_t id = batch->target_out[r * batch->target_length];
        labels[r] = -1;
        if (id == ATT_ID_UNK)
            continue;
        if (id < ATT_ID_FIRST || id - ATT_ID_FIRST >= parts->labels) {
            att_tape_fail(tape, "classifier",
                          "expected a label from %d to %lld, found the token id %ld in row %lld",
                          ATT_ID_FIRST, (long long)parts->labels + ATT_ID_FIRST - 1, (long)id,
                          (long long)r);
            return NULL;
        }
        labels[r] = id - ATT_ID_FIRST;
    }
    return labels;
}

static att_node *classifier_loss(const att_model *model, att_tape *tape, const att_batch *batch,
                                 const att_loss_options *options, att_loss_result *result)
{
    const att_classifier_network *parts = model->network;
    const att_sources sources = att_batch_sources(batch);
    const int32_t *targets = batch_labels(parts, tape, batch);
    float *losses = att_tape_alloc(tape, batch->rows, sizeof *losses);
    if (!targets || !losses)
        return NULL;
    att_node *scores = compute_logits(
        parts, tape, prepare_sources(parts, tape, &sources, options, batch->pair_index), NULL);
    att_node *loss = att_cross_entropy(tape, scores, targets, att_loss_terms_of(options), losses);
    if (loss && result)
        accumulate_loss(result, scores, targets, losses);
    return loss;
}

/* ---- decoding: the start computes everything, and the only step returns it */

typedef struct classifier_state {
    int64_t sources, length; /* B, S */
    int64_t vocabulary;      /* V, with the reserved tokens, whose probability is 0 */
    int64_t heads;
    float *log_probs; /* [B,V] */
    float *attention; /* [B,heads,S] or NULL */
    bool has_attention;
    size_t log_probs_capacity, attention_capacity;
} classifier_state;

static att_status classifier_open(att_decoder *decoder, att_error *err)
{
    decoder->state = att_alloc_zero(1, sizeof(classifier_state));
    return decoder->state ? ATT_OK : att_fail_memory(err);
}

static void classifier_close(att_decoder *decoder)
{
    classifier_state *j = decoder->state;
    if (!j)
        return;
    att_free(j->log_probs);
    att_free(j->attention);
    att_free(j);
    decoder->state = NULL;
}

static bool reserve(float **array, size_t *room, size_t count)
{
    if (count <= *room)
        return true;
    att_free(*array);
    *array = att_alloc(count, sizeof **array);
    *room = *array ? count : 0;
    return *array;
}

/* The labels follow the reserved tokens. */
static void save_log_probs(classifier_state *j, const float *from, int64_t labels)
{
    for (int64_t r = 0; r < j->sources; r++) {
        float *row = j->log_probs + r * j->vocabulary;
        for (int i = 0; i < ATT_ID_FIRST; i++)
            row[i] = -INFINITY;
        memcpy(row + ATT_ID_FIRST, from + r * labels, (size_t)labels * sizeof *row);
    }
}

static att_status classifier_start(att_decoder *decoder, const att_sources *sources, att_error *err)
{
    classifier_state *j = decoder->state;
    const att_model *model = decoder->model;
    const att_classifier_network *parts = model->network;
    att_tape *tape = decoder->tape;
    const float *weights = NULL;
    const att_sources *prepared = prepare_sources(parts, tape, sources, NULL, NULL);
    att_node *scores =
        compute_logits(parts, tape, prepared, decoder->want_attention ? &weights : NULL);
    ATT_TRY(att_tape_status(tape, err));
    ATT_TRY(att_layer_check_encoded(tape, prepared, err));
    if (model->temperature != 1 && !decoder->uncalibrated)
        scores = att_scale(tape, scores, (float)(1 / model->temperature));
    const float *log_probs = att_log_softmax(tape, scores);
    ATT_TRY(att_tape_status(tape, err));
    j->sources = sources->rows;
    j->length = sources->length;
    j->vocabulary = parts->labels + ATT_ID_FIRST;
    j->heads = parts->pooling.heads;
    j->has_attention = weights != NULL;
    size_t count = weights ? (size_t)(j->sources * j->heads * j->length) : 0;
    if (!reserve(&j->log_probs, &j->log_probs_capacity, (size_t)(j->sources * j->vocabulary)) ||
        !reserve(&j->attention, &j->attention_capacity, count))
        return att_fail_memory(err);
    save_log_probs(j, log_probs, parts->labels);
    if (weights)
        memcpy(j->attention, weights, count * sizeof *weights);
    return ATT_OK;
}

/* Rows of `width` numbers in another order, in the memory of the tape. */
static const float *gather_rows(att_tape *tape, const float *from, int64_t width, int64_t rows,
                                const int64_t *order)
{
    float *out = att_tape_alloc(tape, rows * width, sizeof *out);
    for (int64_t r = 0; out && r < rows; r++)
        memcpy(out + r * width, from + (order ? order[r] : r) * width, (size_t)width * sizeof *out);
    return out;
}

static att_status classifier_step(att_decoder *decoder, int64_t rows, const int32_t *tokens,
                                  const int64_t *order, att_decoder_output *out, att_error *err)
{
    (void)tokens; /* BOS: there is one step only */
    const classifier_state *j = decoder->state;
    for (int64_t r = 0; order && r < rows; r++)
        assert(order[r] >= 0 && order[r] < j->sources);
    *out = (att_decoder_output){ .attention_maps = j->heads, .heads = j->heads };
    out->log_probs = gather_rows(decoder->tape, j->log_probs, j->vocabulary, rows, order);
    if (j->has_attention)
        out->attention =
            gather_rows(decoder->tape, j->attention, j->heads * j->length, rows, order);
    return att_tape_status(decoder->tape, err);
}

/* The architectures of classifiers differ only in their encoders. */
#define CLASSIFIER(NAME)                                                                           \
    {                                                                                              \
        .name = NAME, .build = build, .loss = classifier_loss, .open = classifier_open,            \
        .close = classifier_close, .start = classifier_start, .step = classifier_step              \
    }

const att_architecture att_rnn_classifier_architecture = CLASSIFIER("rnn-classifier");
const att_architecture att_transformer_classifier_architecture =
    CLASSIFIER("transformer-classifier");
const att_architecture att_cnn_classifier_architecture = CLASSIFIER("cnn-classifier");
