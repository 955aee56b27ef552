/* gradient L, gradient a with G, gradient L for W, b, gradient L check: the backward pass of a
 * sheet as a step of its trace. */
#include "sheet/gradient.h"

#include "sheet/matrix.h"
#include "sheet/tolerance.h"

#include <math.h>
#include <string.h>

/* A parsed statement. */
struct statement {
    att_expr *of;
    att_expr *with;      /* or NULL */
    att_children inputs; /* behind `for` */
    bool check;
};

static att_status parse_inputs(att_parser *parser, struct statement *out)
{
    do {
        att_expr *input;
        ATT_TRY(att_parser_take(parser)); /* `for` or ',' */
        ATT_TRY(att_parse_expression(parser, &input));
        ATT_TRY(att_children_add(parser, &out->inputs, input));
    } while (att_parser_at(parser, ATT_TOKEN_COMMA));
    return ATT_OK;
}

static att_status parse_statement(att_parser *parser, struct statement *out)
{
    *out = (struct statement){ 0 };
    ATT_TRY(att_parse_expression(parser, &out->of));
    if (att_parser_at_word(parser, "with")) {
        ATT_TRY(att_parser_take(parser));
        ATT_TRY(att_parse_expression(parser, &out->with));
    }
    if (att_parser_at_word(parser, "for"))
        ATT_TRY(parse_inputs(parser, out));
    out->check = att_parser_at_word(parser, "check");
    if (out->check)
        ATT_TRY(att_parser_take(parser));
    if (att_parser_at(parser, ATT_TOKEN_END))
        return ATT_OK;
    char found[ATT_QUOTE_SIZE];
    return att_parser_fail(parser,
                           "expected an operator, %s%s'check' or the end of the statement, found "
                           "%s (a line of text that looks like a statement starts with '>')",
                           out->with || out->inputs.count ? "" : "'with', ",
                           out->inputs.count ? "" : "'for', ",
                           att_token_describe(&parser->lexer, &parser->token, found));
}

/* ---- Values */

static att_status eval_start(const att_scope *scope, const struct statement *statement,
                             att_gradient_request *out)
{
    char quote[ATT_QUOTE_SIZE];
    ATT_TRY(att_eval_matrix(scope, statement->of, &out->of));
    att_sheet_source_quote(scope->source, statement->of, quote);
    if (!statement->with && !att_matrix_is_scalar(out->of))
        return att_scope_fail(
            scope, statement->of,
            "%s is %lld × %lld: expected one number, or 'gradient %s with G' with "
            "a G of this shape",
            quote, (long long)out->of->rows, (long long)out->of->cols, quote);
    if (!statement->with)
        return ATT_OK;
    ATT_TRY(att_eval_matrix(scope, statement->with, &out->with));
    if (out->with->rows == out->of->rows && out->with->cols == out->of->cols)
        return ATT_OK;
    return att_scope_fail(scope, statement->with,
                          "the gradient of %s must have its shape, %lld × %lld: found %lld × %lld",
                          quote, (long long)out->of->rows, (long long)out->of->cols,
                          (long long)out->with->rows, (long long)out->with->cols);
}

/* Adds the matrices of one input behind `for`: a list has several. */
static size_t list_inputs(const att_value *value, const att_matrix **to)
{
    if (value->kind != ATT_VALUE_LIST) {
        if (to)
            *to = value->matrix;
        return 1;
    }
    for (size_t i = 0; to && i < value->item_count; i++)
        to[i] = value->items[i].matrix;
    return value->item_count;
}

static att_status eval_inputs(const att_scope *scope, const struct statement *statement,
                              att_gradient_request *out)
{
    size_t count = 0;
    att_value *values = att_arena_alloc(scope->arena, statement->inputs.count, sizeof *values);
    if (statement->inputs.count == 0)
        return ATT_OK;
    if (!values)
        return att_fail_memory(scope->err);
    for (size_t i = 0; i < statement->inputs.count; i++) {
        const att_expr *node = statement->inputs.items[i];
        ATT_TRY(att_eval(scope, node, &values[i]));
        if (node->kind != ATT_EXPR_NAME && node->kind != ATT_EXPR_FIELD)
            return att_scope_fail(scope, node,
                                  "expected a name or a part after 'for': a gradient belongs to a "
                                  "whole value");
        count += list_inputs(&values[i], NULL);
    }
    const att_matrix **inputs = att_arena_alloc(scope->arena, count, sizeof *inputs);
    if (!inputs)
        return att_fail_memory(scope->err);
    out->inputs = inputs;
    for (size_t i = 0; i < statement->inputs.count; i++)
        out->input_count += list_inputs(&values[i], inputs + out->input_count);
    return ATT_OK;
}

/* ---- The step */

