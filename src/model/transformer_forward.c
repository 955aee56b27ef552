/* The forward pass of a Transformer. Training (the whole sequence at once) and decoding (token by
 * token, with a KV cache) run the same code, except for where keys and values come from. */
#include "model/transformer.h"

const att_packed_sequences *att_packed_sequences_new(att_tape *tape, int64_t rows, int64_t length,
                                                     const int64_t *lengths, const int32_t *ids)
{
    int64_t tokens = 0, at = 0;
    for (int64_t r = 0; r < rows; r++)
        tokens += lengths[r];
    att_packed_sequences *out = att_tape_alloc(tape, 1, sizeof *out);
    int64_t *offsets = att_tape_alloc(tape, rows + 1, sizeof *offsets);
    int32_t *packed = att_tape_alloc(tape, tokens, sizeof *packed);
    int32_t *positions = att_tape_alloc(tape, tokens, sizeof *positions);
    if (!positions)
        return NULL;
    for (int64_t r = 0; r < rows; r++) {
        offsets[r] = at;
        for (int64_t t = 0; t < lengths[r]; t++, at++) {
            packed[at] = ids[r * length + t];
            positions[at] = (int32_t)t;
        }
    }
    offsets[rows] = at;
    *out = (att_packed_sequences){ rows, tokens, offsets, packed, positions };
    return out;
}

static void record_probe(const att_transformer_pass *run, att_attention_block part, int layer,
                         att_node *x, att_node *attended)
{
    att_attention_probe *watch = run->probe;
    if (!watch || watch->part != part || watch->layer != layer)
        return;
    watch->x = x;
    watch->attention = attended;
}

/* ---- encoder */

/* Runs the encoder layers over source embeddings x [1,N,D]. */
static att_node *run_encoder(att_transformer_pass *run, att_node *x,
                             const att_packed_sequences *sources)
{
    const att_transformer_network *parts = run->network;
    att_tape *tape = run->tape;
    run->source_count = sources->sequences;
    run->source_offsets = sources->offsets;
    const att_sequence_offsets sight = { .sequences = sources->sequences,
                                         .query_offsets = sources->offsets,
                                         .key_offsets = sources->offsets };
    for (int i = 0; i < parts->encoder_layers; i++) {
        const att_transformer_layer *layer = &parts->encoder[i];
        att_node *inner = att_sublayer_begin(&layer->self_sublayer, tape, x);
        att_node *into = att_multihead_attention_qkv(&layer->self, tape, inner, sources->positions);
        att_node *seen = att_multihead_attention_run(&layer->self, tape, into, NULL, &sight);
        record_probe(run, ATT_BLOCK_ENCODER, i, x, seen);
        x = att_sublayer_end(&layer->self_sublayer, tape, x,
                             att_multihead_attention_output(&layer->self, tape, seen));
        x = att_transformer_layer_ffn(layer, tape, x);
    }
    return att_norm_layer_run(&parts->encoder_norm, tape, x);
}

/* Keys and values of the encoder output for the cross attention of each decoder layer. */
static void project_cross_kv(att_transformer_pass *run, att_node *x)
{
    if (run->probe)
        run->probe->encoder_output = x;
    for (int i = 0; i < run->network->decoder_layers; i++)
        run->cross_kv[i] =
            att_multihead_attention_kv(&run->network->decoder[i].cross, run->tape, x);
}

att_node *att_transformer_run_encoder(att_transformer_pass *run,
                                      const att_packed_sequences *sources)
{
    if (!sources)
        return NULL;
    att_node *x = att_embedding_run_packed(&run->network->source_embedding, run->tape,
                                           sources->tokens, sources->ids, sources->positions);
    return run_encoder(run, x, sources);
}

void att_transformer_encode_packed(att_transformer_pass *run, const att_packed_sequences *sources)
{
    if (sources)
        project_cross_kv(run, att_transformer_run_encoder(run, sources));
}

void att_transformer_encode_tokens(att_transformer_pass *run, const att_sources *sources)
{
    att_transformer_encode_packed(run, att_packed_sequences_new(run->tape, sources->rows,
                                                                sources->length, sources->lengths,
                                                                sources->ids));
}

