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

/* The token of each step in the order of the steps. */
static int32_t *gather_ids(att_tape *tape, const att_node *x, const att_steps *steps)
{
    const att_embed_how *how = x->how;
    int32_t *ids = att_tape_take(tape, att_steps_total(steps), sizeof *ids);
    for (int64_t s = 0; ids && s < steps->count; s++)
        for (int64_t r = 0; r < att_steps_alive(steps, s); r++)
            ids[steps->first[s] + r] = how->ids[att_steps_place(steps, s, r)];
    return ids;
}

typedef struct taking {
    float *gates;
    const float *table, *bias; /* the table has the bias added; tokens below 0 have it alone */
    const int32_t *ids;
    size_t wide;
} taking;

static void take_rows(void *context, int64_t begin, int64_t end)
{
    const taking *t = context;
    for (int64_t i = begin; i < end; i++) {
        float *to = t->gates + (size_t)i * t->wide;
        const float *from = t->ids[i] >= 0 ? t->table + (size_t)t->ids[i] * t->wide : t->bias;
        if (from)
            memcpy(to, from, t->wide * sizeof(float));
        else
            memset(to, 0, t->wide * sizeof(float));
    }
}

bool att_table_put(att_tape *tape, const att_node *node, const att_recur_kept *kept,
                   const float *panels, const float *bias)
{
    const att_node *x = node->in[RECUR_X], *table = x->in[0];
    int64_t rows = table->shape[0], depth = table->shape[1];
    int64_t wide = kept->kind->gates * kept->width;
    float *products = att_tape_take(tape, rows * wide, sizeof(float));
    const int32_t *ids = gather_ids(tape, x, &kept->steps);
    if (!products || !ids ||
        !att_tape_product(tape, &(att_product_call){ .batch = 1,
                                                     .rows = (size_t)rows,
                                                     .columns = (size_t)wide,
                                                     .depth = (size_t)depth,
                                                     .a = table->value,
                                                     .a_row = (size_t)depth,
                                                     .a_step = 1,
                                                     .panels = panels,
                                                     .c = products,
                                                     .c_row = (size_t)wide,
                                                     .bias = bias }))
        return false;
    taking t = { kept->gates, products, bias, ids, (size_t)wide };
    att_parallel_for(att_steps_total(&kept->steps), att_rows_grain(wide), take_rows, &t);
    return true;
}

/* The embedding is passed over: what it would add to the gradient of its table is added here. */
bool att_table_back(att_tape *tape, att_node *node, const att_recur_kept *kept)
{
    att_node *x = node->in[RECUR_X], *table = x->in[0], *w = node->in[RECUR_W];
    int64_t rows = table->shape[0], depth = table->shape[1];
    int64_t wide = kept->kind->gates * kept->width, total = att_steps_total(&kept->steps);
    bool add_w = true;
    float *dtable = x->learns ? att_node_grad(tape, table) : NULL;
    float *dw = att_node_grad_whole(tape, w, &add_w);
    att_pool_mark mark = att_tape_mark(tape);
    float *sums = att_tape_take(tape, rows * wide, sizeof(float));
    const int32_t *ids = gather_ids(tape, x, &kept->steps);
    const float *panels = dtable ? att_node_packed(tape, w, true) : NULL;
    if (!sums || !ids || (dtable && !panels))
        return false;
    memset(sums, 0, (size_t)(rows * wide) * sizeof(float));
    att_add_by_id(sums, kept->gates, ids, total, wide);
    bool done = (!dw || att_weights_back(tape, dw, add_w, table->value, depth, sums, wide, rows)) &&
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
                                                                        .add = true }));
    att_tape_release(tape, mark);
    return done;
}
