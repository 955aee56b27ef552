/* Backpropagation through time (BPTT) of the RNN operation: the gradients of all gates, step by
 * step from the last; then those of w, u, the biases and x, each as one product over all steps. */
#include "tape/rnn.h"

#include "base/minmax.h"
#include "base/progress.h"

#include <string.h>

/* What the steps need besides the saved arrays. */
typedef struct rnn_backward_context {
    const att_rnn_saved *saved;
    const float *panels; /* of u transposed */
    const float *dvalue; /* [B,T,N] */
    float *dhidden; /* [batch, N] by rank: of the state after the current step, then before it */
    float *dcell;   /* [batch, N] likewise, or NULL */
    bool wants_initial_state_grad;
} rnn_backward_context;

/* The gradient of a sequence's final state; the hidden part of it is in dvalue. */
static void begin_sequence(const rnn_backward_context *run, int64_t rank)
{
    size_t n = (size_t)run->saved->hidden_size, at = (size_t)rank * n;
    const float *dfinal = run->saved->dfinal_cell;
    memset(run->dhidden + at, 0, n * sizeof(float));
    if (run->dcell && dfinal)
        memcpy(run->dcell + at, dfinal + at, n * sizeof(float));
    else if (run->dcell)
        memset(run->dcell + at, 0, n * sizeof(float));
}

static void run_step(const rnn_backward_context *run, const att_kernels *kernels, int64_t s,
                     int64_t first, int64_t past)
{
    const att_rnn_saved *saved = run->saved;
    const att_rnn_cell_impl *cell = saved->cell;
    int64_t n = saved->hidden_size;
    for (int64_t r = first; r < past; r++) {
        att_rnn_step at = att_rnn_saved_step(saved, s, r);
        float *dhidden = run->dhidden + r * n;
        if (s == saved->sequence.length[r] - 1)
            begin_sequence(run, r);
        kernels->axpy(dhidden, 1,
                      run->dvalue + att_packed_sequence_index(&saved->sequence, s, r) * n,
                      (size_t)n);
        cell->backward(kernels, &at, dhidden, run->dcell ? run->dcell + r * n : NULL);
    }
    att_rnn_step at = att_rnn_saved_step(saved, s, first);
    if (s > 0 || run->wants_initial_state_grad)
        att_panel_matmul_run(
            kernels,
            &(att_panel_matmul){ .c = run->dhidden + first * n,
                                 .a = cell->separate_hidden_gates ? at.hidden_gates : at.gates,
                                 .panels = run->panels,
                                 .rows = past - first,
                                 .columns = n,
                                 .depth = cell->gates * n,
                                 .accumulate = cell->separate_hidden_gates });
}

static void run_sequences(void *context, int64_t first, int64_t past)
{
    const rnn_backward_context *run = context;
    const att_kernels *kernels = att_kernels_get();
    const att_packed_sequence *sequence = &run->saved->sequence;
    int64_t max = att_rnn_rows_per_block(run->saved);
    for (int64_t s = sequence->steps - 1; s >= 0; s--) {
        int64_t end = att_min_i64(past, att_packed_sequence_batch_size(sequence, s));
        for (int64_t r = first; r < end; r += max, att_progress_poll())
            run_step(run, kernels, s, r, att_min_i64(r + max, end));
        if (att_progress_abandoned())
            return;
    }
}

static void add_initial_state_grad(const rnn_backward_context *run, float *dinitial)
{
    const att_rnn_saved *saved = run->saved;
    int64_t n = saved->hidden_size, states = saved->cell->states;
    const float *const from[2] = { run->dhidden, run->dcell };
    for (int64_t r = 0; r < att_packed_sequence_batch_size(&saved->sequence, 0); r++)
        for (int64_t i = 0; i < states; i++)
            att_kernels_get()->axpy(dinitial + (saved->sequence.batch_row[r] * states + i) * n, 1,
                                    from[i] + r * n, (size_t)n);
}

