/* What the recurrent family learns from; see recurrent.h. */
#include "model/recurrent.h"

#include <assert.h>
#include <string.h>

/* Adds up the losses of single tokens, in their order, and counts those that were foreseen. */
static void add_up(att_lesson_result *result, const att_batch *batch, const att_node *scores,
                   const float *losses)
{
    int64_t cells = batch->rows * batch->target_length, vocabulary = scores->shape[2];
    for (int64_t i = 0; i < cells; i++) {
        int32_t target = batch->target_out[i];
        if (target < 0)
            continue;
        att_lesson_add(result, i / batch->target_length, losses[i], target,
                       att_largest_place(scores->value + i * vocabulary, vocabulary) == target);
    }
}

/* Alignments that were given teach attention directly. */
static att_node *with_alignments(const att_walk *walk, const att_batch *batch, att_node *loss)
{
    if (!batch->align || !walk->weights || !walk->parts->glimpse.teaches)
        return loss;
    att_node *aligned = att_alignment_loss(walk->tape, walk->weights, batch->align);
    return att_add(walk->tape, loss, att_scale(walk->tape, aligned, walk->parts->align_weight));
}

/* ---- a text: states carried from batch to batch */

static int64_t state_width(const att_recurrent_parts *parts)
{
    return att_cell_states(parts->decoder[0].cell) * parts->width;
}

int64_t att_recurrent_carries(const att_model *model)
{
    const att_recurrent_parts *parts = model->parts;
    return parts->layers * state_width(parts);
}

/* Puts the walk where the rows of the batch before ended. */
static void take_up(att_walk *walk, const att_carried *carried)
{
    int64_t width = state_width(walk->parts);
    assert(walk->rows <= carried->rows);
    for (int i = 0; i < walk->parts->layers; i++) {
        att_node *state = att_tape_input(walk->tape, 2, (int64_t[]){ walk->rows, width }, NULL);
        for (int64_t r = 0; state && r < walk->rows; r++)
            memcpy(state->value + r * width, carried->states + r * carried->width + i * width,
                   (size_t)width * sizeof *carried->states);
        walk->state[i] = state;
    }
}

/* Keeps where the rows are now. */
static void leave(const att_walk *walk, att_carried *carried)
{
    int64_t width = state_width(walk->parts);
    assert(walk->rows <= carried->most);
    if (att_tape_status(walk->tape, NULL) != ATT_OK)
        return;
    carried->rows = walk->rows;
    for (int i = 0; i < walk->parts->layers; i++)
        for (int64_t r = 0; r < walk->rows; r++)
            memcpy(carried->states + r * carried->width + i * width,
                   walk->state[i]->value + r * width, (size_t)width * sizeof *carried->states);
}

att_node *att_recurrent_loss(att_model *model, att_tape *tape, const att_batch *batch,
                             const att_lesson *lesson, att_lesson_result *result)
{
    att_walk walk = { .parts = model->parts,
                      .tape = tape,
                      .lengths = batch->target_lengths,
                      .lesson = lesson,
                      .pair = batch->pair };
    const att_sources sources = att_batch_sources(batch);
    att_carried *carried = lesson ? lesson->carried : NULL;
    walk.parts->read(&walk, &sources);
    if (carried && batch->follows)
        take_up(&walk, carried);
    att_node *readouts = att_walk_on(&walk, batch->target_in, batch->target_length);
    if (carried)
        leave(&walk, carried);
    att_node *scores = att_walk_scores(&walk, readouts, 0);
    float *losses = att_tape_take(tape, batch->rows * batch->target_length, sizeof *losses);
    if (!losses)
        return NULL;
    att_node *loss =
        att_cross_entropy(tape, scores, batch->target_out, lesson ? lesson->smoothing : 0, losses);
    if (loss && result)
        add_up(result, batch, scores, losses);
    return with_alignments(&walk, batch, loss);
}
