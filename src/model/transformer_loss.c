/* What the Transformer learns from; see transformer.h. */
#include "model/transformer.h"

/* Adds up the losses of single tokens, in their order, and counts those that were foreseen. */
static void add_up(att_lesson_result *result, const att_row_loss *losses, const att_stretch *next)
{
    for (int64_t r = 0; r < next->sequences; r++)
        for (int64_t i = next->offsets[r]; i < next->offsets[r + 1]; i++)
            att_lesson_add(result, r, losses[i].loss, next->ids[i], losses[i].foreseen);
}

att_node *att_transformer_loss(att_model *model, att_tape *tape, const att_batch *batch,
                               const att_lesson *lesson, att_lesson_result *result)
{
    att_run run = { .parts = model->parts, .tape = tape };
    int64_t rows = batch->rows, length = batch->target_length;
    const att_sources sources = att_batch_sources(batch);
    if (run.parts->reads)
        run.parts->read(&run, &sources);
    const att_stretch *before =
        att_stretch_new(tape, rows, length, batch->target_lengths, batch->target_in);
    const att_stretch *next =
        att_stretch_new(tape, rows, length, batch->target_lengths, batch->target_out);
    if (!next)
        return NULL;
    run.query_offsets = before->offsets;
    const att_output_inputs output =
        att_transformer_output(&run, att_transformer_decode(&run, before));
    att_row_loss *losses = att_tape_take(tape, next->tokens, sizeof *losses);
    if (!losses)
        return NULL;
    att_node *loss =
        att_output_loss(tape, &output, next->ids, lesson ? lesson->smoothing : 0, losses);
    if (loss && result)
        add_up(result, losses, next);
    return loss;
}
