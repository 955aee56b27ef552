/* attend eval: a model measured on pairs, or lines of text on references. */
#include "program.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoding.h"
#include "figures.h"

enum { MOST_METRICS = 16, RESAMPLES = 1000, RESAMPLE_SEED = 1 };

typedef struct settings {
    decoding_options decoding;
    bool json;
    const char *answers;   /* a file of them, instead of a model */
    const char *reference; /* for it */
    const char *metrics;   /* "bleu,chrf" */
    int tokenizer;
    bool lower;
    long resamples;
} settings;

const char eval_details[] =
    "Measures MODEL on DATA, a file of lines source<TAB>target ('-': standard input). Without "
    "DATA,\n"
    "on what it was validated on while it was trained: a file, pairs held out, or strings made "
    "up.\n"
    "\n"
    "Exact match, and token and word error rate (edits per token of the reference), are of the\n"
    "model's own answers. Token accuracy and perplexity are of the next token where the model is\n"
    "told the reference so far. Where answers are words or subwords, BLEU and chrF follow.\n"
    "\n"
    "With --hyp, scores the lines of a file against those of one or more references, line by "
    "line.\n"
    "\n"
    "Metrics of text: bleu, chrf, chrf++, ter, wer (word error rate), per (phoneme error rate), "
    "cer\n"
    "(character error rate), exact; of captions bleu-1 to bleu-4, cider. In brackets stands where "
    "95 %\n"
    "of the figures lie when the lines are drawn again with replacement.\n";

static const char *const tokenizer_words[] = { "13a", "none", "char", "intl", NULL };

const option eval_options[] = {
    { .name = "json",
      .kind = OPTION_FLAG,
      .offset = offsetof(settings, json),
      .says = "write an object instead of lines" },
    { .name = "hyp",
      .kind = OPTION_TEXT,
      .offset = offsetof(settings, answers),
      .takes = "FILE",
      .says = "score these lines; no model" },
    { .name = "ref",
      .kind = OPTION_TEXT,
      .offset = offsetof(settings, reference),
      .takes = "FILE…",
      .says = "with --hyp: the references, line by line" },
    { .name = "metric",
      .kind = OPTION_TEXT,
      .offset = offsetof(settings, metrics),
      .takes = "NAMES",
      .says = "these metrics of text alone, with commas between them" },
    { .name = "tokenizer",
      .kind = OPTION_WORD,
      .offset = offsetof(settings, tokenizer),
      .takes = "WORD",
      .says = "what BLEU takes for words: 13a (default), none, char or intl",
      .words = tokenizer_words },
    { .name = "lower",
      .kind = OPTION_FLAG,
      .offset = offsetof(settings, lower),
      .says = "compare text in small letters" },
    { .name = "resamples",
      .kind = OPTION_NUMBER,
      .offset = offsetof(settings, resamples),
      .takes = "N",
      .says = "draws for the intervals (default 1000; 0: no intervals)",
      .least = 0,
      .most = 1e6 },
    DECODING_OPTIONS(settings),
    { 0 },
};

/* ---- metrics by name */

typedef struct name_list {
    char *copy; /* what the names lie in */
    const char *names[MOST_METRICS];
    size_t count;
} name_list;

/* The names of a list with commas; without one, those given. */
static att_status list_names(name_list *out, const char *list, const char *const *otherwise,
                             size_t count, att_error *err)
{
    if (!list) {
        memcpy(out->names, otherwise, count * sizeof *otherwise);
        out->count = count;
        return ATT_OK;
    }
    out->copy = strdup(list);
    if (!out->copy)
        return error_memory(err);
    for (char *rest = out->copy; rest;) {
        char *comma = strchr(rest, ',');
        if (out->count == MOST_METRICS)
            return error_set(err, ATT_BAD_INPUT, "--metric", "more than %d names", MOST_METRICS);
        out->names[out->count++] = rest;
        if (comma)
            *comma++ = '\0';
        rest = comma;
    }
    return ATT_OK;
}

static att_metric_how text_how(const settings *set)
{
    return (att_metric_how){ .tokenizer = tokenizer_words[set->tokenizer],
                             .lower = set->lower,
                             .resamples = set->resamples,
                             .seed = RESAMPLE_SEED };
}

/* ---- files of lines */

static att_status eval_files(const settings *set, int count, char **more, att_error *err)
{
    static const char *const usual[] = { "bleu", "chrf", "ter" };
    name_list list = { 0 };
    att_metric_score scores[MOST_METRICS];
    size_t lines = 0;
    const att_metric_how how = text_how(set);
    const char **references = calloc((size_t)count + 1, sizeof *references);
    if (!references)
        return error_memory(err);
    references[0] = set->reference;
    for (int i = 0; i < count; i++)
        references[i + 1] = more[i];
    att_status status = list_names(&list, set->metrics, usual, 3, err);
    if (status == ATT_OK)
        status = att_metrics_score_files(scores, &lines, list.names, list.count, set->answers,
                                         references, (size_t)count + 1, &how, err);
    if (status == ATT_OK)
        status = figures_print(
            &(figures){ .lines = (int64_t)lines, .texts = scores, .text_count = list.count },
            set->json, err);
    free(list.copy);
    free(references);
    return status;
}

/* ---- a model */

static att_status eval_model(const settings *set, const char *path, const char *data,
                             att_error *err)
{
    decoding models;
    name_list list = { 0 };
    att_scores scores;
    att_metric_score texts[MOST_METRICS];
    att_text notes = { 0 };
    size_t count = 0;
    att_status status = decoding_open(&models, &set->decoding, path, err);
    const char *const *usual = status == ATT_OK ? att_model_metrics(models.model, &count) : NULL;
    if (status == ATT_OK)
        status = list_names(&list, set->metrics, usual, count, err);
    const att_measuring how = { .decoding = &models.how,
                                .metrics = list.names,
                                .metric_count = list.count,
                                .text = text_how(set) };
    if (status == ATT_OK)
        status = att_model_evaluate(&scores, texts, models.model, data, &how, &notes, err);
    if (status == ATT_OK && notes.length > 0)
        fputs(notes.data, stderr);
    if (status == ATT_OK)
        status = figures_print(&(figures){ .scores = &scores,
                                           .lines = scores.lines,
                                           .texts = texts,
                                           .text_count = list.count,
                                           .texts_alone = set->metrics != NULL },
                               set->json, err);
    att_text_free(&notes);
    free(list.copy);
    decoding_close(&models);
    return status;
}

exit_code eval_run(const struct verb *verb, int count, char **args)
{
    settings set = { .resamples = RESAMPLES };
    int operands = 0;
    parse_result parsed = options_parse(verb, count, args, &set, &operands);
    if (parsed != PARSE_OK)
        return parsed == PARSE_HELP ? help_verb(verb) : EXIT_BAD_INPUT;
    const char *wrong = decoding_bad(&set.decoding);
    if (wrong)
        return report_usage(verb, "%s", wrong);
    att_error err = { 0 };
    att_status status;
    if (set.answers || set.reference) {
        if (!set.answers || !set.reference)
            return report_usage(verb, "--hyp and --ref belong together");
        status = eval_files(&set, operands, args, &err);
    } else {
        if (operands < 1 || operands > 2)
            return report_usage(verb, "expects a model, and a file of pairs or nothing");
        status = eval_model(&set, args[0], operands > 1 ? args[1] : NULL, &err);
    }
    return status == ATT_OK ? EXIT_DONE : report(status, &err);
}
