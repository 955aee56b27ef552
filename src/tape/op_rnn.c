/* A whole RNN layer as one operation: one product of all inputs with w, then threads share the
 * sequences, and each takes its sequences through all their steps. */
#include "tape/rnn.h"

#include "base/minmax.h"
#include "base/progress.h"

#include <assert.h>
#include <string.h>

static bool check_lengths(att_tape *tape, const att_node *node)
{
    const att_rnn_options *options = node->options;
    const att_node *x = node->in[RNN_X];
    for (int64_t b = 0; options->lengths && b < x->shape[0]; b++)
        if (options->lengths[b] < 0 || options->lengths[b] > x->shape[1]) {
            att_tape_fail(tape, node->op->name,
                          "expected lengths from 0 to %lld, found %lld for sequence %lld",
                          (long long)x->shape[1], (long long)options->lengths[b], (long long)b);
            return false;
        }
    return true;
}

static bool rnn_shape(att_tape *tape, att_node *node)
{
    const att_rnn_options *options = node->options;
    const att_node *x = node->in[RNN_X], *u = node->in[RNN_U];
    const int64_t any[3] = { -1, -1, -1 };
    if (!att_node_check_shape(tape, node, "x", x, 3, any) ||
        !att_node_check_shape(tape, node, "u", u, 2, any))
        return false;
    int64_t n = u->shape[0], wide = att_rnn_cell_gates(options->cell) * n;
    const struct {
        const char *name;
        int rank;
        int64_t shape[2];
    } want[RNN_INPUT_COUNT] = {
        [RNN_W] = { "w", 2, { x->shape[2], wide } },
        [RNN_U] = { "u", 2, { n, wide } },
        [RNN_BIAS] = { "bias", 1, { wide } },
        [RNN_BIAS_U] = { "bias_u", 1, { wide } },
        [RNN_INITIAL_STATE] = { "initial_state",
                                2,
                                { x->shape[0], att_rnn_cell_states(options->cell) * n } },
    };
    for (int i = RNN_W; i < RNN_INPUT_COUNT; i++)
        if (node->in[i] && !att_node_check_shape(tape, node, want[i].name, node->in[i],
                                                 want[i].rank, want[i].shape))
            return false;
    att_node_set_shape(node, 3, (const int64_t[]){ x->shape[0], x->shape[1], n });
    return check_lengths(tape, node);
}

/* ---------------------------------------------------------------- forward */

/* What the steps need besides the saved arrays. */
typedef struct rnn_forward_context {
    const att_rnn_saved *saved;
    att_rnn_input_table table;
    const float *panels;         /* of u; NULL where it is int8: */
    const att_int8_matrix *int8; /* u, */
    att_int8_rows quantized;     /* and [batch] hidden states by rank */
    const float *bias_u;         /* with separate_hidden_gates, else NULL */
    float *value;                /* [B,T,N] */
    bool accumulates_into_gates; /* the product h u is added to gates that hold x w */
} rnn_forward_context;

/* Copies a hidden state to the sequence's next step, if it has one. */
static void pass_hidden(const att_rnn_saved *saved, int64_t s, int64_t rank, const float *hidden)
{
    int64_t n = saved->hidden_size;
    if (rank < att_packed_sequence_batch_size(&saved->sequence, s + 1))
        memcpy(saved->hidden + (saved->sequence.step_offset[s + 1] + rank) * n, hidden,
               (size_t)n * sizeof(float));
}

/* Copies rows of the input table into the gates at step s. */
static void load_table_rows(const rnn_forward_context *run, int64_t s, int64_t first, int64_t past)
{
    const att_rnn_saved *saved = run->saved;
    int64_t wide = saved->cell->gates * saved->hidden_size, begin = saved->sequence.step_offset[s];
    for (int64_t at = begin + first; at < begin + past; at++)
        memcpy(saved->gates + at * wide, att_rnn_input_table_row(&run->table, at, wide),
               (size_t)wide * sizeof(float));
}

