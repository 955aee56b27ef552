/* What fused attention will want next, fetched while it works on something else. Rows of a head
 * that lie apart are no stream that a processor would recognise by itself. */
#include "attention/fused.h"

static int64_t min_int64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

att_prefetch_target att_prefetch_block(const att_sequence_head *head, int64_t block)
{
    int64_t before = block * ATT_BLOCK_KEYS, left = head->keys - before;
    return (att_prefetch_target){ .head = *head,
                                  .from = head->key_start + before,
                                  .count = left < 0 ? 0 : min_int64(left, ATT_BLOCK_KEYS) };
}

att_prefetch_target att_prefetch_unit(const att_fused_attention *fused)
{
    int64_t number = atomic_load(&fused->next_unit);
    if (number >= fused->units)
        return (att_prefetch_target){ 0 };
    att_work_unit unit = att_fused_unit(fused, number);
    att_sequence_head head = att_fused_sequence_head(fused, unit.sequence, 0);
    head = att_fused_sequence_head(fused, unit.sequence, unit.first / att_fused_tile_count(&head));
    att_prefetch_target ahead = att_prefetch_block(&head, 0);
    ahead.unit = unit;
    return ahead;
}

void att_prefetch_add(att_fused_buffers *scratch, att_prefetch_rows rows)
{
    scratch->prefetch[scratch->prefetch_count++] = rows;
}

void att_prefetch_add_queries(const att_fused_attention *fused, const att_work_unit *unit,
                              int64_t index, att_fused_buffers *scratch)
{
    int64_t number = unit->first + index;
    if (number >= unit->last)
        return;
    att_sequence_head head = att_fused_sequence_head(fused, unit->sequence, 0);
    int64_t tiles = att_fused_tile_count(&head), first = number % tiles * ATT_TILE_LANES;
    att_prefetch_add(scratch,
                     (att_prefetch_rows){ fused->problem->in->query, head.b,
                                          head.query_start + first, number / tiles,
                                          min_int64(head.queries - first, ATT_TILE_LANES) });
}

void att_prefetch_add_part(const att_fused_attention *fused, const att_prefetch_target *ahead,
                           int64_t part, int64_t parts, att_fused_buffers *scratch)
{
    const att_attention_inputs *in = fused->problem->in;
    const att_sequence_head *head = &ahead->head;
    int64_t skip = ahead->count * part / parts, end = ahead->count * (part + 1) / parts;
    if (skip == end)
        return;
    att_prefetch_rows keys = { in->key, head->b, ahead->from + skip, head->g, end - skip },
                      values = keys;
    values.tensor = in->value;
    att_prefetch_add(scratch, keys);
    att_prefetch_add(scratch, values);
}

void att_prefetch_run(const att_fused_buffers *scratch, size_t part, size_t parts)
{
    for (int n = 0; n < scratch->prefetch_count; n++) {
        const att_prefetch_rows *w = &scratch->prefetch[n];
        int64_t skip = w->count * (int64_t)part / (int64_t)parts;
        int64_t end = w->count * (int64_t)(part + 1) / (int64_t)parts;
        att_tensor_prefetch_rows(w->tensor, w->b, w->first + skip, w->head, end - skip);
    }
}
