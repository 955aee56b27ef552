/* attend run: a model at work, as suits its kind (run_<kind>.c). */
#include "run.h"

#include <stddef.h>
#include <string.h>

#include "kinds.h"

static const char *const input_overflow_choices[] = { "refuse", "truncate", NULL };

const char run_details[] =
    "Reads lines from standard input and writes the model's answer to each, in order, a line "
    "each.\n"
    "An empty line is answered by an empty line. Answers do not depend on what else is asked, but\n"
    "for the number of the line where they are drawn (--sample).\n"
    "\n"
    "A line that is not UTF-8, or too long, ends the run with exit code 2; those before it have\n"
    "been answered.\n"
    "\n"
    "A model that sorts answers with a label; --json has the probabilities of all.\n"
    "\n"
    "A language model goes on with a text instead, from --prompt, and writes it as it is made. It\n"
    "takes the most probable tokens unless --sample or --beam is given. Ctrl-C ends it.\n"
    "\n"
    "Where MODEL is a network that 'attend import squeezenet' made, photographs come after it, "
    "and\n"
    "for each its five most probable labels are told: the file, the probability and the label.\n";

#define ROW(NAME, KIND, MEMBER, TAKES, SAYS, ...)                                                  \
    {                                                                                              \
        .name = NAME, .kind = OPTION_##KIND, .offset = offsetof(run_settings, MEMBER),             \
        .placeholder = TAKES, .help = SAYS, ##__VA_ARGS__                                          \
    }

const option run_options[] = {
    ROW("prompt", STRING, prompt, "TEXT", "prompt of a language model; '-' is standard input",
        .model_types = TYPE_LM, .allow_empty = true),
    ROW("max-new-tokens", INTEGER, max_new_tokens, "N",
        "maximum number of tokens to generate after the prompt (default 500)", .min = 1, .max = 1e9,
        .model_types = TYPE_LM),
    ROW("json", FLAG, json, NULL,
        "print one JSON object per line: text, scores, source and target tokens"),
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
    ROW("image-encoder", STRING, image_encoder, "FILE",
        "image encoder for the image files after the model", .model_types = TYPE_CAPTION),
    ROW("prefix", STRING, prefix, "TEXT", "forced prefix of every output",
        .model_types = TYPES_GENERATE_LINES),
    ROW("prefixes", STRING, prefixes, "FILE", "file with one forced prefix per input line",
        .model_types = TYPES_GENERATE_LINES),
    DECODING_OPTIONS(run_settings, TYPES_GENERATE),
    ROW("max-input-length", INTEGER, max_input_length, "N",
        "maximum number of tokens of an input line (default: the model's limit)", .min = 1,
        .max = 1e9, .model_types = TYPES_READ_LINES),
    ROW("input-overflow", CHOICE, input_overflow, "WHAT",
        "for a longer line: refuse it (default), or truncate it and print a warning",
        .choices = input_overflow_choices, .model_types = TYPES_READ_LINES),
    ROW("batch-size", INTEGER, batch_size, "N",
        "lines per batch (default: automatic); does not change the output", .min = 1, .max = 1e6,
        .model_types = TYPES_READ_LINES),
    { 0 },
};

static run_by_type *const run_functions[ATT_MODEL_TYPES] = { [ATT_MODEL_SEQ2SEQ] = run_seq2seq,
                                                             [ATT_MODEL_LM] = run_lm,
                                                             [ATT_MODEL_CLASSIFIER] =
                                                                 run_classifier,
                                                             [ATT_MODEL_CAPTION] = run_caption };

/* Operands after the model: others read standard input. */
static const int max_inputs[ATT_MODEL_TYPES] = { [ATT_MODEL_CAPTION] = 1 };

static exit_code run_model(const struct verb *verb, const run_settings *set, const char *path)
{
    att_error err = { 0 };
    decoding models;
    exit_code code = EXIT_DONE;
    att_status status = decoding_open(&models, &set->decoding, path, &err);
    if (status == ATT_OK) {
        att_model_type kind = att_model_type_get(models.model);
        code = model_type_check(verb, kind, run_functions[kind] != NULL, set, &(run_settings){ 0 });
        if (code == EXIT_DONE && !set->image_encoder && set->input_count > max_inputs[kind])
            code = report_usage(verb, "%s",
                                max_inputs[kind] > 0 ? "expects one file of pictures"
                                                     : "expects one model");
        if (code == EXIT_DONE)
            status = run_functions[kind](set, &models, &err);
    }
    decoding_close(&models);
    return status == ATT_OK ? code : report(status, &err);
}

/* What contradicts what; NULL: nothing. */
static const char *conflict(const run_settings *set)
{
    if ((set->attention || set->heads) && !set->json)
        return set->heads ? "--heads is for --json" : "--attention is for --json";
    bool looks = set->attention || set->heads || set->alignments || set->replace_unknown ||
                 set->decoding.coverage_penalty > 0;
    if ((set->layer > 0 || set->head > 0) && !looks)
        return "--layer and --head say whose attention is meant, and nothing asks for any";
    if (set->prefix && set->prefixes)
        return "--prefix is for all answers and --prefixes for each: only one of them can be";
    if (set->image_encoder && set->input_count == 0)
        return "--image-encoder is for photographs, which come after the model";
    if (set->score && set->json)
        return "--json has the score already";
    if (set->alignments && set->json)
        return "--json has the attention of every token: --alignments is for text";
    return decoding_conflict(&set->decoding);
}

exit_code run_run(const struct verb *verb, int count, char **args)
{
    run_settings set;
    memset(&set, 0, sizeof set); /* run_image_encoder() compares all of it */
    exit_code code;
    int operands = 0;
    parse_result parsed = options_parse(verb, count, args, &set, &operands);
    if (parsed != PARSE_OK)
        return parsed == PARSE_HELP ? help_verb(verb) : EXIT_BAD_INPUT;
    if (operands > 1 && run_image_encoder(&code, verb, &set, args, operands))
        return code;
    if (operands < 1)
        return report_usage(verb, "expects a model");
    set.inputs = (const char *const *)args + 1;
    set.input_count = operands - 1;
    const char *wrong = conflict(&set);
    if (wrong)
        return report_usage(verb, "%s", wrong);
    return run_model(verb, &set, args[0]);
}
