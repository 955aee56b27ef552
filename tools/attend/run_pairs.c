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
    prefixes given;
    size_t answered; /* lines */
} runner;

/* The text of an answer, with what was asked for before and after it. */
static att_status write_text(att_text *out, const att_answer *answer, const run_settings *set,
                             att_error *err)
{
    char score[64] = "";
    if (set->score)
        snprintf(score, sizeof score, "%.4f\t", answer->score);
    if (text_join(out, (text_piece[]){ { score, strlen(score) },
                                       { answer->text, strlen(answer->text) },
                                       { "\t", set->alignments ? 1 : 0 },
                                       { 0 } }) != ATT_OK)
        return error_memory(err);
    att_status status = set->alignments ? att_answer_alignment(out, answer, err) : ATT_OK;
    if (status != ATT_OK)
        return status;
    return att_text_add(out, "\n", 1) == ATT_OK ? ATT_OK : error_memory(err);
}

/* All answers to a line, the best first, a line each. */
static att_status write_best(att_text *out, const att_answer *answer, size_t number,
                             const run_settings *set, att_error *err)
{
    for (int64_t i = 0; i <= answer->other_count; i++) {
        const att_answer *one = i == 0 ? answer : &answer->others[i - 1];
        char start[96];
        int length = snprintf(start, sizeof start, "%zu\t%.4f\t", number, one->rank);
        if (att_text_add(out, start, (size_t)length) != ATT_OK)
            return error_memory(err);
        att_status status = write_text(out, one, set, err);
        if (status != ATT_OK)
            return status;
    }
    return ATT_OK;
}

att_status run_write(att_text *out, const att_answer *answer, size_t number,
                     const run_settings *set, att_error *err)
{
    if (set->json)
        return att_answer_json(out, answer, err);
    if (set->n_best > 0)
        return write_best(out, answer, number, set, err);
    return write_text(out, answer, set, err);
}

/* Says which lines were cut. */
static void tell_cut(const att_answers *answers, size_t before)
{
    for (size_t i = 0; i < att_answers_count(answers); i++) {
        const att_answer *answer = att_answers_get(answers, i);
        if (answer->left_over > 0)
            fprintf(stderr, "<stdin>:%zu: cut after %" PRId64 " of %" PRId64 " tokens\n",
                    before + i + 1, answer->source_count, answer->source_count + answer->left_over);
    }
}

att_answer_how run_how(const run_settings *set, const decoding *models, size_t before,
                       const char *const *begin)
{
    att_answer_how how = { .decoding = models->how,
                           .attention = set->attention || set->heads || set->alignments,
                           .every_head = set->heads,
                           .layer = set->layer,
                           .head = set->head,
                           .copy_unknown = set->copy_unknown,
                           .prefixes = begin,
                           .longest = set->longest,
                           .too_long = (att_too_long)set->too_long,
                           .batch = set->batch,
                           .first_line = before };
    how.decoding.best = set->n_best;
    return how;
}

static att_status answer_lines(void *context, const char *const *lines, size_t count, size_t before,
                               att_error *err)
{
    runner *r = context;
    att_answers *answers = NULL;
    att_text out = { 0 };
    const char **begin = calloc(count, sizeof *begin);
    if (!begin)
        return error_memory(err);
    att_status status = prefixes_get(begin, &r->given, before, count, err);
    const att_answer_how how =
        run_how(r->set, r->models, before, prefixes_any(&r->given) ? begin : NULL);
    if (status == ATT_OK)
        status = att_model_answer(&answers, r->models->model, lines, count, &how, err);
    for (size_t i = 0; i < count && status == ATT_OK; i++)
        status = run_write(&out, att_answers_get(answers, i), before + i + 1, r->set, err);
    if (status == ATT_OK) {
        tell_cut(answers, before);
        status = output_stdout(out.data, out.length, err);
        r->answered = before + count;
    }
    att_answers_free(answers);
    att_text_free(&out);
    free(begin);
    return status;
}

att_status run_pairs(const run_settings *set, const decoding *models, att_error *err)
{
    runner r = { .set = set, .models = models };
    att_status status = prefixes_open(&r.given, set->prefix, set->prefixes, err);
    if (status == ATT_OK)
        status = lines_each("-", answer_lines, &r, err);
    if (status == ATT_OK && !output_unread())
        status = prefixes_check(&r.given, r.answered, err);
    prefixes_close(&r.given);
    return status;
}
