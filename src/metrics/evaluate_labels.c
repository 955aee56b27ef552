/* A model that sorts, measured for a user; see attend.h. */
#include "attend.h"

#include "base/alloc.h"
#include "base/error.h"
#include "metrics/bootstrap.h"
#include "metrics/evaluate.h"
#include "metrics/judge_corpus.h"

/* What is given out, with the room of its arrays. */
typedef struct scored {
    att_label_scores shown;
    int64_t *confusion;
    att_label_rates *rates;
} scored;

/* ---- how sure accuracy is */

static double ratio(const double *sums)
{
    return sums[0] / sums[1];
}

static att_status find_interval(att_interval *out, const att_judged *judged,
                                const att_metric_how *how, att_error *err)
{
    double *numbers = att_alloc(2 * (size_t)judged->count, sizeof *numbers);
    if (!numbers)
        return att_fail_memory(err);
    for (int64_t i = 0; i < judged->count; i++) {
        numbers[2 * i] = att_judged_label(judged, i) == judged->truth[i];
        numbers[2 * i + 1] = 1;
    }
    const att_bootstrap from = { numbers, (size_t)judged->count, 2, ratio };
    att_status status = att_bootstrap_interval(out, &from, how->resamples, how->seed, err);
    att_free(numbers);
    return status;
}

/* ---- figures */

static att_status count_up(scored *out, const att_judged *judged, att_error *err)
{
    int64_t labels = judged->labels;
    out->confusion = att_alloc_zero((size_t)labels, (size_t)labels * sizeof *out->confusion);
    out->rates = att_alloc((size_t)labels, sizeof *out->rates);
    if (!out->confusion || !out->rates)
        return att_fail_memory(err);
    att_judged_count(out->confusion, judged);
    for (int64_t i = 0; i < labels; i++)
        out->rates[i] = att_confusion_label(out->confusion, labels, i);
    out->shown = (att_label_scores){
        .lines = judged->count,
        .accuracy = att_confusion_accuracy(out->confusion, labels),
        .macro_f1 = att_confusion_macro_f1(out->confusion, labels),
        .loss = att_judged_loss(judged, 1), /* the model's temperature is in its probabilities */
        .calibration_error = att_judged_calibration_error(judged, 1),
        .labels = labels,
        .confusion = out->confusion,
        .rates = out->rates,
    };
    return ATT_OK;
}

static att_status measure(scored *out, att_model *model, const char *path, const att_measuring *how,
                          att_text *notes, att_error *err)
{
    const att_data_reading reading = { .path = path,
                                       .settings = model->settings,
                                       .source = model->source_words,
                                       .target = model->target_words };
    const att_decoding alone = { 0 }, *decoding = how->decoding ? how->decoding : &alone;
    att_corpus corpus;
    att_judged_corpus judged = { 0 };
    ATT_TRY(att_data_read(&corpus, &reading, err));
    att_status status = att_evaluate_notes(notes, path, &corpus, err);
    if (status == ATT_OK)
        status =
            att_judge_corpus(&judged, model, decoding->with, decoding->with_count, &corpus, err);
    if (status == ATT_OK)
        status = count_up(out, &judged.judged, err);
    if (status == ATT_OK)
        status = find_interval(&out->shown.accuracy_within, &judged.judged, &how->text, err);
    att_judged_corpus_free(&judged);
    att_corpus_free(&corpus);
    return status;
}

att_status att_model_evaluate_labels(att_label_scores **out, att_model *model, const char *path,
                                     const att_measuring *how, att_text *notes, att_error *err)
{
    static const att_measuring plain = { 0 };
    *out = NULL;
    if (att_model_kind(model) != ATT_KIND_LABEL)
        return att_fail(err, ATT_BAD_INPUT, NULL, "the model gives no labels: it is a %s",
                        model->family->name);
    scored *result = att_alloc_zero(1, sizeof *result);
    if (!result)
        return att_fail_memory(err);
    att_status status = measure(result, model, path, how ? how : &plain, notes, err);
    if (status == ATT_OK)
        *out = &result->shown;
    else
        att_label_scores_free(&result->shown);
    return status;
}

void att_label_scores_free(att_label_scores *scores)
{
    scored *all = (scored *)(void *)scores; /* its first member */
    if (!all)
        return;
    att_free(all->confusion);
    att_free(all->rates);
    att_free(all);
}
