/* Selection from values: fields of records, X[2], X[2, 3], X[:, 1:2], and items of lists. */
#include "sheet/eval.h"
#include "sheet/gradient.h"
#include "sheet/matrix.h"
#include "text/utf8.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- Fields */

/* The number of heads in the record's parts. */
static int64_t head_count(const att_value *record)
{
    int64_t heads = 0;
    for (size_t i = 0; i < record->part_count; i++)
        if (record->parts[i].head > heads)
            heads = record->parts[i].head;
    return heads;
}

/* One head of a record as a record: its parts, with the part `output` as result. */
static bool select_head(att_arena *arena, const att_value *record, int64_t head, att_value *out)
{
    att_trace_part *parts = att_arena_alloc(arena, record->part_count, sizeof *parts);
    if (!parts)
        return false;
    size_t count = 0;
    const att_matrix *result = NULL;
    for (size_t i = 0; i < record->part_count; i++) {
        if (record->parts[i].head != head)
            continue;
        parts[count] = record->parts[i];
        parts[count++].head = 0;
        if (!result || strcmp(record->parts[i].name, "output") == 0)
            result = record->parts[i].value;
    }
    *out = (att_value){
        .kind = ATT_VALUE_RECORD, .matrix = result, .parts = parts, .part_count = count
    };
    return true;
}

static att_status select_heads(const att_scope *scope, const att_value *record, int64_t heads,
                               att_value *out)
{
    att_value *items = att_arena_alloc(scope->arena, (size_t)heads, sizeof *items);
    if (!items)
        return att_fail_memory(scope->err);
    for (int64_t h = 0; h < heads; h++)
        if (!select_head(scope->arena, record, h + 1, &items[h]))
            return att_fail_memory(scope->err);
    *out = (att_value){ .kind = ATT_VALUE_LIST, .items = items, .item_count = (size_t)heads };
    return ATT_OK;
}

/* The name of the field as a node, as the place of errors. */
static att_expr name_of_field(const att_expr *node)
{
    att_expr name = *node;
    uint32_t code;
    name.line = node->end_line;
    name.column = node->end_column;
    for (const char *at = node->text; *at; at += att_utf8_decode_lossy(at, strlen(at), &code))
        name.column--;
    return name;
}

