/* attend help: the list of verbs, or one verb with its options, both from the tables. */
#include "program.h"

#include <stdio.h>
#include <string.h>

#include "output.h"

static exit_code finish(void)
{
    att_error err = { 0 };
    att_status status = output_flush(&err);
    return status == ATT_OK ? EXIT_DONE : report(status, &err);
}

/* One option as it is written: "  -o, --output FILE". */
static void print_option(const option *row)
{
    char written[64];
    int length = row->short_name
                     ? snprintf(written, sizeof written, "  -%c, --%s", row->short_name, row->name)
                     : snprintf(written, sizeof written, "      --%s", row->name);
    if (row->placeholder)
        snprintf(written + length, sizeof written - (size_t)length, " %s", row->placeholder);
    printf("%-26s %s\n", written, row->help);
}

exit_code help_verb(const struct verb *verb)
{
    return help_verb_about(verb, NULL);
}

exit_code help_verb_about(const struct verb *verb, const void *about)
{
    printf("Usage: attend %s%s %s\n\n%s", verb->name, verb->options ? " [options]" : "",
           verb->operands, verb->details);
    if (verb->options)
        printf("\nOptions:\n");
    for (const option *row = verb->options; row && row->name; row++)
        if (row->help)
            print_option(row);
    if (verb->print_extra_help)
        verb->print_extra_help(about);
    return finish();
}

exit_code help_program(void)
{
    printf("attend: attention in C, from the chalkboard sum to a trained model\n\n"
           "Usage: attend VERB [options] …\n\nVerbs:\n");
    for (const struct verb *row = verbs; row->name; row++)
        printf("  %-10s %s\n", row->name, row->help);
    printf("\n'attend help VERB' tells more of one; 'attend --version' states the version.\n"
           "Exit codes: 0 done, 1 an expectation failed, 2 bad usage or input, 3 out of memory\n"
           "or a system error.\n");
    return finish();
}

exit_code help_run(const struct verb *verb, int count, char **args)
{
    int operands = 0;
    parse_result parsed = options_parse(verb, count, args, NULL, &operands);
    if (parsed == PARSE_ERROR)
        return EXIT_BAD_INPUT;
    if (parsed == PARSE_HELP)
        return help_verb(verb);
    if (operands == 0)
        return help_program();
    if (operands > 1)
        return report_usage(verb, "expects one verb, not %d", operands);
    const struct verb *asked = verb_find(args[0]);
    return asked ? help_verb(asked) : unknown_verb(args[0]);
}
