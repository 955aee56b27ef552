/* attend info: the contents of a model file and the history of its training. */
#include "program.h"

#include <stdio.h>
#include <string.h>

#include "drawing_files.h"
#include "output.h"

typedef struct settings {
    bool json, verify;
    const char *plot;
} settings;

const char info_details[] =
    "Prints the parameters, vocabularies and settings of a model file, and every validation of its "
    "training. A checkpoint is a model file too. With --verify, compares the whole file with the "
    "SHA-256 checksums in it instead: a difference ends with exit code 2 and names the tensor. A "
    "file without checksums, of another program for example, is not an error. With --plot, draws "
    "the "
    "learning curves instead: training and validation loss at every validation.\n";

const option info_options[] = {
    OPTION_ROW(settings, "json", 0, FLAG, json, NULL, "print one JSON object"),
    OPTION_ROW(settings, "verify", 0, FLAG, verify, NULL,
               "compare every tensor and the header with the checksums of the file"),
    OPTION_ROW(settings, "plot", 0, STRING, plot, "FILE",
               "draw the losses of every validation as a learning curve, to an .svg, .png or .pdf "
               "file, and print nothing"),
    { 0 },
};

static att_status draw_curves(att_string *out, const void *model, bool flat, att_error *err)
{
    (void)flat; /* the same for a rasterizer */
    const att_render_options options = output_format(ATT_FORMAT_SVG);
    return att_model_curves_render(out, model, &options, err);
}

static bool ends_in(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length > tail && strcmp(text + length - tail, end) == 0;
}

/* The extension of the file decides the format. */
static exit_code plot(const struct verb *verb, const char *path, const char *file)
{
    drawing_files asked = { .svg = ends_in(file, ".svg") ? file : NULL,
                            .png = ends_in(file, ".png") ? file : NULL,
                            .pdf = ends_in(file, ".pdf") ? file : NULL };
    att_error err = { 0 };
    att_model *model = NULL;
    output_list files = { 0 };
    att_string nothing = { 0 };
    if (!drawing_files_any(&asked))
        return report_usage(verb, "--plot expects an .svg, .png or .pdf file, not '%s'", file);
    att_status status =
        output_check_paths((output_names){ &file, 1 }, (output_names){ &path, 1 }, &err);
    if (status == ATT_OK)
        status = att_model_load_unverified(&model, path, &err);
    if (status == ATT_OK)
        status = drawing_files_draw(&files, &(drawing_source){ "plot", draw_curves, model }, 1,
                                    &asked, &err);
    error_set_place(&err, status, path);
    if (status == ATT_OK)
        status = output_all(&files, &nothing, &err);
    output_free(&files);
    att_model_free(model);
    return status == ATT_OK ? EXIT_DONE : report(status, &err);
}

static exit_code verify(const char *path, bool json)
{
    att_error err = { 0 };
    att_checksum_report found = ATT_INIT(att_checksum_report);
    att_status status = att_checksum_verify(&found, path, &err);
    if (status != ATT_OK)
        return report(status, &err);
    unsigned long long bytes = found.bytes;
    if (json)
        printf("{\"verified\":%s,\"algorithm\":%s,\"tensors\":%zu,\"bytes\":%llu}\n",
               found.recorded ? "true" : "false", found.recorded ? "\"sha256\"" : "null",
               found.tensors, bytes);
    else if (found.recorded)
        printf("verified: %zu tensors, %llu bytes, SHA-256\n", found.tensors, bytes);
    else
        printf("not verified: the file has no checksum (%zu tensors, %llu bytes)\n", found.tensors,
               bytes);
    return output_flush(&err) == ATT_OK ? EXIT_DONE : report(err.status, &err);
}

/* Prints an image encoder. ATT_BAD_INPUT, and nothing is printed, if the file is none. */
static att_status print_image_encoder(const char *path, bool json, att_error *err)
{
    att_image_encoder *encoder = NULL;
    att_status status = att_image_encoder_load(&encoder, path, err);
    if (status != ATT_OK)
        return status;
    printf(json
               ? "{\"architecture\":\"squeezenet\",\"label_count\":%zu,\"feature_channels\":%lld}\n"
               : "image encoder: SqueezeNet\n"
                 "  labels             %zu\n"
                 "  features           7 x 7 cells with %lld channels\n",
           att_image_encoder_label_count(encoder), (long long)att_image_encoder_channels(encoder));
    att_image_encoder_free(encoder);
    return output_flush(err);
}

/* Prints a file that is not a model: an image encoder. If it is none, the error is that of loading
 * the model, unless the file differs from its checksum, which is then the cause. */
static exit_code describe_other(const char *path, bool json, const att_error *model_err)
{
    att_error err = { 0 };
    att_checksum_report found = ATT_INIT(att_checksum_report);
    att_status status = print_image_encoder(path, json, &err);
    if (status == ATT_OK)
        return EXIT_DONE;
    if (status != ATT_BAD_INPUT)
        return report(status, &err);
    status = att_checksum_verify(&found, path, &err);
    return status == ATT_OK ? report(model_err->status, model_err) : report(status, &err);
}

static exit_code describe(const char *path, bool json)
{
    att_error err = { 0 };
    att_model *model = NULL;
    att_string text = { 0 };
    att_status status = att_model_load_unverified(&model, path, &err);
    if (status == ATT_BAD_INPUT)
        return describe_other(path, json, &err);
    if (status == ATT_OK)
        status = att_model_info(&text, model, json, &err);
    if (status == ATT_OK)
        status = output_stdout(text.data, text.length, &err);
    att_string_free(&text);
    att_model_free(model);
    return status == ATT_OK ? EXIT_DONE : report(status, &err);
}

exit_code info_run(const struct verb *verb, int count, char **args)
{
    settings set = { 0 };
    int operands = 0;
    exit_code code;
    if (!options_parse(&code, verb, count, args, &set, &operands))
        return code;
    if (operands != 1)
        return report_usage(verb, "expects one model");
    if (set.plot && (set.json || set.verify))
        return report_usage(verb, "--plot excludes --json and --verify");
    if (set.plot)
        return plot(verb, args[0], set.plot);
    return set.verify ? verify(args[0], set.json) : describe(args[0], set.json);
}
