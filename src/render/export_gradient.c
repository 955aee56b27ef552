/* Gradients in exported programs: grad = gradient(L, W=W, a=a), then grad.W and grad.a.weights.
 * PyTorch computes them by autograd, a NumPy program by a small one of its own (export_numpy.py).
 */
#include "render/export.h"

#include <string.h>

/* ---- Expressions */

static bool is_grad_field(const att_expr *node)
{
    return node->kind == ATT_EXPR_FIELD && strcmp(node->text, "grad") == 0;
}

att_export_type att_export_gradient_type(const att_exporter *exporter, const att_expr *node)
{
    if (is_grad_field(node))
        return att_export_type_of(exporter, node->child[0]);
    att_export_type of = att_export_gradient_type(exporter, node->child[0]);
    if (node->kind == ATT_EXPR_FIELD && strcmp(node->text, "head") == 0)
        return (att_export_type){ ATT_EXPORT_LIST, "output" };
    if (node->kind == ATT_EXPR_INDEX && of.result)
        return (att_export_type){ ATT_EXPORT_RECORD, of.result };
    return (att_export_type){ ATT_EXPORT_MATRIX, NULL };
}

bool att_export_is_gradient(const att_exporter *exporter, const att_expr *node)
{
    if (is_grad_field(node))
        return true;
    if (node->kind == ATT_EXPR_FIELD)
        return att_export_is_gradient(exporter, node->child[0]);
    return node->kind == ATT_EXPR_INDEX && node->children == 2 &&
           node->child[1]->kind == ATT_EXPR_NUMBER &&
           att_export_is_gradient(exporter, node->child[0]) &&
           att_export_gradient_type(exporter, node->child[0]).kind == ATT_EXPORT_LIST;
}

/* The name at the bottom of X.grad, a.weights.grad or m.grad.head[2].scores; NULL: another
 * expression. */
static const char *base_of(const att_expr *node)
{
    while (node->kind == ATT_EXPR_FIELD || node->kind == ATT_EXPR_INDEX)
        node = node->child[0];
    return node->kind == ATT_EXPR_NAME ? node->text : NULL;
}

static bool is_readable(att_exporter *exporter, const att_expr *node)
{
    const char *name = base_of(node);
    const att_export_name *value = name ? att_export_find(exporter, name) : NULL;
    bool local = false;
    for (size_t i = 0; value && i < exporter->local_count; i++)
        local = local || value == &exporter->locals[i];
    if (value && !local && !exporter->in_function && exporter->gradient)
        return true;
    att_export_refuse(exporter,
                      "this gradient cannot be exported: expected that of a name, outside "
                      "of functions and not of the variable of a loop");
    return false;
}

/* grad.a.head[1].scores of a.grad.head[2].scores. */
static void put_path(att_exporter *exporter, const att_expr *node)
{
    if (node->kind == ATT_EXPR_NAME) {
        att_putf(&exporter->out, "%s.%s", exporter->gradient,
                 att_export_reserve(exporter, node->text));
        return;
    }
    put_path(exporter, node->child[0]);
    if (node->kind == ATT_EXPR_INDEX)
        att_putf(&exporter->out, "[%lld]", (long long)node->child[1]->number - 1);
    else if (!is_grad_field(node))
        att_putf(&exporter->out, ".%s", node->text);
}

void att_export_gradient_value(att_exporter *exporter, const att_expr *node)
{
    if (is_readable(exporter, node))
        put_path(exporter, node);
}

/* ---- Statements */

/* The length of the name in the path of a part, "a" of "a.grad.weights"; 0: the part has none. */
static size_t name_length(const att_trace_part *part)
{
    const char *end = part->path ? strstr(part->path, ".grad") : NULL;
    size_t length = end ? (size_t)(end - part->path) : 0;
    return length > 0 && !memchr(part->path, '.', length) ? length : 0;
}

static bool has_name(const att_trace_part *part, const char *name)
{
    size_t length = name_length(part);
    return length > 0 && strlen(name) == length && memcmp(part->path, name, length) == 0;
}

