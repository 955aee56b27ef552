/* The labels of a line, and the evaluation of a tagger, as one line of JSON (docs/running.md). */
#include "attend.h"

#include "render/writer.h"

#include <math.h>

static void put_strings(att_writer *out, const char *key, const char *const *texts, int64_t count)
{
    att_putf(out, "\"%s\":[", key);
    for (int64_t i = 0; i < count; i++) {
        att_put(out, i > 0 ? "," : "");
        att_put_json(out, texts[i]);
    }
    att_put(out, "]");
}

/* The probability of the label of each token. */
static void put_label_probabilities(att_writer *out, const att_tagging *tagging)
{
    att_put(out, ",\"probabilities\":[");
    for (int64_t i = 0; i < tagging->token_count; i++) {
        att_put(out, i > 0 ? "," : "");
        att_put_json_number(
            out, tagging->probabilities[i * tagging->label_count + tagging->label_indices[i]]);
    }
    att_put(out, "]");
}

att_status att_tagging_json(att_string *out, const att_tagging *tagging, att_error *err)
{
    att_writer writer = att_writer_on(out);
    att_put(&writer, "{");
    put_strings(&writer, "labels", tagging->labels, tagging->token_count);
    put_label_probabilities(&writer, tagging);
    att_put(&writer, ",\"unknown_tokens\":");
    att_put_integer(&writer, tagging->unknown_tokens);
    att_put(&writer, ",");
    put_strings(&writer, "tokens", tagging->tokens, tagging->token_count);
    att_put(&writer, "}\n");
    return att_writer_finish(&writer, err);
}

/* ---- evaluation */

static void put_integer(att_writer *out, const char *key, int64_t value)
{
    att_putf(out, ",\"%s\":", key);
    att_put_integer(out, value);
}

static void put_number(att_writer *out, const char *key, double value)
{
    att_putf(out, ",\"%s\":", key);
    att_put_json_number(out, value);
}

static void put_metrics(att_writer *out, const att_label_metrics *metrics)
{
    put_number(out, "f1", metrics->f1);
    put_number(out, "precision", metrics->precision);
    put_number(out, "recall", metrics->recall);
    put_integer(out, "support", metrics->support);
    put_integer(out, "predicted", metrics->predicted);
}

static void put_types(att_writer *out, const att_tagger_eval *eval)
{
    att_put(out, ",\"types\":[");
    for (int64_t i = 0; i < eval->types; i++) {
        const att_span_type_metrics *row = att_tagger_eval_type(eval, i);
        att_put(out, i > 0 ? ",{\"type\":" : "{\"type\":");
        att_put_json(out, row->type);
        put_metrics(out, &row->metrics);
        att_put(out, "}");
    }
    att_put(out, "]");
}

static void put_interval(att_writer *out, const char *key, att_interval interval)
{
    const double bounds[] = { interval.low, interval.high };
    att_putf(out, "\"%s\":", key);
    att_put_json_numbers(out, bounds, 2);
}

static void put_intervals(att_writer *out, const att_tagger_eval *eval)
{
    att_put(out, ",\"intervals\":{");
    if (eval->has_spans) {
        put_interval(out, "f1", eval->f1_interval);
        att_put(out, ",");
    }
    put_interval(out, "token_accuracy", eval->token_accuracy_interval);
    att_put(out, ",");
    put_interval(out, "sentence_accuracy", eval->sentence_accuracy_interval);
    att_put(out, "}");
}

att_status att_tagger_eval_json(att_string *out, const att_tagger_eval *eval, att_error *err)
{
    att_writer writer = att_writer_on(out);
    att_put(&writer, "{\"sentences\":");
    att_put_integer(&writer, eval->sentences);
    put_integer(&writer, "tokens", eval->tokens);
    if (eval->unknown_labels > 0)
        put_integer(&writer, "unknown_labels", eval->unknown_labels);
    if (eval->has_spans)
        put_metrics(&writer, &eval->spans);
    put_number(&writer, "token_accuracy", eval->token_accuracy);
    put_number(&writer, "sentence_accuracy", eval->sentence_accuracy);
    put_number(&writer, "loss", eval->loss);
    if (eval->has_spans)
        put_types(&writer, eval);
    if (!isnan(eval->token_accuracy_interval.low))
        put_intervals(&writer, eval);
    att_put(&writer, "}\n");
    return att_writer_finish(&writer, err);
}
