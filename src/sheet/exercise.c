/* The statements of exercises: given …, ask …, hint … and require …. Their grading is in
 * src/grade. */
#include "sheet/record.h"
#include "sheet/tolerance.h"

#include "base/hash.h"
#include "base/math.h"
#include "base/random.h"
#include "sheet/matrix.h"
#include "sheet/scenario.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- given NAME = …: a value that the question paper states */

/* random R x C from A to B step S: the numbers A, A + S, …, B with the same probability. In units
 * of the last decimal of A and S, so that 0.1 + 2 · 0.1 is 0.3. */
struct draw {
    int64_t rows, cols;
    double from, step, unit; /* from and step in units */
    double count;            /* of values */
};

static att_status parse_size(att_parser *parser, int64_t *out)
{
    double size = parser->token.number;
    if (!att_parser_at(parser, ATT_TOKEN_NUMBER) || !(size >= 1 && size <= 1000) ||
        size != floor(size))
        return att_parser_expected(parser, "a whole number of rows and columns from 1 to 1000");
    *out = (int64_t)size;
    return att_parser_take(parser);
}

static att_status parse_bound(att_parser *parser, const char *what, double *out)
{
    double sign = 1;
    if (att_parser_at(parser, ATT_TOKEN_MINUS)) {
        sign = -1;
        ATT_TRY(att_parser_take(parser));
    }
    if (!att_parser_at(parser, ATT_TOKEN_NUMBER) || !(fabs(parser->token.number) <= 1e6))
        return att_parser_expected(parser, what);
    *out = sign * parser->token.number;
    return att_parser_take(parser);
}

static bool is_whole(double x)
{
    return fabs(x - floor(x + 0.5)) < 1e-6;
}

/* The values from `from` to `to`, `step` apart. */
static att_status set_range(att_parser *parser, double from, double to, double step,
                            struct draw *out)
{
    out->unit = 1;
    for (int d = 0; d < 6 && !(is_whole(from * out->unit) && is_whole(step * out->unit)); d++)
        out->unit *= 10;
    out->from = floor(from * out->unit + 0.5);
    out->step = floor(step * out->unit + 0.5);
    out->count = out->step > 0 ? floor((to * out->unit - out->from) / out->step + 1e-9) + 1 : 0;
    if (!(out->count >= 2 && out->count <= 1e9))
        return att_parser_fail(parser, "random needs at least two values to choose from: 'from' "
                                       "below 'to', and a step that fits between them");
    return ATT_OK;
}

static att_status parse_random(att_parser *parser, struct draw *out)
{
    double from = -3, to = 3, step = 1;
    *out = (struct draw){ .rows = 1, .cols = 1 };
    ATT_TRY(att_parser_take(parser)); /* random */
    if (att_parser_at(parser, ATT_TOKEN_NUMBER)) {
        ATT_TRY(parse_size(parser, &out->rows));
        if (!att_parser_at_word(parser, "x"))
            return att_parser_expected(parser, "'x' and the number of columns, as in 2 x 3");
        ATT_TRY(att_parser_take(parser));
        ATT_TRY(parse_size(parser, &out->cols));
    }
    if (att_parser_at_word(parser, "from")) {
        ATT_TRY(att_parser_take(parser));
        ATT_TRY(parse_bound(parser, "the smallest number behind 'from'", &from));
        if (!att_parser_at_word(parser, "to"))
            return att_parser_expected(parser, "'to' and the largest number");
        ATT_TRY(att_parser_take(parser));
        ATT_TRY(parse_bound(parser, "the largest number behind 'to'", &to));
    }
    if (att_parser_at_word(parser, "step")) {
        ATT_TRY(att_parser_take(parser));
        ATT_TRY(parse_bound(parser, "the distance of two values behind 'step'", &step));
    }
    if (!att_parser_at(parser, ATT_TOKEN_END))
        return att_parser_expected(parser, "'from', 'step' or the end of the line");
    return set_range(parser, from, to, step, out);
}

/* The seed of a given value: a change of the sheet's other lines leaves a variant as it is. */
static uint64_t seed_of(const att_interpreter *interpreter, const att_parser *parser)
{
    const att_sheet *sheet = interpreter->sheet;
    const char *statement = interpreter->source.text + interpreter->statement;
    size_t length = parser->last.offset + parser->last.length - interpreter->statement;
    uint64_t hash = att_hash_fnv1a(interpreter->variant, strlen(interpreter->variant) + 1);
    for (size_t i = 0; i < sheet->step_count; i++)
        if (sheet->steps[i].kind == ATT_STEP_HEADING) {
            hash = att_hash_fnv1a_add(hash, sheet->steps[i].text, strlen(sheet->steps[i].text));
            break;
        }
    return att_hash_fnv1a_add(hash, statement, length);
}

