/* The final state of an RNN layer, and the states after every step. */
#include "tape/rnn.h"

#include <string.h>

enum { FINAL_STATE_RNN, FINAL_STATE_INITIAL };

static bool final_state_shape(att_tape *tape, att_node *node)
{
    (void)tape;
    const att_rnn_saved *saved = node->in[FINAL_STATE_RNN]->saved;
    const int64_t shape[] = { saved->sequence.batch, saved->cell->states * saved->hidden_size };
    att_node_set_shape(node, 2, shape);
    return true;
}

/* The LSTM cells of a sequence after its last step. */
static const float *final_cell(const att_rnn_saved *saved, int64_t rank)
{
    int64_t s = saved->sequence.length[rank] - 1;
    return saved->cells +
           (saved->sequence.batch + saved->sequence.step_offset[s] + rank) * saved->hidden_size;
}

/* Writes one state: hidden, then the cells if there are any. */
static void copy_state(float *to, const float *hidden, const float *cells, size_t n)
{
    memcpy(to, hidden, n * sizeof(float));
    if (cells)
        memcpy(to + n, cells, n * sizeof(float));
}

static bool final_state_forward(att_tape *tape, att_node *node)
{
    (void)tape;
    const att_node *rnn = node->in[FINAL_STATE_RNN], *initial = node->in[FINAL_STATE_INITIAL];
    const att_rnn_saved *saved = rnn->saved;
    const att_packed_sequence *sequence = &saved->sequence;
    int64_t width = att_node_last_dim(node), n = saved->hidden_size;
    for (int64_t r = 0; r < sequence->batch; r++) {
        int64_t row = sequence->batch_row[r], s = sequence->length[r] - 1;
        float *to = node->value + row * width;
        if (s >= 0)
            copy_state(to, rnn->value + att_packed_sequence_index(sequence, s, r) * n,
                       saved->cells ? final_cell(saved, r) : NULL, (size_t)n);
        else if (initial)
            memcpy(to, initial->value + row * width, (size_t)width * sizeof(float));
        else
            memset(to, 0, (size_t)width * sizeof(float));
    }
    return true;
}

/* The gradient of the final cells, by rank; the RNN node's backward reads it from there. */
static float *final_cell_grad(att_tape *tape, att_rnn_saved *saved)
{
    int64_t size = saved->sequence.batch * saved->hidden_size;
    if (!saved->cells || saved->dfinal_cell)
        return saved->dfinal_cell;
    saved->dfinal_cell = att_tape_alloc(tape, size, sizeof(float));
    if (saved->dfinal_cell)
        memset(saved->dfinal_cell, 0, (size_t)size * sizeof(float));
    return saved->dfinal_cell;
}

static bool final_state_backward(att_tape *tape, att_node *node)
{
    att_node *rnn = node->in[FINAL_STATE_RNN];
    att_rnn_saved *saved = rnn->saved;
    const att_packed_sequence *sequence = &saved->sequence;
    size_t n = (size_t)saved->hidden_size, width = (size_t)att_node_last_dim(node);
    float *dhidden = att_node_grad(tape, rnn),
          *dinitial = att_node_grad(tape, node->in[FINAL_STATE_INITIAL]);
    float *dcells = final_cell_grad(tape, saved);
    if (!dhidden || (saved->cells && !dcells))
        return false;
    att_kern_axpy *add = att_kernels_get()->axpy;
    for (int64_t r = 0; r < sequence->batch; r++) {
        size_t row = (size_t)sequence->batch_row[r];
        const float *dy = node->grad + row * width;
        int64_t s = sequence->length[r] - 1;
        if (s < 0 && dinitial)
            add(dinitial + row * width, 1, dy, width);
        if (s < 0)
            continue;
        add(dhidden + (size_t)att_packed_sequence_index(sequence, s, r) * n, 1, dy, n);
        if (dcells)
            add(dcells + (size_t)r * n, 1, dy + n, n);
    }
    return true;
}

/* ---------------------------------------------------------------- the gradient check */

/* The check runs on all hidden states and the final state together, [B, T N + states N], so that
 * the gradients of both are added up in backward. */
static att_node *final_state_apply(att_tape *tape, att_node *const *in, const void *options)
{
    const att_rnn_inputs inputs = { .x = in[RNN_X],
                                    .w = in[RNN_W],
                                    .u = in[RNN_U],
                                    .bias = in[RNN_BIAS],
                                    .bias_u = in[RNN_BIAS_U],
                                    .initial_state = in[RNN_INITIAL_STATE] };
    att_node *rnn = att_rnn(tape, &inputs, options);
    if (!rnn)
        return NULL;
    const int64_t flat[] = { rnn->shape[0], rnn->shape[1] * rnn->shape[2] };
    att_node *const both[] = { att_reshape(tape, rnn, 2, flat), att_rnn_final_state(tape, rnn) };
    return att_concat(tape, both, 2);
}

static void final_state_truth(double *value, const att_node *node, const double *const *in)
{
    const att_node *rnn = node->in[0]->in[0];
    const att_reference_rnn_inputs all = att_rnn_truth_inputs(rnn, in);
    int64_t width = att_node_last_dim(node), hidden = all.time * all.units;
    for (int64_t b = 0; b < all.batch;
         b++) { /* sequence by sequence: their rows are not adjacent */
        att_reference_rnn_inputs one = all;
        one.batch = 1;
        one.lengths = all.lengths ? all.lengths + b : NULL;
        one.x = all.x + b * all.time * all.depth;
        one.initial_state = all.initial_state ? all.initial_state + b * (width - hidden) : NULL;
        att_reference_rnn(value + b * width, value + b * width + hidden, &one);
    }
}

const att_op att_op_rnn_final_state = {
    .name = "rnn-final-state",
    .shape = final_state_shape,
    .forward = final_state_forward,
    .backward = final_state_backward,
    .truth = final_state_truth,
    .rounding_steps = 200,
    .samples = att_rnn_samples,
    .sample_count = ATT_RNN_SAMPLE_COUNT,
    .apply = final_state_apply,
};

att_node *att_rnn_final_state(att_tape *tape, att_node *rnn)
{
    if (!rnn)
        return NULL;
    att_node *const in[] = { rnn, rnn->in[RNN_INITIAL_STATE] };
    return att_op_apply(tape, &att_op_rnn_final_state, in, 2, NULL);
}

att_node *att_rnn_all_states(att_tape *tape, att_node *rnn)
{
    if (!rnn)
        return NULL;
    const att_rnn_saved *saved = rnn->saved;
    const att_packed_sequence *sequence = &saved->sequence;
    int64_t n = saved->hidden_size, width = saved->cell->states * n;
    const int64_t shape[] = { sequence->batch, sequence->max_time, width };
    att_node *out = att_tape_input(tape, 3, shape, NULL);
    for (int64_t s = 0; out && s < sequence->steps; s++)
        for (int64_t r = 0; r < att_packed_sequence_batch_size(sequence, s); r++) {
            int64_t place = att_packed_sequence_index(sequence, s, r);
            const float *cells =
                saved->cells ? saved->cells + (sequence->batch + sequence->step_offset[s] + r) * n
                             : NULL;
            copy_state(out->value + place * width, rnn->value + place * n, cells, (size_t)n);
        }
    return out;
}