/* c (+)= h u + bias of the sequences first to past. */
static void multiply_hidden(const rnn_forward_context *run, const att_kernels *kernels,
                            const att_rnn_step *at, int64_t first, int64_t past)
{
    const att_rnn_saved *saved = run->saved;
    int64_t wide = saved->cell->gates * saved->hidden_size;
    float *c = saved->cell->separate_hidden_gates ? at->hidden_gates : at->gates;
    if (!run->int8) {
        att_panel_matmul_run(kernels,
                             &(att_panel_matmul){ .c = c,
                                                  .a = at->prev_hidden,
                                                  .panels = run->panels,
                                                  .bias = run->bias_u,
                                                  .rows = past - first,
                                                  .columns = wide,
                                                  .depth = saved->hidden_size,
                                                  .accumulate = run->accumulates_into_gates });
        return;
    }
    att_int8_rows_quantize(&run->quantized, at->prev_hidden, (size_t)saved->hidden_size,
                           (size_t)saved->hidden_size, (size_t)first, (size_t)past);
    att_int8_matmul_part(&(att_int8_call){ .b = run->int8,
                                           .a = &run->quantized,
                                           .first_row = (size_t)first,
                                           .rows = (size_t)(past - first),
                                           .columns = (size_t)wide,
                                           .c = c,
                                           .c_row_stride = (size_t)wide,
                                           .accumulate = run->accumulates_into_gates,
                                           .bias = run->bias_u });
}

static void run_step(const rnn_forward_context *run, const att_kernels *kernels, int64_t s,
                     int64_t first, int64_t past)
{
    const att_rnn_saved *saved = run->saved;
    const att_rnn_cell_impl *cell = saved->cell;
    att_rnn_step at = att_rnn_saved_step(saved, s, first);
    int64_t wide = cell->gates * saved->hidden_size;
    if (run->table.ids && run->accumulates_into_gates)
        load_table_rows(run, s, first, past);
    multiply_hidden(run, kernels, &at, first, past);
    for (int64_t r = first; r < past; r++) {
        float *hidden =
            run->value + att_packed_sequence_index(&saved->sequence, s, r) * saved->hidden_size;
        at = att_rnn_saved_step(saved, s, r);
        if (run->table.ids && !run->accumulates_into_gates)
            at.input_gates =
                att_rnn_input_table_row(&run->table, saved->sequence.step_offset[s] + r, wide);
        cell->forward(kernels, &at, hidden);
        pass_hidden(saved, s, r, hidden);
    }
}

static void run_sequences(void *context, int64_t first, int64_t past)
{
    const rnn_forward_context *run = context;
    const att_kernels *kernels = att_kernels_get();
    const att_packed_sequence *sequence = &run->saved->sequence;
    int64_t max = att_rnn_rows_per_block(run->saved);
    for (int64_t s = 0; s < sequence->steps && first < past; s++) {
        past = att_min_i64(past, att_packed_sequence_batch_size(sequence, s));
        for (int64_t r = first; r < past; r += max, att_progress_poll())
            run_step(run, kernels, s, r, att_min_i64(r + max, past));
        if (att_progress_abandoned())
            return;
    }
}

/* Hidden states before step 0, and cells. `initial` NULL: zeros. */
static void set_initial_state(const att_rnn_saved *saved, const att_node *initial)
{
    const att_packed_sequence *sequence = &saved->sequence;
    size_t n = (size_t)saved->hidden_size, states = (size_t)saved->cell->states;
    for (int64_t r = 0; r < sequence->batch; r++, att_progress_poll()) {
        const float *from =
            initial ? initial->value + (size_t)sequence->batch_row[r] * states * n : NULL;
        float *to[2] = { r < att_packed_sequence_batch_size(sequence, 0)
                             ? saved->hidden + (size_t)r * n
                             : NULL,
                         saved->cells ? saved->cells + (size_t)r * n : NULL };
        for (size_t i = 0; i < states; i++)
            if (to[i] && from)
                memcpy(to[i], from + i * n, n * sizeof(float));
            else if (to[i])
                memset(to[i], 0, n * sizeof(float));
    }
}

