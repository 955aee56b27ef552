/* Evaluation of a classifier (att_model_evaluate_classifier): accuracy with its confidence
 * interval, F1, loss, calibration error and the confusion matrix. */
#include "attend.h"

#include "base/alloc.h"
#include "base/error.h"
#include "decode/session.h"
#include "metrics/bootstrap.h"
#include "eval/corpus_eval.h"
#include "eval/classifier_predict.h"
#include "eval/evaluation.h"

#include <math.h>

/* The public result, with the arrays it points to. */
typedef struct classifier_eval {
    att_classifier_eval result;
    int64_t *confusion;
    int64_t *others; /* [labels] sentences with a label that the model lacks, by predicted label */
    att_label_metrics *label_metrics;
} classifier_eval;

/* ---- confidence interval of the accuracy */

static double ratio(const double *sums)
{
    return sums[0] / sums[1];
}

static att_status find_interval(att_interval *out, const att_label_predictions *predictions,
                                const att_metric_options *options, att_error *err)
{
    double *numbers = att_alloc(2 * (size_t)predictions->count, sizeof *numbers);
    if (!numbers)
        return att_fail_memory(err);
    for (int64_t i = 0; i < predictions->count; i++) {
        numbers[2 * i] = att_label_predictions_argmax(predictions, i) == predictions->truth[i];
        numbers[2 * i + 1] = 1;
    }
    const att_bootstrap from = { numbers, (size_t)predictions->count, 2, ratio };
    att_status status = att_bootstrap_interval(out, &from, options->resamples, options->seed, err);
    att_free(numbers);
    return status;
}

/* ---- metrics */

/* Log-probabilities are logits / temperature, normalized: so are those at temperature 1. */
static double uncalibrated_loss(const att_label_predictions *predictions, const att_model *model,
                                bool is_ensemble)
{
    return is_ensemble ? NAN : att_label_predictions_loss(predictions, 1 / model->temperature);
}

static att_status compute_metrics(classifier_eval *out, const att_label_predictions *predictions,
                                  att_error *err)
{
    int64_t labels = predictions->labels;
    out->confusion = att_alloc_zero((size_t)labels, (size_t)labels * sizeof *out->confusion);
    out->others = att_alloc_zero((size_t)labels, sizeof *out->others);
    out->label_metrics = att_alloc((size_t)labels, sizeof *out->label_metrics);
    if (!out->confusion || !out->others || !out->label_metrics)
        return att_fail_memory(err);
    att_label_predictions_confusion(out->confusion, out->others, predictions);
    int64_t unknown = 0;
    for (int64_t i = 0; i < labels; i++) {
        out->label_metrics[i] = att_confusion_label_metrics(out->confusion, out->others, labels, i);
        unknown += out->others[i];
    }
    out->result = (att_classifier_eval){
        .lines = predictions->count,
        .accuracy = att_confusion_accuracy(out->confusion, out->others, labels),
        .macro_f1 = att_confusion_macro_f1(out->confusion, out->others, labels),
        /* temperature 1: the calibration of the model is already in its log-probabilities */
        .loss = att_label_predictions_loss(predictions, 1),
        .calibration_error = att_label_predictions_calibration_error(predictions, 1),
        .labels = labels,
        .confusion = out->confusion,
        .unknown_labels = unknown,
    };
    return ATT_OK;
}

static att_status run_eval(classifier_eval *out, const att_model *model, att_evaluation *call,
                           att_string *notes, att_error *err)
{
    const att_data_read_options reading = { .path = call->path,
                                            .format = call->options.format,
                                            .columns = call->options.columns,
                                            .keep_words = att_ensemble_reads_words(
                                                model, call->decoding.ensemble,
                                                call->decoding.ensemble_count),
                                            .settings = model->settings,
                                            .recorded_data = call->options.recorded_data,
                                            .source_vocab = model->source_vocab,
                                            .target_vocab = model->target_vocab };
    att_corpus corpus = { 0 };
    att_corpus_predictions predicted = { 0 };
    ATT_TRY(att_ensemble_check(model, call->decoding.ensemble, call->decoding.ensemble_count, err));
    att_status status =
        att_evaluation_meet(call, att_data_read(&corpus, &reading, err), model, &corpus, err);
    if (status == ATT_OK)
        status = att_corpus_eval_warnings(notes, call->path, &corpus, err);
    if (status == ATT_OK)
        status = att_corpus_eval_lengths(&corpus, model, &call->options, call->path, err);
    if (status == ATT_OK)
        status = att_evaluation_name_file(
            att_corpus_predict(&predicted, model, call->decoding.ensemble,
                               call->decoding.ensemble_count, &corpus, &call->group, err),
            call->path, err);
    if (status == ATT_OK)
        status = compute_metrics(out, &predicted.predictions, err);
    if (status == ATT_OK) {
        out->result.uncalibrated_loss =
            uncalibrated_loss(&predicted.predictions, model, call->decoding.ensemble_count > 0);
        status = find_interval(&out->result.accuracy_interval, &predicted.predictions,
                               &call->metric_options, err);
    }
    att_corpus_predictions_free(&predicted);
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
    status = att_evaluation_close(&call, status, err);
    if (status == ATT_OK)
        *out = &result->result;
    else
        att_classifier_eval_free(&result->result);
    return status;
}

const att_label_metrics *att_classifier_eval_label(const att_classifier_eval *eval, int64_t label)
{
    const classifier_eval *owner =
        (const classifier_eval *)(const void *)eval; /* its first member */
    return label >= 0 && label < eval->labels ? &owner->label_metrics[label] : NULL;
}

void att_classifier_eval_free(att_classifier_eval *eval)
{
    classifier_eval *owner = (classifier_eval *)(void *)eval; /* its first member */
    if (!owner)
        return;
    att_free(owner->confusion);
    att_free(owner->others);
    att_free(owner->label_metrics);
    att_free(owner);
}
