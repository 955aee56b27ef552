/* for x of X: y = tanh(x * W): the statements behind ':' for each row of X (or item of a list), or,
 * with `in`, for each number of a vector. A name that the loop assigns has, in the loop, the value
 * of the step before, and after it all values: a table with a row per step if they are rows,
 * otherwise a list. */
#include "sheet/interpreter.h"

#include "sheet/hand.h"
#include "sheet/matrix.h"
#include "sheet/record.h"
#include "sheet/rounding.h"
#include "sheet/statements.h"
#include "sheet/derivation.h"

#include <string.h>

enum { MAX_STEPS = 1000, MAX_BODIES = 8 };

/* ---- Recognizing */

/* Whether "name =" is at `at`. */
static bool assigns(const att_sheet_line *line, size_t at)
{
    size_t begin = att_sheet_line_skip_blanks(line, at);
    size_t end = att_sheet_line_skip_name(line, begin);
    size_t sign = att_sheet_line_skip_blanks(line, end);
    return end > begin && sign < line->length && line->text[sign] == '=' &&
           (sign + 1 == line->length || line->text[sign + 1] != '=');
}

/* The offset behind "for x of" or "for x in"; 0: the line does not begin so. The first word may be
 * misspelled or capitalized: *exact says whether it is `for`. */
static size_t skip_head(const att_sheet_line *line, bool *exact)
{
    static const char *const known[] = { "for" };
    size_t word = att_sheet_line_skip_name(line, 0);
    char first[8] = "";
    if (word == 0 || word >= sizeof first)
        return 0;
    memcpy(first, line->text, word);
    *exact = strcmp(first, "for") == 0;
    size_t begin = att_sheet_line_skip_blanks(line, word);
    size_t end = att_sheet_line_skip_name(line, begin);
    size_t of = att_sheet_line_skip_blanks(line, end);
    size_t rest = att_sheet_line_skip_name(line, of);
    if (end == begin || of == end || begin == word || rest - of != 2 ||
        (memcmp(line->text + of, "of", 2) != 0 && memcmp(line->text + of, "in", 2) != 0))
        return 0;
    return *exact || att_suggest(first, known, 1) ? rest : 0;
}

att_status att_sheet_line_loop(const att_interpreter *interpreter, const att_sheet_line *line,
                               size_t *body)
{
    bool exact = false;
    size_t head = skip_head(line, &exact);
    size_t colon = 0;
    *body = 0;
    if (head == 0)
        return ATT_OK;
    for (size_t at = head; at < line->length && colon == 0; at++)
        if (line->text[at] == ':' && assigns(line, at + 1))
            colon = at;
    if (exact && colon > 0) {
        *body = line->offset + colon;
        return ATT_OK;
    }
    size_t begin = att_sheet_line_skip_blanks(line, head);
    size_t end = begin;
    while (end < line->length && !strchr(" \t", line->text[end]))
        end++;
    bool colon_behind = end > begin && line->text[end - 1] == ':'; /* for x of X: … */
    bool assigned = exact && memchr(line->text + head, '=', line->length - head) != NULL;
    if (colon == 0 && !assigned && !(exact && colon_behind))
        return ATT_OK;
    return att_sheet_source_fail(
        &interpreter->source, interpreter->scope.err, line->number, line->column,
        "this looks like a loop: expected 'for x of X: name = …' or 'for i "
        "in 1:3: name = …' (text that looks like a statement starts with "
        "'>')");
}

/* ---- The loop */

struct body {
    const char *name;
    att_expr *formula;
};

struct loop {
    const char *variable;
    att_expr *over;
    bool rows; /* `of` */
    struct body body[MAX_BODIES];
    size_t bodies;
};

/* The values of one column (exact or by hand): [body][step]. */
struct column {
    att_value over;
    size_t steps;
    const att_matrix **values[MAX_BODIES];
    att_trace_step first[MAX_BODIES]; /* the first step, worked out */
};

static att_status parse_loop(att_parser *parser, struct loop *loop)
{
    ATT_TRY(att_parser_name(parser, "the name of the loop's variable", &loop->variable));
    loop->rows = att_parser_at_word(parser, "of");
    ATT_TRY(att_parser_take(parser)); /* of or in, seen before */
    ATT_TRY(att_parse_expression(parser, &loop->over));
    if (!att_parser_at(parser, ATT_TOKEN_COLON))
        return att_parser_expected(parser, "an operator or ':'");
    do {
        struct body *body = &loop->body[loop->bodies];
        ATT_TRY(att_parser_take(parser));
        if (loop->bodies++ == MAX_BODIES)
            return att_parser_fail(parser, "a loop has at most %d assignments", MAX_BODIES);
        ATT_TRY(att_parser_name(parser, "a name", &body->name));
        if (!att_parser_at(parser, ATT_TOKEN_EQUALS))
            return att_parser_expected(parser, "'='");
        ATT_TRY(att_parser_take(parser));
        ATT_TRY(att_parse_expression(parser, &body->formula));
    } while (att_parser_at(parser, ATT_TOKEN_SEMICOLON));
    return att_parser_end(parser);
}

