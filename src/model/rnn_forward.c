/* The recurrent family's decoder going along a target; see recurrent.h.
 *
 * Training and decoding both come through att_rnn_decoder_run(): a step on its own does exactly
 * what it does among others, so its result has the same bits. */
#include "model/rnn.h"

#include "base/random.h"

#include <string.h>

/* All layers over x [B,count,…]: the states of the last. */
static att_node *run_layers(att_rnn_decoder *walk, att_node *x, const int64_t *lengths)
{
    const att_rnn_network *parts = walk->network;
    for (int i = 0; i < parts->layers; i++) {
        if (i > 0)
            x = att_dropout(walk->tape, x, parts->dropout,
                            att_dropout_stream(ATT_DROPOUT_LAYER, parts->layers + i) +
                                (uint64_t)walk->position);
        x = att_rnn_layer_run(
            &parts->decoder[i], walk->tape, x,
            &(att_rnn_layer_input){ .initial_state = walk->state[i], .lengths = lengths });
        walk->state[i] = att_rnn_final_state(walk->tape, x);
    }
    return x;
}

/* The context for each of `count` queries [B,count,N]. */
static att_node *compute_context(att_rnn_decoder *walk, att_node *query, int64_t count)
{
    if (walk->network->fixed_context)
        return att_expand(walk->tape, walk->encoder_final_state, count);
    att_decoder_attention_step look = { .want_weights = walk->want_attention,
                                        .coverage = walk->coverage };
    att_decoder_attention_run(&walk->network->attention, walk->tape, &walk->memory, query, &look);
    walk->coverage = look.coverage;
    walk->attention = look.weights;
    return look.context;
}

/* The attentional hidden state (handout 003), or the state itself. */
static att_node *compute_readout(att_rnn_decoder *walk, att_node *hidden, int64_t count)
{
    const att_rnn_network *parts = walk->network;
    att_tape *tape = walk->tape;
    if (parts->readout_w != ATT_NO_PARAM) {
        att_node *both[] = { compute_context(walk, hidden, count), hidden };
        return att_linear(tape, att_concat(tape, both, 2), att_tape_param(tape, parts->readout_w),
                          NULL, ATT_ACTIVATION_TANH, false);
    }
    if (parts->projection_w == ATT_NO_PARAM)
        return hidden;
    return att_linear(tape, hidden, att_tape_param(tape, parts->projection_w), NULL,
                      ATT_ACTIVATION_NONE, false);
}

/* The last layer's hidden state before the step, as a query [B,1,N]: s_{t-1} of handout 004. */
static att_node *state_query(att_rnn_decoder *walk)
{
    const att_rnn_network *parts = walk->network;
    att_node *hidden = att_slice(walk->tape, walk->state[parts->layers - 1], 0, parts->hidden_size);
    return att_reshape(walk->tape, hidden, 3, (int64_t[]){ walk->rows, 1, parts->hidden_size });
}

/* The readout of the step before, [B,1,R]. */
static att_node *previous_readout(att_rnn_decoder *walk)
{
    if (walk->readout)
        return walk->readout;
    return att_tape_input(walk->tape, 3, (int64_t[]){ walk->rows, 1, walk->network->readout_size },
                          NULL);
}

/* `count` steps, all at once where one step's input does not hang on the step before. */
static att_node *run_steps(att_rnn_decoder *walk, const int32_t *tokens, int64_t count)
{
    const att_rnn_network *parts = walk->network;
    att_tape *tape = walk->tape;
    walk->attention = NULL;
    att_node *x = att_embedding_run(&parts->target_embedding, tape, walk->rows, count, tokens,
                                    walk->position);
    if (parts->context_at_input)
        x = att_concat(tape, (att_node *[]){ x, compute_context(walk, state_query(walk), count) },
                       2);
    if (parts->readout_at_input)
        x = att_concat(tape, (att_node *[]){ x, previous_readout(walk) }, 2);
    walk->hidden = run_layers(walk, x, count > 1 ? walk->lengths : NULL);
    att_node *readout = compute_readout(walk, walk->hidden, count);
    walk->position += count;
    if (parts->readout_at_input)
        walk->readout = readout;
    return readout;
}

static bool needs_single_steps(const att_rnn_decoder *walk)
{
    const att_rnn_network *parts = walk->network;
    bool samples = walk->loss_options && walk->loss_options->scheduled_sampling > 0;
    return samples || parts->readout_at_input || (parts->context_at_input && parts->has_attention);
}

/* Replaces tokens [B] of this step by the model's own predictions of the step before, each with the
 * probability that the lesson gives (Bengio et al. 2015, "Scheduled sampling"). A pair's draws are
 * its own, whatever the batch. */
static void apply_scheduled_sampling(att_rnn_decoder *walk, int32_t *tokens, att_node *readout)
{
    const att_loss_options *lesson = walk->loss_options;
    if (!lesson || !(lesson->scheduled_sampling > 0) || !readout)
        return;
    att_node *scores = att_rnn_decoder_logits(walk, readout, walk->position - 1);
    if (!scores)
        return;
    int64_t vocabulary = scores->shape[2];
    uint64_t stream = 0x6f776e0000000000u + lesson->step; /* "own" */
    for (int64_t r = 0; r < walk->rows; r++) {
        uint64_t index = ((uint64_t)walk->pair_index[r] << 24) + (uint64_t)walk->position;
        if (tokens[r] != ATT_ID_PAD &&
            att_random_float(lesson->seed, stream, index) < lesson->scheduled_sampling)
            tokens[r] = att_argmax(scores->value + r * vocabulary, vocabulary);
    }
}

/* [B,1,n] nodes of `count` steps as one [B,count,n]. */
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

static att_node *run_step_by_step(att_rnn_decoder *walk, const int32_t *tokens, int64_t count)
{
    att_tape *tape = walk->tape;
    att_node **readouts = att_tape_alloc(tape, count, sizeof *readouts);
    att_node **weights = att_tape_alloc(tape, count, sizeof *weights);
    int32_t *column = att_tape_alloc(tape, walk->rows, sizeof *column);
    if (!readouts || !weights || !column)
        return NULL;
    for (int64_t t = 0; t < count; t++) {
        for (int64_t r = 0; r < walk->rows; r++)
            column[r] = tokens[r * count + t];
        if (t > 0)
            apply_scheduled_sampling(walk, column, readouts[t - 1]);
        readouts[t] = run_steps(walk, column, 1);
        weights[t] = walk->attention;
    }
    walk->attention = stack_steps(tape, weights, count);
    return stack_steps(tape, readouts, count);
}

att_node *att_rnn_decoder_run(att_rnn_decoder *walk, const int32_t *tokens, int64_t count)
{
    if (att_tape_status(walk->tape, NULL) != ATT_OK)
        return NULL;
    if (count > 1 && needs_single_steps(walk))
        return run_step_by_step(walk, tokens, count);
    return run_steps(walk, tokens, count);
}

att_node *att_rnn_decoder_logits(const att_rnn_decoder *walk, att_node *readouts, int64_t first)
{
    const att_rnn_network *parts = walk->network;
    att_tape *tape = walk->tape;
    bool tied = parts->output_w == ATT_NO_PARAM;
    att_node *x = att_dropout(tape, readouts, parts->dropout,
                              att_dropout_stream(ATT_DROPOUT_OUTPUT, 0) + (uint64_t)first);
    return att_linear(tape, x,
                      att_tape_param(tape, tied ? parts->target_embedding.table : parts->output_w),
                      att_tape_param(tape, parts->output_b), ATT_ACTIVATION_NONE, tied);
}
