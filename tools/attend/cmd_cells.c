/* attend cells: finds the units of an RNN that track a property of the text it reads. */
#include "program.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"

typedef struct settings {
    const char *text;
    const char *html;
    int signal; /* att_unit_signal */
    double test_fraction;
    long max_tokens;
    long top;
    bool json;
    int color; /* color_choice */
    bool ascii;
    string_list properties; /* NAME=REGEX */
} settings;

const char cells_details[] =
    "Lets an RNN read a text and correlates the activation of each unit with properties of the "
    "text: inside quotation marks, bracket depth, column, and others. For each property the best "
    "unit is chosen on the first part of the text (search), and its correlation is measured on the "
    "rest (test).\n";

const char *const signal_choices[] = { "auto", "hidden", "cell", NULL };

#define ROW(NAME, SHORT, TYPE, MEMBER, PLACEHOLDER, HELP, ...)                                     \
    OPTION_ROW(settings, NAME, SHORT, TYPE, MEMBER, PLACEHOLDER, HELP, ##__VA_ARGS__)

const option cells_options[] = {
    ROW("text", 't', STRING, text, "FILE",
        "text that the model reads ('-' is standard input); required"),
    ROW("html", 0, STRING, html, "FILE",
        "write an HTML page with passages colored by the activation of each unit"),
    ROW("json", 0, FLAG, json, NULL, "print one JSON object instead of the table"),
    ROW("signal", 0, CHOICE, signal, "WHAT", "state to read: hidden, or cell (default for an LSTM)",
        .choices = signal_choices),
    ROW("held-out", 0, REAL, test_fraction, "FRACTION",
        "fraction of the text, at its end, for the test (default 0.25)", .min = 0.01, .max = 0.99),
    ROW("max-tokens", 0, INTEGER, max_tokens, "N",
        "maximum number of tokens to read (default 1000000)", .min = 1000, .max = 1e9),
    ROW("top", 0, INTEGER, top, "N",
        "number of best units per property in the JSON output (default 3)", .min = 1, .max = 1000),
    ROW("property", 0, LIST, properties, "NAME=REGEX",
        "search for units of a property of your own too, which is true inside of the matches of a "
        "regular expression; may be given several times"),
    ROW("color", 0, CHOICE, color, "WHEN", "use colors: auto (default), always or never",
        .choices = color_choices),
    ROW("ascii", 0, FLAG, ascii, NULL, "use only ASCII characters"),
    { 0 },
};

static att_status add_html_page(output_list *files, const att_cells *cells, const char *path,
                                att_error *err)
{
    output_file *file = output_add(files, path, "page");
    const att_render_options options = output_format(ATT_FORMAT_HTML);
    return file ? att_cells_render(&file->bytes, cells, &options, err) : error_memory(err);
}

static att_status print_result(const att_cells *cells, const settings *set, att_error *err)
{
    att_render_options options = output_render_options(set->color, set->ascii);
    att_string text = { 0 };
    output_list files = { 0 };
    if (set->json)
        options.format = ATT_FORMAT_JSON;
    att_status status = att_cells_render(&text, cells, &options, err);
    if (status == ATT_OK && set->html)
        status = add_html_page(&files, cells, set->html, err);
    if (status == ATT_OK)
        status = output_all(&files, &text, err);
    output_free(&files);
    att_string_free(&text);
    return status;
}

/* ---- progress */

typedef struct progress_state {
    double start, last_shown; /* seconds */
} progress_state;

/* Nothing is shown for a text that is read within the first interval. */
static bool show_progress(void *context, const att_progress *at)
{
    enum { UPDATES_PER_SECOND = 5 };
    progress_state *progress = context;
    double now = output_seconds();
    if (now - progress->last_shown < 1.0 / UPDATES_PER_SECOND || at->done == 0 || at->total == 0)
        return true;
    char text[96];
    progress->last_shown = now;
    snprintf(text, sizeof text, "read %lld of %lld tokens, %.0f s left", (long long)at->done,
             (long long)at->total,
             ceil((now - progress->start) * (double)(at->total - at->done) / (double)at->done));
    output_progress(text);
    return true;
}

static exit_code find_units(const settings *set, const char *path)
{
    double start = output_seconds();
    progress_state progress = { start, start };
    const att_cells_options options = { .size = sizeof(att_cells_options),
                                        .signal = (att_unit_signal)set->signal,
                                        .held_out = set->test_fraction,
                                        .max_tokens = set->max_tokens,
                                        .n_best = set->top,
                                        .patterns = set->properties.items,
                                        .pattern_count = set->properties.count };
    att_error err = { 0 };
    att_model *model = NULL;
    att_cells *cells = NULL;
    att_status status =
        output_check_paths((output_names){ &set->html, 1 },
                           (output_names){ (const char *[]){ path, set->text }, 2 }, &err);
    if (status == ATT_OK)
        status = att_model_load(&model, path, &err);
    att_callback_set(show_progress, &progress);
    if (status == ATT_OK)
        status = att_model_cells(&cells, model, set->text, &options, &err);
    att_callback_set(NULL, NULL);
    output_progress_clear();
    if (status == ATT_OK)
        status = print_result(cells, set, &err);
    att_cells_free(cells);
    att_model_free(model);
    return status == ATT_OK ? EXIT_DONE : report(status, &err);
}

exit_code cells_run(const struct verb *verb, int count, char **args)
{
    settings set = { .color = COLOR_AUTO };
    int operands = 0;
    exit_code code;
    if (!options_parse(&code, verb, count, args, &set, &operands))
        return code;
    if (operands != 1)
        return report_usage(verb, "expects one model");
    if (!set.text)
        return report_usage(verb, "expects --text FILE, the text to read");
    if (set.html && strcmp(set.html, "-") == 0)
        return report_usage(verb, "--html expects a file, not standard output");
    code = find_units(&set, args[0]);
    free(set.properties.items);
    return code;
}
