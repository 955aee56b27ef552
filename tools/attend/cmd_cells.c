/* attend cells: which units of a recurrent model keep track of something in the text it reads. */
#include "program.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "output.h"

typedef struct settings {
    const char *text;
    const char *html;
    int signal; /* att_unit_signal */
    double test_fraction;
    long max_tokens;
    long top;
    bool json;
    int color; /* colour_choice */
    bool ascii;
} settings;

const char cells_details[] =
    "Lets a recurrent model read a text and compares each of its units with properties of the\n"
    "text: inside quotation marks, the depth of brackets, the column, and more. Tells for each\n"
    "property the unit that goes along with it best, chosen on the first part of the text, and\n"
    "its correlation on the rest.\n";

const char *const signal_choices[] = { "auto", "hidden", "cell", NULL };

#define ROW(NAME, LETTER, KIND, MEMBER, TAKES, SAYS, ...)                                          \
    {                                                                                              \
        .name = NAME, .short_name = LETTER, .kind = OPTION_##KIND,                                 \
        .offset = offsetof(settings, MEMBER), .placeholder = TAKES, .help = SAYS, ##__VA_ARGS__    \
    }

const option cells_options[] = {
    ROW("text", 't', STRING, text, "FILE",
        "text that the model reads ('-' is standard input); required"),
    ROW("html", 0, STRING, html, "FILE",
        "write an HTML page with passages colored by the activation of each unit"),
    ROW("json", 0, FLAG, json, NULL, "print one JSON object instead of the table"),
    ROW("signal", 0, CHOICE, signal, "WHAT",
        "what is read off a unit: hidden, or cell (default where there is one)",
        .choices = signal_choices),
    ROW("held-out", 0, REAL, test_fraction, "PART",
        "fraction of the text, its end, on which the correlation is measured (default 0.25)",
        .min = 0.01, .max = 0.99),
    ROW("max-tokens", 0, INTEGER, max_tokens, "N",
        "maximum number of tokens to read (default 1000000)", .min = 1000, .max = 1e9),
    ROW("top", 0, INTEGER, top, "N",
        "number of best units per property in the JSON output (default 3)", .min = 1, .max = 1000),
    ROW("color", 0, CHOICE, color, "WHEN", "use colors: auto (default), always or never",
        .choices = color_choices),
    ROW("ascii", 0, FLAG, ascii, NULL, "use only ASCII characters"),
    { 0 },
};

/* The page, to be written later. */
static att_status add_html_page(output_list *files, const att_cells *cells, const char *path,
                                att_error *err)
{
    output_file *file = output_add(files, path, "page");
    return file ? att_cells_html(&file->bytes, cells, err) : error_memory(err);
}

static att_status print_result(const att_cells *cells, const settings *set, att_error *err)
{
    const att_render_options options = { .ascii = set->ascii,
                                         .color = output_color((color_choice)set->color),
                                         .width = output_width() };
    att_string text = { 0 };
    output_list files = { 0 };
    att_status status =
        set->json ? att_cells_json(&text, cells, err) : att_cells_text(&text, cells, &options, err);
    if (status == ATT_OK && set->html)
        status = add_html_page(&files, cells, set->html, err);
    if (status == ATT_OK)
        status = output_all(&files, &text, err);
    output_free(&files);
    att_string_free(&text);
    return status;
}

/* ---- how far it is */

typedef struct progress_state {
    double begin, shown; /* seconds */
} progress_state;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A text that is read in a moment says nothing. */
static void show_progress(void *context, int64_t read, int64_t all)
{
    enum { UPDATES_PER_SECOND = 5 };
    progress_state *r = context;
    double at = now();
    if (at - r->shown < 1.0 / UPDATES_PER_SECOND)
        return;
    char text[96];
    r->shown = at;
    snprintf(text, sizeof text, "read %lld of %lld tokens, %.0f s left", (long long)read,
             (long long)all, ceil((at - r->begin) * (double)(all - read) / (double)read));
    output_progress(text);
}

static exit_code find_units(const settings *set, const char *path)
{
    double begin = now();
    progress_state progress = { begin, begin };
    const att_cells_options how = { .signal = (att_unit_signal)set->signal,
                                    .held_out = set->test_fraction,
                                    .max_tokens = set->max_tokens,
                                    .n_best = set->top,
                                    .on_progress = show_progress,
                                    .context = &progress };
    att_error err = { 0 };
    att_model *model = NULL;
    att_cells *cells = NULL;
    att_status status =
        output_check_paths((output_names){ &set->html, 1 },
                           (output_names){ (const char *[]){ path, set->text }, 2 }, &err);
    if (status == ATT_OK)
        status = att_model_load(&model, path, &err);
    if (status == ATT_OK)
        status = att_model_cells(&cells, model, set->text, &how, &err);
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
    parse_result parsed = options_parse(verb, count, args, &set, &operands);
    if (parsed != PARSE_OK)
        return parsed == PARSE_HELP ? help_verb(verb) : EXIT_BAD_INPUT;
    if (operands != 1)
        return report_usage(verb, "expects one model");
    if (!set.text)
        return report_usage(verb, "expects --text FILE, what the model is to read");
    if (set.html && strcmp(set.html, "-") == 0)
        return report_usage(verb, "--html writes a file, not standard output");
    return find_units(&set, args[0]);
}
