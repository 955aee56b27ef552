/* A sentence as one vector; see pooling.h. */
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

/* ---- attention with a learned query */

/* 0, 1, 2, …: one query for each sentence. */
static const int64_t *one_query_offsets(att_tape *tape, int64_t sequences)
{
    int64_t *offsets = att_tape_alloc(tape, sequences + 1, sizeof *offsets);
    for (int64_t b = 0; offsets && b <= sequences; b++)
        offsets[b] = b;
    return offsets;
}

/* The same query for each sentence: [1,B,N] where they lie end to end, else [B,1,N]. */
static att_node *repeat_query(const att_pooling *pooling, att_tape *tape,
                              const att_encoded_batch *read)
{
    const int64_t one[] = { 1, pooling->hidden_size };
    att_node *query = att_reshape(tape, att_tape_param(tape, pooling->query), 2, one);
    att_node *all = att_expand(tape, query, read->sequences);
    if (read->packed)
        return all;
    return att_reshape(tape, all, 3, (int64_t[]){ read->sequences, 1, pooling->hidden_size });
}

/* The weights of an attention node as [B,heads,S]; there are none beyond a sentence's end. */
static const float *pad_weights(att_tape *tape, att_node *attended, const att_encoded_batch *read,
                                int64_t heads)
{
    const att_node *from = att_attention_op_weights(tape, attended);
    int64_t max_length = read->max_length, B = read->sequences;
    float *out = from ? att_tape_alloc(tape, B * heads * max_length, sizeof *out) : NULL;
    for (int64_t i = 0; out && i < B * heads; i++) {
        int64_t b = i / heads, h = i % heads, keys = from->shape[3];
        const float *row = read->packed ? from->value + (h * B + b) * keys + read->offsets[b]
                                        : from->value + i * keys;
        for (int64_t s = 0; s < max_length; s++)
            out[i * max_length + s] = s < read->lengths[b] ? row[s] : 0;
    }
    return out;
}

static att_node *attention_pool(const att_pooling *pooling, att_tape *tape,
                                const att_encoded_batch *read, const float **weights)
{
    bool projected = pooling->key.w != ATT_NO_PARAM;
    att_node *keys =
        projected ? att_linear_layer_run(&pooling->key, tape, read->states, ATT_ACTIVATION_TANH)
                  : read->states;
    const att_attention_op_inputs in = { .query = repeat_query(pooling, tape, read),
                                         .key = keys,
                                         .value = read->states };
    att_attention_options options = { .score = pooling->scaled ? ATT_SCORE_SCALED : ATT_SCORE_DOT };
    if (read->packed) {
        options.sequences = read->sequences;
        options.query_offsets = one_query_offsets(tape, read->sequences);
        options.key_offsets = read->offsets;
    } else {
        options.key_lengths = read->lengths;
    }
    att_node *seen = att_attention_op(tape, &in, pooling->heads, pooling->heads, &options);
    if (weights && seen)
        *weights = pad_weights(tape, seen, read, pooling->heads);
    return att_reshape(tape, seen, 2, (int64_t[]){ read->sequences, pooling->hidden_size });
}

/* ---- all of them */

att_node *att_pooling_run(const att_pooling *pooling, att_tape *tape, const att_encoded_batch *read,
                          const float **weights)
{
    static const att_pool_mode summaries[] = { [ATT_POOL_STOP] = ATT_POOL_MODE_LAST,
                                               [ATT_POOL_LAST] = ATT_POOL_MODE_LAST,
                                               [ATT_POOL_MEAN] = ATT_POOL_MODE_MEAN,
                                               [ATT_POOL_MAX] = ATT_POOL_MODE_MAX };
    if (weights)
        *weights = NULL;
    if (!read->states)
        return NULL;
    if (pooling->kind == ATT_POOL_ATTENTION)
        return attention_pool(pooling, tape, read, weights);
    if (pooling->kind == ATT_POOL_LAST && read->final_states)
        return read->final_states;
    return att_sequence_pool(tape, read->states, summaries[pooling->kind], read->sequences,
                             read->offsets, read->lengths);
}
