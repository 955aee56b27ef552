/* attend prepare: encodes corpora as a token file, which attend train reads by windows. */
#include "prepare.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "output.h"
#include "signals.h"
#include "terminal.h"

const char prepare_details[] =
    "Encodes corpora for 'attend train TASK --train FILE', where FILE is the token file that "
    "--output names. Training reads it by windows, so that it may be larger than memory, and ends "
    "in "
    "the same bits as training from the text. TASK is pairs, translate, classify, tag or lm.\n"
    "\n"
    "CORPUS is a text file, gzip file, zstd file or pipe ('-': standard input), with one example "
    "per "
    "line as 'attend train' reads it, or the text of a language model. SOURCE,TARGET are two "
    "parallel "
    "files. CORPUS=WEIGHT says how often an epoch reads each example of a corpus: news.tsv=3 three "
    "times, crawl.tsv.gz=0.2 a fifth of it, another fifth in the next epoch.\n"
    "\n"
    "The corpora are read twice: to count tokens for the vocabularies, and to encode them. A pipe "
    "is "
    "kept in a temporary file beside the output meanwhile. Memory does not grow with the corpora, "
    "but "
    "validation pairs are loaded as a whole in training: for many pairs give --valid, or a small "
    "--valid-fraction. The output appears when it is complete; Ctrl-C leaves nothing.\n";

const char *const prepare_setting_keys[] = {
    "valid",     "valid-source",  "valid-target",  "valid-fraction", "format",     "columns",
    "data-seed", "source-tokens", "target-tokens", "tokens",         "bpe-merges", "joint",
    "lowercase", "min-count",     "max-length",    "copy",           "init-from",  NULL,
};

#define ROW(NAME, SHORT, TYPE, MEMBER, PLACEHOLDER, HELP, ...)                                     \
    OPTION_ROW(prepare_request, NAME, SHORT, TYPE, MEMBER, PLACEHOLDER, HELP, ##__VA_ARGS__)

const option prepare_options[] = {
    ROW("output", 'o', STRING, output, "FILE", "output token file; required"),
    ROW("count-limit", 0, INTEGER, count_limit, "N",
        "distinct words, or pieces of words for BPE, that are counted at once for a vocabulary; "
        "beyond it the rarest are dropped (default 1000000)",
        .min = 1000, .max = 1e9),
    ROW("quiet", 'q', FLAG, quiet, NULL, "print nothing"),
    { 0 },
};

/* ---- the corpora */

static bool exists(const char *path)
{
    return strcmp(path, "-") == 0 || access(path, F_OK) == 0;
}

/* Splits "SOURCE,TARGET=WEIGHT" in place; a file of that very name is taken as it is. */
static exit_code parse_corpus(att_corpus_input *out, char *operand, const struct verb *verb)
{
    *out = (att_corpus_input){ .path = operand, .weight = 1 };
    if (exists(operand))
        return EXIT_DONE;
    char *equals = strrchr(operand, '='), *end;
    if (equals) {
        errno = 0;
        out->weight = strtod(equals + 1, &end);
        if (end == equals + 1 || *end || errno || !(out->weight > 0 && out->weight <= 1e6))
            return report_usage(verb, "%s: expected a weight above 0 after '=', found '%s'",
                                operand, equals + 1);
        *equals = '\0';
    }
    char *comma = exists(operand) ? NULL : strchr(operand, ',');
    if (comma) {
        *comma = '\0';
        out->target = comma + 1;
    }
    return EXIT_DONE;
}

/* ---- the run */

typedef struct progress {
    output_progress_state shown;
    bool quiet;
} progress;

static bool on_callback(void *context, const att_progress *at)
{
    progress *state = context;
    if (!state->quiet)
        output_progress_callback(&state->shown, at);
    return !signals_caught();
}

static att_status print_report(const att_string *report, const char *path, att_error *err)
{
    if (report->length > 0)
        terminal_puts(stdout, report->data);
    terminal_printf(stdout, "%-12s%s\n", "written", path);
    return output_flush(err);
}

static exit_code prepare(const prepare_request *request, const att_corpus_input *inputs,
                         size_t count)
{
    att_error err = { 0 };
    att_string text = { 0 };
    progress state = { .quiet = request->quiet };
    att_prepare_options options = ATT_INIT(att_prepare_options);
    options.inputs = inputs;
    options.input_count = count;
    options.count_limit = request->count_limit;
    signals_catch();
    att_callback_set(on_callback, &state);
    att_status status = att_prepare(request->output, request->settings, &options, &text, &err);
    att_callback_set(NULL, NULL);
    output_progress_clear();
    if (status == ATT_CANCELLED) /* nothing is left to keep */
        signals_raise();
    if (status == ATT_OK && !request->quiet)
        status = print_report(&text, request->output, &err);
    att_string_free(&text);
    return status == ATT_OK ? EXIT_DONE : report(status, &err);
}

/* ---- the command line */

static const char *const tasks[] = { "pairs", "translate", "classify", "tag", "lm" };

const char *prepare_task(size_t index)
{
    return index < sizeof tasks / sizeof *tasks ? tasks[index] : NULL;
}

exit_code prepare_set_task(void *settings, const struct verb *verb, int count, char **operands)
{
    const prepare_request *request = settings;
    att_error err = { 0 };
    if (count == 0)
        return EXIT_DONE;
    att_status status = att_settings_set(request->settings, "task", operands[0], &err);
    if (status == ATT_OK)
        return EXIT_DONE;
    return status == ATT_BAD_INPUT ? report_usage(verb, "%s", err.message) : report(status, &err);
}

static exit_code run_request(prepare_request *request, const struct verb *verb, int count,
                             char **args)
{
    int operands = 0;
    exit_code code;
    if (!options_parse(&code, verb, count, args, request, &operands))
        return code;
    if (operands < 2)
        return report_usage(verb,
                            "expects a task (pairs, translate, classify, tag or lm) and at least "
                            "one corpus");
    if (!request->output)
        return report_usage(verb, "expects --output FILE");
    code = prepare_set_task(request, verb, operands, args);
    size_t corpora = (size_t)operands - 1;
    att_error err = { 0 };
    att_status status =
        output_check_paths((output_names){ &request->output, 1 }, (output_names){ NULL, 0 }, &err);
    if (status != ATT_OK)
        return report(status, &err);
    att_corpus_input *inputs = calloc(corpora, sizeof *inputs);
    if (!inputs)
        return report(error_memory(&err), &err);
    for (size_t i = 0; i < corpora && code == EXIT_DONE; i++)
        code = parse_corpus(&inputs[i], args[i + 1], verb);
    if (code == EXIT_DONE)
        code = prepare(request, inputs, corpora);
    free(inputs);
    return code;
}

exit_code prepare_run(const struct verb *verb, int count, char **args)
{
    prepare_request request = { 0 };
    att_error err = { 0 };
    att_status status = att_settings_new(&request.settings, NULL, &err);
    if (status != ATT_OK)
        return report(status, &err);
    exit_code code = run_request(&request, verb, count, args);
    att_settings_free(request.settings);
    return code;
}
