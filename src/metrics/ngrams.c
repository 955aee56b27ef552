/* N-grams in a hash table. An n-gram is found through the node of its first n - 1 symbols, so every
 * order costs one lookup. */
#include "metrics/ngrams.h"

#include "base/alloc.h"
#include "base/error.h"

enum { FIRST_CAPACITY = 1024 };

static size_t slot_of(const att_ngrams *ngrams, uint32_t prefix, int32_t symbol)
{
    size_t mask = 2 * ngrams->capacity - 1;
    uint64_t h = ((uint64_t)prefix << 32 | (uint32_t)symbol) * UINT64_C(0x9E3779B97F4A7C15);
    size_t slot = (size_t)(h >> 32) & mask;
    for (; ngrams->slots[slot]; slot = (slot + 1) & mask) {
        const att_ngram *node = &ngrams->nodes[ngrams->slots[slot] - 1];
        if (node->prefix == prefix && node->symbol == symbol)
            break;
    }
    return slot;
}

static void place(att_ngrams *ngrams, size_t index)
{
    att_ngram *node = &ngrams->nodes[index];
    node->slot = (uint32_t)slot_of(ngrams, node->prefix, node->symbol);
    ngrams->slots[node->slot] = (uint32_t)index + 1;
}

static att_status grow(att_ngrams *ngrams)
{
    size_t capacity = ngrams->capacity ? ngrams->capacity * 2 : FIRST_CAPACITY;
    uint32_t *slots =
        capacity <= INT32_MAX / 2 ? att_alloc_zero(capacity * 2, sizeof *slots) : NULL;
    att_ngram *nodes =
        slots ? att_realloc(ngrams->nodes, ngrams->count * sizeof *nodes, capacity, sizeof *nodes)
              : NULL;
    if (!nodes) {
        att_free(slots);
        return ATT_NO_MEMORY;
    }
    att_free(ngrams->slots);
    *ngrams = (att_ngrams){ nodes, ngrams->count, capacity, slots };
    for (size_t i = 0; i < ngrams->count; i++)
        place(ngrams, i);
    return ATT_OK;
}

/* Only the slots in use are cleared: lines are short, even after a long one. */
void att_ngrams_clear(att_ngrams *ngrams)
{
    for (size_t i = 0; i < ngrams->count; i++)
        ngrams->slots[ngrams->nodes[i].slot] = 0;
    ngrams->count = 0;
}

void att_ngrams_free(att_ngrams *ngrams)
{
    att_free(ngrams->nodes);
    att_free(ngrams->slots);
    *ngrams = (att_ngrams){ 0 };
}

att_status att_ngrams_extend(att_ngrams *ngrams, uint32_t *prefix, int32_t symbol)
{
    if (ngrams->count == ngrams->capacity)
        ATT_TRY(grow(ngrams));
    size_t slot = slot_of(ngrams, *prefix, symbol);
    if (!ngrams->slots[slot]) {
        ngrams->nodes[ngrams->count] =
            (att_ngram){ .prefix = *prefix, .symbol = symbol, .slot = (uint32_t)slot };
        ngrams->slots[slot] = (uint32_t)++ngrams->count;
    }
    *prefix = ngrams->slots[slot];
    return ATT_OK;
}

uint32_t att_ngrams_find(const att_ngrams *ngrams, uint32_t prefix, int32_t symbol)
{
    return ngrams->capacity > 0 ? ngrams->slots[slot_of(ngrams, prefix, symbol)] : 0;
}

att_status att_ngrams_add(att_ngrams *ngrams, const int32_t *symbols, size_t count, int order)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t prefix = 0;
        for (size_t n = 0; n < (size_t)order && i + n < count; n++) {
            ATT_TRY(att_ngrams_extend(ngrams, &prefix, symbols[i + n]));
            ngrams->nodes[prefix - 1].count++;
        }
    }
    for (size_t i = 0; i < ngrams->count; i++) {
        att_ngram *node = &ngrams->nodes[i];
        node->max_count = node->count > node->max_count ? node->count : node->max_count;
        node->count = 0;
    }
    return ATT_OK;
}

att_status att_ngrams_add_document(att_ngrams *ngrams, const int32_t *symbols, size_t count,
                                   int order, int32_t document)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t prefix = 0;
        for (size_t n = 0; n < (size_t)order && i + n < count; n++) {
            ATT_TRY(att_ngrams_extend(ngrams, &prefix, symbols[i + n]));
            att_ngram *node = &ngrams->nodes[prefix - 1];
            node->max_count += node->count != document;
            node->count = document;
        }
    }
    return ATT_OK;
}

void att_ngrams_match(att_ngrams *ngrams, const int32_t *symbols, size_t count, int order,
                      double *matched)
{
    for (int n = 0; n < order; n++)
        matched[n] = 0;
    for (size_t i = 0; ngrams->capacity > 0 && i < count; i++) {
        uint32_t prefix = 0;
        for (size_t n = 0; n < (size_t)order && i + n < count; n++) {
            prefix = ngrams->slots[slot_of(ngrams, prefix, symbols[i + n])];
            if (!prefix)
                break;
            att_ngram *node = &ngrams->nodes[prefix - 1];
            matched[n] += ++node->count <= node->max_count;
        }
    }
    for (size_t i = 0; i < ngrams->count; i++)
        ngrams->nodes[i].count = 0;
}

double att_ngrams_total(size_t count, int n)
{
    return count >= (size_t)n ? (double)(count - (size_t)n + 1) : 0;
}
