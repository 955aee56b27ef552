/* attend show: an answer, and where in the source the model looked for each of its tokens. */
#include "program.h"

#include <stddef.h>
#include <string.h>

#include "decoding.h"
#include "output.h"
#include "pictures.h"

typedef struct settings {
    decoding_options decoding;
    const char *target;
    const char *svg;
    const char *png;
    const char *pdf;
    const char *html;
    double scale; /* 0: not given */
    long layer;   /* 0: not given */
    long head;
    bool heads;
    long digits;
    int colour; /* colour_choice */
    bool ascii;
    bool quiet;
} settings;

const char show_details[] =
    "Answers INPUT and draws the attention: a row for each token of the answer, a column for each\n"
    "of the input. With --target, draws it for an answer that is given, right or wrong.\n";

#define ROW(NAME, LETTER, KIND, MEMBER, TAKES, SAYS, ...)                                          \
    {                                                                                              \
        .name = NAME, .letter = LETTER, .kind = OPTION_##KIND,                                     \
        .offset = offsetof(settings, MEMBER), .takes = TAKES, .says = SAYS, ##__VA_ARGS__          \
    }

const option show_options[] = {
    ROW("target", 't', TEXT, target, "TEXT", "follow this answer instead of the model's own"),
    DECODING_OPTIONS(settings),
    ROW("layer", 0, NUMBER, layer, "N", "draw this layer of the model (default: the last)",
        .least = 1, .most = 1000),
    ROW("head", 0, NUMBER, head, "N", "draw this head of the layer (default: the mean of all)",
        .least = 1, .most = 1000),
    ROW("heads", 0, FLAG, heads, NULL, "draw every head of the layer, beside each other"),
    ROW("svg", 0, TEXT, svg, "FILE", "draw the map as SVG"),
    ROW("png", 0, TEXT, png, "FILE", "the same as PNG"),
    ROW("pdf", 0, TEXT, pdf, "FILE", "the same as PDF"),
    ROW("scale", 0, REAL, scale, "X", "pixels of a PNG to one of the SVG (default 2)",
        .least = 0.01, .most = 100),
    ROW("html", 0, TEXT, html, "FILE", "a page with the map, tokens and probabilities"),
    ROW("digits", 'd', NUMBER, digits, "N", "digits after the decimal point (default 2)",
        .least = 0, .most = 17),
    ROW("colour", 0, WORD, colour, "WHEN", "auto (default), always or never",
        .words = colour_words),
    ROW("color", 0, WORD, colour, "WHEN", NULL, .words = colour_words),
    ROW("ascii", 0, FLAG, ascii, NULL, "draw with ASCII characters alone"),
    ROW("quiet", 'q', FLAG, quiet, NULL, "no map in the terminal, only files"),
    { 0 },
};

/* The map as text, headed by the answer. */
static att_status make_text(att_text *out, const att_answer *answer, const att_map *map,
                            const settings *set, att_error *err)
{
    const att_render_options options = { .digits = (int)set->digits,
                                         .ascii = set->ascii,
                                         .colour = output_colour((colour_choice)set->colour),
                                         .width = output_width() };
    if (text_join(out,
                  (text_piece[]){ { answer->text, strlen(answer->text) }, { "\n\n", 2 }, { 0 } }) !=
        ATT_OK)
        return error_memory(err);
    return att_map_text(out, map, &options, err);
}

/* The page, to be written later. */
static att_status make_page(output_list *files, const att_answer *answer, const att_map *map,
                            const char *path, att_error *err)
{
    output_file *file = output_add(files, path, "page");
    return file ? att_answer_html(&file->bytes, answer, map, err) : error_memory(err);
}

static att_status show_answer(const att_answer *answer, const settings *set, att_error *err)
{
    const picture_files asked = { set->svg, set->png, set->pdf, set->scale };
    att_map map;
    if (answer->source_count == 0)
        return error_set(err, ATT_BAD_INPUT, "", "the input has no tokens");
    if (!(set->heads ? att_answer_layer_map(&map, answer, set->layer)
                     : att_answer_map(&map, answer)))
        return error_set(err, ATT_BAD_INPUT, "",
                         "the model has no attention to show: it was trained with none, or with a "
                         "fixed context");
    att_text text = { 0 };
    output_list files = { 0 };
    att_status status = pictures_make(&files, (const att_map *[]){ &map }, 1, &asked, err);
    if (status == ATT_OK && set->html)
        status = make_page(&files, answer, &map, set->html, err);
    if (status == ATT_OK && !set->quiet)
        status = make_text(&text, answer, &map, set, err);
    if (status == ATT_OK)
        status = output_check(&files, err);
    if (status == ATT_OK)
        status = output_save(&files, err);
    if (status == ATT_OK)
        status = output_stdout(text.data, text.length, err);
    output_free(&files);
    att_text_free(&text);
    return status;
}

static exit_code show(const settings *set, const char *path, const char *input)
{
    att_error err = { 0 };
    decoding models;
    att_answers *answers = NULL;
    att_status status = decoding_open(&models, &set->decoding, path, &err);
    if (status == ATT_OK) {
        const att_answer_how how = { .decoding = models.how,
                                     .attention = true,
                                     .every_head = set->heads,
                                     .layer = set->layer,
                                     .head = set->head,
                                     .targets = set->target ? &set->target : NULL };
        status = att_model_answer(&answers, models.model, &input, 1, &how, &err);
        err.line = 0; /* there is but one line */
    }
    if (status == ATT_OK)
        status = show_answer(att_answers_get(answers, 0), set, &err);
    att_answers_free(answers);
    decoding_close(&models);
    return status == ATT_OK ? EXIT_DONE : report(status, &err);
}

exit_code show_run(const struct verb *verb, int count, char **args)
{
    settings set = { .digits = 2, .colour = COLOUR_AUTO };
    int operands = 0;
    parse_result parsed = options_parse(verb, count, args, &set, &operands);
    if (parsed != PARSE_OK)
        return parsed == PARSE_HELP ? help_verb(verb) : EXIT_BAD_INPUT;
    const picture_files asked = { set.svg, set.png, set.pdf, set.scale };
    const char *wrong = pictures_bad(&asked);
    if (!wrong && set.html && (strcmp(set.html, "-") == 0 || !set.html[0]))
        wrong = "--html writes a file, not standard output";
    if (!wrong && set.quiet && !set.html && !pictures_asked(&asked))
        wrong = "--quiet needs --svg, --png, --pdf or --html: there would be nothing to see";
    if (!wrong && set.head > 0 && set.heads)
        wrong = "--head draws one head and --heads all of them";
    if (!wrong)
        wrong = decoding_bad(&set.decoding);
    if (!wrong && operands != 2)
        wrong = "expects a model and an input";
    if (wrong)
        return report_usage(verb, "%s", wrong);
    return show(&set, args[0], args[1]);
}
