/* expect X = Y …, expect not X = Y …, expect error X: the checks of a sheet. A check that fails
 * does not stop the sheet. */
#include "sheet/tolerance.h"

#include "base/quote.h"
#include "sheet/function.h"
#include "sheet/hand.h"
#include "sheet/rounding.h"

#include <string.h>

static att_status new_check(att_interpreter *interpreter, const att_expr *left, att_check **out)
{
    *out = att_arena_alloc(&interpreter->sheet->arena, 1, sizeof **out);
    if (!*out)
        return att_fail_memory(interpreter->scope.err);
    (*out)->left = left;
    return ATT_OK;
}

/* ---- by hand: about the results with each step rounded */

static att_status parse_by_hand(att_interpreter *interpreter, att_parser *parser, bool *out)
{
    *out = att_parser_at_word(parser, "by");
    if (!*out)
        return ATT_OK;
    const att_token by = parser->token;
    ATT_TRY(att_parser_take(parser));
    if (!att_parser_at_word(parser, "hand"))
        return att_parser_expected(parser, "'hand' after 'by'");
    if (!interpreter->rounding)
        return att_sheet_source_fail(&interpreter->source, interpreter->scope.err, by.line,
                                     by.column,
                                     "nothing is computed by hand here: expected 'round each step "
                                     "to … decimals' on a line before");
    return att_parser_take(parser);
}

/* Whether the other column satisfies the claim too: its largest difference, or a negative number
 * where the shapes differ. */
static att_status compare_other(att_interpreter *interpreter, const att_scope *scope,
                                const att_check *check, att_tolerance nearness, bool *agrees,
                                double *difference)
{
    att_check other = { .left = check->left, .right = check->right };
    ATT_TRY(att_eval_matrix(scope, check->left, &other.actual));
    ATT_TRY(att_eval_matrix(scope, check->right, &other.expected));
    ATT_TRY(att_check_compare(interpreter, &other, &nearness));
    *agrees = other.passed;
    *difference = other.max_difference;
    return ATT_OK;
}

/* Says whether rounding explains the numbers of the claim. */
static att_status explain_by_rounding(att_interpreter *interpreter, att_check *check,
                                      const att_tolerance *nearness)
{
    if (!interpreter->rounding || check->negated || (check->by_hand && !check->passed))
        return ATT_OK;
    if (!check->by_hand && check->passed)
        return ATT_OK;
    const att_scope hand = att_hand_scope(interpreter);
    att_tolerance rule = *nearness;
    if (check->by_hand && rule.rule == ATT_RULE_DEFAULT) /* the exact number, rounded at the end */
        rule =
            (att_tolerance){ .rule = ATT_RULE_DECIMALS, .digits = interpreter->rounding->decimals };
    bool agrees;
    double difference;
    ATT_TRY(compare_other(interpreter, check->by_hand ? &interpreter->scope : &hand, check, rule,
                          &agrees, &difference));
    char words[ATT_ROUNDING_WORDS];
    att_rounding_describe(interpreter->rounding, words);
    att_arena *arena = &interpreter->sheet->arena;
    if (check->by_hand && agrees)
        check->message = "agrees by hand, and so does the exact result";
    else if (check->by_hand)
        check->message = att_arena_printf(arena,
                                          "agrees by hand: rounding alone explains it, the exact "
                                          "result differs by %.3g",
                                          difference);
    else if (agrees)
        check->message = att_arena_printf(arena,
                                          "%s; with %s it agrees, rounding alone explains it: "
                                          "expected '… by hand'",
                                          check->message, words);
    return check->message ? ATT_OK : att_fail_memory(interpreter->scope.err);
}

/* ---- expect X = Y */

static att_status expect_equal(att_interpreter *interpreter, att_parser *parser, bool negated)
{
    att_expr *left;
    att_expr *right;
    att_tolerance nearness;
    att_check *check;
    ATT_TRY(att_parse_expression(parser, &left));
    if (left->kind == ATT_EXPR_BINARY && left->op >= ATT_OP_LESS &&
        parser->last.kind != ATT_TOKEN_ROUND_CLOSE)
        return att_parser_expected(parser, "'=': a claim is 'expect X = Y', or of a comparison "
                                           "'expect (X < Y) = 1'");
    if (!att_parser_at(parser, ATT_TOKEN_EQUALS))
        return att_parser_expected(parser, "an operator or '='");
    ATT_TRY(att_parser_take(parser));
    ATT_TRY(att_parse_expression(parser, &right));
    bool by_hand;
    ATT_TRY(att_parse_tolerance(interpreter, parser, &nearness));
    ATT_TRY(parse_by_hand(interpreter, parser, &by_hand));
    ATT_TRY(att_parser_end(parser));
    ATT_TRY(new_check(interpreter, left, &check));
    check->right = right;
    check->negated = negated;
    check->by_hand = by_hand;
    check->rounding = by_hand ? interpreter->rounding : NULL;
    const att_scope scope = by_hand ? att_hand_scope(interpreter) : interpreter->scope;
    ATT_TRY(att_eval_matrix(&scope, left, &check->actual));
    ATT_TRY(att_eval_matrix(&scope, right, &check->expected));
    if (nearness.rule == ATT_RULE_PRINTED)
        ATT_TRY(att_tolerance_read_printed(interpreter, right, &nearness));
    ATT_TRY(att_check_compare(interpreter, check, &nearness));
    ATT_TRY(explain_by_rounding(interpreter, check, &nearness));
    return att_interpreter_add_check(interpreter, parser, check);
}

