/* attend score: log-probabilities that a model assigns to given targets or to a text. */
#include "score.h"

const char score_details[] =
    "Computes log-probabilities (natural logarithm) with teacher forcing. FILE '-' is standard "
    "input.\n"
    "\n"
    "A seq2seq model reads source<TAB>target lines (with tags beside the text: "
    "source<TAB>target<TAB>tags) and writes one line per pair: the "
    "log-probability of the target, its tokens (the end token included), and the log-probability "
    "of each token, separated by tabs. An empty line gives an empty line. A score does not depend "
    "on the other lines. The sum and the perplexity are printed last on standard error, or with "
    "--json as the last object.\n"
    "\n"
    "A language model reads FILE as one text and writes one line per token but the first: its "
    "log-probability given the tokens before it, a tab, and the token, with line ends as \\n.\n";

const option score_options[] = {
    OPTION_ROW(score_settings, "json", 0, FLAG, json, NULL,
               "print one JSON object per line: text, score, source and target tokens, token "
               "scores"),
    OPTION_ROW(
        score_settings, "max-input-length", 0, INTEGER, max_input_length, "N",
        "maximum number of tokens of a source, where the model has no smaller limit (default: "
        "10 times the max-length it was trained with)",
        .min = 1, .max = 1e9, .model_types = TYPES_READ_LINES),
    DECODING_ROW(score_settings, "ensemble", STRING, ensemble, "MODELS",
                 "further models of the ensemble, separated by commas", .is_list = true),
    DECODING_ROW(score_settings, "precision", CHOICE, precision, "WORD", PRECISION_HELP,
                 .choices = precision_choices),
    { 0 },
};

static model_function *const score_functions[ATT_MODEL_TYPES] = {
    [ATT_MODEL_SEQ2SEQ] = score_seq2seq,
    [ATT_MODEL_LM] = score_lm,
};

exit_code score_run(const struct verb *verb, int count, char **args)
{
    static const score_settings defaults;
    score_settings set = defaults;
    int operands = 0;
    exit_code code;
    if (!options_parse(&code, verb, count, args, &set, &operands))
        return code;
    if (operands != 2)
        return report_usage(verb, "expects a model and a file");
    const model_verb with = { .verb = verb,
                              .settings = &set,
                              .defaults = &defaults,
                              .decoding = &set.decoding,
                              .functions = score_functions };
    return model_verb_run(&with, args[0], args[1]);
}
