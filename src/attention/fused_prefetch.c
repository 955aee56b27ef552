/* Prefetching for fused attention: rows that are read next are loaded into the cache while the
 * current tile computes. Hardware prefetchers do not recognize the strided rows of one head. */
#include "attention/fused.h"
#include "base/minmax.h"

att_prefetch_target att_prefetch_block(const att_sequence_head *head, int64_t block)
{
    int64_t before = block * ATT_BLOCK_KEYS, left = head->keys - before;
    return (att_prefetch_target){ .head = *head,
                                  .from = head->key_start + before,
                                  .count = att_clamp_i64(left, 0, ATT_BLOCK_KEYS) };
}

att_prefetch_target att_prefetch_unit(const att_fused_attention *fused)
{
    int64_t number = atomic_load(&fused->next_unit);
    if (number >= fused->units)
        return (att_prefetch_target){ 0 };
    att_work_unit unit = att_fused_unit(fused, number);
    att_sequence_head head = att_sequence_head_get(fused->problem, unit.sequence, 0);
    head = att_sequence_head_get(fused->problem, unit.sequence,
                                 unit.first / att_fused_tile_count(&head));
    att_prefetch_target ahead = att_prefetch_block(&head, 0);
    ahead.unit = unit;
    return ahead;
}

void att_prefetch_add(att_fused_buffers *buffers, att_prefetch_rows rows)
{
    buffers->prefetch[buffers->prefetch_count++] = rows;
}

void att_prefetch_add_queries(const att_fused_attention *fused, const att_work_unit *unit,
                              int64_t index, att_fused_buffers *buffers)
{
    int64_t number = unit->first + index;
    if (number >= unit->last)
        return;
    att_sequence_head head = att_sequence_head_get(fused->problem, unit->sequence, 0);
    int64_t tiles = att_fused_tile_count(&head), first = number % tiles * ATT_TILE_LANES;
    att_prefetch_add(buffers,
                     (att_prefetch_rows){ fused->problem->in->query, head.b,
                                          head.query_start + first, number / tiles,
                                          att_min_i64(head.queries - first, ATT_TILE_LANES) });
}

void att_prefetch_add_part(const att_fused_attention *fused, const att_prefetch_target *ahead,
                           int64_t part, int64_t parts, att_fused_buffers *buffers)
{
    const att_attention_inputs *in = fused->problem->in;
    const att_sequence_head *head = &ahead->head;
    int64_t skip = ahead->count * part / parts, end = ahead->count * (part + 1) / parts;
    if (skip == end)
        return;
    att_prefetch_rows keys = { in->key, head->b, ahead->from + skip, head->g, end - skip },
                      values = keys;
    values.tensor = in->value;
    att_prefetch_add(buffers, keys);
    att_prefetch_add(buffers, values);
}

void att_prefetch_run(const att_fused_buffers *buffers, size_t part, size_t parts)
{
    for (int n = 0; n < buffers->prefetch_count; n++) {
        const att_prefetch_rows *w = &buffers->prefetch[n];
        int64_t skip = w->count * (int64_t)part / (int64_t)parts;
        int64_t end = w->count * (int64_t)(part + 1) / (int64_t)parts;
        att_tensor_prefetch_rows(w->tensor, w->b, w->first + skip, w->head, end - skip);
    }
}
