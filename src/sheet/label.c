/* label X "I" "go" "home": names for the rows (and columns) of a matrix. They go along with it
 * through sums, products and attention, and stand beside it wherever it is shown. */
#include "sheet/interpreter.h"

#include "sheet/matrix.h"

#include <string.h>

/* The strings that follow, and the word before them for messages. */
struct labels {
    att_token start;
    const char **items;
    size_t count;
    size_t capacity;
};

static att_status add_label(att_parser *parser, struct labels *labels)
{
    if (labels->count == labels->capacity) {
        size_t room = labels->capacity ? labels->capacity * 2 : 8;
        const char **items = att_arena_alloc(parser->lexer.arena, room, sizeof *items);
        if (!items)
            return att_fail_memory(parser->lexer.err);
        if (labels->count > 0)
            memcpy(items, labels->items, labels->count * sizeof *items);
        labels->items = items;
        labels->capacity = room;
    }
    return att_parser_string(parser, "a label in quotes", &labels->items[labels->count++]);
}

static att_status parse_labels(att_parser *parser, struct labels *labels)
{
    labels->start = parser->token;
    do {
        ATT_TRY(add_label(parser, labels));
        if (att_parser_at(parser, ATT_TOKEN_COMMA))
            ATT_TRY(att_parser_take(parser));
    } while (att_parser_at(parser, ATT_TOKEN_STRING));
    return ATT_OK;
}

/* Labels of rows, unless the words `rows` and `cols` say which are which. */
static att_status parse_sides(att_parser *parser, struct labels *rows, struct labels *cols)
{
    do {
        struct labels *side = rows;
        if (att_parser_at_word(parser, "cols"))
            side = cols;
        if (att_parser_at_word(parser, "cols") || att_parser_at_word(parser, "rows"))
            ATT_TRY(att_parser_take(parser));
        if (side->count > 0)
            return att_parser_fail(parser, "the %s are labelled twice",
                                   side == rows ? "rows" : "columns");
        ATT_TRY(parse_labels(parser, side));
    } while (att_parser_at_word(parser, "cols") || att_parser_at_word(parser, "rows"));
    return att_parser_end(parser);
}

static att_status check_count(const att_interpreter *worker, const struct labels *labels,
                              const char *name, int64_t count, bool of_rows, int64_t others)
{
    if (labels->count == 0 || (int64_t)labels->count == count)
        return ATT_OK;
    const char *hint = of_rows && others > 1 && (int64_t)labels->count == others
                           ? " (columns are labelled with 'label … cols …')"
                           : "";
    const char *unit = of_rows ? "row" : "column";
    return att_sheet_source_fail(&worker->source, worker->scope.err, labels->start.line,
                                 labels->start.column, "%s has %lld %s%s, found %zu label%s%s",
                                 name, (long long)count, unit, count == 1 ? "" : "s", labels->count,
                                 labels->count == 1 ? "" : "s", hint);
}

/* The row of the name to label, whose value must be a matrix. */
static att_status find_labeled_value(att_interpreter *worker, att_parser *parser, const char **name,
                                     att_symbol **out)
{
    const att_token at = parser->token;
    ATT_TRY(att_parser_name(parser, "the name of a matrix to label", name));
    const att_expr node = { .kind = ATT_EXPR_NAME,
                            .text = *name,
                            .line = at.line,
                            .column = at.column,
                            .end_line = at.line,
                            .end_column = at.end_column };
    const att_tensor_matrix *matrix;
    ATT_TRY(att_eval_matrix(&worker->scope, &node, &matrix));
    *out = att_symbol_table_get(&worker->symbols, *name);
    return *out ? ATT_OK
                : att_scope_fail(&worker->scope, &node, "'%s' is not a name of this sheet", *name);
}

att_status att_run_label(att_interpreter *worker, att_parser *parser)
{
    const char *name;
    att_symbol *target;
    struct labels rows = { 0 };
    struct labels cols = { 0 };
    ATT_TRY(find_labeled_value(worker, parser, &name, &target));
    ATT_TRY(parse_sides(parser, &rows, &cols));
    const att_tensor_matrix *matrix = target->value.matrix;
    ATT_TRY(check_count(worker, &rows, name, matrix->rows, true, matrix->cols));
    ATT_TRY(check_count(worker, &cols, name, matrix->cols, false, matrix->rows));
    const att_tensor_matrix *labelled = att_matrix_with_labels(
        &worker->sheet->arena, matrix, rows.count ? rows.items : matrix->row_labels,
        cols.count ? cols.items : matrix->col_labels);
    if (!labelled)
        return att_fail_memory(worker->scope.err);
    target->value.matrix = labelled;
    worker->sheet->steps[target->step].value = labelled; /* shown with its labels from the start */
    return ATT_OK;
}
