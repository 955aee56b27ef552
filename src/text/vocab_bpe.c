/* Vocabularies of subwords (BPE, SentencePiece, bytes): training, names for display, decoding. */
#include "text/vocab.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/string.h"
#include "text/utf8.h"
#include "text/vocab_internal.h"

#include <stdio.h>
#include <string.h>

#define VISIBLE_SPACE         "\xE2\x96\x81" /* U+2581 */
#define REPLACEMENT_CHARACTER "\xEF\xBF\xBD" /* U+FFFD */

/* ---- names */

static att_status write_byte(att_string *out, unsigned char byte)
{
    static const char digits[] = "0123456789ABCDEF";
    const char name[] = { '<', '0', 'x', digits[byte >> 4], digits[byte & 15], '>' };
    return att_string_append(out, name, sizeof name);
}

/* Without printf: a vocabulary has 256 bytes, and their names took half of the time to build it. */
static att_status write_name(att_string *out, const char *bytes, size_t length)
{
    out->length = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        bool shown = (byte > ' ' && byte != 0x7F) && (byte < 0x80 || length > 1);
        if (shown)
            ATT_TRY(att_string_append(out, bytes + i, 1));
        else if (byte == ' ')
            ATT_TRY(att_string_puts(out, VISIBLE_SPACE));
        else
            ATT_TRY(write_byte(out, byte));
    }
    return ATT_OK;
}

/* The bytes of a subword of either kind. */
static const char *token_bytes(const att_vocab *vocab, size_t token, size_t *length)
{
    return vocab->sentencepiece ? att_sentencepiece_piece(vocab->sentencepiece, token, length)
                                : att_bpe_token_bytes(vocab->bpe, token, length);
}

static att_status make_display_tokens(att_vocab *vocab, att_string *scratch)
{
    size_t count = vocab->sentencepiece ? att_sentencepiece_size(vocab->sentencepiece)
                                        : att_bpe_size(vocab->bpe);
    vocab->entries = att_alloc_zero(count, sizeof *vocab->entries);
    if (!vocab->entries)
        return ATT_NO_MEMORY;
    vocab->capacity = count;
    for (size_t i = 0; i < count; i++) {
        size_t length;
        const char *bytes = token_bytes(vocab, i, &length);
        ATT_TRY(write_name(scratch, bytes, length));
        const char *name = att_arena_strndup(&vocab->strings, scratch->data, scratch->length);
        if (!name)
            return ATT_NO_MEMORY;
        vocab->entries[vocab->count++] =
            (att_vocab_entry){ .text = name, .length = (uint32_t)scratch->length };
    }
    return ATT_OK;
}

/* Replaces the counted pieces by the names of subwords. */
static att_status replace_entries(att_vocab *vocab, att_error *err)
{
    att_free(vocab->entries);
    att_free(vocab->slots);
    att_arena_free(&vocab->strings);
    vocab->entries = NULL;
    vocab->slots = NULL;
    vocab->count = vocab->capacity = vocab->slot_count = 0;
    att_string scratch = { 0 };
    att_status status = make_display_tokens(vocab, &scratch);
    if (status == ATT_OK)
        status = att_vocab_index_entries(vocab);
    att_string_free(&scratch);
    return status == ATT_OK ? ATT_OK : att_fail_memory(err);
}

att_status att_vocab_set_bpe(att_vocab *vocab, att_bpe *bpe, att_error *err)
{
    vocab->bpe = bpe;
    return replace_entries(vocab, err);
}

att_status att_vocab_set_sentencepiece(att_vocab *vocab, att_sentencepiece *pieces, att_error *err)
{
    vocab->sentencepiece = pieces;
    return replace_entries(vocab, err);
}

att_status att_vocab_from_sentencepiece(att_vocab **out, att_sentencepiece *pieces, att_error *err)
{
    att_status status = att_vocab_new(out, ATT_TOKENIZER_BPE, false, err);
    if (status != ATT_OK) {
        att_sentencepiece_free(pieces);
        return status;
    }
    status = att_vocab_set_sentencepiece(*out, pieces, err);
    if (status != ATT_OK) {
        att_vocab_free(*out);
        *out = NULL;
    }
    return status;
}

