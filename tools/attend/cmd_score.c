/* attend score: the log-probabilities that a model gives to answers that are there already. */
#include "score.h"

#include <stddef.h>

#include "kinds.h"

const char score_details[] =
    "Reads pairs from FILE, lines source<TAB>target ('-': standard input), and writes for each a\n"
    "line: the log-probability (natural logarithm) of the target, its tokens, and the\n"
    "log-probability of each of them, with tabs between the three. The end is a token too. An\n"
    "empty line is answered by an empty line. The sum and the perplexity come last, on standard\n"
    "error; with --json they are the last object. Scores do not depend on other lines.\n"
    "\n"
    "A language model takes FILE for one text and writes a line for each token but the first: its\n"
    "log-probability after those before it, a tab, and the token, ends of lines as \\n.\n";

const option score_options[] = {
    { .name = "json",
      .kind = OPTION_FLAG,
      .offset = offsetof(score_settings, json),
      .help =
          "print one JSON object per line: text, score, source and target tokens, token scores" },
    DECODING_ROW(score_settings, "ensemble", STRING, ensemble, "MODELS",
                 "further models of the ensemble, separated by commas"),
    { 0 },
};

static score_by_type *const score_functions[ATT_MODEL_TYPES] = {
    [ATT_MODEL_SEQ2SEQ] = score_seq2seq, [ATT_MODEL_LM] = score_lm
};

static exit_code score(const struct verb *verb, const score_settings *set, const char *path,
                       const char *file)
{
    att_error err = { 0 };
    decoding models;
    exit_code code = EXIT_DONE;
    att_status status = decoding_open(&models, &set->decoding, path, &err);
    if (status == ATT_OK) {
        att_model_type kind = att_model_type_get(models.model);
        code = model_type_check(verb, kind, score_functions[kind] != NULL, set,
                                &(score_settings){ 0 });
        if (code == EXIT_DONE)
            status = score_functions[kind](set, &models, file, &err);
    }
    decoding_close(&models);
    return status == ATT_OK ? code : report(status, &err);
}

exit_code score_run(const struct verb *verb, int count, char **args)
{
    score_settings set = { 0 };
    int operands = 0;
    parse_result parsed = options_parse(verb, count, args, &set, &operands);
    if (parsed != PARSE_OK)
        return parsed == PARSE_HELP ? help_verb(verb) : EXIT_BAD_INPUT;
    if (operands != 2)
        return report_usage(verb, "expects a model and a file of pairs");
    return score(verb, &set, args[0], args[1]);
}
