/* attend show, on pictures: what a model says of one, and for each word where it looked. */
#include "show.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "photos.h"
#include "pictures.h"

/* What the strip is drawn of. */
typedef struct strip {
    const att_answer *answer;
    att_backdrop backdrop;
    att_text file;   /* of a photograph, as PNG */
    uint8_t *pixels; /* of a picture made up */
} strip;

/* ---- what it is laid over */

/* A photograph is laid beneath as the model saw it: upright, the square in its middle. Viewers
 * differ in whether they heed how the camera was held, so the turned pixels themselves go into the
 * file. */
static att_status read_photograph(strip *s, const char *path, att_error *err)
{
    enum { SIDE = 336 }; /* twice a copy's side in the SVG */
    att_picture all, square = { 0 };
    att_status status = att_picture_load(&all, path, err);
    if (status != ATT_OK)
        return status;
    status = att_picture_square(&square, &all, SIDE, err);
    if (status == ATT_OK)
        status = att_picture_png(&s->file, &square, err);
    s->backdrop = (att_backdrop){
        .file = s->file.data, .size = s->file.length, .rows = SIDE, .columns = SIDE
    };
    att_picture_free(&all);
    att_picture_free(&square);
    return status;
}

/* Three numbers a cell between 0 and 1 are colours. */
static bool is_coloured(const att_tensor *seen)
{
    const float *values = seen->data;
    bool coloured = seen->rank == 4 && seen->shape[3] == 3;
    for (int64_t i = 0; coloured && i < att_tensor_count(seen); i++)
        coloured = values[i] >= 0 && values[i] <= 1;
    return coloured;
}

static att_status paint(strip *s, const att_tensor *seen, att_error *err)
{
    const float *values = seen->data;
    int64_t count = att_tensor_count(seen);
    s->pixels = calloc((size_t)count, sizeof *s->pixels);
    if (!s->pixels)
        return error_memory(err);
    for (int64_t i = 0; i < count; i++)
        s->pixels[i] = (uint8_t)lroundf(255 * values[i]);
    s->backdrop =
        (att_backdrop){ .pixels = s->pixels, .rows = seen->shape[1], .columns = seen->shape[2] };
    return ATT_OK;
}

static att_status find_backdrop(strip *s, const att_tensor *seen, const char *photograph,
                                att_error *err)
{
    if (photograph)
        return read_photograph(s, photograph, err);
    return is_coloured(seen) ? paint(s, seen, err) : ATT_OK;
}

/* ---- drawing */

static att_status strip_svg(att_text *out, const void *of, bool flat, att_error *err)
{
    const strip *s = of;
    (void)flat;
    return att_answer_strip_svg(out, s->answer, &s->backdrop, err);
}

static att_status make_text(att_text *out, const strip *s, const show_settings *set, att_error *err)
{
    const att_render_options options = { .digits = (int)set->digits,
                                         .ascii = set->ascii,
                                         .colour = output_colour((colour_choice)set->colour),
                                         .width = output_width() };
    const char *said = s->answer->text;
    if (text_join(out, (text_piece[]){ { said, strlen(said) }, { "\n\n", 2 }, { 0 } }) != ATT_OK)
        return error_memory(err);
    return att_answer_strip_text(out, s->answer, &options, err);
}

static att_status draw_files(output_list *files, const strip *s, const show_settings *set,
                             att_error *err)
{
    const picture_files asked = { set->svg, set->png, set->pdf, set->scale };
    const picture drawn = { "strip", strip_svg, s };
    att_status status = pictures_draw(files, &drawn, 1, &asked, err);
    if (status != ATT_OK || !set->html)
        return status;
    output_file *file = output_add(files, set->html, "page");
    return file ? att_answer_strip_html(&file->bytes, s->answer, &s->backdrop, err)
                : error_memory(err);
}

static att_status draw(const strip *s, const show_settings *set, att_error *err)
{
    att_text text = { 0 };
    output_list files = { 0 };
    att_status status = draw_files(&files, s, set, err);
    if (status == ATT_OK && !set->quiet)
        status = make_text(&text, s, set, err);
    if (status == ATT_OK)
        status = output_all(&files, &text, err);
    output_free(&files);
    att_text_free(&text);
    return status;
}

/* ---- all of it */

static att_status show_one(const show_settings *set, const decoding *models, const att_tensor *seen,
                           const char *photograph, att_error *err)
{
    const att_answer_how how = { .decoding = models->how,
                                 .attention = true,
                                 .every_head = set->heads,
                                 .layer = set->layer,
                                 .head = set->head,
                                 .targets = set->target ? &set->target : NULL };
    att_answers *answers = NULL;
    strip s = { 0 };
    att_status status = att_model_describe(&answers, models->model, seen, &how, err);
    if (status == ATT_OK)
        status = find_backdrop(&s, seen, photograph, err);
    if (status == ATT_OK) {
        s.answer = att_answers_get(answers, 0);
        status = draw(&s, set, err);
    }
    att_answers_free(answers);
    att_text_free(&s.file);
    free(s.pixels);
    return status;
}

/* A photograph, looked at as it is. */
static att_status show_photograph(const show_settings *set, const decoding *models,
                                  const char *path, att_error *err)
{
    att_tensor seen;
    if (!path || set->features || set->picture > 0)
        return error_set(err, ATT_BAD_INPUT, "--eyes",
                         path ? "the photograph itself is looked at: --features and --picture are "
                                "for pictures that were seen before"
                              : "looks at a photograph, and none is given");
    att_status status = photos_seen(&seen, set->eyes, &path, 1, err);
    if (status != ATT_OK)
        return status;
    status = show_one(set, models, &seen, path, err);
    att_tensor_free(&seen);
    return status;
}

att_status show_pictures(const show_settings *set, const decoding *models, const char *input,
                         att_error *err)
{
    att_tensor all, one;
    if (set->eyes)
        return show_photograph(set, models, input, err);
    att_status status = att_model_pictures(&all, models->model, set->features, err);
    if (status != ATT_OK)
        return status;
    if (set->picture >= all.shape[0])
        status = error_set(err, ATT_BAD_INPUT, "--picture", "there are %" PRId64 ", from 0",
                           all.shape[0]);
    else
        status = att_tensor_slice(&one, &all, 0, set->picture, 1, err);
    if (status == ATT_OK)
        status = show_one(set, models, &one, input, err);
    att_tensor_free(&all);
    return status;
}
