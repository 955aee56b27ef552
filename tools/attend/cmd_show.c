/* attend show: what a model makes of an input, as suits its kind (show_<kind>.c). */
#include "show.h"

#include <stddef.h>
#include <string.h>

#include "kinds.h"
#include "output.h"
#include "drawing_files.h"

const char show_details[] =
    "Answers INPUT and draws the attention: a row for each token of the answer, a column for each\n"
    "of the input. With --target, draws it for an answer that is given, right or wrong. A\n"
    "Transformer looks at the input (--part encoder) and at its answer (--part decoder) likewise.\n"
    "\n"
    "With --cell, lets a recurrent model read INPUT (- for standard input) and colours each "
    "token\n"
    "by what one unit does after it. With --gradients, plots how far a recurrent language model's\n"
    "loss of the last token reaches back: the norm of its gradient for each state before.\n"
    "\n"
    "Of a model of pictures, shows what it says of picture N and a strip: a copy of the picture "
    "for\n"
    "each word, bright where the model looked. INPUT is then the photograph to lay it over, and "
    "may\n"
    "be left out.\n";

static const char *const part_choices[] = { "cross", "encoder", "decoder", NULL };

#define ROW(NAME, LETTER, KIND, MEMBER, TAKES, SAYS, ...)                                          \
    {                                                                                              \
        .name = NAME, .short_name = LETTER, .kind = OPTION_##KIND,                                 \
        .offset = offsetof(show_settings, MEMBER), .placeholder = TAKES, .help = SAYS,             \
        ##__VA_ARGS__                                                                              \
    }

const option show_options[] = {
    ROW("target", 't', STRING, target, "TEXT",
        "show the attention for this output (teacher forcing) instead of the model's own",
        .model_types = TYPES_GENERATE_LINES),
    DECODING_OPTIONS(show_settings, TYPES_GENERATE_LINES),
    ROW("part", 0, CHOICE, part, "WHICH",
        "attention to show: cross (default), encoder self-attention or decoder self-attention",
        .choices = part_choices, .model_types = TYPES_GENERATE_LINES),
    ROW("layer", 0, INTEGER, layer, "N", "layer to show (default: the last)", .min = 1, .max = 1000,
        .model_types = TYPES_GENERATE_LINES),
    ROW("head", 0, INTEGER, head, "N", "head to show (default: mean over all heads)", .min = 1,
        .max = 1000),
    ROW("heads", 0, FLAG, heads, NULL, "show all heads of the layer side by side",
        .model_types = TYPES_GENERATE_LINES),
    ROW("cell", 0, STRING, unit, "LAYER:UNIT",
        "color the input by the activation of one unit of an RNN"),
    ROW("signal", 0, CHOICE, signal, "WHAT", "state to read: hidden, or cell (default for an LSTM)",
        .choices = signal_choices),
    ROW("gradients", 0, FLAG, gradients, NULL,
        "plot the gradient flow of an RNN language model: the norm of the gradient of the last "
        "loss at every earlier state"),
    ROW("json", 0, FLAG, json, NULL,
        "with --unit or --gradients: print the values as a JSON object"),
    ROW("svg", 0, STRING, svg, "FILE", "write the figure as SVG"),
    ROW("png", 0, STRING, png, "FILE", "write the figure as PNG"),
    ROW("pdf", 0, STRING, pdf, "FILE", "write the figure as PDF"),
    ROW("scale", 0, REAL, scale, "X", "PNG pixels per SVG pixel (default 2)", .min = 0.01,
        .max = 100),
    ROW("html", 0, STRING, html, "FILE",
        "write an HTML page with the attention map, tokens and probabilities"),
    ROW("digits", 'd', INTEGER, digits, "N", "digits after the decimal point (default 2)", .min = 0,
        .max = 17, .model_types = TYPES_GENERATE_LINES),
    ROW("color", 0, CHOICE, color, "WHEN", "use colors: auto (default), always or never",
        .choices = color_choices),
    ROW("ascii", 0, FLAG, ascii, NULL, "use only ASCII characters"),
    ROW("quiet", 'q', FLAG, quiet, NULL, "write files only, print nothing"),
    ROW("image-index", 0, INTEGER, image_index, "N",
        "index of the image in the features file, from 0 (default 0)", .min = 0, .max = 1e9,
        .model_types = TYPE_CAPTION),
    ROW("image-encoder", 0, STRING, image_encoder, "FILE", "image encoder for the image file INPUT",
        .model_types = TYPE_CAPTION),
    ROW("features", 0, STRING, features, "FILE",
        "image features as .npy (default: the model's validation features)",
        .model_types = TYPE_CAPTION),
    { 0 },
};

