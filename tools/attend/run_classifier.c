/* attend run, on sentences: a label for each. */
#include "run.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lines.h"
#include "output.h"

typedef struct classifier_run {
    const run_settings *set;
    const decoding *models;
} classifier_run;

/* The label, after its log-probability where that was asked for. */
static att_status write_label(att_string *out, const att_prediction *verdict, bool score,
                              att_error *err)
{
    char before[32] = "";
    if (score && verdict->label >= 0)
        snprintf(before, sizeof before, "%.4f\t", log(verdict->probabilities[verdict->label]));
    if (string_join(out, (string_piece[]){ { before, strlen(before) },
                                           { verdict->label_text, strlen(verdict->label_text) },
                                           { "\n", 1 },
                                           { 0 } }) != ATT_OK)
        return error_memory(err);
    return ATT_OK;
}

static att_status write_prediction(att_string *out, const att_prediction *verdict,
                                   const classifier_run *s, att_error *err)
{
    if (s->set->json)
        return att_prediction_json(out, verdict, s->models->model, err);
    return write_label(out, verdict, s->set->score, err);
}

/* Says which lines were cut. */
static void warn_truncated(const att_predictions *verdicts, size_t before)
{
    for (size_t i = 0; i < att_predictions_count(verdicts); i++) {
        const att_prediction *verdict = att_predictions_get(verdicts, i);
        if (verdict->truncated_input_tokens > 0)
            fprintf(stderr, "<stdin>:%zu: cut after %" PRId64 " of %" PRId64 " tokens\n",
                    before + i + 1, verdict->token_count,
                    verdict->token_count + verdict->truncated_input_tokens);
    }
}

static att_status classify_lines(void *context, const char *const *lines, size_t count,
                                 size_t before, att_error *err)
{
    const classifier_run *s = context;
    const run_settings *set = s->set;
    const att_classify_options how = { .attention = set->attention || set->heads,
                                       .max_input_length = set->max_input_length,
                                       .input_overflow = (att_input_overflow)set->input_overflow,
                                       .batch_size = set->batch_size,
                                       .ensemble = s->models->options.ensemble,
                                       .ensemble_count = s->models->options.ensemble_count };
    att_predictions *verdicts = NULL;
    att_string out = { 0 };
    att_status status = att_model_classify(&verdicts, s->models->model, lines, count, &how, err);
    for (size_t i = 0; i < count && status == ATT_OK; i++)
        status = write_prediction(&out, att_predictions_get(verdicts, i), s, err);
    if (status == ATT_OK) {
        warn_truncated(verdicts, before);
        status = output_stdout(out.data, out.length, err);
    }
    att_predictions_free(verdicts);
    att_string_free(&out);
    return status;
}

att_status run_classifier(const run_settings *set, const decoding *models, att_error *err)
{
    classifier_run s = { set, models };
    return lines_for_each("-", classify_lines, &s, err);
}
