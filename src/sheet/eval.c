/* The evaluator of expressions: one function per kind of node, in a table. */
#include "sheet/eval.h"

#include "base/minmax.h"
#include "sheet/archive.h"
#include "sheet/function.h"
#include "sheet/gradient.h"
#include "sheet/matrix.h"
#include "sheet/rounding.h"
#include "sheet/derivation.h"

#include <math.h>
#include <string.h>

att_status att_scope_fail(const att_scope *scope, const att_expr *node, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    att_status status =
        att_sheet_source_vfail(scope->source, scope->err, node->line ? node->line : 1,
                               node->line ? node->column : 1, format, args);
    va_end(args);
    return status;
}

static att_status set_matrix(const att_scope *scope, const att_matrix *matrix, att_value *out)
{
    *out = (att_value){ .kind = ATT_VALUE_MATRIX, .matrix = matrix };
    return matrix ? ATT_OK : att_fail_memory(scope->err);
}

/* ---- Numbers and names */

static att_status eval_number(const att_scope *scope, const att_expr *node, att_value *out)
{
    return set_matrix(scope, att_matrix_scalar(scope->arena, node->number), out);
}

static att_status eval_constant(const att_scope *scope, const att_expr *node, att_value *out)
{
    return set_matrix(scope, node->matrix, out);
}

static const struct predefined {
    const char *name;
    double value;
} predefined[] = { { "pi", 3.14159265358979323846 }, { "inf", INFINITY }, { "nan", NAN } };

static att_status fail_unknown(const att_scope *scope, const att_expr *node)
{
    if (att_function_find(node->text))
        return att_scope_fail(scope, node, "'%s' is a function: expected %s(…)", node->text,
                              node->text);
    if (strcmp(node->text, "T") == 0) /* A^T */
        return att_scope_fail(scope, node, "unknown name 'T': a transpose is written A'");
    const char *near = att_symbol_table_suggest(scope->symbols, node->text);
    return near ? att_scope_fail(scope, node, "unknown name '%.80s': did you mean '%s'?",
                                 node->text, near)
                : att_scope_fail(scope, node, "unknown name '%.80s'", node->text);
}

static att_status eval_name(const att_scope *scope, const att_expr *node, att_value *out)
{
    const att_symbol *row = att_symbol_table_find(scope->symbols, node->text);
    if (row) {
        *out = row->value;
        return ATT_OK;
    }
    for (size_t i = 0; i < ATT_COUNT(predefined); i++)
        if (strcmp(node->text, predefined[i].name) == 0)
            return set_matrix(scope, att_matrix_scalar(scope->arena, predefined[i].value), out);
    return fail_unknown(scope, node);
}

static att_status eval_string(const att_scope *scope, const att_expr *node, att_value *out)
{
    (void)out;
    return att_scope_fail(scope, node, "a string is not a value: expected a matrix");
}

static att_status eval_out_of_place(const att_scope *scope, const att_expr *node, att_value *out)
{
    (void)out;
    return att_scope_fail(scope, node, "this is not allowed here: expected a value");
}

/* ---- Signs and transposes */

static att_status eval_negate(const att_scope *scope, const att_expr *node, att_value *out)
{
    const att_matrix *of;
    ATT_TRY(att_eval_matrix(scope, node->child[0], &of));
    att_matrix *to = att_matrix_like(scope->arena, of);
    for (int64_t i = 0; to && i < of->rows * of->cols; i++)
        to->data[i] = -of->data[i];
    ATT_TRY(set_matrix(scope, to, out));
    return att_record_operation(scope, &att_gradient_negate, node, &of, 1, to);
}

static att_status eval_transpose(const att_scope *scope, const att_expr *node, att_value *out)
{
    const att_matrix *of;
    ATT_TRY(att_eval_matrix(scope, node->child[0], &of));
    ATT_TRY(set_matrix(scope, att_matrix_transpose(scope->arena, of), out));
    return att_record_operation(scope, &att_gradient_transpose, node, &of, 1, out->matrix);
}

/* ---- Matrix literals */

/* The value of a number literal with an optional sign, without allocating a 1 × 1 matrix for it. */
static bool literal(const att_expr *node, double *out)
{
    bool negative = node->kind == ATT_EXPR_NEGATE;
    if (negative)
        node = node->child[0];
    if (node->kind != ATT_EXPR_NUMBER)
        return false;
    *out = negative ? -node->number : node->number;
    return true;
}

static bool literal_row(const att_expr *row)
{
    double ignored;
    for (size_t i = 0; i < row->children; i++)
        if (!literal(row->child[i], &ignored))
            return false;
    return true;
}

static att_status eval_literal_row(const att_scope *scope, const att_expr *row,
                                   const att_matrix **out)
{
    att_matrix *to = att_matrix_new(scope->arena, 1, (int64_t)row->children);
    if (!to)
        return att_fail_memory(scope->err);
    for (size_t i = 0; i < row->children; i++)
        literal(row->child[i], &to->data[i]);
    *out = to;
    return ATT_OK;
}

