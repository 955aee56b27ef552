/* attend run: generates with a model, by the function for its type (run_<type>.c). */
#include "run.h"
#include "terminal.h"

#include <string.h>

static const char *const input_overflow_choices[] = { "refuse", "truncate", NULL };

const char run_details[] =
    "Generates output with MODEL. What is read and written depends on the type of the model.\n"
    "\n"
    "A seq2seq model reads lines from FILE or standard input and writes one output per line, in "
    "order; an empty line gives an empty line. An output does not depend on the other lines. A "
    "line that is "
    "not UTF-8 or too long ends the run with exit code 2, after the outputs of the lines before "
    "it.\n"
    "\n"
    "A classifier reads lines likewise and writes the predicted labels; --json adds the "
    "probabilities.\n"
    "\n"
    "With --format csv, jsonl or tsv the inputs are a column of a table, one output per row.\n"
    "\n"
    "A tagger reads lines of tokens separated by white space and writes a label for each token, "
    "separated by spaces; --json adds their probabilities. With --format conll it reads a CoNLL "
    "file, a token per line and a blank line after each sentence, and adds the labels as a "
    "column.\n"
    "\n"
    "A language model completes --prompt and writes the text as it is generated: greedily, unless "
    "--sample or --beam is given. Ctrl-C stops it.\n"
    "\n"
    "A caption model writes one caption per image: of the features in the .npy file IMAGE, of "
    "image files with --image-encoder, or of its validation images: generated again for a "
    "synthetic task, else read with --recorded-data from the file that MODEL names.\n"
    "\n"
    "If MODEL is an image encoder ('attend import squeezenet'), the five most probable labels of "
    "each image file are printed: file, probability and label, separated by tabs.\n";

