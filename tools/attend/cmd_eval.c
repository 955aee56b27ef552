/* attend eval: evaluates a model on data, or hypotheses against references. */
#include "eval.h"

#include "processes.h"

#include <errno.h>
#include <stdio.h>

const char eval_details[] =
    "Evaluates MODEL on DATA ('-' is standard input). Without DATA, evaluates on the validation "
    "data of its training run: of a synthetic task, whose data are generated again, or with "
    "--recorded-data of the files that MODEL names. Without that option no file is opened that "
    "only the model names, since a model may come from anybody.\n"
    "\n"
    "A seq2seq model is evaluated on source<TAB>target lines, or on a file of another format that "
    "training reads (--format of attend train: CSV, JSON lines, …). Exact match, token error rate "
    "and "
    "word error rate (edit distance divided by the length of the reference) compare its outputs "
    "with the references; token accuracy and perplexity are measured with teacher forcing. For "
    "words and BPE, BLEU and chrF are added. A caption model is evaluated likewise on all captions "
    "of each image.\n"
    "\n"
    "A language model is evaluated on a text: loss in nats per token, bits per character and "
    "perplexity, over every token but the first. A Transformer reads the text in chunks of its "
    "context length; with --stride they overlap. With --ensemble, the probability of a token is "
    "the mean over the models.\n"
    "\n"
    "A classifier is evaluated on sentence<TAB>label lines: accuracy, macro F1, calibration error "
    "and the confusion matrix. A tagger is evaluated on a CoNLL file or on tokens<TAB>labels "
    "lines: "
    "F1 of spans as conlleval computes it, in all and by type, token and sentence accuracy. A "
    "label "
    "that the model lacks counts as wrong.\n"
    "\n"
    "With --baseline OTHER, MODEL is compared with another model on DATA: the scores of both, "
    "their "
    "difference, and the p-values of two paired significance tests, bootstrap resampling and "
    "approximate randomization, as in sacreBLEU. OTHER may be an ensemble, separated by commas.\n"
    "\n"
    "With --hyp and --ref, no model is used: the lines of a file are scored against those of one "
    "or more reference files, and with --baseline FILE compared with another file of hypotheses.\n"
    "\n"
    "Values in parentheses are 95 % confidence intervals (bootstrap resampling of the lines).\n";

const char *const eval_tokenizers[] = { "13a", "none", "char", "intl", NULL };

