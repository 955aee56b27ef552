/* attend run with a classifier: one predicted label per input line. */
#include "run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lines.h"
#include "output.h"

typedef struct classifier_run {
    const run_settings *set;
    const decoding *models;
    run_inputs inputs;
    bool noted_tab;
} classifier_run;

/* The label, after its log-probability with --score. */
static att_status write_label(att_string *out, const att_prediction *prediction, bool score,
                              att_error *err)
{
    char before[32] = "";
    if (score && prediction->label >= 0)
        snprintf(before, sizeof before, "%.4f\t",
                 log(prediction->probabilities[prediction->label]));
    if (string_join(out,
                    (string_piece[]){ { before, strlen(before) },
                                      { prediction->label_text, strlen(prediction->label_text) },
                                      { "\n", 1 },
                                      { 0 } }) != ATT_OK)
        return error_memory(err);
    return ATT_OK;
}

static att_status write_prediction(att_string *out, const att_prediction *prediction,
                                   const classifier_run *s, att_error *err)
{
    if (s->set->json)
        return att_prediction_json(out, prediction, s->models->model, err);
    return write_label(out, prediction, s->set->score, err);
}

static void warn_truncated(const run_inputs *inputs, const att_predictions *predictions,
                           size_t before)
{
    for (size_t i = 0; i < att_predictions_count(predictions); i++) {
        const att_prediction *prediction = att_predictions_get(predictions, i);
        lines_warn_truncated(inputs->path, run_inputs_line(inputs, before + i),
                             prediction->token_count, prediction->truncated_input_tokens);
    }
}

static att_status classify_lines(void *context, const char *const *lines, size_t count,
                                 size_t before, att_error *err)
{
    classifier_run *s = context;
    const run_settings *set = s->set;
    const att_classify_options options = { .size = sizeof(att_classify_options),
                                           .attention = set->attention || set->heads,
                                           .max_input_length = set->max_input_length,
                                           .input_overflow =
                                               (att_input_overflow)set->input_overflow,
                                           .batch_size = set->batch_size,
                                           .ensemble = s->models->options.ensemble,
                                           .ensemble_count = s->models->options.ensemble_count };
    att_predictions *predictions = NULL;
    att_string out = { 0 };
    att_status status =
        att_model_classify(&predictions, s->models->model, lines, count, &options, err);
    for (size_t i = 0; i < count && status == ATT_OK; i++)
        status = write_prediction(&out, att_predictions_get(predictions, i), s, err);
    if (status == ATT_OK) {
        s->noted_tab = s->noted_tab || lines_note_tab(s->inputs.path, lines, count, before);
        warn_truncated(&s->inputs, predictions, before);
        status = output_stdout(out.data, out.length, err);
    }
    att_predictions_free(predictions);
    att_string_free(&out);
    return status;
}

att_status run_classifier(const void *settings, const decoding *models, const char *input,
                          att_error *err)
{
    (void)input;
    classifier_run run = { .set = settings, .models = models };
    att_status status = run_inputs_open(&run.inputs, run.set, models->model, err);
    if (status == ATT_OK)
        status = run_inputs_for_each(&run.inputs, classify_lines, &run, err);
    run_inputs_close(&run.inputs);
    return status;
}
