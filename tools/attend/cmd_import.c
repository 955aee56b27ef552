/* attend import: converts the weights of other programs to model files. */
#include "program.h"

#include <stdio.h>

#include "output.h"

typedef struct settings {
    const char *output;
    const char *tokenizer;
    int tokens;
    int precision; /* att_precision */
} settings;

const char import_details[] =
    "Converts the weights of another program in FILE to a model file for run, eval, score, show "
    "and info. Unsupported content (a version, a tensor, a quantization) is reported by name, and "
    "nothing is written.\n";

static const char *const token_choices[] = { "space", "char", "codepoint", NULL };

/* In the order of att_precision; `attend quantize` makes int8 of floats. */
static const char *const import_precisions[] = { "stored", "float32", NULL };

#define ROW(NAME, SHORT, TYPE, MEMBER, PLACEHOLDER, HELP, ...)                                     \
    OPTION_ROW(settings, NAME, SHORT, TYPE, MEMBER, PLACEHOLDER, HELP, ##__VA_ARGS__)

const option import_options[] = {
    ROW("output", 'o', STRING, output, "FILE", "output model file; required"),
    ROW("tokens", 0, CHOICE, tokens, "HOW",
        "tokenization of a line: whitespace-separated, characters or code points",
        .choices = token_choices),
    ROW("precision", 0, CHOICE, precision, "WORD",
        "int8 weights of ctranslate2 stay int8 (stored) or become float32",
        .choices = import_precisions),
    ROW("tokenizer", 0, STRING, tokenizer, "FILE",
        "tokenizer file, if it is not in the folder of the weights"),
    { 0 },
};

const char *import_format(size_t index)
{
    const att_import_format *format = att_import_format_get(index);
    return format ? format->name : NULL;
}

void import_print_formats(void)
{
    printf("\nFormats:\n");
    const att_import_format *format;
    for (size_t i = 0; (format = att_import_format_get(i)); i++)
        printf("  %-13s %s: %s\n", format->name, format->file, format->help);
}

static exit_code import_file(const char *format, const char *path, const settings *set)
{
    att_error err = { 0 };
    att_bundle *bundle = NULL;
    const att_import_options options = { .size = sizeof(att_import_options),
                                         .tokens =
                                             set->tokens < 0 ? NULL : token_choices[set->tokens],
                                         .tokenizer = set->tokenizer,
                                         .precision = (att_precision)set->precision };
    att_status status =
        output_check_paths((output_names){ &set->output, 1 },
                           (output_names){ (const char *[]){ path, set->tokenizer }, 2 }, &err);
    if (status == ATT_OK)
        status = att_import(&bundle, format, path, &options, &err);
    if (status == ATT_OK)
        status = att_safetensors_save(bundle, set->output, &err);
    att_bundle_free(bundle);
    return status == ATT_OK ? EXIT_DONE : report(status, &err);
}

exit_code import_run(const struct verb *verb, int count, char **args)
{
    settings set = { .tokens = -1 };
    int operands = 0;
    exit_code code;
    if (!options_parse(&code, verb, count, args, &set, &operands))
        return code;
    if (operands != 2)
        return report_usage(verb, "expects a format and a file");
    if (!set.output)
        return report_usage(verb, "expects --output FILE");
    return import_file(args[0], args[1], &set);
}
