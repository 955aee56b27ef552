/* X.grad and a.grad.weights: the gradients of the last `gradient` statement as values. They are
 * constants: a later `gradient` does not go through them. */
#include "sheet/gradient.h"

#include "sheet/matrix.h"

#include <string.h>

static att_status fail_missing(const att_scope *scope, const att_expr *node)
{
    char quote[ATT_QUOTE_SIZE];
    const att_gradient *gradient = scope->record ? scope->record->gradient : NULL;
    att_sheet_source_quote(scope->source, node->child[0], quote);
    if (!gradient)
        return att_scope_fail(
            scope, node, "%s has no gradient: expected a line 'gradient …' before this one", quote);
    bool named = node->child[0]->kind == ATT_EXPR_NAME || node->child[0]->kind == ATT_EXPR_FIELD;
    if (!named)
        return att_scope_fail(scope, node,
                              "%s has no gradient of its own: a gradient belongs to a name or a "
                              "part (the gradient of X[1] is X.grad[1])",
                              quote);
    return att_scope_fail(scope, node,
                          "%s has no gradient: 'gradient %s' on line %d does not depend on it, or "
                          "only through a mask, an index or a constant function",
                          quote, gradient->of, gradient->line);
}

/* The gradient of a value with these numbers, or NULL. */
static const att_matrix *find(const att_scope *scope, const att_matrix *matrix)
{
    const att_gradient *gradient = scope->record ? scope->record->gradient : NULL;
    const att_recorded_value *value =
        gradient && matrix ? att_record_find(scope->record, matrix) : NULL;
    size_t index = value ? (size_t)(value - scope->record->values) : 0;
    return value && index < gradient->value_count ? gradient->grads[index] : NULL;
}

/* The gradient of a part: by its computation alone if it shares the numbers of an input. */
static const att_matrix *find_part(const att_scope *scope, const att_trace_part *part,
                                   size_t producer)
{
    for (const att_kept_gradient *kept = scope->record->gradient->kept; kept; kept = kept->next)
        if (kept->computation == producer && kept->data == part->value->data &&
            strcmp(kept->name, part->name) == 0)
            return kept->gradient;
    const att_recorded_value *value = att_record_find(scope->record, part->value);
    return value && value->producer == producer ? find(scope, part->value) : NULL;
}

/* A record of the gradients of the parts that have one. */
static att_status select_record(const att_scope *scope, const att_expr *node, const att_value *of,
                                att_value *out)
{
    const att_recorded_value *value = scope->record && scope->record->gradient
                                          ? att_record_find(scope->record, of->matrix)
                                          : NULL;
    if (!value)
        return fail_missing(scope, node);
    att_trace_part *parts = att_arena_alloc(scope->arena, of->part_count, sizeof *parts);
    if (!parts)
        return att_fail_memory(scope->err);
    size_t count = 0;
    for (size_t i = 0; i < of->part_count; i++) {
        const att_matrix *grad = find_part(scope, &of->parts[i], value->producer);
        if (grad)
            parts[count++] = (att_trace_part){ .name = of->parts[i].name,
                                               .head = of->parts[i].head,
                                               .value = grad };
    }
    if (count == 0)
        return fail_missing(scope, node);
    const att_matrix *whole = find(scope, of->matrix);
    if (!whole) /* only parts of it were used */
        whole = att_matrix_like(scope->arena, of->matrix);
    *out = (att_value){
        .kind = ATT_VALUE_RECORD, .matrix = whole, .parts = parts, .part_count = count
    };
    return whole ? ATT_OK : att_fail_memory(scope->err);
}

/* Items that the result does not depend on have a gradient of zeros beside others that have one. */
static att_status select_list(const att_scope *scope, const att_expr *node, const att_value *of,
                              att_value *out)
{
    att_value *items = att_arena_alloc(scope->arena, of->item_count, sizeof *items);
    if (!items)
        return att_fail_memory(scope->err);
    for (size_t i = 0; i < of->item_count; i++)
        if (of->items[i].kind == ATT_VALUE_RECORD)
            ATT_TRY(select_record(scope, node, &of->items[i], &items[i]));
        else
            items[i] =
                (att_value){ .kind = ATT_VALUE_MATRIX, .matrix = find(scope, of->items[i].matrix) };
    bool any = false;
    for (size_t i = 0; i < of->item_count; i++)
        any = any || items[i].matrix;
    if (!any)
        return fail_missing(scope, node);
    for (size_t i = 0; i < of->item_count; i++)
        if (!items[i].matrix &&
            !(items[i].matrix = att_matrix_like(scope->arena, of->items[i].matrix)))
            return att_fail_memory(scope->err);
    *out = (att_value){ .kind = ATT_VALUE_LIST, .items = items, .item_count = of->item_count };
    return ATT_OK;
}

att_status att_gradient_field(const att_scope *scope, const att_expr *node, const att_value *of,
                              att_value *out)
{
    if (of->kind == ATT_VALUE_RECORD)
        return select_record(scope, node, of, out);
    if (of->kind == ATT_VALUE_LIST)
        return select_list(scope, node, of, out);
    *out = (att_value){ .kind = ATT_VALUE_MATRIX, .matrix = find(scope, of->matrix) };
    return out->matrix ? ATT_OK : fail_missing(scope, node);
}
