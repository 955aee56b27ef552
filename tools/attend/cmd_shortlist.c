/* attend shortlist: learns a lexical shortlist for a model. */
#include "program.h"

#include <inttypes.h>
#include <stdio.h>

#include "output.h"
#include "signals.h"
#include "terminal.h"

typedef struct settings {
    const char *output;
    int from;
    long frequent, top, max_pairs;
    bool quiet;
} settings;

enum { FROM_PAIRS, FROM_ATTENTION };

const char shortlist_details[] =
    "Learns from PAIRS, usually the training file, which target tokens each source token becomes, "
    "and writes them with their probabilities as target<TAB>source<TAB>probability lines. With "
    "'attend run MODEL --shortlist FILE' only these, the most frequent tokens and those written "
    "like a source token are candidates for the output of a line: the output layer, most of the "
    "work where the vocabulary is large, gets fast. For sequence-to-sequence models that do not "
    "copy.\n"
    "\n"
    "The report says how many candidates a line has, and which part of the target tokens of PAIRS "
    "is among them: what is not can never be written.\n";

static const char *const from_choices[] = { "pairs", "attention", NULL };

#define ROW(NAME, SHORT, TYPE, MEMBER, PLACEHOLDER, HELP, ...)                                     \
    OPTION_ROW(settings, NAME, SHORT, TYPE, MEMBER, PLACEHOLDER, HELP, ##__VA_ARGS__)

const option shortlist_options[] = {
    ROW("output", 'o', STRING, output, "FILE", "output shortlist; required"),
    ROW("from", 0, CHOICE, from, "WORD",
        "what aligns the tokens: pairs (IBM model 1, the default) or attention, that of the "
        "model's last layer",
        .choices = from_choices),
    ROW("top", 0, INTEGER, top, "N", "target tokens of each source token, at most (default 200)",
        .min = 1, .max = 1e6),
    ROW("frequent", 0, INTEGER, frequent, "N",
        "for the report: most frequent tokens that are always candidates (default 500)", .min = 1,
        .max = 1e6),
    ROW("max-pairs", 0, INTEGER, max_pairs, "N",
        "pairs to learn from, evenly spaced in the file (default 200000)", .min = 1, .max = 1e9),
    ROW("quiet", 'q', FLAG, quiet, NULL, "print nothing"),
    { 0 },
};

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

static att_status print_report(const att_shortlist_stats *stats, const char *path, att_error *err)
{
    printf("%-12s%" PRId64 " pairs of tokens from %" PRId64 " pairs of lines\n", "learned",
           stats->entries, stats->pairs);
    printf("%-12s%.1f of %" PRId64 " tokens, on average\n", "candidates", stats->mean_candidates,
           stats->vocabulary);
    printf("%-12s%.2f %% of the target tokens are candidates\n", "coverage", 100 * stats->coverage);
    terminal_printf(stdout, "%-12s%s\n", "written", path);
    return output_flush(err);
}

static att_status learn(const settings *set, const char *model_path, const char *pairs,
                        att_error *err)
{
    att_shortlist_options options = ATT_INIT(att_shortlist_options);
    att_shortlist_stats stats = ATT_INIT(att_shortlist_stats);
    att_shortlist *shortlist = NULL;
    att_model *model = NULL;
    options.frequent = set->frequent;
    options.top = set->top;
    options.max_pairs = set->max_pairs;
    options.attention = set->from == FROM_ATTENTION;
    att_status status =
        output_check_paths((output_names){ &set->output, 1 },
                           (output_names){ (const char *[]){ model_path, pairs }, 2 }, err);
    if (status == ATT_OK)
        status = att_model_load(&model, model_path, err);
    if (status == ATT_OK)
        status = att_shortlist_learn(&shortlist, model, pairs, &options, &stats, err);
    error_set_place(err, status, model_path); /* an error of the pairs names their file */
    output_progress_clear();
    if (status == ATT_OK)
        status = att_shortlist_save(shortlist, set->output, err);
    if (status == ATT_OK && !set->quiet)
        status = print_report(&stats, set->output, err);
    att_shortlist_free(shortlist);
    att_model_free(model);
    return status;
}

exit_code shortlist_run(const struct verb *verb, int count, char **args)
{
    settings set = { 0 };
    att_error err = { 0 };
    int operands = 0;
    exit_code code;
    if (!options_parse(&code, verb, count, args, &set, &operands))
        return code;
    if (operands != 2)
        return report_usage(verb, "expects a model and a file of pairs");
    if (!set.output)
        return report_usage(verb, "expects --output FILE");
    progress state = { .quiet = set.quiet };
    signals_catch();
    att_callback_set(on_callback, &state);
    att_status status = learn(&set, args[0], args[1], &err);
    att_callback_set(NULL, NULL);
    if (status == ATT_CANCELLED) /* nothing is left to keep */
        signals_raise();
    return status == ATT_OK ? EXIT_DONE : report(status, &err);
}
