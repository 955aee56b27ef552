/* attend eval, on sentences and their labels: how many are right, and what is taken for what. */
#include "eval.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "output.h"

/* A matrix of more is no longer read; --json has it. */
enum { MOST_SHOWN = 20 };

static void print_figures(const att_label_scores *scores)
{
    printf("%-20s %" PRId64 "\n", "sentences", scores->lines);
    printf("%-20s %.2f %%", "accuracy", 100 * scores->accuracy);
    if (!isnan(scores->accuracy_within.low))
        printf(" (%.2f to %.2f)", 100 * scores->accuracy_within.low,
               100 * scores->accuracy_within.high);
    printf("\n%-20s %.2f %%\n", "macro F1", 100 * scores->macro_f1);
    printf("%-20s %.4f\n", "loss", scores->loss);
    printf("%-20s %.2f %%\n", "calibration error", 100 * scores->calibration_error);
}

/* Labels end their lines, so that nothing depends on how wide they are. */
static void print_rates(const att_label_scores *scores, const att_model *model)
{
    printf("\n%5s %10s %10s %10s %10s  label\n", "", "precision", "recall", "F1", "sentences");
    for (int64_t i = 0; i < scores->labels; i++) {
        const att_label_rates *rates = &scores->rates[i];
        printf("%5" PRId64 " %8.2f %% %8.2f %% %8.2f %% %10" PRId64 "  %s\n", i + 1,
               100 * rates->precision, 100 * rates->recall, 100 * rates->f1, rates->there,
               att_model_label(model, (size_t)i));
    }
}

static void print_confusion(const att_label_scores *scores, const att_model *model)
{
    int64_t labels = scores->labels;
    if (labels > MOST_SHOWN)
        return;
    printf("\ntrue (rows) and given (columns)\n%5s", "");
    for (int64_t j = 0; j < labels; j++)
        printf(" %6" PRId64, j + 1);
    printf("\n");
    for (int64_t i = 0; i < labels; i++) {
        printf("%5" PRId64, i + 1);
        for (int64_t j = 0; j < labels; j++)
            printf(" %6" PRId64, scores->confusion[i * labels + j]);
        printf("  %s\n", att_model_label(model, (size_t)i));
    }
}

static att_status print_scores(const att_label_scores *scores, const att_model *model, bool json,
                               att_error *err)
{
    if (json) {
        att_text out = { 0 };
        att_status status = att_label_scores_json(&out, scores, model, err);
        if (status == ATT_OK)
            status = output_stdout(out.data, out.length, err);
        att_text_free(&out);
        return status;
    }
    print_figures(scores);
    print_rates(scores, model);
    print_confusion(scores, model);
    return output_flush(err);
}

att_status eval_labels(const eval_settings *set, const decoding *models, const char *data,
                       att_error *err)
{
    att_label_scores *scores = NULL;
    att_text notes = { 0 };
    const att_measuring how = { .decoding = &models->how, .text = eval_text_how(set) };
    att_status status = att_model_evaluate_labels(&scores, models->model, data, &how, &notes, err);
    if (status == ATT_OK && notes.length > 0)
        fputs(notes.data, stderr);
    if (status == ATT_OK)
        status = print_scores(scores, models->model, set->json, err);
    att_label_scores_free(scores);
    att_text_free(&notes);
    return status;
}
