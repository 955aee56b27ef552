/* A prediction of a classifier, and the evaluation of a classifier, as one line of JSON
 * (docs/running.md). */
#include "attend.h"

#include "render/writer.h"

#include <math.h>

static void put_probabilities(att_writer *out, const att_prediction *prediction,
                              const att_model *model)
{
    att_put(out, ",\"probabilities\":{");
    for (int64_t i = 0; prediction->probabilities && i < prediction->label_count; i++) {
        att_put(out, i > 0 ? "," : "");
        att_put_json(out, att_model_label(model, (size_t)i));
        att_put(out, ":");
        att_put_json_number(out, prediction->probabilities[i]);
    }
    att_put(out, "}");
}

static void put_tokens(att_writer *out, const att_prediction *prediction)
{
    att_put(out, ",\"unknown_tokens\":");
    att_put_integer(out, prediction->unknown_tokens);
    att_put(out, ",\"tokens\":[");
    for (int64_t i = 0; i < prediction->token_count; i++) {
        att_put(out, i > 0 ? "," : "");
        att_put_json(out, prediction->tokens[i]);
    }
    att_put(out, "]");
}

static void put_attention(att_writer *out, const att_prediction *prediction)
{
    att_put(out, ",\"attention\":");
    att_put_json_numbers(out, prediction->weights, prediction->token_count);
    att_put(out, ",\"head_attention\":[");
    for (int64_t h = 0; h < prediction->heads; h++) {
        att_put(out, h > 0 ? "," : "");
        att_put_json_numbers(out, prediction->head_weights + h * prediction->token_count,
                             prediction->token_count);
    }
    att_put(out, "]");
}

att_status att_prediction_json(att_string *out, const att_prediction *prediction,
                               const att_model *model, att_error *err)
{
    att_writer writer = att_writer_on(out);
    att_put(&writer, "{\"label\":");
    if (prediction->label >= 0)
        att_put_json(&writer, prediction->label_text);
    else
        att_put(&writer, "null");
    put_probabilities(&writer, prediction, model);
    put_tokens(&writer, prediction);
    if (prediction->weights)
        put_attention(&writer, prediction);
    att_put(&writer, "}\n");
    return att_writer_finish(&writer, err);
}

/* ---- evaluation */

static void put_member(att_writer *out, const char *key, double value)
{
    att_putf(out, ",\"%s\":", key);
    att_put_json_number(out, value);
}

static void put_label_metrics(att_writer *out, const att_label_metrics *metrics, const char *label)
{
    att_put(out, "{\"label\":");
    att_put_json(out, label);
    att_put(out, ",\"support\":");
    att_put_integer(out, metrics->support);
    att_put(out, ",\"predicted\":");
    att_put_integer(out, metrics->predicted);
    put_member(out, "precision", metrics->precision);
    put_member(out, "recall", metrics->recall);
    put_member(out, "f1", metrics->f1);
    att_put(out, "}");
}

static void put_confusion(att_writer *out, const att_classifier_eval *eval)
{
    att_put(out, ",\"confusion_matrix\":[");
    for (int64_t i = 0; i < eval->labels * eval->labels; i++) {
        bool first = i % eval->labels == 0, last = (i + 1) % eval->labels == 0;
        att_put(out, i > 0 ? "," : "");
        att_put(out, first ? "[" : "");
        att_put_integer(out, eval->confusion[i]);
        att_put(out, last ? "]" : "");
    }
    att_put(out, "]");
}

att_status att_classifier_eval_json(att_string *out, const att_classifier_eval *eval,
                                    const att_model *model, att_error *err)
{
    att_writer writer = att_writer_on(out);
    att_put(&writer, "{\"sentences\":");
    att_put_integer(&writer, eval->lines);
    if (eval->unknown_labels > 0) {
        att_put(&writer, ",\"unknown_labels\":");
        att_put_integer(&writer, eval->unknown_labels);
    }
    put_member(&writer, "accuracy", eval->accuracy);
    put_member(&writer, "macro_f1", eval->macro_f1);
    put_member(&writer, "loss", eval->loss);
    put_member(&writer, "uncalibrated_loss", eval->uncalibrated_loss);
    put_member(&writer, "calibration_error", eval->calibration_error);
    att_put(&writer, ",\"labels\":[");
    for (int64_t i = 0; i < eval->labels; i++) {
        att_put(&writer, i > 0 ? "," : "");
        put_label_metrics(&writer, att_classifier_eval_label(eval, i),
                          att_model_label(model, (size_t)i));
    }
    att_put(&writer, "]");
    put_confusion(&writer, eval);
    if (!isnan(eval->accuracy_interval.low)) {
        const double interval[] = { eval->accuracy_interval.low, eval->accuracy_interval.high };
        att_put(&writer, ",\"intervals\":{\"accuracy\":");
        att_put_json_numbers(&writer, interval, 2);
        att_put(&writer, "}");
    }
    att_put(&writer, "}\n");
    return att_writer_finish(&writer, err);
}
