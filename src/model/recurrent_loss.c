/* What the recurrent family learns from; see recurrent.h. */
#include "model/recurrent.h"

/* Adds up the losses of single tokens, in their order, and counts those that were foreseen. */
static void add_up(att_lesson_result *result, const att_batch *batch, const att_node *scores,
                   const float *losses)
{
    int64_t cells = batch->rows * batch->target_length, vocabulary = scores->shape[2];
    for (int64_t i = 0; i < cells; i++) {
        int32_t target = batch->target_out[i];
        if (target < 0)
            continue;
        att_lesson_add(result, i / batch->target_length, losses[i],
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

att_node *att_recurrent_loss(att_model *model, att_tape *tape, const att_batch *batch,
                             const att_lesson *lesson, att_lesson_result *result)
{
    att_walk walk = { .parts = model->parts,
                      .tape = tape,
                      .lengths = batch->target_lengths,
                      .lesson = lesson,
                      .pair = batch->pair };
    const att_sources sources = att_batch_sources(batch);
    att_recurrent_encode(&walk, &sources);
    att_node *readouts = att_walk_on(&walk, batch->target_in, batch->target_length);
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
