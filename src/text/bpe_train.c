/* BPE training. Every distinct piece is stored once, as a row of symbols, with its count. Each
 * symbol knows the pair that starts at it, and all symbols of a pair are linked in text order, so a
 * merge touches only the places where it happens (as in Larsson and Moffat, "Off-line
 * dictionary-based compression", 2000). Pairs wait in a queue by count. A count in the queue may be
 * out of date, but only too high: a merge creates new pairs with the new token and only removes
 * occurrences of old ones. So the first pair of the queue whose count is current is the most
 * frequent. */
#include "text/bpe.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/progress.h"
#include "text/heap.h"
#include "text/bpe_internal.h"
#include "text/utf8.h"

enum { NONE = -1, FIRST_PAIRS = 1024 };

typedef struct symbol {
    int32_t token;
    int32_t prev, next;                       /* neighbors in the piece */
    int32_t pair;                             /* the pair that starts here */
    int32_t prev_occurrence, next_occurrence; /* other symbols where the same pair starts */
    uint32_t piece;
} symbol;

typedef struct pair {
    att_bpe_merge tokens;
    int64_t count;
    int32_t first, last; /* symbols where it starts */
} pair;

typedef struct bpe_trainer {
    const att_piece *pieces;
    size_t piece_count;
    int64_t min_count;
    uint32_t *characters;
    size_t character_count;
    symbol *symbols;
    size_t symbol_count;
    pair *pairs;
    size_t pair_count, pair_capacity;
    uint32_t *slots; /* [2 * pair_capacity] hash table: index + 1 of a pair, or 0 */
    att_heap queue;
    att_bpe_merge *merges;
    uint32_t *lengths; /* bytes of every token */
    size_t merge_count;
} bpe_trainer;

/* ---- characters */

/* Adds the occurrences of every character beyond ASCII to times[code], if given. Returns the
 * highest code point. */
static uint32_t count_characters(const bpe_trainer *t, int64_t *times)
{
    uint32_t highest = 0;
    for (size_t p = 0; p < t->piece_count; p++) {
        const att_piece *piece = &t->pieces[p];
        for (size_t at = 0, bytes; at < piece->length; at += bytes) {
            uint32_t code;
            bytes = att_utf8_decode_lossy(piece->text + at, piece->length - at, &code);
            if (bytes == 1)
                continue;
            highest = code > highest ? code : highest;
            if (times)
                times[code] += piece->count;
        }
    }
    return highest;
}

/* The characters that occur often enough, by code point. */
static att_status find_characters(bpe_trainer *t)
{
    uint32_t highest = count_characters(t, NULL);
    int64_t min_count = att_max_i64(t->min_count, 1);
    int64_t *times = att_alloc_zero((size_t)highest + 1, sizeof *times);
    t->characters = times ? att_alloc((size_t)highest + 1, sizeof *t->characters) : NULL;
    if (t->characters) {
        count_characters(t, times);
        for (uint32_t code = 0; code <= highest; code++)
            if (times[code] >= min_count)
                t->characters[t->character_count++] = code;
    }
    att_free(times);
    return t->characters ? ATT_OK : ATT_NO_MEMORY;
}

/* ---- pairs */

static size_t pair_slot(const bpe_trainer *t, int32_t left, int32_t right)
{
    size_t mask = 2 * t->pair_capacity - 1;
    size_t slot = att_bpe_pair_hash(left, right, mask + 1);
    for (; t->slots[slot]; slot = (slot + 1) & mask) {
        const att_bpe_merge *tokens = &t->pairs[t->slots[slot] - 1].tokens;
        if (tokens->left == left && tokens->right == right)
            break;
    }
    return slot;
}

static att_status grow_pairs(bpe_trainer *t)
{
    size_t capacity = t->pair_capacity ? t->pair_capacity * 2 : FIRST_PAIRS;
    uint32_t *slots = att_alloc_zero(capacity * 2, sizeof *slots);
    pair *pairs =
        slots && capacity < INT32_MAX
            ? att_realloc(t->pairs, t->pair_count * sizeof *pairs, capacity, sizeof *pairs)
            : NULL;
    if (!pairs) {
        att_free(slots);
        return ATT_NO_MEMORY;
    }
    att_free(t->slots);
    t->slots = slots;
    t->pairs = pairs;
    t->pair_capacity = capacity;
    for (size_t i = 0; i < t->pair_count; i++)
        slots[pair_slot(t, pairs[i].tokens.left, pairs[i].tokens.right)] = (uint32_t)i + 1;
    return ATT_OK;
}

