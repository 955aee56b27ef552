/* A trace as JSON, complete and exact: every number reads back as the same double, and numbers that
 * JSON cannot represent are strings: "nan", "inf", "-inf".
 *
 *   { "attend": version, "schema": 2, "sheets": [ { "name", "checks", "failures", "steps": [
 *       { "kind": "heading" | "prose" | "value" | "check" | "error" | "plot" | "ask" |
 *         "gradient" | "diagram", "line", … } ] } ] }
 *
 * A matrix is { "rows", "cols", "data": [[…], …] }, with "allowed" (0 where masked), "row_labels"
 * and "col_labels" if it has them. If the options select one row, "row" is its number in `data`. */
#include "base/minmax.h"
#include "render/formula.h"
#include "render/diagram_page.h"
#include "render/page.h"
#include "render/view.h"

#include <inttypes.h>
#include <math.h>

/* Writes a comma unless the next member is the first of its object or array. */
static void put_comma(att_page *page)
{
    const att_string *text = page->out->text;
    if (page->out->status != ATT_OK || text->length == 0)
        return;
    char last = text->data[text->length - 1];
    if (last != '{' && last != '[')
        att_put(page->out, ",");
}

static void put_key(att_page *page, const char *key)
{
    put_comma(page);
    att_putf(page->out, "\"%s\":", key);
}

static void put_string(att_page *page, const char *key, const char *value)
{
    if (!value)
        return;
    put_key(page, key);
    att_put_json(page->out, value);
}

static void put_integer(att_page *page, const char *key, int64_t value)
{
    put_key(page, key);
    att_put_integer(page->out, value);
}

static void put_bool(att_page *page, const char *key, bool value)
{
    put_key(page, key);
    att_put(page->out, value ? "true" : "false");
}

static void put_number(att_page *page, double value)
{
    char text[ATT_NUMBER_SIZE];
    const char *quote = isfinite(value) ? "" : "\"";
    att_number_exact(text, value);
    att_put(page->out, quote);
    att_put(page->out, text);
    if (value == 0 && signbit(value))
        att_put(page->out, ".0"); /* many readers parse -0 as an integer, which has no sign */
    att_put(page->out, quote);
}

/* A formula in worksheet syntax, with exact numbers. */
static void put_formula(att_page *page, const char *key, const att_expr *formula)
{
    if (!formula)
        return;
    att_string text = { 0 };
    att_writer out = att_writer_on(&text);
    att_put_formula(&out, formula, &att_notation_ascii, ATT_DIGITS_EXACT);
    if (out.status == ATT_OK)
        put_string(page, key, text.data ? text.data : "");
    else
        page->out->status = out.status;
    att_string_free(&text);
}

static void put_labels(att_page *page, const char *key, const char *const *labels, int64_t count)
{
    if (!labels)
        return;
    put_key(page, key);
    att_put(page->out, "[");
    for (int64_t i = 0; i < count; i++) {
        put_comma(page);
        if (labels[i])
            att_put_json(page->out, labels[i]);
        else
            att_put(page->out, "null");
    }
    att_put(page->out, "]");
}

static void put_row(att_page *page, const double *row, const uint8_t *flags, int64_t count)
{
    put_comma(page);
    att_put(page->out, "[");
    for (int64_t j = 0; j < count && page->out->status == ATT_OK; j++) {
        put_comma(page);
        if (flags)
            att_put(page->out, flags[j] ? "1" : "0");
        else
            put_number(page, row[j]);
    }
    att_put(page->out, "]");
}

/* Rows `first` to `end` - 1, as values or as flags. */
static void put_rows(att_page *page, const char *key, const double *data, const uint8_t *flags,
                     int64_t first, int64_t end, int64_t cols)
{
    put_key(page, key);
    att_put(page->out, "[");
    for (int64_t i = first; i < end && page->out->status == ATT_OK; i++)
        put_row(page, data + i * cols, flags ? flags + i * cols : NULL, cols);
    att_put(page->out, "]");
}