/* An image is a sequence of cells. */
void att_transformer_encode_image(att_transformer_pass *run, const att_sources *sources)
{
    const att_image_embedding *eye = &run->network->image_embedding;
    att_tape *tape = run->tape;
    int64_t rows = sources->rows, cells = att_image_embedding_cell_count(eye), all = rows * cells;
    int64_t *offsets = att_tape_alloc(tape, rows + 1, sizeof *offsets);
    int32_t *positions = att_tape_alloc(tape, all, sizeof *positions);
    att_packed_sequences *lie = att_tape_alloc(tape, 1, sizeof *lie);
    if (!offsets || !positions || !lie)
        return;
    for (int64_t r = 0; r <= rows; r++)
        offsets[r] = r * cells;
    for (int64_t i = 0; i < all; i++)
        positions[i] = (int32_t)(i % cells);
    *lie = (att_packed_sequences){
        .sequences = rows, .tokens = all, .offsets = offsets, .positions = positions
    };
    att_node *x = att_image_embedding_run(eye, tape, rows, sources->image_grid);
    x = att_reshape(tape, x, 3, (int64_t[]){ 1, all, eye->hidden_size });
    project_cross_kv(run, run_encoder(run, x, lie));
}

/* ---- decoder */

/* Causal self-attention. */
static att_node *self_attention(att_transformer_pass *run, int index, att_node *x,
                                const att_packed_sequences *targets)
{
    const att_transformer_layer *layer = &run->network->decoder[index];
    att_tape *tape = run->tape;
    att_node *inner = att_sublayer_begin(&layer->self_sublayer, tape, x);
    att_node *into = att_multihead_attention_qkv(&layer->self, tape, inner, targets->positions);
    att_sequence_offsets sight = { .sequences = targets->sequences,
                                   .query_offsets = targets->offsets,
                                   .key_offsets = targets->offsets,
                                   .causal = true };
    att_node *keys = NULL;
    if (run->kv_cache) {
        att_kv_cache_append(run->kv_cache, index, into, run->network->hidden_size);
        keys = att_kv_cache_gather(run->kv_cache, tape, index);
        sight.key_offsets = att_kv_cache_offsets(run->kv_cache);
        sight.causal = false;
    }
    att_node *seen = att_multihead_attention_run(&layer->self, tape, into, keys, &sight);
    record_probe(run, ATT_BLOCK_DECODER, index, x, seen);
    return att_sublayer_end(&layer->self_sublayer, tape, x,
                            att_multihead_attention_output(&layer->self, tape, seen));
}

/* Rows `which` of x [1,N,D]; NULL: x itself. */
static att_node *gather_rows(att_tape *tape, att_node *x, const int32_t *which)
{
    if (!which || !x)
        return x;
    att_node *table = att_reshape(tape, x, 2, &x->shape[1]);
    return att_embedding_lookup(tape, table, 1, x->shape[1], which);
}

/* Cross attention. */
static att_node *cross_attention(att_transformer_pass *run, int index, att_node *x)
{
    const att_transformer_layer *layer = &run->network->decoder[index];
    att_tape *tape = run->tape;
    const att_sequence_offsets sight = { .sequences = run->source_count,
                                         .query_offsets = run->query_offsets,
                                         .key_offsets = run->source_offsets };
    att_node *inner = att_sublayer_begin(&layer->cross_sublayer, tape, x);
    att_node *query = att_multihead_attention_qkv(&layer->cross, tape, inner, NULL);
    query = gather_rows(tape, query, run->row_order);
    att_node *seen =
        att_multihead_attention_run(&layer->cross, tape, query, run->cross_kv[index], &sight);
    record_probe(run, ATT_BLOCK_CROSS, index, x, seen);
    if (run->want_attention)
        run->cross_attention[index] = att_attention_op_weights(tape, seen);
    seen = gather_rows(tape, seen, run->row_restore);
    return att_sublayer_end(&layer->cross_sublayer, tape, x,
                            att_multihead_attention_output(&layer->cross, tape, seen));
}

att_node *att_transformer_decode(att_transformer_pass *run, const att_packed_sequences *targets)
{
    const att_transformer_network *parts = run->network;
    if (!targets)
        return NULL;
    att_node *x = att_embedding_run_packed(&parts->target_embedding, run->tape, targets->tokens,
                                           targets->ids, targets->positions);
    for (int i = 0; i < parts->decoder_layers; i++) {
        x = self_attention(run, i, x, targets);
        if (parts->has_encoder)
            x = cross_attention(run, i, x);
        x = att_transformer_layer_ffn(&parts->decoder[i], run->tape, x);
    }
    return att_norm_layer_run(&parts->decoder_norm, run->tape, x);
}

att_linear_cross_entropy_inputs att_transformer_output(const att_transformer_pass *run, att_node *x)
{
    const att_transformer_network *parts = run->network;
    bool tied = parts->output_w == ATT_NO_PARAM, biased = parts->output_b != ATT_NO_PARAM;
    return (att_linear_cross_entropy_inputs){
        .x = x,
        .w = att_tape_param(run->tape, tied ? parts->target_embedding.table : parts->output_w),
        .bias = biased ? att_tape_param(run->tape, parts->output_b) : NULL,
        .transposed = tied,
    };
}
