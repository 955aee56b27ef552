/* attend run, on sentences: a label for each. */
#include "run.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lines.h"
#include "output.h"

typedef struct sorter {
    const run_settings *set;
    const decoding *models;
} sorter;

/* The label, after its log-probability where that was asked for. */
static att_status write_label(att_text *out, const att_verdict *verdict, bool score, att_error *err)
{
    char before[32] = "";
    if (score && verdict->label >= 0)
        snprintf(before, sizeof before, "%.4f\t", log(verdict->probabilities[verdict->label]));
    if (text_join(out, (text_piece[]){ { before, strlen(before) },
                                       { verdict->text, strlen(verdict->text) },
                                       { "\n", 1 },
                                       { 0 } }) != ATT_OK)
        return error_memory(err);
    return ATT_OK;
}

static att_status write_verdict(att_text *out, const att_verdict *verdict, const sorter *s,
                                att_error *err)
{
    if (s->set->json)
        return att_verdict_json(out, verdict, s->models->model, err);
    return write_label(out, verdict, s->set->score, err);
}

/* Says which lines were cut. */
static void tell_cut(const att_verdicts *verdicts, size_t before)
{
    for (size_t i = 0; i < att_verdicts_count(verdicts); i++) {
        const att_verdict *verdict = att_verdicts_get(verdicts, i);
        if (verdict->left_over > 0)
            fprintf(stderr, "<stdin>:%zu: cut after %" PRId64 " of %" PRId64 " tokens\n",
                    before + i + 1, verdict->token_count,
                    verdict->token_count + verdict->left_over);
    }
}

static att_status sort_lines(void *context, const char *const *lines, size_t count, size_t before,
                             att_error *err)
{
    const sorter *s = context;
    const run_settings *set = s->set;
    const att_sorting how = { .attention = set->attention || set->heads,
                              .longest = set->longest,
                              .too_long = (att_too_long)set->too_long,
                              .batch = set->batch,
                              .with = s->models->how.with,
                              .with_count = s->models->how.with_count };
    att_verdicts *verdicts = NULL;
    att_text out = { 0 };
    att_status status = att_model_sort(&verdicts, s->models->model, lines, count, &how, err);
    for (size_t i = 0; i < count && status == ATT_OK; i++)
        status = write_verdict(&out, att_verdicts_get(verdicts, i), s, err);
    if (status == ATT_OK) {
        tell_cut(verdicts, before);
        status = output_stdout(out.data, out.length, err);
    }
    att_verdicts_free(verdicts);
    att_text_free(&out);
    return status;
}

att_status run_labels(const run_settings *set, const decoding *models, att_error *err)
{
    sorter s = { set, models };
    return lines_each("-", sort_lines, &s, err);
}