static att_status fail_beside(const att_scope *scope, const att_expr *row, size_t at,
                              const att_matrix *first, const att_matrix *other)
{
    char a[ATT_QUOTE_SIZE];
    char b[ATT_QUOTE_SIZE];
    return att_scope_fail(scope, row->child[at],
                          "matrices side by side need the same number of rows: %s is %lld × %lld "
                          "and %s is %lld × %lld",
                          att_sheet_source_quote(scope->source, row->child[0], a),
                          (long long)first->rows, (long long)first->cols,
                          att_sheet_source_quote(scope->source, row->child[at], b),
                          (long long)other->rows, (long long)other->cols);
}

/* The matrices that a literal is made of, for the record. */
struct pieces {
    att_matrix_piece *items;
    size_t count;
};

/* The first row of the result that the row of the literal fills is `at`. */
static att_status eval_row(const att_scope *scope, const att_expr *row, int64_t at,
                           struct pieces *pieces, const att_matrix **out)
{
    int64_t col = 0;
    if (literal_row(row))
        return eval_literal_row(scope, row, out);
    const att_matrix **parts = att_arena_alloc(scope->arena, row->children, sizeof *parts);
    if (!parts)
        return att_fail_memory(scope->err);
    for (size_t i = 0; i < row->children; i++) {
        ATT_TRY(att_eval_matrix(scope, row->child[i], &parts[i]));
        if (parts[i]->rows != parts[0]->rows)
            return fail_beside(scope, row, i, parts[0], parts[i]);
        pieces->items[pieces->count++] = (att_matrix_piece){ parts[i], at, col };
        col += parts[i]->cols;
    }
    *out = row->children == 1 ? parts[0] : att_matrix_hstack(scope->arena, parts, row->children);
    return *out ? ATT_OK : att_fail_memory(scope->err);
}

static bool allocate_pieces(att_arena *arena, const att_expr *node, struct pieces *out)
{
    size_t count = 0;
    for (size_t i = 0; i < node->children; i++)
        count += literal_row(node->child[i]) ? 0 : node->child[i]->children;
    *out = (struct pieces){ .items = att_arena_alloc(arena, count, sizeof *out->items) };
    return out->items != NULL;
}

static att_status record_pieces(const att_scope *scope, const att_expr *node,
                                const struct pieces *pieces, const att_matrix *result)
{
    if (pieces->count == 0)
        return ATT_OK;
    const att_matrix **inputs = att_arena_alloc(scope->arena, pieces->count, sizeof *inputs);
    if (!inputs)
        return att_fail_memory(scope->err);
    for (size_t i = 0; i < pieces->count; i++)
        inputs[i] = pieces->items[i].matrix;
    const att_computation computation = { .spec = &att_gradient_concat,
                                          .node = node,
                                          .inputs = inputs,
                                          .input_count = pieces->count,
                                          .pieces = pieces->items,
                                          .output = { .kind = ATT_VALUE_MATRIX,
                                                      .matrix = result } };
    return att_record_add(scope, &computation);
}

static att_status eval_matrix(const att_scope *scope, const att_expr *node, att_value *out)
{
    const att_matrix **rows = att_arena_alloc(scope->arena, node->children, sizeof *rows);
    struct pieces pieces;
    int64_t at = 0;
    if (!rows || !allocate_pieces(scope->arena, node, &pieces))
        return att_fail_memory(scope->err);
    for (size_t i = 0; i < node->children; i++, at += rows[i - 1]->rows) {
        ATT_TRY(eval_row(scope, node->child[i], at, &pieces, &rows[i]));
        if (rows[i]->cols != rows[0]->cols)
            return att_scope_fail(scope, node->child[i],
                                  "row %zu of the matrix has %lld column%s, the first has %lld",
                                  i + 1, (long long)rows[i]->cols, rows[i]->cols == 1 ? "" : "s",
                                  (long long)rows[0]->cols);
    }
    ATT_TRY(set_matrix(scope, att_matrix_vstack(scope->arena, rows, node->children), out));
    return record_pieces(scope, node, &pieces, out->matrix);
}

/* ---- Ranges */

/* 1:5 is the row 1, 2, 3, 4, 5; a range whose end is below its start is empty. */
static att_status eval_range(const att_scope *scope, const att_expr *node, att_value *out)
{
    double first = 0, last = 0;
    ATT_TRY(att_eval_number(scope, node->child[0], "the start of a range", &first));
    ATT_TRY(att_eval_number(scope, node->child[1], "the end of a range", &last));
    double count = last < first ? 0 : floor(last - first) + 1;
    if (!(count <= 1e6))
        return att_scope_fail(scope, node, "a range of %.0f numbers: at most a million", count);
    att_matrix *row = att_matrix_new(scope->arena, 1, (int64_t)count);
    for (int64_t i = 0; row && i < row->cols; i++)
        row->data[i] = first + (double)i;
    return set_matrix(scope, row, out);
}

