/* Vocabularies; see vocab.h. Words are found by open addressing with linear steps. */
#include "text/vocab.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "text/tokens.h"
#include "text/vocab_words.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 64, MOST_WORDS = INT32_MAX / 2 };

/* ---- lists of numbers */

att_status att_ids_add(att_ids *ids, int32_t id)
{
    if (ids->count == ids->capacity) {
        size_t capacity = ids->capacity ? ids->capacity * 2 : FIRST_CAPACITY;
        int32_t *items =
            att_realloc(ids->items, ids->count * sizeof *items, capacity, sizeof *items);
        if (!items)
            return ATT_NO_MEMORY;
        ids->items = items;
        ids->capacity = capacity;
    }
    ids->items[ids->count++] = id;
    return ATT_OK;
}

void att_ids_free(att_ids *ids)
{
    att_free(ids->items);
    *ids = (att_ids){ 0 };
}

/* ---- the table */

/* The slot that holds the token, or the free one where it belongs. */
static size_t slot_of(const att_vocab *vocab, const char *token, size_t length)
{
    size_t mask = vocab->slot_count - 1;
    size_t slot = (size_t)att_hash(token, length) & mask;
    for (; vocab->slots[slot]; slot = (slot + 1) & mask) {
        const att_word *word = &vocab->words[vocab->slots[slot] - 1];
        if (word->length == length && memcmp(word->text, token, length) == 0)
            break;
    }
    return slot;
}

static void fill_slots(att_vocab *vocab)
{
    memset(vocab->slots, 0, vocab->slot_count * sizeof *vocab->slots);
    for (size_t i = 0; i < vocab->count; i++) {
        const att_word *word = &vocab->words[i];
        vocab->slots[slot_of(vocab, word->text, word->length)] = (uint32_t)i + 1;
    }
}

/* Doubles the room. Both blocks are there before anything changes. */
static bool grow(att_vocab *vocab)
{
    size_t capacity = vocab->capacity ? vocab->capacity * 2 : FIRST_CAPACITY;
    uint32_t *slots = att_alloc(capacity * 2, sizeof *slots);
    att_word *words =
        slots ? att_realloc(vocab->words, vocab->count * sizeof *words, capacity, sizeof *words)
              : NULL;
    if (!words) {
        att_free(slots);
        return false;
    }
    att_free(vocab->slots);
    vocab->slots = slots;
    vocab->slot_count = capacity * 2;
    vocab->words = words;
    vocab->capacity = capacity;
    fill_slots(vocab);
    return true;
}

ptrdiff_t att_words_find(const att_vocab *vocab, const char *token, size_t length)
{
    if (vocab->slot_count == 0)
        return -1;
    return (ptrdiff_t)vocab->slots[slot_of(vocab, token, length)] - 1;
}

att_status att_words_add(att_vocab *vocab, const char *token, size_t length, att_error *err)
{
    if (vocab->count >= MOST_WORDS || length > UINT32_MAX)
        return att_fail(err, ATT_BAD_INPUT, NULL, "more than %d different tokens", MOST_WORDS);
    if (vocab->count == vocab->capacity && !grow(vocab))
        return att_fail_memory(err);
    const char *copy = att_arena_copy(&vocab->texts, token, length);
    if (!copy)
        return att_fail_memory(err);
    vocab->slots[slot_of(vocab, token, length)] = (uint32_t)vocab->count + 1;
    vocab->words[vocab->count++] = (att_word){ .text = copy, .length = (uint32_t)length };
    return ATT_OK;
}

/* ---- life */

att_status att_vocab_new(att_vocab **out, att_tokens tokens, bool lower, att_error *err)
{
    *out = att_alloc_zero(1, sizeof **out);
    if (!*out)
        return att_fail_memory(err);
    (*out)->tokens = tokens;
    (*out)->lower = lower;
    if (tokens != ATT_TOKENS_BYTE)
        return ATT_OK;
    att_subwords *bytes = NULL;
    att_status status = att_subwords_new(&bytes, NULL, 0, NULL, 0, NULL, err);
    if (status == ATT_OK)
        status = att_words_take_subwords(*out, bytes, err);
    if (status != ATT_OK) {
        att_vocab_free(*out);
        *out = NULL;
    }
    return status;
}

void att_vocab_take_texts(att_vocab *vocab)
{
    vocab->whole = true;
}

