/* attend gradcheck: every operation that models are built from, against its formula. */
#include "program.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dev/attend_dev.h"
#include "output.h"

typedef struct settings {
    bool samples;
    bool json;
    bool list;
} settings;

const char gradcheck_details[] =
    "Checks the operations that models are built from, on all of their samples (odd shapes and\n"
    "every setting among them): the forward against the same formula in double precision, the\n"
    "backward against central differences of that formula. Errors are relative to the largest\n"
    "entry of an array, or to 1 where that is larger; what is allowed follows from the number of\n"
    "roundings of the operation.\n"
    "\n"
    "OP is the name of an operation; without one, all are checked. The exit code is 1 if one is\n"
    "wrong.\n";

const option gradcheck_options[] = {
    { .name = "samples",
      .kind = OPTION_FLAG,
      .offset = offsetof(settings, samples),
      .help = "print every sample instead of one line per operation" },
    { .name = "json",
      .kind = OPTION_FLAG,
      .offset = offsetof(settings, json),
      .help = "print JSON with every sample" },
    { .name = "list",
      .kind = OPTION_FLAG,
      .offset = offsetof(settings, list),
      .help = "list the operations and exit" },
    { 0 },
};

/* One operation and what came of its samples. */
typedef struct op_result {
    int op;
    int count;
    att_gradcheck *samples; /* [count] */
    int failed_count;
} op_result;

/* ---------------------------------------------------------------- as a table */

/* Columns of the name of a sample, and of a count of them. */
enum { SAMPLE_WIDTH = 44, COUNT_WIDTH = 8 };

static void print_heading(const settings *set)
{
    printf("%-16s %-*s %10s %10s %10s %10s\n", "operation",
           set->samples ? SAMPLE_WIDTH : COUNT_WIDTH, set->samples ? "sample" : "samples",
           "forward", "allowed", "backward", "allowed");
}

static void print_errors(const att_gradcheck *check)
{
    printf(" %10.1e %10.1e %10.1e %10.1e%s\n", check->forward_error, check->forward_bound,
           check->backward_error, check->backward_bound, check->passed ? "" : "  wrong");
}

static double larger(double a, double b)
{
    return isnan(a) || a > b ? a : b;
}

/* The largest errors of an operation, and how many samples they are the largest of. */
static void print_operation(const op_result *out)
{
    att_gradcheck worst = out->samples[0];
    for (int i = 1; i < out->count; i++) {
        const att_gradcheck *check = &out->samples[i];
        worst.forward_error = larger(check->forward_error, worst.forward_error);
        worst.backward_error = larger(check->backward_error, worst.backward_error);
    }
    worst.passed = out->failed_count == 0;
    printf("%-16s %-*d", worst.op, COUNT_WIDTH, out->count);
    print_errors(&worst);
}

/* A sample; where its backward is wrong, by which input. */
static void print_sample(const att_gradcheck *check)
{
    printf("%-16s %-*s", check->op, SAMPLE_WIDTH, check->sample);
    print_errors(check);
    if (!(check->backward_error <= check->backward_bound))
        printf("%-16s the gradient of input %d is off\n", "", check->input + 1);
}

static void print_outcome(const settings *set, const op_result *out)
{
    if (!set->samples)
        print_operation(out);
    for (int i = 0; i < out->count; i++) {
        if (set->samples)
            print_sample(&out->samples[i]);
        else if (!out->samples[i].passed)
            printf("  wrong on: %s\n", out->samples[i].sample);
    }
}

/* ---------------------------------------------------------------- as JSON */

/* JSON has no word for what is not finite. */
static void print_number(const char *name, double x)
{
    printf(", \"%s\": ", name);
    if (isfinite(x))
        printf("%.6g", x);
    else
        printf("null");
}

/* Names of operations and samples are ours: letters, digits, spaces, commas and dashes. */
static void print_json(const op_result *out, bool first)
{
    for (int i = 0; i < out->count; i++) {
        const att_gradcheck *check = &out->samples[i];
        printf("%s    {\"operation\": \"%s\", \"sample\": \"%s\", \"passed\": %s",
               first && i == 0 ? "" : ",\n", check->op, check->sample,
               check->passed ? "true" : "false");
        print_number("forward", check->forward_error);
        print_number("forward_allowed", check->forward_bound);
        print_number("backward", check->backward_error);
        print_number("backward_allowed", check->backward_bound);
        printf(", \"input\": %d}", check->input + 1);
    }
}

/* ---------------------------------------------------------------- running */

