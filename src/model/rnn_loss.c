/* What the recurrent family learns from; see recurrent.h. */
#include "model/rnn.h"

#include <assert.h>
#include <string.h>

/* Adds up the losses of single tokens, in their order, and counts those that were foreseen. */
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

/* Alignments that were given teach attention directly. */
static att_node *add_alignment_loss(const att_rnn_decoder *walk, const att_batch *batch,
                                    att_node *loss)
{
    if (!batch->alignment || !walk->attention || !walk->network->attention.guided_alignment)
        return loss;
    att_node *aligned = att_guided_alignment_loss(walk->tape, walk->attention, batch->alignment);
    return att_add(walk->tape, loss,
                   att_scale(walk->tape, aligned, walk->network->guided_alignment_weight));
}

/* ---- a text: states carried from batch to batch */

static int64_t state_width(const att_rnn_network *parts)
{
    return att_rnn_cell_states(parts->decoder[0].cell) * parts->hidden_size;
}

int64_t att_rnn_carried_state_size(const att_model *model)
{
    const att_rnn_network *parts = model->network;
    return parts->layers * state_width(parts);
}

/* Puts the walk where the rows of the batch before ended. */
static void load_carried_state(att_rnn_decoder *walk, const att_carried_state *carried)
{
    int64_t width = state_width(walk->network);
    assert(walk->rows <= carried->rows);
    for (int i = 0; i < walk->network->layers; i++) {
        att_node *state = att_tape_input(walk->tape, 2, (int64_t[]){ walk->rows, width }, NULL);
        for (int64_t r = 0; state && r < walk->rows; r++)
            memcpy(state->value + r * width, carried->states + r * carried->width + i * width,
                   (size_t)width * sizeof *carried->states);
        walk->state[i] = state;
    }
}

/* Keeps where the rows are now. */
static void save_carried_state(const att_rnn_decoder *walk, att_carried_state *carried)
{
    int64_t width = state_width(walk->network);
    assert(walk->rows <= carried->max_rows);
    if (att_tape_status(walk->tape, NULL) != ATT_OK)
        return;
    carried->rows = walk->rows;
    for (int i = 0; i < walk->network->layers; i++)
        for (int64_t r = 0; r < walk->rows; r++)
            memcpy(carried->states + r * carried->width + i * width,
                   walk->state[i]->value + r * width, (size_t)width * sizeof *carried->states);
}

att_node *att_rnn_network_loss(const att_model *model, att_tape *tape, const att_batch *batch,
                               const att_loss_options *lesson, att_loss_result *result)
{
    att_rnn_decoder walk = { .network = model->network,
                             .tape = tape,
                             .lengths = batch->target_lengths,
                             .loss_options = lesson,
                             .pair_index = batch->pair_index };
    const att_sources sources = att_batch_sources(batch);
    att_carried_state *carried = lesson ? lesson->carried_state : NULL;
    walk.network->encode(&walk, &sources);
    if (carried && batch->continues_previous)
        load_carried_state(&walk, carried);
    att_node *readouts = att_rnn_decoder_run(&walk, batch->target_in, batch->target_length);
    if (carried)
        save_carried_state(&walk, carried);
    att_node *scores = att_rnn_decoder_logits(&walk, readouts, 0);
    float *losses = att_tape_alloc(tape, batch->rows * batch->target_length, sizeof *losses);
    if (!losses)
        return NULL;
    att_node *loss = att_cross_entropy(tape, scores, batch->target_out,
                                       lesson ? lesson->label_smoothing : 0, losses);
    if (loss && result)
        accumulate_loss(result, batch, scores, losses);
    return add_alignment_loss(&walk, batch, loss);
}