/* The bias of the input product: bias + bias_u, unless the hidden gates are separate. */
static bool input_bias(att_tape *tape, const att_node *node, const att_rnn_cell_impl *cell,
                       const float **out)
{
    const att_node *bias = node->in[RNN_BIAS], *bias_u = node->in[RNN_BIAS_U];
    *out = bias ? bias->value : NULL;
    if (cell->separate_hidden_gates || !bias_u)
        return true;
    float *both = att_tape_copy(tape, bias_u->value, bias_u->count, sizeof(float));
    if (both && bias)
        att_kernels_get()->axpy(both, 1, bias->value, (size_t)bias->count);
    *out = both;
    return both != NULL;
}

/* gates = x w + bias for all packed rows. */
static bool multiply_inputs(att_tape *tape, const att_node *node, const att_rnn_saved *saved,
                            const float *bias)
{
    const att_node *x = node->in[RNN_X];
    int64_t total = att_packed_sequence_total(&saved->sequence), depth = x->shape[2];
    float *packed = att_tape_alloc(tape, total * depth, sizeof(float));
    if (!packed)
        return false;
    att_packed_sequence_gather(&saved->sequence, packed, x->value, depth);
    return att_node_weights_matmul(tape, node->in[RNN_W], total, packed, saved->gates, bias);
}

/* x w + bias: into the gates, or as a table from which the steps take their rows. */
static bool multiply_inputs_or_table(att_tape *tape, const att_node *node,
                                     const att_rnn_saved *saved, att_rnn_input_table *table)
{
    const float *bias;
    if (!input_bias(tape, node, saved->cell, &bias))
        return false;
    if (att_rnn_input_table_pays(node->in[RNN_X], &saved->sequence))
        return att_rnn_input_table_make(tape, table, node, saved, bias);
    return multiply_inputs(tape, node, saved, bias);
}

static bool alloc_saved(att_tape *tape, att_rnn_saved *saved)
{
    int64_t total = att_packed_sequence_total(&saved->sequence), n = saved->hidden_size;
    saved->gates = att_tape_alloc(tape, total * n * saved->cell->gates, sizeof(float));
    saved->hidden = att_tape_alloc(tape, total * n, sizeof(float));
    if (saved->cell->separate_hidden_gates)
        saved->hidden_gates = att_tape_alloc(tape, total * n * saved->cell->gates, sizeof(float));
    return saved->gates && saved->hidden &&
           (saved->hidden_gates || !saved->cell->separate_hidden_gates);
}

/* The weights of the hidden state: panels of floats, or int8 and memory for quantized states. */
static bool prepare_hidden_weights(att_tape *tape, rnn_forward_context *run, const att_node *u)
{
    run->int8 = u->int8;
    if (!u->int8) {
        run->panels = att_node_packed_weights(tape, u, false);
        return run->panels != NULL;
    }
    size_t batch = (size_t)run->saved->sequence.batch, depth = u->int8->depth;
    void *block = att_tape_alloc(tape, (int64_t)att_int8_rows_size(batch, depth), 1);
    if (block)
        run->quantized = att_int8_rows_place(block, batch, depth);
    return block != NULL;
}

static bool run_all(att_tape *tape, att_node *node, const att_rnn_saved *saved)
{
    const att_node *bias_u = node->in[RNN_BIAS_U];
    rnn_forward_context run = { .saved = saved,
                                .bias_u = saved->cell->separate_hidden_gates && bias_u
                                              ? bias_u->value
                                              : NULL,
                                .value = node->value };
    if (!prepare_hidden_weights(tape, &run, node->in[RNN_U]) ||
        !multiply_inputs_or_table(tape, node, saved, &run.table))
        return false;
    /* Where the product h u has a single depth block, adding the table's row after the product has
     * the same bits as adding the product to the row, so the row need not be copied. */
    run.accumulates_into_gates = !saved->cell->separate_hidden_gates &&
                                 (!run.table.ids || saved->hidden_size > ATT_DEPTH_BLOCK);
    set_initial_state(saved, node->in[RNN_INITIAL_STATE]);
    double work = (double)saved->hidden_size * (double)saved->hidden_size * saved->cell->gates;
    return att_packed_sequence_parallel_for(tape, &saved->sequence, work, run_sequences, &run);
}

