/* The loss of Transformer models with teacher forcing. */
#include "model/transformer.h"

#include "model/copying.h"

/* Sums the losses of the tokens in order, and counts those predicted correctly. */
static void accumulate_loss(att_loss_result *result, const att_token_loss *losses,
                            const att_packed_sequences *next)
{
    for (int64_t r = 0; r < next->sequences; r++)
        for (int64_t i = next->offsets[r]; i < next->offsets[r + 1]; i++)
            att_loss_result_add(result, r, losses[i].loss, next->ids[i], losses[i].predicted);
}

/* The loss of a model that copies, for decoder states x [1,N,D]. */
static att_node *copy_loss(const att_transformer_pass *pass, const att_copy_index *index,
                           att_node *x, const att_packed_sequences *next, float label_smoothing,
                           att_token_loss *losses)
{
    att_tape *tape = pass->tape;
    int64_t *source_of = att_tape_alloc(tape, next->tokens, sizeof *source_of);
    float *row_losses = att_tape_alloc(tape, next->tokens, sizeof *row_losses);
    bool *predicted = att_tape_alloc(tape, next->tokens, sizeof *predicted);
    if (!index || !source_of || !row_losses || !predicted)
        return NULL;
    for (int64_t r = 0; r < next->sequences; r++)
        for (int64_t i = next->offsets[r]; i < next->offsets[r + 1]; i++)
            source_of[i] = r;
    const att_copy_inputs in = att_transformer_copy_inputs(pass, x, next, NULL);
    att_node *loss = att_copy_loss(tape, &in, index, source_of, next->ids, label_smoothing,
                                   row_losses, predicted);
    if (att_tape_status(tape, NULL) != ATT_OK)
        return NULL;
    for (int64_t i = 0; i < next->tokens; i++)
        losses[i] = (att_token_loss){ row_losses[i], predicted[i] };
    return loss;
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
    att_node *x = att_transformer_decode(&pass, before), *loss;
    const att_linear_cross_entropy_inputs output = att_transformer_output(&pass, x);
    att_token_loss *losses = att_tape_alloc(tape, next->tokens, sizeof *losses);
    if (!losses)
        return NULL;
    const att_loss_terms terms = att_loss_terms_of(options);
    if (pass.network->copy.enabled)
        loss = copy_loss(&pass, att_copy_index_on_tape(tape, model, &sources), x, next,
                         terms.label_smoothing, losses);
    else
        loss = att_linear_cross_entropy(tape, &output, next->ids, terms, losses);
    if (loss && result)
        accumulate_loss(result, losses, next);
    return loss;
}
