/* attend show, on pairs: an answer, and where in the source the model looked for each token of it.
 */
#include "show.h"

#include <string.h>

#include "token_labels.h"
#include "output.h"
#include "drawing_files.h"

/* The map as text, headed by the answer. */
static att_status make_text(att_string *out, const att_output *answer, const att_map *map,
                            const show_settings *set, att_error *err)
{
    const att_render_options options = { .digits = (int)set->digits,
                                         .ascii = set->ascii,
                                         .color = output_color((color_choice)set->color),
                                         .width = output_width() };
    if (string_join(out, (string_piece[]){ { answer->text, strlen(answer->text) },
                                           { "\n\n", 2 },
                                           { 0 } }) != ATT_OK)
        return error_memory(err);
    return att_map_text(out, map, &options, err);
}

/* The page, to be written later. */
static att_status make_page(output_list *files, const att_output *answer, const att_map *map,
                            const char *path, att_error *err)
{
    output_file *file = output_add(files, path, "page");
    return file ? att_output_html(&file->bytes, answer, map, err) : error_memory(err);
}

/* Draws a map of an answer, everywhere that it was asked for. */
static att_status draw_map(const att_output *answer, const att_map *map, const show_settings *set,
                           att_error *err)
{
    const drawing_files asked = { set->svg, set->png, set->pdf, set->scale };
    att_string text = { 0 };
    output_list files = { 0 };
    att_status status = drawing_files_draw_maps(&files, (const att_map *[]){ map }, 1, &asked, err);
    if (status == ATT_OK && set->html)
        status = make_page(&files, answer, map, set->html, err);
    if (status == ATT_OK && !set->quiet)
        status = make_text(&text, answer, map, set, err);
    if (status == ATT_OK)
        status = output_all(&files, &text, err);
    output_free(&files);
    att_string_free(&text);
    return status;
}

/* The same, with labels for people. */
static att_status show_map(const att_output *answer, const att_map *map, const show_settings *set,
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
        status = draw_map(answer, &shown, set, err);
    token_labels_free(&queries);
    token_labels_free(&keys);
    return status;
}

/* Where in the source the model looked for each token of the answer. */
static att_status show_cross(const att_output *answer, const show_settings *set, att_error *err)
{
    att_map map;
    if (!(set->heads ? att_output_layer_map(&map, answer, set->layer)
                     : att_output_map(&map, answer)))
        return error_set(err, ATT_BAD_INPUT, "",
                         "the model has no attention to show: it was trained with none, or with a "
                         "fixed context");
    return show_map(answer, &map, set, err);
}

/* Where the input or the answer looked in itself. */
static att_status show_self(att_model *model, const char *input, const att_output *answer,
                            const show_settings *set, att_error *err)
{
    const att_head_selection which = { .block = set->part == SHOW_ENCODER ? ATT_BLOCK_ENCODER
                                                                          : ATT_BLOCK_DECODER,
                                       .layer = set->layer,
                                       .head = set->head,
                                       .input = input,
                                       .target = answer->text };
    att_attention_map *gaze;
    att_status status = att_model_attention_map(&gaze, model, &which, set->heads, err);
    if (status == ATT_OK)
        status = show_map(answer, att_attention_map_get(gaze), set, err);
    att_attention_map_free(gaze);
    return status;
}

att_status show_seq2seq(const show_settings *set, const decoding *models, const char *input,
                        att_error *err)
{
    bool cross = set->part == SHOW_CROSS;
    att_outputs *answers = NULL;
    const att_generate_options how = { .decoding = models->options,
                                       .attention = cross,
                                       .all_heads = cross && set->heads,
                                       .layer = cross ? set->layer : 0,
                                       .head = cross ? set->head : 0,
                                       .targets = set->target ? &set->target : NULL };
    att_status status = att_model_generate(&answers, models->model, &input, 1, &how, err);
    err->line = 0; /* there is but one line */
    const att_output *answer = status == ATT_OK ? att_outputs_get(answers, 0) : NULL;
    if (answer && answer->source_count == 0)
        status = error_set(err, ATT_BAD_INPUT, "", "the input has no tokens");
    else if (answer)
        status = cross ? show_cross(answer, set, err)
                       : show_self(models->model, input, answer, set, err);
    att_outputs_free(answers);
    return status;
}
