/* attend show --alternatives: the most probable tokens at each step; and --beam-tree: the search.
 */
#include "show.h"

#include <stdlib.h>
#include <string.h>

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

/* The input as the model reads it: an image, a text, or a line. */
typedef struct step_input {
    att_tensor image;
    att_string text;
    const char *line;
} step_input;

static att_status read_input(step_input *out, const show_settings *set, const att_model *model,
                             const char *input, att_error *err)
{
    *out = (step_input){ .line = input };
    att_model_type type = att_model_type_get(model);
    if (type == ATT_MODEL_CAPTION && input && !set->image_encoder)
        return error_set(err, ATT_BAD_INPUT, input,
                         "without --image-encoder, an image is only the background of attention; "
                         "--image-index chooses among encoded images");
    if (type == ATT_MODEL_CAPTION)
        return show_select_image(&out->image, set, model, input, err);
    if (type != ATT_MODEL_LM)
        return show_read_line(&out->line, &out->text, input, err);
    att_status status = show_read_input(&out->text, input, err);
    out->line = out->text.data ? out->text.data : "";
    if (status == ATT_OK && strlen(out->line) < out->text.length)
        return error_set(err, ATT_BAD_INPUT, "INPUT", "expected text, found a zero byte");
    return status;
}

static void input_free(step_input *input)
{
    att_tensor_free(&input->image);
    att_string_free(&input->text);
}

static att_status find_alternatives(att_alternatives **out, const show_settings *set,
                                    const decoding *models, const step_input *input, att_error *err)
{
    att_alternatives_options options = ATT_INIT(att_alternatives_options);
    options.count = set->alternatives;
    options.target = set->target;
    options.decoding = &models->options;
    return input->image.data
               ? att_model_caption_alternatives(out, models->model, &input->image, &options, err)
               : att_model_alternatives(out, models->model, input->line, &options, err);
}

att_status show_alternatives(const void *settings, const decoding *models, const char *input,
                             att_error *err)
{
    const show_settings *set = settings;
    att_alternatives *found = NULL;
    step_input in;
    att_status status = read_input(&in, set, models->model, input, err);
    if (status == ATT_OK)
        status = find_alternatives(&found, set, models, &in, err);
    err->line = 0; /* there is only one line */
    if (status == ATT_OK)
        status = print_alternatives(found, set, err);
    att_alternatives_free(found);
    input_free(&in);
    return status;
}

static att_status draw_tree(att_string *out, const void *tree, bool flat, att_error *err)
{
    (void)flat; /* the same for a rasterizer */
    const att_render_options options = output_format(ATT_FORMAT_SVG);
    return att_beam_tree_render(out, tree, &options, err);
}

static att_status find_tree(att_beam_tree **out, const show_settings *set, const decoding *models,
                            const step_input *input, att_error *err)
{
    att_decoding_options options = models->options;
    if (att_model_type_get(models->model) == ATT_MODEL_LM)
        options.max_output_length = set->max_new_tokens;
    return input->image.data
               ? att_model_caption_beam_tree(out, models->model, &input->image, &options, err)
               : att_model_beam_tree(out, models->model, input->line, &options, err);
}

att_status show_beam_tree(const void *settings, const decoding *models, const char *input,
                          att_error *err)
{
    const show_settings *set = settings;
    const drawing_files asked = show_drawing_files(set);
    att_render_options options = output_render_options(set->color, set->ascii);
    att_string text = { 0 };
    output_list files = { 0 };
    att_beam_tree *tree = NULL;
    step_input in;
    att_status status = read_input(&in, set, models->model, input, err);
    if (status == ATT_OK)
        status = find_tree(&tree, set, models, &in, err);
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
    input_free(&in);
    return status;
}
