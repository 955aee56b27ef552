/* compare X "file" within T: compares a value with the result of another program or device. If the
 * file has several arrays, every value of the sheet that has a name in the file is compared, in the
 * order of computation, so that the message names the first step that differs. */
#include "sheet/tolerance.h"

#include "base/quote.h"
#include "base/string.h"
#include "sheet/archive.h"
#include "sheet/gradient.h"
#include "tensor/tensor.h"

#include <string.h>

/* The state of one `compare` statement. */
struct comparison {
    att_interpreter *interpreter;
    const att_expr *node; /* the expression to compare */
    bool all;             /* the statement is `compare all` */
    const char *file;
    const att_expr *file_node;
    const char *key;      /* the array's name in the file; NULL: not given */
    const att_expr *load; /* file, name and indices, as `load` has them */
    att_tolerance nearness;
    att_archive archive;
    bool *used;       /* [arrays of the file], true where compared */
    att_check *check; /* of the first array that differs, or of the last one compared */
    size_t compared;
    size_t different;
};

/* A value of the sheet that may have a counterpart in the file. */
struct item {
    const char *name;  /* full name in the sheet: "a.scores" */
    const char *brief; /* "scores": alternative name in the file; or NULL */
    int64_t head;      /* number of the head, from 1; 0: no heads. For an array of all heads: */
    const char *heads_name;
    const char *heads_brief;
    const att_matrix *value;
};

/* ---- Comparing one */

/* An array of the file and the indices of the matrix in it. */
struct place {
    const att_tensor *tensor;
    int64_t at[ATT_MAX_RANK]; /* the first indices */
    int count;
};

/* Finds the dimension of the heads in an array of all heads, after leading dimensions of size 1. */
static bool find_head(struct place *place, int64_t head)
{
    const att_tensor *tensor = place->tensor;
    int first = 0;
    while (tensor->rank - first > 3 && tensor->shape[first] == 1)
        place->at[first++] = 0;
    if (tensor->rank - first != 3 || head > tensor->shape[first])
        return false;
    place->at[first] = head - 1;
    place->count = first + 1;
    return true;
}

/* Finds the array of that name; if `head` is not 0, also an array of all heads, and in it this
 * head. */
static bool find_array(const struct comparison *c, const char *name, int64_t head,
                       struct place *place)
{
    for (size_t i = 0; name && i < att_bundle_count(c->archive.bundle); i++) {
        if (strcmp(att_bundle_name(c->archive.bundle, i), name) != 0)
            continue;
        *place = (struct place){ .tensor = att_bundle_at(c->archive.bundle, i) };
        if (head > 0 && !find_head(place, head))
            return false;
        c->used[i] = true;
        return true;
    }
    return false;
}

static bool find_item(const struct comparison *c, const struct item *item, struct place *place)
{
    if (find_array(c, item->name, 0, place) || find_array(c, item->brief, 0, place))
        return true;
    return item->head > 0 && (find_array(c, item->heads_name, item->head, place) ||
                              find_array(c, item->heads_brief, item->head, place));
}

static att_status describe_rank(struct comparison *c, att_check *check, const att_tensor *tensor)
{
    char shape[ATT_SHAPE_STRING_SIZE];
    check->message =
        att_arena_printf(&c->interpreter->sheet->arena,
                         "the shapes differ: found %lld × %lld, the file's array is %s",
                         (long long)check->actual->rows, (long long)check->actual->cols,
                         att_shape_to_string(shape, tensor->rank, tensor->shape));
    return check->message ? ATT_OK : att_fail_memory(c->interpreter->scope.err);
}

/* Compares the item with `expected` (NULL: an array of too many dimensions) and keeps the check if
 * it is the first that differs. */
static att_status compare_arrays(struct comparison *c, const struct item *item,
                                 const att_tensor *tensor, const att_matrix *expected)
{
    att_check *check = att_arena_alloc(&c->interpreter->sheet->arena, 1, sizeof *check);
    if (!check)
        return att_fail_memory(c->interpreter->scope.err);
    *check = (att_check){ .left = c->node,
                          .file = c->file,
                          .array = c->key,
                          .load = c->load,
                          .actual = item->value,
                          .expected = expected,
                          .part = item->name };
    att_check_set_rule(check, &c->nearness);
    bool same_shape =
        expected && expected->rows == item->value->rows && expected->cols == item->value->cols;
    if (same_shape)
        ATT_TRY(att_check_compare(c->interpreter, check, &c->nearness));
    else
        ATT_TRY(describe_rank(c, check, tensor));
    c->compared++;
    c->different += !check->passed;
    if (!c->check || (c->check->passed && !check->passed))
        c->check = check;
    return ATT_OK;
}

static att_status compare_item(struct comparison *c, const struct item *item)
{
    struct place place;
    const att_matrix *expected;
    if (!find_item(c, item, &place))
        return ATT_OK;
    if (!att_archive_matrix(&c->interpreter->sheet->arena, place.tensor, place.at, place.count,
                            &expected))
        return att_fail_memory(c->interpreter->scope.err);
    return compare_arrays(c, item, place.tensor, expected);
}