static att_status draw_value(att_interpreter *interpreter, att_parser *parser, att_value *out)
{
    struct draw draw;
    ATT_TRY(parse_random(parser, &draw));
    uint64_t seed = seed_of(interpreter, parser);
    att_matrix *to = att_matrix_new(&interpreter->sheet->arena, draw.rows, draw.cols);
    if (!to)
        return att_fail_memory(interpreter->scope.err);
    for (int64_t i = 0; i < draw.rows * draw.cols; i++) {
        double chosen = floor(att_random_double(seed, interpreter->draw, (uint64_t)i) * draw.count);
        to->data[i] = (draw.from + chosen * draw.step) / draw.unit;
        if (to->data[i] == 0)
            to->data[i] = 0; /* not -0 */
    }
    interpreter->sheet->random = true;
    *out = (att_value){ .kind = ATT_VALUE_MATRIX, .matrix = to };
    return ATT_OK;
}

/* `random(` is the function of the language, with a seed of its own. */
static bool is_draw(const att_parser *parser)
{
    if (!att_parser_at_word(parser, "random"))
        return false;
    size_t at = parser->token.offset + parser->token.length;
    const att_sheet_source *source = parser->lexer.source;
    while (at < source->length && source->text[at] == ' ')
        at++;
    return at >= source->length || source->text[at] != '(';
}

att_status att_run_given(att_interpreter *interpreter, att_parser *parser)
{
    const char *name;
    att_expr *formula = NULL;
    att_value value;
    ATT_TRY(att_parser_name(parser, "a name behind 'given'", &name));
    if (att_parser_at(parser, ATT_TOKEN_EQUAL_TO))
        return att_parser_expected(parser, "'=' behind the name of a given value");
    ATT_TRY(att_parser_take(parser)); /* the '=', seen before */
    if (is_draw(parser)) {
        ATT_TRY(draw_value(interpreter, parser, &value));
    } else {
        ATT_TRY(att_parse_expression(parser, &formula));
        ATT_TRY(att_parser_end(parser));
        ATT_TRY(att_eval(&interpreter->scope, formula, &value));
    }
    if (value.kind == ATT_VALUE_LIST || value.kind == ATT_VALUE_RECORD)
        return att_scope_fail(&interpreter->scope, formula,
                              "given takes a matrix; a list or the result of a layer is assigned "
                              "without 'given'");
    const att_trace_step step = { .kind = ATT_STEP_VALUE,
                                  .name = name,
                                  .formula = formula,
                                  .value = value.matrix,
                                  .given = true };
    ATT_TRY(att_interpreter_add_step(interpreter, parser, &step));
    if (!att_symbol_table_set(&interpreter->symbols, &interpreter->sheet->arena, name, &value,
                              interpreter->sheet->step_count - 1))
        return att_fail_memory(interpreter->scope.err);
    return att_record_name(&interpreter->scope, name, &value, interpreter->source.anchor_line);
}

/* ---- ask EXPR "what" points N within T */

/* The value that an ask names: X, a.weights, a.head[2].weights. False: another expression. */
static bool find_target(const att_expr *node, att_ask *ask)
{
    if (node->kind == ATT_EXPR_NAME) {
        ask->target = node->text;
        return true;
    }
    if (node->kind != ATT_EXPR_FIELD)
        return false;
    const att_expr *of = node->child[0];
    ask->part = node->text;
    if (of->kind == ATT_EXPR_INDEX && of->children == 2 && of->child[0]->kind == ATT_EXPR_FIELD &&
        strcmp(of->child[0]->text, "head") == 0 && of->child[1]->kind == ATT_EXPR_NUMBER) {
        ask->head = (int64_t)of->child[1]->number;
        of = of->child[0]->child[0];
    }
    ask->target = of->kind == ATT_EXPR_NAME ? of->text : NULL;
    return ask->target != NULL;
}

/* The elements of the target that are asked for: all, or those of an index, which is applied to a
 * matrix of places. */
