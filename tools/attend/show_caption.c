/* attend show with a caption model: the caption of an image, and the attention of each word over
 * the image. */
#include "show.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "images.h"

/* An output and the image below its attention. */
typedef struct overlay {
    const att_output *output;
    att_overlay_image image;
    att_string png;  /* an image file, as PNG */
    uint8_t *pixels; /* a synthetic image */
} overlay;

/* ---- the image */

/* The image as the encoder sees it: upright, center-cropped to a square. Viewers differ in whether
 * they follow the EXIF orientation, so the rotated pixels are written. */
static att_status load_image(overlay *s, const char *path, att_error *err)
{
    enum { IMAGE_SIDE = 336 }; /* twice the side of a copy in the SVG */
    att_image all, square = { 0 };
    att_status status = att_image_load(&all, path, err);
    if (status != ATT_OK)
        return status;
    status = att_image_center_crop(&square, &all, IMAGE_SIDE, err);
    if (status == ATT_OK)
        status = att_image_png(&s->png, &square, err);
    s->image = (att_overlay_image){
        .file = s->png.data, .size = s->png.length, .rows = IMAGE_SIDE, .columns = IMAGE_SIDE
    };
    att_image_free(&all);
    att_image_free(&square);
    return status;
}

/* Three channels with values in [0, 1] are colors. */
static bool is_rgb(const att_tensor *features)
{
    const float *values = features->data;
    bool rgb = features->rank == 4 && features->shape[3] == 3;
    for (int64_t i = 0; rgb && i < att_tensor_count(features); i++)
        rgb = values[i] >= 0 && values[i] <= 1;
    return rgb;
}

static att_status make_pixels(overlay *s, const att_tensor *features, att_error *err)
{
    const float *values = features->data;
    int64_t count = att_tensor_count(features);
    s->pixels = calloc((size_t)count, sizeof *s->pixels);
    if (!s->pixels)
        return error_memory(err);
    for (int64_t i = 0; i < count; i++)
        s->pixels[i] = (uint8_t)lroundf(255 * values[i]);
    s->image = (att_overlay_image){ .pixels = s->pixels,
                                    .rows = features->shape[1],
                                    .columns = features->shape[2] };
    return ATT_OK;
}

static att_status find_image(overlay *s, const att_tensor *features, const char *path,
                             att_error *err)
{
    if (path)
        return load_image(s, path, err);
    return is_rgb(features) ? make_pixels(s, features, err) : ATT_OK;
}

/* ---- drawing */

static att_status overlay_svg(att_string *out, const void *of, bool flat, att_error *err)
{
    const overlay *s = of;
    (void)flat;
    const att_render_options options = output_format(ATT_FORMAT_SVG);
    return att_output_overlay_render(out, s->output, &s->image, &options, err);
}

static att_status make_text(att_string *out, const overlay *s, const show_settings *set,
                            att_error *err)
{
    att_render_options options = output_render_options(set->color, set->ascii);
    options.digits = output_digits(set->digits);
    const char *caption = s->output->text;
    if (string_join(out, (string_piece[]){ { caption, strlen(caption) }, { "\n\n", 2 }, { 0 } }) !=
        ATT_OK)
        return error_memory(err);
    return att_output_overlay_render(out, s->output, NULL, &options, err);
}

static att_status draw_files(output_list *files, const overlay *s, const show_settings *set,
                             att_error *err)
{
    const drawing_files asked = show_drawing_files(set);
    const drawing_source drawn = { "overlay", overlay_svg, s };
    att_status status = drawing_files_draw(files, &drawn, 1, &asked, err);
    if (status != ATT_OK || !set->html)
        return status;
    output_file *file = output_add(files, set->html, "page");
    const att_render_options options = output_format(ATT_FORMAT_HTML);
    return file ? att_output_overlay_render(&file->bytes, s->output, &s->image, &options, err)
                : error_memory(err);
}

static att_status draw(const overlay *s, const show_settings *set, att_error *err)
{
    att_string text = { 0 };
    output_list files = { 0 };
    att_status status = draw_files(&files, s, set, err);
    if (status == ATT_OK && !set->quiet)
        status = make_text(&text, s, set, err);
    if (status == ATT_OK)
        status = output_all(&files, &text, err);
    output_free(&files);
    att_string_free(&text);
    return status;
}

/* ---- the verb */

static att_status show_one(const show_settings *set, const decoding *models,
                           const att_tensor *features, const char *path, att_error *err)
{
    const att_generate_options options = { .size = sizeof(att_generate_options),
                                           .decoding = &models->options,
                                           .attention = true,
                                           .all_heads = set->heads,
                                           .layer = set->layer,
                                           .head = set->head,
                                           .targets = set->target ? &set->target : NULL };
    att_outputs *outputs = NULL;
    overlay s = { 0 };
    att_status status = att_model_caption(&outputs, models->model, features, &options, err);
    if (status == ATT_OK)
        status = find_image(&s, features, path, err);
    if (status == ATT_OK) {
        s.output = att_outputs_get(outputs, 0);
        status = draw(&s, set, err);
    }
    att_outputs_free(outputs);
    att_string_free(&s.png);
    free(s.pixels);
    return status;
}

att_status show_select_image(att_tensor *out, const show_settings *set, const att_model *model,
                             const char *input, att_error *err)
{
    const image_selection which = { .path = input,
                                    .features = set->features,
                                    .image_encoder = set->image_encoder,
                                    .index = set->image_index,
                                    .recorded_data = set->recorded_data };
    if (set->image_encoder && (!input || set->features || set->image_index > 0))
        return error_set(
            err, ATT_BAD_INPUT, "--image-encoder",
            input ? "encodes the image file; --features and --image-index choose encoded images"
                  : "expects an image file after the model");
    return images_select(out, model, &which, err);
}

att_status show_caption(const void *settings, const decoding *models, const char *input,
                        att_error *err)
{
    const show_settings *set = settings;
    att_tensor image = { 0 };
    att_status status = show_select_image(&image, set, models->model, input, err);
    if (status == ATT_OK)
        status = show_one(set, models, &image, input, err);
    att_tensor_free(&image);
    return status;
}