/* ---- Comparing many: a step's parts in order, then its result */

/* Compares one item under its names, which are copied to the arena; `brief` NULL: only the full
 * name is looked up. */
static att_status compare_part(struct comparison *c, const char *name, const att_trace_part *part,
                               bool briefly)
{
    att_arena *arena = &c->interpreter->sheet->arena;
    struct item item = { .head = part->head, .value = part->value };
    item.heads_name = att_arena_printf(arena, "%s.%s", name, part->name);
    item.heads_brief = briefly ? part->name : NULL;
    if (part->head > 0) {
        item.name =
            att_arena_printf(arena, "%s.head[%lld].%s", name, (long long)part->head, part->name);
        item.brief = item.name && briefly ? item.name + strlen(name) + 1 : NULL;
    } else {
        item.name = item.heads_name;
        item.brief = item.heads_brief;
    }
    if (!item.heads_name || !item.name)
        return att_fail_memory(c->interpreter->scope.err);
    return compare_item(c, &item);
}

static att_status compare_parts(struct comparison *c, const char *name, const att_trace_part *parts,
                                size_t count, bool briefly)
{
    for (size_t i = 0; i < count; i++)
        ATT_TRY(compare_part(c, name, &parts[i], briefly));
    return ATT_OK;
}

/* Compares the items of a list, whose names are heads[1], heads[2], …. */
static att_status compare_list(struct comparison *c, const att_trace_step *step)
{
    for (size_t i = 0; i < step->part_count; i++) {
        const att_trace_part *part = &step->parts[i];
        ATT_TRY(compare_item(c, &(struct item){ .name = part->name, .value = part->value }));
    }
    return ATT_OK;
}

static att_status compare_step(struct comparison *c, const att_trace_step *step)
{
    if (!step->value)
        return compare_list(c, step);
    ATT_TRY(compare_parts(c, step->name, step->parts, step->part_count, false));
    const struct item item = { .name = step->name, .value = step->value };
    return compare_item(c, &item);
}

/* Compares gradients of parts that are inputs, such as a.grad.q, which have no step of their
 * own. */
static att_status compare_kept(struct comparison *c)
{
    const att_record *record = &c->interpreter->record;
    const att_kept_gradient *kept = record->gradient->kept;
    for (; kept; kept = kept->next) {
        const att_matrix *whole = record->computations[kept->computation].output.matrix;
        const char *of = att_record_find(record, whole)->name;
        struct item item = { .value = kept->gradient };
        if (!of || strpbrk(of, ".["))
            continue;
        item.name = att_arena_printf(&c->interpreter->sheet->arena, "%s.grad.%s", of, kept->name);
        if (!item.name)
            return att_fail_memory(c->interpreter->scope.err);
        ATT_TRY(compare_item(c, &item));
    }
    return ATT_OK;
}

/* Compares the gradients of the last `gradient` statement, in the order of the backward pass. */
static att_status compare_gradients(struct comparison *c, const att_trace_step *step)
{
    for (size_t i = 0; i < step->part_count; i++) {
        const struct item item = { .name = step->parts[i].path, .value = step->parts[i].value };
        if (item.name)
            ATT_TRY(compare_item(c, &item));
    }
    return compare_kept(c);
}

/* Compares all named values, in the order of the trace. A name that was assigned twice is compared
 * once. */
static att_status compare_all(struct comparison *c)
{
    const att_sheet *sheet = c->interpreter->sheet;
    for (size_t i = 0; i < sheet->step_count; i++) {
        const att_trace_step *step = &sheet->steps[i];
        bool named = step->kind == ATT_STEP_VALUE && step->name;
        if (named && att_symbol_table_get(&c->interpreter->symbols, step->name)->step == i)
            ATT_TRY(compare_step(c, step));
        const att_gradient *gradient = c->interpreter->record.gradient;
        if (gradient && gradient->step == i)
            ATT_TRY(compare_gradients(c, step));
    }
    return ATT_OK;
}

/* Compares one value with the named array, with the only array of the file, or by its own name. */
static att_status compare_one(struct comparison *c)
{
    const att_scope *scope = &c->interpreter->scope;
    att_value value;
    char quote[ATT_QUOTE_SIZE];
    att_sheet_source_quote(scope->source, c->node, quote);
    const char *name = att_arena_strndup(scope->arena, quote, strlen(quote));
    if (!name)
        return att_fail_memory(scope->err);
    ATT_TRY(att_eval(scope, c->node, &value));
    if (value.kind == ATT_VALUE_LIST)
        return att_scope_fail(scope, c->node, "%s is a list of %zu, expected a matrix", name,
                              value.item_count);
    struct item item = { .name = name, .value = value.matrix };
    if (c->key || !c->archive.bundle) {
        const att_tensor *tensor = NULL;
        const att_matrix *expected;
        int64_t at[ATT_MAX_RANK];
        int count = 0;
        ATT_TRY(att_archive_get(scope, c->file_node, &c->archive, c->key, &tensor));
        ATT_TRY(att_archive_read_at(scope, c->load, tensor, at, &count));
        if (!att_archive_matrix(scope->arena, tensor, at, count, &expected))
            return att_fail_memory(scope->err);
        return compare_arrays(c, &item, tensor, expected);
    }
    if (value.kind == ATT_VALUE_RECORD)
        ATT_TRY(compare_parts(c, name, value.parts, value.part_count, true));
    item.brief = c->node->kind == ATT_EXPR_FIELD ? c->node->text : NULL;
    return compare_item(c, &item);
}

