/* attend selftest: whether this build computes the same bits on this machine as everywhere. */
#include "program.h"

#include <stdio.h>
#include <string.h>

#include "dev/attend_dev.h"
#include "output.h"

typedef struct settings {
    bool json;
    bool list;
    bool record;
} settings;

const char selftest_details[] =
    "Runs every kernel, attention and matrix products on every instruction set of this machine, "
    "computes worksheets, and trains small models of each kind and uses them. One SHA-256 per item "
    "is compared with the one published with this version; the last line has the digest of all, to "
    "compare with other machines. Threads, instruction set, compiler and system must not change a "
    "bit.\n"
    "\n"
    "The exit code is 1 if an item differs; its first part that does, and the instruction set, are "
    "named. It takes less than a minute.\n";

#define ROW(NAME, MEMBER, HELP) OPTION_ROW(settings, NAME, 0, FLAG, MEMBER, NULL, HELP)

const option selftest_options[] = {
    ROW("json", json, "print JSON with whole digests"),
    ROW("list", list, "list the items and exit"),
    ROW("record", record,
        "print the digests that this build computes, as src/selftest/digests.inc"),
    { 0 },
};

/* Digits of a digest in the table. */
enum { SHOWN_DIGITS = 16 };

/* ---- table and JSON */

static void print_row(const att_selftest *item)
{
    printf("%-28s %.*s  %.*s  %s", item->name, SHOWN_DIGITS, item->digest, SHOWN_DIGITS,
           item->expected, item->passed ? "same" : "DIFFERS");
    if (!item->passed)
        printf(": %s", item->difference);
    putchar('\n');
}

/* Names and differences need no escapes: letters, digits, spaces, commas and colons. */
static void print_json(const att_selftest *item, size_t index)
{
    printf("%s    {\"item\": \"%s\", \"digest\": \"%s\", \"published\": \"%s\", \"same\": %s",
           index == 0 ? "" : ",\n", item->name, item->digest, item->expected,
           item->passed ? "true" : "false");
    if (!item->passed)
        printf(", \"difference\": \"%s\"", item->difference);
    putchar('}');
}

/* ---- running */

typedef struct outcome {
    size_t same;
    char all[ATT_DIGEST_SIZE]; /* digest of the digests */
} outcome;

static att_status run_items(outcome *out, bool json, att_error *err)
{
    att_string digests = { 0 };
    att_status status = ATT_OK;
    for (size_t i = 0; status == ATT_OK && i < att_selftest_count(); i++) {
        att_selftest item;
        status = att_selftest_run(&item, i, err);
        if (status != ATT_OK)
            break;
        out->same += item.passed;
        if (json)
            print_json(&item, i);
        else
            print_row(&item);
        fflush(stdout);
        status = att_string_append(&digests, item.digest, strlen(item.digest));
    }
    if (status == ATT_OK)
        att_selftest_digest(out->all, digests.data, digests.length);
    att_string_free(&digests);
    return status;
}

static void print_end(const outcome *out, bool json)
{
    size_t count = att_selftest_count();
    if (json)
        printf("\n  ],\n  \"digest\": \"%s\",\n  \"same\": %s\n}\n", out->all,
               out->same == count ? "true" : "false");
    else if (out->same == count)
        printf("attend %s · %.*s · all %zu digests as published\n", att_version(), SHOWN_DIGITS,
               out->all, count);
    else
        printf("attend %s · %.*s · %zu of %zu digests differ from those published\n", att_version(),
               SHOWN_DIGITS, out->all, count - out->same, count);
}

static exit_code run(bool json)
{
    att_error err = { 0 };
    outcome out = { 0 };
    att_machine_info machine;
    att_machine_get(&machine);
    if (json)
        printf("{\n  \"attend\": \"%s\",\n  \"cpu\": \"%s\",\n  \"items\": [\n", att_version(),
               att_cpu_name());
    else
        printf("%s, %s\n\n%-28s %-*s  published\n", machine.processor, att_cpu_name(), "item",
               SHOWN_DIGITS, "SHA-256");
    att_status status = run_items(&out, json, &err);
    if (status == ATT_OK)
        print_end(&out, json);
    att_status flushed = output_flush(&err);
    if (status == ATT_OK)
        status = flushed;
    if (status != ATT_OK)
        return report(status, &err);
    return out.same == att_selftest_count() ? EXIT_DONE : EXIT_CHECK_FAILED;
}

/* ---- the other options */

static exit_code list(void)
{
    att_error err = { 0 };
    for (size_t i = 0; i < att_selftest_count(); i++) {
        att_selftest item;
        att_selftest_get(&item, i);
        printf("%-28s %s\n", item.name, item.help);
    }
    att_status status = output_flush(&err);
    return status == ATT_OK ? EXIT_DONE : report(status, &err);
}

static exit_code record(void)
{
    att_error err = { 0 };
    att_string text = { 0 };
    att_status status = ATT_OK;
    for (size_t i = 0; status == ATT_OK && i < att_selftest_count(); i++)
        status = att_selftest_record(&text, i, &err);
    if (status == ATT_OK) {
        fputs(text.data, stdout);
        status = output_flush(&err);
    }
    att_string_free(&text);
    return status == ATT_OK ? EXIT_DONE : report(status, &err);
}

exit_code selftest_run(const struct verb *verb, int count, char **args)
{
    settings set = { 0 };
    int operands = 0;
    exit_code code;
    if (!options_parse(&code, verb, count, args, &set, &operands))
        return code;
    if (operands > 0)
        return report_usage(verb, "expected no operands, found '%s'", args[0]);
    if (set.json + set.list + set.record > 1)
        return report_usage(verb, "--json, --list and --record exclude each other");
    if (set.list)
        return list();
    return set.record ? record() : run(set.json);
}
