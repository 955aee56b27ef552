/* attend explain: computes worksheets and prints them as documents, and their attention maps as
 * figures.
 *
 * All results are complete before the first is written: a sheet that cannot be computed, or a
 * figure that cannot be drawn, leaves no partial output behind. */
#include "program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drawing_files.h"
#include "output.h"
#include "sheets.h"
#include "terminal.h"

typedef struct settings {
    int format; /* index of formats; -1: not given */
    const char *output;
    long digits;
    int detail; /* index of detail_choices; -1: not given */
    const char *only;
    long row;
    long head;
    int color; /* color_choice */
    bool ascii;
    const char *svg;
    const char *png;
    const char *pdf;
    string_list diagrams;
    double scale; /* 0: not given */
    bool quiet;
    const char *input; /* explain a model on this line or image */
    const char *target;
    int part; /* att_attention_block; -1: not given */
    long layer;
    int language; /* att_export_language; -1: no program, but a document */
    long step;
    const char *image_encoder;
    long image_index; /* -1: not given */
    bool recorded_data;
} settings;

const char explain_details[] =
    "Computes each SHEET step by step, checks its expected values, and prints every step. Without "
    "SHEET, or for '-', reads standard input. The language of worksheets is described in "
    "docs/worksheets.md.\n"
    "\n"
    "Several sheets become one document; if -o names a folder, each sheet becomes a file in it. "
    "Nothing is written unless every sheet could be computed. A failed check is reported on "
    "standard error, and the exit code is 1.\n"
    "\n"
    "With --input, the operand is a model of any type, which is computed on that input step by "
    "step: embeddings, layers, attention, output layer, probabilities. Of a larger model a part is "
    "worked out, and the sheet says what was left out. The input of a caption model is a file: "
    "image features (.npy), or with --image-encoder an image. With --part, --layer or "
    "--head, one attention head of a Transformer is explained instead. Either sheet expects the "
    "numbers that the model itself computes.\n"
    "\n"
    "With --export, the output is a Python program that needs NumPy or PyTorch alone, computes the "
    "same values and asserts the same claims.\n";

/* In the order of att_attention_block. */
static const char *const part_choices[] = { "encoder", "decoder", "cross", NULL };

/* In the order of att_export_language. */
static const char *const language_choices[] = { "numpy", "pytorch", NULL };

/* In the order of att_detail, from ATT_DETAIL_NONE on. */
static const char *const detail_choices[] = { "none", "one", "all", NULL };

/* X(word of --format, file extension, format); the first is the default. */
#define FORMATS(X)                                                                                 \
    X("text", ".txt", ATT_FORMAT_TEXT)                                                             \
    X("md", ".md", ATT_FORMAT_MARKDOWN)                                                            \
    X("latex", ".tex", ATT_FORMAT_LATEX)                                                           \
    X("html", ".html", ATT_FORMAT_HTML)                                                            \
    X("json", ".json", ATT_FORMAT_JSON)

#define FORMAT_WORD(WORD, EXTENSION, FORMAT) (WORD),
static const char *const format_choices[] = { FORMATS(FORMAT_WORD) NULL };

#define FORMAT_ROW(WORD, EXTENSION, FORMAT) { (EXTENSION), (FORMAT) },
static const struct document_format {
    const char *extension;
    att_format format;
} formats[] = { FORMATS(FORMAT_ROW) };

