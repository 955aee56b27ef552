/* Vocabularies: building, look-up, encoding; see vocab.h. Entries are found by open addressing with
 * linear probing. */
#include "text/vocab.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/minmax.h"
#include "base/progress.h"
#include "base/quote.h"
#include "base/string.h"
#include "text/pretokenizer.h"
#include "text/vocab_internal.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 64, MAX_TOKENS = INT32_MAX / 2 };

/* ---- lists of ids */

att_status att_ids_add(att_ids *ids, int32_t id)
{
    void *items = ids->items;
    if (!att_array_grow(&items, &ids->capacity, ids->count, sizeof id))
        return ATT_NO_MEMORY;
    ids->items = items;
    ids->items[ids->count++] = id;
    return ATT_OK;
}

void att_ids_free(att_ids *ids)
{
    att_free(ids->items);
    *ids = (att_ids){ 0 };
}

/* ---- the table */

/* The slot that holds the token, or the free slot where it belongs. */
static size_t slot_of(const att_vocab *vocab, const char *token, size_t length, bool is_tag)
{
    size_t mask = vocab->slot_count - 1, size;
    size_t slot = (size_t)att_hash(token, length) & mask;
    for (; vocab->slots[slot]; slot = (slot + 1) & mask) {
        const att_vocab_entry *word = &vocab->entries[vocab->slots[slot] - 1];
        const char *key = att_vocab_entry_key(word, &size);
        if (size == length && word->is_tag == is_tag && memcmp(key, token, length) == 0)
            break;
    }
    return slot;
}

static void fill_slots(att_vocab *vocab)
{
    memset(vocab->slots, 0, vocab->slot_count * sizeof *vocab->slots);
    for (size_t i = 0; i < vocab->count; i++) {
        const att_vocab_entry *word = &vocab->entries[i];
        size_t length;
        const char *key = att_vocab_entry_key(word, &length);
        uint32_t *slot = &vocab->slots[slot_of(vocab, key, length, word->is_tag)];
        *slot = *slot ? *slot : (uint32_t)i + 1; /* names of subwords may be equal */
    }
}

/* Doubles the capacity, to a power of two: that of subwords is their number. Both blocks are
 * allocated before anything changes. */
static bool grow(att_vocab *vocab)
{
    size_t capacity = FIRST_CAPACITY;
    while (capacity <= vocab->capacity)
        capacity *= 2;
    uint32_t *slots = att_alloc(capacity * 2, sizeof *slots);
    att_vocab_entry *words =
        slots ? att_realloc(vocab->entries, vocab->count * sizeof *words, capacity, sizeof *words)
              : NULL;
    if (!words) {
        att_free(slots);
        return false;
    }
    att_free(vocab->slots);
    vocab->slots = slots;
    vocab->slot_count = capacity * 2;
    vocab->entries = words;
    vocab->capacity = capacity;
    fill_slots(vocab);
    return true;
}

att_status att_vocab_index_entries(att_vocab *vocab)
{
    size_t slot_count = 2 * FIRST_CAPACITY;
    while (slot_count < 2 * vocab->count)
        slot_count *= 2;
    uint32_t *slots = att_alloc(slot_count, sizeof *slots);
    if (!slots)
        return ATT_NO_MEMORY;
    att_free(vocab->slots);
    vocab->slots = slots;
    vocab->slot_count = slot_count;
    fill_slots(vocab);
    return ATT_OK;
}

ptrdiff_t att_vocab_find_entry(const att_vocab *vocab, const char *token, size_t length)
{
    if (vocab->slot_count == 0)
        return -1;
    return (ptrdiff_t)vocab->slots[slot_of(vocab, token, length, false)] - 1;
}

ptrdiff_t att_vocab_find_tag(const att_vocab *vocab, const char *tag, size_t length)
{
    if (vocab->slot_count == 0)
        return -1;
    return (ptrdiff_t)vocab->slots[slot_of(vocab, tag, length, true)] - 1;
}

