/* Results rounded as by hand in exported programs: q_hand = hand(x_hand @ W), beside the exact
 * ones, if a claim of the sheet is about them. */
#include "render/export.h"

#include "sheet/rounding.h"

#include <string.h>

bool att_export_has_hand(const att_exporter *exporter, const att_expr *node)
{
    const att_export_name *value =
        node->kind == ATT_EXPR_NAME ? att_export_find(exporter, node->text) : NULL;
    if (value && value->by_hand && !value->by_hand[0])
        return false;
    if (node->kind == ATT_EXPR_CALL && att_export_function_find(exporter, node->text))
        return false; /* its body would have to be written twice */
    if (att_export_is_gradient(exporter, node))
        return false;
    for (size_t i = 0; i < node->children; i++)
        if (node->child[i] && !att_export_has_hand(exporter, node->child[i]))
            return false;
    return true;
}

bool att_export_is_hand_step(const att_exporter *exporter, const att_expr *node)
{
    return exporter->hand && att_rounding_is_step(node) &&
           att_export_type_of(exporter, node).kind == ATT_EXPORT_MATRIX;
}

void att_export_set_rounding(att_exporter *exporter, const att_rounding *rounding)
{
    const att_rounding *now = exporter->rounding;
    if (now && now->decimals == rounding->decimals && now->cut == rounding->cut)
        return;
    if (!exporter->rounding_name)
        exporter->rounding_name = att_export_identifier(exporter, "hand");
    exporter->rounding = rounding;
    att_putf(&exporter->out, "%s = ", exporter->rounding_name);
    att_export_use(exporter, "by_hand");
    att_putf(&exporter->out, "(%d%s)\n", rounding->decimals, rounding->cut ? ", cut=True" : "");
}

const char *att_export_hand_value(att_exporter *exporter, const att_trace_step *step)
{
    bool given = !step->formula || att_export_is_literal(exporter, step->formula) ||
                 step->formula->kind == ATT_EXPR_LOAD;
    if (!exporter->has_hand || !step->rounding || given)
        return NULL;
    if (step->loop || !att_export_has_hand(exporter, step->formula))
        return "";
    const char *name = att_arena_printf(&exporter->arena, "%s_hand", step->name);
    const att_export_name *before = att_export_find(exporter, step->name);
    bool named = before && before->by_hand && before->by_hand[0];
    const char *identifier = named  ? before->by_hand
                             : name ? att_export_identifier(exporter, name)
                                    : "";
    if (!name)
        att_export_no_memory(exporter);
    att_export_set_rounding(exporter, step->rounding);
    att_putf(&exporter->out, "%s = ", identifier);
    exporter->hand = true;
    att_export_value(exporter, step->formula);
    exporter->hand = false;
    att_put(&exporter->out, "\n");
    return identifier;
}
