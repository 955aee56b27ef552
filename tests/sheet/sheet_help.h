/* Helpers of worksheet tests: read a sheet from text, find steps and parts, evaluate calculations.
 * Include after cmocka.h. */
#ifndef TEST_SHEET_HELP_H
#define TEST_SHEET_HELP_H

#include "attend.h"
#include "base/minmax.h"
#include "sheet/trace.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Prints every failed check. */
static inline void show_failures(const att_sheet *sheet)
{
    for (size_t i = 0; i < sheet->step_count; i++) {
        const att_check *check = sheet->steps[i].check;
        if (check && !check->passed)
            print_message("%s:%d: %s\n    %s\n", sheet->name, sheet->steps[i].line,
                          sheet->steps[i].source, check->message);
    }
}

/* Reads the sheet, which must be valid; its checks may fail. */
static inline att_sheet *sheet_from(const char *text)
{
    att_sheet *sheet = NULL;
    att_error err = { 0 };
    att_status status = att_sheet_read(&sheet, text, strlen(text), "test", NULL, &err);
    if (status != ATT_OK)
        fail_msg("line %d, column %d: %s\n%s\nin:\n%s", err.line, err.column, err.message,
                 err.excerpt, text);
    return sheet;
}

/* Reads the sheet; it must have at least one check, and all checks must pass. */
static inline void assert_sheet_passes(const char *text)
{
    att_sheet *sheet = sheet_from(text);
    show_failures(sheet);
    assert_int_not_equal(att_sheet_checks(sheet), 0);
    assert_int_equal(att_sheet_failures(sheet), 0);
    att_sheet_free(sheet);
}

static inline const att_trace_step *step_named(const att_sheet *sheet, const char *name)
{
    for (size_t i = 0; i < sheet->step_count; i++)
        if (sheet->steps[i].name && strcmp(sheet->steps[i].name, name) == 0)
            return &sheet->steps[i];
    fail_msg("no step named %s", name);
    return NULL;
}

static inline const att_trace_part *part_named(const att_trace_step *step, const char *name,
                                               int64_t head)
{
    for (size_t i = 0; i < step->part_count; i++)
        if (strcmp(step->parts[i].name, name) == 0 && step->parts[i].head == head)
            return &step->parts[i];
    fail_msg("%s has no part %s of head %d", step->name, name, (int)head);
    return NULL;
}

/* ---------------------------------------------------------------- calculations */

enum { SUM_ROOM = 64 };

/* The value of a calculation: a number or a small vector. */
struct sum_value {
    int64_t rows;
    int64_t cols;
    double data[SUM_ROOM];
};

static inline struct sum_value sum_number(double x)
{
    return (struct sum_value){ .rows = 1, .cols = 1, .data = { x } };
}

static inline double sum_apply(const char *name, double x)
{
    static const struct {
        const char *name;
        double (*apply)(double);
    } known[] = { { "exp", exp }, { "tanh", tanh }, { "sqrt", sqrt }, { "sin", sin },
                  { "cos", cos }, { "log", log },   { "abs", fabs } };
    for (size_t i = 0; i < ATT_COUNT(known); i++)
        if (strcmp(known[i].name, name) == 0)
            return known[i].apply(x);
    if (strcmp(name, "relu") == 0)
        return x > 0 ? x : 0;
    if (strcmp(name, "sigmoid") == 0)
        return 1 / (1 + exp(-x));
    if (strcmp(name, "gelu") == 0)
        return x / 2 * (1 + erf(x / sqrt(2)));
    fail_msg("a sum calls the unknown function %s", name);
    return 0;
}

/* max, min and argmax of a list of numbers. */
static inline double sum_pick(const char *name, const double *x, size_t count)
{
    size_t best = 0;
    bool least = strcmp(name, "min") == 0;
    for (size_t i = 1; i < count; i++)
        if (least ? x[i] < x[best] : x[i] > x[best])
            best = i;
    return strcmp(name, "argmax") == 0 ? (double)best + 1 : x[best];
}

