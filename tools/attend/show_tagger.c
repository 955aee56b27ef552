/* attend show with a tagger: the sentence with its labels, colored by their probabilities, or the
 * self-attention of a Transformer encoder. */
#include "show.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The sentence as it is drawn: each token, its label where it is not O, and a space. */
typedef struct tagged_sentence {
    att_string label_texts; /* "/B-city" of each, ended by zero bytes */
    const char **tokens;
    double *values;
    uint8_t *underlined;
    att_highlight highlight;
} tagged_sentence;

static att_status write_label_texts(att_string *out, const att_tagging *tagging)
{
    att_status status = ATT_OK;
    for (int64_t i = 0; i < tagging->token_count && status == ATT_OK; i++)
        status = string_join(
            out, (string_piece[]){
                     { "/", 1 }, { tagging->labels[i], strlen(tagging->labels[i]) + 1 }, { 0 } });
    return status;
}

static void add_piece(tagged_sentence *out, const char *text, double value, bool underlined)
{
    int64_t at = out->highlight.count++;
    out->tokens[at] = text;
    out->values[at] = value;
    out->underlined[at] = underlined;
}

static att_status lay_out(tagged_sentence *out, const att_tagging *tagging, att_error *err)
{
    size_t count = 3 * (size_t)tagging->token_count;
    out->tokens = calloc(count, sizeof *out->tokens);
    out->values = calloc(count, sizeof *out->values);
    out->underlined = calloc(count, sizeof *out->underlined);
    if (!out->tokens || !out->values || !out->underlined ||
        write_label_texts(&out->label_texts, tagging) != ATT_OK)
        return error_memory(err);
    const char *label = out->label_texts.data;
    for (int64_t i = 0; i < tagging->token_count; i++, label += strlen(label) + 1) {
        const double *row = tagging->probabilities + i * tagging->label_count;
        bool outside = strcmp(tagging->labels[i], "O") == 0;
        if (i > 0)
            add_piece(out, " ", NAN, false);
        add_piece(out, tagging->tokens[i], row[tagging->label_indices[i]], !outside);
        if (!outside)
            add_piece(out, label, NAN, false);
    }
    out->highlight.title = "labels, and their probabilities as colors";
    out->highlight.tokens = out->tokens;
    out->highlight.values = out->values;
    out->highlight.underlined = out->underlined;
    out->highlight.max_value = 1;
    return ATT_OK;
}

static att_status print_json(const att_tagging *tagging, att_error *err)
{
    att_string text = { 0 };
    att_status status = att_tagging_json(&text, tagging, err);
    if (status == ATT_OK)
        status = output_stdout(text.data, text.length, err);
    att_string_free(&text);
    return status;
}

static att_status show_tagging(const att_tagging *tagging, const show_settings *set, att_error *err)
{
    if (tagging->token_count == 0)
        return error_set(err, ATT_BAD_INPUT, "", "the input has no tokens");
    show_settings files = *set;
    files.quiet |= set->json;
    tagged_sentence sentence = { 0 };
    att_status status = lay_out(&sentence, tagging, err);
    if (status == ATT_OK)
        status = show_highlight(&sentence.highlight, &files, err);
    if (status == ATT_OK && set->json)
        status = print_json(tagging, err);
    att_string_free(&sentence.label_texts);
    free(sentence.tokens);
    free(sentence.values);
    free(sentence.underlined);
    return status;
}

static att_status show_line(const show_settings *set, const decoding *models, const char *input,
                            att_error *err)
{
    if (show_asks_for_map(set) || set->head > 0) {
        const att_head_selection line = { .block = show_block(set, ATT_BLOCK_ENCODER),
                                          .input = input };
        return show_self_attention(models->model, &line, NULL, set, err);
    }
    const att_tag_options options = { .size = sizeof(att_tag_options),
                                      .ensemble = models->options.ensemble,
                                      .ensemble_count = models->options.ensemble_count };
    att_taggings *taggings = NULL;
    att_status status = att_model_tag(&taggings, models->model, &input, 1, &options, err);
    err->line = 0; /* there is only one line */
    if (status == ATT_OK)
        status = show_tagging(att_taggings_get(taggings, 0), set, err);
    att_taggings_free(taggings);
    return status;
}

att_status show_tagger(const void *settings, const decoding *models, const char *input,
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
