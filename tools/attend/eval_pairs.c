/* attend eval, on pairs: a model's answers against the targets; and on pictures, against all that
 * is said of each. */
#include "eval.h"

#include <stdio.h>
#include <stdlib.h>

#include "figures.h"

att_status eval_pairs(const eval_settings *set, const decoding *models, const char *data,
                      att_error *err)
{
    name_list list = { 0 };
    att_scores scores;
    att_metric_score texts[MOST_METRICS];
    att_text notes = { 0 };
    size_t count = 0;
    const char *const *usual = att_model_metrics(models->model, &count);
    att_status status = eval_names(&list, set->metrics, usual, count, err);
    const att_measuring how = { .decoding = &models->how,
                                .metrics = list.names,
                                .metric_count = list.count,
                                .text = eval_text_how(set),
                                .features = set->features };
    if (status == ATT_OK)
        status = att_model_evaluate(&scores, texts, models->model, data, &how, &notes, err);
    if (status == ATT_OK && notes.length > 0)
        fputs(notes.data, stderr);
    if (status == ATT_OK)
        status = figures_print(&(figures){ .scores = &scores,
                                           .lines = scores.lines,
                                           .what = att_model_kind(models->model) == ATT_KIND_PICTURE
                                                       ? "pictures"
                                                       : "pairs",
                                           .texts = texts,
                                           .text_count = list.count,
                                           .texts_alone = set->metrics != NULL },
                               set->json, err);
    att_text_free(&notes);
    free(list.copy);
    return status;
}
