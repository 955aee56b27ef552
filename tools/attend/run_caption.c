/* attend run on images: captions by a caption model, or labels by an image encoder. */
#include "run.h"

#include <stdlib.h>

#include "images.h"
#include "output.h"
#include "prefixes.h"

static att_status caption(const run_settings *set, const decoding *models, const att_tensor *images,
                          const char *const *begin, att_error *err)
{
    att_outputs *outputs = NULL;
    att_string out = { 0 };
    att_decoding_options how;
    const att_generate_options options = run_generate_options(&how, set, models, 0, begin);
    att_status status = att_model_caption(&outputs, models->model, images, &options, err);
    for (size_t i = 0; status == ATT_OK && i < att_outputs_count(outputs); i++)
        status = run_write_output(&out, att_outputs_get(outputs, i), i + 1, set, err);
    if (status == ATT_OK)
        status = output_stdout(out.data, out.length, err);
    att_outputs_free(outputs);
    att_string_free(&out);
    return status;
}

static att_status caption_all(const run_settings *set, const decoding *models,
                              const att_tensor *images, const prefixes *given, att_error *err)
{
    size_t count = (size_t)images->shape[0];
    const char **begin = calloc(count, sizeof *begin);
    if (!begin)
        return error_memory(err);
    att_status status = prefixes_get(begin, given, 0, count, err);
    if (status == ATT_OK)
        status = prefixes_check(given, count, err);
    if (status == ATT_OK)
        status = caption(set, models, images, prefixes_any(given) ? begin : NULL, err);
    free(begin);
    return status;
}

/* Features of image files, of a .npy file, or those that the model was validated on. */
static att_status load_images(att_tensor *out, const run_settings *set, const decoding *models,
                              att_error *err)
{
    if (set->image_encoder)
        return images_encode_with(out, set->image_encoder, set->inputs, (size_t)set->input_count,
                                  err);
    return att_model_images(out, models->model, set->input_count > 0 ? set->inputs[0] : NULL,
                            set->recorded_data, err);
}

att_status run_caption(const void *settings, const decoding *models, const char *input,
                       att_error *err)
{
    (void)input;
    const run_settings *set = settings;
    att_tensor images;
    prefixes given = { 0 };
    att_status status = load_images(&images, set, models, err);
    if (status != ATT_OK)
        return status;
    status = prefixes_open(&given, set->prefix, set->prefixes, err);
    if (status == ATT_OK)
        status = caption_all(set, models, &images, &given, err);
    prefixes_close(&given);
    att_tensor_free(&images);
    return status;
}

bool run_image_encoder(exit_code *code, const struct verb *verb, const run_settings *set,
                       char **args, int count)
{
    static const char *const allowed[] = { "json", NULL };
    static const run_settings defaults;
    att_error err = { 0 };
    att_image_encoder *encoder = NULL;
    att_status status = att_image_encoder_load(&encoder, args[0], &err);
    if (status == ATT_BAD_INPUT)
        return false;
    if (status != ATT_OK) {
        *code = report(status, &err);
        return true;
    }
    const char *other = options_first_outside(verb, allowed, set, &defaults);
    *code = EXIT_DONE;
    if (other)
        *code = report_usage(verb, "--%s does not apply to an image encoder", other);
    else if (images_classify(encoder, (const char *const *)args + 1, (size_t)count - 1, set->json,
                             &err) != ATT_OK)
        *code = report(err.status, &err);
    att_image_encoder_free(encoder);
    return true;
}