static inline double sum_operate(att_expr_op op, double a, double b)
{
    switch (op) {
    case ATT_OP_ADD:
        return a + b;
    case ATT_OP_SUBTRACT:
        return a - b;
    case ATT_OP_MULTIPLY:
        return a * b;
    case ATT_OP_DIVIDE:
        return a / b;
    case ATT_OP_POWER:
        return pow(a, b);
    case ATT_OP_LESS:
        return a < b;
    case ATT_OP_LESS_EQUAL:
        return a <= b;
    case ATT_OP_GREATER:
        return a > b;
    case ATT_OP_GREATER_EQUAL:
        return a >= b;
    case ATT_OP_EQUAL_TO:
        return a == b;
    case ATT_OP_NOT_EQUAL_TO:
        return a != b;
    default:
        fail_msg("a sum uses operator %d", (int)op);
        return 0;
    }
}

/* Evaluates the right side of a calculation, independently of the evaluator. */
static inline struct sum_value sum_evaluate(const att_expr *node)
{
    if (node->kind == ATT_EXPR_NUMBER)
        return sum_number(node->number);
    if (node->kind == ATT_EXPR_CONSTANT) {
        struct sum_value value = { .rows = node->matrix->rows, .cols = node->matrix->cols };
        assert_true(value.rows * value.cols <= SUM_ROOM);
        for (int64_t i = 0; i < value.rows * value.cols; i++)
            value.data[i] = node->matrix->data[i];
        return value;
    }
    if (node->kind == ATT_EXPR_NEGATE)
        return sum_number(-sum_evaluate(node->child[0]).data[0]);
    if (node->kind == ATT_EXPR_CALL && (strstr(node->text, "max") || strstr(node->text, "min"))) {
        double x[SUM_ROOM];
        assert_true(node->children <= SUM_ROOM);
        for (size_t i = 0; i < node->children; i++)
            x[i] = sum_evaluate(node->child[i]).data[0];
        return sum_number(sum_pick(node->text, x, node->children));
    }
    if (node->kind == ATT_EXPR_CALL)
        return sum_number(sum_apply(node->text, sum_evaluate(node->child[0]).data[0]));
    assert_int_equal(node->kind, ATT_EXPR_BINARY);
    struct sum_value a = sum_evaluate(node->child[0]);
    struct sum_value b = sum_evaluate(node->child[1]);
    bool a_single = a.rows * a.cols == 1;
    bool b_single = b.rows * b.cols == 1;
    assert_true(a_single || b_single || (a.rows == b.rows && a.cols == b.cols));
    struct sum_value result = a_single ? b : a;
    for (int64_t i = 0; i < result.rows * result.cols; i++)
        result.data[i] = sum_operate(node->op, a.data[a_single ? 0 : i], b.data[b_single ? 0 : i]);
    return result;
}

/* The bound is a few roundings of the largest number in a sum of a few terms. */
static inline void assert_calculations_hold(const att_trace_step *step, const char *name,
                                            const att_calculation *calculations, size_t count)
{
    for (size_t w = 0; w < count; w++) {
        const att_calculation *calculation = &calculations[w];
        struct sum_value right = sum_evaluate(calculation->right);
        assert_int_equal(right.rows, calculation->value->rows);
        assert_int_equal(right.cols, calculation->value->cols);
        for (int64_t i = 0; i < right.rows * right.cols; i++) {
            double want = calculation->value->data[i];
            bool same = right.data[i] == want || (isnan(right.data[i]) && isnan(want));
            double bound = 1e-12 * (1 + fabs(want));
            if (calculation->rounded)
                bound += (step->rounding->cut ? 1 : 0.5) * pow(10, -step->rounding->decimals);
            if (!same && !(fabs(right.data[i] - want) <= bound))
                fail_msg("line %d, %s, working %zu: %.17g is not %.17g", step->line, name, w,
                         right.data[i], want);
        }
    }
}

/* Asserts that every calculation of the sheet evaluates to its value; returns their number. */
static inline size_t assert_workings_hold(const att_sheet *sheet)
{
    size_t count = 0;
    for (size_t s = 0; s < sheet->step_count; s++) {
        const att_trace_step *step = &sheet->steps[s];
        assert_calculations_hold(step, step->name, step->calculations, step->calculation_count);
        count += step->calculation_count;
        for (size_t p = 0; p < step->part_count; p++) {
            const att_trace_part *part = &step->parts[p];
            assert_calculations_hold(step, part->name, part->calculations, part->calculation_count);
            count += part->calculation_count;
        }
    }
    return count;
}

#endif
