/* The boxes and arrows of a sheet: a box for each value, an arrow from each name that its formula
 * uses. */
#include "render/diagram_card.h"

#include "base/minmax.h"
#include "sheet/function.h"
#include "sheet/own.h"
#include "sheet/symbol_table.h"

#include <string.h>

enum { MAX_NODES = 300 };

struct builder {
    att_diagram *diagram;
    const att_sheet *sheet;
    att_symbol_table names; /* name → node, in `step` */
    bool failed;
};

static void add_edge(struct builder *b, size_t to, size_t port, const char *name, const char *part)
{
    att_diagram *d = b->diagram;
    const att_symbol *row = att_symbol_table_get(&b->names, name);
    if (!row)
        return; /* a word of an option, or a constant */
    for (size_t i = d->edge_count; i > 0 && d->edges[i - 1].to == to; i--) {
        const att_diagram_edge *other = &d->edges[i - 1];
        if (other->from == row->step && other->port == port &&
            (!part || other->part == part ||
             (other->part && part && strcmp(other->part, part) == 0)))
            return;
    }
    void *edges = d->edges;
    if (!att_arena_array_grow(d->arena, &edges, &d->edge_capacity, d->edge_count,
                              sizeof *d->edges)) {
        b->failed = true;
        return;
    }
    d->edges = edges;
    d->edges[d->edge_count++] =
        (att_diagram_edge){ .from = row->step, .to = to, .port = port, .part = part };
}

/* The name of a part of a value: a.weights, a.head[2].weights; NULL for another expression. */
static const char *part_of(const att_expr *node, const char **name)
{
    const att_expr *of = node;
    while (of->kind == ATT_EXPR_FIELD || of->kind == ATT_EXPR_INDEX)
        of = of->child[0];
    *name = of->kind == ATT_EXPR_NAME ? of->text : NULL;
    return node->text;
}

static const att_own_function *find_function(const att_sheet *sheet, const char *name)
{
    for (size_t i = 0; i < sheet->step_count; i++)
        if (sheet->steps[i].function && strcmp(sheet->steps[i].function->name, name) == 0)
            return sheet->steps[i].function;
    return NULL;
}

static void add_names(struct builder *b, size_t to, size_t port, const att_expr *node);

/* What the body of an own function uses besides its parameters. */
static void add_body(struct builder *b, size_t to, size_t port, const att_own_function *own,
                     const att_expr *node)
{
    bool parameter = false;
    for (size_t i = 0; node->kind == ATT_EXPR_NAME && i < own->count; i++)
        parameter = parameter || strcmp(own->parameters[i], node->text) == 0;
    if (node->kind == ATT_EXPR_NAME && !parameter)
        add_names(b, to, port, node);
    const att_own_function *callee =
        node->kind == ATT_EXPR_CALL ? find_function(b->sheet, node->text) : NULL;
    if (callee && callee != own)
        add_body(b, to, port, callee, callee->body);
    for (size_t i = 0; i < node->children; i++)
        if (node->child[i])
            add_body(b, to, port, own, node->child[i]);
}

static void add_names(struct builder *b, size_t to, size_t port, const att_expr *node)
{
    const char *name = NULL;
    const att_own_function *own =
        node->kind == ATT_EXPR_CALL ? find_function(b->sheet, node->text) : NULL;
    if (own)
        add_body(b, to, port, own, own->body);
    if (node->kind == ATT_EXPR_NAME)
        add_edge(b, to, port, node->text, NULL);
    if (node->kind == ATT_EXPR_FIELD) {
        const char *part = part_of(node, &name);
        if (name) {
            add_edge(b, to, port, name, part);
            return;
        }
    }
    for (size_t i = 0; i < node->children && node->kind != ATT_EXPR_LOAD; i++)
        if (node->child[i])
            add_names(b, to, port, node->child[i]);
}

/* The arrows into a call whose inside is drawn: each argument enters at its own boxes. */
static void add_call(struct builder *b, size_t to, const att_expr *call)
{
    const att_function *function = att_function_find(call->text);
    const att_trace_step *step = b->diagram->nodes[to].step;
    for (size_t i = 0; i < call->children; i++) {
        const att_expr *child = call->child[i];
        bool option = child->kind == ATT_EXPR_OPTION;
        size_t first, count;
        if (option && child->children == 0)
            continue;
        const att_expr *value = option ? child->child[0] : child;
        const att_option_spec *spec = option ? att_option_find(function, child->text) : NULL;
        if (spec && value->kind == ATT_EXPR_NAME && att_option_accepts_word(spec, value->text))
            continue;
        att_diagram_port_of(step, i, option ? child->text : NULL, &first, &count);
        for (size_t p = first; p < first + count; p++)
            add_names(b, to, p, value);
    }
}

