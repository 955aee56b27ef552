/* attend run: a model answers lines.
 *
 * What can be read at once is answered at once, several lines together, and written before more is
 * read: a file goes through in large batches, while whoever types, or asks through a pipe and
 * waits, gets each answer as soon as the line is there. */
#include "program.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "output.h"

typedef struct settings {
    bool json;
    bool attention;
    bool score;
    long most;
} settings;

const char run_details[] =
    "Reads lines from standard input and writes the model's answer to each, in order, a line "
    "each.\n"
    "An empty line is answered by an empty line. Answers do not depend on what else is asked.\n"
    "\n"
    "A line that is not UTF-8 ends the run with exit code 2; those before it have been answered.\n";

const option run_options[] = {
    { .name = "json",
      .kind = OPTION_FLAG,
      .offset = offsetof(settings, json),
      .says = "an object a line: text, score, tokens of both sides" },
    { .name = "attention",
      .kind = OPTION_FLAG,
      .offset = offsetof(settings, attention),
      .says = "with --json: the attention of each token too" },
    { .name = "score",
      .kind = OPTION_FLAG,
      .offset = offsetof(settings, score),
      .says = "before each answer its log-probability and a tab" },
    { .name = "most",
      .kind = OPTION_NUMBER,
      .offset = offsetof(settings, most),
      .takes = "N",
      .says = "tokens in an answer at most (default: 50 + 2 for each of the source)",
      .least = 1,
      .most = 1e6 },
    { 0 },
};

enum { CHUNK = 1 << 16 };

typedef struct runner {
    const settings *set;
    att_model *model;
    att_text input; /* read and not answered yet */
    bool ended;     /* there is no more to read */
    size_t answered;
} runner;

/* Reads what is there, waiting only where there is nothing. */
static att_status read_more(runner *r, att_error *err)
{
    char chunk[CHUNK];
    ssize_t got;
    do
        got = read(STDIN_FILENO, chunk, sizeof chunk);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return error_set(err, ATT_SYSTEM, "standard input", "cannot read: %s", strerror(errno));
    r->ended = got == 0;
    if (att_text_add(&r->input, chunk, (size_t)got) != ATT_OK)
        return error_memory(err);
    return ATT_OK;
}

/* Cuts the complete lines off the input (at its end, the last one too) and gives how many there
 * are; *used receives their bytes. The ends of lines become zero bytes. */
static att_status cut_lines(runner *r, const char ***lines, size_t *count, size_t *used,
                            att_error *err)
{
    size_t length = r->input.length, most = 1;
    for (size_t i = 0; i < length; i++)
        most += r->input.data[i] == '\n';
    *lines = calloc(most, sizeof **lines);
    if (!*lines)
        return error_memory(err);
    *count = *used = 0;
    while (*used < length) {
        char *start = r->input.data + *used;
        char *end = memchr(start, '\n', length - *used);
        if (!end && !r->ended)
            break;
        size_t size = end ? (size_t)(end - start) : length - *used;
        if (memchr(start, 0, size))
            return error_set(err, ATT_BAD_INPUT, "standard input",
                             "line %zu holds a zero byte: it is no text", r->answered + *count + 1);
        start[size] = 0; /* where the text's own terminator is, for a last line without an end */
        (*lines)[(*count)++] = start;
        *used += size + (end ? 1 : 0);
    }
    return ATT_OK;
}

static att_status write_answer(att_text *out, const att_answer *answer, const settings *set,
                               att_error *err)
{
    if (set->json)
        return att_answer_json(out, answer, err);
    char score[64] = "";
    if (set->score)
        snprintf(score, sizeof score, "%.4f\t", answer->score);
    if (text_join(out, (text_piece[]){ { score, strlen(score) },
                                       { answer->text, strlen(answer->text) },
                                       { "\n", 1 },
                                       { 0 } }) != ATT_OK)
        return error_memory(err);
    return ATT_OK;
}

static att_status answer(runner *r, const char *const *lines, size_t count, att_error *err)
{
    const att_answer_how how = { .decoding.most_tokens = r->set->most, .attention = r->set->attention };
    att_answers *answers = NULL;
    att_text out = { 0 };
    att_status status = att_model_answer(&answers, r->model, lines, count, &how, err);
    for (size_t i = 0; i < count && status == ATT_OK; i++)
        status = write_answer(&out, att_answers_get(answers, i), r->set, err);
    if (status == ATT_OK)
        status = output_stdout(out.data, out.length, err);
    att_answers_free(answers);
    att_text_free(&out);
    return status;
}

/* Answers lines. Where one of them is bad, those before it are answered all the same. */
static att_status answer_lines(runner *r, const char *const *lines, size_t count, att_error *err)
{
    att_status status = count > 0 ? answer(r, lines, count, err) : ATT_OK;
    if (status != ATT_BAD_INPUT || err->line < 1) {
        r->answered += count;
        return status;
    }
    att_error bad = *err;
    size_t before = (size_t)bad.line - 1;
    status = answer_lines(r, lines, before, err);
    if (status != ATT_OK)
        return status;
    snprintf(bad.place, sizeof bad.place, "standard input");
    bad.line = (int)(r->answered + 1);
    *err = bad;
    return ATT_BAD_INPUT;
}

/* Keeps what follows the lines just answered. */
static void drop_used(runner *r, size_t used)
{
    if (used == 0)
        return;
    memmove(r->input.data, r->input.data + used, r->input.length - used);
    r->input.length -= used;
}

static att_status run_on(runner *r, att_error *err)
{
    while (!r->ended) {
        const char **lines = NULL;
        size_t count = 0, used = 0;
        att_status status = read_more(r, err);
        if (status == ATT_OK)
            status = cut_lines(r, &lines, &count, &used, err);
        if (status == ATT_OK || count > 0) {
            att_error later = *err;
            att_status now = answer_lines(r, lines, count, err);
            if (now == ATT_OK)
                *err = later; /* a zero byte further on is told after what came before it */
            status = now == ATT_OK ? status : now;
        }
        free(lines);
        if (status != ATT_OK)
            return status;
        drop_used(r, used);
    }
    return ATT_OK;
}

static exit_code run_model(const settings *set, const char *path)
{
    att_error err = { 0 };
    runner r = { .set = set };
    att_status status = att_model_load(&r.model, path, &err);
    if (status == ATT_OK)
        status = run_on(&r, &err);
    att_text_free(&r.input);
    att_model_free(r.model);
    return status == ATT_OK ? EXIT_DONE : report(status, &err);
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
    if (set.attention && !set.json)
        return report_usage(verb, "--attention is for --json");
    if (set.score && set.json)
        return report_usage(verb, "--json has the score already");
    return run_model(&set, args[0]);
}
