/* Lines sorted by a model: text to tokens, batches of similar length, and labels (attend.h). */
#include "base/math.h"
#include "attend.h"

#include "base/alloc.h"
#include "base/error.h"
#include "decode/output_builder.h"
#include "decode/classifier.h"

/* Tokens to a batch, padding included: enough to keep the products busy. */
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
    att_output_builder builder; /* makes the tokens of lines */
} classification;

/* ---- one verdict */

/* The most probable, the first of equals. */
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
    out->spaced = tokens == ATT_TOKENIZER_WORD || tokens == ATT_TOKENIZER_SPACE;
    ATT_TRY(add_probabilities(s, out, rows->log_probs + r * rows->labels, err));
    const float *weights =
        rows->attention ? rows->attention + r * rows->heads * rows->length : NULL;
    return add_attention(s, out, weights, rows->heads, rows->length, err);
}

/* ---- all of them */

static att_status classify_batch(classification *s, const att_request *q, int64_t count,
                                 att_error *err)
{
    att_sources sources;
    att_classifier_output rows;
    att_status status = att_request_sources(&sources, q, count, err);
    if (status == ATT_OK)
        status = att_error_at_line(
            att_classifier_run(s->classifier, &sources, s->options->attention, &rows, err),
            q->index, err);
    for (int64_t r = 0; r < count && status == ATT_OK; r++)
        status = make_prediction(s, &q[r], &rows, r, err);
    att_request_sources_free(&sources);
    return status;
}

static att_status classify_all(classification *s, att_error *err)
{
    size_t at = 0, count = s->requests.count;
    const att_request *items = s->requests.items;
    while (at < count && items[at].source.count > 0) {
        size_t most = s->options->batch_size > 0 ? (size_t)s->options->batch_size
                                                 : 1 + BATCH_TOKENS / items[at].source.count;
        size_t rows = att_requests_batch_size(&s->requests, at, most);
        ATT_TRY(classify_batch(s, &items[at], (int64_t)rows, err));
        at += rows;
    }
    for (; at < count; at++) /* nothing was asked: nothing is answered */
        s->predictions->items[items[at].index] = (att_prediction){ .label_text = "", .label = -1 };
    return ATT_OK;
}

static att_status run(classification *s, const char *const *lines, size_t count, att_error *err)
{
    const att_classify_options *how = s->options;
    s->predictions->items =
        att_arena_alloc(&s->predictions->arena, count, sizeof *s->predictions->items);
    if (!s->predictions->items)
        return att_fail_memory(err);
    ATT_TRY(att_classifier_new(&s->classifier, s->model, how->ensemble, how->ensemble_count, err));
    const att_input_limit limit = {
        att_max_input_length(s->model, how->ensemble, how->ensemble_count, how->max_input_length),
        how->input_overflow
    };
    ATT_TRY(att_requests_tokenize(&s->requests, s->model->source_vocab, lines, count, &limit, err));
    return classify_all(s, err);
}

att_status att_model_classify(att_predictions **out, const att_model *model, const char *const *lines,
                              size_t count, const att_classify_options *how, att_error *err)
{
    static const att_classify_options usual = { 0 };
    *out = NULL;
    att_predictions *verdicts = att_alloc_zero(1, sizeof *verdicts);
    if (!verdicts)
        return att_fail_memory(err);
    verdicts->count = count;
    classification s = { .model = model, .options = how ? how : &usual, .predictions = verdicts };
    s.builder = (att_output_builder){ .model = model, .arena = &verdicts->arena };
    att_status status = run(&s, lines, count, err);
    att_requests_free(&s.requests);
    att_classifier_free(s.classifier);
    att_string_free(&s.builder.scratch);
    if (status == ATT_OK)
        *out = verdicts;
    else
        att_predictions_free(verdicts);
    return status;
}

void att_predictions_free(att_predictions *verdicts)
{
    if (!verdicts)
        return;
    att_arena_free(&verdicts->arena);
    att_free(verdicts);
}

size_t att_predictions_count(const att_predictions *verdicts)
{
    return verdicts->count;
}

const att_prediction *att_predictions_get(const att_predictions *verdicts, size_t index)
{
    return index < verdicts->count ? &verdicts->items[index] : NULL;
}
