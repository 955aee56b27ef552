/* Decoding options checked and passed on to the library, and one way to open models for the verbs
 * that use them. */
#include "decoding.h"
#include "processes.h"
#include "output.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const length_norm_choices[] = { "mean", "gnmt", "none", NULL };
const char *const beam_stop_choices[] = { "heuristic", "exact", NULL };

const char *decoding_conflict(const decoding_options *options)
{
    bool samples = options->temperature > 0 || options->top_k > 0 || options->top_p > 0;
    bool ranks = options->length_norm != ATT_LENGTH_MEAN || options->length_penalty > 0 ||
                 options->coverage_penalty > 0;
    if (options->sample && options->beam > 1)
        return "--sample and --beam exclude each other";
    if (!options->sample && (samples || options->seed > 0))
        return "--temperature, --top-k, --top-p and --seed need --sample";
    if (ranks && options->beam <= 1 && !options->sample)
        return "--length-norm, --length-penalty and --coverage-penalty need --beam or --sample";
    if (options->beam_stop != ATT_BEAM_STOP_HEURISTIC && options->beam <= 1)
        return "--beam-stop needs --beam";
    if (!options->shortlist && (options->shortlist_frequent > 0 || options->shortlist_top > 0))
        return "--shortlist-frequent and --shortlist-top need --shortlist";
    if (options->max_output_length > 0 && options->min_output_length >= options->max_output_length)
        return "--min-output-length must be less than --max-output-length, which includes the end "
               "token";
    return NULL;
}

static att_decoding_options options_of(const decoding_options *options)
{
    return (att_decoding_options){ .size = sizeof(att_decoding_options),
                                   .beam = options->beam,
                                   .beam_stop = (att_beam_stop)options->beam_stop,
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

const char *const precision_choices[] = { "stored", "float32", "int8", NULL };

att_status model_load(att_model **out, const char *path, int precision, att_error *err)
{
    att_model_load_options options = ATT_INIT(att_model_load_options);
    options.precision = (att_precision)precision;
    return att_model_load_with(out, path, &options, err);
}

att_status models_load(att_model ***out, size_t *count, const char *option_name, const char *list,
                       int precision, att_error *err)
{
    size_t max = 1;
    for (const char *at = list; *at; at++)
        max += *at == ',';
    *count = 0;
    *out = calloc(max, sizeof **out);
    char *names = strdup(list), *rest = names, *name;
    att_status status = *out && names ? ATT_OK : error_memory(err);
    while (status == ATT_OK && (name = strsep(&rest, ",")) != NULL) {
        status = *name ? model_load(&(*out)[*count], name, precision, err)
                       : error_set(err, ATT_BAD_INPUT, option_name,
                                   "expects models separated by commas, not '%s'", list);
        if (status == ATT_OK)
            ++*count;
    }
    free(names);
    return status;
}

void models_free(att_model **models, size_t count)
{
    for (size_t i = 0; i < count; i++)
        att_model_free(models[i]);
    free(models);
}

static att_status open_shortlist(decoding *out, const decoding_options *options, const char *path,
                                 att_error *err)
{
    att_shortlist_options limits = ATT_INIT(att_shortlist_options);
    limits.frequent = options->shortlist_frequent;
    limits.top = options->shortlist_top;
    att_status status =
        att_shortlist_load(&out->shortlist, out->model, options->shortlist, &limits, err);
    error_blame_model(err, status, path);
    out->options.shortlist = out->shortlist;
    return status;
}

static att_status open_models(decoding *out, const decoding_options *options, const char *path,
                              att_error *err)
{
    *out = (decoding){ .options = options_of(options) };
    att_status status = model_load(&out->model, path, options->precision, err);
    if (status == ATT_OK && options->without_heads)
        status = heads_switch_off(&out->model, options->without_heads, err);
    if (status != ATT_OK || !options->ensemble)
        return status;
    status = models_load(&out->ensemble, &out->options.ensemble_count, "--ensemble",
                         options->ensemble, options->precision, err);
    out->options.ensemble = out->ensemble;
    return status;
}

/* Whether the verb, its options and its operands apply to models of this type. */
static exit_code check_type(const model_verb *with, att_model_type type, const char *input)
{
    exit_code code = options_check_model_type(with->verb, type, with->settings, with->defaults);
    if (code != EXIT_DONE) /* it names the option that does not apply */
        return code;
    if (!with->functions[type])
        return report_usage(with->verb, "does not support %s%s%s", model_type_name(type),
                            with->unsupported ? "; " : "",
                            with->unsupported ? with->unsupported : "");
    return with->check ? with->check(with, type, input) : code;
}

exit_code model_verb_run(const model_verb *with, const char *path, const char *input)
{
    att_error err = { 0 };
    decoding models;
    exit_code code = EXIT_DONE;
    output_progress_state progress = { 0 };
    if (isatty(STDERR_FILENO)) /* only there: a callback costs a look at the clock in every loop */
        att_callback_set(output_progress_callback, &progress);
    att_status status = open_models(&models, with->decoding, path, &err);
    status = att_transport_agree(with->transport, status, &err);
    if (status == ATT_OK) {
        att_model_type type = att_model_type_get(models.model);
        code = check_type(with, type, input);
        if (code == EXIT_DONE && with->decoding->shortlist)
            status = open_shortlist(&models, with->decoding, path, &err);
        if (code == EXIT_DONE && status == ATT_OK)
            status = with->functions[type](with->settings, &models, input, &err);
        if (with->blames_model && models.options.ensemble_count == 0)
            error_blame_model(&err, status, path);
    }
    att_callback_set(NULL, NULL);
    output_progress_clear();
    att_shortlist_free(models.shortlist);
    models_free(models.ensemble, models.options.ensemble_count);
    att_model_free(models.model);
    return processes_end(with->transport, status, &err, code);
}
