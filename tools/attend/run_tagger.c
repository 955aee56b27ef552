/* attend run with a tagger: one line of labels per input line. */
#include "run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lines.h"
#include "output.h"
#include "terminal.h"

typedef struct tagger_run {
    const run_settings *set;
    const decoding *models;
    run_inputs inputs;
    bool noted_tab;
    /* whether the lines look like a CoNLL file: all of one number of columns but blank ones */
    int64_t columns, token_lines, blank_lines;
    bool differ;
} tagger_run;

/* The sum of the log-probabilities of the labels, for --score. */
static double score_of(const att_tagging *tagging)
{
    double sum = 0;
    for (int64_t i = 0; i < tagging->token_count; i++)
        sum += log(tagging->probabilities[i * tagging->label_count + tagging->label_indices[i]]);
    return sum;
}

static att_status write_labels(att_string *out, const att_tagging *tagging, bool score,
                               att_error *err)
{
    char before[32] = "";
    if (score && tagging->token_count > 0)
        snprintf(before, sizeof before, "%.4f\t", score_of(tagging));
    att_status status = att_string_append(out, before, strlen(before));
    for (int64_t i = 0; i < tagging->token_count && status == ATT_OK; i++)
        status =
            string_join(out, (string_piece[]){ { " ", i > 0 ? 1 : 0 },
                                               { tagging->labels[i], strlen(tagging->labels[i]) },
                                               { 0 } });
    if (status == ATT_OK)
        status = att_string_append(out, "\n", 1);
    return status == ATT_OK ? ATT_OK : error_memory(err);
}

static att_status write_tagging(att_string *out, const att_tagging *tagging, const tagger_run *s,
                                att_error *err)
{
    if (s->set->json)
        return att_tagging_json(out, tagging, err);
    return write_labels(out, tagging, s->set->score, err);
}

static void warn_truncated(const run_inputs *inputs, const att_taggings *taggings, size_t before)
{
    for (size_t i = 0; i < att_taggings_count(taggings); i++) {
        const att_tagging *tagging = att_taggings_get(taggings, i);
        lines_warn_truncated(inputs->path, run_inputs_line(inputs, before + i),
                             tagging->token_count, tagging->truncated_input_tokens);
    }
}

static att_tag_options tag_options(const tagger_run *s)
{
    const run_settings *set = s->set;
    return (att_tag_options){ .size = sizeof(att_tag_options),
                              .max_input_length = set->max_input_length,
                              .input_overflow = (att_input_overflow)set->input_overflow,
                              .batch_size = set->batch_size,
                              .ensemble = s->models->options.ensemble,
                              .ensemble_count = s->models->options.ensemble_count };
}

static void look_at(tagger_run *s, const att_taggings *taggings)
{
    for (size_t i = 0; i < att_taggings_count(taggings); i++) {
        const att_tagging *tagging = att_taggings_get(taggings, i);
        int64_t tokens = tagging->token_count + tagging->truncated_input_tokens;
        if (tokens == 0) {
            s->blank_lines += s->token_lines > 0;
            continue;
        }
        s->differ = s->differ || (s->token_lines > 0 && tokens != s->columns);
        s->columns = tokens;
        s->token_lines++;
    }
}

static void note_conll(const tagger_run *s)
{
    enum { MIN_LINES = 4 }; /* sentences of one length are rare, and more so with blank lines */
    if (!s->differ && s->token_lines >= MIN_LINES && s->blank_lines > 0)
        terminal_printf(stderr,
                        "note: %s: looks like a CoNLL file, but each line was read as a sentence; "
                        "--format conll reads its tokens\n",
                        lines_name(run_input_path(s->set)));
}

static att_status tag_lines(void *context, const char *const *lines, size_t count, size_t before,
                            att_error *err)
{
    tagger_run *s = context;
    const att_tag_options options = tag_options(s);
    att_taggings *taggings = NULL;
    att_string out = { 0 };
    att_status status = att_model_tag(&taggings, s->models->model, lines, count, &options, err);
    for (size_t i = 0; i < count && status == ATT_OK; i++)
        status = write_tagging(&out, att_taggings_get(taggings, i), s, err);
    if (status == ATT_OK) {
        s->noted_tab = s->noted_tab || lines_note_tab(s->inputs.path, lines, count, before);
        warn_truncated(&s->inputs, taggings, before);
        look_at(s, taggings);
        status = output_stdout(out.data, out.length, err);
    }
    att_taggings_free(taggings);
    att_string_free(&out);
    return status;
}

static att_status tag_conll(const tagger_run *s, att_error *err)
{
    att_string out = { 0 };
    const att_tag_options options = tag_options(s);
    att_status status = att_model_tag_conll(&out, s->models->model, run_input_path(s->set),
                                            s->set->column, &options, err);
    if (status == ATT_OK)
        status = output_stdout(out.data, out.length, err);
    att_string_free(&out);
    return status;
}

att_status run_tagger(const void *settings, const decoding *models, const char *input,
                      att_error *err)
{
    (void)input;
    tagger_run run = { .set = settings, .models = models };
    if (run.set->format == RUN_FORMAT_CONLL)
        return tag_conll(&run, err);
    att_status status = run_inputs_open(&run.inputs, run.set, models->model, err);
    if (status == ATT_OK)
        status = run_inputs_for_each(&run.inputs, tag_lines, &run, err);
    if (status == ATT_OK && !run.inputs.table)
        note_conll(&run);
    run_inputs_close(&run.inputs);
    return status;
}
