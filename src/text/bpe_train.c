/* Subwords learned from pieces; see subwords.h.
 *
 * Every piece stands once, as letters in a row of cells, with the times it occurs. Each cell knows
 * the pair that starts there, and all cells of a pair are linked in the order of the text, so that
 * a merge touches only the places where it happens (Larsson and Moffat, "Off-line dictionary-based
 * compression", 2000, do the same). Pairs stand in a queue by their count. A count in the queue may
 * be out of date, but only too high: every pair with a new token is new, and old ones only lose. So
 * the first of the queue whose count is true is the most frequent. */
#include "text/bpe.h"

#include "base/alloc.h"
#include "base/error.h"
#include "text/heap.h"
#include "text/bpe_internal.h"
#include "text/utf8.h"

enum { NONE = -1, FIRST_PAIRS = 1024 };

typedef struct symbol {
    int32_t token;
    int32_t prev, next;                       /* neighbours in the piece */
    int32_t pair;                             /* that starts here */
    int32_t prev_occurrence, next_occurrence; /* other cells where it starts */
    uint32_t piece;
} symbol;

typedef struct pair {
    att_bpe_merge tokens;
    int64_t count;
    int32_t first, last; /* cells where it starts */
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
    uint32_t *slots; /* [2 * pair_capacity] one more than a pair's place, or 0 */
    att_heap queue;
    att_bpe_merge *merges;
    uint32_t *lengths; /* of all tokens, in bytes */
    size_t merge_count;
} bpe_trainer;

/* ---- letters */

/* The letters of all pieces that are beyond ASCII: adds the times of each to times[code], where
 * that is given, and gives the highest. */