/* How often the loop runs. */
static att_status count_steps(const att_scope *scope, const struct loop *loop,
                              const att_value *over, size_t *out)
{
    bool list = over->kind == ATT_VALUE_LIST;
    bool vector = !list && (over->matrix->rows == 1 || over->matrix->cols == 1);
    if (!loop->rows && !vector)
        return att_scope_fail(scope, loop->over,
                              "'in' runs over the numbers of a vector: expected 'for %s of …' for "
                              "rows or lists",
                              loop->variable);
    *out = list         ? over->item_count
           : loop->rows ? (size_t)over->matrix->rows
                        : (size_t)(over->matrix->rows * over->matrix->cols);
    if (*out == 0 || *out > MAX_STEPS)
        return att_scope_fail(scope, loop->over, "a loop runs 1 to %d times, found %zu", MAX_STEPS,
                              *out);
    return ATT_OK;
}

/* The value of the variable in step `t`, from 0. */
static att_status variable_of(const att_scope *scope, const struct loop *loop,
                              const att_value *over, int64_t t, att_value *out)
{
    att_arena *arena = scope->arena;
    const att_matrix *from = over->matrix;
    *out = (att_value){ .kind = ATT_VALUE_MATRIX };
    if (over->kind == ATT_VALUE_LIST) {
        *out = over->items[t];
        return ATT_OK;
    }
    int64_t *at = att_arena_alloc(arena, 2, sizeof *at); /* the record keeps it */
    if (!at)
        return att_fail_memory(scope->err);
    bool upright = from->cols == 1;
    at[0] = loop->rows || upright ? t : 0;
    at[1] = upright ? 0 : t;
    out->matrix = loop->rows ? att_matrix_select(arena, from, at, 1, NULL, 0)
                             : att_matrix_scalar(arena, from->data[t]);
    return out->matrix ? att_record_select(scope, loop->over, from, at, loop->rows ? NULL : at + 1,
                                           out->matrix)
                       : att_fail_memory(scope->err);
}

/* Runs the statements of one step. */
static att_status run_step(att_scope *scope, att_symbol_table *locals, const struct loop *loop,
                           struct column *column, int64_t t)
{
    att_value variable;
    ATT_TRY(variable_of(scope, loop, &column->over, t, &variable));
    att_record_name_step(scope, loop->variable, variable.matrix, t + 1, scope->source->anchor_line);
    if (!att_symbol_table_set(locals, scope->arena, loop->variable, &variable, 0))
        return att_fail_memory(scope->err);
    for (size_t b = 0; b < loop->bodies; b++) {
        att_derivation derivation = { 0 };
        att_value value;
        scope->derivation = t == 0 ? &derivation : NULL;
        ATT_TRY(att_eval(scope, loop->body[b].formula, &value));
        if (value.kind == ATT_VALUE_LIST)
            return att_scope_fail(scope, loop->body[b].formula,
                                  "a loop computes matrices, found a list of %zu",
                                  value.item_count);
        if (t == 0) {
            column->first[b] = (att_trace_step){ .kind = ATT_STEP_VALUE,
                                                 .name = loop->body[b].name,
                                                 .formula = loop->body[b].formula };
            ATT_TRY(att_step_set_value(scope, &value, &column->first[b]));
        }
        scope->derivation = NULL;
        column->values[b][t] = value.matrix;
        if (!att_symbol_table_set(locals, scope->arena, loop->body[b].name, &value, 0))
            return att_fail_memory(scope->err);
    }
    return ATT_OK;
}

static att_status run_column(att_scope scope, const struct loop *loop, struct column *column)
{
    att_symbol_table locals = { .outer = scope.symbols };
    ATT_TRY(att_eval(&scope, loop->over, &column->over));
    ATT_TRY(count_steps(&scope, loop, &column->over, &column->steps));
    scope.symbols = &locals;
    for (size_t b = 0; b < loop->bodies; b++) {
        column->values[b] = att_arena_alloc(scope.arena, column->steps, sizeof *column->values[b]);
        if (!column->values[b])
            return att_fail_memory(scope.err);
    }
    for (size_t t = 0; t < column->steps; t++)
        ATT_TRY(run_step(&scope, &locals, loop, column, (int64_t)t));
    return ATT_OK;
}

/* ---- The table */

/* "t = 3", the label of the row, or "x 3". */
static const char *label_step(att_arena *arena, const struct loop *loop, const att_value *over,
                              size_t t)
{
    bool list = over->kind == ATT_VALUE_LIST;
    if (!list && loop->rows && over->matrix->row_labels && over->matrix->row_labels[t])
        return over->matrix->row_labels[t];
    if (list || loop->rows)
        return att_arena_printf(arena, "%s %zu", loop->variable, t + 1);
    return att_arena_printf(arena, "%s = %.6g", loop->variable, over->matrix->data[t]);
}

