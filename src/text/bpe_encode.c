/* BPE applied to a piece of text: looked up among the pieces encoded before, or merged. */
#include "text/bpe.h"

#include "base/error.h"
#include "text/bpe_internal.h"

enum { MAX_CACHED = 1 << 16, MAX_CACHED_LENGTH = 64 };

/* The token that two neighbors merge into, or -1. */
static int32_t find_merge(const void *table, const char *text, const att_merge_symbol *left,
                          const att_merge_symbol *right)
{
    (void)text;
    const att_bpe *bpe = table;
    size_t slot = att_bpe_pair_hash(left->token, right->token, bpe->slot_count);
    for (; bpe->slots[slot]; slot = (slot + 1) & (bpe->slot_count - 1)) {
        uint32_t index = bpe->slots[slot] - 1;
        if (bpe->merges[index].left == left->token && bpe->merges[index].right == right->token)
            return (int32_t)(ATT_BPE_BYTES + bpe->character_count + index);
    }
    return -1;
}

static att_status merge_piece(const att_bpe *bpe, att_merger *merger, att_ids *ids,
                              const char *piece, size_t length)
{
    ATT_TRY(att_merger_start(merger, length));
    for (size_t at = 0; at < length;) {
        int32_t tokens[4];
        size_t count;
        size_t bytes = att_bpe_encode_character(bpe, tokens, &count, piece + at, length - at);
        for (size_t i = 0; i < count; i++)
            att_merger_add(merger, tokens[i], at + i, count == 1 ? bytes : 1);
        at += bytes;
    }
    return att_merger_run(merger, find_merge, bpe, piece, ids);
}

/* ---- the cache */

void att_bpe_cache_free(att_bpe_cache *cache)
{
    att_string_set_free(&cache->pieces);
    att_ids_free(&cache->tokens);
    att_ids_free(&cache->ends);
    *cache = (att_bpe_cache){ 0 };
}

static att_status add_cached(const att_bpe_cache *cache, size_t index, att_ids *ids)
{
    int32_t start = index > 0 ? cache->ends.items[index - 1] : 0;
    for (int32_t i = start; i < cache->ends.items[index]; i++)
        ATT_TRY(att_ids_add(ids, cache->tokens.items[i]));
    return ATT_OK;
}

static att_status add_tokens(att_bpe_cache *cache, const int32_t *tokens, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ATT_TRY(att_ids_add(&cache->tokens, tokens[i]));
    return att_ids_add(&cache->ends, (int32_t)cache->tokens.count);
}

/* The piece itself is added last, so that a failure leaves the cache as it was. A full cache keeps
 * what it has: pieces that come late in a corpus are rare. */
static att_status remember(att_bpe_cache *cache, const char *piece, size_t length,
                           const int32_t *tokens, size_t count)
{
    if (cache->pieces.count == MAX_CACHED)
        return ATT_OK;
    size_t index, before = cache->tokens.count;
    att_status status = add_tokens(cache, tokens, count);
    if (status == ATT_OK)
        status = att_string_set_add(&cache->pieces, piece, length, &index);
    if (status != ATT_OK) {
        cache->tokens.count = before;
        cache->ends.count = cache->pieces.count;
    }
    return status;
}

att_status att_bpe_encode(const att_bpe *bpe, att_merger *merger, att_bpe_cache *cache,
                          att_ids *ids, int32_t first, const char *piece, size_t length)
{
    if (cache->owner != bpe) {
        att_bpe_cache_free(cache);
        cache->owner = bpe;
    }
    size_t start = ids->count;
    bool cachable = length <= MAX_CACHED_LENGTH;
    ptrdiff_t known = cachable ? att_string_set_find(&cache->pieces, piece, length) : -1;
    if (known >= 0)
        ATT_TRY(add_cached(cache, (size_t)known, ids));
    else
        ATT_TRY(merge_piece(bpe, merger, ids, piece, length));
    if (known < 0 && cachable)
        ATT_TRY(remember(cache, piece, length, ids->items + start, ids->count - start));
    for (size_t i = start; i < ids->count; i++)
        ids->items[i] += first;
    return ATT_OK;
}
