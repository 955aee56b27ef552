/* attend import: weights of other programs as model files. */
#include "program.h"

#include <stddef.h>
#include <stdio.h>

#include "output.h"

typedef struct settings {
    const char *output;
    const char *tokenizer;
    int tokens;
} settings;

const char import_details[] =
    "Reads the weights of another program from FILE and writes them as a model file, which run,\n"
    "eval, score, show and info take like one trained here. What is not understood (a version, a\n"
    "tensor, a way to quantise) is refused by name, and nothing is written.\n";

static const char *const token_choices[] = { "space", "char", NULL };

const option import_options[] = {
    { .name = "output",
      .short_name = 'o',
      .kind = OPTION_STRING,
      .offset = offsetof(settings, output),
      .placeholder = "FILE",
      .help = "output model file; required" },
    { .name = "tokens",
      .kind = OPTION_CHOICE,
      .offset = offsetof(settings, tokens),
      .placeholder = "HOW",
      .choices = token_choices,
      .help = "tokenization of a line: whitespace-separated tokens, or characters" },
    { .name = "tokenizer",
      .kind = OPTION_STRING,
      .offset = offsetof(settings, tokenizer),
      .placeholder = "FILE",
      .help = "tokenizer file, if it is not in the folder of the weights" },
    { 0 },
};

void import_print_formats(const void *about)
{
    (void)about;
    printf("\nFormats:\n");
    const att_import_format *format;
    for (size_t i = 0; (format = att_import_format_get(i)); i++)
        printf("  %-13s %s: %s\n", format->name, format->file, format->help);
}

static exit_code import_file(const char *format, const char *path, const settings *set)
{
    att_error err = { 0 };
    att_bundle *bundle = NULL;
    const att_import_options how = { .tokens = set->tokens < 0 ? NULL : token_choices[set->tokens],
                                     .tokenizer = set->tokenizer };
    att_status status =
        output_check_paths((output_names){ &set->output, 1 },
                           (output_names){ (const char *[]){ path, set->tokenizer }, 2 }, &err);
    if (status == ATT_OK)
        status = att_import(&bundle, format, path, &how, &err);
    if (status == ATT_OK)
        status = att_safetensors_save(bundle, set->output, &err);
    att_bundle_free(bundle);
    return status == ATT_OK ? EXIT_DONE : report(status, &err);
}

exit_code import_run(const struct verb *verb, int count, char **args)
{
    settings set = { .tokens = -1 };
    int operands = 0;
    parse_result parsed = options_parse(verb, count, args, &set, &operands);
    if (parsed != PARSE_OK)
        return parsed == PARSE_HELP ? help_verb(verb) : EXIT_BAD_INPUT;
    if (operands != 2)
        return report_usage(verb, "expects a format and a file");
    if (!set.output)
        return report_usage(verb, "needs --output: where the model goes");
    return import_file(args[0], args[1], &set);
}