/* ---- expect error X */

/* Whether the option's value is a word, so that there is no name to look up. */
static bool is_option_word(const att_function *function, const att_expr *option)
{
    const att_option_spec *row = att_option_find(function, option->text);
    const att_expr *value = option->children > 0 ? option->child[0] : NULL;
    if (!row || !value || value->kind != ATT_EXPR_NAME)
        return false;
    return att_option_accepts_word(row, value->text) || att_option_accepts_only_words(row);
}

/* An unknown name or function is a typo, not the expected error: it must not make the check
 * pass. */
static att_status check_names(const att_scope *scope, const att_expr *node)
{
    att_value ignored;
    const att_function *function =
        node->kind == ATT_EXPR_CALL ? att_function_find(node->text) : NULL;
    bool own = node->kind == ATT_EXPR_CALL && att_own_function_find(scope->functions, node->text);
    if (node->kind == ATT_EXPR_NAME || (node->kind == ATT_EXPR_CALL && !function && !own))
        return att_eval(scope, node, &ignored);
    for (size_t i = 0; i < node->children; i++) {
        const att_expr *child = node->child[i];
        bool word = function && child->kind == ATT_EXPR_OPTION && is_option_word(function, child);
        if (child && !word)
            ATT_TRY(check_names(scope, child));
    }
    return ATT_OK;
}

/* The message of an expression that did not fail as expected; NULL if it did. */
static att_status check_expected_error(att_interpreter *interpreter, att_status status,
                                       const att_error *error, const char *saying,
                                       const att_value *value, const char **out)
{
    att_arena *arena = &interpreter->sheet->arena;
    char quoted[ATT_QUOTED_SIZE];
    *out = NULL;
    if (status == ATT_OK && value->kind == ATT_VALUE_LIST)
        *out = att_arena_printf(arena, "expected an error, found a list of %zu", value->item_count);
    else if (status == ATT_OK)
        *out = att_arena_printf(arena, "expected an error, found a %lld × %lld matrix",
                                (long long)value->matrix->rows, (long long)value->matrix->cols);
    else if (saying && !strstr(error->message, saying))
        *out = att_arena_printf(arena, "expected an error saying \"%s\", found \"%s\"",
                                att_quote(quoted, saying, strlen(saying)), error->message);
    else
        return ATT_OK;
    return *out ? ATT_OK : att_fail_memory(interpreter->scope.err);
}

static att_status add_expected_error(att_interpreter *interpreter, const att_parser *parser,
                                     const att_expr *formula, const char *message)
{
    const char *text = att_arena_strndup(&interpreter->sheet->arena, message, strlen(message));
    if (!text)
        return att_fail_memory(interpreter->scope.err);
    const att_trace_step step = { .kind = ATT_STEP_ERROR, .formula = formula, .text = text };
    interpreter->sheet->checks++;
    return att_interpreter_add_step(interpreter, parser, &step);
}

static att_status expect_error(att_interpreter *interpreter, att_parser *parser)
{
    att_expr *formula;
    const char *saying = NULL;
    ATT_TRY(att_parse_expression(parser, &formula));
    if (att_parser_at_word(parser, "saying")) {
        ATT_TRY(att_parser_take(parser));
        ATT_TRY(att_parser_string(parser, "the error's words in quotes after 'saying'", &saying));
    }
    ATT_TRY(att_parser_end(parser));
    ATT_TRY(check_names(&interpreter->scope, formula));
    att_error error = { .message = "" };
    att_scope scope = interpreter->scope;
    scope.err = &error;
    att_value value = { 0 };
    att_status status = att_eval(&scope, formula, &value);
    if (status != ATT_OK && status != ATT_BAD_INPUT) {
        if (interpreter->scope.err)
            *interpreter->scope.err = error;
        return status;
    }
    const char *outcome;
    att_check *check;
    ATT_TRY(check_expected_error(interpreter, status, &error, saying, &value, &outcome));
    if (!outcome)
        return add_expected_error(interpreter, parser, formula, error.message);
    ATT_TRY(new_check(interpreter, formula, &check));
    check->rule = ATT_RULE_ERROR;
    check->error_contains = saying;
    check->message = outcome;
    check->actual = value.matrix;
    return att_interpreter_add_check(interpreter, parser, check);
}

att_status att_run_expect(att_interpreter *interpreter, att_parser *parser)
{
    bool negated = att_parser_at_word(parser, "not");
    if (att_parser_at_word(parser, "error")) {
        ATT_TRY(att_parser_take(parser));
        return expect_error(interpreter, parser);
    }
    if (negated)
        ATT_TRY(att_parser_take(parser));
    return expect_equal(interpreter, parser, negated);
}