#define ROW(NAME, TYPE, MEMBER, PLACEHOLDER, HELP, ...)                                            \
    OPTION_ROW(run_settings, NAME, 0, TYPE, MEMBER, PLACEHOLDER, HELP, ##__VA_ARGS__)

const option run_options[] = {
    ROW("prompt", STRING, prompt, "TEXT", "prompt of a language model; '-' is standard input",
        .model_types = TYPE_LM, .allow_empty = true),
    ROW("max-new-tokens", INTEGER, max_new_tokens, "N",
        "maximum number of tokens to generate after the prompt (default 500)", .min = 1, .max = 1e9,
        .model_types = TYPE_LM),
    ROW("json", FLAG, json, NULL,
        "print one JSON object per line: text, scores, source and target tokens"),
    ROW("raw", FLAG, raw, NULL, "on a terminal: print control characters as they are, not escaped"),
    ROW("attention", FLAG, attention, NULL,
        "with --json: add the attention weights of every output token",
        .model_types = TYPES_READ_LINES),
    ROW("heads", FLAG, heads, NULL,
        "with --json: add the attention weights of every layer and head",
        .model_types = TYPES_READ_LINES),
    ROW("score", FLAG, score, NULL, "print the log-probability and a tab before each output",
        .model_types = TYPES_READ_LINES),
    ROW("alignments", FLAG, alignments, NULL,
        "print a tab and the word alignment i-j (source-target, from 0) after each output",
        .model_types = TYPES_GENERATE_LINES),
    ROW("n-best", INTEGER, n_best, "N",
        "print the N best outputs of each line, with line number and normalized score", .min = 1,
        .max = 1000, .model_types = TYPES_GENERATE_LINES),
    ROW("replace-unknown", FLAG, replace_unknown, NULL,
        "replace an unknown output token by the source token with the highest attention weight",
        .model_types = TYPES_GENERATE_LINES),
    ROW("layer", INTEGER, layer, "N", "layer whose attention weights are used (default: the last)",
        .min = 1, .max = 1000, .model_types = TYPES_GENERATE_LINES),
    ROW("head", INTEGER, head, "N",
        "head whose attention weights are used (default: mean over all heads)", .min = 1,
        .max = 1000, .model_types = TYPES_GENERATE_LINES),
    ROW("format", CHOICE, format, "KIND",
        "what is read: lines (default), a column of csv, jsonl or tsv, or by a tagger conll",
        .choices = run_formats, .model_types = TYPES_READ_LINES),
    ROW("columns", STRING, columns, "A",
        "with --format csv, jsonl or tsv: the column of the inputs, by name or number, and after a "
        "comma that of tags (default: as in training, or by usual names)",
        .model_types = TYPES_READ_LINES),
    ROW("column", INTEGER, column, "N",
        "with --format conll: column of the tokens (default: as in training)", .min = 1, .max = 1e6,
        .model_types = TYPE_TAGGER),
    ROW("image-encoder", STRING, image_encoder, "FILE",
        "image encoder for the image files after the model", .model_types = TYPE_CAPTION),
    ROW("recorded-data", FLAG, recorded_data, NULL,
        "open the image features that MODEL names: for models that you trust",
        .model_types = TYPE_CAPTION),
    ROW("prefix", STRING, prefix, "TEXT", "forced prefix of every output",
        .model_types = TYPES_GENERATE_LINES),
    ROW("prefixes", STRING, prefixes, "FILE", "file with one forced prefix per input line",
        .model_types = TYPES_GENERATE_LINES),
    DECODING_OPTIONS(run_settings, TYPES_GENERATE),
    ROW("max-input-length", INTEGER, max_input_length, "N",
        "maximum number of tokens of an input line, where the model has no smaller limit (default: "
        "10 times the max-length it was trained with)",
        .min = 1, .max = 1e9, .model_types = TYPES_READ_LINES),
    ROW("input-overflow", CHOICE, input_overflow, "WHAT",
        "for a longer line: refuse it (default), or truncate it and print a warning",
        .choices = input_overflow_choices, .model_types = TYPES_READ_LINES),
    ROW("batch-size", INTEGER, batch_size, "N",
        "lines per batch (default: automatic); does not change the output", .min = 1, .max = 1e6,
        .model_types = TYPES_READ_LINES),
    { 0 },
};

static model_function *const run_functions[ATT_MODEL_TYPES] = {
    [ATT_MODEL_SEQ2SEQ] = run_seq2seq,       [ATT_MODEL_LM] = run_lm,
    [ATT_MODEL_CLASSIFIER] = run_classifier, [ATT_MODEL_CAPTION] = run_caption,
    [ATT_MODEL_TAGGER] = run_tagger,
};

/* Only caption models take operands after the model: one file of features, or image files. */
static exit_code check_inputs(const model_verb *with, att_model_type type, const char *input)
{
    (void)input;
    const run_settings *set = with->settings;
    int max = type == ATT_MODEL_LM ? 0 : 1;
    if (set->format == RUN_FORMAT_CONLL && type != ATT_MODEL_TAGGER)
        return report_usage(with->verb, "--format conll is for taggers");
    if (set->image_encoder || set->input_count <= max)
        return EXIT_DONE;
    return report_usage(with->verb, type == ATT_MODEL_LM
                                        ? "expects one model; --prompt is its input"
                                    : type == ATT_MODEL_CAPTION
                                        ? "expects one file of image features"
                                        : "expects one model and at most one file of lines");
}

static const char *conflict(const run_settings *set)
{
    if ((set->attention || set->heads) && !set->json)
        return set->heads ? "--heads needs --json" : "--attention needs --json";
    bool uses_attention = set->attention || set->heads || set->alignments || set->replace_unknown ||
                          set->decoding.coverage_penalty > 0;
    if ((set->layer > 0 || set->head > 0) && !uses_attention)
        return "--layer and --head choose attention weights, but no other option uses them";
    if (set->prefix && set->prefixes)
        return "--prefix and --prefixes exclude each other";
    if (set->image_encoder && set->input_count == 0)
        return "--image-encoder needs image files after the model";
    if (set->column > 0 && set->format != RUN_FORMAT_CONLL)
        return "--column is for --format conll";
    if (set->columns && (set->format == RUN_FORMAT_LINES || set->format == RUN_FORMAT_CONLL))
        return "--columns is for --format csv, jsonl and tsv";
    if (set->format == RUN_FORMAT_CONLL && (set->json || set->score))
        return "--format conll writes CoNLL: --json and --score are for lines";
    if (set->score && set->json)
        return "--score is for text output; --json includes the score";
    if (set->alignments && set->json)
        return "--alignments is for text output; use --json with --attention";
    return decoding_conflict(&set->decoding);
}

exit_code run_run(const struct verb *verb, int count, char **args)
{
    static const run_settings defaults;
    run_settings set = defaults;
    exit_code code;
    int operands = 0;
    if (!options_parse(&code, verb, count, args, &set, &operands))
        return code;
    if (set.raw)
        terminal_set_raw();
    if (operands > 1 && run_image_encoder(&code, verb, &set, args, operands))
        return code;
    if (operands < 1)
        return report_usage(verb, "expects a model");
    set.inputs = (const char *const *)args + 1;
    set.input_count = operands - 1;
    const char *wrong = conflict(&set);
    if (wrong)
        return report_usage(verb, "%s", wrong);
    const model_verb with = { .verb = verb,
                              .settings = &set,
                              .defaults = &defaults,
                              .decoding = &set.decoding,
                              .functions = run_functions,
                              .check = check_inputs };
    return model_verb_run(&with, args[0], NULL);
}
