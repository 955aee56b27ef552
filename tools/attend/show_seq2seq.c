/* attend show with a seq2seq model: its output, and the attention map of cross-attention or
 * self-attention. */
#include "show.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- tokens as labels of a map: BPE and SentencePiece tokens without the marks of the vocabulary
 */

typedef struct token_labels {
    const char **items; /* NULL: the tokens are the labels */
    char *text;         /* holds the labels */
} token_labels;

#define WORD_MARK         "▁"
#define CONTINUATION_MARK "·"

static bool begins_word(const char *token)
{
    return strncmp(token, WORD_MARK, strlen(WORD_MARK)) == 0;
}

/* "<end>", "<0xE2>" */
static bool is_name(const char *token)
{
    size_t length = strlen(token);
    return length > 2 && token[0] == '<' && token[length - 1] == '>';
}

/* Writes the label of a token at `to`; returns where the next one goes. */
static char *put_label(char *to, const char *token)
{
    bool word = begins_word(token) && token[strlen(WORD_MARK)];
    const char *before = word || is_name(token) || begins_word(token) ? "" : CONTINUATION_MARK;
    return to + sprintf(to, "%s%s", before, word ? token + strlen(WORD_MARK) : token) + 1;
}

/* If any token starts a word with ▁: labels without the mark, and with a dot before tokens that
 * continue a word. Release with token_labels_free(), also on failure. */
static att_status token_labels_make(token_labels *out, const char *const *tokens, int64_t count,
                                    att_error *err)
{
    *out = (token_labels){ 0 };
    size_t room = 0;
    bool any = false;
    for (int64_t i = 0; i < count; i++) {
        room += strlen(CONTINUATION_MARK) + strlen(tokens[i]) + 1;
        any |= begins_word(tokens[i]);
    }
    if (!any)
        return ATT_OK;
    out->items = calloc((size_t)count, sizeof *out->items);
    out->text = malloc(room);
    if (!out->items || !out->text)
        return error_memory(err);
    char *to = out->text;
    for (int64_t i = 0; i < count; i++) {
        out->items[i] = to;
        to = put_label(to, tokens[i]);
    }
    return ATT_OK;
}

static void token_labels_free(token_labels *labels)
{
    free(labels->items);
    free(labels->text);
}

/* ---- drawing */

/* The output, then the map as text. */
static att_status make_text(att_string *out, const att_output *output, const att_map *map,
                            const show_settings *set, att_error *err)
{
    att_render_options options = output_render_options(set->color, set->ascii);
    options.digits = output_digits(set->digits);
    if (string_join(out, (string_piece[]){ { output->text, strlen(output->text) },
                                           { "\n\n", 2 },
                                           { 0 } }) != ATT_OK)
        return error_memory(err);
    return att_map_render(out, map, &options, err);
}

static att_status make_page(output_list *files, const att_output *output, const att_map *map,
                            const char *path, att_error *err)
{
    output_file *file = output_add(files, path, "page");
    return file ? att_output_html(&file->bytes, output, map, err) : error_memory(err);
}

/* Draws a map to the terminal and to the files that were asked for. */
static att_status draw_map(const att_output *output, const att_map *map, const show_settings *set,
                           att_error *err)
{
    const drawing_files asked = show_drawing_files(set);
    att_string text = { 0 };
    output_list files = { 0 };
    att_status status = drawing_files_draw_maps(&files, (const att_map *[]){ map }, 1, &asked, err);
    if (status == ATT_OK && set->html)
        status = make_page(&files, output, map, set->html, err);
    if (status == ATT_OK && !set->quiet)
        status = make_text(&text, output, map, set, err);
    if (status == ATT_OK)
        status = output_all(&files, &text, err);
    output_free(&files);
    att_string_free(&text);
    return status;
}

/* The same, with readable labels. */
static att_status show_map(const att_output *output, const att_map *map, const show_settings *set,
                           att_error *err)
{
    att_map shown = *map;
    token_labels queries, keys = { 0 };
    att_status status = token_labels_make(&queries, map->query_labels, map->queries, err);
    if (status == ATT_OK)
        status = token_labels_make(&keys, map->key_labels, map->keys, err);
    if (queries.items)
        shown.query_labels = queries.items;
    if (keys.items)
        shown.key_labels = keys.items;
    if (status == ATT_OK)
        status = draw_map(output, &shown, set, err);
    token_labels_free(&queries);
    token_labels_free(&keys);
    return status;
}

/* The output as JSON; figures go to their files as ever. */
static att_status show_json(const att_output *output, const att_map *map, const show_settings *set,
                            att_error *err)
{
    show_settings files = *set;
    files.quiet = true;
    att_string text = { 0 };
    att_status status = show_map(output, map, &files, err);
    if (status == ATT_OK)
        status = att_output_json(&text, output, err);
    if (status == ATT_OK)
        status = output_stdout(text.data, text.length, err);
    att_string_free(&text);
    return status;
}

static att_status show_cross(const att_output *output, const show_settings *set, att_error *err)
{
    att_map map;
    if (!(set->heads ? att_output_layer_map(&map, output, set->layer)
                     : att_output_map(&map, output)))
        return error_set(err, ATT_BAD_INPUT, "",
                         "the model has no attention weights: it was trained with --attention none "
                         "or fixed");
    return (set->json ? show_json : show_map)(output, &map, set, err);
}

static att_status show_self(att_model *model, const char *input, const att_output *output,
                            const show_settings *set, att_error *err)
{
    const att_head_selection which = { .block = set->part == SHOW_ENCODER ? ATT_BLOCK_ENCODER
                                                                          : ATT_BLOCK_DECODER,
                                       .layer = set->layer,
                                       .head = set->head,
                                       .input = input,
                                       .target = output->text };
    att_attention_map *map;
    att_status status = att_model_attention_map(&map, model, &which, set->heads, err);
    if (status == ATT_OK)
        status = show_map(output, att_attention_map_get(map), set, err);
    att_attention_map_free(map);
    return status;
}

att_status show_seq2seq(const void *settings, const decoding *models, const char *input,
                        att_error *err)
{
    const show_settings *set = settings;
    bool cross = set->part == SHOW_CROSS;
    att_outputs *outputs = NULL;
    const att_generate_options options = { .size = sizeof(att_generate_options),
                                           .decoding = &models->options,
                                           .attention = cross,
                                           .all_heads = cross && set->heads,
                                           .layer = cross ? set->layer : 0,
                                           .head = cross ? set->head : 0,
                                           .targets = set->target ? &set->target : NULL };
    att_status status = att_model_generate(&outputs, models->model, &input, 1, &options, err);
    err->line = 0; /* there is only one line */
    const att_output *output = status == ATT_OK ? att_outputs_get(outputs, 0) : NULL;
    if (output && output->source_count == 0)
        status = error_set(err, ATT_BAD_INPUT, "", "the input has no tokens");
    else if (output)
        status = cross ? show_cross(output, set, err)
                       : show_self(models->model, input, output, set, err);
    att_outputs_free(outputs);
    return status;
}
