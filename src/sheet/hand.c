/* Computes statements a second time with each step rounded, and joins both columns in the trace. */
#include "sheet/hand.h"

#include "sheet/matrix.h"
#include "sheet/rounding.h"
#include "sheet/statements.h"
#include "sheet/derivation.h"

#include <string.h>

att_scope att_hand_scope(const att_interpreter *interpreter)
{
    att_scope scope = interpreter->scope;
    scope.symbols = &interpreter->by_hand;
    scope.rounding = interpreter->rounding;
    return scope;
}

static bool same_numbers(const att_matrix *a, const att_matrix *b)
{
    return a->rows == b->rows && a->cols == b->cols &&
           memcmp(a->data, b->data, (size_t)(a->rows * a->cols) * sizeof *a->data) == 0;
}

/* The rounded matrix where it differs from the exact one. */
static const att_matrix *different(const att_matrix *exact, const att_matrix *rounded)
{
    return exact && rounded && !same_numbers(exact, rounded) ? rounded : NULL;
}

att_status att_hand_calculations(const att_scope *scope, const att_calculation *from, size_t count,
                                 const att_calculation **out)
{
    att_calculation *items = att_arena_alloc(scope->arena, count, sizeof *items);
    if (!items)
        return att_fail_memory(scope->err);
    for (size_t i = 0; i < count; i++) {
        const att_matrix *sum = NULL;
        items[i] = from[i];
        att_status status = att_eval_closed(scope->arena, from[i].right, &sum, NULL);
        if (status == ATT_NO_MEMORY)
            return att_fail_memory(scope->err);
        items[i].rounded = status == ATT_OK && !same_numbers(sum, from[i].value);
    }
    *out = items;
    return ATT_OK;
}

static att_status join_parts(const att_scope *scope, const att_trace_step *hand,
                             att_trace_step *step)
{
    att_trace_part *parts = att_arena_alloc(scope->arena, step->part_count, sizeof *parts);
    if (!parts)
        return att_fail_memory(scope->err);
    for (size_t i = 0; i < step->part_count; i++) {
        parts[i] = step->parts[i];
        parts[i].rounded = different(parts[i].value, hand->parts[i].value);
        parts[i].calculation_count = hand->parts[i].calculation_count;
        ATT_TRY(att_hand_calculations(scope, hand->parts[i].calculations,
                                      hand->parts[i].calculation_count, &parts[i].calculations));
    }
    step->parts = parts;
    return ATT_OK;
}

att_status att_hand_add(att_interpreter *interpreter, const att_value *value, att_trace_step *step,
                        att_value *out)
{
    *out = *value;
    if (!interpreter->rounding)
        return ATT_OK;
    att_derivation derivation = { .used = { step->name ? step->name : "" }, .used_count = 1 };
    att_scope scope = att_hand_scope(interpreter);
    scope.derivation = &derivation;
    att_trace_step hand = { .kind = step->kind, .name = step->name, .formula = step->formula };
    ATT_TRY(att_eval(&scope, step->formula, out));
    ATT_TRY(att_step_set_value(&scope, out, &hand));
    step->rounding = interpreter->rounding;
    step->rounded = different(step->value, hand.value);
    if (hand.part_count != step->part_count)
        return ATT_OK; /* another branch was taken: only the result is shown twice */
    step->calculation_count = hand.calculation_count;
    ATT_TRY(att_hand_calculations(&scope, hand.calculations, hand.calculation_count,
                                  &step->calculations));
    return join_parts(&scope, &hand, step);
}

att_status att_hand_set(att_interpreter *interpreter, const char *name, const att_value *value)
{
    if (!interpreter->rounding && interpreter->by_hand.count == 0)
        return ATT_OK;
    return att_symbol_table_set(&interpreter->by_hand, &interpreter->sheet->arena, name, value, 0)
               ? ATT_OK
               : att_fail_memory(interpreter->scope.err);
}