/* ---- The message */

/* "; in the file, but not in the sheet: 'x', 'y'": a mistyped name must not look like a success. */
static att_status add_unmatched(const struct comparison *c, att_string *text)
{
    size_t missed = 0;
    for (size_t i = 0; i < att_bundle_count(c->archive.bundle); i++) {
        enum { MAX_LISTED = 8 };
        char quoted[ATT_QUOTED_SIZE];
        const char *name = att_bundle_name(c->archive.bundle, i);
        if (c->used[i] || missed++ >= MAX_LISTED)
            continue;
        ATT_TRY(att_string_printf(text, "%s'%s'",
                                  missed == 1 ? "; in the file, but not in the sheet: " : ", ",
                                  att_quote(quoted, name, strlen(name))));
    }
    return ATT_OK;
}

static att_status write_message(const struct comparison *c, att_string *text)
{
    if (c->compared == 1)
        ATT_TRY(att_string_puts(text, c->check->message));
    else if (c->different == 0)
        ATT_TRY(att_string_printf(text, "all %zu arrays agree", c->compared));
    else
        ATT_TRY(att_string_printf(text,
                                  "%s is the first that differs: %s; %zu of %zu arrays differ",
                                  c->check->part, c->check->message, c->different, c->compared));
    return c->all ? add_unmatched(c, text) : ATT_OK;
}

static att_status conclude(struct comparison *c)
{
    const att_scope *scope = &c->interpreter->scope;
    att_string text = { 0 };
    if (c->compared == 0)
        return att_scope_fail(scope, c->file_node,
                              "no array of %.200s has the name of a value of the sheet", c->file);
    att_status status = write_message(c, &text);
    if (status == ATT_OK) {
        c->check->message = att_arena_strndup(scope->arena, text.data, text.length);
        c->check->part = c->different > 0 ? c->check->part : NULL;
    }
    att_string_free(&text);
    return status == ATT_OK && c->check->message ? ATT_OK : att_fail_memory(scope->err);
}

/* ---- The statement */

static att_status parse_comparison(struct comparison *c, att_parser *parser)
{
    att_expr *node;
    ATT_TRY(att_parse_expression(parser, &node));
    c->node = node;
    c->all = node->kind == ATT_EXPR_NAME && strcmp(node->text, "all") == 0;
    if (!att_parser_at(parser, ATT_TOKEN_STRING))
        return att_parser_expected(parser, "an operator or a file in quotes");
    const att_token start = parser->token;
    ATT_TRY(att_parse_load(parser, &start, &node));
    c->load = node;
    c->file_node = node->child[0];
    c->file = c->file_node->text;
    c->key = node->child[1] ? node->child[1]->text : NULL;
    const att_token rule = parser->token;
    ATT_TRY(att_parse_tolerance(c->interpreter, parser, &c->nearness));
    ATT_TRY(att_parser_end(parser));
    if (c->nearness.rule == ATT_RULE_PRINTED)
        return att_sheet_source_fail(&c->interpreter->source, c->interpreter->scope.err, rule.line,
                                     rule.column,
                                     "'as printed' needs numbers written in the sheet: expected "
                                     "'within' or 'to'");
    return ATT_OK;
}

static att_status compare(struct comparison *c)
{
    const att_scope *scope = &c->interpreter->scope;
    ATT_TRY(att_archive_open(scope, c->file_node, c->file, &c->archive));
    if (c->all && (c->key || !c->archive.bundle))
        return att_scope_fail(scope, c->file_node,
                              "'compare all' needs a .npz or .safetensors file of named arrays");
    if (c->load->children > 2 && c->archive.bundle && !c->key)
        return att_scope_fail(scope, c->load->child[2],
                              "'at' needs one array: expected its name in quotes after the file");
    if (c->archive.bundle) {
        c->used = att_arena_alloc(scope->arena, att_bundle_count(c->archive.bundle), sizeof(bool));
        if (!c->used)
            return att_fail_memory(scope->err);
    }
    ATT_TRY(c->all ? compare_all(c) : compare_one(c));
    return conclude(c);
}

att_status att_run_compare(att_interpreter *interpreter, att_parser *parser)
{
    struct comparison c = { .interpreter = interpreter };
    ATT_TRY(parse_comparison(&c, parser));
    att_status status = compare(&c);
    att_archive_close(&c.archive);
    ATT_TRY(status);
    return att_interpreter_add_check(interpreter, parser, c.check);
}
