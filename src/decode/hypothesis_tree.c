/* The hypothesis tree: nodes with backpointers, and the attention weights stored with them. */
#include "decode/hypothesis_tree.h"

#include "base/alloc.h"
#include "base/error.h"

#include <string.h>

void att_hypothesis_tree_reset(att_hypothesis_tree *tree, const att_keep_attention *keep,
                               int64_t source_length)
{
    tree->count = 0;
    tree->attention_rows = 0;
    tree->keep = *keep;
    tree->source_length = source_length;
    tree->has_attention = false;
    tree->attention_maps = tree->heads_per_layer = 1;
}

void att_hypothesis_tree_free(att_hypothesis_tree *tree)
{
    att_free(tree->nodes);
    att_free(tree->attention.data);
    att_free(tree->head_attention.data);
    *tree = (att_hypothesis_tree){ 0 };
}

/* Reserves room for `wanted` floats and keeps the first `used`. */
static bool floats_reserve(att_float_buffer *floats, size_t used, size_t wanted)
{
    if (wanted <= floats->capacity)
        return true;
    size_t capacity = wanted + wanted / 2;
    float *bigger = att_realloc(floats->data, used * sizeof *bigger, capacity, sizeof *bigger);
    if (!bigger)
        return false;
    floats->data = bigger;
    floats->capacity = capacity;
    return true;
}

/* ---- attention */

static att_status check_choice(const att_hypothesis_tree *tree, att_error *err)
{
    const att_keep_attention *keep = &tree->keep;
    int64_t layers = tree->attention_maps / tree->heads_per_layer;
    if (keep->layer > layers)
        return att_fail(err, ATT_BAD_INPUT, NULL, "there is no layer %lld: the model has %lld",
                        (long long)keep->layer, (long long)layers);
    if (keep->head > tree->heads_per_layer)
        return att_fail(err, ATT_BAD_INPUT, NULL, "there is no head %lld: the model has %lld",
                        (long long)keep->head, (long long)tree->heads_per_layer);
    return ATT_OK;
}

/* The attention of one row: of one head, or the mean of the heads of a layer. */
static void select_attention(const att_hypothesis_tree *tree, float *out,
                             const float *maps /* [maps,S] */)
{
    const att_keep_attention *keep = &tree->keep;
    int64_t S = tree->source_length, H = tree->heads_per_layer;
    int64_t layer = keep->layer > 0 ? keep->layer - 1 : tree->attention_maps / H - 1;
    const float *from = maps + (layer * H + (keep->head > 0 ? keep->head - 1 : 0)) * S;
    int64_t count = keep->head > 0 ? 1 : H;
    for (int64_t i = 0; i < S; i++) {
        double sum = 0;
        for (int64_t h = 0; h < count; h++)
            sum += (double)from[h * S + i];
        out[i] = (float)(sum / (double)count);
    }
}

att_status att_hypothesis_tree_add_attention(att_hypothesis_tree *tree,
                                             const att_decoder_output *decoded, int64_t rows,
                                             att_error *err)
{
    const att_keep_attention *keep = &tree->keep;
    tree->has_attention = decoded->attention && (keep->selected || keep->all_heads);
    if (!tree->has_attention)
        return ATT_OK;
    tree->attention_maps = decoded->attention_maps;
    tree->heads_per_layer = decoded->heads;
    ATT_TRY(check_choice(tree, err));
    size_t S = (size_t)tree->source_length, used = (size_t)tree->attention_rows * S;
    size_t more = (size_t)rows * S, maps = (size_t)tree->attention_maps;
    if ((keep->selected && !floats_reserve(&tree->attention, used, used + more)) ||
        (keep->all_heads &&
         !floats_reserve(&tree->head_attention, used * maps, (used + more) * maps)))
        return att_fail_memory(err);
    for (int64_t r = 0; keep->selected && r < rows; r++)
        select_attention(tree, tree->attention.data + used + (size_t)r * S,
                         decoded->attention + (size_t)r * maps * S);
    if (keep->all_heads)
        memcpy(tree->head_attention.data + used * maps, decoded->attention,
               more * maps * sizeof *tree->head_attention.data);
    tree->attention_rows += rows;
    return ATT_OK;
}

