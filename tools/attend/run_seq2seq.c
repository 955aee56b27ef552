/* attend run, on pairs: a model answers lines (lines.h says when). */
#include "run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lines.h"
#include "output.h"
#include "prefixes.h"

typedef struct runner {
    const run_settings *set;
    const decoding *models;
    prefixes prefixes;
    size_t lines_done; /* lines */
} runner;

/* The text of an answer, with what was asked for before and after it. */
static att_status write_text(att_string *out, const att_output *answer, const run_settings *set,
                             att_error *err)
{
    char score[64] = "";
    if (set->score)
        snprintf(score, sizeof score, "%.4f\t", answer->score);
    if (string_join(out, (string_piece[]){ { score, strlen(score) },
                                           { answer->text, strlen(answer->text) },
                                           { "\t", set->alignments ? 1 : 0 },
                                           { 0 } }) != ATT_OK)
        return error_memory(err);
    att_status status = set->alignments ? att_output_alignment(out, answer, err) : ATT_OK;
    if (status != ATT_OK)
        return status;
    return att_string_append(out, "\n", 1) == ATT_OK ? ATT_OK : error_memory(err);
}

/* All answers to a line, the best first, a line each. */
static att_status write_n_best(att_string *out, const att_output *answer, size_t number,
                               const run_settings *set, att_error *err)
{
    for (int64_t i = 0; i <= answer->alternative_count; i++) {
        const att_output *one = i == 0 ? answer : answer->alternatives[i - 1];
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

att_status run_write_output(att_string *out, const att_output *answer, size_t number,
                            const run_settings *set, att_error *err)
{
    if (set->json)
        return att_output_json(out, answer, err);
    if (set->n_best > 0)
        return write_n_best(out, answer, number, set, err);
    return write_text(out, answer, set, err);
}

/* Says which lines were cut. */
static void warn_truncated(const att_outputs *answers, size_t before)
{
    for (size_t i = 0; i < att_outputs_count(answers); i++) {
        const att_output *answer = att_outputs_get(answers, i);
        if (answer->truncated_input_tokens > 0)
            fprintf(stderr, "<stdin>:%zu: cut after %" PRId64 " of %" PRId64 " tokens\n",
                    before + i + 1, answer->source_count,
                    answer->source_count + answer->truncated_input_tokens);
    }
}

att_generate_options run_generate_options(const run_settings *set, const decoding *models,
                                          size_t before, const char *const *begin)
{
    att_generate_options how = { .decoding = models->options,
                                 .attention = set->attention || set->heads || set->alignments,
                                 .all_heads = set->heads,
                                 .layer = set->layer,
                                 .head = set->head,
                                 .replace_unknown = set->replace_unknown,
                                 .prefixes = begin,
                                 .max_input_length = set->max_input_length,
                                 .input_overflow = (att_input_overflow)set->input_overflow,
                                 .batch_size = set->batch_size,
                                 .first_line = before };
    how.decoding.n_best = set->n_best;
    return how;
}

static att_status generate_lines(void *context, const char *const *lines, size_t count,
                                 size_t before, att_error *err)
{
    runner *r = context;
    att_outputs *answers = NULL;
    att_string out = { 0 };
    const char **begin = calloc(count, sizeof *begin);
    if (!begin)
        return error_memory(err);
    att_status status = prefixes_get(begin, &r->prefixes, before, count, err);
    const att_generate_options how =
        run_generate_options(r->set, r->models, before, prefixes_any(&r->prefixes) ? begin : NULL);
    if (status == ATT_OK)
        status = att_model_generate(&answers, r->models->model, lines, count, &how, err);
    for (size_t i = 0; i < count && status == ATT_OK; i++)
        status = run_write_output(&out, att_outputs_get(answers, i), before + i + 1, r->set, err);
    if (status == ATT_OK) {
        warn_truncated(answers, before);
        status = output_stdout(out.data, out.length, err);
        r->lines_done = before + count;
    }
    att_outputs_free(answers);
    att_string_free(&out);
    free(begin);
    return status;
}

att_status run_seq2seq(const run_settings *set, const decoding *models, att_error *err)
{
    runner r = { .set = set, .models = models };
    att_status status = prefixes_open(&r.prefixes, set->prefix, set->prefixes, err);
    if (status == ATT_OK)
        status = lines_for_each("-", generate_lines, &r, err);
    if (status == ATT_OK && !output_reader_gone())
        status = prefixes_check(&r.prefixes, r.lines_done, err);
    prefixes_close(&r.prefixes);
    return status;
}
