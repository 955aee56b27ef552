/* The statements name = …, show …, plot … and label …. */
#include "sheet/statements.h"

#include "sheet/hand.h"
#include "sheet/matrix.h"
#include "sheet/derivation.h"
#include "sheet/scenario.h"
#include "sheet/record.h"

#include <math.h>
#include <string.h>

/* ---- Values */

/* The items of a list as parts called W[1], W[2], …, as a step shows them. */
static att_status list_parts(const att_scope *scope, const att_value *list, att_trace_step *step)
{
    att_trace_part *parts = att_arena_alloc(scope->arena, list->item_count, sizeof *parts);
    for (size_t i = 0; parts && i < list->item_count; i++) {
        parts[i].name =
            att_arena_printf(scope->arena, "%s[%zu]", step->name ? step->name : "", i + 1);
        parts[i].value = list->items[i].matrix;
        if (!parts[i].name)
            return att_fail_memory(scope->err);
    }
    step->parts = parts;
    step->part_count = list->item_count;
    return parts ? ATT_OK : att_fail_memory(scope->err);
}

/* The parts of a record are shown where it is computed, not where it is only named. */
att_status att_step_set_value(const att_scope *scope, const att_value *value, att_trace_step *step)
{
    step->value = value->matrix;
    if (value->kind == ATT_VALUE_LIST) {
        ATT_TRY(list_parts(scope, value, step));
    } else if (value->kind == ATT_VALUE_RECORD && step->formula->kind == ATT_EXPR_CALL) {
        step->parts = value->parts;
        step->part_count = value->part_count;
    }
    return att_derivation_add(scope, value, step);
}

att_status att_step_evaluate(att_interpreter *interpreter, att_trace_step *step, att_value *value,
                             att_value *hand)
{
    att_derivation derivation = { .used = { step->name ? step->name : "" }, .used_count = 1 };
    att_scope scope = interpreter->scope;
    scope.derivation = &derivation;
    if (step->name)
        ATT_TRY(att_eval_assigned(&scope, step->name, interpreter->source.anchor_line,
                                  step->formula, value));
    else
        ATT_TRY(att_eval(&scope, step->formula, value));
    ATT_TRY(att_step_set_value(&scope, value, step));
    return att_hand_add(interpreter, value, step, hand);
}

att_status att_run_assign(att_interpreter *interpreter, att_parser *parser)
{
    const char *name;
    att_expr *formula;
    att_value value, hand;
    ATT_TRY(att_parser_name(parser, "a name", &name));
    if (att_parser_at(parser, ATT_TOKEN_EQUAL_TO))
        return att_parser_fail(parser, "found '==': a value is assigned with one '=', and checked "
                                       "with 'expect … = …'");
    ATT_TRY(att_parser_take(parser)); /* the '=', seen before */
    ATT_TRY(att_parse_expression(parser, &formula));
    ATT_TRY(att_parser_end(parser));
    att_trace_step step = { .kind = ATT_STEP_VALUE, .name = name, .formula = formula };
    ATT_TRY(att_step_evaluate(interpreter, &step, &value, &hand));
    ATT_TRY(att_interpreter_add_step(interpreter, parser, &step));
    if (!att_symbol_table_set(&interpreter->symbols, &interpreter->sheet->arena, name, &value,
                              interpreter->sheet->step_count - 1))
        return att_fail_memory(interpreter->scope.err);
    ATT_TRY(att_record_name(&interpreter->scope, name, &value, interpreter->source.anchor_line));
    return att_hand_set(interpreter, name, &hand);
}

att_status att_run_show(att_interpreter *interpreter, att_parser *parser)
{
    att_expr *formula;
    att_value value, hand;
    ATT_TRY(att_parse_expression(parser, &formula));
    ATT_TRY(att_parser_end(parser));
    att_trace_step step = { .kind = ATT_STEP_VALUE, .formula = formula };
    ATT_TRY(att_step_evaluate(interpreter, &step, &value, &hand));
    return att_interpreter_add_step(interpreter, parser, &step);
}

/* ---- Plots */

/* The matrices of a plot, one per panel. */
struct panels {
    const att_matrix **items;
    size_t count;
    bool list;      /* the panels are items of a list, not heads */
    bool attention; /* the rows are queries and the columns keys */
};

static att_status add_panel(att_interpreter *interpreter, struct panels *panels, size_t max,
                            const att_matrix *matrix)
{
    if (!panels->items)
        panels->items = att_arena_alloc(&interpreter->sheet->arena, max, sizeof *panels->items);
    if (!panels->items)
        return att_fail_memory(interpreter->scope.err);
    panels->items[panels->count++] = matrix;
    return ATT_OK;
}

