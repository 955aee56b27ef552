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
    int signal; /* att_signal */
    double held_out;
    long most;
    long best;
    bool json;
    int colour; /* colour_choice */
    bool ascii;
} settings;

const char cells_details[] =
    "Lets a recurrent model read a text and compares each of its units with properties of the\n"
    "text: inside quotation marks, the depth of brackets, the column, and more. Tells for each\n"
    "property the unit that goes along with it best, chosen on the first part of the text, and\n"
    "its correlation on the rest.\n";

const char *const signal_words[] = { "usual", "hidden", "cell", NULL };

#define ROW(NAME, LETTER, KIND, MEMBER, TAKES, SAYS, ...)                                          \
    {                                                                                              \
        .name = NAME, .letter = LETTER, .kind = OPTION_##KIND,                                     \
        .offset = offsetof(settings, MEMBER), .takes = TAKES, .says = SAYS, ##__VA_ARGS__          \
    }

const option cells_options[] = {
    ROW("text", 't', TEXT, text, "FILE", "the text to read (- for standard input); must be given"),
    ROW("html", 0, TEXT, html, "FILE", "a page with passages coloured by the units found"),
    ROW("json", 0, FLAG, json, NULL, "write one JSON object instead of the table"),
    ROW("signal", 0, WORD, signal, "WHAT",
        "what is read off a unit: hidden, or cell (default where there is one)",
        .words = signal_words),
    ROW("held-out", 0, REAL, held_out, "PART",
        "part of the text, its end, to measure on (default 0.25)", .least = 0.01, .most = 0.99),
    ROW("most", 0, NUMBER, most, "N", "read so many tokens at most (default 1000000)",
        .least = 1000, .most = 1e9),
    ROW("best", 0, NUMBER, best, "N", "units of each property in the JSON (default 3)", .least = 1,
        .most = 1000),
    ROW("colour", 0, WORD, colour, "WHEN", "auto (default), always or never",
        .words = colour_words),
    ROW("color", 0, WORD, colour, "WHEN", NULL, .words = colour_words),
    ROW("ascii", 0, FLAG, ascii, NULL, "draw with ASCII characters alone"),
    { 0 },
};

/* The page, to be written later. */
static att_status make_page(output_list *files, const att_cells *cells, const char *path,
                            att_error *err)
{
    output_file *file = output_add(files, path, "page");
    return file ? att_cells_html(&file->bytes, cells, err) : error_memory(err);
}

static att_status tell(const att_cells *cells, const settings *set, att_error *err)
{
    const att_render_options options = { .ascii = set->ascii,
                                         .colour = output_colour((colour_choice)set->colour),
                                         .width = output_width() };
    att_text text = { 0 };
    output_list files = { 0 };
    att_status status =
        set->json ? att_cells_json(&text, cells, err) : att_cells_text(&text, cells, &options, err);
    if (status == ATT_OK && set->html)
        status = make_page(&files, cells, set->html, err);
    if (status == ATT_OK)
        status = output_all(&files, &text, err);
    output_free(&files);
    att_text_free(&text);
    return status;
}

/* ---- how far it is */

typedef struct reading {
    double begin, shown; /* seconds */
} reading;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A text that is read in a moment says nothing. */
static void show_progress(void *context, int64_t read, int64_t all)
{
    enum { NEWS_A_SECOND = 5 };
    reading *r = context;
    double at = now();
    if (at - r->shown < 1.0 / NEWS_A_SECOND)
        return;
    char text[96];
    r->shown = at;
    snprintf(text, sizeof text, "read %lld of %lld tokens, %.0f s left", (long long)read,
             (long long)all, ceil((at - r->begin) * (double)(all - read) / (double)read));
    output_live(text);
}

static exit_code search(const settings *set, const char *path)
{
    double begin = now();
    reading progress = { begin, begin };
    const att_cells_how how = { .signal = (att_signal)set->signal,
                                .held_out = set->held_out,
                                .most = set->most,
                                .best = set->best,
                                .told = show_progress,
                                .context = &progress };
    att_error err = { 0 };
    att_model *model = NULL;
    att_cells *cells = NULL;
    att_status status =
        output_apart((output_names){ &set->html, 1 },
                     (output_names){ (const char *[]){ path, set->text }, 2 }, &err);
    if (status == ATT_OK)
        status = att_model_load(&model, path, &err);
    if (status == ATT_OK)
        status = att_model_cells(&cells, model, set->text, &how, &err);
    output_live_clear();
    if (status == ATT_OK)
        status = tell(cells, set, &err);
    att_cells_free(cells);
    att_model_free(model);
    return status == ATT_OK ? EXIT_DONE : report(status, &err);
}

exit_code cells_run(const struct verb *verb, int count, char **args)
{
    settings set = { .colour = COLOUR_AUTO };
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
    return search(&set, args[0]);
}