static att_status find_places(const att_scope *scope, const att_expr *base, const att_expr *node,
                              att_ask *ask)
{
    const att_matrix *whole;
    const att_matrix *chosen;
    ATT_TRY(att_eval_matrix(scope, base, &whole));
    att_matrix *numbers = att_matrix_new(scope->arena, whole->rows, whole->cols);
    for (int64_t i = 0; numbers && i < whole->rows * whole->cols; i++)
        numbers->data[i] = (double)i;
    chosen = numbers;
    if (numbers && node != base) {
        att_expr constant = { .kind = ATT_EXPR_CONSTANT, .matrix = numbers };
        att_expr *children[3] = { &constant, node->child[1], NULL };
        if (node->children > 2)
            children[2] = node->child[2];
        att_expr index = *node;
        index.child = children;
        ATT_TRY(att_eval_matrix(scope, &index, &chosen));
    }
    int64_t count = chosen ? chosen->rows * chosen->cols : 0;
    int64_t *places = att_arena_alloc(scope->arena, (size_t)count, sizeof *places);
    if (!chosen || !places)
        return att_fail_memory(scope->err);
    for (int64_t i = 0; i < count; i++)
        places[i] = (int64_t)chosen->data[i];
    ask->places = places;
    return ATT_OK;
}

static att_status set_target(const att_interpreter *interpreter, att_ask *ask)
{
    const att_expr *node = ask->formula;
    const att_expr *base = node->kind == ATT_EXPR_INDEX ? node->child[0] : node;
    const att_symbol *symbol =
        find_target(base, ask) ? att_symbol_table_get(&interpreter->symbols, ask->target) : NULL;
    const att_trace_step *step = symbol ? &interpreter->sheet->steps[symbol->step] : NULL;
    if (!symbol || step->given || symbol->value.kind == ATT_VALUE_LIST) {
        ask->target = NULL;
        return ATT_OK;
    }
    ask->line = step->line;
    return find_places(&interpreter->scope, base, node, ask);
}

static att_status parse_points(att_parser *parser, att_ask *ask)
{
    ATT_TRY(att_parser_take(parser));
    if (!att_parser_at(parser, ATT_TOKEN_NUMBER) || !(parser->token.number <= 1e6))
        return att_parser_expected(parser, "a number of points");
    ask->points = parser->token.number;
    return att_parser_take(parser);
}

/* points N, partial, and a rule; `as rounded` unless another is given. */
static att_status parse_terms(att_interpreter *interpreter, att_parser *parser, att_ask *ask)
{
    bool ruled = false;
    ask->points = 1;
    ask->rounded = true;
    while (!att_parser_at(parser, ATT_TOKEN_END)) {
        bool rule = att_parser_at_word(parser, "within") || att_parser_at_word(parser, "to");
        if (att_parser_at_word(parser, "points") || att_parser_at_word(parser, "point")) {
            ATT_TRY(parse_points(parser, ask));
        } else if (att_parser_at_word(parser, "partial")) {
            ask->partial = true;
            ATT_TRY(att_parser_take(parser));
        } else if (att_parser_at_word(parser, "as") && !ruled) {
            ruled = true;
            ATT_TRY(att_parser_take(parser));
            if (!att_parser_at_word(parser, "rounded"))
                return att_parser_expected(parser, "'rounded' after 'as'");
            ATT_TRY(att_parser_take(parser));
        } else if (rule && !ruled) {
            att_tolerance tolerance;
            ruled = true;
            ATT_TRY(att_parse_tolerance(interpreter, parser, &tolerance));
            ask->rounded = false;
            ask->rule = tolerance.rule;
            ask->tolerance = tolerance.tolerance;
            ask->digits = tolerance.digits;
        } else {
            return att_parser_expected(parser,
                                       ruled ? "'points', 'partial' or the end of the line"
                                             : "'points', 'within', 'to', 'as rounded', 'partial' "
                                               "or the end of the line");
        }
    }
    return ATT_OK;
}

static att_status add_ask(att_interpreter *interpreter, const att_parser *parser, att_ask *ask)
{
    att_sheet *sheet = interpreter->sheet;
    void *asks = sheet->asks;
    if (!att_arena_array_grow(&sheet->arena, &asks, &sheet->ask_capacity, sheet->ask_count,
                              sizeof *sheet->asks))
        return att_fail_memory(interpreter->scope.err);
    sheet->asks = asks;
    sheet->asks[sheet->ask_count++] = ask;
    ask->number = sheet->ask_count;
    const att_trace_step step = { .kind = ATT_STEP_ASK, .formula = ask->formula, .ask = ask };
    return att_interpreter_add_step(interpreter, parser, &step);
}

