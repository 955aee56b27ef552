/* The tolerance rules of `expect` and `compare`: parsing, comparison and messages. */
#include "sheet/tolerance.h"

#include "base/math.h"
#include "base/minmax.h"
#include "sheet/matrix.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_RULE_TOLERANCE 1e-9 /* default tolerance, times 1 + |expected| */

/* ---- Parsing */

static att_status parse_within(att_interpreter *interpreter, att_parser *parser, att_tolerance *out)
{
    att_expr *node;
    ATT_TRY(att_parse_expression(parser, &node));
    ATT_TRY(att_eval_number(&interpreter->scope, node, "the tolerance", &out->tolerance));
    if (out->tolerance < 0)
        return att_scope_fail(&interpreter->scope, node, "a tolerance cannot be negative, found %g",
                              out->tolerance);
    out->rule = ATT_RULE_WITHIN;
    parser->lexer.percent_sign = false;
    if (!att_parser_at(parser, ATT_TOKEN_PERCENT))
        return ATT_OK;
    out->rule = ATT_RULE_PERCENT;
    ATT_TRY(att_parser_take(parser));
    if (att_parser_at(parser, ATT_TOKEN_END) || att_parser_at_word(parser, "by"))
        return ATT_OK;
    return att_parser_expected(parser,
                               "the end of the line behind '%' (a comment behind a tolerance "
                               "starts with '#')");
}

static att_status parse_digits(att_interpreter *interpreter, att_parser *parser, att_tolerance *out)
{
    (void)interpreter;
    double count = parser->token.number;
    if (!att_parser_at(parser, ATT_TOKEN_NUMBER) || !(count >= 0 && count <= 17) ||
        count != floor(count))
        return att_parser_expected(parser, "a number of digits from 0 to 17 after 'to'");
    ATT_TRY(att_parser_take(parser));
    bool decimals = att_parser_at_word(parser, "decimals") || att_parser_at_word(parser, "decimal");
    bool digits = att_parser_at_word(parser, "digits") || att_parser_at_word(parser, "digit");
    if (!decimals && !digits)
        return att_parser_expected(parser, "'digits' or 'decimals'");
    if (digits && count == 0)
        return att_parser_fail(parser, "expected at least 1 digit, found 0");
    out->rule = decimals ? ATT_RULE_DECIMALS : ATT_RULE_DIGITS;
    out->digits = (int)count;
    return att_parser_take(parser);
}

static att_status parse_printed(att_interpreter *interpreter, att_parser *parser,
                                att_tolerance *out)
{
    (void)interpreter;
    if (!att_parser_at_word(parser, "printed"))
        return att_parser_expected(parser, "'printed' after 'as'");
    out->rule = ATT_RULE_PRINTED;
    return att_parser_take(parser);
}

static const struct rule_spec {
    const char *word;
    att_status (*parse)(att_interpreter *interpreter, att_parser *parser, att_tolerance *out);
} rules[] = { { "within", parse_within }, { "to", parse_digits }, { "as", parse_printed } };

att_status att_parse_tolerance(att_interpreter *interpreter, att_parser *parser, att_tolerance *out)
{
    *out = (att_tolerance){ .rule = ATT_RULE_DEFAULT, .tolerance = NO_RULE_TOLERANCE };
    for (size_t i = 0; i < ATT_COUNT(rules); i++) {
        if (!att_parser_at_word(parser, rules[i].word))
            continue;
        parser->lexer.percent_sign = rules[i].parse == parse_within;
        ATT_TRY(att_parser_take(parser));
        return rules[i].parse(interpreter, parser, out);
    }
    if (!att_parser_at(parser, ATT_TOKEN_NAME) || att_parser_at_word(parser, "by"))
        return ATT_OK;
    return att_parser_expected(
        parser, "'within', 'to', 'as printed', 'by hand' or the end of the statement");
}

/* ---- As printed */

/* Half a unit of the last digit: 0.005 for "0.26", 0.5 for "3", 50 for "1.2e3". */
static double half_unit(const char *text)
{
    const char *exponent = strpbrk(text, "eE");
    const char *point = strchr(text, '.');
    const char *end = exponent ? exponent : text + strlen(text);
    long power = exponent ? strtol(exponent + 1, NULL, 10) : 0;
    if (point)
        power -= end - point - 1;
    return power < -400 ? 0 : 0.5 * att_pow(10, (double)power);
}

static att_status read_half(att_interpreter *interpreter, const att_expr *node, double *out)
{
    const att_expr *number = node->kind == ATT_EXPR_NEGATE ? node->child[0] : node;
    if (number->kind != ATT_EXPR_NUMBER)
        return att_scope_fail(&interpreter->scope, node,
                              "'as printed' counts the digits of written numbers: expected a "
                              "number here");
    *out = half_unit(number->text);
    return ATT_OK;
}

