/* Sentences sorted; see label.h. */
#include "model/label.h"

#include "base/alloc.h"
#include "base/error.h"
#include "model/output.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Where dropout acts, apart from all places of encoders. */
#define DROP_SENTENCE (UINT64_C(1) << 60)

/* ---- parameters */

att_status att_label_check(const att_settings *settings, att_error *err)
{
    if (settings->pool == ATT_POOL_ATTENTION && settings->width % settings->pool_heads != 0)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "width %lld is no multiple of pool-heads %lld, which share it",
                        (long long)settings->width, (long long)settings->pool_heads);
    return ATT_OK;
}

att_read att_label_padded(att_tape *tape, const att_sources *sources, att_node *rows)
{
    int64_t *first = att_tape_take(tape, sources->rows, sizeof *first);
    for (int64_t r = 0; first && r < sources->rows; r++)
        first[r] = r * sources->length;
    return (att_read){ .rows = rows,
                       .sequences = sources->rows,
                       .first = first,
                       .lengths = sources->lengths,
                       .longest = sources->length };
}

att_status att_label_build(att_model *model, att_builder *builder, att_label_read *read,
                           void *encoder, int64_t width)
{
    const att_settings *settings = model->settings;
    att_label_parts *parts = att_arena_take(&model->memory, 1, sizeof *parts);
    if (!parts)
        return att_fail_memory(builder->err);
    *parts = (att_label_parts){ .read = read,
                                .encoder = encoder,
                                .labels = att_vocab_size(model->target_words) - ATT_ID_FIRST,
                                .dropout = (float)settings->dropout,
                                .word_dropout = (float)settings->word_dropout };
    att_pooling_build(&parts->pooling, builder, settings, width);
    att_affine_build(&parts->output, builder, width, parts->labels, true, "output", "w");
    model->parts = parts;
    return builder->status;
}

/* ---- from sentences to scores */

/* The sources as they are read: some words dropped where `batch` is learnt from, and ended by a
 * stop token where that stands for the sentence. In the tape's memory; NULL on failure. */
static const att_sources *prepare(const att_label_parts *parts, att_tape *tape,
                                  const att_sources *from, const att_lesson *lesson,
                                  const int64_t *pair)
{
    int64_t stop = parts->pooling.kind == ATT_POOL_STOP, length = from->length + stop;
    att_sources *out = att_tape_take(tape, 1, sizeof *out);
    int32_t *ids = att_tape_take(tape, from->rows * length, sizeof *ids);
    int64_t *lengths = att_tape_take(tape, from->rows, sizeof *lengths);
    if (!out || !ids || !lengths)
        return NULL;
    for (int64_t r = 0; r < from->rows; r++) {
        int32_t *row = ids + r * length;
        lengths[r] = from->lengths[r];
        for (int64_t i = 0; i < length; i++)
            row[i] = i < lengths[r] ? from->ids[r * from->length + i] : ATT_ID_NONE;
        if (lesson && parts->word_dropout > 0 && att_tape_learns(tape))
            att_lesson_drop_words(lesson, row, lengths[r], parts->word_dropout, pair[r]);
        if (stop)
            row[lengths[r]++] = ATT_ID_END;
    }
    *out = *from;
    out->length = length;
    out->ids = ids;
    out->lengths = lengths;
    return out;
}

/* The scores of labels, [B,L]. */
static att_node *scores_of(const att_label_parts *parts, att_tape *tape, const att_sources *sources,
                           const float **weights)
{
    att_read read = { 0 };
    if (!sources)
        return NULL;
    parts->read(parts, tape, sources, &read);
    att_node *sentence = att_pooling_run(&parts->pooling, tape, &read, weights);
    sentence = att_dropout(tape, sentence, parts->dropout, DROP_SENTENCE);
    return att_affine_run(&parts->output, tape, sentence, ATT_ACTIVATION_NONE);
}

/* ---- learning */

static void add_up(att_lesson_result *result, const att_node *scores, const int32_t *targets,
                   const float *losses)
{
    int64_t rows = scores->shape[0], labels = scores->shape[1];
    for (int64_t r = 0; r < rows; r++) {
        result->loss += (double)losses[r];
        result->right += att_largest_place(scores->value + r * labels, labels) == targets[r];
    }
    result->tokens += rows;
}

