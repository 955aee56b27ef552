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
    "perplexity, of every token but the first. With --ensemble, a token has the mean of the "
    "models'\n"
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
      .help = "print one JSON object" },
    { .name = "hyp",
      .kind = OPTION_STRING,
      .offset = offsetof(eval_settings, hypotheses),
      .placeholder = "FILE",
      .help = "hypotheses to score instead of running a model, one per line" },
    { .name = "ref",
      .kind = OPTION_STRING,
      .offset = offsetof(eval_settings, reference),
      .placeholder = "FILE…",
      .help = "with --hyp: one or more reference files, parallel to the hypotheses" },
    { .name = "metric",
      .kind = OPTION_STRING,
      .offset = offsetof(eval_settings, metrics),
      .placeholder = "NAMES",
      .help = "compute only these metrics, separated by commas",
      .model_types = TYPES_GENERATE_LINES },
    { .name = "tokenizer",
      .kind = OPTION_CHOICE,
      .offset = offsetof(eval_settings, tokenizer),
      .placeholder = "WORD",
      .help = "BLEU tokenizer: 13a (default), none, char or intl",
      .choices = eval_tokenizers,
      .model_types = TYPES_GENERATE_LINES },
    { .name = "lowercase",
      .kind = OPTION_FLAG,
      .offset = offsetof(eval_settings, lowercase),
      .help = "compute metrics on lowercased text",
      .model_types = TYPES_GENERATE_LINES },
    { .name = "bootstrap-samples",
      .kind = OPTION_INTEGER,
      .offset = offsetof(eval_settings, bootstrap_samples),
      .placeholder = "N",
      .help = "bootstrap samples for the 95 % confidence intervals (default 1000; 0: no intervals)",
      .min = 0,
      .max = 1e6,
      .model_types = TYPES_READ_LINES },
    { .name = "features",
      .kind = OPTION_STRING,
      .offset = offsetof(eval_settings, features),
      .placeholder = "FILE",
      .help = "image features of the captions in DATA, as .npy",
      .model_types = TYPE_CAPTION },
    DECODING_OPTIONS(eval_settings, TYPES_GENERATE_LINES),
    { 0 },
};

static const eval_settings defaults = { .bootstrap_samples = 1000 };

static eval_by_type *const eval_functions[ATT_MODEL_TYPES] = { [ATT_MODEL_SEQ2SEQ] = eval_seq2seq,
                                                               [ATT_MODEL_LM] = eval_lm,
                                                               [ATT_MODEL_CLASSIFIER] =
                                                                   eval_classifier,
                                                               [ATT_MODEL_CAPTION] = eval_seq2seq };

static exit_code eval_model(const struct verb *verb, const eval_settings *set, const char *path,
                            const char *data)
{
    att_error err = { 0 };
    decoding models;
    exit_code code = EXIT_DONE;
    att_status status = decoding_open(&models, &set->decoding, path, &err);
    if (status == ATT_OK) {
        att_model_type kind = att_model_type_get(models.model);
        code = model_type_check(verb, kind, eval_functions[kind] != NULL, set, &defaults);
        if (code == EXIT_DONE)
            status = eval_functions[kind](set, &models, data, &err);
    }
    decoding_close(&models);
    return status == ATT_OK ? code : report(status, &err);
}

/* Without a model, nothing of how one answers means anything. */
static exit_code eval_lines(const struct verb *verb, const eval_settings *set, int count,
                            char **more)
{
    static const char *const of_lines[] = {
        "hyp", "ref", "json", "metric", "tokenizer", "lowercase", "bootstrap-samples", NULL
    };
    if (!set->hypotheses || !set->reference)
        return report_usage(verb, "--hyp and --ref belong together");
    const option *other = options_first_outside(verb, of_lines, set, &defaults);
    if (other)
        return report_usage(verb, "--%s is for a model, and --hyp has none", other->name);
    att_error err = { 0 };
    att_status status = eval_files(set, count, more, &err);
    return status == ATT_OK ? EXIT_DONE : report(status, &err);
}

exit_code eval_run(const struct verb *verb, int count, char **args)
{
    eval_settings set = defaults;
    int operands = 0;
    parse_result parsed = options_parse(verb, count, args, &set, &operands);
    if (parsed != PARSE_OK)
        return parsed == PARSE_HELP ? help_verb(verb) : EXIT_BAD_INPUT;
    const char *wrong = decoding_conflict(&set.decoding);
    if (wrong)
        return report_usage(verb, "%s", wrong);
    if (set.hypotheses || set.reference)
        return eval_lines(verb, &set, operands, args);
    if (operands < 1 || operands > 2)
        return report_usage(verb, "expects a model, and a file of pairs or nothing");
    return eval_model(verb, &set, args[0], operands > 1 ? args[1] : NULL);
}
