/* The RNN decoder over a target: teacher forcing, scheduled sampling. Training and step-wise
 * decoding both call att_rnn_decoder_run(): a step alone computes the same bits as a step among
 * others. */
#include "model/rnn.h"

#include "base/random.h"
#include "model/copying.h"

#include <string.h>

/* Runs all layers over x [B,count,…]: the hidden states of the last. */
static att_node *run_layers(att_rnn_decoder *pass, att_node *x, const int64_t *lengths)
{
    const att_rnn_network *parts = pass->network;
    for (int i = 0; i < parts->layers; i++) {
        if (i > 0)
            x = att_dropout(pass->tape, x, parts->dropout,
                            att_dropout_stream(ATT_DROPOUT_LAYER, parts->layers + i) +
                                (uint64_t)pass->position);
        x = att_rnn_layer_run(
            &parts->decoder[i], pass->tape, x,
            &(att_rnn_layer_input){ .initial_state = pass->state[i], .lengths = lengths });
        att_tape_name_layer(pass->tape, x, "decoder layer", i + 1);
        pass->state[i] = att_rnn_final_state(pass->tape, x);
    }
    return x;
}

/* The context vectors of `count` queries [B,count,N]. */
static att_node *compute_context(att_rnn_decoder *pass, att_node *query, int64_t count)
{
    if (pass->network->fixed_context)
        return att_expand(pass->tape, pass->encoder_final_state, count);
    att_decoder_attention_step step = { .want_weights = pass->want_attention,
                                        .coverage = pass->coverage };
    att_decoder_attention_run(&pass->network->attention, pass->tape, &pass->memory, query, &step);
    pass->coverage = step.coverage;
    pass->attention = step.weights;
    return att_tape_name_layer(pass->tape, step.context, "decoder attention", 0);
}

/* The attentional hidden state (handout 003), or the hidden state itself. */
static att_node *compute_readout(att_rnn_decoder *pass, att_node *hidden, int64_t count)
{
    const att_rnn_network *parts = pass->network;
    att_tape *tape = pass->tape;
    if (parts->readout_w != ATT_NO_PARAM) {
        att_node *both[] = { compute_context(pass, hidden, count), hidden };
        return att_linear(tape, att_concat(tape, both, 2), att_tape_param(tape, parts->readout_w),
                          NULL, ATT_ACTIVATION_TANH, false);
    }
    if (parts->projection_w == ATT_NO_PARAM)
        return hidden;
    return att_linear(tape, hidden, att_tape_param(tape, parts->projection_w), NULL,
                      ATT_ACTIVATION_NONE, false);
}

/* The last layer's hidden state before the step, as a query [B,1,N]: s_{t-1} of handout 004. */
static att_node *state_query(att_rnn_decoder *pass)
{
    const att_rnn_network *parts = pass->network;
    att_node *hidden = att_slice(pass->tape, pass->state[parts->layers - 1], 0, parts->hidden_size);
    return att_reshape(pass->tape, hidden, 3, (int64_t[]){ pass->rows, 1, parts->hidden_size });
}

/* The readout of the step before, [B,1,R]. */
static att_node *previous_readout(att_rnn_decoder *pass)
{
    if (pass->readout)
        return pass->readout;
    return att_tape_input(pass->tape, 3, (int64_t[]){ pass->rows, 1, pass->network->readout_size },
                          NULL);
}

/* Runs `count` steps at once; the input of a step may not depend on the step before. */
static att_node *run_steps(att_rnn_decoder *pass, const int32_t *tokens, int64_t count)
{
    const att_rnn_network *parts = pass->network;
    att_tape *tape = pass->tape;
    pass->attention = NULL;
    att_node *x = att_embedding_run(&parts->target_embedding, tape, pass->rows, count, tokens,
                                    pass->position);
    att_tape_name_layer(tape, x, "target embedding", 0);
    if (parts->context_at_input)
        x = att_concat(tape, (att_node *[]){ x, compute_context(pass, state_query(pass), count) },
                       2);
    if (parts->readout_at_input)
        x = att_concat(tape, (att_node *[]){ x, previous_readout(pass) }, 2);
    pass->hidden = run_layers(pass, x, count > 1 ? pass->lengths : NULL);
    att_node *readout = compute_readout(pass, pass->hidden, count);
    att_tape_name_layer(tape, readout, "readout", 0);
    pass->position += count;
    if (parts->readout_at_input)
        pass->readout = readout;
    return readout;
}

static bool needs_single_steps(const att_rnn_decoder *pass)
{
    const att_rnn_network *parts = pass->network;
    bool samples = pass->loss_options && pass->loss_options->scheduled_sampling > 0;
    return samples || parts->readout_at_input || (parts->context_at_input && parts->has_attention);
}

