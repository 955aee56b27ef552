/* attend eval --baseline: two models, or two files of hypotheses, compared on the same lines. */
#include "eval.h"
#include "output.h"
#include "terminal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- text */

/* A number of a row as it is printed: rates in percent. */
static double shown(const att_comparison_row *row, double value)
{
    return row->is_rate ? 100 * value : value;
}

/* Metrics of 100 have two decimals, losses and perplexities four. */
static int decimals(const att_comparison_row *row)
{
    return row->is_rate || row->baseline_mean > 100 ? 2 : 4;
}

static void print_score(const att_comparison_row *row, double value, double mean, double margin,
                        int digits)
{
    char text[96];
    snprintf(text, sizeof text, "%.*f (%.*f ± %.*f)", digits, shown(row, value), digits,
             shown(row, mean), digits, shown(row, margin));
    printf("  %-26s", text); /* the sign ± has two bytes */
}

static void print_row(const att_comparison_row *row, bool is_text_metric)
{
    int digits = is_text_metric ? 2 : decimals(row);
    printf("%-18s", row->title);
    print_score(row, row->baseline, row->baseline_mean, row->baseline_margin, digits);
    print_score(row, row->value, row->mean, row->margin, digits);
    if (row->value == row->baseline)
        printf(" %10.*f %12s %15s\n", digits, 0.0, "-", "-");
    else
        printf(" %+10.*f %12.4f %15.4f\n", digits,
               shown(row, row->value) - shown(row, row->baseline), row->bootstrap_p,
               row->randomization_p);
}

static void print_text(const comparison_report *report)
{
    const att_comparison_row *row;
    printf("%-18s%" PRId64 "\n\n", report->unit, att_comparison_lines(report->found));
    printf("%-18s  %-26s  %-26s %10s %12s %15s\n", "", "baseline (mean ± 95 %)",
           "model (mean ± 95 %)", "difference", "p bootstrap", "p randomization");
    for (size_t i = report->first; (row = att_comparison_get(report->found, i)); i++)
        print_row(row, i >= report->first_text);
}

/* ---- JSON */

enum { P_VALUE_SIZE = 40 };

/* A p-value, or null where the scores are equal. */
static const char *p_value(char out[P_VALUE_SIZE], double p)
{
    snprintf(out, P_VALUE_SIZE, isnan(p) ? "null" : "%.17g", p);
    return out;
}

static void print_json(const comparison_report *report)
{
    const att_comparison_row *row;
    char bootstrap[P_VALUE_SIZE], randomization[P_VALUE_SIZE];
    printf("{\"%s\":%" PRId64 ",\"bootstrap_samples\":%ld,\"randomization_trials\":%ld",
           report->unit, att_comparison_lines(report->found), report->resamples,
           10 * report->resamples);
    printf(",\"comparison\":[");
    for (size_t i = report->first; (row = att_comparison_get(report->found, i)); i++)
        printf("%s{\"metric\":\"%s\",\"baseline\":%.17g,\"baseline_mean\":%.17g,"
               "\"baseline_margin\":%.17g,\"model\":%.17g,\"model_mean\":%.17g,"
               "\"model_margin\":%.17g,\"difference\":%.17g,\"bootstrap_p\":%s,"
               "\"randomization_p\":%s}",
               i > report->first ? "," : "", row->name, row->baseline, row->baseline_mean,
               row->baseline_margin, row->value, row->mean, row->margin, row->value - row->baseline,
               p_value(bootstrap, row->bootstrap_p), p_value(randomization, row->randomization_p));
    printf("]}\n");
}

att_status comparison_report_print(const comparison_report *report, bool json, att_error *err)
{
    (json ? print_json : print_text)(report);
    return output_flush(err);
}

/* ---- models */

static const char *const units[ATT_MODEL_TYPES] = { [ATT_MODEL_SEQ2SEQ] = "pairs",
                                                    [ATT_MODEL_CAPTION] = "images",
                                                    [ATT_MODEL_CLASSIFIER] = "sentences",
                                                    [ATT_MODEL_TAGGER] = "sentences" };

static size_t row_count(const att_comparison *found)
{
    size_t count = 0;
    while (att_comparison_get(found, count))
        count++;
    return count;
}

static att_status compare(const eval_settings *set, const decoding *models,
                          att_model *const *baseline, size_t baseline_count, const char *data,
                          att_error *err)
{
    static const char *const no_names[] = { NULL };
    name_list list = { 0 };
    att_comparison *found = NULL;
    att_string notes = { 0 };
    size_t count = 0;
    att_model_type type = att_model_type_get(models->model);
    bool generates = type == ATT_MODEL_SEQ2SEQ || type == ATT_MODEL_CAPTION;
    const char *const *names = generates ? att_model_metrics(models->model, &count) : no_names;
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
        status = att_models_compare(&found, models->model, baseline, baseline_count, data, &options,
                                    eval_notes(set, &notes), err);
    if (status == ATT_OK && notes.length > 0)
        terminal_puts(stderr, notes.data);
    if (status == ATT_OK) {
        size_t first_text = row_count(found) - list.count;
        status =
            comparison_report_print(&(comparison_report){ .found = found,
                                                          .unit = units[type],
                                                          .resamples = set->bootstrap_samples,
                                                          .first_text = first_text,
                                                          .first = set->metrics ? first_text : 0 },
                                    set->json, err);
    }
    att_comparison_free(found);
    att_string_free(&notes);
    free(list.copy);
    return status;
}

att_status eval_compare(const eval_settings *set, const decoding *models, const char *data,
                        att_error *err)
{
    att_model **baseline = NULL;
    size_t count = 0;
    att_status status =
        models_load(&baseline, &count, "--baseline", set->baseline, set->decoding.precision, err);
    if (status == ATT_OK)
        status = compare(set, models, baseline, count, data, err);
    models_free(baseline, count);
    return status;
}
