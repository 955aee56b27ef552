/* attend eval with a classifier: accuracy, metrics per label and the confusion matrix. */
#include "eval.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "output.h"
#include "terminal.h"

/* A larger confusion matrix is unreadable as text; --json has it. */
enum { MAX_CONFUSION_LABELS = 20 };

static void print_summary(const att_classifier_eval *scores)
{
    printf("%-20s %" PRId64 "\n", "sentences", scores->lines);
    printf("%-20s %.2f %%", "accuracy", 100 * scores->accuracy);
    if (!isnan(scores->accuracy_interval.low))
        printf(" (%.2f to %.2f)", 100 * scores->accuracy_interval.low,
               100 * scores->accuracy_interval.high);
    printf("\n%-20s %.2f %%\n", "macro F1", 100 * scores->macro_f1);
    if (isnan(scores->loss)) /* no sentence has a label of the model */
        printf("%-20s -", "loss");
    else
        printf("%-20s %.4f", "loss", scores->loss);
    if (!isnan(scores->loss) && !isnan(scores->uncalibrated_loss))
        printf(" (%.4f uncalibrated, as in training)", scores->uncalibrated_loss);
    putchar('\n');
    printf("%-20s %.2f %%\n", "calibration error", 100 * scores->calibration_error);
}

/* The column width of a matrix headed by the labels; 0 if they do not fit, and are numbered. */
static int column_width(const att_classifier_eval *scores, const att_model *model)
{
    enum { MIN_WIDTH = 6, MAX_WIDTH = 16, MAX_LINE = 100 };
    int64_t widest = MIN_WIDTH;
    for (int64_t i = 0; i < scores->labels; i++) {
        const char *label = att_model_label(model, (size_t)i);
        int64_t length = (int64_t)strlen(label);
        for (const char *c = label; *c; c++)
            if (*c < ' ' || *c > '~')
                return 0; /* its width depends on the terminal */
        widest = length > widest ? length : widest;
    }
    return widest <= MAX_WIDTH && (scores->labels + 1) * (widest + 1) <= MAX_LINE ? (int)widest : 0;
}

/* A label in the matrix: its text, or its number. */
static const char *name_of(char out[24], const att_model *model, int64_t label, bool text)
{
    snprintf(out, 24, "#%" PRId64, label + 1);
    return text ? att_model_label(model, (size_t)label) : out;
}

/* Labels come last in a row: their width in the terminal is unknown. */
static void print_label_metrics(const att_classifier_eval *scores, const att_model *model,
                                bool numbered)
{
    char name[24];
    printf("\n%*s%10s %10s %10s %10s  label\n", numbered ? 6 : 0, "", "precision", "recall", "F1",
           "support");
    for (int64_t i = 0; i < scores->labels; i++) {
        const att_label_metrics *rates = att_classifier_eval_label(scores, i);
        if (numbered)
            printf("%5s ", name_of(name, model, i, false));
        terminal_printf(stdout, "%8.2f %% %8.2f %% %8.2f %% %10" PRId64 "  %s\n",
                        100 * rates->precision, 100 * rates->recall, 100 * rates->f1,
                        rates->support, att_model_label(model, (size_t)i));
    }
}

static void print_confusion(const att_classifier_eval *scores, const att_model *model,
                            int named_width)
{
    int64_t labels = scores->labels;
    int width = named_width > 0 ? named_width : 6;
    char name[24];
    if (labels > MAX_CONFUSION_LABELS)
        return;
    printf("\nconfusion matrix: true labels (rows), predicted labels (columns)\n%*s", width, "");
    for (int64_t j = 0; j < labels; j++)
        terminal_printf(stdout, " %*s", width, name_of(name, model, j, named_width > 0));
    printf("\n");
    for (int64_t i = 0; i < labels; i++) {
        terminal_printf(stdout, "%*s", width, name_of(name, model, i, named_width > 0));
        for (int64_t j = 0; j < labels; j++)
            printf(" %*" PRId64, width, scores->confusion[i * labels + j]);
        printf("\n");
    }
}

static att_status print_scores(const att_classifier_eval *scores, const att_model *model, bool json,
                               att_error *err)
{
    if (json) {
        att_string out = { 0 };
        att_status status = att_classifier_eval_json(&out, scores, model, err);
        if (status == ATT_OK)
            status = output_stdout(out.data, out.length, err);
        att_string_free(&out);
        return status;
    }
    print_summary(scores);
    int width = column_width(scores, model);
    print_label_metrics(scores, model, width == 0);
    print_confusion(scores, model, width);
    return output_flush(err);
}

att_status eval_classifier(const void *settings, const decoding *models, const char *data,
                           att_error *err)
{
    const eval_settings *set = settings;
    if (set->baseline)
        return eval_compare(set, models, data, err);
    att_classifier_eval *scores = NULL;
    att_string notes = { 0 };
    const att_metric_options metric_options = eval_metric_options(set);
    const att_eval_options options = { .size = sizeof(att_eval_options),
                                       .recorded_data = set->recorded_data,
                                       .format = set->format,
                                       .columns = set->columns,
                                       .transport = set->transport,
                                       .decoding = &models->options,
                                       .metric_options = &metric_options,
                                       .max_input_length = set->max_input_length };
    att_status status = att_model_evaluate_classifier(&scores, models->model, data, &options,
                                                      eval_notes(set, &notes), err);
    if (status == ATT_OK && notes.length > 0)
        terminal_puts(stderr, notes.data);
    if (status == ATT_OK)
        status = print_scores(scores, models->model, set->json, err);
    att_classifier_eval_free(scores);
    att_string_free(&notes);
    return status;
}
