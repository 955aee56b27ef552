/* Vocabularies; see vocab.h. Words are found by open addressing with linear steps. */
#include "text/vocab.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/string.h"
#include "text/pretokenizer.h"
#include "text/vocab_internal.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 64, MAX_TOKENS = INT32_MAX / 2 };

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
        const att_vocab_entry *word = &vocab->entries[vocab->slots[slot] - 1];
        if (word->length == length && memcmp(word->text, token, length) == 0)
            break;
    }
    return slot;
}

static void fill_slots(att_vocab *vocab)
{
    memset(vocab->slots, 0, vocab->slot_count * sizeof *vocab->slots);
    for (size_t i = 0; i < vocab->count; i++) {
        const att_vocab_entry *word = &vocab->entries[i];
        vocab->slots[slot_of(vocab, word->text, word->length)] = (uint32_t)i + 1;
    }
}

/* Doubles the room. Both blocks are there before anything changes. */
static bool grow(att_vocab *vocab)
{
    size_t capacity = vocab->capacity ? vocab->capacity * 2 : FIRST_CAPACITY;
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

ptrdiff_t att_vocab_find_entry(const att_vocab *vocab, const char *token, size_t length)
{
    if (vocab->slot_count == 0)
        return -1;
    return (ptrdiff_t)vocab->slots[slot_of(vocab, token, length)] - 1;
}

att_status att_vocab_add_entry(att_vocab *vocab, const char *token, size_t length, att_error *err)
{
    if (vocab->count >= MAX_TOKENS || length > UINT32_MAX)
        return att_fail(err, ATT_BAD_INPUT, NULL, "more than %d different tokens", MAX_TOKENS);
    if (vocab->count == vocab->capacity && !grow(vocab))
        return att_fail_memory(err);
    const char *copy = att_arena_strndup(&vocab->strings, token, length);
    if (!copy)
        return att_fail_memory(err);
    vocab->slots[slot_of(vocab, token, length)] = (uint32_t)vocab->count + 1;
    vocab->entries[vocab->count++] = (att_vocab_entry){ .text = copy, .length = (uint32_t)length };
    return ATT_OK;
}

/* ---- life */

att_status att_vocab_new(att_vocab **out, att_tokenizer_kind tokens, bool lower, att_error *err)
{
    *out = att_alloc_zero(1, sizeof **out);
    if (!*out)
        return att_fail_memory(err);
    (*out)->kind = tokens;
    (*out)->lowercase = lower;
    if (tokens != ATT_TOKENIZER_BYTE)
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

/* ---- building */

static att_status count_token(att_vocab *vocab, att_ids *ids, const char *token, size_t length,
                              att_error *err)
{
    ptrdiff_t place = att_vocab_find_entry(vocab, token, length);
    if (place < 0) {
        place = (ptrdiff_t)vocab->count;
        ATT_TRY(att_vocab_add_entry(vocab, token, length, err));
    }
    if (att_ids_add(ids, (int32_t)place) != ATT_OK)
        return att_fail_memory(err);
    vocab->entries[place].count++;
    return ATT_OK;
}

static att_status encode_token(att_vocab *vocab, att_ids *ids, const char *token, size_t length,
                               att_error *err)
{
    att_status status;
    if (vocab->kind == ATT_TOKENIZER_BYTE)
        status = att_ids_add(ids, ATT_ID_FIRST + (unsigned char)*token);
    else if (vocab->bpe)
        status = att_bpe_encode(vocab->bpe, ids, ATT_ID_FIRST, token, length);
    else
        status = att_ids_add(ids, att_vocab_id(vocab, token, length));
    return status == ATT_OK ? ATT_OK : att_fail_memory(err);
}

static att_status tokenize_normalized(att_vocab *vocab, bool count, size_t most, att_ids *ids,
                                      const att_string *line, att_error *err)
{
    att_pretokenizer splitter = { .text = line->data,
                                  .length = line->length,
                                  .kind = vocab->kind,
                                  .whole_text = vocab->whole_text };
    const char *token;
    size_t length, start = ids->count;
    count = count && !vocab->bpe; /* bytes are numbered from the start */
    if (vocab->prepend_bos && att_ids_add(ids, ATT_ID_BOS) != ATT_OK)
        return att_fail_memory(err);
    if (vocab->sentencepiece && att_sentencepiece_encode(vocab->sentencepiece, ids, ATT_ID_FIRST,
                                                         line->data, line->length) != ATT_OK)
        return att_fail_memory(err);
    while (!vocab->sentencepiece && ids->count - start < most &&
           att_pretokenizer_next(&splitter, &token, &length))
        ATT_TRY((count ? count_token : encode_token)(vocab, ids, token, length, err));
    if (vocab->append_eos && ids->count > start && att_ids_add(ids, ATT_ID_EOS) != ATT_OK)
        return att_fail_memory(err);
    if (ids->count - start > most)
        ids->count = start + most;
    return ATT_OK;
}

att_status att_vocab_tokenize(att_vocab *vocab, bool count, size_t most, att_ids *ids,
                              const char *line, size_t length, att_error *err)
{
    if (!vocab->whole_text || vocab->kind != ATT_TOKENIZER_BYTE)
        ATT_TRY(att_line_validate(line, length, err));
    att_string prepared = { 0 };
    att_status status =
        (vocab->whole_text && !vocab->prepend_bos ? att_document_normalize : att_line_normalize)(
            &prepared, vocab->kind, line, length, vocab->lowercase, err);
    if (status == ATT_OK)
        status = tokenize_normalized(vocab, count, most, ids, &prepared, err);
    att_string_free(&prepared);
    return status;
}

att_status att_vocab_count_line(att_vocab *vocab, att_ids *ids, const char *line, size_t length,
                                att_error *err)
{
    return att_vocab_tokenize(vocab, true, SIZE_MAX, ids, line, length, err);
}

void att_vocab_uncount_tokens(att_vocab *vocab, const int32_t *ids, size_t count)
{
    for (size_t i = 0; i < count && !vocab->bpe; i++)
        vocab->entries[ids[i]].count--;
}

/* The most frequent first; equally frequent ones by their bytes, so that the order of lines in a
 * file does not matter. */
static int by_count(const void *left, const void *right)
{
    const att_vocab_entry *a = left, *b = right;
    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    size_t shorter = a->length < b->length ? a->length : b->length;
    int order = memcmp(a->text, b->text, shorter);
    return order != 0 ? order : (a->length > b->length) - (a->length < b->length);
}

att_status att_vocab_finalize(att_vocab *vocab, int64_t least, int32_t **final, att_error *err)
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
    if (least < 1) /* a token of pairs that were left out again has been counted 0 times */
        least = 1;
    size_t kept = 0;
    while (kept < vocab->count && vocab->entries[kept].count >= least) {
        (*final)[vocab->entries[kept].provisional_id] = (int32_t)kept + ATT_ID_FIRST;
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
    ptrdiff_t place = att_vocab_find_entry(vocab, token, length);
    return place < 0 ? ATT_ID_UNK : (int32_t)place + ATT_ID_FIRST;
}

const char *att_vocab_token(const att_vocab *vocab, int32_t id)
{
    static const char *const always[] = { "<unknown>", "<start>", "<end>" };
    if (id < ATT_ID_FIRST)
        return id < 0 ? "" : always[id];
    return vocab->entries[id - ATT_ID_FIRST].text;
}

bool att_vocab_is_subword(const att_vocab *vocab)
{
    return vocab->bpe || vocab->sentencepiece;
}

const char *att_vocab_token_bytes(const att_vocab *vocab, int32_t id, size_t *length)
{
    *length = 0;
    if (id < ATT_ID_FIRST)
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

att_status att_vocab_encode(const att_vocab *vocab, att_ids *ids, const char *line, size_t length,
                            att_error *err)
{
    /* Without counting, the vocabulary is only looked at. */
    return att_vocab_tokenize((att_vocab *)vocab, false, SIZE_MAX, ids, line, length, err);
}

att_status att_vocab_decode(const att_vocab *vocab, att_string *out, const int32_t *ids,
                            size_t count)
{
    if (vocab->bpe || vocab->sentencepiece)
        return att_vocab_decode_subwords(vocab, out, ids, count);
    size_t start = out->length;
    att_tokenizer_kind joined =
        vocab->whole_text ? ATT_TOKENIZER_CHAR : vocab->kind; /* as they stand */
    for (size_t i = 0; i < count; i++)
        if (ids[i] == ATT_ID_UNK || ids[i] >= ATT_ID_FIRST)
            ATT_TRY(att_detokenize_append(out, start, joined, att_vocab_token(vocab, ids[i])));
    return ATT_OK;
}