att_status att_vocab_append_entry(att_vocab *vocab, const char *token, size_t length, bool is_tag,
                                  att_error *err)
{
    if (vocab->count >= MAX_TOKENS || length > UINT32_MAX)
        return att_fail(err, ATT_BAD_INPUT, NULL, "there are more than %d different tokens",
                        MAX_TOKENS);
    if (vocab->count == vocab->capacity && !grow(vocab))
        return att_fail_memory(err);
    const char *copy = att_arena_strndup(&vocab->strings, token, length);
    if (!copy)
        return att_fail_memory(err);
    att_vocab_entry entry = {
        .text = copy, .length = (uint32_t)length, .is_tag = is_tag, .missed = vocab->undercount
    };
    size_t size;
    const char *key = att_vocab_entry_key(&entry, &size);
    vocab->slots[slot_of(vocab, key, size, is_tag)] = (uint32_t)vocab->count + 1;
    vocab->entries[vocab->count++] = entry;
    return ATT_OK;
}

att_status att_vocab_add_entry(att_vocab *vocab, const char *token, size_t length, att_error *err)
{
    return att_vocab_append_entry(vocab, token, length, false, err);
}

/* ---- making */

att_status att_vocab_new(att_vocab **out, att_tokenizer_kind kind, bool lower, att_error *err)
{
    *out = att_alloc_zero(1, sizeof **out);
    if (!*out)
        return att_fail_memory(err);
    (*out)->kind = kind;
    (*out)->lowercase = lower;
    if (kind != ATT_TOKENIZER_BYTE)
        return ATT_OK;
    att_bpe *bytes = NULL;
    att_status status = att_bpe_new(&bytes, NULL, 0, NULL, 0, NULL, err);
    if (status == ATT_OK)
        status = att_vocab_set_bpe(*out, bytes, err);
    if (status != ATT_OK) {
        att_vocab_free(*out);
        *out = NULL;
    }
    return status;
}

void att_vocab_set_whole_text(att_vocab *vocab)
{
    vocab->whole_text = true;
}

void att_vocab_free(att_vocab *vocab)
{
    if (!vocab)
        return;
    att_free(vocab->entries);
    att_free(vocab->slots);
    att_arena_free(&vocab->strings);
    att_bpe_free(vocab->bpe);
    att_sentencepiece_free(vocab->sentencepiece);
    att_free(vocab);
}

static att_status add_all(att_vocab *vocab, const char *const *tokens, size_t count, att_error *err)
{
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(tokens[i]);
        char quoted[ATT_QUOTED_SIZE];
        if (length == 0)
            return att_fail(err, ATT_BAD_INPUT, NULL, "token %zu of the vocabulary is empty",
                            i + 1);
        if (att_vocab_find_entry(vocab, tokens[i], length) >= 0)
            return att_fail(err, ATT_BAD_INPUT, NULL, "the vocabulary has the token '%s' twice",
                            att_quote(quoted, tokens[i], length));
        ATT_TRY(att_vocab_add_entry(vocab, tokens[i], length, err));
    }
    return ATT_OK;
}

att_status att_vocab_from_tokens(att_vocab **out, att_tokenizer_kind kind, bool lower,
                                 const char *const *tokens, size_t count, att_error *err)
{
    *out = NULL;
    if (kind == ATT_TOKENIZER_BYTE)
        return att_fail(err, ATT_BAD_INPUT, NULL, "a vocabulary of bytes takes no list of tokens");
    if (kind == ATT_TOKENIZER_BPE)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "BPE is learned from text: a list of tokens is not enough");
    att_vocab *vocab;
    ATT_TRY(att_vocab_new(&vocab, kind, lower, err));
    att_status status = add_all(vocab, tokens, count, err);
    if (status == ATT_OK)
        *out = vocab;
    else
        att_vocab_free(vocab);
    return status;
}

/* ---- counting */

