/* A model that sorts, measured for a user; see attend.h. */
#include "attend.h"

#include "base/alloc.h"
#include "base/error.h"
#include "metrics/bootstrap.h"
#include "eval/corpus_eval.h"
#include "eval/classifier_predict.h"
#include "eval/evaluation.h"

/* What is given out, with the room of its arrays. */
typedef struct classifier_eval {
    att_classifier_eval result;
    int64_t *confusion;
    att_label_metrics *label_metrics;
} classifier_eval;

/* ---- how sure accuracy is */

static double ratio(const double *sums)
{
    return sums[0] / sums[1];
}

static att_status find_interval(att_interval *out, const att_label_predictions *judged,
                                const att_metric_options *how, att_error *err)
{
    double *numbers = att_alloc(2 * (size_t)judged->count, sizeof *numbers);
    if (!numbers)
        return att_fail_memory(err);
    for (int64_t i = 0; i < judged->count; i++) {
        numbers[2 * i] = att_label_predictions_argmax(judged, i) == judged->truth[i];
        numbers[2 * i + 1] = 1;
    }
    const att_bootstrap from = { numbers, (size_t)judged->count, 2, ratio };
    att_status status = att_bootstrap_interval(out, &from, how->resamples, how->seed, err);
    att_free(numbers);
    return status;
}

/* ---- figures */

static att_status compute_metrics(classifier_eval *out, const att_label_predictions *judged,
                                  att_error *err)
{
    int64_t labels = judged->labels;
    out->confusion = att_alloc_zero((size_t)labels, (size_t)labels * sizeof *out->confusion);
    out->label_metrics = att_alloc((size_t)labels, sizeof *out->label_metrics);
    if (!out->confusion || !out->label_metrics)
        return att_fail_memory(err);
    att_label_predictions_confusion(out->confusion, judged);
    for (int64_t i = 0; i < labels; i++)
        out->label_metrics[i] = att_confusion_label_metrics(out->confusion, labels, i);
    out->result = (att_classifier_eval){
        .lines = judged->count,
        .accuracy = att_confusion_accuracy(out->confusion, labels),
        .macro_f1 = att_confusion_macro_f1(out->confusion, labels),
        .loss = att_label_predictions_loss(judged,
                                           1), /* the model's temperature is in its probabilities */
        .calibration_error = att_label_predictions_calibration_error(judged, 1),
        .labels = labels,
        .confusion = out->confusion,
    };
    return ATT_OK;
}

static att_status run_eval(classifier_eval *out, const att_model *model, const att_evaluation *call,
                           att_string *notes, att_error *err)
{
    const att_data_read_options reading = { .path = call->path,
                                            .settings = model->settings,
                                            .source_vocab = model->source_vocab,
                                            .target_vocab = model->target_vocab };
    att_corpus corpus;
    att_corpus_predictions judged = { 0 };
    ATT_TRY(att_data_read(&corpus, &reading, err));
    att_status status = att_corpus_eval_warnings(notes, call->path, &corpus, err);
    if (status == ATT_OK)
        status = att_corpus_predict(&judged, model, call->decoding.ensemble,
                                    call->decoding.ensemble_count, &corpus, err);
    if (status == ATT_OK)
        status = compute_metrics(out, &judged.predictions, err);
    if (status == ATT_OK)
        status = find_interval(&out->result.accuracy_interval, &judged.predictions,
                               &call->metric_options, err);
    att_corpus_predictions_free(&judged);
    att_corpus_free(&corpus);
    return status;
}

att_status att_model_evaluate_classifier(att_classifier_eval **out, const att_model *model,
                                         const char *path, const att_eval_options *options,
                                         att_string *notes, att_error *err)
{
    att_evaluation call;
    *out = NULL;
    ATT_TRY(att_model_require_type(model, ATT_MODEL_CLASSIFIER, err));
    classifier_eval *result = att_alloc_zero(1, sizeof *result);
    if (!result)
        return att_fail_memory(err);
    att_status status = att_evaluation_open(&call, ATT_MODEL_CLASSIFIER, path, options, err);
    if (status == ATT_OK)
        status = run_eval(result, model, &call, notes, err);
    att_evaluation_close(&call);
    if (status == ATT_OK)
        *out = &result->result;
    else
        att_classifier_eval_free(&result->result);
    return status;
}

const att_label_metrics *att_classifier_eval_label(const att_classifier_eval *eval, int64_t label)
{
    const classifier_eval *all = (const classifier_eval *)(const void *)eval; /* its first member */
    return label >= 0 && label < eval->labels ? &all->label_metrics[label] : NULL;
}

void att_classifier_eval_free(att_classifier_eval *scores)
{
    classifier_eval *all = (classifier_eval *)(void *)scores; /* its first member */
    if (!all)
        return;
    att_free(all->confusion);
    att_free(all->label_metrics);
    att_free(all);
}
