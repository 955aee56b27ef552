/* attend eval with a seq2seq model, on the target of each pair; and with a caption model, on all
 * captions of each image. */
#include "eval.h"
#include "terminal.h"

#include <stdio.h>
#include <stdlib.h>

att_status eval_seq2seq(const void *settings, const decoding *models, const char *data,
                        att_error *err)
{
    const eval_settings *set = settings;
    if (set->baseline)
        return eval_compare(set, models, data, err);
    name_list list = { 0 };
    att_seq2seq_eval scores = ATT_INIT(att_seq2seq_eval);
    att_metric_scores *texts = NULL;
    att_string notes = { 0 };
    size_t count = 0;
    const char *const *names = att_model_metrics(models->model, &count);
    att_status status = att_transport_agree(
        set->transport, eval_names(&list, set->metrics, names, count, err), err);
    const att_metric_options metric_options = eval_metric_options(set);
    const att_eval_options options = { .size = sizeof(att_eval_options),
                                       .decoding = &models->options,
                                       .metrics = list.names,
                                       .metric_count = list.count,
                                       .metric_options = &metric_options,
                                       .features = set->features,
                                       .recorded_data = set->recorded_data,
                                       .format = set->format,
                                       .columns = set->columns,
                                       .transport = set->transport,
                                       .max_input_length = set->max_input_length };
    if (status == ATT_OK)
        status = att_model_evaluate_seq2seq(&scores, &texts, models->model, data, &options,
                                            eval_notes(set, &notes), err);
    if (status == ATT_OK && notes.length > 0)
        terminal_puts(stderr, notes.data);
    if (status == ATT_OK)
        status = eval_report_print(
            &(eval_report){
                .scores = &scores,
                .lines = scores.lines,
                .unit = att_model_type_get(models->model) == ATT_MODEL_CAPTION ? "images" : "pairs",
                .metrics = texts,
                .metric_count = list.count,
                .metrics_only = set->metrics != NULL },
            set->json, err);
    att_metric_scores_free(texts);
    att_string_free(&notes);
    free(list.copy);
    return status;
}