att_status att_tolerance_read_printed(att_interpreter *interpreter, const att_expr *written,
                                      att_tolerance *nearness)
{
    size_t count = 0;
    bool matrix = written->kind == ATT_EXPR_MATRIX;
    for (size_t i = 0; matrix && i < written->children; i++)
        count += written->child[i]->children;
    double *halves =
        att_arena_alloc(&interpreter->sheet->arena, matrix ? count : 1, sizeof *halves);
    if (!halves)
        return att_fail_memory(interpreter->scope.err);
    nearness->half_units = halves;
    if (!matrix)
        return read_half(interpreter, written, halves);
    for (size_t i = 0; i < written->children; i++)
        for (size_t j = 0; j < written->child[i]->children; j++)
            ATT_TRY(read_half(interpreter, written->child[i]->child[j], halves++));
    return ATT_OK;
}

/* ---- Comparing */

/* The power of ten of the first digit: 2 for 263.1, -1 for 0.26. */
static int magnitude(double x)
{
    char text[32];
    snprintf(text, sizeof text, "%.16e", x);
    return atoi(strchr(text, 'e') + 1);
}

/* The allowed difference of an element. Zero has no significant digit; its first digit counts as
 * the one behind the decimal point. */
static double allowed_difference(const att_tolerance *nearness, double expected, int64_t index)
{
    switch (nearness->rule) {
    case ATT_RULE_DIGITS: {
        int first = expected == 0 || !isfinite(expected) ? -1 : magnitude(expected);
        return 0.5 * att_pow(10, first + 1 - nearness->digits);
    }
    case ATT_RULE_DECIMALS:
        return 0.5 * att_pow(10, -nearness->digits);
    case ATT_RULE_PRINTED:
        return nearness->half_units[index];
    case ATT_RULE_DEFAULT:
        return nearness->tolerance * (1 + fabs(expected));
    case ATT_RULE_PERCENT:
        return isfinite(expected) ? nearness->tolerance / 100 * fabs(expected) : 0;
    case ATT_RULE_WITHIN:
    case ATT_RULE_GRADIENT:
    case ATT_RULE_ERROR:
        break;
    }
    return nearness->tolerance;
}

/* The distance of two numbers; NaN and infinity are infinitely far from everything but
 * themselves. */
static double distance(double a, double b)
{
    if (a == b || (isnan(a) && isnan(b)))
        return 0;
    return isfinite(a) && isfinite(b) ? fabs(a - b) : INFINITY;
}

/* A decimal that ends in 5 is inexact in binary: 0.265 - 0.26 is not 0.005 but
 * 0.0050000000000000044. So a few units in the last place are tolerated, except by `within 0`. */
static bool is_close(double actual, double expected, double allowed)
{
    double off = distance(actual, expected);
    double slack = allowed == 0 ? 0 : 8 * DBL_EPSILON * fmax(fabs(actual), fabs(expected));
    return off == 0 || (isfinite(off) && off <= allowed + slack);
}

/* Counts the elements out of tolerance, and finds the first of them and the largest difference. */
static void measure(att_check *check, const att_tolerance *nearness)
{
    const att_matrix *actual = check->actual;
    for (int64_t i = 0; i < actual->rows * actual->cols; i++) {
        double expected = check->expected->data[i];
        check->max_difference = fmax(check->max_difference, distance(actual->data[i], expected));
        if (is_close(actual->data[i], expected, allowed_difference(nearness, expected, i)))
            continue;
        if (check->mismatch_count++ == 0) {
            check->row = i / actual->cols + 1;
            check->col = i % actual->cols + 1;
        }
    }
}

/* ---- Messages */

/* Writes two numbers with as many digits as needed to distinguish them, at least `min`. */
static void write_apart(char a_text[40], double a, char b_text[40], double b, int min)
{
    for (int digits = min; digits <= 17; digits++) {
        snprintf(a_text, 40, "%.*g", digits, a);
        snprintf(b_text, 40, "%.*g", digits, b);
        if (a == b || strcmp(a_text, b_text) != 0)
            return;
    }
}

static const char *describe_rule(char out[64], const att_tolerance *nearness)
{
    if (nearness->rule == ATT_RULE_PRINTED)
        snprintf(out, 64, "in every printed digit");
    else if (nearness->rule == ATT_RULE_DEFAULT)
        snprintf(out, 64, "to %.6g relative", nearness->tolerance);
    else if (nearness->rule == ATT_RULE_WITHIN)
        snprintf(out, 64, "within %.6g", nearness->tolerance);
    else if (nearness->rule == ATT_RULE_PERCENT)
        snprintf(out, 64, "within %.6g %%", nearness->tolerance);
    else
        snprintf(out, 64, "to %d %s%s", nearness->digits,
                 nearness->rule == ATT_RULE_DIGITS ? "digit" : "decimal",
                 nearness->digits == 1 ? "" : "s");
    return out;
}