/* Adds the token if it is new. */
static att_status count_token(att_vocab *vocab, att_ids *ids, const char *token, size_t length,
                              att_error *err)
{
    ptrdiff_t index = att_vocab_find_entry(vocab, token, length);
    if (index < 0) {
        index = (ptrdiff_t)vocab->count;
        ATT_TRY(att_vocab_add_entry(vocab, token, length, err));
    }
    if (att_ids_add(ids, (int32_t)index) != ATT_OK)
        return att_fail_memory(err);
    vocab->entries[index].count++;
    return ATT_OK;
}

/* Only the tags are counted: a vocabulary of bytes is complete. */
static att_status count_bytes(att_vocab *vocab, size_t max_tokens, att_ids *ids, const char *line,
                              size_t length, att_error *err)
{
    size_t start = ids->count;
    ATT_TRY(att_vocab_count_tags(vocab, max_tokens, ids, line, length, err));
    ids->count = start;
    return att_vocab_encode_limited(vocab, NULL, max_tokens, ids, line, length, err);
}

att_status att_vocab_count_line(att_vocab *vocab, size_t max_tokens, att_ids *ids, const char *line,
                                size_t length, att_error *err)
{
    if (att_vocab_is_subword(vocab))
        return count_bytes(vocab, max_tokens, ids, line, length, err);
    size_t text_length = att_vocab_tags_start(vocab, line, length), i = 0;
    att_string normalized = { 0 };
    att_status status = att_vocab_normalize(vocab, &normalized, NULL, line, text_length, err);
    att_pretokenizer splitter = att_vocab_split(vocab, &normalized);
    const char *token;
    size_t bytes;
    for (; status == ATT_OK && i < max_tokens; i++) {
        if (!att_pretokenizer_next(&splitter, &token, &bytes))
            break;
        status = count_token(vocab, ids, token, bytes, err);
    }
    att_string_free(&normalized);
    ATT_TRY(status);
    return att_vocab_count_tags(vocab, max_tokens - i, ids, line, length, err);
}

void att_vocab_uncount_tokens(att_vocab *vocab, const int32_t *ids, size_t count)
{
    for (size_t i = 0; i < count && !att_vocab_is_subword(vocab); i++)
        vocab->entries[ids[i]].count--;
}

/* Tags after other tokens; the most frequent first; tokens with equal counts by their bytes, so
 * that the order of lines in a file does not matter. */
static int by_count(const void *left, const void *right)
{
    const att_vocab_entry *a = left, *b = right;
    if (a->is_tag != b->is_tag)
        return a->is_tag ? 1 : -1;
    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    size_t shorter = att_min_size(a->length, b->length);
    int order = memcmp(a->text, b->text, shorter);
    return order != 0 ? order : (a->length > b->length) - (a->length < b->length);
}

att_status att_vocab_finalize(att_vocab *vocab, int64_t min_count, int32_t **final, att_error *err)
{
    *final = att_alloc(vocab->count, sizeof **final);
    if (!*final)
        return att_fail_memory(err);
    for (size_t i = 0; i < vocab->count; i++) {
        (*final)[i] = ATT_ID_UNK;
        vocab->entries[i].provisional_id = (int32_t)i;
    }
    if (vocab->count > 0)
        qsort(vocab->entries, vocab->count, sizeof *vocab->entries, by_count);
    min_count = att_max_i64(min_count, 1); /* tokens of skipped pairs have the count 0 */
    size_t kept = 0;
    for (size_t i = 0; i < vocab->count; i++) {
        const att_vocab_entry entry = vocab->entries[i];
        if (entry.count < (entry.is_tag ? 1 : min_count))
            continue;
        (*final)[entry.provisional_id] = (int32_t)kept + ATT_ID_FIRST;
        vocab->entries[kept++] = entry;
    }
    vocab->count = kept;
    if (vocab->slots)
        fill_slots(vocab);
    return ATT_OK;
}

void att_vocab_sort_tags(att_vocab *vocab)
{
    size_t tags = (size_t)att_vocab_tag_count(vocab);
    if (tags == 0)
        return;
    qsort(vocab->entries + vocab->count - tags, tags, sizeof *vocab->entries, by_count);
    fill_slots(vocab);
}

/* ---- tokens */

