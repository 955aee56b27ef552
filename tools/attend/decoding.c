/* How answers are searched for; see decoding.h. */
#include "decoding.h"

#include "program.h"

#include <stdlib.h>
#include <string.h>

const char *const length_norm_choices[] = { "mean", "gnmt", "none", NULL };

const char *decoding_conflict(const decoding_options *options)
{
    bool draws = options->temperature > 0 || options->top_k > 0 || options->top_p > 0;
    bool ranks = options->length_norm != ATT_LENGTH_MEAN || options->length_penalty > 0 ||
                 options->coverage_penalty > 0;
    if (options->sample && options->beam > 1)
        return "--sample draws and --beam searches: only one of them can be";
    if (!options->sample && (draws || options->seed > 0))
        return "--temperature, --top-k, --top-p and --seed are for --sample";
    if (ranks && options->beam <= 1 && !options->sample)
        return "penalties are for --beam, which has answers to choose from";
    if (options->max_output_length > 0 && options->min_output_length >= options->max_output_length)
        return "--min-output-length must be below --max-output-length, which counts the end too";
    return NULL;
}

static att_decoding_options options_of(const decoding_options *options)
{
    return (att_decoding_options){ .beam = options->beam,
                                   .length_norm = (att_length_norm)options->length_norm,
                                   .length_penalty = options->length_penalty,
                                   .coverage_penalty = options->coverage_penalty,
                                   .no_repeat_ngram = options->no_repeat_ngram,
                                   .min_output_length = options->min_output_length,
                                   .min_length_ratio = options->min_length_ratio,
                                   .max_output_length = options->max_output_length,
                                   .max_length_ratio = options->max_length_ratio,
                                   .sample = options->sample,
                                   .temperature = options->temperature,
                                   .top_k = options->top_k,
                                   .top_p = options->top_p,
                                   .seed = (uint64_t)options->seed };
}

/* Loads the models of a list with commas between them. */
static att_status load_list(decoding *out, const char *list, att_error *err)
{
    size_t most = 1;
    for (const char *at = list; *at; at++)
        most += *at == ',';
    out->ensemble = calloc(most, sizeof(att_model *));
    char *names = strdup(list), *rest = names, *name;
    att_status status = out->ensemble && names ? ATT_OK : error_memory(err);
    while (status == ATT_OK && (name = strsep(&rest, ",")) != NULL) {
        status = *name ? att_model_load(&out->ensemble[out->options.ensemble_count], name, err)
                       : error_set(err, ATT_BAD_INPUT, "--ensemble",
                                   "expects models with commas between them, not '%s'", list);
        if (status == ATT_OK)
            out->options.ensemble_count++;
    }
    out->options.ensemble = out->ensemble;
    free(names);
    return status;
}

att_status decoding_open(decoding *out, const decoding_options *options, const char *path,
                         att_error *err)
{
    *out = (decoding){ .options = options_of(options) };
    att_status status = att_model_load(&out->model, path, err);
    return status == ATT_OK && options->ensemble ? load_list(out, options->ensemble, err) : status;
}

void decoding_close(decoding *models)
{
    for (size_t i = 0; i < models->options.ensemble_count; i++)
        att_model_free(models->ensemble[i]);
    free(models->ensemble);
    att_model_free(models->model);
}