static const char *describe_agreement(att_arena *arena, const att_check *check,
                                      const att_tolerance *nearness)
{
    int64_t count = check->actual->rows * check->actual->cols;
    char rule[64];
    describe_rule(rule, nearness);
    if (check->negated)
        return att_arena_printf(arena, "agrees %s, but was expected to differ", rule);
    if (count == 1 && check->max_difference == 0)
        return "agrees exactly";
    if (count == 1)
        return att_arena_printf(arena, "agrees %s, off by %.3g", rule, check->max_difference);
    if (check->max_difference == 0)
        return att_arena_printf(arena, "all %lld elements agree exactly", (long long)count);
    return att_arena_printf(arena, "all %lld elements agree %s, the largest difference is %.3g",
                            (long long)count, rule, check->max_difference);
}

/* The message of a failed check: first element out of tolerance, its difference, and the count. */
static const char *describe_difference(att_arena *arena, const att_check *check,
                                       const att_tolerance *nearness)
{
    int64_t count = check->actual->rows * check->actual->cols;
    int64_t index = (check->row - 1) * check->actual->cols + check->col - 1;
    double actual = check->actual->data[index];
    double expected = check->expected->data[index];
    char place[64] = "it";
    char rest[96] = "";
    char actual_text[40];
    char expected_text[40];
    char off[40];
    char allowed[40];
    write_apart(actual_text, actual, expected_text, expected, 6);
    write_apart(off, distance(actual, expected), allowed,
                allowed_difference(nearness, expected, index), 3);
    if (count > 1)
        snprintf(place, sizeof place, "element [%lld,%lld]", (long long)check->row,
                 (long long)check->col);
    if (count > 1)
        snprintf(rest, sizeof rest, "; %lld of %lld elements %s out of tolerance",
                 (long long)check->mismatch_count, (long long)count,
                 check->mismatch_count == 1 ? "is" : "are");
    if (check->negated)
        return att_arena_printf(arena, "differs as expected: %s is %s, not %s", place, actual_text,
                                expected_text);
    return att_arena_printf(arena, "%s is %s, expected %s: off by %s, allowed %s%s", place,
                            actual_text, expected_text, off, allowed, rest);
}

static const char *describe_shapes(att_arena *arena, const att_check *check)
{
    return att_arena_printf(arena, "the shapes differ: expected %lld × %lld, found %lld × %lld",
                            (long long)check->expected->rows, (long long)check->expected->cols,
                            (long long)check->actual->rows, (long long)check->actual->cols);
}

/* ---- Checking */

/* Broadcasts a single expected number, and its half unit, to the actual shape. */
static att_status spread(att_interpreter *interpreter, att_check *check, att_tolerance *nearness)
{
    att_arena *arena = &interpreter->sheet->arena;
    int64_t count = check->actual->rows * check->actual->cols;
    att_matrix *full = att_matrix_new(arena, check->actual->rows, check->actual->cols);
    double *halves = att_arena_alloc(arena, (size_t)count, sizeof *halves);
    if (!full || !halves)
        return att_fail_memory(interpreter->scope.err);
    for (int64_t i = 0; i < count; i++) {
        full->data[i] = check->expected->data[0];
        halves[i] = nearness->half_units ? nearness->half_units[0] : 0;
    }
    check->expected = full;
    nearness->half_units = halves;
    return ATT_OK;
}

void att_check_set_rule(att_check *check, const att_tolerance *nearness)
{
    check->rule = nearness->rule;
    check->tolerance = nearness->tolerance;
    check->digits = nearness->digits;
}

att_status att_check_compare(att_interpreter *interpreter, att_check *check,
                             att_tolerance *nearness)
{
    att_arena *arena = &interpreter->sheet->arena;
    att_check_set_rule(check, nearness);
    if (att_matrix_is_scalar(check->expected) && !att_matrix_is_scalar(check->actual))
        ATT_TRY(spread(interpreter, check, nearness));
    bool same_shape = check->actual->rows == check->expected->rows &&
                      check->actual->cols == check->expected->cols;
    if (same_shape) {
        measure(check, nearness);
        check->passed = (check->mismatch_count == 0) != check->negated;
        check->message = check->mismatch_count == 0 ? describe_agreement(arena, check, nearness)
                                                    : describe_difference(arena, check, nearness);
    } else {
        check->passed = false;
        check->message = describe_shapes(arena, check);
    }
    return check->message ? ATT_OK : att_fail_memory(interpreter->scope.err);
}

att_status att_interpreter_add_check(att_interpreter *interpreter, const att_parser *parser,
                                     const att_check *check)
{
    const att_trace_step step = { .kind = ATT_STEP_CHECK, .check = check };
    interpreter->sheet->checks++;
    interpreter->sheet->failures += !check->passed;
    return att_interpreter_add_step(interpreter, parser, &step);
}
