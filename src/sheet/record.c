/* The record of a sheet's computations: a list, and a hash table of values by the address of their
 * numbers. */
#include "sheet/record.h"

#include "base/hash.h"
#include "sheet/eval.h"
#include "sheet/gradient.h"

#include <inttypes.h>

/* ---- Values */

/* The slot that holds the value with these numbers, or the free one where it belongs. */
static size_t *find_slot(const att_record *record, const double *data)
{
    size_t at = (size_t)att_hash(&data, sizeof data) & (record->slot_count - 1);
    while (record->slots[at] != 0 && record->values[record->slots[at] - 1].matrix->data != data)
        at = (at + 1) & (record->slot_count - 1);
    return &record->slots[at];
}

static bool grow_slots(att_record *record, att_arena *arena)
{
    size_t count = record->slot_count ? record->slot_count * 2 : 64;
    size_t *slots = att_arena_alloc(arena, count, sizeof *slots);
    if (!slots)
        return false;
    record->slots = slots;
    record->slot_count = count;
    for (size_t i = 0; i < record->value_count; i++)
        *find_slot(record, record->values[i].matrix->data) = i + 1;
    return true;
}

/* A matrix without elements has no numbers, hence no identity and no gradient. */
static bool is_empty(const att_matrix *matrix)
{
    return !matrix || matrix->rows == 0 || matrix->cols == 0;
}

att_recorded_value *att_record_find(const att_record *record, const att_matrix *matrix)
{
    if (is_empty(matrix) || record->slot_count == 0)
        return NULL;
    size_t slot = *find_slot(record, matrix->data);
    return slot ? &record->values[slot - 1] : NULL;
}

/* The recorded value, which is added if it is new. *out is NULL for an empty matrix. */
static bool add_value(att_record *record, att_arena *arena, const att_matrix *matrix,
                      size_t producer, att_recorded_value **out)
{
    *out = NULL;
    if (is_empty(matrix))
        return true;
    if (2 * (record->value_count + 1) > record->slot_count && !grow_slots(record, arena))
        return false;
    size_t *slot = find_slot(record, matrix->data);
    if (*slot == 0) {
        void *values = record->values;
        if (!att_arena_array_grow(arena, &values, &record->value_capacity, record->value_count,
                                  sizeof *record->values))
            return false;
        record->values = values;
        record->values[record->value_count] =
            (att_recorded_value){ .matrix = matrix, .producer = producer };
        *slot = ++record->value_count;
    }
    *out = &record->values[*slot - 1];
    return true;
}

/* ---- Computations */

static bool add_inputs(att_record *record, att_arena *arena, const att_computation *computation)
{
    for (size_t i = 0; i < computation->input_count; i++) {
        att_recorded_value *value;
        if (!add_value(record, arena, computation->inputs[i], ATT_NOT_COMPUTED, &value))
            return false;
    }
    return true;
}

static bool add_outputs(att_record *record, att_arena *arena, const att_value *output)
{
    att_recorded_value *ignored;
    for (size_t i = 0; i < output->part_count; i++)
        if (!add_value(record, arena, output->parts[i].value, record->computation_count, &ignored))
            return false;
    return add_value(record, arena, output->matrix, record->computation_count, &ignored);
}

static bool add(att_record *record, att_arena *arena, const att_computation *computation)
{
    void *items = record->computations;
    if (!att_arena_array_grow(arena, &items, &record->computation_capacity,
                              record->computation_count, sizeof *computation))
        return false;
    record->computations = items;
    att_computation *copy = &record->computations[record->computation_count];
    *copy = *computation;
    copy->inputs = att_arena_alloc(arena, computation->input_count, sizeof *copy->inputs);
    if (!copy->inputs || !add_inputs(record, arena, computation))
        return false;
    for (size_t i = 0; i < computation->input_count; i++)
        copy->inputs[i] = computation->inputs[i];
    if (!add_outputs(record, arena, &copy->output))
        return false;
    record->computation_count++;
    return true;
}

att_status att_record_add(const att_scope *scope, const att_computation *computation)
{
    if (!scope->record || scope->rounding || computation->output.kind == ATT_VALUE_LIST)
        return ATT_OK;
    return add(scope->record, scope->arena, computation) ? ATT_OK : att_fail_memory(scope->err);
}

att_status att_record_operation(const att_scope *scope, const att_gradient_spec *spec,
                                const att_expr *node, const att_matrix *const *inputs, size_t count,
                                const att_matrix *output)
{
    const att_computation computation = { .spec = spec,
                                          .node = node,
                                          .inputs = (const att_matrix **)inputs,
                                          .input_count = count,
                                          .output = { .kind = ATT_VALUE_MATRIX,
                                                      .matrix = output } };
    return att_record_add(scope, &computation);
}

att_status att_record_select(const att_scope *scope, const att_expr *node, const att_matrix *from,
                             const int64_t *rows, const int64_t *cols, const att_matrix *result)
{
    const att_computation computation = { .spec = &att_gradient_select,
                                          .node = node,
                                          .inputs = &from,
                                          .input_count = 1,
                                          .rows = rows,
                                          .cols = cols,
                                          .output = { .kind = ATT_VALUE_MATRIX,
                                                      .matrix = result } };
    return att_record_add(scope, &computation);
}