/* The most probable token of each row after a step, as the decoder reads it; NULL on failure. */
static const int32_t *predict_tokens(const att_rnn_decoder *pass, att_node *readout)
{
    att_tape *tape = pass->tape;
    att_node *scores = att_rnn_decoder_logits(pass, readout, pass->position - 1);
    int64_t *rows = att_tape_alloc(tape, pass->rows, sizeof *rows);
    int32_t *best = att_tape_alloc(tape, pass->rows, sizeof *best);
    if (!scores || !rows || !best)
        return NULL;
    for (int64_t r = 0; r < pass->rows; r++) {
        rows[r] = r;
        best[r] = att_argmax(scores->value + r * scores->shape[2], scores->shape[2]);
    }
    if (!pass->copy)
        return best;
    const att_copy_inputs in = att_rnn_decoder_copy_inputs(pass, scores, readout);
    const int32_t *copied = att_copy_argmax(tape, &in, pass->copy, rows);
    return copied ? att_copy_decoder_input(tape, pass->copy, copied, pass->rows) : NULL;
}

/* Scheduled sampling (Bengio et al. 2015): replaces tokens [B] of this step by the model's
 * predictions of the step before, each with the given probability. The random numbers depend on the
 * pair, not on the batch. */
static void apply_scheduled_sampling(att_rnn_decoder *pass, int32_t *tokens, att_node *readout)
{
    const att_loss_options *options = pass->loss_options;
    if (!options || !(options->scheduled_sampling > 0) || !readout)
        return;
    const int32_t *predicted = predict_tokens(pass, readout);
    if (!predicted)
        return;
    uint64_t stream = 0x6f776e0000000000u + options->step; /* "own" */
    for (int64_t r = 0; r < pass->rows; r++) {
        uint64_t index = ((uint64_t)pass->pair_index[r] << 24) + (uint64_t)pass->position;
        if (tokens[r] != ATT_ID_PAD &&
            att_random_float(options->seed, stream, index) < options->scheduled_sampling)
            tokens[r] = predicted[r];
    }
}

/* Stacks the [B,1,n] nodes of `count` steps into one [B,count,n]. */
static att_node *stack_steps(att_tape *tape, att_node **steps, int64_t count)
{
    for (int64_t t = 0; t < count; t++) {
        if (!steps[t])
            return NULL;
        steps[t] =
            att_reshape(tape, steps[t], 2, (int64_t[]){ steps[t]->shape[0], steps[t]->shape[2] });
    }
    return att_stack(tape, steps, count);
}

static att_node *run_step_by_step(att_rnn_decoder *pass, const int32_t *tokens, int64_t count)
{
    att_tape *tape = pass->tape;
    att_node **readouts = att_tape_alloc(tape, count, sizeof *readouts);
    att_node **weights = att_tape_alloc(tape, count, sizeof *weights);
    int32_t *column = att_tape_alloc(tape, pass->rows, sizeof *column);
    if (!readouts || !weights || !column)
        return NULL;
    for (int64_t t = 0; t < count; t++) {
        for (int64_t r = 0; r < pass->rows; r++)
            column[r] = tokens[r * count + t];
        if (t > 0)
            apply_scheduled_sampling(pass, column, readouts[t - 1]);
        readouts[t] = run_steps(pass, column, 1);
        weights[t] = pass->attention;
    }
    pass->attention = stack_steps(tape, weights, count);
    return stack_steps(tape, readouts, count);
}

att_node *att_rnn_decoder_run(att_rnn_decoder *pass, const int32_t *tokens, int64_t count)
{
    if (att_tape_status(pass->tape, NULL) != ATT_OK)
        return NULL;
    if (count > 1 && needs_single_steps(pass))
        return run_step_by_step(pass, tokens, count);
    return run_steps(pass, tokens, count);
}

att_copy_inputs att_rnn_decoder_copy_inputs(const att_rnn_decoder *pass, att_node *logits,
                                            att_node *readouts)
{
    return (att_copy_inputs){
        .logits = logits,
        .gate = att_copy_layer_gate(&pass->network->copy, pass->tape, readouts),
        .weights = pass->attention,
    };
}

att_output_weights att_rnn_output_weights(const att_rnn_network *parts)
{
    bool tied = parts->output_w == ATT_NO_PARAM;
    return (att_output_weights){ .w = tied ? parts->target_embedding.table : parts->output_w,
                                 .bias = parts->output_b,
                                 .transposed = tied };
}

att_node *att_rnn_decoder_logits(const att_rnn_decoder *pass, att_node *readouts, int64_t first)
{
    const att_rnn_network *parts = pass->network;
    att_tape *tape = pass->tape;
    const att_output_weights layer = att_rnn_output_weights(parts);
    att_node *x = att_dropout(tape, readouts, parts->dropout,
                              att_dropout_stream(ATT_DROPOUT_OUTPUT, 0) + (uint64_t)first);
    x = att_linear(tape, x, att_tape_param(tape, layer.w), att_tape_param(tape, layer.bias),
                   ATT_ACTIVATION_NONE, layer.transposed);
    return att_tape_name_layer(tape, x, "output layer", 0);
}