int32_t att_vocab_size(const att_vocab *vocab)
{
    return (int32_t)vocab->count + ATT_ID_FIRST;
}

static bool equal_merges(const att_bpe *a, const att_bpe *b)
{
    if (!a || !b)
        return a == b;
    size_t count, others;
    const att_bpe_merge *x = att_bpe_merges(a, &count), *y = att_bpe_merges(b, &others);
    return count == others && (count == 0 || memcmp(x, y, count * sizeof *x) == 0);
}

bool att_vocab_equal(const att_vocab *a, const att_vocab *b)
{
    if (a->kind != b->kind || a->lowercase != b->lowercase || a->whole_text != b->whole_text ||
        a->append_eos != b->append_eos || a->prepend_bos != b->prepend_bos ||
        a->has_tags != b->has_tags || att_vocab_tag_count(a) != att_vocab_tag_count(b) ||
        a->count != b->count || !equal_merges(a->bpe, b->bpe) ||
        !att_sentencepiece_equal(a->sentencepiece, b->sentencepiece))
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (a->entries[i].length != b->entries[i].length ||
            memcmp(a->entries[i].text, b->entries[i].text, a->entries[i].length) != 0)
            return false;
    return true;
}

void att_vocab_set_prepend_bos(att_vocab *vocab)
{
    vocab->prepend_bos = true;
}

bool att_vocab_prepends_bos(const att_vocab *vocab)
{
    return vocab->prepend_bos;
}

void att_vocab_set_append_eos(att_vocab *vocab)
{
    vocab->append_eos = true;
}

att_tokenizer_kind att_vocab_tokenizer_kind(const att_vocab *vocab)
{
    return vocab->kind;
}

int32_t att_vocab_id(const att_vocab *vocab, const char *token, size_t length)
{
    ptrdiff_t index = att_vocab_is_subword(vocab) ? -1 : att_vocab_find_entry(vocab, token, length);
    return index < 0 ? ATT_ID_UNK : (int32_t)index + ATT_ID_FIRST;
}

static const char *const reserved_tokens[ATT_ID_FIRST] = { "<unknown>", "<start>", "<end>" };

int32_t att_vocab_find(const att_vocab *vocab, const char *token, size_t length)
{
    for (int32_t id = 0; id < ATT_ID_FIRST; id++)
        if (strlen(reserved_tokens[id]) == length &&
            memcmp(reserved_tokens[id], token, length) == 0)
            return id;
    ptrdiff_t index = att_vocab_find_entry(vocab, token, length);
    if (index < 0 && length > 2 && token[0] == '[' && token[length - 1] == ']')
        index = att_vocab_find_tag(vocab, token + 1, length - 2);
    return index < 0 ? -1 : (int32_t)index + ATT_ID_FIRST;
}

const char *att_vocab_token(const att_vocab *vocab, int32_t id)
{
    if (id < ATT_ID_FIRST)
        return id < 0 ? "" : reserved_tokens[id];
    if (id >= att_vocab_size(vocab))
        return NULL;
    return vocab->entries[id - ATT_ID_FIRST].text;
}

bool att_vocab_is_subword(const att_vocab *vocab)
{
    return vocab->bpe || vocab->sentencepiece;
}

const char *att_vocab_token_bytes(const att_vocab *vocab, int32_t id, size_t *length)
{
    *length = 0;
    if (id < ATT_ID_FIRST || att_vocab_is_tag(vocab, id))
        return "";
    if (vocab->bpe)
        return att_bpe_token_bytes(vocab->bpe, (size_t)(id - ATT_ID_FIRST), length);
    if (vocab->sentencepiece)
        return att_sentencepiece_piece(vocab->sentencepiece, (size_t)(id - ATT_ID_FIRST), length);
    const att_vocab_entry *word = &vocab->entries[id - ATT_ID_FIRST];
    *length = word->length;
    return word->text;
}

int64_t att_vocab_token_count(const att_vocab *vocab, int32_t id)
{
    return id < ATT_ID_FIRST ? 0 : vocab->entries[id - ATT_ID_FIRST].count;
}