/* ---- training */

/* Adds the tags of `from`, which has nothing else, with their counts. */
static att_status add_tags(att_vocab *vocab, const att_vocab *from, att_error *err)
{
    for (size_t i = 0; i < from->count; i++) {
        ATT_TRY(att_vocab_append_entry(vocab, from->entries[i].text, from->entries[i].length, true,
                                       err));
        vocab->entries[vocab->count - 1].count = from->entries[i].count;
    }
    return ATT_OK;
}

/* Learns merges from the pieces, and moves the tags that occurred among them to `tags`. */
static att_status train(att_bpe **out, att_vocab *tags, att_vocab *vocab, att_piece *pieces,
                        int64_t merges, int64_t min_count, att_error *err)
{
    size_t count = 0;
    for (size_t i = 0; i < vocab->count; i++) {
        const att_vocab_entry *entry = &vocab->entries[i];
        if (!entry->is_tag)
            pieces[count++] = (att_piece){ entry->text, entry->length, entry->count };
        else if (entry->count > 0)
            ATT_TRY(add_tags(tags, &(att_vocab){ .entries = &vocab->entries[i], .count = 1 }, err));
    }
    return att_bpe_train(out, pieces, count, merges, min_count, err);
}

att_status att_vocab_train_bpe(att_vocab *vocab, int64_t merges, int64_t min_count, att_error *err)
{
    att_piece *pieces = att_alloc(vocab->count, sizeof *pieces);
    if (!pieces)
        return att_fail_memory(err);
    att_bpe *bpe;
    att_vocab tags = { 0 };
    att_status status = train(&bpe, &tags, vocab, pieces, merges, min_count, err);
    att_free(pieces);
    if (status == ATT_OK)
        status = att_vocab_set_bpe(vocab, bpe, err);
    if (status == ATT_OK)
        status = add_tags(vocab, &tags, err);
    if (status == ATT_OK)
        att_vocab_sort_tags(vocab);
    att_free(tags.entries);
    att_free(tags.slots);
    att_arena_free(&tags.strings);
    return status;
}

/* ---- decoding */

static att_status concatenate_tokens(const att_vocab *vocab, att_string *out, const int32_t *ids,
                                     size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(REPLACEMENT_CHARACTER);
        const char *bytes = REPLACEMENT_CHARACTER;
        if (att_vocab_is_tag(vocab, ids[i]))
            continue;
        if (ids[i] >= ATT_ID_FIRST)
            bytes = token_bytes(vocab, (size_t)(ids[i] - ATT_ID_FIRST), &length);
        else if (ids[i] != ATT_ID_UNK)
            continue;
        ATT_TRY(att_string_append(out, bytes, length));
    }
    return ATT_OK;
}

/* Appends a text, with U+FFFD for every byte that a line (or a whole text) cannot hold. */
static att_status append_valid_utf8(att_string *out, const char *text, size_t length, bool whole)
{
    for (size_t at = 0, bytes; at < length; at += bytes) {
        uint32_t code;
        bytes = att_utf8_decode(&code, text + at, length - at);
        bool good = bytes > 0 && code != 0 && (whole || code != '\n');
        if (bytes == 0)
            bytes = 1;
        ATT_TRY(good ? att_string_append(out, text + at, bytes)
                     : att_string_puts(out, REPLACEMENT_CHARACTER));
    }
    return ATT_OK;
}

/* Removes the space that att_line_normalize() put before the line. */
att_status att_vocab_decode_subwords(const att_vocab *vocab, att_string *out, const int32_t *ids,
                                     size_t count)
{
    att_string text = { 0 };
    att_status status = concatenate_tokens(vocab, &text, ids, count);
    bool has_space = vocab->kind == ATT_TOKENIZER_BPE && (!vocab->whole_text || vocab->prepend_bos);
    size_t lead = has_space && text.length > 0 && text.data[0] == ' ';
    if (status == ATT_OK && text.length > lead)
        status = append_valid_utf8(out, text.data + lead, text.length - lead, vocab->whole_text);
    att_string_free(&text);
    return status;
}