/* Fails if nothing but the result itself has a gradient: that is a mistake, not an answer. */
static att_status check_found(const att_scope *scope, const struct statement *statement,
                              const att_gradient_request *request, const att_gradient *gradient)
{
    char quote[ATT_QUOTE_SIZE];
    for (size_t i = 0; i < gradient->value_count; i++) {
        const att_recorded_value *value = &scope->record->values[i];
        bool itself = value->matrix->data == request->of->data;
        if (gradient->grads[i] && (!itself || value->producer == ATT_NOT_COMPUTED))
            return ATT_OK;
    }
    att_sheet_source_quote(scope->source, statement->of, quote);
    return att_scope_fail(scope, statement->of,
                          request->inputs ? "%s does not depend on what is named after 'for'"
                                          : "%s has no gradient: it depends on no name, or only "
                                            "through functions that are constant, such as argmax",
                          quote);
}

static att_status add_step(att_interpreter *interpreter, const att_parser *parser,
                           const struct statement *statement, att_gradient *gradient,
                           const att_trace_part *parts, size_t part_count)
{
    const att_scope *scope = &interpreter->scope;
    char quote[ATT_QUOTE_SIZE];
    att_sheet_source_quote(scope->source, statement->of, quote);
    gradient->of = att_arena_strndup(scope->arena, quote, strlen(quote));
    gradient->line = interpreter->source.anchor_line;
    const char *text = att_arena_printf(
        scope->arena,
        "The gradient of %s, from the result back to the inputs: dX "
        "says how much %s changes with each number of X.",
        quote, statement->with ? "the sum of its elements times the given gradient" : quote);
    if (!gradient->of || !text)
        return att_fail_memory(scope->err);
    const att_trace_step step = { .kind = ATT_STEP_GRADIENT,
                                  .formula = statement->of,
                                  .with = statement->with,
                                  .text = text,
                                  .parts = parts,
                                  .part_count = part_count };
    ATT_TRY(att_interpreter_add_step(interpreter, parser, &step));
    gradient->step = interpreter->sheet->step_count - 1;
    interpreter->record.gradient = gradient;
    return ATT_OK;
}

/* ---- The check */

/* A NaN without its sign, which no machine promises. */
static double unsigned_nan(double x)
{
    return isnan(x) ? fabs(x) : x;
}

/* "; 2 are at a kink …", or nothing. */
static const char *describe_kinks(att_arena *arena, const att_gradient_difference *found)
{
    if (found->kinks == 0)
        return "";
    return att_arena_printf(arena,
                            "; %lld of them %s at a kink, a tie or a jump, where differences "
                            "cannot judge the gradient",
                            (long long)found->kinks, found->kinks == 1 ? "is" : "are");
}

static const char *describe_check(att_arena *arena, const att_gradient_difference *found)
{
    const char *plural = found->count == 1 ? "" : "s";
    const char *kinks = describe_kinks(arena, found);
    if (!kinks)
        return NULL;
    if (found->wrong == 0)
        return att_arena_printf(arena,
                                "%lld number%s compared with central differences; the largest "
                                "difference is %.1e%s",
                                (long long)found->count, plural, found->largest, kinks);
    return att_arena_printf(
        arena,
        "%lld of %lld number%s differ%s from central differences: d%s[%lld, %lld] "
        "is %.9g, the differences say %.9g%s",
        (long long)found->wrong, (long long)found->count, plural, found->count == 1 ? "s" : "",
        found->name, (long long)found->row, (long long)found->col, unsigned_nan(found->gradient),
        unsigned_nan(found->difference), kinks);
}

static att_status run_check(att_interpreter *interpreter, const att_parser *parser,
                            const struct statement *statement, const att_gradient_request *request,
                            const att_gradient *gradient)
{
    att_gradient_difference found;
    ATT_TRY(att_gradient_check(&interpreter->scope, request, gradient, &found));
    att_check *check = att_arena_alloc(&interpreter->sheet->arena, 1, sizeof *check);
    const char *message = describe_check(&interpreter->sheet->arena, &found);
    if (!check || !message)
        return att_fail_memory(interpreter->scope.err);
    *check = (att_check){ .passed = found.wrong == 0,
                          .left = statement->of,
                          .rule = ATT_RULE_GRADIENT,
                          .tolerance = found.tolerance,
                          .mismatch_count = found.wrong,
                          .row = found.row,
                          .col = found.col,
                          .max_difference = found.largest,
                          .message = message };
    return att_interpreter_add_check(interpreter, parser, check);
}

att_status att_run_gradient(att_interpreter *interpreter, att_parser *parser)
{
    const att_scope *scope = &interpreter->scope;
    struct statement statement;
    att_gradient *gradient;
    att_trace_part *parts;
    size_t part_count;
    ATT_TRY(parse_statement(parser, &statement));
    if (interpreter->rounding)
        return att_scope_fail(scope, statement.of,
                              "a backward pass is exact, and the steps of this sheet are rounded: "
                              "expected 'round no step' before 'gradient'");
    att_gradient_request request = { .node = statement.of, .symbols = &interpreter->symbols };
    ATT_TRY(eval_start(scope, &statement, &request));
    ATT_TRY(eval_inputs(scope, &statement, &request));
    ATT_TRY(att_gradient_walk(scope, &request, &gradient, &parts, &part_count));
    ATT_TRY(check_found(scope, &statement, &request, gradient));
    ATT_TRY(add_step(interpreter, parser, &statement, gradient, parts, part_count));
    return statement.check ? run_check(interpreter, parser, &statement, &request, gradient)
                           : ATT_OK;
}
