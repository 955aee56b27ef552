/* attend run, on pictures: what a model says of each. */
#include "run.h"

#include <stdlib.h>

#include "output.h"
#include "photos.h"
#include "prefixes.h"

static att_status describe(const run_settings *set, const decoding *models,
                           const att_tensor *pictures, const char *const *begin, att_error *err)
{
    att_answers *answers = NULL;
    att_text out = { 0 };
    const att_answer_how how = run_how(set, models, 0, begin);
    att_status status = att_model_describe(&answers, models->model, pictures, &how, err);
    for (size_t i = 0; status == ATT_OK && i < att_answers_count(answers); i++)
        status = run_write(&out, att_answers_get(answers, i), i + 1, set, err);
    if (status == ATT_OK)
        status = output_stdout(out.data, out.length, err);
    att_answers_free(answers);
    att_text_free(&out);
    return status;
}

static att_status describe_all(const run_settings *set, const decoding *models,
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
        status = describe(set, models, pictures, prefixes_any(given) ? begin : NULL, err);
    free(begin);
    return status;
}

/* Photographs, or features in a file. */
static att_status open_pictures(att_tensor *out, const run_settings *set, const decoding *models,
                                att_error *err)
{
    if (set->eyes)
        return photos_seen(out, set->eyes, set->inputs, (size_t)set->input_count, err);
    return att_model_pictures(out, models->model, set->input_count > 0 ? set->inputs[0] : NULL,
                              err);
}

att_status run_pictures(const run_settings *set, const decoding *models, att_error *err)
{
    att_tensor pictures;
    prefixes given = { 0 };
    att_status status = open_pictures(&pictures, set, models, err);
    if (status != ATT_OK)
        return status;
    status = prefixes_open(&given, set->prefix, set->prefixes, err);
    if (status == ATT_OK)
        status = describe_all(set, models, &pictures, &given, err);
    prefixes_close(&given);
    att_tensor_free(&pictures);
    return status;
}
