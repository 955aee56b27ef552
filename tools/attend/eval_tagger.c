/* attend eval with a tagger: F1 of spans, in all and by type, token and sentence accuracy. */
#include "eval.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "output.h"
#include "terminal.h"

static void print_rate(const char *name, double value, att_interval interval)
{
    printf("%-20s %.2f %%", name, 100 * value);
    if (!isnan(interval.low))
        printf(" (%.2f to %.2f)", 100 * interval.low, 100 * interval.high);
    printf("\n");
}

static void print_summary(const att_tagger_eval *scores)
{
    printf("%-20s %" PRId64 "\n", "sentences", scores->sentences);
    printf("%-20s %" PRId64 "\n", "tokens", scores->tokens);
    if (scores->has_spans) {
        print_rate("F1 of spans", scores->spans.f1, scores->f1_interval);
        printf("%-20s %.2f %%\n", "precision", 100 * scores->spans.precision);
        printf("%-20s %.2f %%\n", "recall", 100 * scores->spans.recall);
    }
    print_rate("token accuracy", scores->token_accuracy, scores->token_accuracy_interval);
    print_rate("sentence accuracy", scores->sentence_accuracy, scores->sentence_accuracy_interval);
    if (isnan(scores->loss)) /* no sentence has only labels of the model */
        printf("%-20s -\n", "loss");
    else
        printf("%-20s %.4f\n", "loss", scores->loss);
}

/* Types come last in a row: their width in the terminal is unknown. */
static void print_types(const att_tagger_eval *scores)
{
    printf("\n%10s %10s %10s %10s  type\n", "precision", "recall", "F1", "support");
    for (int64_t i = 0; i < scores->types; i++) {
        const att_span_type_metrics *row = att_tagger_eval_type(scores, i);
        terminal_printf(stdout, "%8.2f %% %8.2f %% %8.2f %% %10" PRId64 "  %s\n",
                        100 * row->metrics.precision, 100 * row->metrics.recall,
                        100 * row->metrics.f1, row->metrics.support, row->type);
    }
}

static att_status print_scores(const att_tagger_eval *scores, bool json, att_error *err)
{
    if (json) {
        att_string out = { 0 };
        att_status status = att_tagger_eval_json(&out, scores, err);
        if (status == ATT_OK)
            status = output_stdout(out.data, out.length, err);
        att_string_free(&out);
        return status;
    }
    print_summary(scores);
    if (scores->has_spans)
        print_types(scores);
    return output_flush(err);
}

att_status eval_tagger(const void *settings, const decoding *models, const char *data,
                       att_error *err)
{
    const eval_settings *set = settings;
    if (set->baseline)
        return eval_compare(set, models, data, err);
    att_tagger_eval *scores = NULL;
    att_string notes = { 0 };
    const att_metric_options metric_options = eval_metric_options(set);
    const att_eval_options options = { .size = sizeof(att_eval_options),
                                       .recorded_data = set->recorded_data,
                                       .format = set->format,
                                       .columns = set->columns,
                                       .transport = set->transport,
                                       .decoding = &models->options,
                                       .metric_options = &metric_options };
    att_status status = att_model_evaluate_tagger(&scores, models->model, data, &options,
                                                  eval_notes(set, &notes), err);
    if (status == ATT_OK && notes.length > 0)
        terminal_puts(stderr, notes.data);
    if (status == ATT_OK)
        status = print_scores(scores, set->json, err);
    att_tagger_eval_free(scores);
    att_string_free(&notes);
    return status;
}
