/* Scenarios: the student's numbers in place of computed ones, and slips at single operations. */
#include "sheet/scenario.h"

#include "base/math.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- Slips */

static bool same_site(const att_slip_site *a, att_slip slip, const att_expr *node, int side)
{
    return a->slip == slip && a->line == node->line && a->column == node->column && a->side == side;
}

bool att_slip_is_made(att_scenario *scenario, att_slip slip, const att_expr *node, int side)
{
    if (!scenario)
        return false;
    for (size_t i = 0; i < scenario->slip_count; i++)
        if (same_site(&scenario->slips[i], slip, node, side))
            return true;
    for (size_t i = 0; i < scenario->site_count; i++)
        if (same_site(&scenario->sites[i], slip, node, side))
            return false;
    if (scenario->site_count < scenario->site_capacity)
        scenario->sites[scenario->site_count++] =
            (att_slip_site){ slip, node->line, node->column, side };
    return false;
}

/* ---- Numbers */

/* Halves round away from zero, as in round(); a few units in the last place count as a half. */
static double shorten(const att_scenario *scenario, double x)
{
    double unit = att_pow(10, scenario->decimals);
    double scaled = fabs(x) * unit;
    if (!(scaled < 1 / DBL_EPSILON))
        return x;
    double half = scenario->cuts ? 0 : 0.5;
    return copysign(floor(scaled + half + scaled * 2 * DBL_EPSILON) / unit, x);
}

static att_matrix *copy(att_arena *arena, const att_matrix *from)
{
    att_matrix *to = att_matrix_like(arena, from);
    if (to && from->rows * from->cols > 0)
        memcpy(to->data, from->data, (size_t)(from->rows * from->cols) * sizeof *to->data);
    return to;
}

static bool concerns(const att_scenario *scenario, const att_substitute *row, const char *part,
                     int64_t head)
{
    bool same_part = row->part && part ? strcmp(row->part, part) == 0 : row->part == part;
    return same_part && row->head == head && row->line == scenario->line &&
           strcmp(row->name, scenario->name) == 0;
}

/* The matrix with what the scenario says of it. */
static const att_matrix *change(const att_scenario *scenario, att_arena *arena, const char *part,
                                int64_t head, bool named, const att_matrix *value)
{
    att_matrix *to = NULL;
    if (scenario->rounds || scenario->cuts) {
        to = copy(arena, value);
        for (int64_t i = 0; to && i < value->rows * value->cols; i++)
            to->data[i] = shorten(scenario, value->data[i]);
        if (!to)
            return NULL;
    }
    for (size_t s = 0; named && s < scenario->substitute_count; s++) {
        const att_substitute *row = &scenario->substitutes[s];
        if (!concerns(scenario, row, part, head))
            continue;
        if (!to && !(to = copy(arena, value)))
            return NULL;
        for (size_t i = 0; i < row->count; i++)
            if (row->places[i] < value->rows * value->cols)
                to->data[row->places[i]] = row->values[i];
    }
    return to ? to : value;
}

bool att_scenario_concerns(const att_call *call)
{
    return call->scenario != NULL;
}

const att_matrix *att_scenario_part(const att_call *call, const char *part, int64_t head,
                                    const att_matrix *value)
{
    const att_scenario *scenario = call->scenario;
    if (!scenario || !value)
        return value;
    return change(scenario, call->arena, part, head, call->node == scenario->formula, value);
}

/* ---- Assignments */

/* A record's result is the value of its last part, which has to change with it. */
static att_status set_result(const att_scope *scope, const att_matrix *result, att_value *value)
{
    const att_matrix *before = value->matrix;
    value->matrix = result;
    if (value->kind != ATT_VALUE_RECORD || value->part_count == 0)
        return ATT_OK;
    att_trace_part *parts = att_arena_alloc(scope->arena, value->part_count, sizeof *parts);
    if (!parts)
        return att_fail_memory(scope->err);
    memcpy(parts, value->parts, value->part_count * sizeof *parts);
    for (size_t i = 0; i < value->part_count; i++)
        if (parts[i].value == before)
            parts[i].value = result;
    value->parts = parts;
    return ATT_OK;
}

/* A number that is written in the sheet is given, not computed: nobody rounds it. */
static bool is_computed(const att_expr *node)
{
    if (node->kind == ATT_EXPR_NUMBER || node->kind == ATT_EXPR_LOAD)
        return false;
    if (node->kind != ATT_EXPR_MATRIX && node->kind != ATT_EXPR_ROW &&
        node->kind != ATT_EXPR_NEGATE)
        return true;
    for (size_t i = 0; i < node->children; i++)
        if (is_computed(node->child[i]))
            return true;
    return false;
}

att_status att_eval_assigned(const att_scope *scope, const char *name, int line,
                             const att_expr *formula, att_value *out)
{
    att_scenario *scenario = scope->scenario;
    if (scenario) {
        scenario->formula = formula;
        scenario->name = name;
        scenario->line = line;
    }
    ATT_TRY(att_eval(scope, formula, out));
    if (!scenario || !out->matrix || !is_computed(formula))
        return ATT_OK;
    const att_matrix *result = change(scenario, scope->arena, NULL, 0, true, out->matrix);
    if (result && out->kind == ATT_VALUE_RECORD && out->part_count > 0) {
        const att_trace_part *last = &out->parts[out->part_count - 1];
        result = change(scenario, scope->arena, last->name, last->head, true, result);
    }
    if (!result)
        return att_fail_memory(scope->err);
    return result == out->matrix ? ATT_OK : set_result(scope, result, out);
}
