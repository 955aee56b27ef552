/* The loss of Transformer models with teacher forcing. */
#include "model/transformer.h"

/* Sums the losses of the tokens in order, and counts those predicted correctly. */
static void accumulate_loss(att_loss_result *result, const att_token_loss *losses,
                            const att_packed_sequences *next)
{
    for (int64_t r = 0; r < next->sequences; r++)
        for (int64_t i = next->offsets[r]; i < next->offsets[r + 1]; i++)
            att_loss_result_add(result, r, losses[i].loss, next->ids[i], losses[i].predicted);
}

att_node *att_transformer_loss(const att_model *model, att_tape *tape, const att_batch *batch,
                               const att_loss_options *options, att_loss_result *result)
{
    att_transformer_pass pass = { .network = model->network, .tape = tape };
    int64_t rows = batch->rows, length = batch->target_length;
    const att_sources sources = att_batch_sources(batch);
    if (pass.network->has_encoder)
        pass.network->encode(&pass, &sources);
    const att_packed_sequences *before =
        att_packed_sequences_new(tape, rows, length, batch->target_lengths, batch->target_in);
    const att_packed_sequences *next =
        att_packed_sequences_new(tape, rows, length, batch->target_lengths, batch->target_out);
    if (!next)
        return NULL;
    pass.query_offsets = before->offsets;
    const att_linear_cross_entropy_inputs output =
        att_transformer_output(&pass, att_transformer_decode(&pass, before));
    att_token_loss *losses = att_tape_alloc(tape, next->tokens, sizeof *losses);
    if (!losses)
        return NULL;
    att_node *loss = att_linear_cross_entropy(tape, &output, next->ids,
                                              options ? options->label_smoothing : 0, losses);
    if (loss && result)
        accumulate_loss(result, losses, next);
    return loss;
}
