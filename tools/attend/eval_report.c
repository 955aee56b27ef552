/* The report of attend eval: token metrics of a model and metrics of text, as lines or as JSON. */
#include "eval.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "output.h"

/* One metric: its name in the text, its key in JSON, and its value. */
typedef struct metric_row {
    const char *name, *key;
    double value;
    att_interval interval;
    enum { SCALE_FRACTION, SCALE_PERCENT, SCALE_NONE } scale;
    const char *signature; /* or NULL */
} metric_row;

enum { TOKEN_METRICS = 5, MAX_METRIC_ROWS = 32 };

/* Collects all metrics in the order of printing and returns their number. */
static size_t gather(metric_row *out, const eval_report *report)
{
    const att_seq2seq_eval *s = report->metrics_only ? NULL : report->scores;
    size_t count = 0;
    if (s) {
        const metric_row token_rows[TOKEN_METRICS] = {
            { "exact match", "exact_match", s->exact_match, s->exact_match_interval, SCALE_FRACTION,
              NULL },
            { "token accuracy", "token_accuracy", s->token_accuracy, s->token_accuracy_interval,
              SCALE_FRACTION, NULL },
            { "token error rate", "token_error_rate", s->token_error_rate,
              s->token_error_rate_interval, SCALE_FRACTION, NULL },
            { "word error rate", "word_error_rate", s->word_error_rate, s->word_error_rate_interval,
              SCALE_FRACTION, NULL },
            { "perplexity", "perplexity", s->perplexity, s->perplexity_interval, SCALE_NONE, NULL },
        };
        memcpy(out, token_rows, sizeof token_rows);
        count = TOKEN_METRICS;
    }
    for (size_t i = 0; i < report->metric_count && count < MAX_METRIC_ROWS; i++) {
        const att_metric_score *text = att_metric_scores_get(report->metrics, i);
        out[count++] = (metric_row){ text->metric->title, text->metric->name, text->value,
                                     text->interval,      SCALE_PERCENT,      text->signature };
    }
    return count;
}

/* "12.34 %", "12.34" or "5.6789". */
static void print_value(const metric_row *row, double value)
{
    char perplexity[PERPLEXITY_SIZE];
    if (row->scale == SCALE_NONE)
        printf("%s", perplexity_text(perplexity, value, 4));
    else
        printf("%.2f", row->scale == SCALE_FRACTION ? 100 * value : value);
}

static void print_text(const eval_report *report, const metric_row *rows, size_t count)
{
    printf("%-20s %" PRId64 "\n", report->unit ? report->unit : "lines", report->lines);
    if (report->scores && !report->metrics_only)
        printf("%-20s %" PRId64 "\n", "target tokens", report->scores->tokens);
    if (report->scores && report->scores->several_targets > 0 && !report->metrics_only)
        printf("%-20s %" PRId64
               " (sources; an output that equals any target of its source is exact)\n",
               "several targets", report->scores->several_targets);
    if (report->scores && report->scores->truncated_outputs > 0)
        printf("%-20s %" PRId64 " (cut at --max-output-length)\n", "truncated outputs",
               report->scores->truncated_outputs);
    for (const metric_row *row = rows; row < rows + count; row++) {
        if (isnan(row->value))
            continue;
        printf("%-20s ", row->name);
        print_value(row, row->value);
        if (row->scale == SCALE_FRACTION)
            printf(" %%");
        if (!isnan(row->interval.low)) {
            printf(" (");
            print_value(row, row->interval.low);
            printf(" to ");
            print_value(row, row->interval.high);
            printf(")");
        }
        printf("%s%s\n", row->signature ? "  " : "", row->signature ? row->signature : "");
    }
}

static void print_number(double value)
{
    if (isfinite(value))
        printf("%.17g", value);
    else
        printf("null");
}

static void print_json(const eval_report *report, const metric_row *rows, size_t count)
{
    printf("{\"%s\":%" PRId64, report->unit ? report->unit : "lines", report->lines);
    if (report->scores)
        printf(",\"target_tokens\":%" PRId64 ",\"truncated_outputs\":%" PRId64,
               report->scores->tokens, report->scores->truncated_outputs);
    if (report->scores && report->scores->several_targets > 0)
        printf(",\"several_targets\":%" PRId64, report->scores->several_targets);
    for (const metric_row *row = rows; row < rows + count; row++) {
        printf(",\"%s\":", row->key);
        print_number(row->value);
    }
    const char *before = ",\"intervals\":{";
    for (const metric_row *row = rows; row < rows + count; row++) {
        if (isnan(row->interval.low))
            continue;
        printf("%s\"%s\":[", before, row->key);
        print_number(row->interval.low);
        printf(",");
        print_number(row->interval.high);
        printf("]");
        before = ",";
    }
    printf("%s", before[1] ? "" : "}");
    before = ",\"signatures\":{";
    for (const metric_row *row = rows; row < rows + count; row++) {
        if (!row->signature)
            continue;
        printf("%s\"%s\":\"%s\"", before, row->key, row->signature);
        before = ",";
    }
    printf("%s}\n", before[1] ? "" : "}");
}

att_status eval_report_print(const eval_report *report, bool json, att_error *err)
{
    metric_row rows[MAX_METRIC_ROWS];
    size_t count = gather(rows, report);
    (json ? print_json : print_text)(report, rows, count);
    return output_flush(err);
}
