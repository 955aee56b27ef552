/* What fused attention will want next, fetched while it works on something else. Rows of a head
 * that lie apart are no stream that a processor would recognise by itself. */
#include "attention/fused.h"

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

att_ahead att_ahead_block(const att_head *head, int64_t block)
{
    int64_t before = block * ATT_BLOCK_KEYS, left = head->keys - before;
    return (att_ahead){ .head = *head,
                        .from = head->key_start + before,
                        .count = left < 0 ? 0 : smaller(left, ATT_BLOCK_KEYS) };
}

att_ahead att_ahead_unit(const att_fused *fused)
{
    int64_t number = atomic_load(&fused->next);
    if (number >= fused->units)
        return (att_ahead){ 0 };
    att_unit unit = att_fused_unit(fused, number);
    att_head head = att_fused_head(fused, unit.sequence, 0);
    head = att_fused_head(fused, unit.sequence, unit.first / att_fused_tiles(&head));
    att_ahead ahead = att_ahead_block(&head, 0);
    ahead.unit = unit;
    return ahead;
}

void att_ahead_want(att_scratch *scratch, att_wanted rows)
{
    scratch->wanted[scratch->wanted_count++] = rows;
}

void att_ahead_queries(const att_fused *fused, const att_unit *unit, int64_t index,
                       att_scratch *scratch)
{
    int64_t number = unit->first + index;
    if (number >= unit->last)
        return;
    att_head head = att_fused_head(fused, unit->sequence, 0);
    int64_t tiles = att_fused_tiles(&head), first = number % tiles * ATT_TILE_LANES;
    att_ahead_want(scratch,
                   (att_wanted){ fused->problem->in->query, head.b, head.query_start + first,
                                 number / tiles, smaller(head.queries - first, ATT_TILE_LANES) });
}

void att_ahead_part(const att_fused *fused, const att_ahead *ahead, int64_t part, int64_t parts,
                    att_scratch *scratch)
{
    const att_attention_inputs *in = fused->problem->in;
    const att_head *head = &ahead->head;
    int64_t skip = ahead->count * part / parts, end = ahead->count * (part + 1) / parts;
    if (skip == end)
        return;
    att_wanted keys = { in->key, head->b, ahead->from + skip, head->g, end - skip }, values = keys;
    values.tensor = in->value;
    att_ahead_want(scratch, keys);
    att_ahead_want(scratch, values);
}

void att_ahead_fetch(const att_scratch *scratch, size_t part, size_t parts)
{
    for (int n = 0; n < scratch->wanted_count; n++) {
        const att_wanted *w = &scratch->wanted[n];
        int64_t skip = w->count * (int64_t)part / (int64_t)parts;
        int64_t end = w->count * (int64_t)(part + 1) / (int64_t)parts;
        att_rows_fetch(w->tensor, w->b, w->first + skip, w->head, end - skip);
    }
}
