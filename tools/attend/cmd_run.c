/* attend run: a model answers lines (lines.h says when). */
#include "program.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoding.h"
#include "lines.h"
#include "output.h"

typedef struct settings {
    decoding_options decoding;
    bool json;
    bool attention;
    bool heads;
    bool score;
    bool alignments;
    bool copy_unknown;
    long n_best;
    long layer;
    long head;
    long longest;
    int too_long; /* att_too_long */
    long batch;
    const char *prefix;
} settings;

static const char *const too_long_words[] = { "refuse", "cut", NULL };

const char run_details[] =
    "Reads lines from standard input and writes the model's answer to each, in order, a line "
    "each.\n"
    "An empty line is answered by an empty line. Answers do not depend on what else is asked, but\n"
    "for the number of the line where they are drawn (--sample).\n"
    "\n"
    "A line that is not UTF-8, or too long, ends the run with exit code 2; those before it have\n"
    "been answered.\n";

#define ROW(NAME, KIND, MEMBER, TAKES, SAYS, ...)                                                  \
    {                                                                                              \
        .name = NAME, .kind = OPTION_##KIND, .offset = offsetof(settings, MEMBER), .takes = TAKES, \
        .says = SAYS, ##__VA_ARGS__                                                                \
    }

const option run_options[] = {
    ROW("json", FLAG, json, NULL, "an object a line: text, scores, tokens of both sides"),
    ROW("attention", FLAG, attention, NULL, "with --json: the attention of each token too"),
    ROW("heads", FLAG, heads, NULL, "with --json: the attention of every layer and head too"),
    ROW("score", FLAG, score, NULL, "before each answer its log-probability and a tab"),
    ROW("alignments", FLAG, alignments, NULL,
        "after each answer a tab and i-j for source token i and answer token j, from 0"),
    ROW("n-best", NUMBER, n_best, "N",
        "the N best answers to each line, each after the line's number and its rank", .least = 1,
        .most = 1000),
    ROW("nbest", NUMBER, n_best, "N", NULL, .least = 1, .most = 1000),
    ROW("copy-unknown", FLAG, copy_unknown, NULL,
        "put the source token looked at most in the place of an unknown one"),
    ROW("layer", NUMBER, layer, "N", "whose attention is meant by all of these (default: the last)",
        .least = 1, .most = 1000),
    ROW("head", NUMBER, head, "N", "likewise (default: the mean of the layer's heads)", .least = 1,
        .most = 1000),
    ROW("prefix", TEXT, prefix, "TEXT", "what every answer begins with"),
    DECODING_OPTIONS(settings),
    ROW("longest", NUMBER, longest, "N",
        "tokens of a line at most (default: as many as the model can take)", .least = 1,
        .most = 1e9),
    ROW("too-long", WORD, too_long, "WHAT", "refuse a longer line (default), or cut it and say so",
        .words = too_long_words),
    ROW("batch", NUMBER, batch, "N", "lines at a time (default: as fits); answers stay the same",
        .least = 1, .most = 1e6),
    { 0 },
};

typedef struct runner {
    const settings *set;
    decoding models;
} runner;

/* The text of an answer, with what was asked for before and after it. */
static att_status write_text(att_text *out, const att_answer *answer, const settings *set,
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
                             const settings *set, att_error *err)
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

static att_status write_answer(att_text *out, const att_answer *answer, size_t number,
                               const settings *set, att_error *err)
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
            fprintf(stderr, "standard input:%zu: cut after %" PRId64 " of %" PRId64 " tokens\n",
                    before + i + 1, answer->source_count, answer->source_count + answer->left_over);
    }
}

static att_answer_how how_of(const runner *r, size_t before, const char *const *prefixes)
{
    const settings *set = r->set;
    att_answer_how how = { .decoding = r->models.how,
                           .attention = set->attention || set->heads || set->alignments,
                           .every_head = set->heads,
                           .layer = set->layer,
                           .head = set->head,
                           .copy_unknown = set->copy_unknown,
                           .prefixes = set->prefix ? prefixes : NULL,
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
    const char **prefixes = calloc(count, sizeof *prefixes);
    if (!prefixes)
        return error_memory(err);
    for (size_t i = 0; i < count; i++)
        prefixes[i] = r->set->prefix;
    const att_answer_how how = how_of(r, before, prefixes);
    att_status status = att_model_answer(&answers, r->models.model, lines, count, &how, err);
    for (size_t i = 0; i < count && status == ATT_OK; i++)
        status = write_answer(&out, att_answers_get(answers, i), before + i + 1, r->set, err);
    if (status == ATT_OK) {
        tell_cut(answers, before);
        status = output_stdout(out.data, out.length, err);
    }
    att_answers_free(answers);
    att_text_free(&out);
    free(prefixes);
    return status;
}

static exit_code run_model(const settings *set, const char *path)
{
    att_error err = { 0 };
    runner r = { .set = set };
    att_status status = decoding_open(&r.models, &set->decoding, path, &err);
    if (status == ATT_OK)
        status = lines_each("-", answer_lines, &r, &err);
    decoding_close(&r.models);
    return status == ATT_OK ? EXIT_DONE : report(status, &err);
}

/* What contradicts what; NULL: nothing. */
static const char *contradiction(const settings *set)
{
    if ((set->attention || set->heads) && !set->json)
        return set->heads ? "--heads is for --json" : "--attention is for --json";
    if (set->score && set->json)
        return "--json has the score already";
    if (set->alignments && set->json)
        return "--json has the attention of every token: --alignments is for text";
    return decoding_bad(&set->decoding);
}

exit_code run_run(const struct verb *verb, int count, char **args)
{
    settings set = { 0 };
    int operands = 0;
    parse_result parsed = options_parse(verb, count, args, &set, &operands);
    if (parsed != PARSE_OK)
        return parsed == PARSE_HELP ? help_verb(verb) : EXIT_BAD_INPUT;
    if (operands != 1)
        return report_usage(verb, operands < 1 ? "expects a model" : "expects one model");
    const char *wrong = contradiction(&set);
    if (wrong)
        return report_usage(verb, "%s", wrong);
    return run_model(&set, args[0]);
}
