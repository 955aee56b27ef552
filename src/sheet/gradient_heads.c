/* Gradients of the attention functions: the heads, then the projections to queries, keys and values
 * and, with several heads, the concatenation and the output projection. */
#include "sheet/gradient_attention.h"

#include "sheet/matrix.h"

#include <string.h>

static att_status out_of_memory(const att_head_back *back)
{
    return att_fail_memory(att_backward_error(back->walk));
}

static att_arena *arena_of(const att_head_back *back)
{
    return att_backward_arena(back->walk);
}

/* ---------------------------------------------------------------- projections */

/* A projection of a head: the part q = x w. Where all heads share one matrix, `w` is a copy of the
 * head's columns, which begin at column `first` of `whole` (row, where vectors are columns). */
struct projection {
    const char *part;
    const att_matrix *x;
    const att_matrix *whole;
    const att_matrix *w;
    int64_t first;
};

/* Sends the gradient of the columns of one head to the matrix of all heads. */
static att_status send_slice(att_head_back *back, const struct projection *p, const att_matrix *g,
                             att_expr *name)
{
    bool columns = back->layer.columns;
    att_terms terms = columns ? att_terms_product_bt(g, p->x) : att_terms_product_at(p->x, g);
    const att_matrix *part = att_terms_sum(arena_of(back), &terms, p->w->rows, p->w->cols);
    att_matrix *value = att_matrix_new(arena_of(back), p->whole->rows, p->whole->cols);
    att_expr *x = att_backward_name(back->walk, p->x);
    if (!part || !value || !x)
        return out_of_memory(back);
    for (int64_t i = 0; i < part->rows; i++)
        for (int64_t j = 0; j < part->cols; j++)
            value->data[(columns ? i + p->first : i) * value->cols + (columns ? j : j + p->first)] =
                part->data[i * part->cols + j];
    return att_backward_send(
        back->walk, p->whole,
        (att_contribution){
            .reason = "in the columns of this head: each input times the gradient of its output",
            .formula = att_backward_formula(
                back->walk, columns ? "scatter(G * X')" : "scatter(X' * G)", "GX", name, x),
            .value = value });
}

/* Adds to the gradient of an input by this call alone. */
static att_status add_input(att_head_back *back, att_matrix **input, const att_matrix *like,
                            const att_matrix *more)
{
    if (!more)
        return ATT_OK;
    if (!*input)
        *input = att_matrix_new(arena_of(back), like->rows, like->cols);
    if (!*input)
        return out_of_memory(back);
    for (int64_t i = 0; i < like->rows * like->cols; i++)
        (*input)->data[i] += more->data[i];
    return ATT_OK;
}

/* Sends the gradient of a projected part to x and w, and adds that of x to *input. */
static att_status projection_backward(att_head_back *back, const struct projection *p,
                                      att_matrix **input)
{
    const att_matrix *g, *value = att_head_find_part(back->c, p->part, back->head.number);
    if (!p->w) /* the part is x itself, which has got its gradient */
        return add_input(back, input, p->x, att_backward_kept(back->walk, p->part));
    ATT_TRY(att_backward_finish(back->walk, value, &g));
    if (!g)
        return ATT_OK;
    att_expr *name = att_backward_d(back->walk, value);
    if (!name)
        return out_of_memory(back);
    const att_linear_inputs in = { .x = p->x, .w = p->w, .columns = back->layer.columns };
    ATT_TRY(att_send_linear(back->walk, &in, g, name));
    att_terms terms = in.columns ? att_terms_product_at(p->w, g) : att_terms_product_bt(g, p->w);
    const att_matrix *dx = att_terms_sum(arena_of(back), &terms, p->x->rows, p->x->cols);
    if (!dx)
        return out_of_memory(back);
    ATT_TRY(add_input(back, input, p->x, dx));
    return p->w == p->whole ? ATT_OK : send_slice(back, p, g, name);
}

/* Keeps the gradients of the parts x and y, which are inputs: a.grad.x. */
static att_status keep_inputs(att_backward *walk, const att_computation *c,
                              att_matrix *const *inputs)
{
    for (size_t i = 0; i < c->output.part_count; i++) {
        const att_trace_part *part = &c->output.parts[i];
        bool y = strcmp(part->name, "y") == 0;
        if (part->head == 0 && (y || strcmp(part->name, "x") == 0) && inputs[y])
            ATT_TRY(att_backward_keep(walk, part, inputs[y]));
    }
    return ATT_OK;
}

/* ---------------------------------------------------------------- the functions */

att_status att_attention_rule(att_backward *walk, const att_computation *c)
{
    att_head_back *back = att_arena_alloc(att_backward_arena(walk), 1, sizeof *back);
    if (!back)
        return att_fail_memory(att_backward_error(walk));
    ATT_TRY(att_head_start(walk, c, 0, 1, back));
    return att_head_backward(back);
}

