/* The forward pass of a Transformer. Training (the whole sequence at once) and decoding (token by
 * token, with a KV cache) pass the same code, except for where keys and values come from. */
#include "model/transformer.h"

#include "base/minmax.h"

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

static void record_probe(const att_transformer_pass *pass, att_attention_block part, int layer,
                         att_node *x, att_node *attended)
{
    att_attention_probe *watch = pass->probe;
    if (!watch || watch->part != part)
        return;
    watch->x[layer] = x;
    watch->attention[layer] = attended;
}

/* ---- encoder */

/* Runs the encoder layers over source embeddings x [1,N,D]. */
static att_node *run_encoder(att_transformer_pass *pass, att_node *x,
                             const att_packed_sequences *sources)
{
    const att_transformer_network *parts = pass->network;
    att_tape *tape = pass->tape;
    pass->source_count = sources->sequences;
    pass->source_offsets = sources->offsets;
    const att_sequence_offsets sight = { .sequences = sources->sequences,
                                         .query_offsets = sources->offsets,
                                         .key_offsets = sources->offsets };
    for (int i = 0; i < parts->encoder_layers; i++) {
        const att_transformer_layer *layer = &parts->encoder[i];
        att_node *inner = att_sublayer_begin(&layer->self_sublayer, tape, x);
        att_node *into = att_multihead_attention_qkv(&layer->self, tape, inner, sources->positions);
        att_node *seen = att_multihead_attention_run(&layer->self, tape, into, NULL, &sight);
        record_probe(pass, ATT_BLOCK_ENCODER, i, x, seen);
        x = att_sublayer_end(&layer->self_sublayer, tape, x,
                             att_multihead_attention_output(&layer->self, tape, seen));
        x = att_transformer_layer_ffn(layer, tape, x);
        att_tape_name_layer(tape, x, "encoder layer", i + 1);
    }
    x = att_norm_layer_run(&parts->encoder_norm, tape, x);
    return att_tape_name_layer(tape, x, "encoder norm", 0);
}

/* Keys and values of the encoder output for the cross attention of each decoder layer. */
static void project_cross_kv(att_transformer_pass *pass, att_node *x)
{
    if (pass->probe)
        pass->probe->encoder_output = x;
    for (int i = 0; i < pass->network->decoder_layers; i++) {
        pass->cross_kv[i] =
            att_multihead_attention_kv(&pass->network->decoder[i].cross, pass->tape, x);
        att_tape_name_layer(pass->tape, pass->cross_kv[i], "decoder layer", i + 1);
    }
}

att_node *att_transformer_run_encoder(att_transformer_pass *pass,
                                      const att_packed_sequences *sources)
{
    if (!sources)
        return NULL;
    att_node *x = att_embedding_run_packed(&pass->network->source_embedding, pass->tape,
                                           sources->tokens, sources->ids, sources->positions);
    att_tape_name_layer(pass->tape, x, "source embedding", 0);
    if (pass->source_features)
        x = att_add(pass->tape, x, pass->source_features);
    return run_encoder(pass, x, sources);
}

/* Tags, which follow the text, have no order: all are at position 0, and the text starts at
 * position 1 (Wu et al. 2021, "Applying the Transformer to character-level transduction"). */
static const att_packed_sequences *set_tag_positions(att_tape *tape,
                                                     const att_packed_sequences *sources,
                                                     int32_t first_tag)
{
    att_packed_sequences *out = att_tape_alloc(tape, 1, sizeof *out);
    int32_t *positions = att_tape_alloc(tape, sources->tokens, sizeof *positions);
    if (!out || !positions)
        return NULL;
    for (int64_t s = 0; s < sources->sequences; s++) {
        int64_t start = sources->offsets[s], end = sources->offsets[s + 1], tags = start;
        while (tags < end && sources->ids[tags] < first_tag)
            tags++; /* up to the first tag that is known */
        for (int64_t i = start; i < end; i++)
            positions[i] = i < tags ? (int32_t)(i - start + 1) : 0;
    }
    *out = *sources;
    out->positions = positions;
    return out;
}

/* The encoder states of text with its tags, if it has any. */
static att_node *encode_text(att_transformer_pass *pass, const att_packed_sequences *sources)
{
    int32_t first_tag = pass->network->first_tag;
    if (sources && first_tag > 0)
        sources = set_tag_positions(pass->tape, sources, first_tag);
    return sources ? att_transformer_run_encoder(pass, sources) : NULL;
}