/* The arrows into a loop: what it runs over, the value of the step before, and all others. */
static void add_loop(struct builder *b, size_t to, const att_trace_step *step, const att_expr *node)
{
    const char *name = node->kind == ATT_EXPR_NAME ? node->text : NULL;
    if (name && strcmp(name, step->loop->variable) == 0)
        add_names(b, to, ATT_PORT_INPUT, step->loop->over);
    else if (name && strcmp(name, step->name) == 0)
        add_edge(b, to, ATT_PORT_STATE, name, NULL);
    else if (name)
        add_edge(b, to, att_diagram_loop_source(step, name) ? ATT_PORT_INPUT : ATT_PORT_WEIGHTS,
                 name, NULL);
    const att_own_function *own =
        node->kind == ATT_EXPR_CALL ? find_function(b->sheet, node->text) : NULL;
    if (own)
        add_body(b, to, ATT_PORT_WEIGHTS, own, own->body);
    for (size_t i = 0; i < node->children && node->kind != ATT_EXPR_LOAD; i++)
        if (node->child[i])
            add_loop(b, to, step, node->child[i]);
}

static void add_step(struct builder *b, const att_trace_step *step)
{
    att_diagram *d = b->diagram;
    void *nodes = d->nodes;
    const att_value none = { 0 };
    if (!att_arena_array_grow(d->arena, &nodes, &d->node_capacity, d->node_count,
                              sizeof *d->nodes)) {
        b->failed = true;
        return;
    }
    d->nodes = nodes;
    size_t index = d->node_count++;
    d->nodes[index] = (att_diagram_node){ .step = step };
    att_diagram_block block = att_diagram_block_of(step);
    if (block == ATT_BLOCK_PLAIN && step->formula)
        add_names(b, index, 0, step->formula);
    if (step->loop && block == ATT_BLOCK_PLAIN)
        add_names(b, index, 0, step->loop->over);
    if (block == ATT_BLOCK_LOOP)
        add_loop(b, index, step, step->formula);
    for (size_t i = d->edge_count; i > 0 && d->edges[i - 1].to == index; i--)
        d->nodes[index].has_others =
            d->nodes[index].has_others || d->edges[i - 1].port == ATT_PORT_WEIGHTS;
    if (block == ATT_BLOCK_ATTENTION || block == ATT_BLOCK_RECURRENT)
        add_call(b, index, step->formula);
    if (!att_symbol_table_set(&b->names, d->arena, step->name, &none, index))
        b->failed = true;
}

/* Marks what leads to the wanted nodes. Arrows go from earlier to later nodes. */
static void mark_sources(att_diagram *d)
{
    for (size_t i = d->edge_count; i > 0; i--)
        if (d->nodes[d->edges[i - 1].to].wanted)
            d->nodes[d->edges[i - 1].from].wanted = true;
}

/* Without a name: every value that has an arrow. */
static void mark_connected(att_diagram *d)
{
    for (size_t i = 0; i < d->edge_count; i++)
        d->nodes[d->edges[i].to].wanted = d->nodes[d->edges[i].from].wanted = true;
    for (size_t i = 0; i < d->node_count && d->edge_count == 0; i++)
        d->nodes[i].wanted = true;
}

/* Removes what is not wanted. */
static void keep_wanted(att_diagram *d, size_t *place)
{
    size_t nodes = 0, edges = 0;
    for (size_t i = 0; i < d->node_count; i++) {
        place[i] = nodes;
        if (d->nodes[i].wanted)
            d->nodes[nodes++] = d->nodes[i];
    }
    for (size_t i = 0; i < d->edge_count; i++) {
        att_diagram_edge edge = d->edges[i];
        edge.from = place[edge.from];
        edge.to = place[edge.to];
        d->edges[edges] = edge;
        edges++;
    }
    d->node_count = nodes;
    d->edge_count = edges;
}

static void drop_unwanted_edges(att_diagram *d)
{
    size_t edges = 0;
    for (size_t i = 0; i < d->edge_count; i++)
        if (d->nodes[d->edges[i].to].wanted && d->nodes[d->edges[i].from].wanted)
            d->edges[edges++] = d->edges[i];
    d->edge_count = edges;
}

static att_status select_nodes(struct builder *b, const char *sheet, const char *only,
                               att_error *err)
{
    att_diagram *d = b->diagram;
    const att_symbol *row = only ? att_symbol_table_get(&b->names, only) : NULL;
    if (only && !row)
        return att_fail(err, ATT_BAD_INPUT, sheet, "no value '%.80s' to draw a diagram of", only);
    if (row) {
        d->nodes[row->step].wanted = true;
        mark_sources(d);
    } else {
        mark_connected(d);
    }
    drop_unwanted_edges(d);
    size_t *place = att_arena_alloc(d->arena, d->node_count + 1, sizeof *place);
    if (!place)
        return att_fail_memory(err);
    keep_wanted(d, place);
    if (d->node_count == 0)
        return att_fail(err, ATT_BAD_INPUT, sheet, "no value to draw a diagram of");
    if (d->node_count > MAX_NODES)
        return att_fail(err, ATT_BAD_INPUT, sheet,
                        "a diagram of %zu values: expected at most %d; choose a value",
                        d->node_count, MAX_NODES);
    return ATT_OK;
}

att_status att_diagram_build(att_diagram *diagram, const att_sheet *sheet, size_t steps,
                             const char *only, att_error *err)
{
    struct builder b = { .diagram = diagram, .sheet = sheet };
    for (size_t i = 0; i < steps && !b.failed; i++)
        if (sheet->steps[i].kind == ATT_STEP_VALUE && sheet->steps[i].name &&
            !sheet->steps[i].function)
            add_step(&b, &sheet->steps[i]);
    if (b.failed)
        return att_fail_memory(err);
    return select_nodes(&b, sheet->name, only, err);
}
