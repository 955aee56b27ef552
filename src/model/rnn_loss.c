/* The loss of RNN models with teacher forcing, and truncated BPTT for language models. */
#include "model/rnn.h"

#include "model/copying.h"

#include <assert.h>
#include <string.h>

/* Sums the losses of the tokens in order, and counts those predicted correctly. */
static void accumulate_loss(att_loss_result *result, const att_batch *batch, const att_node *scores,
                            const float *losses)
{
    int64_t cells = batch->rows * batch->target_length, vocabulary = scores->shape[2];
    for (int64_t i = 0; i < cells; i++) {
        int32_t target = batch->target_out[i];
        if (target < 0)
            continue;
        att_loss_result_add(result, i / batch->target_length, losses[i], target,
                            att_argmax(scores->value + i * vocabulary, vocabulary) == target);
    }
}

/* The same for a model that copies, whose predictions are known. */
static void accumulate_copy_loss(att_loss_result *result, const att_batch *batch,
                                 const float *losses, const bool *predicted)
{
    for (int64_t i = 0; i < batch->rows * batch->target_length; i++)
        if (batch->target_out[i] >= 0)
            att_loss_result_add(result, i / batch->target_length, losses[i], batch->target_out[i],
                                predicted[i]);
}

static att_node *copy_loss(const att_rnn_decoder *pass, att_node *scores, att_node *readouts,
                           const att_batch *batch, float label_smoothing, att_loss_result *result)
{
    att_tape *tape = pass->tape;
    int64_t cells = batch->rows * batch->target_length;
    int64_t *source_of = att_tape_alloc(tape, cells, sizeof *source_of);
    float *losses = att_tape_alloc(tape, cells, sizeof *losses);
    bool *predicted = att_tape_alloc(tape, cells, sizeof *predicted);
    if (!pass->copy || !source_of || !losses || !predicted)
        return NULL;
    for (int64_t i = 0; i < cells; i++)
        source_of[i] = i / batch->target_length;
    const att_copy_inputs in = att_rnn_decoder_copy_inputs(pass, scores, readouts);
    att_node *loss = att_copy_loss(tape, &in, pass->copy, source_of, batch->target_out,
                                   label_smoothing, losses, result ? predicted : NULL);
    if (loss && result && att_tape_status(tape, NULL) == ATT_OK)
        accumulate_copy_loss(result, batch, losses, predicted);
    return loss;
}

static att_node *generation_loss(const att_rnn_decoder *pass, att_node *scores,
                                 const att_batch *batch, att_loss_terms terms,
                                 att_loss_result *result)
{
    float *losses = att_tape_alloc(pass->tape, batch->rows * batch->target_length, sizeof *losses);
    if (!losses)
        return NULL;
    att_node *loss = att_cross_entropy(pass->tape, scores, batch->target_out, terms, losses);
    if (loss && result)
        accumulate_loss(result, batch, scores, losses);
    return loss;
}

/* Guided alignment: attention is trained on the given alignments directly. */
static att_node *add_alignment_loss(const att_rnn_decoder *pass, const att_batch *batch,
                                    att_node *loss)
{
    if (!batch->alignment || !pass->attention || !pass->network->attention.guided_alignment)
        return loss;
    att_node *aligned = att_guided_alignment_loss(pass->tape, pass->attention, batch->alignment);
    return att_add(pass->tape, loss,
                   att_scale(pass->tape, aligned, pass->network->guided_alignment_weight));
}

/* ---- truncated BPTT: states carried from batch to batch */

static int64_t state_width(const att_rnn_network *parts)
{
    return att_rnn_cell_states(parts->decoder[0].cell) * parts->hidden_size;
}

int64_t att_rnn_carried_state_size(const att_model *model)
{
    const att_rnn_network *parts = model->network;
    return parts->layers * state_width(parts);
}

/* Sets the initial states to the final states of the batch before. */
static void load_carried_state(att_rnn_decoder *pass, const att_carried_state *carried)
{
    int64_t width = state_width(pass->network);
    assert(pass->rows <= carried->rows);
    for (int i = 0; i < pass->network->layers; i++) {
        att_node *state = att_tape_input(pass->tape, 2, (int64_t[]){ pass->rows, width }, NULL);
        for (int64_t r = 0; state && r < pass->rows; r++)
            memcpy(state->value + r * width, carried->states + r * carried->width + i * width,
                   (size_t)width * sizeof *carried->states);
        pass->state[i] = state;
    }
}

/* Saves the final states for the next batch. */
static void save_carried_state(const att_rnn_decoder *pass, att_carried_state *carried)
{
    int64_t width = state_width(pass->network);
    assert(pass->rows <= carried->max_rows);
    if (att_tape_status(pass->tape, NULL) != ATT_OK)
        return;
    carried->rows = pass->rows;
    for (int i = 0; i < pass->network->layers; i++)
        for (int64_t r = 0; r < pass->rows; r++)
            memcpy(carried->states + r * carried->width + i * width,
                   pass->state[i]->value + r * width, (size_t)width * sizeof *carried->states);
}

att_node *att_rnn_network_loss(const att_model *model, att_tape *tape, const att_batch *batch,
                               const att_loss_options *options, att_loss_result *result)
{
    att_rnn_decoder pass = { .network = model->network,
                             .tape = tape,
                             .lengths = batch->target_lengths,
                             .loss_options = options,
                             .pair_index = batch->pair_index };
    const att_sources sources = att_batch_sources(batch);
    att_carried_state *carried = options ? options->carried_state : NULL;
    if (pass.network->copy.enabled)
        pass.copy = att_copy_index_on_tape(tape, model, &sources);
    pass.network->encode(&pass, &sources);
    if (carried && batch->continues_previous)
        load_carried_state(&pass, carried);
    att_node *readouts = att_rnn_decoder_run(&pass, batch->target_in, batch->target_length);
    if (carried)
        save_carried_state(&pass, carried);
    att_node *scores = att_rnn_decoder_logits(&pass, readouts, 0);
    const att_loss_terms terms = att_loss_terms_of(options);
    att_node *loss = pass.network->copy.enabled
                         ? copy_loss(&pass, scores, readouts, batch, terms.label_smoothing, result)
                         : generation_loss(&pass, scores, batch, terms, result);
    return add_alignment_loss(&pass, batch, loss);
}
