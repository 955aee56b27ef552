/* Where hypotheses came from; see trail.h. */
#include "decode/hypothesis_tree.h"

#include "base/alloc.h"
#include "base/error.h"

#include <string.h>

void att_hypothesis_tree_reset(att_hypothesis_tree *trail, const att_keep_attention *keep,
                               int64_t source_length)
{
    trail->count = 0;
    trail->attention_rows = 0;
    trail->keep = *keep;
    trail->source_length = source_length;
    trail->has_attention = false;
    trail->attention_maps = trail->heads_per_layer = 1;
}

void att_hypothesis_tree_free(att_hypothesis_tree *trail)
{
    att_free(trail->nodes);
    att_free(trail->attention.data);
    att_free(trail->head_attention.data);
    *trail = (att_hypothesis_tree){ 0 };
}

/* Room for so many floats, of which `used` are in use. */
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

/* ---- what was looked at */

static att_status check_choice(const att_hypothesis_tree *trail, att_error *err)
{
    const att_keep_attention *keep = &trail->keep;
    int64_t layers = trail->attention_maps / trail->heads_per_layer;
    if (keep->layer > layers)
        return att_fail(err, ATT_BAD_INPUT, NULL, "there is no layer %lld: the model has %lld",
                        (long long)keep->layer, (long long)layers);
    if (keep->head > trail->heads_per_layer)
        return att_fail(err, ATT_BAD_INPUT, NULL, "there is no head %lld: the model has %lld",
                        (long long)keep->head, (long long)trail->heads_per_layer);
    return ATT_OK;
}

/* The look of one row: that of a head, or the mean of a layer's. */
static void select_attention(const att_hypothesis_tree *trail, float *out,
                             const float *maps /* [maps,S] */)
{
    const att_keep_attention *keep = &trail->keep;
    int64_t S = trail->source_length, H = trail->heads_per_layer;
    int64_t layer = keep->layer > 0 ? keep->layer - 1 : trail->attention_maps / H - 1;
    const float *from = maps + (layer * H + (keep->head > 0 ? keep->head - 1 : 0)) * S;
    int64_t count = keep->head > 0 ? 1 : H;
    for (int64_t i = 0; i < S; i++) {
        double sum = 0;
        for (int64_t h = 0; h < count; h++)
            sum += (double)from[h * S + i];
        out[i] = (float)(sum / (double)count);
    }
}

att_status att_hypothesis_tree_add_attention(att_hypothesis_tree *trail,
                                             const att_decoder_output *decoded, int64_t rows,
                                             att_error *err)
{
    const att_keep_attention *keep = &trail->keep;
    trail->has_attention = decoded->attention && (keep->selected || keep->all_heads);
    if (!trail->has_attention)
        return ATT_OK;
    trail->attention_maps = decoded->attention_maps;
    trail->heads_per_layer = decoded->heads;
    ATT_TRY(check_choice(trail, err));
    size_t S = (size_t)trail->source_length, used = (size_t)trail->attention_rows * S;
    size_t more = (size_t)rows * S, maps = (size_t)trail->attention_maps;
    if ((keep->selected && !floats_reserve(&trail->attention, used, used + more)) ||
        (keep->all_heads &&
         !floats_reserve(&trail->head_attention, used * maps, (used + more) * maps)))
        return att_fail_memory(err);
    for (int64_t r = 0; keep->selected && r < rows; r++)
        select_attention(trail, trail->attention.data + used + (size_t)r * S,
                         decoded->attention + (size_t)r * maps * S);
    if (keep->all_heads)
        memcpy(trail->head_attention.data + used * maps, decoded->attention,
               more * maps * sizeof *trail->head_attention.data);
    trail->attention_rows += rows;
    return ATT_OK;
}

/* ---- links */

att_status att_hypothesis_tree_add(att_hypothesis_tree *trail, int64_t *out,
                                   att_hypothesis_node link, att_error *err)
{
    if (trail->count == trail->capacity) {
        size_t used = (size_t)trail->count, more = 2 * used + 256;
        att_hypothesis_node *bigger =
            att_realloc(trail->nodes, used * sizeof *bigger, more, sizeof *bigger);
        if (!bigger)
            return att_fail_memory(err);
        trail->nodes = bigger;
        trail->capacity = (int64_t)more;
    }
    trail->nodes[trail->count] = link;
    *out = trail->count++;
    return ATT_OK;
}

int64_t att_hypothesis_tree_length(const att_hypothesis_tree *trail, int64_t last)
{
    int64_t count = 0;
    for (; last != ATT_HYPOTHESIS_ROOT; last = trail->nodes[last].parent)
        count++;
    return count;
}

void att_hypothesis_tree_tokens(const att_hypothesis_tree *trail, int64_t last, int32_t *out,
                                int64_t count)
{
    for (int64_t i = count - 1; i >= 0; i--) {
        out[i] = trail->nodes[last].token;
        last = trail->nodes[last].parent;
    }
}

/* ---- hypotheses */

/* Rows of what was looked at, one for each link of a chain of `count`: of [maps,S], the first
 * `length` places of each map. */
static const float *copy_attention_rows(const att_hypothesis_tree *trail, const float *from,
                                        int64_t maps, int64_t last, int64_t count, int64_t length,
                                        att_arena *memory)
{
    int64_t S = trail->source_length;
    float *out = att_arena_alloc(memory, (size_t)(count * maps), (size_t)length * sizeof *out);
    for (int64_t t = count - 1; out && t >= 0; t--) {
        const float *row = from + trail->nodes[last].attention_row * maps * S;
        for (int64_t m = 0; m < maps; m++)
            memcpy(out + (t * maps + m) * length, row + m * S, (size_t)length * sizeof *out);
        last = trail->nodes[last].parent;
    }
    return out;
}

att_status att_hypothesis_tree_copy(const att_hypothesis_tree *trail, att_hypothesis *out,
                                    int64_t last, int64_t length, att_arena *memory, att_error *err)
{
    int64_t count = att_hypothesis_tree_length(trail, last);
    int32_t *ids = att_arena_alloc(memory, (size_t)count, sizeof *ids);
    float *log_probs = att_arena_alloc(memory, (size_t)count, sizeof *log_probs);
    if (!ids || !log_probs)
        return att_fail_memory(err);
    att_hypothesis_tree_tokens(trail, last, ids, count);
    int64_t at = last;
    for (int64_t t = count - 1; t >= 0; t--, at = trail->nodes[at].parent)
        log_probs[t] = trail->nodes[at].log_prob;
    out->count = count;
    out->ids = ids;
    out->log_probs = log_probs;
    bool looks = trail->has_attention && trail->keep.selected,
         heads = trail->has_attention && trail->keep.all_heads;
    if (looks)
        out->attention =
            copy_attention_rows(trail, trail->attention.data, 1, last, count, length, memory);
    if (heads)
        out->head_attention = copy_attention_rows(
            trail, trail->head_attention.data, trail->attention_maps, last, count, length, memory);
    return (looks && !out->attention) || (heads && !out->head_attention) ? att_fail_memory(err)
                                                                         : ATT_OK;
}
