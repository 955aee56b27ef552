/* A vocabulary of subwords: learned from what was counted, named for people, and spelt out. */
#include "text/vocab.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "text/utf8.h"
#include "text/vocab_words.h"

#include <stdio.h>
#include <string.h>

#define SPACE_SHOWN "\xE2\x96\x81" /* U+2581 */
#define BAD_SHOWN   "\xEF\xBF\xBD" /* U+FFFD */

/* ---- names */

static att_status write_name(att_text *out, const char *bytes, size_t length)
{
    out->length = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        bool shown = (byte > ' ' && byte != 0x7F) && (byte < 0x80 || length > 1);
        if (shown)
            ATT_TRY(att_text_add(out, bytes + i, 1));
        else if (byte == ' ')
            ATT_TRY(att_text_puts(out, SPACE_SHOWN));
        else
            ATT_TRY(att_text_print(out, "<0x%02X>", byte));
    }
    return ATT_OK;
}

/* The bytes of a subword, ours or another's. */
static const char *spelling(const att_vocab *vocab, size_t token, size_t *length)
{
    return vocab->parts ? att_parts_spell(vocab->parts, token, length)
                        : att_subwords_spell(vocab->subwords, token, length);
}

static att_status name_subwords(att_vocab *vocab, att_text *scratch)
{
    size_t count =
        vocab->parts ? att_parts_count(vocab->parts) : att_subwords_count(vocab->subwords);
    vocab->words = att_alloc_zero(count, sizeof *vocab->words);
    if (!vocab->words)
        return ATT_NO_MEMORY;
    vocab->capacity = count;
    for (size_t i = 0; i < count; i++) {
        size_t length;
        const char *bytes = spelling(vocab, i, &length);
        ATT_TRY(write_name(scratch, bytes, length));
        const char *name = att_arena_copy(&vocab->texts, scratch->data, scratch->length);
        if (!name)
            return ATT_NO_MEMORY;
        vocab->words[vocab->count++] =
            (att_word){ .text = name, .length = (uint32_t)scratch->length };
    }
    return ATT_OK;
}

/* The names of subwords in the place of what was counted. */
static att_status rename_words(att_vocab *vocab, att_error *err)
{
    att_free(vocab->words);
    att_free(vocab->slots);
    att_arena_free(&vocab->texts);
    vocab->words = NULL;
    vocab->slots = NULL;
    vocab->count = vocab->capacity = vocab->slot_count = 0;
    att_text scratch = { 0 };
    att_status status = name_subwords(vocab, &scratch);
    att_text_free(&scratch);
    return status == ATT_OK ? ATT_OK : att_fail_memory(err);
}

att_status att_words_take_subwords(att_vocab *vocab, att_subwords *subwords, att_error *err)
{
    vocab->subwords = subwords;
    return rename_words(vocab, err);
}

att_status att_words_take_parts(att_vocab *vocab, att_parts *parts, att_error *err)
{
    vocab->parts = parts;
    return rename_words(vocab, err);
}

att_status att_vocab_of_parts(att_vocab **out, att_parts *parts, att_error *err)
{
    att_status status = att_vocab_new(out, ATT_TOKENS_SUBWORD, false, err);
    if (status != ATT_OK) {
        att_parts_free(parts);
        return status;
    }
    status = att_words_take_parts(*out, parts, err);
    if (status != ATT_OK) {
        att_vocab_free(*out);
        *out = NULL;
    }
    return status;
}

/* ---- learning */

att_status att_vocab_learn(att_vocab *vocab, int64_t merges, int64_t least, att_error *err)
{
    att_piece *pieces = att_alloc(vocab->count, sizeof *pieces);
    if (!pieces)
        return att_fail_memory(err);
    for (size_t i = 0; i < vocab->count; i++)
        pieces[i] =
            (att_piece){ vocab->words[i].text, vocab->words[i].length, vocab->words[i].times };
    att_subwords *subwords;
    att_status status = att_subwords_learn(&subwords, pieces, vocab->count, merges, least, err);
    att_free(pieces);
    return status == ATT_OK ? att_words_take_subwords(vocab, subwords, err) : status;
}

/* ---- spelling out */

static att_status spell_all(const att_vocab *vocab, att_text *out, const int32_t *ids, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(BAD_SHOWN);
        const char *bytes = BAD_SHOWN;
        if (ids[i] >= ATT_ID_FIRST)
            bytes = spelling(vocab, (size_t)(ids[i] - ATT_ID_FIRST), &length);
        else if (ids[i] != ATT_ID_UNKNOWN)
            continue;
        ATT_TRY(att_text_add(out, bytes, length));
    }
    return ATT_OK;
}

/* Appends a text with U+FFFD for every byte that no line, or no text, can hold. */
static att_status add_readable(att_text *out, const char *text, size_t length, bool whole)
{
    for (size_t at = 0, bytes; at < length; at += bytes) {
        uint32_t code;
        bytes = att_utf8_decode(&code, text + at, length - at);
        bool good = bytes > 0 && code != 0 && (whole || code != '\n');
        if (bytes == 0)
            bytes = 1;
        ATT_TRY(good ? att_text_add(out, text + at, bytes) : att_text_puts(out, BAD_SHOWN));
    }
    return ATT_OK;
}

/* The space that was put before the line goes again. */
att_status att_words_spell(const att_vocab *vocab, att_text *out, const int32_t *ids, size_t count)
{
    att_text spelt = { 0 };
    att_status status = spell_all(vocab, &spelt, ids, count);
    bool led = vocab->tokens == ATT_TOKENS_SUBWORD && (!vocab->whole || vocab->begins);
    size_t lead = led && spelt.length > 0 && spelt.data[0] == ' ';
    if (status == ATT_OK && spelt.length > lead)
        status = add_readable(out, spelt.data + lead, spelt.length - lead, vocab->whole);
    att_text_free(&spelt);
    return status;
}