void att_vocab_free(att_vocab *vocab)
{
    if (!vocab)
        return;
    att_free(vocab->words);
    att_free(vocab->slots);
    att_arena_free(&vocab->texts);
    att_subwords_free(vocab->subwords);
    att_parts_free(vocab->parts);
    att_free(vocab);
}

/* ---- building */

static att_status count_token(att_vocab *vocab, att_ids *ids, const char *token, size_t length,
                              att_error *err)
{
    ptrdiff_t place = att_words_find(vocab, token, length);
    if (place < 0) {
        place = (ptrdiff_t)vocab->count;
        ATT_TRY(att_words_add(vocab, token, length, err));
    }
    if (att_ids_add(ids, (int32_t)place) != ATT_OK)
        return att_fail_memory(err);
    vocab->words[place].times++;
    return ATT_OK;
}

static att_status number_token(att_vocab *vocab, att_ids *ids, const char *token, size_t length,
                               att_error *err)
{
    att_status status;
    if (vocab->tokens == ATT_TOKENS_BYTE)
        status = att_ids_add(ids, ATT_ID_FIRST + (unsigned char)*token);
    else if (vocab->subwords)
        status = att_subwords_apply(vocab->subwords, ids, ATT_ID_FIRST, token, length);
    else
        status = att_ids_add(ids, att_vocab_find(vocab, token, length));
    return status == ATT_OK ? ATT_OK : att_fail_memory(err);
}

static att_status split_prepared(att_vocab *vocab, bool count, size_t most, att_ids *ids,
                                 const att_text *line, att_error *err)
{
    att_splitter splitter = {
        .text = line->data, .length = line->length, .tokens = vocab->tokens, .whole = vocab->whole
    };
    const char *token;
    size_t length, start = ids->count;
    count = count && !vocab->subwords; /* bytes are numbered from the start */
    if (vocab->begins && att_ids_add(ids, ATT_ID_START) != ATT_OK)
        return att_fail_memory(err);
    if (vocab->parts &&
        att_parts_apply(vocab->parts, ids, ATT_ID_FIRST, line->data, line->length) != ATT_OK)
        return att_fail_memory(err);
    while (!vocab->parts && ids->count - start < most && att_split_next(&splitter, &token, &length))
        ATT_TRY((count ? count_token : number_token)(vocab, ids, token, length, err));
    if (vocab->ends && ids->count > start && att_ids_add(ids, ATT_ID_END) != ATT_OK)
        return att_fail_memory(err);
    if (ids->count - start > most)
        ids->count = start + most;
    return ATT_OK;
}

att_status att_vocab_split(att_vocab *vocab, bool count, size_t most, att_ids *ids,
                           const char *line, size_t length, att_error *err)
{
    if (!vocab->whole || vocab->tokens != ATT_TOKENS_BYTE)
        ATT_TRY(att_line_check(line, length, err));
    att_text prepared = { 0 };
    att_status status = (vocab->whole && !vocab->begins ? att_text_prepare : att_line_prepare)(
        &prepared, vocab->tokens, line, length, vocab->lower, err);
    if (status == ATT_OK)
        status = split_prepared(vocab, count, most, ids, &prepared, err);
    att_text_free(&prepared);
    return status;
}

att_status att_vocab_count(att_vocab *vocab, att_ids *ids, const char *line, size_t length,
                           att_error *err)
{
    return att_vocab_split(vocab, true, SIZE_MAX, ids, line, length, err);
}

void att_vocab_uncount(att_vocab *vocab, const int32_t *ids, size_t count)
{
    for (size_t i = 0; i < count && !vocab->subwords; i++)
        vocab->words[ids[i]].times--;
}

/* The most frequent first; equally frequent ones by their bytes, so that the order of lines in a
 * file does not matter. */
static int by_times(const void *left, const void *right)
{
    const att_word *a = left, *b = right;
    if (a->times != b->times)
        return a->times > b->times ? -1 : 1;
    size_t shorter = a->length < b->length ? a->length : b->length;
    int order = memcmp(a->text, b->text, shorter);
    return order != 0 ? order : (a->length > b->length) - (a->length < b->length);
}