/* ---- Lists */

static att_status eval_list(const att_scope *scope, const att_expr *node, att_value *out)
{
    att_value *items = att_arena_alloc(scope->arena, node->children, sizeof *items);
    if (!items)
        return att_fail_memory(scope->err);
    for (size_t i = 0; i < node->children; i++) {
        const att_matrix *item;
        ATT_TRY(att_eval_matrix(scope, node->child[i], &item));
        items[i] = (att_value){ .kind = ATT_VALUE_MATRIX, .matrix = item };
    }
    *out = (att_value){ .kind = ATT_VALUE_LIST, .items = items, .item_count = node->children };
    return ATT_OK;
}

/* ---- The table */

typedef att_status eval_function(const att_scope *scope, const att_expr *node, att_value *out);

static eval_function *const evaluators[] = {
    [ATT_EXPR_NUMBER] = eval_number,     [ATT_EXPR_CONSTANT] = eval_constant,
    [ATT_EXPR_NAME] = eval_name,         [ATT_EXPR_STRING] = eval_string,
    [ATT_EXPR_FIELD] = att_eval_field,   [ATT_EXPR_INDEX] = att_eval_index,
    [ATT_EXPR_ALL] = eval_out_of_place,  [ATT_EXPR_RANGE] = eval_range,
    [ATT_EXPR_CALL] = att_eval_call,     [ATT_EXPR_OPTION] = eval_out_of_place,
    [ATT_EXPR_NEGATE] = eval_negate,     [ATT_EXPR_TRANSPOSE] = eval_transpose,
    [ATT_EXPR_BINARY] = att_eval_binary, [ATT_EXPR_ROW] = eval_out_of_place,
    [ATT_EXPR_MATRIX] = eval_matrix,     [ATT_EXPR_LIST] = eval_list,
    [ATT_EXPR_LOAD] = att_eval_load,     [ATT_EXPR_INDEXED] = eval_out_of_place,
};

/* Keeps what the node was, for those who write the sheet in another language (render/export.h).
 * Nodes are not constant until the sheet is run. */
static void note_value(att_expr *node, const att_matrix *value)
{
    att_expr_shape shape = !value                                 ? ATT_SHAPE_LIST
                           : value->rows == 1 && value->cols == 1 ? ATT_SHAPE_NUMBER
                           : value->rows == 1                     ? ATT_SHAPE_ROW
                                                                  : ATT_SHAPE_MATRIX;
    bool changed = node->shape != ATT_SHAPE_UNKNOWN && node->shape != shape;
    node->shape = changed ? ATT_SHAPE_MIXED : shape;
    node->matrix = value;
}

att_status att_eval(const att_scope *scope, const att_expr *node, att_value *out)
{
    att_status status = evaluators[node->kind](scope, node, out);
    if (status == ATT_OK && scope->rounding && out->kind == ATT_VALUE_MATRIX &&
        att_rounding_is_step(node))
        status =
            set_matrix(scope, att_rounding_copy(scope->arena, scope->rounding, out->matrix), out);
    if (status == ATT_OK && scope->derivation)
        status = att_derivation_note(scope, node, out);
    if (status == ATT_OK)
        note_value((att_expr *)node, out->matrix);
    if (status != ATT_NO_MEMORY || !scope->arena->limit_reached)
        return status;
    scope->arena->limit_reached = false;
    return att_scope_fail(scope, node, "this needs more memory than the limit of %zu MB",
                          scope->arena->limit >> 20);
}

att_status att_eval_matrix(const att_scope *scope, const att_expr *node, const att_matrix **out)
{
    att_value value;
    ATT_TRY(att_eval(scope, node, &value));
    if (value.kind == ATT_VALUE_LIST) {
        char quote[ATT_QUOTE_SIZE];
        return att_scope_fail(scope, node, "%s is a list of %zu, expected a matrix",
                              att_sheet_source_quote(scope->source, node, quote), value.item_count);
    }
    *out = value.matrix;
    return ATT_OK;
}

att_status att_eval_number(const att_scope *scope, const att_expr *node, const char *what,
                           double *out)
{
    const att_matrix *matrix;
    ATT_TRY(att_eval_matrix(scope, node, &matrix));
    if (!att_matrix_is_scalar(matrix))
        return att_scope_fail(scope, node, "%s must be one number, found a %lld × %lld matrix",
                              what, (long long)matrix->rows, (long long)matrix->cols);
    if (!isfinite(matrix->data[0]))
        return att_scope_fail(scope, node, "%s must be a finite number", what);
    *out = matrix->data[0];
    return ATT_OK;
}

att_status att_eval_closed(att_arena *arena, const att_expr *node, const att_matrix **out,
                           att_error *err)
{
    const att_sheet_source source = { .name = "calculation", .text = "" };
    const att_symbol_table symbols = { 0 };
    const att_scope scope = { .arena = arena, .source = &source, .symbols = &symbols, .err = err };
    return att_eval_matrix(&scope, node, out);
}