static att_status fail_field(const att_scope *scope, const att_expr *node, const att_value *record)
{
    const att_expr name = name_of_field(node);
    enum { MAX_NAMES = 64 };
    const char *known[MAX_NAMES];
    size_t count = 0;
    for (size_t i = 0; i < record->part_count && count < MAX_NAMES; i++)
        known[count++] = record->parts[i].name;
    char quote[ATT_QUOTE_SIZE];
    att_sheet_source_quote(scope->source, node->child[0], quote);
    /* The name of this part in attend 0.1, which is too far from the new one to be suggested. */
    const char *text = strcmp(node->text, "mapped") == 0 ? "projected" : node->text;
    const char *near = att_suggest(text, known, count);
    if (near)
        return att_scope_fail(scope, &name, "%s has no field '%.80s': did you mean '%s'?", quote,
                              node->text, near);
    char list[256] = "";
    for (size_t i = 0, used = 0; i < count && used < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", known[i]);
    return att_scope_fail(scope, &name, "%s has no field '%.80s': it has %s", quote, node->text,
                          list);
}

/* Finds the part of that name; if every head has one, the error shows how to select a head. */
static att_status select_part(const att_scope *scope, const att_expr *node, const att_value *record,
                              att_value *out)
{
    const att_trace_part *found = NULL;
    for (size_t i = 0; i < record->part_count; i++) {
        const att_trace_part *part = &record->parts[i];
        if (strcmp(part->name, node->text) == 0 && (!found || part->head == 0))
            found = part;
    }
    if (!found)
        return fail_field(scope, node, record);
    char quote[ATT_QUOTE_SIZE];
    const att_expr name = name_of_field(node);
    if (found->head > 0)
        return att_scope_fail(
            scope, &name, "each head has a part %s: expected %s.head[1].%s to head[%lld]",
            node->text, att_sheet_source_quote(scope->source, node->child[0], quote), node->text,
            (long long)head_count(record));
    *out = (att_value){ .kind = ATT_VALUE_MATRIX, .matrix = found->value };
    return ATT_OK;
}

att_status att_eval_field(const att_scope *scope, const att_expr *node, att_value *out)
{
    att_value record;
    char quote[ATT_QUOTE_SIZE];
    ATT_TRY(att_eval(scope, node->child[0], &record));
    const att_expr name = name_of_field(node);
    if (strcmp(node->text, "T") == 0)
        return att_scope_fail(scope, &name, "found '.T': a transpose is written %s'",
                              att_sheet_source_quote(scope->source, node->child[0], quote));
    if (strcmp(node->text, "grad") == 0)
        return att_gradient_field(scope, node, &record, out);
    if (record.kind != ATT_VALUE_RECORD)
        return att_scope_fail(scope, &name, "%s is a %s and has no fields, found '.%.80s'",
                              att_sheet_source_quote(scope->source, node->child[0], quote),
                              record.kind == ATT_VALUE_LIST ? "list" : "matrix", node->text);
    int64_t heads = head_count(&record);
    if (strcmp(node->text, "head") == 0 && heads > 0)
        return select_heads(scope, &record, heads, out);
    return select_part(scope, node, &record, out);
}

/* ---- Indices */

/* Selected indices along one side, counted from 0; `at` NULL: all. */
struct indices {
    int64_t *at;
    int64_t count;
};

/* The indexed matrix, for messages: "X has 3 rows". */
struct axis {
    const att_expr *of;
    const char *unit;
    int64_t length;
};

static att_status check_index(const att_scope *scope, const att_expr *node, const struct axis *axis,
                              double place)
{
    char quote[ATT_QUOTE_SIZE];
    if (place != floor(place) || isnan(place))
        return att_scope_fail(scope, node, "an index must be a whole number, found %g", place);
    if (place < 1 || place > (double)axis->length)
        return att_scope_fail(scope, node, "%s %.0f is out of range: %s has %lld %s%s", axis->unit,
                              place, att_sheet_source_quote(scope->source, axis->of, quote),
                              (long long)axis->length, axis->unit, axis->length == 1 ? "" : "s");
    return ATT_OK;
}

static att_status read_range(const att_scope *scope, const att_expr *node, const struct axis *axis,
                             struct indices *out)
{
    double first;
    double last;
    ATT_TRY(att_eval_number(scope, node->child[0], "the start of a range", &first));
    ATT_TRY(att_eval_number(scope, node->child[1], "the end of a range", &last));
    ATT_TRY(check_index(scope, node->child[0], axis, first));
    ATT_TRY(check_index(scope, node->child[1], axis, last));
    if (last < first)
        return att_scope_fail(
            scope, node, "the range %.0f:%.0f is empty: its end is before its start", first, last);
    out->count = (int64_t)(last - first) + 1;
    out->at = att_arena_alloc(scope->arena, (size_t)out->count, sizeof *out->at);
    if (!out->at)
        return att_fail_memory(scope->err);
    for (int64_t i = 0; i < out->count; i++)
        out->at[i] = (int64_t)first - 1 + i;
    return ATT_OK;
}

/* Evaluates an index: one number, a range, all, or the numbers in a matrix. */
static att_status read_indices(const att_scope *scope, const att_expr *node,
                               const struct axis *axis, struct indices *out)
{
    *out = (struct indices){ 0 };
    if (node->kind == ATT_EXPR_ALL)
        return ATT_OK;
    if (node->kind == ATT_EXPR_RANGE)
        return read_range(scope, node, axis, out);
    const att_matrix *index;
    ATT_TRY(att_eval_matrix(scope, node, &index));
    out->count = index->rows * index->cols;
    out->at = att_arena_alloc(scope->arena, (size_t)out->count, sizeof *out->at);
    if (!out->at)
        return att_fail_memory(scope->err);
    for (int64_t i = 0; i < out->count; i++) {
        ATT_TRY(check_index(scope, node, axis, index->data[i]));
        out->at[i] = (int64_t)index->data[i] - 1;
    }
    return ATT_OK;
}

static att_status index_list(const att_scope *scope, const att_expr *node, const att_value *list,
                             att_value *out)
{
    const struct axis axis = { node->child[0], "item", (int64_t)list->item_count };
    double place;
    if (node->children > 2)
        return att_scope_fail(scope, node->child[2], "expected one index of a list, found two");
    ATT_TRY(att_eval_number(scope, node->child[1], "the index of a list", &place));
    ATT_TRY(check_index(scope, node->child[1], &axis, place));
    *out = list->items[(size_t)place - 1];
    return ATT_OK;
}

/* A single index selects rows, or elements of a matrix of one row. */
static att_status index_matrix(const att_scope *scope, const att_expr *node,
                               const att_matrix *matrix, const att_matrix **out)
{
    const struct axis rows = { node->child[0], "row", matrix->rows };
    const struct axis cols = { node->child[0], matrix->rows == 1 ? "element" : "column",
                               matrix->cols };
    struct indices row = { 0 };
    struct indices col = { 0 };
    if (node->children > 2) {
        ATT_TRY(read_indices(scope, node->child[1], &rows, &row));
        ATT_TRY(read_indices(scope, node->child[2], &cols, &col));
    } else if (matrix->rows == 1) {
        ATT_TRY(read_indices(scope, node->child[1], &cols, &col));
    } else {
        ATT_TRY(read_indices(scope, node->child[1], &rows, &row));
    }
    *out = att_matrix_select(scope->arena, matrix, row.at, row.count, col.at, col.count);
    if (!*out)
        return att_fail_memory(scope->err);
    return att_record_select(scope, node, matrix, row.at, col.at, *out);
}

att_status att_eval_index(const att_scope *scope, const att_expr *node, att_value *out)
{
    att_value of;
    ATT_TRY(att_eval(scope, node->child[0], &of));
    if (of.kind == ATT_VALUE_LIST)
        return index_list(scope, node, &of, out);
    *out = (att_value){ .kind = ATT_VALUE_MATRIX };
    return index_matrix(scope, node, of.matrix, &out->matrix);
}
