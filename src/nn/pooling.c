/* Pooling of token states into one vector per sentence. */
#include "nn/pooling.h"

#define PREFIX "pool"

void att_pooling_build(att_pooling *out, att_param_builder *builder, const att_settings *settings,
                       int64_t width)
{
    *out = (att_pooling){ .kind = (att_pool_kind)settings->pool,
                          .hidden_size = width,
                          .heads = settings->pool_heads,
                          .scaled = settings->pool_score == ATT_POOL_SCORE_SCALED,
                          .query = ATT_NO_PARAM,
                          .key = { ATT_NO_PARAM, ATT_NO_PARAM } };
    if (out->kind != ATT_POOL_ATTENTION)
        return;
    out->query = att_build_vector(builder, width, PREFIX, "query");
    if (settings->pool_score == ATT_POOL_SCORE_ADDITIVE)
        att_linear_layer_build(&out->key, builder, width, width, true, PREFIX, "key");
}

/* ---- attention pooling with a learned query */

/* 0, 1, 2, …: one query per sentence. */
static const int64_t *one_query_offsets(att_tape *tape, int64_t sequences)
{
    int64_t *offsets = att_tape_alloc(tape, sequences + 1, sizeof *offsets);
    for (int64_t b = 0; offsets && b <= sequences; b++)
        offsets[b] = b;
    return offsets;
}

/* The same query for each sentence: [1,B,N] for packed states, else [B,1,N]. */
static att_node *repeat_query(const att_pooling *pooling, att_tape *tape,
                              const att_encoded_batch *batch)
{
    const int64_t one[] = { 1, pooling->hidden_size };
    att_node *query = att_reshape(tape, att_tape_param(tape, pooling->query), 2, one);
    att_node *all = att_expand(tape, query, batch->sequences);
    if (batch->packed)
        return all;
    return att_reshape(tape, all, 3, (int64_t[]){ batch->sequences, 1, pooling->hidden_size });
}

/* The weights of an attention node as [B,heads,S]; zeros beyond a sentence's end. */
static const float *pad_weights(att_tape *tape, att_node *attention, const att_encoded_batch *batch,
                                int64_t heads)
{
    const att_node *from = att_attention_op_weights(tape, attention);
    int64_t max_length = batch->max_length, B = batch->sequences;
    float *out = from ? att_tape_alloc(tape, B * heads * max_length, sizeof *out) : NULL;
    for (int64_t i = 0; out && i < B * heads; i++) {
        int64_t b = i / heads, h = i % heads, keys = from->shape[3];
        const float *row = batch->packed ? from->value + (h * B + b) * keys + batch->offsets[b]
                                         : from->value + i * keys;
        for (int64_t s = 0; s < max_length; s++)
            out[i * max_length + s] = s < batch->lengths[b] ? row[s] : 0;
    }
    return out;
}

static att_node *attention_pool(const att_pooling *pooling, att_tape *tape,
                                const att_encoded_batch *batch, const float **weights)
{
    bool projected = pooling->key.w != ATT_NO_PARAM;
    att_node *keys =
        projected ? att_linear_layer_run(&pooling->key, tape, batch->states, ATT_ACTIVATION_TANH)
                  : batch->states;
    const att_attention_op_inputs in = { .query = repeat_query(pooling, tape, batch),
                                         .key = keys,
                                         .value = batch->states };
    att_attention_options options = { .size = sizeof(att_attention_options),
                                      .score = pooling->scaled ? ATT_SCORE_SCALED : ATT_SCORE_DOT };
    if (batch->packed) {
        options.sequences = batch->sequences;
        options.query_offsets = one_query_offsets(tape, batch->sequences);
        options.key_offsets = batch->offsets;
    } else {
        options.key_lengths = batch->lengths;
    }
    att_node *pooled = att_attention_op(tape, &in, pooling->heads, pooling->heads, &options);
    if (weights && pooled)
        *weights = pad_weights(tape, pooled, batch, pooling->heads);
    return att_reshape(tape, pooled, 2, (int64_t[]){ batch->sequences, pooling->hidden_size });
}

/* ---- all kinds */

att_node *att_pooling_run(const att_pooling *pooling, att_tape *tape,
                          const att_encoded_batch *batch, const float **weights)
{
    static const att_pool_mode modes[] = { [ATT_POOL_STOP] = ATT_POOL_MODE_LAST,
                                           [ATT_POOL_LAST] = ATT_POOL_MODE_LAST,
                                           [ATT_POOL_MEAN] = ATT_POOL_MODE_MEAN,
                                           [ATT_POOL_MAX] = ATT_POOL_MODE_MAX };
    if (weights)
        *weights = NULL;
    if (!batch->states)
        return NULL;
    if (pooling->kind == ATT_POOL_ATTENTION)
        return attention_pool(pooling, tape, batch, weights);
    if (pooling->kind == ATT_POOL_LAST && batch->final_states)
        return batch->final_states;
    return att_sequence_pool(tape, batch->states, modes[pooling->kind], batch->sequences,
                             batch->offsets, batch->lengths);
}
