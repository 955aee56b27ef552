/* Multi-head and grouped-query attention: the projections of queries, keys and values, RoPE, and
 * the run on a tape. */
#include "nn/multihead_attention.h"

/* Queries, keys and values come from one matrix, so that rows are read once and the product is
 * wide.
 */
void att_multihead_attention_build(att_multihead_attention *attention, att_param_builder *builder,
                                   int64_t in, bool biases, const char *prefix)
{
    int64_t queries = attention->heads * attention->head_size,
            keys = 2 * attention->kv_heads * attention->head_size;
    attention->kv = (att_linear_layer){ ATT_NO_PARAM, ATT_NO_PARAM };
    if (attention->is_cross) {
        att_linear_layer_build(&attention->qkv, builder, in, queries, biases, prefix, "query");
        att_linear_layer_build(&attention->kv, builder, in, keys, biases, prefix, "key_value");
    } else {
        att_linear_layer_build(&attention->qkv, builder, in, queries + keys, biases, prefix,
                               "query_key_value");
    }
    att_linear_layer_build(&attention->output, builder, queries, in, biases, prefix, "out");
}

att_node *att_multihead_attention_qkv(const att_multihead_attention *attention, att_tape *tape,
                                      att_node *x, const int32_t *positions)
{
    att_node *qkv = att_linear_layer_run(&attention->qkv, tape, x, ATT_ACTIVATION_NONE);
    if (!attention->rope)
        return qkv;
    return att_rope(tape, qkv, attention->heads + attention->kv_heads, attention->head_size,
                    positions);
}

att_node *att_multihead_attention_kv(const att_multihead_attention *attention, att_tape *tape,
                                     att_node *memory)
{
    return att_linear_layer_run(&attention->kv, tape, memory, ATT_ACTIVATION_NONE);
}

att_node *att_multihead_attention_run(const att_multihead_attention *attention, att_tape *tape,
                                      att_node *qkv, att_node *kv,
                                      const att_sequence_offsets *sequences)
{
    int64_t queries = attention->heads * attention->head_size,
            kv_size = attention->kv_heads * attention->head_size;
    int64_t first = kv ? 0 : queries;
    const att_attention_options options = { .size = sizeof(att_attention_options),
                                            .score = attention->scaled ? ATT_SCORE_SCALED
                                                                       : ATT_SCORE_DOT,
                                            .causal = sequences->causal,
                                            .sequences = sequences->sequences,
                                            .query_offsets = sequences->query_offsets,
                                            .key_offsets = sequences->key_offsets,
                                            .dropout = (double)attention->dropout,
                                            .dropout_layer = attention->dropout_id };
    const att_attention_op_inputs in = {
        .query = qkv,
        .key = kv ? kv : qkv,
        .value = kv ? kv : qkv,
        .query_columns = { 0, queries },
        .key_columns = { first, kv_size },
        .value_columns = { first + kv_size, kv_size },
    };
    return att_attention_op(tape, &in, attention->heads, attention->kv_heads, &options);
}

att_node *att_multihead_attention_output(const att_multihead_attention *attention, att_tape *tape,
                                         att_node *heads_output)
{
    return att_linear_layer_run(&attention->output, tape, heads_output, ATT_ACTIVATION_NONE);
}