#define ROW(NAME, SHORT, TYPE, MEMBER, PLACEHOLDER, HELP, ...)                                     \
    OPTION_ROW(settings, NAME, SHORT, TYPE, MEMBER, PLACEHOLDER, HELP, ##__VA_ARGS__)

const option explain_options[] = {
    ROW("format", 'f', CHOICE, format, "NAME",
        "output format: text (default), md, latex, html or json", .choices = format_choices),
    ROW("output", 'o', STRING, output, "FILE", "output file; if a folder, one document per sheet"),
    ROW("export", 0, CHOICE, language, "NAME",
        "write a Python program instead: numpy or pytorch; if -o is a folder, one per sheet",
        .choices = language_choices),
    ROW("digits", 'd', INTEGER, digits, "N", "digits after the decimal point (default 4)", .min = 0,
        .max = 17),
    ROW("detail", 0, CHOICE, detail, "HOW",
        "elements of each result that are worked out: none, one or all (default: as the sheet "
        "says, "
        "or one)",
        .choices = detail_choices),
    ROW("only", 0, STRING, only, "NAME", "show only this result, for example a or a.weights"),
    ROW("row", 0, INTEGER, row, "N", "show only this row of every matrix, from 1", .min = 1,
        .max = 1e9),
    ROW("head", 0, INTEGER, head, "N", "show only this attention head, from 1", .min = 1,
        .max = 1e9),
    ROW("input", 0, STRING, input, "TEXT",
        "explain a model on this input line, the text of a language model, or the image or "
        "features "
        "file of a caption model"),
    ROW("target", 0, STRING, target, "TEXT",
        "target sentence of the decoder (default: the model's own output)"),
    ROW("part", 0, CHOICE, part, "PART",
        "attention to explain: encoder self-attention (default, except for a language model), "
        "decoder "
        "self-attention or cross",
        .choices = part_choices),
    ROW("layer", 0, INTEGER, layer, "N", "layer of the head, from 1 (default 1)", .min = 1,
        .max = 1e9),
    ROW("step", 0, INTEGER, step, "N",
        "with --input: the step of the decoder to explain, from 1 (default: the last of a "
        "Transformer; all of a small RNN, the first of a larger one)",
        .min = 1, .max = 1e9),
    ROW("image-index", 0, INTEGER, image_index, "N",
        "image of the features, from 0 (default 0); without --input, of the validation images of a "
        "caption model",
        .min = 0, .max = 1e9),
    ROW("image-encoder", 0, STRING, image_encoder, "FILE", "image encoder for an image in --input"),
    ROW("recorded-data", 0, FLAG, recorded_data, NULL,
        "with --image-index alone: open the image features that the model names, if you trust it"),
    ROW("color", 0, CHOICE, color, "WHEN", "use colors: auto (default), always or never",
        .choices = color_choices),
    ROW("ascii", 0, FLAG, ascii, NULL, "use only ASCII characters"),
    ROW("svg", 0, STRING, svg, "FILE",
        "write the attention maps of plot statements as SVG; several maps: FILE-1, FILE-2, …"),
    ROW("png", 0, STRING, png, "FILE", "write the figure as PNG"),
    ROW("pdf", 0, STRING, pdf, "FILE", "write the figure as PDF"),
    ROW("diagram", 0, LIST, diagrams, "FILE",
        "draw the values and what they are computed from: .svg, .png, .pdf or .tex (TikZ); with "
        "--only, what leads to this value; can be given several times"),
    ROW("scale", 0, REAL, scale, "X", "PNG pixels per SVG pixel (default 2)", .min = 0.01,
        .max = 100),
    ROW("quiet", 'q', FLAG, quiet, NULL, "print no document, only whether the checks passed"),
    { 0 },
};

static const struct document_format *chosen_format(const settings *set)
{
    return &formats[set->format < 0 ? 0 : set->format];
}

/* Whether one attention head of a model is explained. */
static bool explains_head(const settings *set)
{
    return set->input && (set->part >= 0 || set->layer || set->head);
}

/* Whether the operand is a model. */
static bool explains_model(const settings *set)
{
    return set->input || set->image_index >= 0;
}

/* The same for the options that choose an image. */
static const char *image_conflict(const settings *set)
{
    if (set->image_encoder && (!set->input || set->image_index >= 0))
        return "--image-encoder encodes the image file of --input; --image-index chooses encoded "
               "images";
    if (set->recorded_data && (set->input || set->image_index < 0))
        return "--recorded-data opens the features that a model names, for --image-index without "
               "--input";
    return NULL;
}

/* Options without effect, or that exclude each other, are refused rather than ignored. */
static const char *conflict(const settings *set)
{
    bool text = chosen_format(set)->format == ATT_FORMAT_TEXT;
    bool head_only = set->head && !set->input; /* with --input it chooses the head */
    bool model = explains_model(set);
    if (set->quiet && (set->format >= 0 || set->output || (set->only && set->diagrams.count == 0) ||
                       set->row || head_only || set->detail >= 0))
        return "--quiet prints no document; --format, --output, --detail, --only, --row and --head "
               "need one";
    if (set->language >= 0 && (set->format >= 0 || set->quiet || set->only || set->row ||
                               head_only || set->digits >= 0 || set->detail >= 0 || set->ascii))
        return "--export writes a program; --format, --quiet, --only, --row, --head, --digits, "
               "--detail and --ascii are for documents";
    if (set->ascii && !text)
        return "--ascii needs the text format";
    if (!model && (set->target || set->part >= 0 || set->layer || set->step))
        return "--target, --part, --layer and --step choose what to explain of a model; they need "
               "--input";
    if (set->target && explains_head(set) && set->part <= (int)ATT_BLOCK_ENCODER)
        return "--target needs --part decoder or cross: the encoder has no target";
    if (set->step && explains_head(set))
        return "--step explains the whole model; it excludes --part, --layer and --head";
    if (set->color == COLOR_ALWAYS && !text)
        return "--color needs the text format";
    return image_conflict(set);
}

/* The error in the names of the sheets, or NULL. */
static const char *bad_names(char *const *names, int count)
{
    int inputs = 0;
    for (int i = 0; i < count; i++) {
        if (!names[i][0])
            return "expects a sheet, but its name is empty";
        inputs += strcmp(names[i], "-") == 0;
    }
    return inputs > 1 ? "standard input is given twice" : NULL;
}

static att_render_options render_options(const settings *set)
{
    att_render_options options = {
        .size = sizeof(att_render_options),
        .format = chosen_format(set)->format,
        .digits = output_digits(set->digits),
        .only = set->only,
        .row = set->row,
        .head = set->input ? 0 : set->head,
        .ascii = set->ascii,
        .detail = set->detail < 0 ? ATT_DETAIL_SHEET : (att_detail)(ATT_DETAIL_NONE + set->detail),
    };
    if (!set->output) {
        options.color = output_color((color_choice)set->color);
        options.width = output_width();
    } else if (set->color == COLOR_ALWAYS) {
        options.color = output_color(COLOR_ALWAYS);
    }
    return options;
}

/* The path of the document of a sheet in `folder`: its name with the extension of the format. */
static att_status document_path(att_string *out, const char *folder, const char *sheet,
                                const char *extension)
{
    const char *slash = strrchr(sheet, '/');
    const char *name = strcmp(sheet, "-") == 0 ? "stdin" : slash ? slash + 1 : sheet;
    const char *dot = strrchr(name, '.');
    size_t length = dot && dot != name ? (size_t)(dot - name) : strlen(name);
    bool has_slash = folder[strlen(folder) - 1] == '/';
    return string_join(out, (string_piece[]){ { folder, strlen(folder) },
                                              { "/", has_slash ? 0 : 1 },
                                              { name, length },
                                              { extension, strlen(extension) },
                                              { 0 } });
}

/* The document of one sheet, or its program. */
static att_status make_document(att_string *out, const att_sheet *sheet, const settings *set,
                                att_error *err)
{
    att_render_options options = render_options(set);
    if (set->language >= 0)
        return att_sheet_export(out, sheet, (att_export_language)set->language, err);
    return att_sheet_render(out, sheet, &options, err);
}

/* One document per sheet, in the folder of --output. */
static att_status make_folder(output_list *files, const sheet_list *sheets, const settings *set,
                              att_error *err)
{
    const char *extension = set->language >= 0 ? ".py" : chosen_format(set)->extension;
    for (size_t i = 0; i < sheets->count; i++) {
        att_string path = { 0 };
        output_file *file = NULL;
        if (document_path(&path, set->output, sheets->names[i], extension) == ATT_OK)
            file = output_add(files, path.data, set->language >= 0 ? "program" : "document");
        att_string_free(&path);
        if (!file)
            return error_memory(err);
        att_status status = make_document(&file->bytes, sheets->sheets[i], set, err);
        if (status != ATT_OK)
            return status;
    }
    return ATT_OK;
}

/* The document of all sheets, in *out for standard output, or as one or more files. */
static att_status make_documents(att_string *out, output_list *files, const sheet_list *sheets,
                                 const settings *set, att_error *err)
{
    bool folder = false;
    att_status status = set->output ? output_is_folder(&folder, set->output, err) : ATT_OK;
    if (status != ATT_OK)
        return status;
    if (folder)
        return make_folder(files, sheets, set, err);
    if (set->language >= 0 && sheets->count > 1)
        return error_set(err, ATT_BAD_INPUT, "",
                         "--export of several sheets writes a program for each: expected a folder "
                         "as --output");
    if (set->output) {
        output_file *file =
            output_add(files, set->output, set->language >= 0 ? "program" : "document");
        if (!file)
            return error_memory(err);
        out = &file->bytes;
    }
    if (sheets->count == 1)
        return make_document(out, sheets->sheets[0], set, err);
    att_render_options options = render_options(set);
    return att_sheets_render(out, (const att_sheet *const *)sheets->sheets, sheets->count, &options,
                             err);
}

/* The maps of all plot statements, in each format that was asked for. */
static att_status make_drawings(output_list *files, const sheet_list *sheets, const settings *set,
                                att_error *err)
{
    const drawing_files asked = {
        .svg = set->svg, .png = set->png, .pdf = set->pdf, .scale = set->scale
    };
    const att_map **maps;
    size_t count;
    if (!drawing_files_any(&asked))
        return ATT_OK;
    att_status status = sheets_maps(&maps, &count, sheets, err);
    if (status == ATT_OK && count == 0)
        status = error_set(err, ATT_BAD_INPUT, "",
                           "no map to draw: expected a plot statement in a sheet");
    if (status == ATT_OK)
        status = drawing_files_draw_maps(files, maps, count, &asked, err);
    free(maps);
    return status;
}

static bool has_ending(const char *path, const char *ending)
{
    size_t length = strlen(path), tail = strlen(ending);
    return length > tail && strcmp(path + length - tail, ending) == 0;
}

/* The diagram of the sheet in a file, in the format that its ending says. */
static att_status make_diagram(output_list *files, const att_sheet *sheet, const settings *set,
                               const char *path, att_error *err)
{
    bool tex = has_ending(path, ".tex");
    const drawing_files asked = { has_ending(path, ".svg") ? path : NULL,
                                  has_ending(path, ".png") ? path : NULL,
                                  has_ending(path, ".pdf") ? path : NULL,
                                  set->scale,
                                  0,
                                  false };
    att_string text = { 0 };
    att_status status =
        att_sheet_diagram(&text, sheet, set->only, tex ? ATT_FORMAT_LATEX : ATT_FORMAT_SVG, err);
    if (status == ATT_OK && !tex)
        status = drawing_files_draw_svg(files, &text, "diagram", &asked, err);
    if (status == ATT_OK && tex) {
        output_file *file = output_add(files, path, "diagram");
        status = file ? att_string_append(&file->bytes, text.data, text.length) : ATT_NO_MEMORY;
        if (status != ATT_OK)
            status = error_memory(err);
    }
    att_string_free(&text);
    return status;
}

static att_status make_diagrams(output_list *files, const sheet_list *sheets, const settings *set,
                                att_error *err)
{
    att_status status = ATT_OK;
    for (size_t i = 0; i < set->diagrams.count && status == ATT_OK; i++)
        status = make_diagram(files, sheets->sheets[0], set, set->diagrams.items[i], err);
    return status;
}

static bool is_diagram_name(const char *path)
{
    static const char *const endings[] = { ".svg", ".png", ".pdf", ".tex" };
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (has_ending(path, endings[i]))
            return true;
    return false;
}

/* The error in --diagram, or NULL. */
static const char *diagram_conflict(const settings *set, int sheets)
{
    const string_list *diagrams = &set->diagrams;
    if (diagrams->count > 0 && sheets > 1)
        return "--diagram draws one sheet";
    for (size_t i = 0; i < diagrams->count; i++)
        if (!is_diagram_name(diagrams->items[i]))
            return "--diagram expects a file that ends in .svg, .png, .pdf or .tex";
    return NULL;
}

static bool has_png_diagram(const settings *set)
{
    for (size_t i = 0; i < set->diagrams.count; i++)
        if (has_ending(set->diagrams.items[i], ".png"))
            return true;
    return false;
}

/* With --quiet, one line per sheet replaces the document. */
static void print_check_results(const sheet_list *sheets)
{
    for (size_t i = 0; i < sheets->count; i++) {
        size_t checks = att_sheet_checks(sheets->sheets[i]);
        size_t failures = att_sheet_failures(sheets->sheets[i]);
        const char *name = sheets_name(sheets, i);
        const char *plural = checks == 1 ? "" : "s";
        if (failures > 0)
            terminal_printf(stdout, "%s: %zu of %zu check%s failed\n", name, failures, checks,
                            plural);
        else
            terminal_printf(stdout, "%s: %zu check%s passed\n", name, checks, plural);
    }
}

/* No output may overwrite a sheet, or a file that a sheet loads. */
static att_status check_inputs(const output_list *files, const sheet_list *sheets, att_error *err)
{
    for (size_t i = 0; i < sheets->count; i++) {
        const att_sheet *sheet = sheets->sheets[i];
        att_status status =
            output_check_input(files, sheets->names[i], "is one of the sheets", err);
        for (size_t j = 0; j < att_sheet_file_count(sheet) && status == ATT_OK; j++)
            status =
                output_check_input(files, att_sheet_file_get(sheet, j), "is read by a sheet", err);
        if (status != ATT_OK)
            return status;
    }
    return sheets->image ? output_check_input(files, sheets->image, "is the image", err) : ATT_OK;
}

/* Files come first: standard output may be a pipe that closes early. */
static att_status write_all(const output_list *files, const att_string *document,
                            const sheet_list *sheets, const settings *set, att_error *err)
{
    att_status status = check_inputs(files, sheets, err);
    if (status == ATT_OK)
        status = output_check(files, err);
    if (status == ATT_OK)
        status = output_save(files, err);
    if (status != ATT_OK)
        return status;
    if (set->quiet)
        print_check_results(sheets);
    return output_stdout(document->data, document->length, err);
}

static exit_code explain(const settings *set, char *const *names, int count)
{
    att_error err = { 0 };
    sheet_list sheets;
    output_list files = { 0 };
    att_string document = { 0 };
    const att_head_selection head = { .block = set->part < 0 ? ATT_BLOCK_ENCODER
                                                             : (att_attention_block)set->part,
                                      .layer = set->layer,
                                      .head = set->head,
                                      .input = set->input,
                                      .target = set->target };
    const att_model_sheet_options whole = { .size = sizeof(att_model_sheet_options),
                                            .input = set->input,
                                            .target = set->target,
                                            .step = set->step };
    const model_sheet asked = {
        .head = explains_head(set) ? &head : NULL,
        .any_block = set->part < 0,
        .whole = &whole,
        .image = { .image_encoder = set->image_encoder,
                   .index = set->image_index < 0 ? 0 : set->image_index,
                   .recorded_data = set->recorded_data },
        .any_image_option = set->image_index >= 0 || set->image_encoder,
    };
    exit_code code = explains_model(set) ? sheets_load_model(&sheets, names, &asked)
                                         : sheets_load(&sheets, names, count);
    if (code == EXIT_DONE) {
        att_status status = ATT_OK;
        if (!set->quiet)
            status = make_documents(&document, &files, &sheets, set, &err);
        if (status == ATT_OK)
            status = make_drawings(&files, &sheets, set, &err);
        if (status == ATT_OK)
            status = make_diagrams(&files, &sheets, set, &err);
        if (status == ATT_OK)
            status = write_all(&files, &document, &sheets, set, &err);
        code = status == ATT_OK ? EXIT_DONE : report(status, &err);
    }
    if (code == EXIT_DONE)
        code = sheets_report_failures(&sheets);
    att_string_free(&document);
    output_free(&files);
    sheets_free(&sheets);
    return code;
}

/* The message about options that do not go together or with the operands; NULL: all do. */
static const char *any_conflict(const settings *set, char **args, int operands)
{
    const char *wrong = conflict(set);
    if (!wrong && !has_png_diagram(set))
        wrong = drawing_files_conflict(&(drawing_files){
            .svg = set->svg, .png = set->png, .pdf = set->pdf, .scale = set->scale });
    if (!wrong)
        wrong = bad_names(args, operands);
    if (!wrong)
        wrong = diagram_conflict(set, operands);
    if (!wrong && explains_model(set) && operands != 1)
        wrong = set->input ? "--input expects one model" : "--image-index expects one model";
    return wrong;
}

static exit_code run(const struct verb *verb, settings *set, char **args, int operands)
{
    const char *wrong = any_conflict(set, args, operands);
    if (wrong)
        return report_usage(verb, "%s", wrong);
    if (set->output && strcmp(set->output, "-") == 0)
        set->output = NULL; /* standard output */
    if (operands > 0)
        return explain(set, args, operands);
    if (isatty(STDIN_FILENO))
        return report_usage(verb, "expects a sheet, or one on standard input");
    return explain(set, (char *[]){ "-" }, 1);
}

exit_code explain_run(const struct verb *verb, int count, char **args)
{
    settings set = { .format = -1,
                     .digits = -1,
                     .detail = -1,
                     .color = COLOR_AUTO,
                     .part = -1,
                     .language = -1,
                     .image_index = -1 };
    int operands = 0;
    exit_code code;
    if (options_parse(&code, verb, count, args, &set, &operands))
        code = run(verb, &set, args, operands);
    free(set.diagrams.items);
    return code;
}
