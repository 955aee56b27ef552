/* attend show with a classifier: the predicted label, and the words highlighted by attention. */
#include "show.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The sentence as it is drawn. The spaces between words are not colored. */
typedef struct highlighted_sentence {
    att_string title;
    const char **tokens;
    double *values;
    att_highlight highlight;
} highlighted_sentence;

/* The label that follows `last` (-1: the first) in order of decreasing probability; -1 at the end.
 */
static int64_t next_most_probable(const att_prediction *prediction, int64_t last)
{
    const double *p = prediction->probabilities;
    int64_t next = -1;
    for (int64_t i = 0; i < prediction->label_count; i++) {
        bool after = last < 0 || p[i] < p[last] || (p[i] == p[last] && i > last);
        if (after && (next < 0 || p[i] > p[next]))
            next = i;
    }
    return next;
}

/* "positive 93.1 %, negative 6.9 %": the most probable labels. */
static att_status write_title(att_string *out, const att_prediction *prediction,
                              const att_model *model)
{
    enum { MAX_TITLE_LABELS = 5 };
    att_status status = ATT_OK;
    int64_t at = next_most_probable(prediction, -1);
    for (int i = 0; i < MAX_TITLE_LABELS && at >= 0 && status == ATT_OK; i++) {
        const char *label = att_model_label(model, (size_t)at);
        char percent[32];
        snprintf(percent, sizeof percent, " %.1f %%", 100 * prediction->probabilities[at]);
        status = string_join(out, (string_piece[]){ { ", ", i > 0 ? 2 : 0 },
                                                    { label, strlen(label) },
                                                    { percent, strlen(percent) },
                                                    { 0 } });
        at = next_most_probable(prediction, at);
    }
    return status;
}

static att_status highlight_tokens(highlighted_sentence *out, const att_prediction *prediction,
                                   const att_model *model, long head, att_error *err)
{
    size_t count = (size_t)prediction->token_count, at = 0;
    const double *weights = head > 0
                                ? prediction->head_weights + (head - 1) * prediction->token_count
                                : prediction->weights;
    out->tokens = calloc(2 * count, sizeof *out->tokens);
    out->values = calloc(2 * count, sizeof *out->values);
    if (!out->tokens || !out->values || write_title(&out->title, prediction, model) != ATT_OK)
        return error_memory(err);
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && prediction->spaced) {
            out->tokens[at] = " ";
            out->values[at++] = NAN;
        }
        out->tokens[at] = prediction->tokens[i];
        out->values[at++] = weights[i];
    }
    out->highlight = (att_highlight){
        .title = out->title.data, .count = (int64_t)at, .tokens = out->tokens, .values = out->values
    };
    return ATT_OK;
}

/* Whether there are attention weights to show. */
static att_status check(const att_prediction *prediction, long head, att_error *err)
{
    if (prediction->token_count == 0)
        return error_set(err, ATT_BAD_INPUT, "", "the input has no tokens");
    if (!prediction->weights)
        return error_set(err, ATT_BAD_INPUT, "",
                         "the model has no attention pooling (train with --pool attention); its "
                         "prediction is %s",
                         prediction->label_text);
    if (head > prediction->heads)
        return error_set(err, ATT_BAD_INPUT, "",
                         "head %ld does not exist: the model has %lld heads", head,
                         (long long)prediction->heads);
    return ATT_OK;
}

static att_status show_prediction(const att_prediction *prediction, const att_model *model,
                                  const show_settings *set, att_error *err)
{
    highlighted_sentence m = { 0 };
    att_status status = check(prediction, set->head, err);
    if (status == ATT_OK)
        status = highlight_tokens(&m, prediction, model, set->head, err);
    if (status == ATT_OK)
        status = show_highlight(&m.highlight, set, err);
    att_string_free(&m.title);
    free(m.tokens);
    free(m.values);
    return status;
}

att_status show_classifier(const void *settings, const decoding *models, const char *input,
                           att_error *err)
{
    const show_settings *set = settings;
    const att_classify_options options = { .size = sizeof(att_classify_options),
                                           .attention = true,
                                           .ensemble = models->options.ensemble,
                                           .ensemble_count = models->options.ensemble_count };
    att_predictions *predictions = NULL;
    att_status status = att_model_classify(&predictions, models->model, &input, 1, &options, err);
    err->line = 0; /* there is only one line */
    if (status == ATT_OK)
        status = show_prediction(att_predictions_get(predictions, 0), models->model, set, err);
    att_predictions_free(predictions);
    return status;
}