att_status att_vocab_close(att_vocab *vocab, int64_t least, int32_t **final, att_error *err)
{
    *final = att_alloc(vocab->count, sizeof **final);
    if (!*final)
        return att_fail_memory(err);
    for (size_t i = 0; i < vocab->count; i++) {
        (*final)[i] = ATT_ID_UNKNOWN;
        vocab->words[i].was = (int32_t)i;
    }
    if (vocab->count > 0)
        qsort(vocab->words, vocab->count, sizeof *vocab->words, by_times);
    if (least < 1) /* a token of pairs that were left out again has been counted 0 times */
        least = 1;
    size_t kept = 0;
    while (kept < vocab->count && vocab->words[kept].times >= least) {
        (*final)[vocab->words[kept].was] = (int32_t)kept + ATT_ID_FIRST;
        kept++;
    }
    vocab->count = kept;
    if (vocab->slots)
        fill_slots(vocab);
    return ATT_OK;
}

/* ---- using */

int32_t att_vocab_size(const att_vocab *vocab)
{
    return (int32_t)vocab->count + ATT_ID_FIRST;
}

static bool same_merges(const att_subwords *a, const att_subwords *b)
{
    if (!a || !b)
        return a == b;
    size_t count, others;
    const att_merge *x = att_subwords_merges(a, &count), *y = att_subwords_merges(b, &others);
    return count == others && (count == 0 || memcmp(x, y, count * sizeof *x) == 0);
}

bool att_vocab_same(const att_vocab *a, const att_vocab *b)
{
    if (a->tokens != b->tokens || a->lower != b->lower || a->whole != b->whole ||
        a->ends != b->ends || a->begins != b->begins || a->count != b->count ||
        !same_merges(a->subwords, b->subwords) || !att_parts_same(a->parts, b->parts))
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (a->words[i].length != b->words[i].length ||
            memcmp(a->words[i].text, b->words[i].text, a->words[i].length) != 0)
            return false;
    return true;
}

void att_vocab_begin_texts(att_vocab *vocab)
{
    vocab->begins = true;
}

bool att_vocab_begins(const att_vocab *vocab)
{
    return vocab->begins;
}

void att_vocab_end_lines(att_vocab *vocab)
{
    vocab->ends = true;
}

att_tokens att_vocab_tokens(const att_vocab *vocab)
{
    return vocab->tokens;
}

int32_t att_vocab_find(const att_vocab *vocab, const char *token, size_t length)
{
    ptrdiff_t place = att_words_find(vocab, token, length);
    return place < 0 ? ATT_ID_UNKNOWN : (int32_t)place + ATT_ID_FIRST;
}

const char *att_vocab_word(const att_vocab *vocab, int32_t id)
{
    static const char *const always[] = { "<unknown>", "<start>", "<end>" };
    if (id < ATT_ID_FIRST)
        return id < 0 ? "" : always[id];
    return vocab->words[id - ATT_ID_FIRST].text;
}

bool att_vocab_spells(const att_vocab *vocab)
{
    return vocab->subwords || vocab->parts;
}

const char *att_vocab_bytes(const att_vocab *vocab, int32_t id, size_t *length)
{
    *length = 0;
    if (id < ATT_ID_FIRST)
        return "";
    if (vocab->subwords)
        return att_subwords_spell(vocab->subwords, (size_t)(id - ATT_ID_FIRST), length);
    if (vocab->parts)
        return att_parts_spell(vocab->parts, (size_t)(id - ATT_ID_FIRST), length);
    const att_word *word = &vocab->words[id - ATT_ID_FIRST];
    *length = word->length;
    return word->text;
}

int64_t att_vocab_times(const att_vocab *vocab, int32_t id)
{
    return id < ATT_ID_FIRST ? 0 : vocab->words[id - ATT_ID_FIRST].times;
}

att_status att_vocab_encode(const att_vocab *vocab, att_ids *ids, const char *line, size_t length,
                            att_error *err)
{
    /* Without counting, the vocabulary is only looked at. */
    return att_vocab_split((att_vocab *)vocab, false, SIZE_MAX, ids, line, length, err);
}

att_status att_vocab_decode(const att_vocab *vocab, att_text *out, const int32_t *ids, size_t count)
{
    if (vocab->subwords || vocab->parts)
        return att_words_spell(vocab, out, ids, count);
    size_t start = out->length;
    att_tokens joined = vocab->whole ? ATT_TOKENS_CHAR : vocab->tokens; /* as they stand */
    for (size_t i = 0; i < count; i++)
        if (ids[i] == ATT_ID_UNKNOWN || ids[i] >= ATT_ID_FIRST)
            ATT_TRY(att_tokens_join(out, start, joined, att_vocab_word(vocab, ids[i])));
    return ATT_OK;
}