/* The parts of attention that have a row for each query and a column for each key. */
static bool is_attention_part(const char *name)
{
    return strcmp(name, "weights") == 0 || strcmp(name, "scores") == 0 ||
           strcmp(name, "products") == 0;
}

/* Whether each row is a probability distribution, as attention weights are: a sheet may compute
 * them by hand. */
static bool has_weights(const att_matrix *matrix)
{
    for (int64_t i = 0; i < matrix->rows; i++) {
        double sum = 0;
        for (int64_t j = 0; j < matrix->cols; j++) {
            double weight = matrix->data[i * matrix->cols + j];
            if (!(weight >= 0))
                return false;
            sum += weight;
        }
        if (!(fabs(sum - 1) < 1e-9))
            return false;
    }
    return matrix->cols > 1;
}

/* Adds the parts of that name, of every head. */
static att_status read_parts(att_interpreter *interpreter, const att_value *record,
                             const char *name, struct panels *panels)
{
    for (size_t i = 0; i < record->part_count; i++)
        if (strcmp(record->parts[i].name, name) == 0)
            ATT_TRY(add_panel(interpreter, panels, record->part_count, record->parts[i].value));
    panels->attention = panels->count > 0 && is_attention_part(name);
    return ATT_OK;
}

/* a.weights with several heads is not a single value, but can be plotted. */
static att_status read_field(att_interpreter *interpreter, const att_expr *node,
                             struct panels *panels)
{
    att_value record;
    if (node->kind != ATT_EXPR_FIELD)
        return ATT_OK;
    ATT_TRY(att_eval(&interpreter->scope, node->child[0], &record));
    return record.kind == ATT_VALUE_RECORD ? read_parts(interpreter, &record, node->text, panels)
                                           : ATT_OK;
}

/* The panels are the weights of a record, the items of a list, or the matrix itself. */
static att_status read_panels(att_interpreter *interpreter, const att_expr *node,
                              struct panels *panels)
{
    att_value value;
    ATT_TRY(read_field(interpreter, node, panels));
    if (panels->count > 0)
        return ATT_OK;
    ATT_TRY(att_eval(&interpreter->scope, node, &value));
    if (value.kind == ATT_VALUE_RECORD)
        ATT_TRY(read_parts(interpreter, &value, "weights", panels));
    panels->list = value.kind == ATT_VALUE_LIST;
    for (size_t i = 0; panels->list && i < value.item_count; i++)
        ATT_TRY(add_panel(interpreter, panels, value.item_count, value.items[i].matrix));
    return panels->count > 0 ? ATT_OK : add_panel(interpreter, panels, 1, value.matrix);
}

static att_status check_panels(att_interpreter *interpreter, const att_expr *node,
                               const struct panels *panels)
{
    const att_matrix *first = panels->items[0];
    if (first->rows == 0 || first->cols == 0)
        return att_scope_fail(&interpreter->scope, node,
                              "cannot plot an empty matrix: it is %lld × %lld",
                              (long long)first->rows, (long long)first->cols);
    for (size_t p = 1; p < panels->count; p++) {
        const att_matrix *other = panels->items[p];
        if (other->rows != first->rows || other->cols != first->cols)
            return att_scope_fail(&interpreter->scope, node,
                                  "panels of one plot must have the same shape: the first is "
                                  "%lld × %lld, number %zu is %lld × %lld",
                                  (long long)first->rows, (long long)first->cols, p + 1,
                                  (long long)other->rows, (long long)other->cols);
    }
    return ATT_OK;
}

/* Labels of a map, which needs one for every position or none. */
static bool full_labels(att_arena *arena, const char *const *labels, int64_t count,
                        const char *const **out)
{
    if (!labels)
        return true;
    const char **full = att_arena_alloc(arena, (size_t)count, sizeof *full);
    for (int64_t i = 0; full && i < count; i++) {
        full[i] = labels[i] ? labels[i] : att_arena_printf(arena, "%lld", (long long)i + 1);
        if (!full[i])
            return false;
    }
    *out = full;
    return full != NULL;
}

/* The title of a panel: for an item of a list its name in the sheet (A, a.weights, W[2]) or its
 * number; otherwise "head 2". */