att_status att_record_stack(const att_scope *scope, const att_expr *node,
                            const att_matrix *const *parts, size_t count, const att_matrix *result)
{
    att_matrix_piece *pieces = att_arena_alloc(scope->arena, count, sizeof *pieces);
    if (!pieces)
        return att_fail_memory(scope->err);
    int64_t row = 0;
    for (size_t i = 0; i < count; row += parts[i++]->rows)
        pieces[i] = (att_matrix_piece){ .matrix = parts[i], .row = row };
    const att_computation computation = { .spec = &att_gradient_concat,
                                          .node = node,
                                          .inputs = (const att_matrix **)parts,
                                          .input_count = count,
                                          .pieces = pieces,
                                          .output = { .kind = ATT_VALUE_MATRIX,
                                                      .matrix = result } };
    return att_record_add(scope, &computation);
}

/* ---- Calls */

/* Counts the matrices of a value and, where `to` has room for them, writes them. */
static size_t list_matrices(const att_value *value, const att_matrix **to)
{
    if (value->kind == ATT_VALUE_WORD)
        return 0;
    if (value->kind != ATT_VALUE_LIST) {
        if (to)
            *to = value->matrix;
        return 1;
    }
    for (size_t i = 0; to && i < value->item_count; i++)
        to[i] = value->items[i].matrix;
    return value->item_count;
}

static size_t list_call(const att_call *call, size_t options, const att_matrix **to)
{
    size_t count = 0;
    for (size_t i = 0; i < call->arg_count; i++)
        count += list_matrices(&call->args[i], to ? to + count : NULL);
    for (size_t i = 0; i < options; i++)
        count += list_matrices(&call->options[i], to ? to + count : NULL);
    return count;
}

att_status att_record_call(const att_scope *scope, const att_call *call, const att_value *output)
{
    if (!scope->record || scope->rounding)
        return ATT_OK;
    size_t options = 0;
    while (call->function->options && call->function->options[options].name)
        options++;
    size_t count = list_call(call, options, NULL);
    att_call *copy = att_arena_alloc(scope->arena, 1, sizeof *copy);
    const att_matrix **inputs = att_arena_alloc(scope->arena, count, sizeof *inputs);
    if (!copy || !inputs)
        return att_fail_memory(scope->err);
    *copy = *call;
    list_call(call, options, inputs);
    const att_computation computation = { .spec = att_gradient_spec_of(call->function),
                                          .node = call->node,
                                          .call = copy,
                                          .inputs = inputs,
                                          .input_count = count,
                                          .output = *output };
    return att_record_add(scope, &computation);
}

/* ---- Names */

enum naming { NAME_PART, NAME_ITEM, NAME_ASSIGNED };

/* The first name stays, but a name of its own replaces that of a part. An item of a list has one if
 * nothing else names it. */
static bool name_one(const att_scope *scope, const att_matrix *matrix, const char *name, int line,
                     enum naming naming)
{
    att_recorded_value *value;
    if (!name || !add_value(scope->record, scope->arena, matrix, ATT_NOT_COMPUTED, &value))
        return false;
    bool assigned = naming != NAME_PART;
    if (value && (!value->name || (naming == NAME_ASSIGNED && !value->assigned))) {
        value->name = name;
        value->assigned = assigned;
        value->line = line;
        value->matrix = matrix;
    }
    return true;
}

static bool name_parts(const att_scope *scope, const char *name, const att_value *value, int line)
{
    for (size_t i = 0; i < value->part_count; i++) {
        const att_trace_part *part = &value->parts[i];
        const char *full = part->head > 0
                               ? att_arena_printf(scope->arena, "%s.head[%" PRId64 "].%s", name,
                                                  part->head, part->name)
                               : att_arena_printf(scope->arena, "%s.%s", name, part->name);
        if (!name_one(scope, part->value, full, line, NAME_PART))
            return false;
    }
    for (size_t i = 0; i < value->item_count; i++)
        if (!name_one(scope, value->items[i].matrix,
                      att_arena_printf(scope->arena, "%s[%zu]", name, i + 1), line, NAME_ITEM))
            return false;
    return true;
}

att_status att_record_name(const att_scope *scope, const char *name, const att_value *value,
                           int line)
{
    if (!scope->record)
        return ATT_OK;
    bool ok =
        value->kind == ATT_VALUE_LIST || name_one(scope, value->matrix, name, line, NAME_ASSIGNED);
    return ok && name_parts(scope, name, value, line) ? ATT_OK : att_fail_memory(scope->err);
}

void att_record_name_step(const att_scope *scope, const char *name, const att_matrix *value,
                          int64_t step, int line)
{
    att_recorded_value *found = scope->record ? att_record_find(scope->record, value) : NULL;
    if (!found || found->name || found->loop)
        return;
    found->loop = name;
    found->step = step;
    found->line = line;
}

void att_record_relabel(att_record *record, const att_matrix *matrix)
{
    att_recorded_value *value = record ? att_record_find(record, matrix) : NULL;
    if (value)
        value->matrix = matrix;
}