/* ---- nodes */

att_status att_hypothesis_tree_add(att_hypothesis_tree *tree, int64_t *out,
                                   att_hypothesis_node node, att_error *err)
{
    if (tree->count == tree->capacity) {
        size_t used = (size_t)tree->count, more = 2 * used + 256;
        att_hypothesis_node *bigger =
            att_realloc(tree->nodes, used * sizeof *bigger, more, sizeof *bigger);
        if (!bigger)
            return att_fail_memory(err);
        tree->nodes = bigger;
        tree->capacity = (int64_t)more;
    }
    tree->nodes[tree->count] = node;
    *out = tree->count++;
    return ATT_OK;
}

int64_t att_hypothesis_tree_length(const att_hypothesis_tree *tree, int64_t last)
{
    int64_t count = 0;
    for (; last != ATT_HYPOTHESIS_ROOT; last = tree->nodes[last].parent)
        count++;
    return count;
}

void att_hypothesis_tree_tokens(const att_hypothesis_tree *tree, int64_t last, int32_t *out,
                                int64_t count)
{
    for (int64_t i = count - 1; i >= 0; i--) {
        out[i] = tree->nodes[last].token;
        last = tree->nodes[last].parent;
    }
}

/* ---- hypotheses */

/* Copies the attention of each node of a chain of `count`: of a row [maps,S], the first `length`
 * columns of each map. */
static const float *copy_attention_rows(const att_hypothesis_tree *tree, const float *from,
                                        int64_t maps, int64_t last, int64_t count, int64_t length,
                                        att_arena *arena)
{
    int64_t S = tree->source_length;
    float *out = att_arena_alloc(arena, (size_t)(count * maps), (size_t)length * sizeof *out);
    for (int64_t t = count - 1; out && t >= 0; t--) {
        const float *row = from + tree->nodes[last].attention_row * maps * S;
        for (int64_t m = 0; m < maps; m++)
            memcpy(out + (t * maps + m) * length, row + m * S, (size_t)length * sizeof *out);
        last = tree->nodes[last].parent;
    }
    return out;
}

att_status att_hypothesis_tree_copy(const att_hypothesis_tree *tree, att_hypothesis *out,
                                    int64_t last, int64_t length, att_arena *arena, att_error *err)
{
    int64_t count = att_hypothesis_tree_length(tree, last);
    int32_t *ids = att_arena_alloc(arena, (size_t)count, sizeof *ids);
    float *log_probs = att_arena_alloc(arena, (size_t)count, sizeof *log_probs);
    float *copied = att_arena_alloc(arena, (size_t)count, sizeof *copied);
    if (!ids || !log_probs || !copied)
        return att_fail_memory(err);
    att_hypothesis_tree_tokens(tree, last, ids, count);
    int64_t at = last;
    for (int64_t t = count - 1; t >= 0; t--, at = tree->nodes[at].parent) {
        log_probs[t] = tree->nodes[at].log_prob;
        copied[t] = tree->nodes[at].copied;
    }
    out->count = count;
    out->ids = ids;
    out->log_probs = log_probs;
    out->copied = copied;
    bool selected = tree->has_attention && tree->keep.selected,
         heads = tree->has_attention && tree->keep.all_heads;
    if (selected)
        out->attention =
            copy_attention_rows(tree, tree->attention.data, 1, last, count, length, arena);
    if (heads)
        out->head_attention = copy_attention_rows(tree, tree->head_attention.data,
                                                  tree->attention_maps, last, count, length, arena);
    return (selected && !out->attention) || (heads && !out->head_attention) ? att_fail_memory(err)
                                                                            : ATT_OK;
}
