/* Pairs with the same source are linked to each other (same_source.h). */
#include "data/same_source.h"

#include "base/alloc.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

typedef struct hashed_pair {
    int64_t hash, pair;
} hashed_pair;

static int by_hash(const void *left, const void *right)
{
    const hashed_pair *a = left, *b = right;
    if (a->hash != b->hash)
        return a->hash < b->hash ? -1 : 1;
    return (a->pair > b->pair) - (a->pair < b->pair);
}

static bool same_tokens(const att_sequences *side, int64_t a, int64_t b)
{
    int64_t a_length, b_length;
    const int32_t *left = att_sequences_get(side, a, &a_length);
    const int32_t *right = att_sequences_get(side, b, &b_length);
    return a_length == b_length && memcmp(left, right, (size_t)a_length * sizeof *left) == 0;
}

/* Links the pairs [count], which are sorted and have the same hash. */
static void link_pairs(att_corpus *corpus, const hashed_pair *pairs, int64_t count)
{
    bool several = false;
    for (int64_t i = 0; i < count; i++) {
        corpus->same_source[pairs[i].pair] = pairs[(i + 1) % count].pair;
        several = several || !same_tokens(&corpus->target, pairs[0].pair, pairs[i].pair);
    }
    corpus->stats.several_targets += several;
}

att_status att_corpus_link_sources(att_corpus *corpus, const int64_t *hashes, att_error *err)
{
    hashed_pair *sorted = att_alloc((size_t)corpus->pairs, sizeof *sorted);
    corpus->same_source = att_alloc((size_t)corpus->pairs, sizeof *corpus->same_source);
    if (!sorted || !corpus->same_source) {
        att_free(sorted);
        return att_fail_memory(err);
    }
    for (int64_t p = 0; p < corpus->pairs; p++)
        sorted[p] = (hashed_pair){ hashes[p], p };
    qsort(sorted, (size_t)corpus->pairs, sizeof *sorted, by_hash);
    for (int64_t first = 0, end; first < corpus->pairs; first = end) {
        for (end = first + 1; end < corpus->pairs && sorted[end].hash == sorted[first].hash;)
            end++;
        link_pairs(corpus, sorted + first, end - first);
    }
    att_free(sorted);
    return ATT_OK;
}