/* The index of a pair, which is added if it is new. */
static att_status find_pair(bpe_trainer *t, int32_t left, int32_t right, int32_t *index)
{
    if (t->pair_count == t->pair_capacity)
        ATT_TRY(grow_pairs(t));
    size_t slot = pair_slot(t, left, right);
    if (!t->slots[slot]) {
        t->pairs[t->pair_count] = (pair){ .tokens = { left, right }, .first = NONE, .last = NONE };
        t->slots[slot] = (uint32_t)++t->pair_count;
    }
    *index = (int32_t)t->slots[slot] - 1;
    return ATT_OK;
}

/* A byte of a character without a token is never merged. */
static bool may_merge(int32_t token)
{
    return token < 0x80 || token >= ATT_BPE_BYTES;
}

/* Appends the pair that starts at a symbol to the list of its occurrences. */
static att_status add_occurrence(bpe_trainer *t, int32_t at)
{
    if (at < 0 || t->symbols[at].next < 0)
        return ATT_OK;
    symbol *c = &t->symbols[at];
    int32_t right = t->symbols[c->next].token;
    if (!may_merge(c->token) || !may_merge(right))
        return ATT_OK;
    ATT_TRY(find_pair(t, c->token, right, &c->pair));
    pair *p = &t->pairs[c->pair];
    c->prev_occurrence = p->last;
    c->next_occurrence = NONE;
    if (p->last >= 0)
        t->symbols[p->last].next_occurrence = at;
    else
        p->first = at;
    p->last = at;
    p->count += t->pieces[c->piece].count;
    return ATT_OK;
}

static void remove_occurrence(bpe_trainer *t, int32_t at)
{
    if (at < 0 || t->symbols[at].pair < 0)
        return;
    symbol *c = &t->symbols[at];
    pair *p = &t->pairs[c->pair];
    *(c->prev_occurrence >= 0 ? &t->symbols[c->prev_occurrence].next_occurrence : &p->first) =
        c->next_occurrence;
    *(c->next_occurrence >= 0 ? &t->symbols[c->next_occurrence].prev_occurrence : &p->last) =
        c->prev_occurrence;
    p->count -= t->pieces[c->piece].count;
    c->pair = NONE;
}

/* ---- the text as symbols */

static size_t init_piece_symbols(bpe_trainer *t, const att_bpe *alphabet, uint32_t number)
{
    const att_piece *piece = &t->pieces[number];
    size_t first = t->symbol_count;
    for (size_t at = 0, count; at < piece->length;) {
        int32_t tokens[4];
        at += att_bpe_encode_character(alphabet, tokens, &count, piece->text + at,
                                       piece->length - at);
        for (size_t i = 0; i < count; i++)
            t->symbols[t->symbol_count++].token = tokens[i];
    }
    for (size_t i = first; i < t->symbol_count; i++) {
        symbol *c = &t->symbols[i];
        c->prev = i > first ? (int32_t)i - 1 : NONE;
        c->next = i + 1 < t->symbol_count ? (int32_t)i + 1 : NONE;
        c->pair = NONE;
        c->piece = number;
    }
    return first;
}

static att_status init_symbols(bpe_trainer *t, const att_bpe *alphabet, att_error *err)
{
    size_t bytes = 0;
    for (size_t p = 0; p < t->piece_count; p++)
        bytes += t->pieces[p].length;
    if (bytes > INT32_MAX || t->piece_count > UINT32_MAX)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "there are more than %d bytes of different words to learn BPE merges from",
                        INT32_MAX);
    t->symbols = att_alloc(bytes, sizeof *t->symbols);
    if (!t->symbols)
        return att_fail_memory(err);
    for (size_t p = 0; p < t->piece_count; p++) {
        if (t->pieces[p].count <= 0)
            continue;
        for (size_t at = init_piece_symbols(t, alphabet, (uint32_t)p); at < t->symbol_count; at++)
            if (add_occurrence(t, (int32_t)at) != ATT_OK)
                return att_fail_memory(err);
    }
    return ATT_OK;
}

/* ---- merging */

/* Queues the pairs from index `from` on. */
static att_status queue_pairs(bpe_trainer *t, size_t from)
{
    for (size_t i = from; i < t->pair_count; i++) {
        const pair *p = &t->pairs[i];
        const att_heap_item item = { .priority = (uint64_t)(INT64_MAX - p->count),
                                     .tie_breaker =
                                         (uint64_t)p->tokens.left << 32 | (uint32_t)p->tokens.right,
                                     .value = (int32_t)i };
        if (p->count >= t->min_count)
            ATT_TRY(att_heap_push(&t->queue, item));
    }
    return ATT_OK;
}

