/* Runs of symbols in a table; see ngrams.h. A run of n symbols is found through that of its first
 * n - 1, so that every length costs one look. */
#include "metrics/ngrams.h"

#include "base/alloc.h"
#include "base/error.h"

enum { FIRST_CAPACITY = 1024 };

static size_t slot_of(const att_ngrams *g, uint32_t prefix, int32_t symbol)
{
    size_t mask = 2 * g->capacity - 1;
    uint64_t h = ((uint64_t)prefix << 32 | (uint32_t)symbol) * UINT64_C(0x9E3779B97F4A7C15);
    size_t slot = (size_t)(h >> 32) & mask;
    for (; g->slots[slot]; slot = (slot + 1) & mask) {
        const att_ngram *node = &g->nodes[g->slots[slot] - 1];
        if (node->prefix == prefix && node->symbol == symbol)
            break;
    }
    return slot;
}

static void place(att_ngrams *g, size_t index)
{
    att_ngram *node = &g->nodes[index];
    node->slot = (uint32_t)slot_of(g, node->prefix, node->symbol);
    g->slots[node->slot] = (uint32_t)index + 1;
}

static att_status grow(att_ngrams *g)
{
    size_t capacity = g->capacity ? g->capacity * 2 : FIRST_CAPACITY;
    uint32_t *slots =
        capacity <= INT32_MAX / 2 ? att_alloc_zero(capacity * 2, sizeof *slots) : NULL;
    att_ngram *nodes =
        slots ? att_realloc(g->nodes, g->count * sizeof *nodes, capacity, sizeof *nodes) : NULL;
    if (!nodes) {
        att_free(slots);
        return ATT_NO_MEMORY;
    }
    att_free(g->slots);
    *g = (att_ngrams){ nodes, g->count, capacity, slots };
    for (size_t i = 0; i < g->count; i++)
        place(g, i);
    return ATT_OK;
}

/* Only the slots in use are emptied: lines are short, and a long one before them costs nothing. */
void att_ngrams_clear(att_ngrams *g)
{
    for (size_t i = 0; i < g->count; i++)
        g->slots[g->nodes[i].slot] = 0;
    g->count = 0;
}

void att_ngrams_free(att_ngrams *g)
{
    att_free(g->nodes);
    att_free(g->slots);
    *g = (att_ngrams){ 0 };
}

att_status att_ngrams_extend(att_ngrams *g, uint32_t *prefix, int32_t symbol)
{
    if (g->count == g->capacity)
        ATT_TRY(grow(g));
    size_t slot = slot_of(g, *prefix, symbol);
    if (!g->slots[slot]) {
        g->nodes[g->count] =
            (att_ngram){ .prefix = *prefix, .symbol = symbol, .slot = (uint32_t)slot };
        g->slots[slot] = (uint32_t)++g->count;
    }
    *prefix = g->slots[slot];
    return ATT_OK;
}

uint32_t att_ngrams_find(const att_ngrams *g, uint32_t prefix, int32_t symbol)
{
    return g->capacity > 0 ? g->slots[slot_of(g, prefix, symbol)] : 0;
}

att_status att_ngrams_add(att_ngrams *g, const int32_t *symbols, size_t count, int order)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t prefix = 0;
        for (size_t n = 0; n < (size_t)order && i + n < count; n++) {
            ATT_TRY(att_ngrams_extend(g, &prefix, symbols[i + n]));
            g->nodes[prefix - 1].count++;
        }
    }
    for (size_t i = 0; i < g->count; i++) {
        att_ngram *node = &g->nodes[i];
        node->max_count = node->count > node->max_count ? node->count : node->max_count;
        node->count = 0;
    }
    return ATT_OK;
}

att_status att_ngrams_add_document(att_ngrams *g, const int32_t *symbols, size_t count, int order,
                                   int32_t document)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t prefix = 0;
        for (size_t n = 0; n < (size_t)order && i + n < count; n++) {
            ATT_TRY(att_ngrams_extend(g, &prefix, symbols[i + n]));
            att_ngram *node = &g->nodes[prefix - 1];
            node->max_count += node->count != document;
            node->count = document;
        }
    }
    return ATT_OK;
}

void att_ngrams_match(att_ngrams *g, const int32_t *symbols, size_t count, int order,
                      double *matched)
{
    for (int n = 0; n < order; n++)
        matched[n] = 0;
    for (size_t i = 0; g->capacity > 0 && i < count; i++) {
        uint32_t prefix = 0;
        for (size_t n = 0; n < (size_t)order && i + n < count; n++) {
            prefix = g->slots[slot_of(g, prefix, symbols[i + n])];
            if (!prefix)
                break;
            att_ngram *node = &g->nodes[prefix - 1];
            matched[n] += ++node->count <= node->max_count;
        }
    }
    for (size_t i = 0; i < g->count; i++)
        g->nodes[i].count = 0;
}

double att_ngrams_total(size_t count, int n)
{
    return count >= (size_t)n ? (double)(count - (size_t)n + 1) : 0;
}
