/* A whole recurrent layer as one operation: the products of all inputs at once, then threads share
 * the sequences, and each takes its sequences through all their steps. */
#include "tape/rnn.h"

#include <string.h>

static bool check_lengths(att_tape *tape, const att_node *node)
{
    const att_rnn_options *options = node->options;
    const att_node *x = node->in[RNN_X];
    for (int64_t b = 0; options->lengths && b < x->shape[0]; b++)
        if (options->lengths[b] < 0 || options->lengths[b] > x->shape[1]) {
            att_tape_fail(tape, "recur", "sequence %lld has length %lld, but x has %lld steps",
                          (long long)b, (long long)options->lengths[b], (long long)x->shape[1]);
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
        [RNN_INITIAL_STATE] = { "start",
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

/* What the steps need besides what is kept. */
typedef struct rnn_forward_context {
    const att_rnn_saved *kept;
    att_rnn_input_table table;
    const float *panels;         /* of u */
    const float *bias_u;         /* of a kind that keeps h u apart, or NULL */
    float *value;                /* [B,T,N] */
    bool accumulates_into_gates; /* h u is added to gates that have x w already */
} rnn_forward_context;

/* Hands a hidden state on to the sequence's next step, if it has one. */
static void pass_hidden(const att_rnn_saved *saved, int64_t s, int64_t rank, const float *hidden)
{
    int64_t n = saved->hidden_size;
    if (rank < att_packed_sequence_batch_size(&saved->sequence, s + 1))
        memcpy(saved->hidden + (saved->sequence.step_offset[s + 1] + rank) * n, hidden,
               (size_t)n * sizeof(float));
}

/* Puts rows of the table into the gates at step s. */
static void load_table_rows(const rnn_forward_context *run, int64_t s, int64_t first, int64_t past)
{
    const att_rnn_saved *saved = run->kept;
    int64_t wide = saved->cell->gates * saved->hidden_size, begin = saved->sequence.step_offset[s];
    for (int64_t at = begin + first; at < begin + past; at++)
        memcpy(saved->gates + at * wide, att_rnn_input_table_row(&run->table, at, wide),
               (size_t)wide * sizeof(float));
}

static void run_step(const rnn_forward_context *run, const att_kernels *kernels, int64_t s,
                     int64_t first, int64_t past)
{
    const att_rnn_saved *saved = run->kept;
    const att_rnn_cell_impl *kind = saved->cell;
    att_rnn_step at = att_rnn_saved_step(saved, s, first);
    int64_t wide = kind->gates * saved->hidden_size;
    if (run->table.ids && run->accumulates_into_gates)
        load_table_rows(run, s, first, past);
    att_panel_matmul_run(
        kernels, &(att_panel_matmul){ .c = kind->separate_hidden_gates ? at.hidden_gates : at.gates,
                                      .a = at.prev_hidden,
                                      .panels = run->panels,
                                      .bias = run->bias_u,
                                      .rows = past - first,
                                      .columns = wide,
                                      .depth = saved->hidden_size,
                                      .accumulate = run->accumulates_into_gates });
    for (int64_t r = first; r < past; r++) {
        float *hidden =
            run->value + att_packed_sequence_index(&saved->sequence, s, r) * saved->hidden_size;
        at = att_rnn_saved_step(saved, s, r);
        if (run->table.ids && !run->accumulates_into_gates)
            at.input_gates =
                att_rnn_input_table_row(&run->table, saved->sequence.step_offset[s] + r, wide);
        kind->forward(kernels, &at, hidden);
        pass_hidden(saved, s, r, hidden);
    }
}

static void run_sequences(void *context, int64_t first, int64_t past)
{
    const rnn_forward_context *run = context;
    const att_kernels *kernels = att_kernels_get();
    const att_packed_sequence *steps = &run->kept->sequence;
    int64_t max = att_rnn_rows_per_block(run->kept);
    for (int64_t s = 0; s < steps->steps && first < past; s++) {
        int64_t alive = att_packed_sequence_batch_size(steps, s);
        past = alive < past ? alive : past;
        for (int64_t r = first; r < past; r += max)
            run_step(run, kernels, s, r, past - r > max ? r + max : past);
    }
}

/* Where the sequences start: hidden states before step 0, and cells. */
static void set_initial_state(const att_rnn_saved *saved, const att_node *start)
{
    const att_packed_sequence *steps = &saved->sequence;
    size_t n = (size_t)saved->hidden_size, states = (size_t)saved->cell->states;
    for (int64_t r = 0; r < steps->batch; r++) {
        const float *from = start ? start->value + (size_t)steps->batch_row[r] * states * n : NULL;
        float *to[2] = { r < att_packed_sequence_batch_size(steps, 0)
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

/* The bias of the gates: both added up, unless the cell keeps h u apart. */
static bool input_bias(att_tape *tape, const att_node *node, const att_rnn_cell_impl *kind,
                       const float **out)
{
    const att_node *bias = node->in[RNN_BIAS], *bias_u = node->in[RNN_BIAS_U];
    *out = bias ? bias->value : NULL;
    if (kind->separate_hidden_gates || !bias_u)
        return true;
    float *both = att_tape_copy(tape, bias_u->value, bias_u->count, sizeof(float));
    if (both && bias)
        att_kernels_get()->axpy(both, 1, bias->value, (size_t)bias->count);
    *out = both;
    return both != NULL;
}

/* gates = x w + bias, for all steps of all sequences. */
static bool multiply_inputs(att_tape *tape, const att_node *node, const att_rnn_saved *saved,
                            const float *panels, const float *bias)
{
    const att_node *x = node->in[RNN_X];
    int64_t total = att_packed_sequence_total(&saved->sequence), depth = x->shape[2];
    size_t wide = (size_t)(saved->cell->gates * saved->hidden_size);
    float *packed = att_tape_alloc(tape, total * depth, sizeof(float));
    if (!packed)
        return false;
    att_packed_sequence_gather(&saved->sequence, packed, x->value, depth);
    return att_tape_matmul(tape, &(att_matmul_call){ .batch = 1,
                                                     .rows = (size_t)total,
                                                     .columns = wide,
                                                     .depth = (size_t)depth,
                                                     .a = packed,
                                                     .a_row_stride = (size_t)depth,
                                                     .a_column_stride = 1,
                                                     .panels = panels,
                                                     .c = saved->gates,
                                                     .c_row_stride = wide,
                                                     .bias = bias });
}

/* What the inputs give to the gates: put there, or a table for the steps to take it from. */
static bool add_inputs(att_tape *tape, const att_node *node, const att_rnn_saved *saved,
                       att_rnn_input_table *table)
{
    const float *panels = att_node_packed_weights(tape, node->in[RNN_W], false), *bias;
    if (!panels || !input_bias(tape, node, saved->cell, &bias))
        return false;
    if (att_rnn_input_table_pays(node->in[RNN_X], &saved->sequence))
        return att_rnn_input_table_make(tape, table, node, saved, panels, bias);
    return multiply_inputs(tape, node, saved, panels, bias);
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

static bool run_all(att_tape *tape, att_node *node, const att_rnn_saved *saved)
{
    const att_node *bias_u = node->in[RNN_BIAS_U];
    rnn_forward_context run = { .kept = saved,
                                .panels = att_node_packed_weights(tape, node->in[RNN_U], false),
                                .bias_u = saved->cell->separate_hidden_gates && bias_u
                                              ? bias_u->value
                                              : NULL,
                                .value = node->value };
    if (!run.panels || !add_inputs(tape, node, saved, &run.table))
        return false;
    /* A row of a table need not be copied into the gates where the sum of h u has one block only:
     * adding it before that or after is the same. */
    run.accumulates_into_gates = !saved->cell->separate_hidden_gates &&
                                 (!run.table.ids || saved->hidden_size > ATT_DEPTH_BLOCK);
    set_initial_state(saved, node->in[RNN_INITIAL_STATE]);
    double work = (double)saved->hidden_size * (double)saved->hidden_size * saved->cell->gates;
    return att_packed_sequence_parallel_for(tape, &saved->sequence, work, run_sequences, &run);
}

/* Steps beyond a sequence's length give zeros. */
static void clear_unused(const att_node *node, const att_packed_sequence *steps)
{
    int64_t n = att_node_last_dim(node);
    for (int64_t r = 0; r < steps->batch; r++)
        memset(node->value + (steps->batch_row[r] * steps->max_time + steps->length[r]) * n, 0,
               (size_t)((steps->max_time - steps->length[r]) * n) * sizeof(float));
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
    if (!att_packed_sequence_make(tape, &saved->sequence, node->in[RNN_X], options))
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
        mark = att_tape_mark(tape); /* what was taken so far stays */
    clear_unused(node, &saved->sequence);
    bool done = run_all(tape, node, saved);
    att_tape_release_to_mark(tape, mark);
    return done;
}

/* ---------------------------------------------------------------- the operation */

static void rnn_truth(double *value, const att_node *node, const double *const *in)
{
    const att_node *x = node->in[RNN_X];
    const int64_t sizes[] = { x->shape[0], x->shape[1], x->shape[2], att_node_last_dim(node) };
    att_reference_rnn(value, NULL, node->options, sizes, in);
}

const att_op att_op_rnn = {
    .name = "recur",
    .options_size = sizeof(att_rnn_options),
    .shape = rnn_shape,
    .forward = rnn_forward,
    .backward = att_rnn_backward,
    .truth = rnn_truth,
    .rounding_steps = 200,
    .samples = att_rnn_samples,
    .sample_count = ATT_RNN_SAMPLE_COUNT,
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
