/* A sentence as one vector; see pooling.h. */
#include "nn/pooling.h"

#define PREFIX "pool"

void att_pooling_build(att_pooling *out, att_builder *builder, const att_settings *settings,
                       int64_t width)
{
    *out = (att_pooling){ .kind = (att_pool_kind)settings->pool,
                          .width = width,
                          .heads = settings->pool_heads,
                          .scaled = settings->pool_score == ATT_POOL_SCORE_SCALED,
                          .query = ATT_NO_PARAM,
                          .key = { ATT_NO_PARAM, ATT_NO_PARAM } };
    if (out->kind != ATT_POOL_ATTENTION)
        return;
    out->query = att_build_vector(builder, width, PREFIX, "query");
    if (settings->pool_score == ATT_POOL_SCORE_ADDITIVE)
        att_affine_build(&out->key, builder, width, width, true, PREFIX, "key");
}

/* ---- attention with a learned query */

/* 0, 1, 2, …: one query for each sentence. */
static const int64_t *one_each(att_tape *tape, int64_t sequences)
{
    int64_t *offsets = att_tape_take(tape, sequences + 1, sizeof *offsets);
    for (int64_t b = 0; offsets && b <= sequences; b++)
        offsets[b] = b;
    return offsets;
}

/* The same query for each sentence: [1,B,N] where they lie end to end, else [B,1,N]. */
static att_node *queries(const att_pooling *pooling, att_tape *tape, const att_read *read)
{
    const int64_t one[] = { 1, pooling->width };
    att_node *query = att_reshape(tape, att_tape_param(tape, pooling->query), 2, one);
    att_node *all = att_spread(tape, query, read->sequences);
    if (read->packed)
        return all;
    return att_reshape(tape, all, 3, (int64_t[]){ read->sequences, 1, pooling->width });
}

/* The weights of an attention node as [B,heads,S]; there are none beyond a sentence's end. */
static const float *spread_weights(att_tape *tape, att_node *attended, const att_read *read,
                                   int64_t heads)
{
    const att_node *from = att_attend_weights(tape, attended);
    int64_t longest = read->longest, B = read->sequences;
    float *out = from ? att_tape_take(tape, B * heads * longest, sizeof *out) : NULL;
    for (int64_t i = 0; out && i < B * heads; i++) {
        int64_t b = i / heads, h = i % heads, keys = from->shape[3];
        const float *row = read->packed ? from->value + (h * B + b) * keys + read->first[b]
                                        : from->value + i * keys;
        for (int64_t s = 0; s < longest; s++)
            out[i * longest + s] = s < read->lengths[b] ? row[s] : 0;
    }
    return out;
}

static att_node *attend(const att_pooling *pooling, att_tape *tape, const att_read *read,
                        const float **weights)
{
    bool projected = pooling->key.w != ATT_NO_PARAM;
    att_node *keys = projected
                         ? att_affine_run(&pooling->key, tape, read->rows, ATT_ACTIVATION_TANH)
                         : read->rows;
    const att_attend_inputs in = { .query = queries(pooling, tape, read),
                                   .key = keys,
                                   .value = read->rows };
    att_attention how = { .score = pooling->scaled ? ATT_SCORE_SCALED : ATT_SCORE_DOT };
    if (read->packed) {
        how.sequences = read->sequences;
        how.query_offsets = one_each(tape, read->sequences);
        how.key_offsets = read->first;
    } else {
        how.key_lengths = read->lengths;
    }
    att_node *seen = att_attend(tape, &in, pooling->heads, pooling->heads, &how);
    if (weights && seen)
        *weights = spread_weights(tape, seen, read, pooling->heads);
    return att_reshape(tape, seen, 2, (int64_t[]){ read->sequences, pooling->width });
}

/* ---- all of them */

att_node *att_pooling_run(const att_pooling *pooling, att_tape *tape, const att_read *read,
                          const float **weights)
{
    static const att_summary summaries[] = { [ATT_POOL_STOP] = ATT_SUMMARY_LAST,
                                             [ATT_POOL_LAST] = ATT_SUMMARY_LAST,
                                             [ATT_POOL_MEAN] = ATT_SUMMARY_MEAN,
                                             [ATT_POOL_MAX] = ATT_SUMMARY_MAX };
    if (weights)
        *weights = NULL;
    if (!read->rows)
        return NULL;
    if (pooling->kind == ATT_POOL_ATTENTION)
        return attend(pooling, tape, read, weights);
    if (pooling->kind == ATT_POOL_LAST && read->ends)
        return read->ends;
    return att_summarise(tape, read->rows, summaries[pooling->kind], read->sequences, read->first,
                         read->lengths);
}