static void put_matrix(att_page *page, const char *key, const att_matrix *m)
{
    if (!m)
        return;
    int64_t row = page->options->row;
    bool one = row > 0 && m->rows > 1;
    int64_t first = one ? row - 1 : 0;
    int64_t end = one ? (row <= m->rows ? row : first) : m->rows;
    put_key(page, key);
    att_put(page->out, "{");
    put_integer(page, "rows", m->rows);
    put_integer(page, "cols", m->cols);
    if (one)
        put_integer(page, "row", row);
    put_rows(page, "data", m->data, NULL, first, end, m->cols);
    if (m->allowed)
        put_rows(page, "allowed", m->data, m->allowed, first, end, m->cols);
    put_labels(page, "row_labels", m->row_labels, m->rows);
    put_labels(page, "col_labels", m->col_labels, m->cols);
    att_put(page->out, "}");
}

static void put_calculation(att_page *page, const att_calculation *calculation)
{
    put_comma(page);
    att_put(page->out, "{");
    put_formula(page, "left", calculation->left);
    put_formula(page, "right", calculation->right);
    put_matrix(page, "value", calculation->value);
    if (calculation->row > 0)
        put_integer(page, "row", calculation->row);
    if (calculation->rounded)
        put_bool(page, "rounded", true);
    att_put(page->out, "}");
}

static void put_part(att_page *page, const att_trace_part *part)
{
    put_comma(page);
    att_put(page->out, "{");
    put_string(page, "name", part->name);
    if (part->head > 0)
        put_integer(page, "head", part->head);
    put_string(page, "path", part->path);
    put_string(page, "description", part->description);
    put_formula(page, "formula", part->formula);
    put_matrix(page, "value", part->value);
    put_matrix(page, "rounded", part->rounded);
    if (part->calculation_count > 0) {
        put_key(page, "calculations");
        att_put(page->out, "[");
        for (size_t i = 0; i < part->calculation_count; i++)
            if (att_calculation_is_shown(&part->calculations[i], page->options))
                put_calculation(page, &part->calculations[i]);
        att_put(page->out, "]");
    }
    att_put(page->out, "}");
}

static void open_step(att_page *page, const att_trace_step *step, const char *kind)
{
    put_comma(page);
    att_put(page->out, "\n{");
    put_string(page, "kind", kind);
    put_integer(page, "line", step->line);
    put_string(page, "source", step->source);
    put_string(page, "comment", step->comment);
}

static void json_begin(att_page *page)
{
    att_put(page->out, "{");
    put_string(page, "attend", ATT_VERSION);
    put_integer(page, "schema", 2);
    put_key(page, "sheets");
    att_put(page->out, "[");
}

static void json_begin_sheet(att_page *page)
{
    put_comma(page);
    att_put(page->out, "{");
    put_string(page, "name", page->sheet->name);
    put_integer(page, "checks", (int64_t)page->sheet->checks);
    put_integer(page, "failures", (int64_t)page->sheet->failures);
    put_key(page, "steps");
    att_put(page->out, "[");
}

static void json_heading(att_page *page, const att_trace_step *step)
{
    open_step(page, step, "heading");
    put_integer(page, "level", step->level);
    put_string(page, "text", step->text);
    att_put(page->out, "}");
}

static void json_prose(att_page *page, const att_trace_step *step)
{
    open_step(page, step, "prose");
    put_string(page, "text", step->text);
    att_put(page->out, "}");
}

/* Inner results, and the calculations of a value without any, which are not fields of the result.
 */
static void put_derivation(att_page *page, const att_trace_step *step)
{
    bool inner = step->calculation_count > 0;
    for (size_t i = 0; i < step->part_count; i++)
        inner |= step->parts[i].inner;
    if (!inner)
        return;
    put_key(page, "derivation");
    att_put(page->out, "[");
    for (size_t i = 0; i < step->part_count && page->out->status == ATT_OK; i++)
        if (step->parts[i].inner && att_part_is_shown(&step->parts[i], page->options))
            put_part(page, &step->parts[i]);
    if (step->calculation_count > 0)
        put_part(page, &(att_trace_part){ .name = step->name,
                                          .formula = step->formula,
                                          .calculations = step->calculations,
                                          .calculation_count = step->calculation_count });
    att_put(page->out, "]");
}

