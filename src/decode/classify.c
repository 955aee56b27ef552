/* att_model_classify(): lines to tokens, batches of similar length through the classifier, and
 * predictions in the order of the lines. */
#include "attend.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/options.h"
#include "base/math.h"
#include "base/progress.h"
#include "decode/classifier.h"
#include "decode/output_builder.h"

/* Tokens of a batch, padding included: large enough that matrix products run at full speed. */
enum { BATCH_TOKENS = 4096 };

struct att_predictions {
    att_prediction *items; /* [count] */
    size_t count;
    att_arena arena;
};

typedef struct classification {
    const att_model *model;
    const att_classify_options *options;
    att_predictions *predictions;
    att_classifier *classifier;
    att_requests requests;
    att_output_builder builder; /* of the tokens of lines */
} classification;

/* ---- one prediction */

/* The index of the largest value, the first of equals. */
static int64_t argmax(const double *values, int64_t count)
{
    int64_t best = 0;
    for (int64_t i = 1; i < count; i++)
        if (values[i] > values[best])
            best = i;
    return best;
}

static att_status add_probabilities(classification *s, att_prediction *out, const float *log_probs,
                                    att_error *err)
{
    int64_t labels = out->label_count;
    double *values = att_arena_alloc(&s->predictions->arena, (size_t)labels, sizeof *values);
    if (!values)
        return att_fail_memory(err);
    for (int64_t i = 0; i < labels; i++)
        values[i] = att_exp((double)log_probs[i]);
    out->probabilities = values;
    out->label = argmax(values, labels);
    out->label_text = att_model_label(s->model, (size_t)out->label);
    return ATT_OK;
}

static att_status add_attention(classification *s, att_prediction *out, const float *weights,
                                int64_t heads, int64_t length, att_error *err)
{
    size_t count = (size_t)out->token_count;
    if (!weights)
        return ATT_OK;
    double *each = att_arena_alloc(&s->predictions->arena, (size_t)heads * count, sizeof *each);
    double *mean = att_arena_alloc(&s->predictions->arena, count, sizeof *mean);
    if (!each || !mean)
        return att_fail_memory(err);
    for (size_t i = 0; i < count; i++) {
        mean[i] = 0;
        for (size_t h = 0; h < (size_t)heads; h++) {
            each[h * count + i] = (double)weights[h * (size_t)length + i];
            mean[i] += each[h * count + i] / (double)heads;
        }
    }
    out->weights = mean;
    out->head_weights = each;
    out->heads = heads;
    return ATT_OK;
}

static att_status make_prediction(classification *s, const att_request *q,
                                  const att_classifier_output *rows, int64_t r, att_error *err)
{
    att_prediction *out = &s->predictions->items[q->index];
    att_output read = { 0 };
    ATT_TRY(att_output_builder_source(&s->builder, &read, q, err));
    out->label_count = rows->labels;
    out->unknown_tokens = read.unknown_tokens;
    out->truncated_input_tokens = read.truncated_input_tokens;
    out->token_count = read.source_count;
    out->tokens = read.source_tokens;
    att_tokenizer_kind tokens = att_vocab_tokenizer_kind(s->model->source_vocab);
    out->spaced = att_tokenizer_specs[tokens].words;
    ATT_TRY(add_probabilities(s, out, rows->log_probs + r * rows->labels, err));
    const float *weights =
        rows->attention ? rows->attention + r * rows->heads * rows->length : NULL;
    return add_attention(s, out, weights, rows->heads, rows->length, err);
}

/* ---- all predictions */

static att_status classify_batch(classification *s, const att_request *q, int64_t count,
                                 att_error *err)
{
    att_sources sources;
    att_classifier_output rows;
    att_request_words words = { 0 };
    att_status status = att_request_sources(&sources, q, count, err);
    if (status == ATT_OK)
        status = att_request_words_add(&words, &sources, s->model->source_vocab, q, err);
    if (status == ATT_OK)
        status = att_error_at_request(
            att_classifier_run(s->classifier, &sources, s->options->attention, &rows, err), q, err);
    for (int64_t r = 0; r < count && status == ATT_OK; r++)
        status = make_prediction(s, &q[r], &rows, r, err);
    att_request_sources_free(&sources);
    att_request_words_free(&words);
    return status;
}

static att_status classify_all(classification *s, att_error *err)
{
    size_t done = 0, count = s->requests.count;
    const att_request *items = s->requests.items;
    while (done < count && items[done].source.count > 0) {
        size_t max = s->options->batch_size > 0 ? (size_t)s->options->batch_size
                                                : 1 + BATCH_TOKENS / items[done].source.count;
        size_t rows = att_requests_batch_size(&s->requests, done, max);
        ATT_TRY(classify_batch(s, &items[done], (int64_t)rows, err));
        done += rows;
        ATT_TRY(att_progress_step((int64_t)done, err));
    }
    for (; done < count; done++) /* lines without tokens have no label */
        s->predictions->items[items[done].index] =
            (att_prediction){ .label_text = "", .label = -1 };
    return ATT_OK;
}

static att_status run(classification *s, const char *const *lines, size_t count, att_error *err)
{
    const att_classify_options *options = s->options;
    s->predictions->items =
        att_arena_alloc(&s->predictions->arena, count, sizeof *s->predictions->items);
    if (!s->predictions->items)
        return att_fail_memory(err);
    ATT_TRY(att_classifier_new(&s->classifier, s->model, options->ensemble, options->ensemble_count,
                               err));
    att_input_limit limit = att_input_limit_of(s->model, options->ensemble, options->ensemble_count,
                                               options->max_input_length);
    limit.overflow = options->input_overflow;
    ATT_TRY(att_requests_tokenize(&s->requests, s->model->source_vocab, lines, count, &limit, err));
    return classify_all(s, err);
}

att_status att_model_classify(att_predictions **out, const att_model *model,
                              const char *const *lines, size_t count,
                              const att_classify_options *options, att_error *err)
{
    att_classify_options resolved;
    *out = NULL;
    ATT_TRY(ATT_OPTIONS_COPY(att_classify_options, &resolved, options, err));
    att_predictions *predictions = att_alloc_zero(1, sizeof *predictions);
    if (!predictions)
        return att_fail_memory(err);
    predictions->count = count;
    classification s = { .model = model, .options = &resolved, .predictions = predictions };
    s.builder = (att_output_builder){ .model = model, .arena = &predictions->arena };
    att_progress_scope scope;
    att_progress_begin(&scope, "classifying", (int64_t)count);
    att_status status = run(&s, lines, count, err);
    status = att_progress_end(&scope, status, err);
    att_requests_free(&s.requests);
    att_classifier_free(s.classifier);
    att_string_free(&s.builder.scratch);
    if (status == ATT_OK)
        *out = predictions;
    else
        att_predictions_free(predictions);
    return status;
}

void att_predictions_free(att_predictions *predictions)
{
    if (!predictions)
        return;
    att_arena_free(&predictions->arena);
    att_free(predictions);
}

size_t att_predictions_count(const att_predictions *predictions)
{
    return predictions->count;
}

const att_prediction *att_predictions_get(const att_predictions *predictions, size_t index)
{
    return index < predictions->count ? &predictions->items[index] : NULL;
}
