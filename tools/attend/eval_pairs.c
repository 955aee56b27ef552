/* attend eval, on pairs: a model's answers against the targets; and on pictures, against all that
 * is said of each. */
#include "eval.h"

#include <stdio.h>
#include <stdlib.h>

#include "figures.h"

att_status eval_seq2seq(const eval_settings *set, const decoding *models, const char *data,
                        att_error *err)
{
    name_list list = { 0 };
    att_seq2seq_eval scores;
    att_metric_score texts[MAX_METRICS];
    att_string notes = { 0 };
    size_t count = 0;
    const char *const *usual = att_model_metrics(models->model, &count);
    att_status status = eval_names(&list, set->metrics, usual, count, err);
    const att_eval_options how = { .decoding = &models->options,
                                   .metrics = list.names,
                                   .metric_count = list.count,
                                   .metric_options = eval_metric_options(set),
                                   .features = set->features };
    if (status == ATT_OK)
        status = att_model_evaluate_seq2seq(&scores, texts, models->model, data, &how, &notes, err);
    if (status == ATT_OK && notes.length > 0)
        fputs(notes.data, stderr);
    if (status == ATT_OK)
        status = eval_report_print(
            &(eval_report){ .scores = &scores,
                            .lines = scores.lines,
                            .unit = att_model_type_get(models->model) == ATT_MODEL_CAPTION
                                        ? "pictures"
                                        : "pairs",
                            .metrics = texts,
                            .metric_count = list.count,
                            .metrics_only = set->metrics != NULL },
            set->json, err);
    att_string_free(&notes);
    free(list.copy);
    return status;
}
