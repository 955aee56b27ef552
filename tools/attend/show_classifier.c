/* attend show, on a sentence to be sorted: its label, and the words marked by attention. */
#include "show.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "drawing_files.h"

/* The sentence as it is drawn. Words have spaces between them, which are not coloured. */
typedef struct highlighted_sentence {
    att_string title;
    const char **tokens;
    double *values;
    att_highlight highlight;
} highlighted_sentence;

/* The most probable label that comes after `last` (-1: the first) in the order of probabilities. */
static int64_t next_most_probable(const att_prediction *verdict, int64_t last)
{
    const double *p = verdict->probabilities;
    int64_t next = -1;
    for (int64_t i = 0; i < verdict->label_count; i++) {
        bool after = last < 0 || p[i] < p[last] || (p[i] == p[last] && i > last);
        if (after && (next < 0 || p[i] > p[next]))
            next = i;
    }
    return next;
}

/* "positive 93.1 %, negative 6.9 %", the most probable first; not all of many. */
static att_status write_title(att_string *out, const att_prediction *verdict,
                              const att_model *model)
{
    enum { MAX_TITLE_LABELS = 5 };
    att_status status = ATT_OK;
    int64_t at = next_most_probable(verdict, -1);
    for (int told = 0; told < MAX_TITLE_LABELS && at >= 0 && status == ATT_OK; told++) {
        const char *label = att_model_label(model, (size_t)at);
        char percent[32];
        snprintf(percent, sizeof percent, " %.1f %%", 100 * verdict->probabilities[at]);
        status = string_join(out, (string_piece[]){ { ", ", told > 0 ? 2 : 0 },
                                                    { label, strlen(label) },
                                                    { percent, strlen(percent) },
                                                    { 0 } });
        at = next_most_probable(verdict, at);
    }
    return status;
}

static att_status highlight_tokens(highlighted_sentence *out, const att_prediction *verdict,
                                   const att_model *model, long head, att_error *err)
{
    size_t count = (size_t)verdict->token_count, at = 0;
    const double *weights =
        head > 0 ? verdict->head_weights + (head - 1) * verdict->token_count : verdict->weights;
    out->tokens = calloc(2 * count, sizeof *out->tokens);
    out->values = calloc(2 * count, sizeof *out->values);
    if (!out->tokens || !out->values || write_title(&out->title, verdict, model) != ATT_OK)
        return error_memory(err);
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && verdict->spaced) {
            out->tokens[at] = " ";
            out->values[at++] = NAN;
        }
        out->tokens[at] = verdict->tokens[i];
        out->values[at++] = weights[i];
    }
    out->highlight = (att_highlight){
        .title = out->title.data, .count = (int64_t)at, .tokens = out->tokens, .values = out->values
    };
    return ATT_OK;
}

static att_status draw(att_string *out, const void *coloured, bool flat, att_error *err)
{
    (void)flat; /* a few words are not too many for a rasteriser */
    return att_highlight_svg(out, coloured, 0, err);
}

static att_status write_files(const att_highlight *coloured, const show_settings *set,
                              att_error *err)
{
    const drawing_files asked = { set->svg, set->png, set->pdf, set->scale };
    output_list files = { 0 };
    att_status status =
        drawing_files_draw(&files, &(drawing_source){ "picture", draw, coloured }, 1, &asked, err);
    if (status == ATT_OK && set->html) {
        output_file *file = output_add(&files, set->html, "page");
        status = file ? att_highlight_html(&file->bytes, coloured, err) : error_memory(err);
    }
    if (status == ATT_OK)
        status = output_check(&files, err);
    if (status == ATT_OK)
        status = output_save(&files, err);
    output_free(&files);
    return status;
}

static att_status write_text(const att_highlight *coloured, const show_settings *set,
                             att_error *err)
{
    const att_render_options options = { .ascii = set->ascii,
                                         .color = output_color((color_choice)set->color),
                                         .width = output_width() };
    att_string text = { 0 };
    att_status status = att_highlight_text(&text, coloured, &options, err);
    if (status == ATT_OK)
        status = output_stdout(text.data, text.length, err);
    att_string_free(&text);
    return status;
}

/* What there is nothing to show of. */
static att_status check(const att_prediction *verdict, long head, att_error *err)
{
    if (verdict->token_count == 0)
        return error_set(err, ATT_BAD_INPUT, "", "the input has no tokens");
    if (!verdict->weights)
        return error_set(err, ATT_BAD_INPUT, "",
                         "the model has no attention to show: it was trained with another pool "
                         "than attention; it says %s",
                         verdict->label_text);
    if (head > verdict->heads)
        return error_set(err, ATT_BAD_INPUT, "", "there is no head %ld: the model has %lld", head,
                         (long long)verdict->heads);
    return ATT_OK;
}

static att_status show_prediction(const att_prediction *verdict, const att_model *model,
                                  const show_settings *set, att_error *err)
{
    highlighted_sentence m = { 0 };
    att_status status = check(verdict, set->head, err);
    if (status == ATT_OK)
        status = highlight_tokens(&m, verdict, model, set->head, err);
    if (status == ATT_OK)
        status = write_files(&m.highlight, set, err);
    if (status == ATT_OK && !set->quiet)
        status = write_text(&m.highlight, set, err);
    att_string_free(&m.title);
    free(m.tokens);
    free(m.values);
    return status;
}

att_status show_classifier(const show_settings *set, const decoding *models, const char *input,
                           att_error *err)
{
    const att_classify_options how = { .attention = true,
                                       .ensemble = models->options.ensemble,
                                       .ensemble_count = models->options.ensemble_count };
    att_predictions *verdicts = NULL;
    att_status status = att_model_classify(&verdicts, models->model, &input, 1, &how, err);
    err->line = 0; /* there is but one line */
    if (status == ATT_OK)
        status = show_prediction(att_predictions_get(verdicts, 0), models->model, set, err);
    att_predictions_free(verdicts);
    return status;
}