static const char *name_panel(att_arena *arena, const att_expr *formula, bool list, int64_t p)
{
    long long number = (long long)p + 1;
    if (!list)
        return att_arena_printf(arena, "head %lld", number);
    if (formula->kind == ATT_EXPR_NAME)
        return att_arena_printf(arena, "%s[%lld]", formula->text, number);
    bool written = formula->kind == ATT_EXPR_LIST && (size_t)p < formula->children;
    const att_expr *item = written ? formula->child[p] : formula;
    if (written && item->kind == ATT_EXPR_NAME)
        return item->text;
    if (written && item->kind == ATT_EXPR_FIELD && item->child[0]->kind == ATT_EXPR_NAME)
        return att_arena_printf(arena, "%s.%s", item->child[0]->text, item->text);
    return att_arena_printf(arena, "%lld", number);
}

static bool name_panels(att_arena *arena, att_map *map, const att_expr *formula, bool list)
{
    if (map->panels == 1)
        return true;
    const char **labels = att_arena_alloc(arena, (size_t)map->panels, sizeof *labels);
    for (int64_t p = 0; labels && p < map->panels; p++) {
        labels[p] = name_panel(arena, formula, list, p);
        if (!labels[p])
            return false;
    }
    map->panel_labels = labels;
    return labels != NULL;
}

/* Copies the numbers of all panels, and their masks if any panel has one. */
static bool fill_map(att_arena *arena, att_map *map, const struct panels *panels)
{
    size_t size = (size_t)(map->queries * map->keys);
    bool masked = false;
    for (size_t p = 0; p < panels->count; p++)
        masked = masked || panels->items[p]->allowed;
    double *weights = att_arena_alloc(arena, panels->count * size, sizeof *weights);
    uint8_t *allowed = masked ? att_arena_alloc(arena, panels->count * size, 1) : NULL;
    if (!weights || (masked && !allowed))
        return false;
    for (size_t p = 0; p < panels->count; p++) {
        const att_matrix *panel = panels->items[p];
        memcpy(weights + p * size, panel->data, size * sizeof *weights);
        if (masked && panel->allowed)
            memcpy(allowed + p * size, panel->allowed, size);
        else if (masked)
            memset(allowed + p * size, 1, size);
    }
    map->weights = weights;
    map->allowed = allowed;
    return full_labels(arena, panels->items[0]->row_labels, map->queries, &map->query_labels) &&
           full_labels(arena, panels->items[0]->col_labels, map->keys, &map->key_labels);
}

static att_status add_map(att_interpreter *interpreter, const att_map *map)
{
    att_sheet *sheet = interpreter->sheet;
    bool full =
        (sheet->map_count & (sheet->map_count - 1)) == 0; /* the capacity is a power of two */
    if (full) {
        size_t room = sheet->map_count ? sheet->map_count * 2 : 1;
        const att_map **maps = att_arena_alloc(&sheet->arena, room, sizeof *maps);
        if (!maps)
            return att_fail_memory(interpreter->scope.err);
        if (sheet->map_count > 0)
            memcpy(maps, sheet->maps, sheet->map_count * sizeof *maps);
        sheet->maps = maps;
    }
    sheet->maps[sheet->map_count++] = map;
    return ATT_OK;
}

att_status att_run_plot(att_interpreter *interpreter, att_parser *parser)
{
    att_expr *formula;
    const char *title = NULL;
    struct panels panels = { 0 };
    ATT_TRY(att_parse_expression(parser, &formula));
    if (att_parser_at(parser, ATT_TOKEN_STRING))
        ATT_TRY(att_parser_string(parser, "a title", &title));
    ATT_TRY(att_parser_end(parser));
    ATT_TRY(read_panels(interpreter, formula, &panels));
    ATT_TRY(check_panels(interpreter, formula, &panels));
    bool attention = panels.attention || has_weights(panels.items[0]);
    att_map *map = att_arena_alloc(&interpreter->sheet->arena, 1, sizeof *map);
    if (!map)
        return att_fail_memory(interpreter->scope.err);
    *map = (att_map){ .title = title,
                      .panels = (int64_t)panels.count,
                      .queries = panels.items[0]->rows,
                      .keys = panels.items[0]->cols,
                      .query_name = attention                   ? NULL
                                    : panels.items[0]->numbered ? "position"
                                                                : "row",
                      .key_name = attention                   ? NULL
                                  : panels.items[0]->numbered ? "element"
                                                              : "column" };
    att_arena *arena = &interpreter->sheet->arena;
    if (!fill_map(arena, map, &panels) || !name_panels(arena, map, formula, panels.list))
        return att_fail_memory(interpreter->scope.err);
    ATT_TRY(add_map(interpreter, map));
    const att_trace_step step = { .kind = ATT_STEP_PLOT, .formula = formula, .map = map };
    return att_interpreter_add_step(interpreter, parser, &step);
}