static const show_settings defaults = { .digits = 2, .color = COLOR_AUTO };

/* A language model answers nothing: what can be seen of it is inside. */
static att_status show_lm(const show_settings *set, const decoding *models, const char *input,
                          att_error *err)
{
    (void)set;
    (void)models;
    (void)input;
    return error_set(err, ATT_BAD_INPUT, "",
                     "a language model has no answer to draw; --cell and --gradients look inside "
                     "a recurrent one");
}

static show_by_type *const show_functions[ATT_MODEL_TYPES] = { [ATT_MODEL_SEQ2SEQ] = show_seq2seq,
                                                               [ATT_MODEL_LM] = show_lm,
                                                               [ATT_MODEL_CLASSIFIER] =
                                                                   show_classifier,
                                                               [ATT_MODEL_CAPTION] = show_caption };

static att_status check_paths(const show_settings *set, const char *path, const char *input,
                              att_error *err)
{
    const char *const written[] = { set->svg, set->png, set->pdf, set->html };
    const char *const read[] = { path, input, set->features, set->image_encoder };
    return output_check_paths((output_names){ written, sizeof written / sizeof *written },
                              (output_names){ read, sizeof read / sizeof *read }, err);
}

static exit_code show(const struct verb *verb, const show_settings *set, const char *path,
                      const char *input)
{
    att_error err = { 0 };
    decoding models;
    exit_code code = EXIT_DONE;
    att_status status = check_paths(set, path, input, &err);
    if (status != ATT_OK)
        return report(status, &err);
    status = decoding_open(&models, &set->decoding, path, &err);
    if (status == ATT_OK) {
        att_model_type kind = att_model_type_get(models.model);
        show_by_type *way = set->unit        ? show_unit
                            : set->gradients ? show_gradients
                                             : show_functions[kind];
        code = show_inspects_units(set) ? show_units_check(verb, set, &defaults)
                                        : model_type_check(verb, kind, way != NULL, set, &defaults);
        if (code == EXIT_DONE && !input && (kind != ATT_MODEL_CAPTION || show_inspects_units(set)))
            code = report_usage(verb, "expects a model and an input");
        if (code == EXIT_DONE)
            status = way(set, &models, input, &err);
    }
    decoding_close(&models);
    return status == ATT_OK ? code : report(status, &err);
}

exit_code show_run(const struct verb *verb, int count, char **args)
{
    show_settings set = defaults;
    int operands = 0;
    parse_result parsed = options_parse(verb, count, args, &set, &operands);
    if (parsed != PARSE_OK)
        return parsed == PARSE_HELP ? help_verb(verb) : EXIT_BAD_INPUT;
    const drawing_files asked = { set.svg, set.png, set.pdf, set.scale };
    const char *wrong = drawing_files_conflict(&asked);
    if (!wrong && set.html && (strcmp(set.html, "-") == 0 || !set.html[0]))
        wrong = "--html writes a file, not standard output";
    if (!wrong && set.quiet && !set.html && !drawing_files_any(&asked))
        wrong = "--quiet needs --svg, --png, --pdf or --html: there would be nothing to see";
    if (!wrong && set.head > 0 && set.heads)
        wrong = "--head draws one head and --heads all of them";
    if (!wrong && (set.json || set.signal) && !show_inspects_units(&set))
        wrong = "--json and --signal are for --cell and --gradients";
    if (!wrong && set.html && set.part != SHOW_CROSS)
        wrong = "--html is for the attention of the answer to the input";
    if (!wrong)
        wrong = decoding_conflict(&set.decoding);
    if (!wrong && (operands < 1 || operands > 2))
        wrong = "expects a model and an input";
    if (wrong)
        return report_usage(verb, "%s", wrong);
    return show(verb, &set, args[0], operands > 1 ? args[1] : NULL);
}