static att_status check_operation(op_result *out, int op, att_error *err)
{
    *out = (op_result){ .op = op, .count = att_gradcheck_samples(op) };
    out->samples = calloc((size_t)out->count, sizeof *out->samples);
    if (!out->samples)
        return error_memory(err);
    for (int i = 0; i < out->count; i++) {
        att_status status = att_gradcheck_run(&out->samples[i], op, i, err);
        if (status != ATT_OK)
            return status;
        out->failed_count += !out->samples[i].passed;
    }
    return ATT_OK;
}

/* Checks one operation after the other and prints each as it is done. */
static att_status check_all(const settings *set, const bool *chosen, int *samples, int *wrong,
                            att_error *err)
{
    int done = 0;
    for (int op = 0; op < att_gradcheck_count(); op++) {
        op_result out;
        if (!chosen[op])
            continue;
        att_status status = check_operation(&out, op, err);
        if (status == ATT_OK && set->json)
            print_json(&out, done == 0);
        else if (status == ATT_OK)
            print_outcome(set, &out);
        free(out.samples);
        if (status != ATT_OK)
            return status;
        *samples += out.count;
        *wrong += out.failed_count;
        done++;
    }
    return ATT_OK;
}

static exit_code run(const settings *set, const bool *chosen)
{
    att_error err = { 0 };
    int samples = 0, wrong = 0;
    if (set->json)
        printf("{\n  \"attend\": \"%s\",\n  \"checks\": [\n", att_version());
    else
        print_heading(set);
    att_status status = check_all(set, chosen, &samples, &wrong, &err);
    if (status == ATT_OK && set->json)
        printf("\n  ],\n  \"passed\": %s\n}\n", wrong == 0 ? "true" : "false");
    else if (status == ATT_OK && wrong > 0)
        printf("%d of %d samples are wrong\n", wrong, samples);
    else if (status == ATT_OK)
        printf("all %d samples agree\n", samples);
    att_status flushed = output_flush(&err);
    if (status == ATT_OK)
        status = flushed;
    if (status != ATT_OK)
        return report(status, &err);
    return wrong == 0 ? EXIT_DONE : EXIT_CHECK_FAILED;
}

/* ---------------------------------------------------------------- choosing */

static exit_code unknown_operation(const struct verb *verb, const char *name)
{
    int count = att_gradcheck_count();
    const char **known = calloc((size_t)count, sizeof *known);
    for (int op = 0; known && op < count; op++)
        known[op] = att_gradcheck_name(op);
    const char *nearest = known ? att_suggest(name, known, (size_t)count) : NULL;
    exit_code code =
        nearest ? report_usage(verb, "no operation is called '%s'; did you mean %s?", name, nearest)
                : report_usage(verb, "no operation is called '%s'", name);
    free(known);
    return code;
}

/* Marks the operations named; false, and told, where one is unknown. */
static bool select_ops(const struct verb *verb, bool *chosen, char **names, int count)
{
    for (int op = 0; op < att_gradcheck_count(); op++)
        chosen[op] = count == 0;
    for (int i = 0; i < count; i++) {
        int op = 0;
        while (op < att_gradcheck_count() && strcmp(att_gradcheck_name(op), names[i]) != 0)
            op++;
        if (op == att_gradcheck_count()) {
            unknown_operation(verb, names[i]);
            return false;
        }
        chosen[op] = true;
    }
    return true;
}

static exit_code list(const bool *chosen)
{
    att_error err = { 0 };
    for (int op = 0; op < att_gradcheck_count(); op++)
        if (chosen[op])
            printf("%s\n", att_gradcheck_name(op));
    att_status status = output_flush(&err);
    return status == ATT_OK ? EXIT_DONE : report(status, &err);
}

exit_code gradcheck_run(const struct verb *verb, int count, char **args)
{
    settings set = { 0 };
    int operands = 0;
    parse_result parsed = options_parse(verb, count, args, &set, &operands);
    if (parsed != PARSE_OK)
        return parsed == PARSE_HELP ? help_verb(verb) : EXIT_BAD_INPUT;
    if (set.json && set.samples)
        return report_usage(verb, "--json tells of every sample as it is");
    if (set.list && (set.json || set.samples))
        return report_usage(verb, "--list checks nothing; it goes with operations alone");
    att_error err = { 0 };
    bool *chosen = calloc((size_t)att_gradcheck_count(), sizeof *chosen);
    if (!chosen)
        return report(error_memory(&err), &err);
    exit_code code = EXIT_BAD_INPUT;
    if (select_ops(verb, chosen, args, operands))
        code = set.list ? list(chosen) : run(&set, chosen);
    free(chosen);
    return code;
}