att_status att_run_ask(att_interpreter *interpreter, att_parser *parser)
{
    att_arena *arena = &interpreter->sheet->arena;
    att_ask *ask = att_arena_alloc(arena, 1, sizeof *ask);
    att_expr *formula;
    if (!ask)
        return att_fail_memory(interpreter->scope.err);
    size_t begin = parser->token.offset;
    ATT_TRY(att_parse_expression(parser, &formula));
    ask->formula = formula;
    ask->name = att_arena_strndup(arena, interpreter->source.text + begin,
                                  parser->last.offset + parser->last.length - begin);
    if (!ask->name)
        return att_fail_memory(interpreter->scope.err);
    ATT_TRY(att_parser_string(parser, "what is asked for in quotes, as in: ask x \"the input\"",
                              &ask->description));
    ATT_TRY(parse_terms(interpreter, parser, ask));
    ATT_TRY(att_eval_matrix(&interpreter->scope, formula, &ask->value));
    if (ask->value->rows * ask->value->cols == 0)
        return att_scope_fail(&interpreter->scope, formula, "an empty matrix cannot be asked for");
    ATT_TRY(set_target(interpreter, ask));
    return add_ask(interpreter, parser, ask);
}

att_status att_run_hint(att_interpreter *interpreter, att_parser *parser)
{
    att_sheet *sheet = interpreter->sheet;
    const char *text;
    size_t count = 0;
    const att_token at = parser->token;
    ATT_TRY(att_parser_string(parser, "a hint in quotes", &text));
    ATT_TRY(att_parser_end(parser));
    att_ask *ask = sheet->ask_count > 0 ? sheet->asks[sheet->ask_count - 1] : NULL;
    if (!ask)
        return att_sheet_source_fail(&interpreter->source, interpreter->scope.err, at.line,
                                     at.column,
                                     "a hint belongs to the 'ask' before it: there is "
                                     "none");
    while (count < 4 && ask->hints[count])
        count++;
    if (count == 4)
        return att_sheet_source_fail(&interpreter->source, interpreter->scope.err, at.line,
                                     at.column, "an 'ask' takes at most four hints");
    ask->hints[count] = text;
    return ATT_OK;
}

/* ---- require EXPR …: the random values are drawn again until it holds */

static bool all_nonzero(const att_matrix *m)
{
    for (int64_t i = 0; i < m->rows * m->cols; i++)
        if (m->data[i] == 0 || isnan(m->data[i]))
            return false;
    return true;
}

/* No two elements are nearer than a thousandth of the larger: no ties. */
static bool all_distinct(const att_matrix *m)
{
    int64_t count = m->rows * m->cols;
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < i; j++)
            if (!(fabs(m->data[i] - m->data[j]) > 1e-3 * fmax(fabs(m->data[i]), fabs(m->data[j]))))
                return false;
    return true;
}

static bool all_compare(const att_matrix *m, double bound, bool above)
{
    for (int64_t i = 0; i < m->rows * m->cols; i++)
        if (!(above ? m->data[i] > bound : m->data[i] < bound))
            return false;
    return true;
}

/* The rest of a requirement: nonzero, distinct, above X, below X, or nothing: every element of the
 * expression, such as a comparison, is other than 0. */
static att_status parse_condition(att_interpreter *interpreter, att_parser *parser,
                                  const att_matrix *value, bool *holds)
{
    bool above = att_parser_at_word(parser, "above");
    if (above || att_parser_at_word(parser, "below")) {
        att_expr *node;
        double bound;
        ATT_TRY(att_parser_take(parser));
        ATT_TRY(att_parse_expression(parser, &node));
        ATT_TRY(att_eval_number(&interpreter->scope, node, "the bound", &bound));
        *holds = all_compare(value, bound, above);
    } else if (att_parser_at_word(parser, "distinct")) {
        ATT_TRY(att_parser_take(parser));
        *holds = all_distinct(value);
    } else {
        if (att_parser_at_word(parser, "nonzero"))
            ATT_TRY(att_parser_take(parser));
        *holds = all_nonzero(value);
    }
    if (att_parser_at(parser, ATT_TOKEN_END))
        return ATT_OK;
    return att_parser_expected(parser, "'nonzero', 'distinct', 'above', 'below' or the end of the "
                                       "line");
}

att_status att_run_require(att_interpreter *interpreter, att_parser *parser)
{
    att_expr *node;
    const att_matrix *value;
    bool holds = false;
    ATT_TRY(att_parse_expression(parser, &node));
    ATT_TRY(att_eval_matrix(&interpreter->scope, node, &value));
    ATT_TRY(parse_condition(interpreter, parser, value, &holds));
    if (holds || interpreter->scope.scenario)
        return ATT_OK;
    interpreter->rejected = interpreter->sheet->random;
    if (interpreter->rejected)
        return att_scope_fail(&interpreter->scope, node,
                              "this does not hold for any of 1000 draws of the random values");
    return att_scope_fail(&interpreter->scope, node,
                          "this does not hold, and there are no random values to draw again");
}
