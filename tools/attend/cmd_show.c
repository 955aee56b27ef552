/* attend show: draws the attention of a model for an input, by the function for its type
 * (show_<type>.c), or what happens inside an RNN. */
#include "show.h"

#include <string.h>

const char show_details[] =
    "Runs a seq2seq model on INPUT and draws the attention map: one row per output token, one "
    "column per source token. --target draws it for a given output (teacher forcing). For a "
    "Transformer, --part encoder and --part decoder draw self-attention, by --layer and --head.\n"
    "\n"
    "A text INPUT of '-' is read from standard input.\n"
    "\n"
    "For a Transformer language model, draws the self-attention of the text INPUT: each row is a "
    "token and the tokens that it attends to.\n"
    "\n"
    "For a classifier with attention pooling, highlights the words of INPUT by their attention "
    "weights; for a Transformer with a stop token, by the attention of that token. For a tagger, "
    "writes the labels beside the tokens of INPUT, colored by their probabilities. With --part "
    "encoder, --layer or --heads, either draws the self-attention of a Transformer encoder.\n"
    "\n"
    "--overview shows all layers and heads of a Transformer at once, --arcs draws arcs between "
    "words. --alternatives lists the most probable tokens at each step of an output, caption or "
    "text, or the most probable labels of a classifier or tagger. --beam-tree shows what a beam "
    "search kept and dropped: for an output, a caption, or what follows a prompt of a language "
    "model.\n"
    "\n"
    "For a caption model, draws the attention of each word of the caption over the image: image "
    "--image-index of the features, or with --image-encoder the image file INPUT. Without an "
    "encoder, INPUT is only the background, and optional.\n"
    "\n"
    "For an RNN of any type, --cell LAYER:UNIT lets it read INPUT and "
    "colors each token by the activation of one unit. For an RNN language model, --gradients plots "
    "how far the gradient flows back: the norm of the gradient of the last token's loss at the "
    "hidden state after each earlier token.\n";

enum { TYPES_ATTENTION = TYPE_SEQ2SEQ | TYPE_LM | TYPE_CLASSIFIER | TYPE_TAGGER };

static const char *const part_choices[] = { "cross", "encoder", "decoder", NULL };

