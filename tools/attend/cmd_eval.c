/* attend eval: a model measured on pairs, or lines of text on references. */
#include "eval.h"

#include <stddef.h>

#include "kinds.h"

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
    "For a language model DATA is a text; told are the loss in nats a token, bits a character and\n"
    "perplexity, of every token but the first. With --with, a token has the mean of the models'\n"
    "probabilities.\n"
    "\n"
    "A model that sorts is measured on lines sentence<TAB>label: accuracy, macro F1, which label\n"
    "was taken for which, and how far its probabilities are from how often they hold.\n"
    "\n"
    "With --hyp, scores the lines of a file against those of one or more references, line by "
    "line.\n"
    "\n"
    "Metrics of text: bleu, chrf, chrf++, ter, wer (word error rate), per (phoneme error rate), "
    "cer\n"
    "(character error rate), exact; of captions bleu-1 to bleu-4, cider. In brackets stands where "
    "95 %\n"
    "of the figures lie when the lines are drawn again with replacement.\n";

const char *const eval_tokenizers[] = { "13a", "none", "char", "intl", NULL };

const option eval_options[] = {
    { .name = "json",
      .kind = OPTION_FLAG,
      .offset = offsetof(eval_settings, json),
      .says = "write an object instead of lines" },
    { .name = "hyp",
      .kind = OPTION_TEXT,
      .offset = offsetof(eval_settings, answers),
      .takes = "FILE",
      .says = "score these lines; no model" },
    { .name = "ref",
      .kind = OPTION_TEXT,
      .offset = offsetof(eval_settings, reference),
      .takes = "FILE…",
      .says = "with --hyp: the references, line by line" },
    { .name = "metric",
      .kind = OPTION_TEXT,
      .offset = offsetof(eval_settings, metrics),
      .takes = "NAMES",
      .says = "these metrics of text alone, with commas between them",
      .kinds = KINDS_WRITE_LINES },
    { .name = "tokenizer",
      .kind = OPTION_WORD,
      .offset = offsetof(eval_settings, tokenizer),
      .takes = "WORD",
      .says = "what BLEU takes for words: 13a (default), none, char or intl",
      .words = eval_tokenizers,
      .kinds = KINDS_WRITE_LINES },
    { .name = "lower",
      .kind = OPTION_FLAG,
      .offset = offsetof(eval_settings, lower),
      .says = "compare text in small letters",
      .kinds = KINDS_WRITE_LINES },
    { .name = "resamples",
      .kind = OPTION_NUMBER,
      .offset = offsetof(eval_settings, resamples),
      .takes = "N",
      .says = "draws for the intervals (default 1000; 0: no intervals)",
      .least = 0,
      .most = 1e6,
      .kinds = KINDS_ASKED },
    { .name = "features",
      .kind = OPTION_TEXT,
      .offset = offsetof(eval_settings, features),
      .takes = "FILE",
      .says = "the pictures that the captions in DATA are of, as .npy",
      .kinds = KIND_PICTURE },
    DECODING_OPTIONS(eval_settings, KINDS_WRITE_LINES),
    { 0 },
};

static const eval_settings usual = { .resamples = 1000 };

static eval_kind *const evals[ATT_KINDS] = { [ATT_KIND_PAIRS] = eval_pairs,
                                             [ATT_KIND_TEXT] = eval_text,
                                             [ATT_KIND_LABEL] = eval_labels,
                                             [ATT_KIND_PICTURE] = eval_pairs };

static exit_code eval_model(const struct verb *verb, const eval_settings *set, const char *path,
                            const char *data)
{
    att_error err = { 0 };
    decoding models;
    exit_code code = EXIT_DONE;
    att_status status = decoding_open(&models, &set->decoding, path, &err);
    if (status == ATT_OK) {
        att_kind kind = att_model_kind(models.model);
        code = kinds_check(verb, kind, evals[kind] != NULL, set, &usual);
        if (code == EXIT_DONE)
            status = evals[kind](set, &models, data, &err);
    }
    decoding_close(&models);
    return status == ATT_OK ? code : report(status, &err);
}

/* Without a model, nothing of how one answers means anything. */
static exit_code eval_lines(const struct verb *verb, const eval_settings *set, int count,
                            char **more)
{
    static const char *const of_lines[] = { "hyp",       "ref",   "json",      "metric",
                                            "tokenizer", "lower", "resamples", NULL };
    if (!set->answers || !set->reference)
        return report_usage(verb, "--hyp and --ref belong together");
    const option *other = options_beyond(verb, of_lines, set, &usual);
    if (other)
        return report_usage(verb, "--%s is for a model, and --hyp has none", other->name);
    att_error err = { 0 };
    att_status status = eval_files(set, count, more, &err);
    return status == ATT_OK ? EXIT_DONE : report(status, &err);
}

exit_code eval_run(const struct verb *verb, int count, char **args)
{
    eval_settings set = usual;
    int operands = 0;
    parse_result parsed = options_parse(verb, count, args, &set, &operands);
    if (parsed != PARSE_OK)
        return parsed == PARSE_HELP ? help_verb(verb) : EXIT_BAD_INPUT;
    const char *wrong = decoding_bad(&set.decoding);
    if (wrong)
        return report_usage(verb, "%s", wrong);
    if (set.answers || set.reference)
        return eval_lines(verb, &set, operands, args);
    if (operands < 1 || operands > 2)
        return report_usage(verb, "expects a model, and a file of pairs or nothing");
    return eval_model(verb, &set, args[0], operands > 1 ? args[1] : NULL);
}