/* Whether the step has parts that are fields of its result. */
static bool has_fields(const att_trace_step *step)
{
    for (size_t i = 0; i < step->part_count; i++)
        if (!step->parts[i].inner)
            return true;
    return false;
}

/* The parts that are fields of the result. */
static void put_parts(att_page *page, const att_trace_step *step)
{
    if (!has_fields(step))
        return;
    put_key(page, "parts");
    att_put(page->out, "[");
    for (size_t i = 0; i < step->part_count && page->out->status == ATT_OK; i++)
        if (!step->parts[i].inner && att_part_is_shown(&step->parts[i], page->options))
            put_part(page, &step->parts[i]);
    att_put(page->out, "]");
}

static void json_value(att_page *page, const att_trace_step *step)
{
    open_step(page, step, "value");
    put_string(page, "name", step->name);
    if (step->given)
        put_bool(page, "given", true);
    put_formula(page, "formula", step->formula);
    put_matrix(page, "value", step->value);
    put_matrix(page, "rounded", step->rounded);
    put_parts(page, step);
    put_derivation(page, step);
    att_put(page->out, "}");
}

static void json_gradient(att_page *page, const att_trace_step *step)
{
    open_step(page, step, "gradient");
    put_formula(page, "formula", step->formula);
    put_string(page, "text", step->text);
    put_parts(page, step);
    put_derivation(page, step);
    att_put(page->out, "}");
}

static void put_rule(att_page *page, const att_check *check)
{
    static const char *const names[] = {
        [ATT_RULE_WITHIN] = "within",     [ATT_RULE_DIGITS] = "digits",
        [ATT_RULE_DECIMALS] = "decimals", [ATT_RULE_PRINTED] = "printed",
        [ATT_RULE_DEFAULT] = "default",   [ATT_RULE_ERROR] = "error",
        [ATT_RULE_PERCENT] = "percent",   [ATT_RULE_GRADIENT] = "gradient",
    };
    put_string(page, "rule", names[check->rule]);
    put_string(page, "error_contains", check->error_contains);
    if (check->rule == ATT_RULE_WITHIN || check->rule == ATT_RULE_PERCENT ||
        check->rule == ATT_RULE_DEFAULT || check->rule == ATT_RULE_GRADIENT) {
        put_key(page, "tolerance");
        put_number(page, check->tolerance);
    } else if (check->rule == ATT_RULE_DIGITS || check->rule == ATT_RULE_DECIMALS) {
        put_integer(page, "digits", check->digits);
    }
}

static void json_check(att_page *page, const att_trace_step *step)
{
    const att_check *check = step->check;
    open_step(page, step, "check");
    put_bool(page, "passed", check->passed);
    put_bool(page, "negated", check->negated);
    if (check->by_hand)
        put_bool(page, "by_hand", true);
    put_formula(page, "left", check->left);
    put_formula(page, "right", check->right);
    put_string(page, "file", check->file);
    put_string(page, "array", check->array);
    put_rule(page, check);
    put_matrix(page, "actual", check->actual);
    put_matrix(page, "expected", check->expected);
    put_string(page, "part", check->part);
    put_integer(page, "mismatches", check->mismatch_count);
    if (check->row > 0) {
        put_integer(page, "row", check->row);
        put_integer(page, "col", check->col);
    }
    put_key(page, "max_difference");
    put_number(page, check->max_difference);
    put_string(page, "message", check->message);
    att_put(page->out, "}");
}

static void json_error(att_page *page, const att_trace_step *step)
{
    open_step(page, step, "error");
    put_formula(page, "formula", step->formula);
    put_string(page, "error", step->text);
    att_put(page->out, "}");
}

