/* attend eval without a model: hypotheses scored against references. */
#include "eval.h"

#include <stdlib.h>
#include <string.h>

enum { BOOTSTRAP_SEED = 1 };

att_status eval_names(name_list *out, const char *list, const char *const *defaults, size_t count,
                      att_error *err)
{
    if (!list) {
        memcpy(out->names, defaults, count * sizeof *defaults);
        out->count = count;
        return ATT_OK;
    }
    out->copy = strdup(list);
    if (!out->copy)
        return error_memory(err);
    for (char *rest = out->copy; rest;) {
        char *comma = strchr(rest, ',');
        if (out->count == MAX_METRICS)
            return error_set(err, ATT_BAD_INPUT, "--metric", "more than %d names", MAX_METRICS);
        out->names[out->count++] = rest;
        if (comma)
            *comma++ = '\0';
        rest = comma;
    }
    return ATT_OK;
}

att_metric_options eval_metric_options(const eval_settings *set)
{
    return (att_metric_options){ .size = sizeof(att_metric_options),
                                 .tokenizer = eval_tokenizers[set->tokenizer],
                                 .lowercase = set->lowercase,
                                 .resamples = set->bootstrap_samples,
                                 .seed = BOOTSTRAP_SEED };
}

static att_status compare_files(const eval_settings *set, const name_list *list,
                                const char *const *references, size_t reference_count,
                                const att_metric_options *options, att_error *err)
{
    att_comparison *found;
    att_status status =
        att_metrics_compare_files(&found, list->names, list->count, set->hypotheses, set->baseline,
                                  references, reference_count, options, err);
    if (status == ATT_OK)
        status = comparison_report_print(
            &(comparison_report){
                .found = found, .unit = "lines", .resamples = set->bootstrap_samples },
            set->json, err);
    att_comparison_free(found);
    return status;
}

att_status eval_files(const eval_settings *set, int count, char **more, att_error *err)
{
    static const char *const defaults[] = { "bleu", "chrf", "ter" };
    name_list list = { 0 };
    att_metric_scores *scores = NULL;
    const att_metric_options options = eval_metric_options(set);
    const char **references = calloc((size_t)count + 1, sizeof *references);
    if (!references)
        return error_memory(err);
    references[0] = set->reference;
    for (int i = 0; i < count; i++)
        references[i + 1] = more[i];
    att_status status = eval_names(&list, set->metrics, defaults, 3, err);
    if (status == ATT_OK && set->baseline)
        status = compare_files(set, &list, references, (size_t)count + 1, &options, err);
    else if (status == ATT_OK)
        status = att_metrics_score_files(&scores, list.names, list.count, set->hypotheses,
                                         references, (size_t)count + 1, &options, err);
    if (status == ATT_OK && !set->baseline)
        status =
            eval_report_print(&(eval_report){ .lines = (int64_t)att_metric_scores_lines(scores),
                                              .metrics = scores,
                                              .metric_count = list.count },
                              set->json, err);
    att_metric_scores_free(scores);
    free(list.copy);
    free(references);
    return status;
}