/* Steps beyond a sequence's length yield zeros. Writing to new memory takes long where the batch is
 * large. */
static void clear_unused(const att_node *node, const att_packed_sequence *sequence)
{
    int64_t n = att_node_last_dim(node);
    for (int64_t r = 0; r < sequence->batch && !att_progress_abandoned(); r++, att_progress_poll())
        memset(node->value +
                   (sequence->batch_row[r] * sequence->max_time + sequence->length[r]) * n,
               0, (size_t)((sequence->max_time - sequence->length[r]) * n) * sizeof(float));
}

static bool rnn_forward(att_tape *tape, att_node *node)
{
    const att_rnn_options *options = node->options;
    att_rnn_saved *saved = att_tape_alloc(tape, 1, sizeof *saved);
    if (!saved)
        return false;
    *saved = (att_rnn_saved){ .cell = att_rnn_cell_get(options->cell),
                              .hidden_size = att_node_last_dim(node) };
    node->saved = saved;
    if (!att_packed_sequence_make(tape, &saved->sequence, node->in[RNN_X], options->lengths,
                                  options->reverse))
        return false;
    int64_t states = saved->sequence.batch + att_packed_sequence_total(&saved->sequence);
    if (saved->cell->states > 1) {
        saved->cells = att_tape_alloc(tape, states * saved->hidden_size, sizeof(float));
        if (!saved->cells)
            return false;
    }
    att_memory_pool_mark mark = att_tape_mark(tape);
    if (!alloc_saved(tape, saved))
        return false;
    if (node->requires_grad)
        mark = att_tape_mark(tape); /* keep what was allocated so far */
    clear_unused(node, &saved->sequence);
    bool done = run_all(tape, node, saved);
    att_tape_release_to_mark(tape, mark);
    return done;
}

/* ---------------------------------------------------------------- the operation */

/* The reference also yields the final state; samples are small enough for the stack. */
static void rnn_truth(double *value, const att_node *node, const double *const *in)
{
    enum { MAX_STATE = 256 };
    double final_state[MAX_STATE];
    const att_reference_rnn_inputs inputs = att_rnn_truth_inputs(node, in);
    assert(inputs.batch * inputs.units * att_rnn_cell_states(inputs.cell) <= MAX_STATE);
    att_reference_rnn(value, final_state, &inputs);
}

const att_op att_op_rnn = {
    .name = "rnn",
    .options_size = sizeof(att_rnn_options),
    .shape = rnn_shape,
    .forward = rnn_forward,
    .backward = att_rnn_backward,
    .truth = rnn_truth,
    .rounding_steps = 200,
    .samples = att_rnn_samples,
    .sample_count = ATT_RNN_SAMPLE_COUNT,
    .reads_int8 = true,
};

att_node *att_rnn(att_tape *tape, const att_rnn_inputs *in, const att_rnn_options *options)
{
    if (!in->x)
        return NULL;
    att_rnn_options copy = *options;
    copy.lengths = att_tape_copy(tape, options->lengths, in->x->shape[0], sizeof *options->lengths);
    att_node *const inputs[RNN_INPUT_COUNT] = {
        [RNN_X] = in->x,       [RNN_W] = in->w,           [RNN_U] = in->u,
        [RNN_BIAS] = in->bias, [RNN_BIAS_U] = in->bias_u, [RNN_INITIAL_STATE] = in->initial_state
    };
    return att_op_apply(tape, &att_op_rnn, inputs, RNN_INPUT_COUNT, &copy);
}