/* Merges the pair at all its occurrences. In a run of three equal symbols the first two merge, and
 * the pair of the last two disappears. */
static att_status merge(bpe_trainer *t, int32_t index, int32_t token)
{
    size_t old = t->pair_count;
    for (int32_t at; (at = t->pairs[index].first) >= 0;) {
        symbol *c = &t->symbols[at];
        int32_t gone = c->next;
        remove_occurrence(t, c->prev);
        remove_occurrence(t, at);
        remove_occurrence(t, gone);
        c->token = token;
        c->next = t->symbols[gone].next;
        if (c->next >= 0)
            t->symbols[c->next].prev = at;
        ATT_TRY(add_occurrence(t, c->prev));
        ATT_TRY(add_occurrence(t, at));
    }
    return queue_pairs(t, old);
}

/* The most frequent pair; false if none is frequent enough. */
static bool best_pair(bpe_trainer *t, int32_t *index, att_status *status)
{
    att_heap_item item;
    while (*status == ATT_OK && att_heap_pop(&t->queue, &item)) {
        const pair *p = &t->pairs[item.value];
        uint32_t length = t->lengths[p->tokens.left] + t->lengths[p->tokens.right];
        *index = item.value;
        if (p->count < t->min_count || length > ATT_BPE_MAX_TOKEN_BYTES)
            continue;
        if (item.priority == (uint64_t)(INT64_MAX - p->count))
            return true;
        item.priority = (uint64_t)(INT64_MAX - p->count);
        *status = att_heap_push(&t->queue, item);
    }
    return false;
}

static att_status merge_all(bpe_trainer *t, size_t max_merges, att_error *err)
{
    size_t first = ATT_BPE_BYTES + t->character_count;
    if (t->min_count < 2)
        t->min_count = 2;
    att_status status = queue_pairs(t, 0);
    for (int32_t index; t->merge_count < max_merges && best_pair(t, &index, &status);) {
        const att_bpe_merge tokens = t->pairs[index].tokens;
        size_t token = first + t->merge_count;
        t->lengths[token] = t->lengths[tokens.left] + t->lengths[tokens.right];
        t->merges[t->merge_count++] = tokens;
        status = merge(t, index, (int32_t)token);
        if (status != ATT_OK)
            break;
        ATT_TRY(att_progress_check(err));
    }
    return status == ATT_OK ? ATT_OK : att_fail_memory(err);
}

/* ---- training */

/* There can be no more merges than symbols. */
static att_status reserve_merges(bpe_trainer *t, const att_bpe *alphabet, size_t *max_merges)
{
    if (*max_merges > t->symbol_count)
        *max_merges = t->symbol_count;
    size_t characters = att_bpe_size(alphabet);
    t->merges = att_alloc(*max_merges, sizeof *t->merges);
    t->lengths = att_alloc(characters + *max_merges, sizeof *t->lengths);
    if (!t->merges || !t->lengths)
        return ATT_NO_MEMORY;
    for (size_t i = 0; i < characters; i++) {
        size_t length;
        att_bpe_token_bytes(alphabet, i, &length);
        t->lengths[i] = (uint32_t)length;
    }
    return ATT_OK;
}

static att_status train(att_bpe **out, bpe_trainer *t, size_t max_merges, att_error *err)
{
    att_bpe *alphabet = NULL;
    if (find_characters(t) != ATT_OK)
        return att_fail_memory(err);
    ATT_TRY(att_bpe_new(&alphabet, t->characters, t->character_count, NULL, 0, NULL, err));
    att_status status = init_symbols(t, alphabet, err);
    if (status == ATT_OK && reserve_merges(t, alphabet, &max_merges) != ATT_OK)
        status = att_fail_memory(err);
    if (status == ATT_OK)
        status = merge_all(t, max_merges, err);
    att_bpe_free(alphabet);
    ATT_TRY(status);
    return att_bpe_new(out, t->characters, t->character_count, t->merges, t->merge_count, NULL,
                       err);
}

att_status att_bpe_train(att_bpe **out, const att_piece *pieces, size_t count, int64_t max_merges,
                         int64_t min_count, att_error *err)
{
    *out = NULL;
    bpe_trainer t = { .pieces = pieces, .piece_count = count, .min_count = min_count };
    att_status status = train(out, &t, max_merges > 0 ? (size_t)max_merges : 0, err);
    att_free(t.characters);
    att_free(t.symbols);
    att_free(t.pairs);
    att_free(t.slots);
    att_heap_free(&t.queue);
    att_free(t.merges);
    att_free(t.lengths);
    return status;
}
