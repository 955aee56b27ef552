/* attend run, on pictures: what a model says of each. */
#include "run.h"

#include <stdlib.h>

#include "output.h"
#include "images.h"
#include "prefixes.h"

static att_status caption(const run_settings *set, const decoding *models,
                          const att_tensor *pictures, const char *const *begin, att_error *err)
{
    att_outputs *answers = NULL;
    att_string out = { 0 };
    const att_generate_options how = run_generate_options(set, models, 0, begin);
    att_status status = att_model_caption(&answers, models->model, pictures, &how, err);
    for (size_t i = 0; status == ATT_OK && i < att_outputs_count(answers); i++)
        status = run_write_output(&out, att_outputs_get(answers, i), i + 1, set, err);
    if (status == ATT_OK)
        status = output_stdout(out.data, out.length, err);
    att_outputs_free(answers);
    att_string_free(&out);
    return status;
}

static att_status caption_all(const run_settings *set, const decoding *models,
                              const att_tensor *pictures, const prefixes *given, att_error *err)
{
    size_t count = (size_t)pictures->shape[0];
    const char **begin = calloc(count, sizeof *begin);
    if (!begin)
        return error_memory(err);
    att_status status = prefixes_get(begin, given, 0, count, err);
    if (status == ATT_OK)
        status = prefixes_check(given, count, err);
    if (status == ATT_OK)
        status = caption(set, models, pictures, prefixes_any(given) ? begin : NULL, err);
    free(begin);
    return status;
}

/* Photographs, or features in a file. */
static att_status load_images(att_tensor *out, const run_settings *set, const decoding *models,
                              att_error *err)
{
    if (set->image_encoder)
        return images_encode_with(out, set->image_encoder, set->inputs, (size_t)set->input_count,
                                  err);
    return att_model_images(out, models->model, set->input_count > 0 ? set->inputs[0] : NULL, err);
}

att_status run_caption(const run_settings *set, const decoding *models, att_error *err)
{
    att_tensor pictures;
    prefixes given = { 0 };
    att_status status = load_images(&pictures, set, models, err);
    if (status != ATT_OK)
        return status;
    status = prefixes_open(&given, set->prefix, set->prefixes, err);
    if (status == ATT_OK)
        status = caption_all(set, models, &pictures, &given, err);
    prefixes_close(&given);
    att_tensor_free(&pictures);
    return status;
}
