/* The state that a recurrent layer ends in, and every state on the way; see recur.h. */
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

/* The cells of a sequence after its last step. */
static const float *final_cell(const att_rnn_saved *saved, int64_t rank)
{
    int64_t s = saved->sequence.length[rank] - 1;
    return saved->cells +
           (saved->sequence.batch + saved->sequence.step_offset[s] + rank) * saved->hidden_size;
}

/* One state, hidden and cell, to its place. */
static void copy_state(float *to, const float *hidden, const float *cells, size_t n)
{
    memcpy(to, hidden, n * sizeof(float));
    if (cells)
        memcpy(to + n, cells, n * sizeof(float));
}

static bool final_state_forward(att_tape *tape, att_node *node)
{
    (void)tape;
    const att_node *rnn = node->in[FINAL_STATE_RNN], *start = node->in[FINAL_STATE_INITIAL];
    const att_rnn_saved *saved = rnn->saved;
    const att_packed_sequence *steps = &saved->sequence;
    int64_t width = att_node_last_dim(node), n = saved->hidden_size;
    for (int64_t r = 0; r < steps->batch; r++) {
        int64_t row = steps->batch_row[r], s = steps->length[r] - 1;
        float *to = node->value + row * width;
        if (s >= 0)
            copy_state(to, rnn->value + att_packed_sequence_index(steps, s, r) * n,
                       saved->cells ? final_cell(saved, r) : NULL, (size_t)n);
        else if (start)
            memcpy(to, start->value + row * width, (size_t)width * sizeof(float));
        else
            memset(to, 0, (size_t)width * sizeof(float));
    }
    return true;
}

/* What reaches the cells waits in the recurrent node's kept, by rank, for its backward. */
static float *cells_grad(att_tape *tape, att_rnn_saved *saved)
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
    const att_packed_sequence *steps = &saved->sequence;
    size_t n = (size_t)saved->hidden_size, width = (size_t)att_node_last_dim(node);
    float *dhidden = att_node_grad(tape, rnn),
          *dstart = att_node_grad(tape, node->in[FINAL_STATE_INITIAL]);
    float *dcells = cells_grad(tape, saved);
    if (!dhidden || (saved->cells && !dcells))
        return false;
    att_kern_axpy *add = att_kernels_get()->axpy;
    for (int64_t r = 0; r < steps->batch; r++) {
        size_t row = (size_t)steps->batch_row[r];
        const float *dy = node->grad + row * width;
        int64_t s = steps->length[r] - 1;
        if (s < 0 && dstart)
            add(dstart + row * width, 1, dy, width);
        if (s < 0)
            continue;
        add(dhidden + (size_t)att_packed_sequence_index(steps, s, r) * n, 1, dy, n);
        if (dcells)
            add(dcells + (size_t)r * n, 1, dy + n, n);
    }
    return true;
}

/* ---------------------------------------------------------------- the check */

/* The check looks at all hidden states and the end together, [B, T N + states N], so that gradients
 * of both meet on their way back. */
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
    const att_node *rnn = node->in[0]->in[0], *x = rnn->in[RNN_X];
    int64_t B = x->shape[0], T = x->shape[1], N = att_node_last_dim(rnn);
    int64_t width = att_node_last_dim(node), end = width - T * N;
    double *row = value;
    for (int64_t b = 0; b < B; b++, row += width) {
        const att_rnn_options *options = rnn->options;
        att_rnn_options one = *options;
        one.lengths = options->lengths ? options->lengths + b : NULL;
        const double *alone[RNN_INPUT_COUNT];
        memcpy(alone, in, sizeof alone);
        alone[RNN_X] += b * T * x->shape[2];
        if (alone[RNN_INITIAL_STATE])
            alone[RNN_INITIAL_STATE] += b * end;
        att_reference_rnn(row, row + T * N, &one, (const int64_t[]){ 1, T, x->shape[2], N }, alone);
    }
}

const att_op att_op_rnn_final_state = {
    .name = "recur-end",
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
    const att_packed_sequence *steps = &saved->sequence;
    int64_t n = saved->hidden_size, width = saved->cell->states * n;
    const int64_t shape[] = { steps->batch, steps->max_time, width };
    att_node *out = att_tape_input(tape, 3, shape, NULL);
    for (int64_t s = 0; out && s < steps->steps; s++)
        for (int64_t r = 0; r < att_packed_sequence_batch_size(steps, s); r++) {
            int64_t place = att_packed_sequence_index(steps, s, r);
            const float *cells =
                saved->cells ? saved->cells + (steps->batch + steps->step_offset[s] + r) * n : NULL;
            copy_state(out->value + place * width, rnn->value + place * n, cells, (size_t)n);
        }
    return out;
}
