/* attend show --alternatives: the most probable tokens at each step; and --beam-tree: the search.
 */
#include "show.h"

#include <stdlib.h>

static att_status print_alternatives(const att_alternatives *found, const show_settings *set,
                                     att_error *err)
{
    att_render_options options = output_render_options(set->color, set->ascii);
    att_string text = { 0 };
    output_list files = { 0 };
    att_status status = ATT_OK;
    if (set->json)
        options.format = ATT_FORMAT_JSON;
    if (!set->quiet)
        status = att_alternatives_render(&text, found, &options, err);
    if (status == ATT_OK && set->html) {
        output_file *file = output_add(&files, set->html, "page");
        const att_render_options page = output_format(ATT_FORMAT_HTML);
        status =
            file ? att_alternatives_render(&file->bytes, found, &page, err) : error_memory(err);
    }
    if (status == ATT_OK)
        status = output_all(&files, &text, err);
    output_free(&files);
    att_string_free(&text);
    return status;
}

att_status show_alternatives(const void *settings, const decoding *models, const char *input,
                             att_error *err)
{
    const show_settings *set = settings;
    const att_generate_options options = { .size = sizeof(att_generate_options),
                                           .decoding = &models->options };
    bool generates = att_model_type_get(models->model) == ATT_MODEL_SEQ2SEQ && !set->target;
    att_outputs *outputs = NULL;
    att_alternatives *found = NULL;
    att_string text = { 0 };
    const char *target = set->target;
    att_status status = ATT_OK;
    if (att_model_type_get(models->model) == ATT_MODEL_LM)
        status = show_read_input(&text, input, err);
    else if (generates)
        status = att_model_generate(&outputs, models->model, &input, 1, &options, err);
    if (status == ATT_OK && generates)
        target = att_outputs_get(outputs, 0)->text;
    if (status == ATT_OK)
        status = att_model_alternatives(&found, models->model, text.data ? text.data : input,
                                        target, set->alternatives, err);
    err->line = 0; /* there is only one line */
    if (status == ATT_OK)
        status = print_alternatives(found, set, err);
    att_alternatives_free(found);
    att_outputs_free(outputs);
    att_string_free(&text);
    return status;
}

static att_status draw_tree(att_string *out, const void *tree, bool flat, att_error *err)
{
    (void)flat; /* the same for a rasterizer */
    const att_render_options options = output_format(ATT_FORMAT_SVG);
    return att_beam_tree_render(out, tree, &options, err);
}

att_status show_beam_tree(const void *settings, const decoding *models, const char *input,
                          att_error *err)
{
    const show_settings *set = settings;
    const drawing_files asked = show_drawing_files(set);
    att_render_options options = output_render_options(set->color, set->ascii);
    att_string text = { 0 };
    output_list files = { 0 };
    att_beam_tree *tree;
    att_status status = att_model_beam_tree(&tree, models->model, input, &models->options, err);
    err->line = 0; /* there is only one line */
    if (set->json)
        options.format = ATT_FORMAT_JSON;
    if (status == ATT_OK && !set->quiet)
        status = att_beam_tree_render(&text, tree, &options, err);
    if (status == ATT_OK)
        status = drawing_files_draw(&files, &(drawing_source){ "tree", draw_tree, tree }, 1, &asked,
                                    err);
    if (status == ATT_OK)
        status = output_all(&files, &text, err);
    output_free(&files);
    att_string_free(&text);
    att_beam_tree_free(tree);
    return status;
}
