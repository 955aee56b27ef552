/* attend info: the contents of a model file and the history of its training. */
#include "program.h"

#include <stdio.h>

#include "output.h"

typedef struct settings {
    bool json;
} settings;

const char info_details[] =
    "Prints the parameters, vocabularies and settings of a model file, and every validation of its "
    "training. A checkpoint is a model file too.\n";

const option info_options[] = {
    OPTION_ROW(settings, "json", 0, FLAG, json, NULL, "print one JSON object"),
    { 0 },
};

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

exit_code info_run(const struct verb *verb, int count, char **args)
{
    settings set = { 0 };
    int operands = 0;
    exit_code code;
    if (!options_parse(&code, verb, count, args, &set, &operands))
        return code;
    if (operands != 1)
        return report_usage(verb, "expects one model");
    att_error err = { 0 };
    att_model *model = NULL;
    att_string text = { 0 };
    att_status status = att_model_load(&model, args[0], &err);
    if (status == ATT_BAD_INPUT) {
        att_error other = { 0 };
        att_status printed = print_image_encoder(args[0], set.json, &other);
        if (printed == ATT_OK)
            return EXIT_DONE;
        return printed == ATT_BAD_INPUT ? report(status, &err) : report(printed, &other);
    }
    if (status == ATT_OK)
        status = att_model_info(&text, model, set.json, &err);
    if (status == ATT_OK)
        status = output_stdout(text.data, text.length, &err);
    att_string_free(&text);
    att_model_free(model);
    return status == ATT_OK ? EXIT_DONE : report(status, &err);
}