static void put_panel(att_page *page, const att_map *map, int64_t panel)
{
    int64_t first = panel * map->queries;
    put_comma(page);
    att_put(page->out, "{");
    if (map->panel_labels)
        put_string(page, "label", map->panel_labels[panel]);
    put_rows(page, "weights", map->weights, NULL, first, first + map->queries, map->keys);
    if (map->allowed)
        put_rows(page, "allowed", map->weights, map->allowed, first, first + map->queries,
                 map->keys);
    att_put(page->out, "}");
}

static void json_plot(att_page *page, const att_trace_step *step)
{
    att_map map;
    if (!att_page_map(page, step->map, INT64_MAX, INT64_MAX, &map))
        return;
    open_step(page, step, "plot");
    put_formula(page, "formula", step->formula);
    put_key(page, "map");
    att_put(page->out, "{");
    put_string(page, "title", map.title);
    put_integer(page, "queries", map.queries);
    put_integer(page, "keys", map.keys);
    put_labels(page, "query_labels", map.query_labels, map.queries);
    put_labels(page, "key_labels", map.key_labels, map.keys);
    put_key(page, "panels");
    att_put(page->out, "[");
    for (int64_t p = 0; p < map.panels && page->out->status == ATT_OK; p++)
        put_panel(page, &map, p);
    att_put(page->out, "]}}");
}

static void json_diagram(att_page *page, const att_trace_step *step)
{
    open_step(page, step, "diagram");
    put_string(page, "name", step->name);
    put_string(page, "title", step->text);
    att_diagram_put_json(page, step);
    att_put(page->out, "}");
}

static void json_ask(att_page *page, const att_trace_step *step)
{
    const att_ask *ask = step->ask;
    static const char *const rules[] = { [ATT_RULE_WITHIN] = "within",
                                         [ATT_RULE_PERCENT] = "percent",
                                         [ATT_RULE_DIGITS] = "digits",
                                         [ATT_RULE_DECIMALS] = "decimals" };
    open_step(page, step, "ask");
    put_integer(page, "number", (int64_t)ask->number);
    put_string(page, "name", ask->name);
    put_string(page, "description", ask->description);
    put_key(page, "points");
    put_number(page, ask->points);
    put_bool(page, "partial", ask->partial);
    put_string(page, "rule", ask->rounded ? "rounded" : rules[ask->rule]);
    if (!ask->rounded && (ask->rule == ATT_RULE_WITHIN || ask->rule == ATT_RULE_PERCENT)) {
        put_key(page, "tolerance");
        put_number(page, ask->tolerance);
    } else if (!ask->rounded) {
        put_integer(page, "digits", ask->digits);
    }
    put_integer(page, "rows", ask->value->rows);
    put_integer(page, "cols", ask->value->cols);
    if (page->sheet->solution)
        put_matrix(page, "value", ask->value);
    put_key(page, "hints");
    att_put(page->out, "[");
    for (size_t i = 0; i < ATT_COUNT(ask->hints) && ask->hints[i]; i++) {
        put_comma(page);
        att_put_json(page->out, ask->hints[i]);
    }
    att_put(page->out, "]}");
}

static void json_end_sheet(att_page *page)
{
    att_put(page->out, "\n]}");
}

static void json_end(att_page *page)
{
    att_put(page->out, "]}\n");
}

const att_format_spec att_format_json = {
    .begin = json_begin,
    .begin_sheet = json_begin_sheet,
    .step = { [ATT_STEP_HEADING] = json_heading,
              [ATT_STEP_PROSE] = json_prose,
              [ATT_STEP_VALUE] = json_value,
              [ATT_STEP_CHECK] = json_check,
              [ATT_STEP_ERROR] = json_error,
              [ATT_STEP_PLOT] = json_plot,
              [ATT_STEP_ASK] = json_ask,
              [ATT_STEP_GRADIENT] = json_gradient,
              [ATT_STEP_DIAGRAM] = json_diagram },
    .end_sheet = json_end_sheet,
    .end = json_end,
};
