/* attend show, on pictures: what a model says of one, and for each word where it looked. */
#include "show.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "images.h"
#include "drawing_files.h"

/* What the strip is drawn of. */
typedef struct overlay {
    const att_output *output;
    att_overlay_image image;
    att_string png;  /* of a photograph, as PNG */
    uint8_t *pixels; /* of a picture made up */
} overlay;

/* ---- what it is laid over */

/* A photograph is laid beneath as the model saw it: upright, the square in its middle. Viewers
 * differ in whether they heed how the camera was held, so the turned pixels themselves go into the
 * file. */
static att_status load_image(overlay *s, const char *path, att_error *err)
{
    enum { IMAGE_SIDE = 336 }; /* twice a copy's side in the SVG */
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

/* Three numbers a cell between 0 and 1 are colours. */
static bool is_rgb(const att_tensor *seen)
{
    const float *values = seen->data;
    bool coloured = seen->rank == 4 && seen->shape[3] == 3;
    for (int64_t i = 0; coloured && i < att_tensor_count(seen); i++)
        coloured = values[i] >= 0 && values[i] <= 1;
    return coloured;
}

static att_status make_pixels(overlay *s, const att_tensor *seen, att_error *err)
{
    const float *values = seen->data;
    int64_t count = att_tensor_count(seen);
    s->pixels = calloc((size_t)count, sizeof *s->pixels);
    if (!s->pixels)
        return error_memory(err);
    for (int64_t i = 0; i < count; i++)
        s->pixels[i] = (uint8_t)lroundf(255 * values[i]);
    s->image = (att_overlay_image){ .pixels = s->pixels,
                                    .rows = seen->shape[1],
                                    .columns = seen->shape[2] };
    return ATT_OK;
}

static att_status find_image(overlay *s, const att_tensor *seen, const char *photograph,
                             att_error *err)
{
    if (photograph)
        return load_image(s, photograph, err);
    return is_rgb(seen) ? make_pixels(s, seen, err) : ATT_OK;
}

/* ---- drawing */

static att_status overlay_svg(att_string *out, const void *of, bool flat, att_error *err)
{
    const overlay *s = of;
    (void)flat;
    return att_output_overlay_svg(out, s->output, &s->image, err);
}

static att_status make_text(att_string *out, const overlay *s, const show_settings *set,
                            att_error *err)
{
    const att_render_options options = { .digits = (int)set->digits,
                                         .ascii = set->ascii,
                                         .color = output_color((color_choice)set->color),
                                         .width = output_width() };
    const char *said = s->output->text;
    if (string_join(out, (string_piece[]){ { said, strlen(said) }, { "\n\n", 2 }, { 0 } }) !=
        ATT_OK)
        return error_memory(err);
    return att_output_overlay_text(out, s->output, &options, err);
}

static att_status draw_files(output_list *files, const overlay *s, const show_settings *set,
                             att_error *err)
{
    const drawing_files asked = { set->svg, set->png, set->pdf, set->scale };
    const drawing_source drawn = { "strip", overlay_svg, s };
    att_status status = drawing_files_draw(files, &drawn, 1, &asked, err);
    if (status != ATT_OK || !set->html)
        return status;
    output_file *file = output_add(files, set->html, "page");
    return file ? att_output_overlay_html(&file->bytes, s->output, &s->image, err)
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

/* ---- all of it */

static att_status show_one(const show_settings *set, const decoding *models, const att_tensor *seen,
                           const char *photograph, att_error *err)
{
    const att_generate_options how = { .decoding = models->options,
                                       .attention = true,
                                       .all_heads = set->heads,
                                       .layer = set->layer,
                                       .head = set->head,
                                       .targets = set->target ? &set->target : NULL };
    att_outputs *answers = NULL;
    overlay s = { 0 };
    att_status status = att_model_caption(&answers, models->model, seen, &how, err);
    if (status == ATT_OK)
        status = find_image(&s, seen, photograph, err);
    if (status == ATT_OK) {
        s.output = att_outputs_get(answers, 0);
        status = draw(&s, set, err);
    }
    att_outputs_free(answers);
    att_string_free(&s.png);
    free(s.pixels);
    return status;
}

/* A photograph, looked at as it is. */
static att_status show_image(const show_settings *set, const decoding *models, const char *path,
                             att_error *err)
{
    att_tensor seen;
    if (!path || set->features || set->image_index > 0)
        return error_set(
            err, ATT_BAD_INPUT, "--image-encoder",
            path ? "the photograph itself is looked at: --features and --image-index are "
                   "for pictures that were seen before"
                 : "looks at a photograph, and none is given");
    att_status status = images_encode_with(&seen, set->image_encoder, &path, 1, err);
    if (status != ATT_OK)
        return status;
    status = show_one(set, models, &seen, path, err);
    att_tensor_free(&seen);
    return status;
}

att_status show_caption(const show_settings *set, const decoding *models, const char *input,
                        att_error *err)
{
    att_tensor all, one;
    if (set->image_encoder)
        return show_image(set, models, input, err);
    att_status status = att_model_images(&all, models->model, set->features, err);
    if (status != ATT_OK)
        return status;
    if (set->image_index >= all.shape[0])
        status = error_set(err, ATT_BAD_INPUT, "--image-index", "there are %" PRId64 ", from 0",
                           all.shape[0]);
    else
        status = att_tensor_slice(&one, &all, 0, set->image_index, 1, err);
    if (status == ATT_OK)
        status = show_one(set, models, &one, input, err);
    att_tensor_free(&all);
    return status;
}
