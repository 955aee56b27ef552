/* What a model that sorts says of a line, and how well it does, as lines of JSON. */
#include "attend.h"

#include "render/writer.h"

#include <math.h>

static void put_probabilities(att_writer *out, const att_prediction *verdict,
                              const att_model *model)
{
    att_put(out, ",\"probabilities\":{");
    for (int64_t i = 0; verdict->probabilities && i < verdict->label_count; i++) {
        att_put(out, i > 0 ? "," : "");
        att_put_json(out, att_model_label(model, (size_t)i));
        att_put(out, ":");
        att_put_json_number(out, verdict->probabilities[i]);
    }
    att_put(out, "}");
}

static void put_tokens(att_writer *out, const att_prediction *verdict)
{
    att_put(out, ",\"unknown_tokens\":");
    att_put_integer(out, verdict->unknown_tokens);
    att_put(out, ",\"tokens\":[");
    for (int64_t i = 0; i < verdict->token_count; i++) {
        att_put(out, i > 0 ? "," : "");
        att_put_json(out, verdict->tokens[i]);
    }
    att_put(out, "]");
}

static void put_attention(att_writer *out, const att_prediction *verdict)
{
    att_put(out, ",\"attention\":");
    att_put_json_numbers(out, verdict->weights, verdict->token_count);
    att_put(out, ",\"head_attention\":[");
    for (int64_t h = 0; h < verdict->heads; h++) {
        att_put(out, h > 0 ? "," : "");
        att_put_json_numbers(out, verdict->head_weights + h * verdict->token_count,
                             verdict->token_count);
    }
    att_put(out, "]");
}

att_status att_prediction_json(att_string *out, const att_prediction *verdict,
                               const att_model *model, att_error *err)
{
    att_writer writer = att_writer_on(out);
    att_put(&writer, "{\"label\":");
    if (verdict->label >= 0)
        att_put_json(&writer, verdict->label_text);
    else
        att_put(&writer, "null");
    put_probabilities(&writer, verdict, model);
    put_tokens(&writer, verdict);
    if (verdict->weights)
        put_attention(&writer, verdict);
    att_put(&writer, "}\n");
    return att_writer_finish(&writer, err);
}

/* ---- figures */

static void put_member(att_writer *out, const char *key, double value)
{
    att_putf(out, ",\"%s\":", key);
    att_put_json_number(out, value);
}

static void put_label_metrics(att_writer *out, const att_label_metrics *rates, const char *label)
{
    att_put(out, "{\"label\":");
    att_put_json(out, label);
    att_put(out, ",\"support\":");
    att_put_integer(out, rates->support);
    att_put(out, ",\"predicted\":");
    att_put_integer(out, rates->predicted);
    put_member(out, "precision", rates->precision);
    put_member(out, "recall", rates->recall);
    put_member(out, "f1", rates->f1);
    att_put(out, "}");
}

static void put_confusion(att_writer *out, const att_classifier_eval *scores)
{
    att_put(out, ",\"confusion_matrix\":[");
    for (int64_t i = 0; i < scores->labels * scores->labels; i++) {
        bool first = i % scores->labels == 0, last = (i + 1) % scores->labels == 0;
        att_put(out, i > 0 ? "," : "");
        att_put(out, first ? "[" : "");
        att_put_integer(out, scores->confusion[i]);
        att_put(out, last ? "]" : "");
    }
    att_put(out, "]");
}

att_status att_classifier_eval_json(att_string *out, const att_classifier_eval *scores,
                                    const att_model *model, att_error *err)
{
    att_writer writer = att_writer_on(out);
    att_put(&writer, "{\"sentences\":");
    att_put_integer(&writer, scores->lines);
    put_member(&writer, "accuracy", scores->accuracy);
    put_member(&writer, "macro_f1", scores->macro_f1);
    put_member(&writer, "loss", scores->loss);
    put_member(&writer, "calibration_error", scores->calibration_error);
    att_put(&writer, ",\"labels\":[");
    for (int64_t i = 0; i < scores->labels; i++) {
        att_put(&writer, i > 0 ? "," : "");
        put_label_metrics(&writer, att_classifier_eval_label(scores, i),
                          att_model_label(model, (size_t)i));
    }
    att_put(&writer, "]");
    put_confusion(&writer, scores);
    if (!isnan(scores->accuracy_interval.low)) {
        const double within[] = { scores->accuracy_interval.low, scores->accuracy_interval.high };
        att_put(&writer, ",\"intervals\":{\"accuracy\":");
        att_put_json_numbers(&writer, within, 2);
        att_put(&writer, "}");
    }
    att_put(&writer, "}\n");
    return att_writer_finish(&writer, err);
}
