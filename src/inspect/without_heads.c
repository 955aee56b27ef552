/* Heads of a Transformer switched off. The output projection multiplies the outputs of all heads
 * side by side, [N, H K], by [H K, D]; zeros in the K rows of a head make its part of the sum zero,
 * whatever it attends to. So a copy of the model with other weights is all that is needed, and
 * everything that takes a model takes this one. */
#include "inspect/attention_map.h"

#include "base/error.h"
#include "tensor/bundle.h"
#include "tensor/tensor.h"

#include <string.h>

static const char *const block_names[] = { "encoder self-attention", "decoder self-attention",
                                           "cross attention" };

static att_status check_head(const att_model *model, const att_attention_head *at, att_error *err)
{
    if ((unsigned)at->block > ATT_BLOCK_CROSS)
        return att_fail(err, ATT_BAD_INPUT, NULL, "there is no attention block %d", (int)at->block);
    int64_t layers = att_model_attention_layers(model, at->block);
    int64_t heads = att_model_attention_heads(model);
    if (layers == 0)
        return att_fail(err, ATT_BAD_INPUT, NULL, "the model has no %s", block_names[at->block]);
    if (at->layer < 1 || at->layer > layers)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "there is no layer %lld of %s: the model has %lld", (long long)at->layer,
                        block_names[at->block], (long long)layers);
    if (at->head < 1 || at->head > heads)
        return att_fail(err, ATT_BAD_INPUT, NULL, "there is no head %lld: the model has %lld",
                        (long long)at->head, (long long)heads);
    return ATT_OK;
}

static const att_multihead_attention *attention_at(const att_transformer_network *network,
                                                   att_attention_block block, int64_t layer)
{
    switch (block) {
    case ATT_BLOCK_ENCODER:
        return &network->encoder[layer].self;
    case ATT_BLOCK_DECODER:
        return &network->decoder[layer].self;
    case ATT_BLOCK_CROSS:
        break;
    }
    return &network->decoder[layer].cross;
}

/* Writes zeros into the rows of a head; `head` from 0. */
static void clear_head(att_tensor *weights, const att_multihead_attention *attention, int64_t head)
{
    size_t count = (size_t)(attention->head_size * weights->shape[1]);
    memset((float *)weights->data + (size_t)head * count, 0, count * sizeof(float));
}

static bool is_in(const att_attention_head *at, att_attention_block block, int64_t layer)
{
    return at->block == block && at->layer == layer + 1;
}

/* Adds the output projection of one layer to `changed`, if a head of it is switched off. */
static att_status change_layer(att_bundle *changed, const att_model *model,
                               att_attention_block block, int64_t layer,
                               const att_attention_head *heads, size_t count, att_error *err)
{
    size_t first = 0;
    while (first < count && !is_in(&heads[first], block, layer))
        first++;
    if (first == count)
        return ATT_OK;
    const att_multihead_attention *attention =
        attention_at(att_model_transformer(model), block, layer);
    const char *name = model->params.items[attention->output.w].name;
    att_tensor weights;
    ATT_TRY(att_model_tensor_get(&weights, model, name, err));
    for (size_t i = first; i < count; i++)
        if (is_in(&heads[i], block, layer))
            clear_head(&weights, attention, heads[i].head - 1);
    att_status status = att_bundle_add(changed, name, &weights, err);
    att_tensor_free(&weights);
    return status;
}

static att_status change_layers(att_bundle *changed, const att_model *model,
                                const att_attention_head *heads, size_t count, att_error *err)
{
    for (int block = ATT_BLOCK_ENCODER; block <= ATT_BLOCK_CROSS; block++) {
        int64_t layers = att_model_attention_layers(model, (att_attention_block)block);
        for (int64_t layer = 0; layer < layers; layer++)
            ATT_TRY(
                change_layer(changed, model, (att_attention_block)block, layer, heads, count, err));
    }
    return ATT_OK;
}

att_status att_model_without_heads(att_model **out, const att_model *model,
                                   const att_attention_head *heads, size_t count, att_error *err)
{
    *out = NULL;
    if (!att_model_transformer(model))
        return att_fail(err, ATT_BAD_INPUT, NULL, "expected a Transformer, found architecture %s",
                        model->architecture->name);
    for (size_t i = 0; i < count; i++)
        ATT_TRY(check_head(model, &heads[i], err));
    att_bundle *changed = NULL;
    att_status status = att_bundle_new(&changed, err);
    if (status == ATT_OK)
        status = change_layers(changed, model, heads, count, err);
    if (status == ATT_OK)
        status = att_model_replace_tensors(out, model, changed, err);
    att_bundle_free(changed);
    return status;
}