/* All values of a name: one above the other if each is a row of the same width, else a list. */
static att_status collect(const att_scope *scope, const struct loop *loop,
                          const struct column *column, size_t b, att_value *out)
{
    const att_matrix *const *values = column->values[b];
    bool rows = true;
    for (size_t t = 0; t < column->steps; t++)
        rows = rows && values[t]->rows == 1 && values[t]->cols == values[0]->cols;
    if (rows) {
        att_matrix *table = att_matrix_vstack(scope->arena, values, column->steps);
        const char **labels = att_arena_alloc(scope->arena, column->steps, sizeof *labels);
        if (!table || !labels)
            return att_fail_memory(scope->err);
        for (size_t t = 0; t < column->steps; t++)
            if (!(labels[t] = label_step(scope->arena, loop, &column->over, t)))
                return att_fail_memory(scope->err);
        table->row_labels = labels;
        *out = (att_value){ .kind = ATT_VALUE_MATRIX, .matrix = table };
        for (size_t t = 0; t < column->steps; t++)
            att_record_name_step(scope, loop->body[b].name, values[t], (int64_t)t + 1,
                                 scope->source->anchor_line);
        return att_record_stack(scope, loop->body[b].formula, values, column->steps, table);
    }
    att_value *items = att_arena_alloc(scope->arena, column->steps, sizeof *items);
    if (!items)
        return att_fail_memory(scope->err);
    for (size_t t = 0; t < column->steps; t++)
        items[t] = (att_value){ .kind = ATT_VALUE_MATRIX, .matrix = values[t] };
    *out = (att_value){ .kind = ATT_VALUE_LIST, .items = items, .item_count = column->steps };
    return ATT_OK;
}

/* The calculations of the first step's result. */
static void add_calculations(const att_trace_step *first, att_trace_step *step)
{
    const att_trace_part *last =
        first->part_count > 0 ? &first->parts[first->part_count - 1] : NULL;
    step->calculations = last ? last->calculations : first->calculations;
    step->calculation_count = last ? last->calculation_count : first->calculation_count;
}

static att_status add_table(att_interpreter *interpreter, const att_parser *parser,
                            const struct loop *loop, const struct column *exact,
                            const struct column *hand, size_t b)
{
    const att_scope *scope = &interpreter->scope;
    att_value value, rounded;
    char over[ATT_QUOTE_SIZE];
    att_trace_step step = { .kind = ATT_STEP_VALUE,
                            .name = loop->body[b].name,
                            .formula = loop->body[b].formula };
    step.comment =
        att_arena_printf(scope->arena, "for %s %s %s", loop->variable, loop->rows ? "of" : "in",
                         att_sheet_source_quote(&interpreter->source, loop->over, over));
    att_trace_loop *of = att_arena_alloc(scope->arena, 1, sizeof *of);
    if (!step.comment || !of)
        return att_fail_memory(scope->err);
    *of = (att_trace_loop){ loop->variable, loop->over, loop->rows, b, loop->bodies };
    step.loop = of;
    step.text = step.comment; /* which a comment of the sheet replaces */
    ATT_TRY(collect(scope, loop, exact, b, &value));
    ATT_TRY(att_step_set_value(scope, &value, &step));
    add_calculations(hand ? &hand->first[b] : &exact->first[b], &step);
    rounded = value;
    if (hand) {
        const att_scope rounding = att_hand_scope(interpreter);
        ATT_TRY(collect(&rounding, loop, hand, b, &rounded));
        ATT_TRY(att_hand_calculations(scope, step.calculations, step.calculation_count,
                                      &step.calculations));
        step.rounding = interpreter->rounding;
        step.rounded = rounded.matrix;
    }
    ATT_TRY(att_interpreter_add_step(interpreter, parser, &step));
    if (!att_symbol_table_set(&interpreter->symbols, scope->arena, step.name, &value,
                              interpreter->sheet->step_count - 1))
        return att_fail_memory(scope->err);
    ATT_TRY(att_record_name(scope, step.name, &value, interpreter->source.anchor_line));
    return att_hand_set(interpreter, step.name, &rounded);
}

att_status att_run_for(att_interpreter *interpreter, att_parser *parser)
{
    struct loop loop = { 0 };
    struct column exact = { 0 }, hand = { 0 };
    ATT_TRY(parse_loop(parser, &loop));
    ATT_TRY(run_column(interpreter->scope, &loop, &exact));
    if (interpreter->rounding)
        ATT_TRY(run_column(att_hand_scope(interpreter), &loop, &hand));
    for (size_t b = 0; b < loop.bodies; b++)
        ATT_TRY(
            add_table(interpreter, parser, &loop, &exact, interpreter->rounding ? &hand : NULL, b));
    return ATT_OK;
}
