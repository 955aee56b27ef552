/* The inputs of an RNN layer where they are rows of an embedding table with fewer rows than there
 * are steps, as with characters: the table is multiplied by w once, and each step takes its row.
 *
 * A row of a product has the same bits whatever rows are around it, so the forward has the same
 * bits as without this optimization. Backward, the gate gradients are first summed by token. */
#include "base/parallel.h"
#include "tape/op_embedding.h"
#include "tape/rnn.h"

#include <string.h>

/* Factor 2: summing the gate gradients by token costs about as much as a small product. */
bool att_rnn_input_table_pays(const att_node *x, const att_packed_sequence *sequence)
{
    return x->op == &att_op_embedding &&
           2 * x->in[0]->shape[0] <= att_packed_sequence_total(sequence);
}

/* The token of each packed row; `none` where there is no token. */
static int32_t *gather_ids(att_tape *tape, const att_node *x, const att_packed_sequence *sequence,
                           int32_t none)
{
    const att_embedding_options *options = x->options;
    int32_t *ids = att_tape_alloc(tape, att_packed_sequence_total(sequence), sizeof *ids);
    for (int64_t s = 0; ids && s < sequence->steps; s++)
        for (int64_t r = 0; r < att_packed_sequence_batch_size(sequence, s); r++) {
            int32_t id = options->ids[att_packed_sequence_index(sequence, s, r)];
            ids[sequence->step_offset[s] + r] = id < 0 ? none : id;
        }
    return ids;
}

static const float *zeros(att_tape *tape, int64_t count)
{
    float *out = att_tape_alloc(tape, count, sizeof(float));
    if (out)
        memset(out, 0, (size_t)count * sizeof(float));
    return out;
}

/* The values of the table: floats, or floats made of int8. */
static const float *table_values(att_tape *tape, const att_node *table)
{
    if (!table->int8)
        return table->value;
    int64_t width = table->shape[1];
    float *values = att_tape_alloc(tape, table->count, sizeof(float));
    for (int64_t i = 0; values && i < table->shape[0]; i++)
        att_int8_matrix_column_floats(values + i * width, table->int8, (size_t)i, 1);
    return values;
}

bool att_rnn_input_table_make(att_tape *tape, att_rnn_input_table *out, const att_node *node,
                              const att_rnn_saved *saved, const float *bias)
{
    const att_node *x = node->in[RNN_X], *table = x->in[0];
    int64_t rows = table->shape[0];
    int64_t wide = saved->cell->gates * saved->hidden_size;
    float *products = att_tape_alloc(tape, rows * wide, sizeof(float));
    out->rows = products;
    out->bias = bias ? bias : zeros(tape, wide);
    out->ids = gather_ids(tape, x, &saved->sequence, -1);
    const float *values = table_values(tape, table);
    return products && out->bias && out->ids && values &&
           att_node_weights_matmul(tape, node->in[RNN_W], rows, values, products, bias);
}

/* ---------------------------------------------------------------- backward */

/* Gate gradients summed by token, [V + 1, gates N]; the last row is of steps without a token. */
static const float *sum_by_token(att_tape *tape, const att_node *x, const att_rnn_saved *saved)
{
    int64_t rows = x->in[0]->shape[0], wide = saved->cell->gates * saved->hidden_size;
    float *sums = att_tape_alloc(tape, (rows + 1) * wide, sizeof(float));
    const int32_t *ids = gather_ids(tape, x, &saved->sequence, (int32_t)rows);
    if (!sums || !ids)
        return NULL;
    memset(sums, 0, (size_t)((rows + 1) * wide) * sizeof(float));
    att_scatter_add_rows(sums, saved->gates, ids, att_packed_sequence_total(&saved->sequence),
                         wide);
    return sums;
}

/* Bypasses the embedding node: the gradient of its table is added here. */
bool att_rnn_input_table_backward(att_tape *tape, att_node *node, const att_rnn_saved *saved)
{
    att_node *x = node->in[RNN_X], *table = x->in[0], *w = node->in[RNN_W];
    int64_t rows = table->shape[0], depth = table->shape[1];
    int64_t wide = saved->cell->gates * saved->hidden_size;
    bool add_w = true;
    float *dtable = x->requires_grad ? att_node_grad(tape, table) : NULL;
    float *dw = att_node_grad_overwrite(tape, w, &add_w);
    float *dbias = att_node_grad(tape, node->in[RNN_BIAS]);
    att_memory_pool_mark mark = att_tape_mark(tape);
    const float *sums = sum_by_token(tape, x, saved);
    const float *panels = dtable ? att_node_packed_weights(tape, w, true) : NULL;
    bool done =
        sums && (!dtable || panels) &&
        (!dw || att_weights_backward(tape, dw, add_w, table->value, depth, sums, wide, rows)) &&
        (!dtable || att_tape_matmul(tape, &(att_matmul_call){ .batch = 1,
                                                              .rows = (size_t)rows,
                                                              .columns = (size_t)depth,
                                                              .depth = (size_t)wide,
                                                              .a = sums,
                                                              .a_row_stride = (size_t)wide,
                                                              .a_column_stride = 1,
                                                              .panels = panels,
                                                              .c = dtable,
                                                              .c_row_stride = (size_t)depth,
                                                              .accumulate = true })) &&
        (!dbias || att_sum_rows(tape, dbias, sums, rows + 1, wide));
    att_tape_release_to_mark(tape, mark);
    return done;
}
