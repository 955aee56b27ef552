/* An attention map of `attend show`: as the files that were asked for, and as text or JSON. */
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

/* What the map is of, then the map as text. */
static att_status make_text(att_string *out, const show_figure *figure, const att_map *map,
                            const show_settings *set, att_error *err)
{
    att_render_options options = output_render_options(set->color, set->ascii);
    options.digits = output_digits(set->digits);
    const char *heading = figure->heading;
    if (heading &&
        string_join(out, (string_piece[]){ { heading, strlen(heading) }, { "\n\n", 2 }, { 0 } }) !=
            ATT_OK)
        return error_memory(err);
    return att_map_render(out, map, &options, err);
}

static att_status make_page(output_list *files, const show_figure *figure, const att_map *map,
                            const show_settings *set, att_error *err)
{
    output_file *file = output_add(files, set->html, "page");
    att_render_options options = output_format(ATT_FORMAT_HTML);
    options.digits = output_digits(set->digits);
    if (!file)
        return error_memory(err);
    options.arcs = set->arcs;
    return figure->output && !set->arcs ? att_output_html(&file->bytes, figure->output, map, err)
                                        : att_map_render(&file->bytes, map, &options, err);
}

/* The output with its attention, or the map alone. */
static att_status make_json(att_string *out, const show_figure *figure, const att_map *map,
                            att_error *err)
{
    const att_render_options options = output_format(ATT_FORMAT_JSON);
    return figure->output ? att_output_json(out, figure->output, err)
                          : att_map_render(out, map, &options, err);
}

/* Draws a map to the terminal and to the files that were asked for. */
static att_status draw_map(const show_figure *figure, const att_map *map, const show_settings *set,
                           att_error *err)
{
    const drawing_files asked = show_drawing_files(set);
    att_string text = { 0 };
    output_list files = { 0 };
    att_status status = drawing_files_draw_maps(&files, (const att_map *[]){ map }, 1, &asked, err);
    if (status == ATT_OK && set->html)
        status = make_page(&files, figure, map, set, err);
    if (status == ATT_OK && set->json)
        status = make_json(&text, figure, figure->map, err);
    else if (status == ATT_OK && !set->quiet)
        status = make_text(&text, figure, map, set, err);
    if (status == ATT_OK)
        status = output_all(&files, &text, err);
    output_free(&files);
    att_string_free(&text);
    return status;
}

att_status show_map(const show_figure *figure, const show_settings *set, att_error *err)
{
    att_map shown = *figure->map;
    token_labels queries, keys = { 0 };
    att_status status = token_labels_make(&queries, shown.query_labels, shown.queries, err);
    if (status == ATT_OK)
        status = token_labels_make(&keys, shown.key_labels, shown.keys, err);
    if (queries.items)
        shown.query_labels = queries.items;
    if (keys.items)
        shown.key_labels = keys.items;
    if (status == ATT_OK)
        status = draw_map(figure, &shown, set, err);
    token_labels_free(&queries);
    token_labels_free(&keys);
    return status;
}

/* ---- self-attention of any Transformer */

bool show_asks_for_map(const show_settings *set)
{
    return set->part != SHOW_PART_DEFAULT || set->layer > 0 || set->heads || set->overview ||
           set->arcs;
}

att_attention_block show_block(const show_settings *set, att_attention_block other)
{
    static const att_attention_block blocks[] = { [SHOW_CROSS] = ATT_BLOCK_CROSS,
                                                  [SHOW_ENCODER] = ATT_BLOCK_ENCODER,
                                                  [SHOW_DECODER] = ATT_BLOCK_DECODER };
    return set->part == SHOW_PART_DEFAULT ? other : blocks[set->part];
}

att_status show_self_attention(const att_model *model, const att_head_selection *line,
                               const char *heading, const show_settings *set, att_error *err)
{
    att_head_selection which = *line;
    which.layer = set->layer;
    which.head = set->head;
    att_attention_map *map;
    att_status status = set->overview
                            ? att_model_attention_overview(&map, model, &which, err)
                            : att_model_attention_map(&map, model, &which, set->heads, err);
    if (status == ATT_OK)
        status = show_map(&(show_figure){ heading, NULL, att_attention_map_get(map) }, set, err);
    att_attention_map_free(map);
    return status;
}

att_status show_lm(const void *settings, const decoding *models, const char *input, att_error *err)
{
    att_string text = { 0 };
    if (att_model_attention_heads(models->model) == 0)
        return error_set(err, ATT_BAD_INPUT, "",
                         "an RNN language model has no attention; --cell and --gradients show what "
                         "happens inside it");
    att_status status = show_read_input(&text, input, err);
    const att_head_selection line = { .block = show_block(settings, ATT_BLOCK_DECODER),
                                      .input = text.data ? text.data : "" };
    if (status == ATT_OK)
        status = show_self_attention(models->model, &line, NULL, settings, err);
    att_string_free(&text);
    return status;
}
