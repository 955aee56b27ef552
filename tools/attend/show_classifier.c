/* attend show with a classifier: the predicted label, and the words highlighted by the attention
 * that pools them or by that of the stop token; or the self-attention of a Transformer encoder. */
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

static att_status highlight_tokens(highlighted_sentence *out, const char *const *tokens,
                                   const double *weights, int64_t count, bool spaced,
                                   att_error *err)
{
    int64_t at = 0;
    out->tokens = calloc(2 * (size_t)count, sizeof *out->tokens);
    out->values = calloc(2 * (size_t)count, sizeof *out->values);
    if (!out->tokens || !out->values)
        return error_memory(err);
    for (int64_t i = 0; i < count; i++) {
        if (i > 0 && spaced) {
            out->tokens[at] = " ";
            out->values[at++] = NAN;
        }
        out->tokens[at] = tokens[i];
        out->values[at++] = weights[i];
    }
    out->highlight = (att_highlight){
        .title = out->title.data, .count = at, .tokens = out->tokens, .values = out->values
    };
    return ATT_OK;
}

static void sentence_free(highlighted_sentence *sentence)
{
    att_string_free(&sentence->title);
    free(sentence->tokens);
    free(sentence->values);
}

/* ---- attention pooling */

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

static att_status show_pooling(const att_prediction *prediction, const att_model *model,
                               const show_settings *set, att_error *err)
{
    highlighted_sentence m = { 0 };
    int64_t count = prediction->token_count;
    att_status status = check(prediction, set->head, err);
    if (status == ATT_OK && write_title(&m.title, prediction, model) != ATT_OK)
        status = error_memory(err);
    if (status == ATT_OK)
        status = highlight_tokens(&m, prediction->tokens,
                                  set->head > 0 ? prediction->head_weights + (set->head - 1) * count
                                                : prediction->weights,
                                  count, prediction->spaced, err);
    if (status == ATT_OK)
        status = show_highlight(&m.highlight, set, err);
    sentence_free(&m);
    return status;
}

/* ---- the encoder of a Transformer */

/* The last row of the map is the stop token, whose state is classified. */
static att_status highlight_stop_row(const att_map *map, const att_prediction *prediction,
                                     const att_model *model, const show_settings *set,
                                     att_error *err)
{
    static const char note[] = "; colors: attention of the stop token in the last layer";
    highlighted_sentence m = { 0 };
    const double *weights = map->weights + (map->queries - 1) * map->keys;
    att_status status = write_title(&m.title, prediction, model);
    if (status == ATT_OK)
        status = att_string_append(&m.title, note, sizeof note - 1);
    status = status == ATT_OK ? highlight_tokens(&m, map->key_labels, weights, map->keys,
                                                 prediction->spaced, err)
                              : error_memory(err);
    if (status == ATT_OK)
        status = show_highlight(&m.highlight, set, err);
    sentence_free(&m);
    return status;
}

static att_status show_stop_token(const att_prediction *prediction, const att_model *model,
                                  const char *input, const show_settings *set, att_error *err)
{
    const att_head_selection which = { .block = ATT_BLOCK_ENCODER,
                                       .head = set->head,
                                       .input = input };
    att_attention_map *map;
    att_status status = att_model_attention_map(&map, model, &which, false, err);
    if (status == ATT_OK)
        status = highlight_stop_row(att_attention_map_get(map), prediction, model, set, err);
    att_attention_map_free(map);
    return status;
}

static att_status show_encoder(const att_prediction *prediction, const att_model *model,
                               const char *input, const show_settings *set, att_error *err)
{
    const att_head_selection asked = { .block = show_block(set, ATT_BLOCK_ENCODER),
                                       .input = input };
    att_string title = { 0 };
    att_status status =
        write_title(&title, prediction, model) == ATT_OK ? ATT_OK : error_memory(err);
    if (status == ATT_OK)
        status = show_self_attention(model, &asked, title.data, set, err);
    att_string_free(&title);
    return status;
}

/* ---- the choice */

static att_status print_json(const att_prediction *prediction, const att_model *model,
                             att_error *err)
{
    att_string text = { 0 };
    att_status status = att_prediction_json(&text, prediction, model, err);
    if (status == ATT_OK)
        status = output_stdout(text.data, text.length, err);
    att_string_free(&text);
    return status;
}

static att_status show_prediction(const att_prediction *prediction, const att_model *model,
                                  const char *input, const show_settings *set, att_error *err)
{
    bool transformer = att_model_attention_layers(model, ATT_BLOCK_ENCODER) > 0;
    if (prediction->token_count == 0)
        return error_set(err, ATT_BAD_INPUT, "", "the input has no tokens");
    if (show_asks_for_map(set) || (transformer && !prediction->weights && set->json))
        return show_encoder(prediction, model, input, set, err);
    if (!prediction->weights && transformer)
        return (att_model_has_stop_token(model) ? show_stop_token : show_encoder)(prediction, model,
                                                                                  input, set, err);
    if (!set->json)
        return show_pooling(prediction, model, set, err);
    show_settings files = *set;
    files.quiet = true;
    att_status status = show_pooling(prediction, model, &files, err);
    return status == ATT_OK ? print_json(prediction, model, err) : status;
}

static att_status show_line(const show_settings *set, const decoding *models, const char *input,
                            att_error *err)
{
    const att_classify_options options = { .size = sizeof(att_classify_options),
                                           .attention = true,
                                           .ensemble = models->options.ensemble,
                                           .ensemble_count = models->options.ensemble_count };
    att_predictions *predictions = NULL;
    att_status status = att_model_classify(&predictions, models->model, &input, 1, &options, err);
    err->line = 0; /* there is only one line */
    if (status == ATT_OK)
        status =
            show_prediction(att_predictions_get(predictions, 0), models->model, input, set, err);
    att_predictions_free(predictions);
    return status;
}

att_status show_classifier(const void *settings, const decoding *models, const char *input,
                           att_error *err)
{
    att_string read = { 0 };
    const char *line;
    att_status status = show_read_line(&line, &read, input, err);
    if (status == ATT_OK)
        status = show_line(settings, models, line, err);
    att_string_free(&read);
    return status;
}
