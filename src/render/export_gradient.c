/* Gradients in exported programs. PyTorch computes them (autograd): grad = gradient(L, W=W, a=a),
 * then grad.W and grad.a.weights. NumPy has no automatic differentiation: a gradient that the sheet
 * uses is a constant of the program, with the numbers that the sheet computed, so that claims about
 * it are still checked against what the program computes. */
#include "render/export.h"

#include <string.h>

/* A gradient as a constant: "a.grad.weights" and its identifier. */
typedef struct att_export_constant {
    const struct att_export_constant *next;
    const char *path;
    const char *identifier;
} att_export_constant;

/* ---- Expressions */

static bool is_grad_field(const att_expr *node)
{
    return node->kind == ATT_EXPR_FIELD && strcmp(node->text, "grad") == 0;
}

/* What the gradient consists of: as the value itself. */
static att_export_type structure_of(const att_exporter *exporter, const att_expr *node)
{
    if (is_grad_field(node))
        return att_export_type_of(exporter, node->child[0]);
    att_export_type of = structure_of(exporter, node->child[0]);
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
           structure_of(exporter, node->child[0]).kind == ATT_EXPORT_LIST;
}

att_export_type att_export_gradient_type(const att_exporter *exporter, const att_expr *node)
{
    if (exporter->language == ATT_EXPORT_PYTORCH)
        return structure_of(exporter, node);
    return (att_export_type){ ATT_EXPORT_MATRIX, NULL };
}

/* The name at the bottom of X.grad, a.weights.grad or m.grad.head[2].scores; NULL: another
 * expression. */
static const char *base_of(const att_expr *node)
{
    while (node->kind == ATT_EXPR_FIELD || node->kind == ATT_EXPR_INDEX)
        node = node->child[0];
    return node->kind == ATT_EXPR_NAME ? node->text : NULL;
}

/* "a.grad.weights"; NULL when memory is out. */
static const char *path_of(att_arena *arena, const att_expr *node)
{
    if (node->kind == ATT_EXPR_NAME)
        return node->text;
    const char *of = path_of(arena, node->child[0]);
    if (!of)
        return NULL;
    return node->kind == ATT_EXPR_INDEX
               ? att_arena_printf(arena, "%s[%lld]", of, (long long)node->child[1]->number)
               : att_arena_printf(arena, "%s.%s", of, node->text);
}

static const att_export_constant *find_constant(const att_exporter *exporter, const char *path)
{
    const att_export_constant *row = exporter->gradients;
    while (row && strcmp(row->path, path) != 0)
        row = row->next;
    return row;
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
    if (!is_readable(exporter, node))
        return;
    if (exporter->language == ATT_EXPORT_PYTORCH) {
        put_path(exporter, node);
        return;
    }
    const char *path = path_of(&exporter->arena, node);
    const att_export_constant *row = path ? find_constant(exporter, path) : NULL;
    if (row)
        att_put(&exporter->out, row->identifier);
    else if (!path)
        att_export_no_memory(exporter);
    else
        att_export_refuse(exporter, "the gradient '%.80s' cannot be exported here", path);
}

/* ---- Constants */

static void add_constant(att_exporter *exporter, const att_expr *node)
{
    att_arena *arena = &exporter->arena;
    const char *path = path_of(arena, node);
    att_export_constant *row = att_arena_alloc(arena, 1, sizeof *row);
    char *name = path ? att_arena_strndup(arena, path, strlen(path)) : NULL;
    if (!row || !name) {
        att_export_no_memory(exporter);
        return;
    }
    if (find_constant(exporter, path) || !node->matrix || !is_readable(exporter, node))
        return;
    size_t length = 0;
    for (const char *at = path; *at; at++)
        if (*at != ']')
            name[length++] = (char)(*at == '.' || *at == '[' ? '_' : *at);
    name[length] = '\0';
    *row =
        (att_export_constant){ exporter->gradients, path, att_export_identifier(exporter, name) };
    exporter->gradients = row;
    att_putf(&exporter->out, "%s = ", row->identifier);
    att_export_numbers(exporter, node->matrix);
    att_put(&exporter->out, "  # ");
    att_export_on_line(exporter, path);
    att_put(&exporter->out, ": the numbers of the worksheet\n");
}

void att_export_gradient_constants(att_exporter *exporter, const att_expr *node)
{
    if (!node || exporter->language == ATT_EXPORT_PYTORCH)
        return;
    if (att_export_is_gradient(exporter, node)) {
        add_constant(exporter, node);
        return;
    }
    for (size_t i = 0; i < node->children; i++)
        att_export_gradient_constants(exporter, node->child[i]);
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
    exporter->gradients = NULL;
    exporter->gradient_step = step;
    if (!exporter->gradient)
        exporter->gradient = att_export_identifier(exporter, "grad");
    if (exporter->language == ATT_EXPORT_PYTORCH)
        put_autograd(exporter, step);
    else
        att_export_left_out(exporter, "left out, NumPy has no automatic differentiation: ", step);
}

/* expect(grad.W, array([[…]]), …): what PyTorch computes is what the sheet computed. */
void att_export_gradient_check(att_exporter *exporter, const att_trace_step *check)
{
    const att_trace_step *step = exporter->gradient_step;
    if (exporter->language != ATT_EXPORT_PYTORCH || !step) {
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