static uint32_t count_characters(const bpe_trainer *l, int64_t *times)
{
    uint32_t highest = 0;
    for (size_t p = 0; p < l->piece_count; p++) {
        const att_piece *piece = &l->pieces[p];
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

/* Those that are frequent enough, by code point. */
static att_status find_characters(bpe_trainer *l)
{
    uint32_t highest = count_characters(l, NULL);
    int64_t least = l->min_count > 1 ? l->min_count : 1;
    int64_t *times = att_alloc_zero((size_t)highest + 1, sizeof *times);
    l->characters = times ? att_alloc((size_t)highest + 1, sizeof *l->characters) : NULL;
    if (l->characters) {
        count_characters(l, times);
        for (uint32_t code = 0; code <= highest; code++)
            if (times[code] >= least)
                l->characters[l->character_count++] = code;
    }
    att_free(times);
    return l->characters ? ATT_OK : ATT_NO_MEMORY;
}

/* ---- pairs */

static size_t pair_slot(const bpe_trainer *l, int32_t left, int32_t right)
{
    size_t mask = 2 * l->pair_capacity - 1;
    size_t slot = att_bpe_pair_hash(left, right, mask + 1);
    for (; l->slots[slot]; slot = (slot + 1) & mask) {
        const att_bpe_merge *tokens = &l->pairs[l->slots[slot] - 1].tokens;
        if (tokens->left == left && tokens->right == right)
            break;
    }
    return slot;
}

static att_status grow_pairs(bpe_trainer *l)
{
    size_t capacity = l->pair_capacity ? l->pair_capacity * 2 : FIRST_PAIRS;
    uint32_t *slots = att_alloc_zero(capacity * 2, sizeof *slots);
    pair *pairs =
        slots && capacity < INT32_MAX
            ? att_realloc(l->pairs, l->pair_count * sizeof *pairs, capacity, sizeof *pairs)
            : NULL;
    if (!pairs) {
        att_free(slots);
        return ATT_NO_MEMORY;
    }
    att_free(l->slots);
    l->slots = slots;
    l->pairs = pairs;
    l->pair_capacity = capacity;
    for (size_t i = 0; i < l->pair_count; i++)
        slots[pair_slot(l, pairs[i].tokens.left, pairs[i].tokens.right)] = (uint32_t)i + 1;
    return ATT_OK;
}

/* The place of a pair, which is added where it is new. */
static att_status find_pair(bpe_trainer *l, int32_t left, int32_t right, int32_t *place)
{
    if (l->pair_count == l->pair_capacity)
        ATT_TRY(grow_pairs(l));
    size_t slot = pair_slot(l, left, right);
    if (!l->slots[slot]) {
        l->pairs[l->pair_count] = (pair){ .tokens = { left, right }, .first = NONE, .last = NONE };
        l->slots[slot] = (uint32_t)++l->pair_count;
    }
    *place = (int32_t)l->slots[slot] - 1;
    return ATT_OK;
}

/* A byte of a letter that is not known stays alone. */
static bool may_merge(int32_t token)
{
    return token < 0x80 || token >= ATT_BPE_BYTES;
}

/* Notes the pair that starts at a cell, at the end of its twins. */
static att_status add_occurrence(bpe_trainer *l, int32_t at)
{
    if (at < 0 || l->symbols[at].next < 0)
        return ATT_OK;
    symbol *c = &l->symbols[at];
    int32_t right = l->symbols[c->next].token;
    if (!may_merge(c->token) || !may_merge(right))
        return ATT_OK;
    ATT_TRY(find_pair(l, c->token, right, &c->pair));
    pair *p = &l->pairs[c->pair];
    c->prev_occurrence = p->last;
    c->next_occurrence = NONE;
    if (p->last >= 0)
        l->symbols[p->last].next_occurrence = at;
    else
        p->first = at;
    p->last = at;
    p->count += l->pieces[c->piece].count;
    return ATT_OK;
}

static void remove_occurrence(bpe_trainer *l, int32_t at)
{
    if (at < 0 || l->symbols[at].pair < 0)
        return;
    symbol *c = &l->symbols[at];
    pair *p = &l->pairs[c->pair];
    *(c->prev_occurrence >= 0 ? &l->symbols[c->prev_occurrence].next_occurrence : &p->first) =
        c->next_occurrence;
    *(c->next_occurrence >= 0 ? &l->symbols[c->next_occurrence].prev_occurrence : &p->last) =
        c->prev_occurrence;
    p->count -= l->pieces[c->piece].count;
    c->pair = NONE;
}

/* ---- the text as cells */

static size_t init_piece_symbols(bpe_trainer *l, const att_bpe *alphabet, uint32_t number)
{
    const att_piece *piece = &l->pieces[number];
    size_t first = l->symbol_count;
    for (size_t at = 0, count; at < piece->length;) {
        int32_t tokens[4];
        at += att_bpe_encode_character(alphabet, tokens, &count, piece->text + at,
                                       piece->length - at);
        for (size_t i = 0; i < count; i++)
            l->symbols[l->symbol_count++].token = tokens[i];
    }
    for (size_t i = first; i < l->symbol_count; i++) {
        symbol *c = &l->symbols[i];
        c->prev = i > first ? (int32_t)i - 1 : NONE;
        c->next = i + 1 < l->symbol_count ? (int32_t)i + 1 : NONE;
        c->pair = NONE;
        c->piece = number;
    }
    return first;
}

static att_status init_symbols(bpe_trainer *l, const att_bpe *alphabet, att_error *err)
{
    size_t bytes = 0;
    for (size_t p = 0; p < l->piece_count; p++)
        bytes += l->pieces[p].length;
    if (bytes > INT32_MAX || l->piece_count > UINT32_MAX)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "more than %d bytes of different words to learn subwords from", INT32_MAX);
    l->symbols = att_alloc(bytes, sizeof *l->symbols);
    if (!l->symbols)
        return att_fail_memory(err);
    for (size_t p = 0; p < l->piece_count; p++) {
        if (l->pieces[p].count <= 0)
            continue;
        for (size_t at = init_piece_symbols(l, alphabet, (uint32_t)p); at < l->symbol_count; at++)
            if (add_occurrence(l, (int32_t)at) != ATT_OK)
                return att_fail_memory(err);
    }
    return ATT_OK;
}

/* ---- merging */

/* Puts the pairs from `from` on into the queue. */
static att_status queue_pairs(bpe_trainer *l, size_t from)
{
    for (size_t i = from; i < l->pair_count; i++) {
        const pair *p = &l->pairs[i];
        const att_heap_item item = { .priority = (uint64_t)(INT64_MAX - p->count),
                                     .tie_breaker =
                                         (uint64_t)p->tokens.left << 32 | (uint32_t)p->tokens.right,
                                     .value = (int32_t)i };
        if (p->count >= l->min_count)
            ATT_TRY(att_heap_push(&l->queue, item));
    }
    return ATT_OK;
}

/* Merges the pair wherever it stands. Of a letter three times in a row, the first two merge and the
 * pair of the last two is gone. */
static att_status merge(bpe_trainer *l, int32_t place, int32_t token)
{
    size_t old = l->pair_count;
    for (int32_t at; (at = l->pairs[place].first) >= 0;) {
        symbol *c = &l->symbols[at];
        int32_t gone = c->next;
        remove_occurrence(l, c->prev);
        remove_occurrence(l, at);
        remove_occurrence(l, gone);
        c->token = token;
        c->next = l->symbols[gone].next;
        if (c->next >= 0)
            l->symbols[c->next].prev = at;
        ATT_TRY(add_occurrence(l, c->prev));
        ATT_TRY(add_occurrence(l, at));
    }
    return queue_pairs(l, old);
}

/* The most frequent pair; false where none is frequent enough. */
static bool best_pair(bpe_trainer *l, int32_t *place, att_status *status)
{
    att_heap_item item;
    while (*status == ATT_OK && att_heap_pop(&l->queue, &item)) {
        const pair *p = &l->pairs[item.value];
        uint32_t length = l->lengths[p->tokens.left] + l->lengths[p->tokens.right];
        *place = item.value;
        if (p->count < l->min_count || length > ATT_BPE_MAX_TOKEN_BYTES)
            continue;
        if (item.priority == (uint64_t)(INT64_MAX - p->count))
            return true;
        item.priority = (uint64_t)(INT64_MAX - p->count);
        *status = att_heap_push(&l->queue, item);
    }
    return false;
}

static att_status merge_all(bpe_trainer *l, size_t most)
{
    size_t first = ATT_BPE_BYTES + l->character_count;
    if (l->min_count < 2)
        l->min_count = 2;
    att_status status = queue_pairs(l, 0);
    for (int32_t place; l->merge_count < most && best_pair(l, &place, &status);) {
        const att_bpe_merge tokens = l->pairs[place].tokens;
        size_t token = first + l->merge_count;
        l->lengths[token] = l->lengths[tokens.left] + l->lengths[tokens.right];
        l->merges[l->merge_count++] = tokens;
        status = merge(l, place, (int32_t)token);
        if (status != ATT_OK)
            break;
    }
    return status;
}

/* ---- all of it */

/* No more merges than there are places for one. */
static att_status reserve_merges(bpe_trainer *l, const att_bpe *alphabet, size_t *most)
{
    if (*most > l->symbol_count)
        *most = l->symbol_count;
    size_t letters = att_bpe_size(alphabet);
    l->merges = att_alloc(*most, sizeof *l->merges);
    l->lengths = att_alloc(letters + *most, sizeof *l->lengths);
    if (!l->merges || !l->lengths)
        return ATT_NO_MEMORY;
    for (size_t i = 0; i < letters; i++) {
        size_t length;
        att_bpe_token_bytes(alphabet, i, &length);
        l->lengths[i] = (uint32_t)length;
    }
    return ATT_OK;
}

static att_status train(att_bpe **out, bpe_trainer *l, size_t most, att_error *err)
{
    att_bpe *alphabet = NULL;
    if (find_characters(l) != ATT_OK)
        return att_fail_memory(err);
    ATT_TRY(att_bpe_new(&alphabet, l->characters, l->character_count, NULL, 0, NULL, err));
    att_status status = init_symbols(l, alphabet, err);
    if (status == ATT_OK &&
        (reserve_merges(l, alphabet, &most) != ATT_OK || merge_all(l, most) != ATT_OK))
        status = att_fail_memory(err);
    att_bpe_free(alphabet);
    ATT_TRY(status);
    return att_bpe_new(out, l->characters, l->character_count, l->merges, l->merge_count, NULL,
                       err);
}

att_status att_bpe_train(att_bpe **out, const att_piece *pieces, size_t count, int64_t most,
                         int64_t least, att_error *err)
{
    *out = NULL;
    bpe_trainer l = { .pieces = pieces, .piece_count = count, .min_count = least };
    att_status status = train(out, &l, most > 0 ? (size_t)most : 0, err);
    att_free(l.characters);
    att_free(l.symbols);
    att_free(l.pairs);
    att_free(l.slots);
    att_heap_free(&l.queue);
    att_free(l.merges);
    att_free(l.lengths);
    return status;
}