#define ROW(NAME, TYPE, MEMBER, PLACEHOLDER, HELP, ...)                                            \
    OPTION_ROW(eval_settings, NAME, 0, TYPE, MEMBER, PLACEHOLDER, HELP, ##__VA_ARGS__)

const option eval_options[] = {
    ROW("json", FLAG, json, NULL, "print one JSON object"),
    ROW("hyp", STRING, hypotheses, "FILE",
        "hypotheses to score instead of running a model, one per line"),
    ROW("ref", STRING, reference, "FILE…",
        "with --hyp: one or more reference files, parallel to the hypotheses"),
    ROW("metric", STRING, metrics, "NAMES", "compute only these metrics, separated by commas",
        .model_types = TYPES_GENERATE_LINES),
    ROW("tokenizer", CHOICE, tokenizer, "WORD", "BLEU tokenizer: 13a (default), none, char or intl",
        .choices = eval_tokenizers, .model_types = TYPES_GENERATE_LINES),
    ROW("lowercase", FLAG, lowercase, NULL, "compute metrics on lowercased text",
        .model_types = TYPES_GENERATE_LINES),
    ROW("bootstrap-samples", INTEGER, bootstrap_samples, "N",
        "bootstrap samples for the 95 % confidence intervals (default 1000; 0: no intervals)",
        .min = 0, .max = 1e6, .model_types = TYPES_READ_LINES),
    ROW("baseline", STRING, baseline, "OTHER",
        "compare with another model, or with --hyp another file of hypotheses, by paired "
        "significance tests",
        .model_types = TYPES_READ_LINES),
    ROW("format", STRING, format, "KIND",
        "format of DATA: auto, tsv, conll, sigmorphon, scan, csv or jsonl (default: as in "
        "training, "
        "or guessed)",
        .model_types = TYPE_SEQ2SEQ | TYPE_CLASSIFIER | TYPE_TAGGER),
    ROW("columns", STRING, columns, "A,B",
        "columns of source and target in DATA, and of tags, by name or number (default: as in "
        "training, or guessed)",
        .model_types = TYPE_SEQ2SEQ | TYPE_CLASSIFIER | TYPE_TAGGER),
    ROW("stride", INTEGER, stride, "N",
        "move the context of a Transformer by N tokens and score only these, so that each has "
        "more before it: slower, and usually a lower loss (default: chunks end to end)",
        .min = 1, .max = 1e9, .model_types = TYPE_LM),
    ROW("features", STRING, features, "FILE", "image features of the captions in DATA, as .npy",
        .model_types = TYPE_CAPTION),
    ROW("recorded-data", FLAG, recorded_data, NULL,
        "open the data files that MODEL names: for models that you trust"),
    DECODING_OPTIONS(eval_settings, TYPES_GENERATE_LINES),
    ROW("max-input-length", INTEGER, max_input_length, "N",
        "maximum number of tokens of a source, where the model has no smaller limit (default: 10 "
        "times the max-length it was trained with)",
        .min = 1, .max = 1e9, .model_types = TYPES_READ_LINES),
    { 0 },
};

void eval_print_metrics(void)
{
    printf("\nMetrics:\n");
    const att_metric *metric;
    for (size_t i = 0; (metric = att_metric_get(i)); i++)
        printf("  %-11s  %s, %s\n", metric->name, metric->title, metric->help);
}

static const eval_settings defaults = { .bootstrap_samples = 1000 };

static model_function *const eval_functions[ATT_MODEL_TYPES] = {
    [ATT_MODEL_SEQ2SEQ] = eval_seq2seq,       [ATT_MODEL_LM] = eval_lm,
    [ATT_MODEL_CLASSIFIER] = eval_classifier, [ATT_MODEL_CAPTION] = eval_seq2seq,
    [ATT_MODEL_TAGGER] = eval_tagger,
};

/* Opens the transport if a launcher started several processes. Only the first of them prints. */
static att_status open_transport(att_transport **out, att_error *err)
{
    att_status status = processes_open(out, err);
    if (status == ATT_OK && processes_are_silent(*out) && !freopen("/dev/null", "w", stdout))
        return error_system(err, "/dev/null", "open", errno);
    return status;
}

static exit_code eval_lines(const struct verb *verb, const eval_settings *set, int count,
                            char **more)
{
    static const char *const allowed[] = {
        "hyp",      "ref", "json", "metric", "tokenizer", "lowercase", "bootstrap-samples",
        "baseline", NULL
    };
    if (!set->hypotheses || !set->reference)
        return report_usage(verb, "--hyp and --ref need each other");
    const char *other = options_first_outside(verb, allowed, set, &defaults);
    if (other)
        return report_usage(verb, "--%s needs a model; --hyp uses none", other);
    att_error err = { 0 };
    att_transport *transport = NULL;
    att_status status = open_transport(&transport, &err);
    if (status == ATT_OK && !processes_are_silent(transport)) /* there is nothing to share */
        status = eval_files(set, count, more, &err);
    return processes_end(transport, status, &err, EXIT_DONE);
}

att_string *eval_notes(const eval_settings *set, att_string *notes)
{
    return processes_are_silent(set->transport) ? NULL : notes;
}

exit_code eval_run(const struct verb *verb, int count, char **args)
{
    eval_settings set = defaults;
    int operands = 0;
    exit_code code;
    if (!options_parse(&code, verb, count, args, &set, &operands))
        return code;
    const char *wrong = decoding_conflict(&set.decoding);
    if (wrong)
        return report_usage(verb, "%s", wrong);
    if (set.baseline && set.bootstrap_samples == 0)
        return report_usage(verb, "--baseline needs --bootstrap-samples of at least 1");
    if (set.hypotheses || set.reference)
        return eval_lines(verb, &set, operands, args);
    if (operands < 1 || operands > 2)
        return report_usage(verb, "expects a model and, optionally, a data file");
    if (set.baseline && operands < 2)
        return report_usage(verb, "--baseline needs the data to compare the models on");
    if ((set.format || set.columns) && operands < 2)
        return report_usage(verb, "--%s needs the data that it describes",
                            set.format ? "format" : "columns");
    att_error err = { 0 };
    att_status status = open_transport(&set.transport, &err);
    if (status != ATT_OK)
        return processes_end(set.transport, status, &err, EXIT_DONE);
    const model_verb with = { .verb = verb,
                              .transport = set.transport,
                              .settings = &set,
                              .defaults = &defaults,
                              .decoding = &set.decoding,
                              .functions = eval_functions };
    return model_verb_run(&with, args[0], operands > 1 ? args[1] : NULL);
}
