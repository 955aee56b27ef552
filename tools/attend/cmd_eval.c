/* attend eval: a model measured on pairs. */
#include "program.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>

#include "decoding.h"
#include "output.h"

typedef struct settings {
    decoding_options decoding;
    bool json;
} settings;

const char eval_details[] =
    "Measures MODEL on DATA, a file of lines source<TAB>target ('-': standard input). Without "
    "DATA,\n"
    "on what it was validated on while it was trained: a file, pairs held out, or strings made "
    "up.\n"
    "\n"
    "Exact match, and token and word error rate (edits per token of the reference), are of the\n"
    "model's own answers. Token accuracy and perplexity are of the next token where the model is\n"
    "told the reference so far.\n";

const option eval_options[] = {
    { .name = "json",
      .kind = OPTION_FLAG,
      .offset = offsetof(settings, json),
      .says = "write an object instead of lines" },
    DECODING_OPTIONS(settings),
    { 0 },
};

/* A figure: its name for people, its key for programs, and whether it is a part of a whole. */
typedef struct figure {
    const char *name, *key;
    double value;
    bool percent;
} figure;

static void print_text(const att_scores *scores, const figure *figures)
{
    printf("%-17s %" PRId64 "\n", "pairs", scores->lines);
    printf("%-17s %" PRId64 "\n", "target tokens", scores->tokens);
    for (const figure *row = figures; row->name; row++) {
        if (isnan(row->value))
            continue;
        if (row->percent)
            printf("%-17s %.2f %%\n", row->name, 100 * row->value);
        else
            printf("%-17s %.4f\n", row->name, row->value);
    }
}

static void print_json(const att_scores *scores, const figure *figures)
{
    printf("{\"pairs\":%" PRId64 ",\"tokens\":%" PRId64, scores->lines, scores->tokens);
    for (const figure *row = figures; row->name; row++) {
        if (isfinite(row->value))
            printf(",\"%s\":%.17g", row->key, row->value);
        else
            printf(",\"%s\":null", row->key);
    }
    printf("}\n");
}

static att_status print_scores(const att_scores *scores, bool json, att_error *err)
{
    const figure figures[] = {
        { "exact match", "exact", scores->exact, true },
        { "token accuracy", "token_accuracy", scores->token_accuracy, true },
        { "token error rate", "token_error_rate", scores->token_error_rate, true },
        { "word error rate", "word_error_rate", scores->word_error_rate, true },
        { "perplexity", "perplexity", scores->perplexity, false },
        { 0 },
    };
    if (json)
        print_json(scores, figures);
    else
        print_text(scores, figures);
    return output_flush(err);
}

exit_code eval_run(const struct verb *verb, int count, char **args)
{
    settings set = { 0 };
    int operands = 0;
    parse_result parsed = options_parse(verb, count, args, &set, &operands);
    if (parsed != PARSE_OK)
        return parsed == PARSE_HELP ? help_verb(verb) : EXIT_BAD_INPUT;
    if (operands < 1 || operands > 2)
        return report_usage(verb, "expects a model, and a file of pairs or nothing");
    const char *wrong = decoding_bad(&set.decoding);
    if (wrong)
        return report_usage(verb, "%s", wrong);
    att_error err = { 0 };
    decoding models;
    att_scores scores;
    att_text notes = { 0 };
    att_status status = decoding_open(&models, &set.decoding, args[0], &err);
    if (status == ATT_OK)
        status = att_model_evaluate(&scores, models.model, operands > 1 ? args[1] : NULL,
                                    &models.how, &notes, &err);
    if (status == ATT_OK && notes.length > 0)
        fputs(notes.data, stderr);
    if (status == ATT_OK)
        status = print_scores(&scores, set.json, &err);
    att_text_free(&notes);
    decoding_close(&models);
    return status == ATT_OK ? EXIT_DONE : report(status, &err);
}
