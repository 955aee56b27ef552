/* attend run with a seq2seq model: one output per input line (lines.h says when it is written). */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lines.h"
#include "output.h"
#include "prefixes.h"

typedef struct runner {
    const run_settings *set;
    run_inputs inputs;
    const decoding *models;
    prefixes prefixes;
    size_t lines_done;
    size_t cut;                            /* outputs that reached the maximum length */
    size_t unknown_tags, unknown_tag_line; /* lines with unknown tags, and the first, from 1 */
    bool reads_tabs;                       /* a tab is part of the input: the model has no tags */
} runner;

/* The text of an output; --score writes before it, --alignments after it. */
static att_status write_text(att_string *out, const att_output *output, const run_settings *set,
                             att_error *err)
{
    char score[64] = "";
    if (set->score)
        snprintf(score, sizeof score, "%.4f\t", output->score);
    if (string_join(out, (string_piece[]){ { score, strlen(score) },
                                           { output->text, strlen(output->text) },
                                           { "\t", set->alignments ? 1 : 0 },
                                           { 0 } }) != ATT_OK)
        return error_memory(err);
    att_status status = set->alignments ? att_output_alignment(out, output, err) : ATT_OK;
    if (status != ATT_OK)
        return status;
    return att_string_append(out, "\n", 1) == ATT_OK ? ATT_OK : error_memory(err);
}

/* The n-best list of an input line, one hypothesis per line, the best first. */
static att_status write_n_best(att_string *out, const att_output *output, size_t number,
                               const run_settings *set, att_error *err)
{
    for (int64_t i = 0; i <= output->alternative_count; i++) {
        const att_output *one = i == 0 ? output : output->alternatives[i - 1];
        char start[96];
        int length = snprintf(start, sizeof start, "%zu\t%.4f\t", number, one->normalized_score);
        if (att_string_append(out, start, (size_t)length) != ATT_OK)
            return error_memory(err);
        att_status status = write_text(out, one, set, err);
        if (status != ATT_OK)
            return status;
    }
    return ATT_OK;
}

att_status run_write_output(att_string *out, const att_output *output, size_t number,
                            const run_settings *set, att_error *err)
{
    if (set->json)
        return att_output_json(out, output, err);
    if (set->n_best > 0)
        return write_n_best(out, output, number, set, err);
    return write_text(out, output, set, err);
}

static void warn_truncated(const run_inputs *inputs, const att_outputs *outputs, size_t before)
{
    for (size_t i = 0; i < att_outputs_count(outputs); i++) {
        const att_output *output = att_outputs_get(outputs, i);
        lines_warn_truncated(inputs->path, run_inputs_line(inputs, before + i),
                             output->source_count, output->truncated_input_tokens);
    }
}

att_generate_options run_generate_options(att_decoding_options *options, const run_settings *set,
                                          const decoding *models, size_t first_line,
                                          const char *const *forced)
{
    *options = models->options;
    options->n_best = set->n_best;
    return (att_generate_options){ .size = sizeof(att_generate_options),
                                   .decoding = options,
                                   .attention = set->attention || set->heads || set->alignments,
                                   .all_heads = set->heads,
                                   .layer = set->layer,
                                   .head = set->head,
                                   .replace_unknown = set->replace_unknown,
                                   .prefixes = forced,
                                   .max_input_length = set->max_input_length,
                                   .input_overflow = (att_input_overflow)set->input_overflow,
                                   .batch_size = set->batch_size,
                                   .first_line = first_line };
}

static void count_notes(runner *r, const att_output *output, size_t line)
{
    r->cut += output->truncated;
    if (output->unknown_tags > 0 && r->unknown_tags++ == 0)
        r->unknown_tag_line = line;
}

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

static void print_notes(const runner *r)
{
    const decoding_options *options = &r->set->decoding;
    if (r->unknown_tags > 0)
        fprintf(
            stderr,
            "note: %zu of %zu line%s %s tags that the training data lack, read as unknown tokens; "
            "the first is line %zu\n",
            r->unknown_tags, r->lines_done, plural(r->lines_done),
            r->unknown_tags == 1 ? "has" : "have", r->unknown_tag_line);
    if (r->cut > 0 && options->max_output_length == 0 && options->max_length_ratio == 0)
        fprintf(stderr,
                "note: %zu of %zu output%s %s cut at the maximum length; --max-output-length sets "
                "another\n",
                r->cut, r->lines_done, plural(r->lines_done), r->cut == 1 ? "was" : "were");
}

static att_status generate_lines(void *context, const char *const *lines, size_t count,
                                 size_t before, att_error *err)
{
    runner *r = context;
    att_outputs *outputs = NULL;
    att_string out = { 0 };
    const char **begin = calloc(count, sizeof *begin);
    if (!begin)
        return error_memory(err);
    att_status status = prefixes_get(begin, &r->prefixes, before, count, err);
    att_decoding_options how;
    const att_generate_options options = run_generate_options(
        &how, r->set, r->models, before, prefixes_any(&r->prefixes) ? begin : NULL);
    if (status == ATT_OK)
        status = att_model_generate(&outputs, r->models->model, lines, count, &options, err);
    for (size_t i = 0; i < count && status == ATT_OK; i++)
        status = run_write_output(&out, att_outputs_get(outputs, i), before + i + 1, r->set, err);
    if (status == ATT_OK) {
        if (r->reads_tabs && lines_note_tab(r->inputs.path, lines, count, before))
            r->reads_tabs = false; /* one note is enough */
        warn_truncated(&r->inputs, outputs, before);
        for (size_t i = 0; i < count; i++)
            count_notes(r, att_outputs_get(outputs, i), run_inputs_line(&r->inputs, before + i));
        status = output_stdout(out.data, out.length, err);
        r->lines_done = before + count;
    }
    att_outputs_free(outputs);
    att_string_free(&out);
    free(begin);
    return status;
}

att_status run_seq2seq(const void *settings, const decoding *models, const char *input,
                       att_error *err)
{
    (void)input;
    const run_settings *set = settings;
    runner r = { .set = set, .models = models, .reads_tabs = !att_model_has_tags(models->model) };
    att_status status = prefixes_open(&r.prefixes, set->prefix, set->prefixes, err);
    if (status == ATT_OK)
        status = run_inputs_open(&r.inputs, set, models->model, err);
    if (status == ATT_OK)
        status = run_inputs_for_each(&r.inputs, generate_lines, &r, err);
    if (status == ATT_OK && !output_reader_gone())
        status = prefixes_check(&r.prefixes, r.lines_done, err);
    if (status == ATT_OK)
        print_notes(&r);
    run_inputs_close(&r.inputs);
    prefixes_close(&r.prefixes);
    return status;
}