#define ROW(NAME, SHORT, TYPE, MEMBER, PLACEHOLDER, HELP, ...)                                     \
    OPTION_ROW(show_settings, NAME, SHORT, TYPE, MEMBER, PLACEHOLDER, HELP, ##__VA_ARGS__)

const option show_options[] = {
    ROW("target", 't', STRING, target, "TEXT",
        "show the attention for this output (teacher forcing) instead of the model's own",
        .model_types = TYPES_GENERATE_LINES),
    DECODING_OPTIONS(show_settings, TYPES_GENERATE),
    ROW("part", 0, CHOICE, part, "WHICH",
        "attention to show: cross (default), encoder self-attention or decoder self-attention",
        .choices = part_choices),
    ROW("layer", 0, INTEGER, layer, "N", "layer to show (default: the last)", .min = 1,
        .max = 1000),
    ROW("head", 0, INTEGER, head, "N", "head to show (default: mean over all heads)", .min = 1,
        .max = 1000),
    ROW("heads", 0, FLAG, heads, NULL, "show all heads of the layer side by side"),
    ROW("overview", 0, FLAG, overview, NULL,
        "show all layers and heads of a Transformer as one picture; as text, where each attends",
        .model_types = TYPES_ATTENTION),
    ROW("arcs", 0, FLAG, arcs, NULL,
        "draw attention as arcs between words, in --svg, --png, --pdf and --html",
        .model_types = TYPES_ATTENTION),
    ROW("alternatives", 0, INTEGER, alternatives, "N",
        "show the N most probable tokens at each step, or labels, instead of attention", .min = 1,
        .max = 100),
    ROW("beam-tree", 0, FLAG, beam_tree, NULL,
        "with --beam: show the search as a tree, with scores and what was dropped; for a language "
        "model, INPUT is the prompt",
        .model_types = TYPES_GENERATE,
        .instead = "it chooses among labels, without a beam; --alternatives N shows the most "
                   "probable ones"),
    ROW("max-new-tokens", 0, INTEGER, max_new_tokens, "N",
        "with --beam-tree: tokens to search for after the prompt (default 10)", .min = 1,
        .max = 1000, .model_types = TYPE_LM),
    ROW("cell", 0, STRING, unit, "LAYER:UNIT",
        "color the input by the activation of one unit of an RNN"),
    ROW("signal", 0, CHOICE, signal, "WHAT", "state to read: hidden, or cell (default for an LSTM)",
        .choices = signal_choices),
    ROW("gradients", 0, FLAG, gradients, NULL,
        "plot the gradient flow of an RNN language model: the norm of the gradient of the last "
        "loss at every earlier state"),
    ROW("compare", 0, STRING, compare, "MODELS",
        "with --gradients: further models to plot beside it, separated by commas", .is_list = true),
    ROW("json", 0, FLAG, json, NULL,
        "print a JSON object instead: the output of a seq2seq model or classifier with its "
        "attention, the map of self-attention, or with --cell or --gradients the values"),
    ROW("svg", 0, STRING, svg, "FILE", "write the figure as SVG"),
    ROW("png", 0, STRING, png, "FILE", "write the figure as PNG"),
    ROW("pdf", 0, STRING, pdf, "FILE", "write the figure as PDF"),
    ROW("scale", 0, REAL, scale, "X", "PNG pixels per SVG pixel (default 2)", .min = 0.01,
        .max = 100),
    ROW("html", 0, STRING, html, "FILE",
        "write an HTML page with the attention map; of cross-attention also tokens and "
        "probabilities"),
    ROW("digits", 'd', INTEGER, digits, "N", "digits after the decimal point (default 2)", .min = 0,
        .max = 17),
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
    ROW("recorded-data", 0, FLAG, recorded_data, NULL,
        "open the image features that MODEL names: for models that you trust",
        .model_types = TYPE_CAPTION),
    { 0 },
};

static const show_settings defaults = { .digits = 2,
                                        .color = COLOR_AUTO,
                                        .part = SHOW_PART_DEFAULT };

static model_function *const show_functions[ATT_MODEL_TYPES] = {
    [ATT_MODEL_SEQ2SEQ] = show_seq2seq,       [ATT_MODEL_LM] = show_lm,
    [ATT_MODEL_CLASSIFIER] = show_classifier, [ATT_MODEL_CAPTION] = show_caption,
    [ATT_MODEL_TAGGER] = show_tagger,
};

static model_function *const unit_functions[ATT_MODEL_TYPES] = { show_unit, show_unit, show_unit,
                                                                 show_unit, show_unit };

static model_function *const gradient_functions[ATT_MODEL_TYPES] = { show_gradients, show_gradients,
                                                                     show_gradients, show_gradients,
                                                                     show_gradients };

static model_function *const alternatives_functions[ATT_MODEL_TYPES] = {
    show_alternatives, show_alternatives, show_alternatives, show_alternatives, show_alternatives
};

static model_function *const tree_functions[ATT_MODEL_TYPES] = {
    [ATT_MODEL_SEQ2SEQ] = show_beam_tree,
    [ATT_MODEL_LM] = show_beam_tree,
    [ATT_MODEL_CAPTION] = show_beam_tree,
};

/* What to show, by the options. */
static model_function *const *functions_of(const show_settings *set)
{
    return set->unit           ? unit_functions
           : set->gradients    ? gradient_functions
           : set->alternatives ? alternatives_functions
           : set->beam_tree    ? tree_functions
                               : show_functions;
}

drawing_files show_drawing_files(const show_settings *set)
{
    return (drawing_files){ set->svg, set->png, set->pdf, set->scale, output_digits(set->digits),
                            set->arcs };
}

static att_status check_paths(const show_settings *set, const char *path, const char *input,
                              att_error *err)
{
    const char *const written[] = { set->svg, set->png, set->pdf, set->html };
    const char *const read[] = { path, input, set->features, set->image_encoder };
    return output_check_paths((output_names){ written, sizeof written / sizeof *written },
                              (output_names){ read, sizeof read / sizeof *read }, err);
}

static bool generates(const decoding_options *options)
{
    return options->beam > 0 || options->sample || options->no_repeat_ngram > 0;
}

static bool show_steps(const show_settings *set)
{
    return set->alternatives || set->beam_tree;
}

/* Only a caption model needs no input: it has validation images. */
static exit_code check_input(const model_verb *with, att_model_type type, const char *input)
{
    const show_settings *set = with->settings;
    if (set->beam_tree && set->decoding.beam < 2)
        return report_usage(with->verb, "--beam-tree needs --beam of at least 2");
    if (type == ATT_MODEL_CAPTION && (set->part > SHOW_CROSS))
        return report_usage(with->verb, "--part does not apply to a caption model");
    if (type == ATT_MODEL_LM && !set->beam_tree && generates(&set->decoding))
        return report_usage(with->verb, "--beam, --sample and --no-repeat-ngram need --beam-tree "
                                        "for a language model: it reads INPUT and generates "
                                        "nothing");
    if (type == ATT_MODEL_LM && set->decoding.ensemble && !show_steps(set))
        return report_usage(with->verb, "--ensemble needs --alternatives or --beam-tree for a "
                                        "language model: an attention map is of one model");
    if (set->json && type == ATT_MODEL_CAPTION && !show_inspects_rnn(set) && !show_steps(set))
        return report_usage(with->verb, "--json does not apply to a caption model; use attend run");
    if (input || (type == ATT_MODEL_CAPTION && !show_inspects_rnn(with->settings)))
        return EXIT_DONE;
    return report_usage(with->verb, "expects a model and an input");
}

static const char *conflict(const show_settings *set)
{
    const drawing_files asked = show_drawing_files(set);
    const char *wrong = drawing_files_conflict(&asked);
    if (wrong)
        return wrong;
    if (set->html && (strcmp(set->html, "-") == 0 || !set->html[0]))
        return "--html expects a file, not standard output";
    if (set->quiet && !set->html && !drawing_files_any(&asked))
        return "--quiet needs --svg, --png, --pdf or --html: there would be no output";
    if (set->head > 0 && set->heads)
        return "--head and --heads exclude each other";
    if (set->unit && set->gradients)
        return "--cell and --gradients exclude each other";
    if (set->signal && !show_inspects_rnn(set))
        return "--signal needs --cell or --gradients";
    if (set->overview && (set->heads || set->head || set->layer))
        return "--overview shows all layers and heads: it excludes --layer, --head and --heads";
    if (set->overview && set->arcs)
        return "--overview and --arcs exclude each other";
    if (set->arcs && !set->html && !drawing_files_any(&asked))
        return "--arcs needs --svg, --png, --pdf or --html";
    if (set->alternatives && (set->beam_tree || set->overview || set->arcs || set->heads ||
                              set->head || set->layer || set->part != SHOW_PART_DEFAULT))
        return "--alternatives excludes --beam-tree and the options of attention";
    if (set->alternatives && drawing_files_any(&asked))
        return "--alternatives is text, --json or --html";
    if (set->beam_tree && (set->html || set->target || set->overview || set->arcs || set->heads ||
                           set->head || set->layer || set->part != SHOW_PART_DEFAULT))
        return "--beam-tree excludes --html, --target and the options of attention";
    if (set->max_new_tokens && !set->beam_tree)
        return "--max-new-tokens needs --beam-tree";
    if (set->compare && !set->gradients)
        return "--compare needs --gradients";
    return decoding_conflict(&set->decoding);
}

exit_code show_run(const struct verb *verb, int count, char **args)
{
    show_settings set = defaults;
    int operands = 0;
    exit_code code;
    if (!options_parse(&code, verb, count, args, &set, &operands))
        return code;
    const char *wrong = conflict(&set);
    if (!wrong && (operands < 1 || operands > 2))
        wrong = "expects a model and an input";
    if (wrong)
        return report_usage(verb, "%s", wrong);
    if (show_inspects_rnn(&set)) {
        code = show_check_rnn_options(verb, &set, &defaults);
        if (code != EXIT_DONE)
            return code;
    }
    att_error err = { 0 };
    const char *input = operands > 1 ? args[1] : NULL;
    att_status status = check_paths(&set, args[0], input, &err);
    if (status != ATT_OK)
        return report(status, &err);
    const model_verb with = {
        .verb = verb,
        .settings = &set,
        .defaults = &defaults,
        .decoding = &set.decoding,
        .functions = functions_of(&set),
        .check = check_input,
        .blames_model = true,
    };
    return model_verb_run(&with, args[0], input);
}