void att_export_collect_gradients(att_exporter *exporter)
{
    const att_value none = { 0 };
    for (size_t i = 0; i < exporter->sheet->step_count; i++) {
        const att_trace_step *step = &exporter->sheet->steps[i];
        for (size_t j = 0; step->kind == ATT_STEP_GRADIENT && j < step->part_count; j++) {
            size_t length = name_length(&step->parts[j]);
            if (length == 0)
                continue;
            const char *name = att_arena_strndup(&exporter->arena, step->parts[j].path, length);
            if (!name ||
                !att_symbol_table_set(&exporter->differentiated, &exporter->arena, name, &none, 0))
                att_export_no_memory(exporter);
        }
    }
}

bool att_export_is_differentiated(const att_exporter *exporter, const char *name)
{
    return att_symbol_table_get(&exporter->differentiated, name) != NULL;
}

/* The value that part `index` is the gradient of, where no part before has its name. */
static const att_export_name *value_of_part(const att_exporter *exporter,
                                            const att_trace_step *step, size_t index)
{
    for (size_t i = 0; i < exporter->value_count; i++) {
        const att_export_name *value = &exporter->values[i];
        if (value->reserved || !has_name(&step->parts[index], value->name))
            continue;
        for (size_t j = 0; j < index; j++)
            if (has_name(&step->parts[j], value->name))
                return NULL;
        return value;
    }
    return NULL;
}

static void put_autograd(att_exporter *exporter, const att_trace_step *step)
{
    size_t width = 0;
    att_putf(&exporter->out, "%s = ", exporter->gradient);
    att_export_use(exporter, "gradient");
    att_put(&exporter->out, "(");
    att_export_matrix(exporter, step->formula);
    if (step->with) {
        att_put(&exporter->out, ", ");
        att_export_scalar(exporter, step->with);
    }
    for (size_t i = 0; i < step->part_count; i++) {
        const att_export_name *value = value_of_part(exporter, step, i);
        if (!value)
            continue;
        width += 2 * strlen(value->identifier) + 3;
        att_put(&exporter->out, width > 80 ? ",\n    " : ", ");
        width = width > 80 ? 2 * strlen(value->identifier) : width;
        att_putf(&exporter->out, "%s=%s", value->identifier, value->identifier);
    }
    att_put(&exporter->out, ")");
    att_export_end(exporter, step->comment);
}

void att_export_gradient(att_exporter *exporter, const att_trace_step *step)
{
    exporter->gradient_step = step;
    if (!exporter->gradient)
        exporter->gradient = att_export_identifier(exporter, "grad");
    put_autograd(exporter, step);
}

/* expect(grad.W, array([[…]]), …): what the program computes is what the sheet computed. */
void att_export_gradient_check(att_exporter *exporter, const att_trace_step *check)
{
    const att_trace_step *step = exporter->gradient_step;
    if (!step) {
        att_export_left_out(exporter, "left out: ", check);
        return;
    }
    att_put(&exporter->out, "# ");
    att_export_on_line(exporter, check->source);
    att_put(&exporter->out, ": the numbers of the worksheet\n");
    for (size_t i = 0; i < step->part_count; i++) {
        const att_trace_part *part = &step->parts[i];
        const att_export_name *value = value_of_part(exporter, step, i);
        bool whole = part->path && strlen(part->path) == name_length(part) + strlen(".grad");
        if (!value || !whole || value->type.kind != ATT_EXPORT_MATRIX)
            continue;
        att_export_use(exporter, "expect");
        att_putf(&exporter->out, "(%s.%s, ", exporter->gradient, value->identifier);
        att_export_numbers(exporter, part->value);
        att_put(&exporter->out, ", ");
        att_export_use(exporter, "within_relative");
        att_put(&exporter->out, "(");
        att_put_json_number(&exporter->out, check->check->tolerance);
        att_putf(&exporter->out, "), line=%d)\n", check->line);
    }
    exporter->claims++;
}