static bool backward_through_time(att_tape *tape, att_node *node, att_rnn_saved *saved)
{
    float *dinitial = att_node_grad(tape, node->in[RNN_INITIAL_STATE]);
    int64_t size = saved->sequence.batch * saved->hidden_size;
    att_memory_pool_mark mark = att_tape_mark(tape);
    rnn_backward_context run = { .saved = saved,
                                 .panels = att_node_packed_weights(tape, node->in[RNN_U], true),
                                 .dvalue = node->grad,
                                 .dhidden = att_tape_alloc(tape, size, sizeof(float)),
                                 .wants_initial_state_grad = dinitial != NULL };
    if (saved->cells)
        run.dcell = att_tape_alloc(tape, size, sizeof(float));
    if (!run.panels || !run.dhidden || (saved->cells && !run.dcell))
        return false;
    double work = (double)saved->hidden_size * (double)saved->hidden_size * saved->cell->gates;
    if (!att_packed_sequence_parallel_for(tape, &saved->sequence, work, run_sequences, &run))
        return false;
    if (dinitial)
        add_initial_state_grad(&run, dinitial);
    att_tape_release_to_mark(tape, mark);
    return true;
}

bool att_weights_backward(att_tape *tape, float *dw, bool add, const float *a, int64_t depth,
                          const float *dgates, int64_t wide, int64_t rows)
{
    return att_tape_matmul(tape, &(att_matmul_call){ .batch = 1,
                                                     .rows = (size_t)depth,
                                                     .columns = (size_t)wide,
                                                     .depth = (size_t)rows,
                                                     .a = a,
                                                     .a_row_stride = 1,
                                                     .a_column_stride = (size_t)depth,
                                                     .b = dgates,
                                                     .b_stride = (size_t)wide,
                                                     .c = dw,
                                                     .c_row_stride = (size_t)wide,
                                                     .accumulate = add });
}

/* Gradients of w, x and the bias. */
static bool inputs_backward(att_tape *tape, att_node *node, const att_rnn_saved *saved)
{
    att_node *x = node->in[RNN_X], *w = node->in[RNN_W];
    int64_t depth = x->shape[2], wide = saved->cell->gates * saved->hidden_size;
    int64_t total = att_packed_sequence_total(&saved->sequence);
    bool add_x = true, add_w = true;
    float *dx = att_node_grad_overwrite(tape, x, &add_x),
          *dw = att_node_grad_overwrite(tape, w, &add_w);
    float *dbias = att_node_grad(tape, node->in[RNN_BIAS]);
    att_memory_pool_mark mark = att_tape_mark(tape);
    float *packed = att_tape_alloc(tape, total * depth, sizeof(float));
    const float *panels = dx ? att_node_packed_weights(tape, w, true) : NULL;
    if (!packed || (dx && !panels))
        return false;
    if (dw) {
        att_packed_sequence_gather(&saved->sequence, packed, x->value, depth);
        if (!att_weights_backward(tape, dw, add_w, packed, depth, saved->gates, wide, total))
            return false;
    }
    if (dx) {
        if (!att_tape_matmul(tape, &(att_matmul_call){ .batch = 1,
                                                       .rows = (size_t)total,
                                                       .columns = (size_t)depth,
                                                       .depth = (size_t)wide,
                                                       .a = saved->gates,
                                                       .a_row_stride = (size_t)wide,
                                                       .a_column_stride = 1,
                                                       .panels = panels,
                                                       .c = packed,
                                                       .c_row_stride = (size_t)depth }))
            return false;
        att_packed_sequence_scatter(&saved->sequence, dx, packed, depth, add_x);
    }
    att_tape_release_to_mark(tape, mark);
    return !dbias || att_sum_rows(tape, dbias, saved->gates, total, wide);
}

/* Gradients of u and bias_u. */
static bool recurrent_weights_backward(att_tape *tape, att_node *node, const att_rnn_saved *saved)
{
    const float *dgates = saved->hidden_gates ? saved->hidden_gates : saved->gates;
    int64_t n = saved->hidden_size, wide = saved->cell->gates * n,
            total = att_packed_sequence_total(&saved->sequence);
    bool add = true;
    float *du = att_node_grad_overwrite(tape, node->in[RNN_U], &add);
    if (du && !att_weights_backward(tape, du, add, saved->hidden, n, dgates, wide, total))
        return false;
    float *dbias_u = att_node_grad(tape, node->in[RNN_BIAS_U]);
    return !dbias_u || att_sum_rows(tape, dbias_u, dgates, total, wide);
}

bool att_rnn_backward(att_tape *tape, att_node *node)
{
    att_rnn_saved *saved = node->saved;
    bool by_table = att_rnn_input_table_pays(node->in[RNN_X], &saved->sequence);
    return backward_through_time(tape, node, saved) &&
           (by_table ? att_rnn_input_table_backward : inputs_backward)(tape, node, saved) &&
           recurrent_weights_backward(tape, node, saved);
}
