/* attend gradcheck: compares the forward and backward pass of every operation with its formula in
 * double precision. */
#include "program.h"

#include <math.h>
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
    "Checks the operations that models consist of, on all of their samples (odd shapes and every "
    "option among them): the forward pass against the same formula in double precision, the "
    "backward pass against central differences of that formula. Errors are relative to the largest "
    "entry of an array, or to 1 if that is larger; the bound follows from the number of roundings "
    "of the operation.\n"
    "\n"
    "OP is the name of an operation; without OP, all are checked. The exit code is 1 if one "
    "exceeds its bound.\n";

#define ROW(NAME, MEMBER, HELP) OPTION_ROW(settings, NAME, 0, FLAG, MEMBER, NULL, HELP)

const option gradcheck_options[] = {
    ROW("samples", samples, "print every sample instead of one line per operation"),
    ROW("json", json, "print JSON with every sample"),
    ROW("list", list, "list the operations and exit"),
    { 0 },
};

/* One operation and the results of its samples. */
typedef struct op_result {
    int op;
    int count;
    att_gradcheck *samples; /* [count] */
    int failed_count;
} op_result;

/* ---- table */

/* Widths of the columns of sample names and of sample counts. */
enum { SAMPLE_WIDTH = 44, COUNT_WIDTH = 8 };

static void print_heading(const settings *set)
{
    printf("%-16s %-*s %10s %10s %10s %10s\n", "operation",
           set->samples ? SAMPLE_WIDTH : COUNT_WIDTH, set->samples ? "sample" : "samples",
           "forward", "bound", "backward", "bound");
}

static void print_errors(const att_gradcheck *check)
{
    printf(" %10.1e %10.1e %10.1e %10.1e%s\n", check->forward_error, check->forward_bound,
           check->backward_error, check->backward_bound, check->passed ? "" : "  FAILED");
}

static double larger(double a, double b)
{
    return isnan(a) || a > b ? a : b;
}

/* The largest errors over the samples of an operation. */
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

/* A sample; if its backward pass fails, the input with the largest error. */
static void print_sample(const att_gradcheck *check)
{
    printf("%-16s %-*s", check->op, SAMPLE_WIDTH, check->sample);
    print_errors(check);
    if (!(check->backward_error <= check->backward_bound))
        printf("%-16s the gradient of input %d exceeds the bound\n", "", check->input + 1);
}

static void print_outcome(const settings *set, const op_result *out)
{
    if (!set->samples)
        print_operation(out);
    for (int i = 0; i < out->count; i++) {
        if (set->samples)
            print_sample(&out->samples[i]);
        else if (!out->samples[i].passed)
            printf("  failed sample: %s\n", out->samples[i].sample);
    }
}

/* ---- JSON */

/* A number that is not finite is null in JSON. */
static void print_number(const char *name, double x)
{
    printf(", \"%s\": ", name);
    if (isfinite(x))
        printf("%.6g", x);
    else
        printf("null");
}

/* Names of operations and samples need no escapes: letters, digits, spaces, commas and dashes. */
static void print_json(const op_result *out, bool first)
{
    for (int i = 0; i < out->count; i++) {
        const att_gradcheck *check = &out->samples[i];
        printf("%s    {\"operation\": \"%s\", \"sample\": \"%s\", \"passed\": %s",
               first && i == 0 ? "" : ",\n", check->op, check->sample,
               check->passed ? "true" : "false");
        print_number("forward_error", check->forward_error);
        print_number("forward_bound", check->forward_bound);
        print_number("backward_error", check->backward_error);
        print_number("backward_bound", check->backward_bound);
        printf(", \"input\": %d}", check->input + 1);
    }
}

/* ---- running */

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

/* Checks the operations in order and prints each as soon as it is checked. */
static att_status check_all(const settings *set, const bool *chosen, int *samples, int *failed,
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
        *failed += out.failed_count;
        done++;
    }
    return ATT_OK;
}

static exit_code run(const settings *set, const bool *chosen)
{
    att_error err = { 0 };
    int samples = 0, failed = 0;
    if (set->json)
        printf("{\n  \"attend\": \"%s\",\n  \"checks\": [\n", att_version());
    else
        print_heading(set);
    att_status status = check_all(set, chosen, &samples, &failed, &err);
    if (status == ATT_OK && set->json)
        printf("\n  ],\n  \"passed\": %s\n}\n", failed == 0 ? "true" : "false");
    else if (status == ATT_OK && failed > 0)
        printf("%d of %d samples failed\n", failed, samples);
    else if (status == ATT_OK)
        printf("all %d samples passed\n", samples);
    att_status flushed = output_flush(&err);
    if (status == ATT_OK)
        status = flushed;
    if (status != ATT_OK)
        return report(status, &err);
    return failed == 0 ? EXIT_DONE : EXIT_CHECK_FAILED;
}

/* ---- selection */

static exit_code unknown_operation(const struct verb *verb, const char *name)
{
    int count = att_gradcheck_count();
    const char **known = calloc((size_t)count, sizeof *known);
    for (int op = 0; known && op < count; op++)
        known[op] = att_gradcheck_name(op);
    const char *nearest = known ? att_suggest(name, known, (size_t)count) : NULL;
    exit_code code =
        nearest ? report_usage(verb, "unknown operation '%s'; did you mean %s?", name, nearest)
                : report_usage(verb, "unknown operation '%s'", name);
    free(known);
    return code;
}

/* Marks the operations named; reports an unknown one and returns false. */
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
    exit_code code;
    if (!options_parse(&code, verb, count, args, &set, &operands))
        return code;
    if (set.json && set.samples)
        return report_usage(verb, "--json includes every sample; --samples is for the table");
    if (set.list && (set.json || set.samples))
        return report_usage(verb, "--list excludes --json and --samples");
    att_error err = { 0 };
    bool *chosen = calloc((size_t)att_gradcheck_count(), sizeof *chosen);
    if (!chosen)
        return report(error_memory(&err), &err);
    code = EXIT_BAD_INPUT;
    if (select_ops(verb, chosen, args, operands))
        code = set.list ? list(chosen) : run(&set, chosen);
    free(chosen);
    return code;
}
