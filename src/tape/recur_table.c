/* The inputs of a recurrent layer where they are rows of a table with fewer rows than there are
 * steps, as with letters: the table is multiplied by w, once, and each step takes its row.
 *
 * A row of a product is the same bits whatever rows are around it, so the forward is the same bits
 * as without this. Backward, the gradients of the gates are added up by token first. */
#include "base/parallel.h"
#include "tape/embed.h"
#include "tape/recur.h"

#include <string.h>

/* Adding rows up costs about as much as multiplying them by a few rows of weights. */
bool att_table_pays(const att_node *x, const att_steps *steps)
{
    return x->op == &att_op_embed && 2 * x->in[0]->shape[0] <= att_steps_total(steps);
}

/* The token of each step in the order of the steps; `none` where there is none. */
static int32_t *gather_ids(att_tape *tape, const att_node *x, const att_steps *steps, int32_t none)
{
    const att_embed_how *how = x->how;
    int32_t *ids = att_tape_take(tape, att_steps_total(steps), sizeof *ids);
    for (int64_t s = 0; ids && s < steps->count; s++)
        for (int64_t r = 0; r < att_steps_alive(steps, s); r++) {
            int32_t id = how->ids[att_steps_place(steps, s, r)];
            ids[steps->first[s] + r] = id < 0 ? none : id;
        }
    return ids;
}

static const float *zeros(att_tape *tape, int64_t count)
{
    float *out = att_tape_take(tape, count, sizeof(float));
    if (out)
        memset(out, 0, (size_t)count * sizeof(float));
    return out;
}

bool att_table_make(att_tape *tape, att_recur_table *out, const att_node *node,
                    const att_recur_kept *kept, const float *panels, const float *bias)
{
    const att_node *x = node->in[RECUR_X], *table = x->in[0];
    int64_t rows = table->shape[0], depth = table->shape[1];
    int64_t wide = kept->kind->gates * kept->width;
    float *products = att_tape_take(tape, rows * wide, sizeof(float));
    out->rows = products;
    out->bias = bias ? bias : zeros(tape, wide);
    out->ids = gather_ids(tape, x, &kept->steps, -1);
    return products && out->bias && out->ids &&
           att_tape_product(tape, &(att_product_call){ .batch = 1,
                                                       .rows = (size_t)rows,
                                                       .columns = (size_t)wide,
                                                       .depth = (size_t)depth,
                                                       .a = table->value,
                                                       .a_row = (size_t)depth,
                                                       .a_step = 1,
                                                       .panels = panels,
                                                       .c = products,
                                                       .c_row = (size_t)wide,
                                                       .bias = bias });
}

/* ---------------------------------------------------------------- backward */

/* The gradients of the gates added up by token, [V + 1, gates N]: the last is of no token. */
static const float *sum_by_token(att_tape *tape, const att_node *x, const att_recur_kept *kept)
{
    int64_t rows = x->in[0]->shape[0], wide = kept->kind->gates * kept->width;
    float *sums = att_tape_take(tape, (rows + 1) * wide, sizeof(float));
    const int32_t *ids = gather_ids(tape, x, &kept->steps, (int32_t)rows);
    if (!sums || !ids)
        return NULL;
    memset(sums, 0, (size_t)((rows + 1) * wide) * sizeof(float));
    att_add_by_id(sums, kept->gates, ids, att_steps_total(&kept->steps), wide);
    return sums;
}

/* The embedding is passed over: what it would add to the gradient of its table is added here. */
bool att_table_back(att_tape *tape, att_node *node, const att_recur_kept *kept)
{
    att_node *x = node->in[RECUR_X], *table = x->in[0], *w = node->in[RECUR_W];
    int64_t rows = table->shape[0], depth = table->shape[1];
    int64_t wide = kept->kind->gates * kept->width;
    bool add_w = true;
    float *dtable = x->learns ? att_node_grad(tape, table) : NULL;
    float *dw = att_node_grad_whole(tape, w, &add_w);
    float *dbias = att_node_grad(tape, node->in[RECUR_BIAS]);
    att_pool_mark mark = att_tape_mark(tape);
    const float *sums = sum_by_token(tape, x, kept);
    const float *panels = dtable ? att_node_packed(tape, w, true) : NULL;
    bool done = sums && (!dtable || panels) &&
                (!dw || att_weights_back(tape, dw, add_w, table->value, depth, sums, wide, rows)) &&
                (!dtable || att_tape_product(tape, &(att_product_call){ .batch = 1,
                                                                        .rows = (size_t)rows,
                                                                        .columns = (size_t)depth,
                                                                        .depth = (size_t)wide,
                                                                        .a = sums,
                                                                        .a_row = (size_t)wide,
                                                                        .a_step = 1,
                                                                        .panels = panels,
                                                                        .c = dtable,
                                                                        .c_row = (size_t)depth,
                                                                        .add = true })) &&
                (!dbias || att_add_rows(tape, dbias, sums, rows + 1, wide));
    att_tape_release(tape, mark);
    return done;
}