/* The projections come after x, and after y if there is one. */
static att_status run_single(att_backward *walk, const att_computation *c, bool cross)
{
    static const char *const parts[] = { "q", "k", "v" };
    att_head_back *back = att_arena_alloc(att_backward_arena(walk), 1, sizeof *back);
    if (!back)
        return att_fail_memory(att_backward_error(walk));
    ATT_TRY(att_head_start(walk, c, 0, 1, back));
    ATT_TRY(att_head_backward(back));
    att_matrix *inputs[2] = { NULL, NULL };
    size_t first = cross ? 2 : 1;
    for (size_t role = 3; role-- > 0;) {
        const att_matrix *w =
            first + role < c->call->arg_count ? c->call->args[first + role].matrix : NULL;
        const struct projection p = {
            .part = parts[role], .x = c->call->args[cross && role > 0].matrix, .whole = w, .w = w
        };
        ATT_TRY(projection_backward(back, &p, &inputs[cross && role > 0]));
    }
    return keep_inputs(walk, c, inputs);
}

att_status att_self_attention_rule(att_backward *walk, const att_computation *c)
{
    return run_single(walk, c, false);
}

att_status att_cross_attention_rule(att_backward *walk, const att_computation *c)
{
    return run_single(walk, c, true);
}

/* ---------------------------------------------------------------- several heads */

/* From the result to the concatenated heads, through W_O if there is one, to each head. */
static att_status split_output(att_backward *walk, const att_computation *c, int64_t heads,
                               bool columns)
{
    const att_matrix *g, *joined = att_head_find_part(c, "heads", 0);
    if (c->call->arg_count > 4) {
        ATT_TRY(att_backward_finish(walk, c->output.matrix, &g));
        att_expr *name = g ? att_backward_d(walk, c->output.matrix) : NULL;
        const att_linear_inputs in = { .x = joined,
                                       .w = c->call->args[4].matrix,
                                       .columns = columns };
        if (g && !name)
            return att_fail_memory(att_backward_error(walk));
        if (g)
            ATT_TRY(att_send_linear(walk, &in, g, name));
    }
    ATT_TRY(att_backward_finish(walk, joined, &g));
    int64_t at = 0;
    for (int64_t h = 1; g && h <= heads; h++) {
        const att_matrix *output = att_head_find_part(c, "output", h);
        int64_t width = columns ? output->rows : output->cols;
        const char *text = att_arena_printf(att_backward_arena(walk),
                                            columns ? "G[%lld:%lld, :]" : "G[:, %lld:%lld]",
                                            (long long)at + 1, (long long)(at + width));
        att_expr *name = att_backward_d(walk, joined);
        if (!text || !name)
            return att_fail_memory(att_backward_error(walk));
        ATT_TRY(att_backward_send(
            walk, output,
            (att_contribution){ .reason = "each head gets its part of the gradient",
                                .formula = att_backward_formula(walk, text, "G", name),
                                .terms = { .count = 1,
                                           .a = g->data + (columns ? at * g->cols : at),
                                           .a_row = g->cols,
                                           .a_col = 1,
                                           .scale = 1 } }));
        at += width;
    }
    return ATT_OK;
}

static int64_t count_heads(const att_computation *c)
{
    int64_t heads = 0;
    for (size_t i = 0; i < c->output.part_count; i++)
        if (c->output.parts[i].head > heads)
            heads = c->output.parts[i].head;
    return heads;
}

/* The matrix of one head: an item of the list, or its columns of the matrix of all heads. */
static att_status find_weight(att_head_back *back, const att_value *value, int64_t heads,
                              struct projection *p)
{
    bool columns = back->layer.columns;
    if (value->kind == ATT_VALUE_LIST) {
        int64_t count = (int64_t)value->item_count;
        p->whole = p->w = value->items[(back->head.number - 1) * count / heads].matrix;
        return ATT_OK;
    }
    p->whole = p->w = value->matrix;
    if (heads == 1)
        return ATT_OK;
    int64_t width = (columns ? p->whole->rows : p->whole->cols) / heads;
    int64_t *chosen = att_arena_alloc(arena_of(back), (size_t)width, sizeof *chosen);
    if (!chosen)
        return out_of_memory(back);
    p->first = (back->head.number - 1) * width;
    for (int64_t j = 0; j < width; j++)
        chosen[j] = p->first + j;
    p->w = att_matrix_select(arena_of(back), p->whole, columns ? chosen : NULL, width,
                             columns ? NULL : chosen, width);
    return p->w ? ATT_OK : out_of_memory(back);
}

att_status att_multihead_rule(att_backward *walk, const att_computation *c)
{
    static const char *const parts[] = { "q", "k", "v" };
    int64_t heads = count_heads(c);
    const att_value *from = att_call_option(c->call, "from");
    const att_matrix *x = c->call->args[0].matrix, *y = from ? from->matrix : x;
    const att_value *vectors = att_call_option(c->call, "vectors");
    ATT_TRY(split_output(walk, c, heads, vectors && strcmp(vectors->word, "columns") == 0));
    att_matrix *inputs[2] = { NULL, NULL };
    for (int64_t h = heads; h >= 1; h--) {
        att_head_back *back = att_arena_alloc(att_backward_arena(walk), 1, sizeof *back);
        if (!back)
            return att_fail_memory(att_backward_error(walk));
        ATT_TRY(att_head_start(walk, c, h, heads, back));
        ATT_TRY(att_head_backward(back));
        for (size_t role = 3; role-- > 0;) {
            struct projection p = { .part = parts[role], .x = role > 0 ? y : x };
            ATT_TRY(find_weight(back, &c->call->args[role + 1], heads, &p));
            ATT_TRY(projection_backward(back, &p, &inputs[from && role > 0]));
        }
    }
    return keep_inputs(walk, c, inputs);
}