void att_transformer_encode_packed(att_transformer_pass *pass, const att_packed_sequences *sources)
{
    att_node *x = encode_text(pass, sources);
    if (x)
        project_cross_kv(pass, x);
}

/* Packed rows x [1,N,D] as [sequences,length,D], zeros in padding. */
static att_node *pad_sequences(att_tape *tape, att_node *x, const att_packed_sequences *from,
                               int64_t length)
{
    int32_t *rows = att_tape_alloc(tape, from->sequences * length, sizeof *rows);
    if (!x || !rows)
        return NULL;
    for (int64_t r = 0; r < from->sequences; r++)
        for (int64_t t = 0; t < length; t++)
            rows[r * length + t] =
                t < from->offsets[r + 1] - from->offsets[r] ? (int32_t)(from->offsets[r] + t) : -1;
    att_node *table = att_reshape(tape, x, 2, &x->shape[1]);
    return att_embedding_lookup(tape, table, from->sequences, length, rows);
}

void att_transformer_encode_tokens(att_transformer_pass *pass, const att_sources *sources)
{
    const att_packed_sequences *packed = att_packed_sequences_new(
        pass->tape, sources->rows, sources->length, sources->lengths, sources->ids);
    att_node *x = encode_text(pass, packed);
    if (!x)
        return;
    project_cross_kv(pass, x);
    if (!pass->network->copy.enabled)
        return;
    pass->source_lengths = sources->lengths;
    pass->copy_keys = att_copy_layer_keys(&pass->network->copy, pass->tape,
                                          pad_sequences(pass->tape, x, packed, sources->length));
}

/* An image is a sequence of cells. */
void att_transformer_encode_image(att_transformer_pass *pass, const att_sources *sources)
{
    const att_image_embedding *eye = &pass->network->image_embedding;
    att_tape *tape = pass->tape;
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
    project_cross_kv(pass, run_encoder(pass, x, lie));
}

/* ---- decoder */