/* ---- Labels: label X "I" "go" "home". Labels are kept through sums, products and attention, and
 * shown with every matrix that has them. */

/* Labels in quotes, with the token before them for messages. */
struct labels {
    att_token start;
    const char **items;
    size_t count;
    size_t capacity;
};

static att_status add_label(att_parser *parser, struct labels *labels)
{
    void *items = labels->items;
    if (!att_arena_array_grow(parser->lexer.arena, &items, &labels->capacity, labels->count,
                              sizeof *labels->items))
        return att_fail_memory(parser->lexer.err);
    labels->items = items;
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

/* Row labels, unless the words `rows` and `cols` precede them. */
static att_status parse_sides(att_parser *parser, struct labels *rows, struct labels *cols)
{
    do {
        struct labels *side = rows;
        if (att_parser_at_word(parser, "cols"))
            side = cols;
        if (att_parser_at_word(parser, "cols") || att_parser_at_word(parser, "rows"))
            ATT_TRY(att_parser_take(parser));
        if (side->count > 0)
            return att_parser_fail(parser, "the %s are labeled twice",
                                   side == rows ? "rows" : "columns");
        ATT_TRY(parse_labels(parser, side));
    } while (att_parser_at_word(parser, "cols") || att_parser_at_word(parser, "rows"));
    return att_parser_end(parser);
}

static att_status check_count(const att_interpreter *interpreter, const struct labels *labels,
                              const char *name, int64_t count, bool of_rows, int64_t others)
{
    if (labels->count == 0 || (int64_t)labels->count == count)
        return ATT_OK;
    const char *hint = of_rows && others > 1 && (int64_t)labels->count == others
                           ? " (columns are labeled with 'label … cols …')"
                           : "";
    const char *unit = of_rows ? "row" : "column";
    return att_sheet_source_fail(&interpreter->source, interpreter->scope.err, labels->start.line,
                                 labels->start.column, "%s has %lld %s%s, found %zu label%s%s",
                                 name, (long long)count, unit, count == 1 ? "" : "s", labels->count,
                                 labels->count == 1 ? "" : "s", hint);
}

/* Finds the symbol to label, whose value must be a matrix. */
static att_status find_labeled_value(att_interpreter *interpreter, att_parser *parser,
                                     const char **name, att_symbol **out)
{
    const att_token at = parser->token;
    ATT_TRY(att_parser_name(parser, "the name of a matrix to label", name));
    const att_expr node = { .kind = ATT_EXPR_NAME,
                            .text = *name,
                            .line = at.line,
                            .column = at.column,
                            .end_line = at.line,
                            .end_column = at.end_column };
    const att_matrix *matrix;
    ATT_TRY(att_eval_matrix(&interpreter->scope, &node, &matrix));
    *out = att_symbol_table_get(&interpreter->symbols, *name);
    return *out ? ATT_OK
                : att_scope_fail(&interpreter->scope, &node, "'%s' is not a name of this sheet",
                                 *name);
}

att_status att_run_label(att_interpreter *interpreter, att_parser *parser)
{
    const char *name;
    att_symbol *target;
    struct labels rows = { 0 };
    struct labels cols = { 0 };
    ATT_TRY(find_labeled_value(interpreter, parser, &name, &target));
    ATT_TRY(parse_sides(parser, &rows, &cols));
    const att_matrix *matrix = target->value.matrix;
    ATT_TRY(check_count(interpreter, &rows, name, matrix->rows, true, matrix->cols));
    ATT_TRY(check_count(interpreter, &cols, name, matrix->cols, false, matrix->rows));
    const att_matrix *labeled = att_matrix_with_labels(
        &interpreter->sheet->arena, matrix, rows.count ? rows.items : matrix->row_labels,
        cols.count ? cols.items : matrix->col_labels);
    if (!labeled)
        return att_fail_memory(interpreter->scope.err);
    target->value.matrix = labeled;
    att_record_relabel(&interpreter->record, labeled);
    att_trace_step *shown = &interpreter->sheet->steps[target->step];
    shown->value = labeled; /* the step that defined the matrix shows the labels too */
    att_symbol *hand = att_symbol_table_get(&interpreter->by_hand, name);
    if (!hand)
        return ATT_OK;
    hand->value.matrix = att_matrix_with_labels(&interpreter->sheet->arena, hand->value.matrix,
                                                labeled->row_labels, labeled->col_labels);
    shown->rounded = shown->rounded ? hand->value.matrix : NULL;
    return hand->value.matrix ? ATT_OK : att_fail_memory(interpreter->scope.err);
}
