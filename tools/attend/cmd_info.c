/* attend info: what is inside a model and how it was trained. */
#include "program.h"

#include <stddef.h>
#include <stdio.h>

#include "output.h"

typedef struct settings {
    bool json;
} settings;

const char info_details[] =
    "Tells what is in a model file: its parameters, vocabularies and settings, and how it was\n"
    "trained, validation by validation. A checkpoint is a model file too.\n";

const option info_options[] = {
    { .name = "json",
      .kind = OPTION_FLAG,
      .offset = offsetof(settings, json),
      .help = "print one JSON object" },
    { 0 },
};

/* A network that looks at photographs; false where the file is none, and nothing was told. */
static bool print_image_encoder(const char *path, bool json)
{
    att_image_encoder *eyes = NULL;
    if (att_image_encoder_load(&eyes, path, NULL) != ATT_OK)
        return false;
    printf(json ? "{\"family\":\"squeezenet\",\"labels\":%zu,\"depth\":%lld}\n"
                : "a squeezenet, which looks at photographs\n"
                  "  labels             %zu\n"
                  "  features           7 x 7 cells of %lld numbers\n",
           att_image_encoder_label_count(eyes), (long long)att_image_encoder_channels(eyes));
    att_image_encoder_free(eyes);
    return true;
}

exit_code info_run(const struct verb *verb, int count, char **args)
{
    settings set = { 0 };
    int operands = 0;
    parse_result parsed = options_parse(verb, count, args, &set, &operands);
    if (parsed != PARSE_OK)
        return parsed == PARSE_HELP ? help_verb(verb) : EXIT_BAD_INPUT;
    if (operands != 1)
        return report_usage(verb, "expects one model");
    att_error err = { 0 };
    att_model *model = NULL;
    att_string text = { 0 };
    att_status status = att_model_load(&model, args[0], &err);
    if (status == ATT_BAD_INPUT && print_image_encoder(args[0], set.json))
        return output_flush(&err) == ATT_OK ? EXIT_DONE : report(err.status, &err);
    if (status == ATT_OK)
        status = att_model_info(&text, model, set.json, &err);
    if (status == ATT_OK)
        status = output_stdout(text.data, text.length, &err);
    att_string_free(&text);
    att_model_free(model);
    return status == ATT_OK ? EXIT_DONE : report(status, &err);
}