/* Causal self-attention. */
static att_node *self_attention(att_transformer_pass *pass, int index, att_node *x,
                                const att_packed_sequences *targets)
{
    const att_transformer_layer *layer = &pass->network->decoder[index];
    att_tape *tape = pass->tape;
    att_node *inner = att_sublayer_begin(&layer->self_sublayer, tape, x);
    att_node *into = att_multihead_attention_qkv(&layer->self, tape, inner, targets->positions);
    att_sequence_offsets sight = { .sequences = targets->sequences,
                                   .query_offsets = targets->offsets,
                                   .key_offsets = targets->offsets,
                                   .causal = true };
    att_node *keys = NULL;
    if (pass->kv_cache) {
        att_kv_cache_append(pass->kv_cache, index, into, pass->network->hidden_size);
        keys = att_kv_cache_gather(pass->kv_cache, tape, index);
        sight.key_offsets = att_kv_cache_offsets(pass->kv_cache);
        sight.causal = false;
    }
    att_node *seen = att_multihead_attention_run(&layer->self, tape, into, keys, &sight);
    record_probe(pass, ATT_BLOCK_DECODER, index, x, seen);
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
static att_node *cross_attention(att_transformer_pass *pass, int index, att_node *x)
{
    const att_transformer_layer *layer = &pass->network->decoder[index];
    att_tape *tape = pass->tape;
    const att_sequence_offsets sight = { .sequences = pass->source_count,
                                         .query_offsets = pass->query_offsets,
                                         .key_offsets = pass->source_offsets };
    att_node *inner = att_sublayer_begin(&layer->cross_sublayer, tape, x);
    att_node *query = att_multihead_attention_qkv(&layer->cross, tape, inner, NULL);
    query = gather_rows(tape, query, pass->row_order);
    att_node *seen =
        att_multihead_attention_run(&layer->cross, tape, query, pass->cross_kv[index], &sight);
    record_probe(pass, ATT_BLOCK_CROSS, index, x, seen);
    if (pass->want_attention)
        pass->cross_attention[index] = att_attention_op_weights(tape, seen);
    seen = gather_rows(tape, seen, pass->row_restore);
    return att_sublayer_end(&layer->cross_sublayer, tape, x,
                            att_multihead_attention_output(&layer->cross, tape, seen));
}

att_node *att_transformer_decode(att_transformer_pass *pass, const att_packed_sequences *targets)
{
    const att_transformer_network *parts = pass->network;
    if (!targets)
        return NULL;
    att_node *x = att_embedding_run_packed(&parts->target_embedding, pass->tape, targets->tokens,
                                           targets->ids, targets->positions);
    att_tape_name_layer(pass->tape, x, "target embedding", 0);
    for (int i = 0; i < parts->decoder_layers; i++) {
        x = self_attention(pass, i, x, targets);
        if (parts->has_encoder)
            x = cross_attention(pass, i, x);
        x = att_transformer_layer_ffn(&parts->decoder[i], pass->tape, x);
        att_tape_name_layer(pass->tape, x, "decoder layer", i + 1);
    }
    x = att_norm_layer_run(&parts->decoder_norm, pass->tape, x);
    return att_tape_name_layer(pass->tape, x, "decoder norm", 0);
}

/* Rows of the padded weights [sequences,length,S] as packed rows [1,N,S]. */
static att_node *pack_weights(att_tape *tape, att_node *weights, const att_packed_sequences *to)
{
    int32_t *rows = att_tape_alloc(tape, to->tokens, sizeof *rows);
    if (!weights || !rows)
        return NULL;
    for (int64_t r = 0; r < to->sequences; r++)
        for (int64_t i = to->offsets[r]; i < to->offsets[r + 1]; i++)
            rows[i] = (int32_t)(r * weights->shape[1] + i - to->offsets[r]);
    const int64_t flat[] = { weights->shape[0] * weights->shape[1], weights->shape[2] };
    return att_embedding_lookup(tape, att_reshape(tape, weights, 2, flat), 1, to->tokens, rows);
}

/* The weights of the copy head for the targets of a loss, [1,N,S]. */
static att_node *copy_weights(const att_transformer_pass *pass, att_node *x,
                              const att_packed_sequences *targets)
{
    int64_t longest = 0;
    for (int64_t r = 0; r < targets->sequences; r++)
        longest = att_max_i64(longest, targets->offsets[r + 1] - targets->offsets[r]);
    att_node *padded = pad_sequences(pass->tape, x, targets, longest);
    return pack_weights(pass->tape,
                        att_copy_layer_weights(&pass->network->copy, pass->tape, padded,
                                               pass->copy_keys, pass->source_lengths, NULL),
                        targets);
}

att_copy_inputs att_transformer_copy_inputs(const att_transformer_pass *pass, att_node *x,
                                            const att_packed_sequences *targets,
                                            const att_rows_by_source *grouped)
{
    const att_copy_layer *copy = &pass->network->copy;
    const att_linear_cross_entropy_inputs output = att_transformer_output(pass, x);
    att_copy_inputs in = { .logits = att_linear(pass->tape, x, output.w, output.bias,
                                                ATT_ACTIVATION_NONE, output.transposed),
                           .gate = att_copy_layer_gate(copy, pass->tape, x) };
    if (!x)
        return in;
    att_tape_name_layer(pass->tape, in.logits, "output layer", 0);
    if (targets)
        in.weights = copy_weights(pass, x, targets);
    else
        in.weights = att_copy_layer_weights(
            copy, pass->tape,
            att_reshape(pass->tape, x, 3, (int64_t[]){ x->shape[1], 1, x->shape[2] }),
            pass->copy_keys, pass->source_lengths, grouped);
    return in;
}

att_output_weights att_transformer_output_weights(const att_transformer_network *parts)
{
    bool tied = parts->output_w == ATT_NO_PARAM;
    return (att_output_weights){ .w = tied ? parts->target_embedding.table : parts->output_w,
                                 .bias = parts->output_b,
                                 .transposed = tied };
}

att_linear_cross_entropy_inputs att_transformer_output(const att_transformer_pass *pass,
                                                       att_node *x)
{
    const att_output_weights layer = att_transformer_output_weights(pass->network);
    return (att_linear_cross_entropy_inputs){
        .x = x,
        .w = att_tape_param(pass->tape, layer.w),
        .bias = layer.bias != ATT_NO_PARAM ? att_tape_param(pass->tape, layer.bias) : NULL,
        .transposed = layer.transposed,
    };
}