att_node *att_label_loss(att_model *model, att_tape *tape, const att_batch *batch,
                         const att_lesson *lesson, att_lesson_result *result)
{
    const att_label_parts *parts = model->parts;
    const att_sources sources = att_batch_sources(batch);
    int32_t *targets = att_tape_take(tape, batch->rows, sizeof *targets);
    float *losses = att_tape_take(tape, batch->rows, sizeof *losses);
    if (!targets || !losses)
        return NULL;
    for (int64_t r = 0; r < batch->rows; r++)
        targets[r] = batch->target_out[r * batch->target_length] - ATT_ID_FIRST;
    att_node *scores =
        scores_of(parts, tape, prepare(parts, tape, &sources, lesson, batch->pair), NULL);
    att_node *loss =
        att_cross_entropy(tape, scores, targets, lesson ? lesson->smoothing : 0, losses);
    if (loss && result)
        add_up(result, scores, targets, losses);
    return loss;
}

/* ---- decoding: all is known at the start, and a step hands it out */

typedef struct judgement {
    int64_t sources, length; /* B, S */
    int64_t vocabulary;      /* V, those of every vocabulary included: they are impossible */
    int64_t heads;
    float *log_probs; /* [B,V] */
    float *weights;   /* [B,heads,S] or NULL */
    bool weighted;
    size_t log_probs_room, weights_room;
} judgement;

att_status att_label_open(att_decoder *decoder, att_error *err)
{
    decoder->state = att_alloc_zero(1, sizeof(judgement));
    return decoder->state ? ATT_OK : att_fail_memory(err);
}

void att_label_close(att_decoder *decoder)
{
    judgement *j = decoder->state;
    if (!j)
        return;
    att_free(j->log_probs);
    att_free(j->weights);
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

/* Labels come after the tokens that every vocabulary has. */
static void keep_log_probs(judgement *j, const float *from, int64_t labels)
{
    for (int64_t r = 0; r < j->sources; r++) {
        float *row = j->log_probs + r * j->vocabulary;
        for (int i = 0; i < ATT_ID_FIRST; i++)
            row[i] = -INFINITY;
        memcpy(row + ATT_ID_FIRST, from + r * labels, (size_t)labels * sizeof *row);
    }
}

att_status att_label_start(att_decoder *decoder, const att_sources *sources, att_error *err)
{
    judgement *j = decoder->state;
    const att_model *model = decoder->model;
    const att_label_parts *parts = model->parts;
    att_tape *tape = decoder->tape;
    const float *weights = NULL;
    att_node *scores = scores_of(parts, tape, prepare(parts, tape, sources, NULL, NULL),
                                 decoder->want_weights ? &weights : NULL);
    if (model->temperature != 1)
        scores = att_scale(tape, scores, (float)(1 / model->temperature));
    const float *log_probs = att_log_probs_of(tape, scores);
    ATT_TRY(att_tape_status(tape, err));
    j->sources = sources->rows;
    j->length = sources->length;
    j->vocabulary = parts->labels + ATT_ID_FIRST;
    j->heads = parts->pooling.heads;
    j->weighted = weights != NULL;
    size_t looks = weights ? (size_t)(j->sources * j->heads * j->length) : 0;
    if (!reserve(&j->log_probs, &j->log_probs_room, (size_t)(j->sources * j->vocabulary)) ||
        !reserve(&j->weights, &j->weights_room, looks))
        return att_fail_memory(err);
    keep_log_probs(j, log_probs, parts->labels);
    if (weights)
        memcpy(j->weights, weights, looks * sizeof *weights);
    return ATT_OK;
}

/* Rows of `width` numbers in another order, in the tape's memory. */
static const float *pick_rows(att_tape *tape, const float *from, int64_t width, int64_t rows,
                              const int64_t *order)
{
    float *out = att_tape_take(tape, rows * width, sizeof *out);
    for (int64_t r = 0; out && r < rows; r++)
        memcpy(out + r * width, from + (order ? order[r] : r) * width, (size_t)width * sizeof *out);
    return out;
}

att_status att_label_step(att_decoder *decoder, int64_t rows, const int32_t *tokens,
                          const int64_t *order, att_decoded *out, att_error *err)
{
    (void)tokens; /* the first and only one is the start */
    const judgement *j = decoder->state;
    for (int64_t r = 0; order && r < rows; r++)
        assert(order[r] >= 0 && order[r] < j->sources);
    *out = (att_decoded){ .maps = j->heads, .heads = j->heads };
    out->log_probs = pick_rows(decoder->tape, j->log_probs, j->vocabulary, rows, order);
    if (j->weighted)
        out->weights = pick_rows(decoder->tape, j->weights, j->heads * j->length, rows, order);
    return att_tape_status(decoder->tape, err);
}
