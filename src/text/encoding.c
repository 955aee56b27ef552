/* Texts as tokens; see spell.h. */
#include "text/encoding.h"

#include "base/alloc.h"
#include "base/error.h"
#include "text/pretokenizer.h"
#include "text/utf8.h"
#include "text/vocab_internal.h"

static att_status add_token(att_encoding *out, size_t *room, int32_t id, size_t end, att_error *err)
{
    if (out->ids.count == *room) {
        size_t bigger = *room > 0 ? 2 * *room : 1024;
        size_t *ends = att_realloc(out->end_offsets, *room * sizeof *ends, bigger, sizeof *ends);
        if (!ends)
            return att_fail_memory(err);
        out->end_offsets = ends;
        *room = bigger;
    }
    out->end_offsets[out->ids.count] = end;
    return att_ids_add(&out->ids, id) == ATT_OK ? ATT_OK : att_fail_memory(err);
}

/* Tokens that stand in the text one after the other. */
static att_status encode_words(att_encoding *out, const att_vocab *words, const char *text,
                               size_t length, att_error *err)
{
    size_t room = 0, bytes;
    const char *token;
    ATT_TRY(att_line_validate(text, length, err));
    ATT_TRY(att_document_normalize(&out->text, words->kind, text, length, words->lowercase, err));
    att_pretokenizer in = { .text = out->text.data,
                            .length = out->text.length,
                            .kind = words->kind,
                            .whole_text = words->whole_text };
    while (att_pretokenizer_next(&in, &token, &bytes))
        ATT_TRY(add_token(out, &room, att_vocab_id(words, token, bytes),
                          (size_t)(token - out->text.data) + bytes, err));
    return ATT_OK;
}

/* Tokens that spell the text: it is what they stand for, one after the other. */
static att_status encode_subwords(att_encoding *out, const att_vocab *words, const char *text,
                                  size_t length, att_error *err)
{
    ATT_TRY(att_vocab_encode(words, &out->ids, text, length, err));
    out->end_offsets = att_alloc(out->ids.count, sizeof *out->end_offsets);
    if (!out->end_offsets)
        return att_fail_memory(err);
    for (size_t i = 0; i < out->ids.count; i++) {
        size_t bytes;
        const char *part = att_vocab_token_bytes(words, out->ids.items[i], &bytes);
        if (att_string_append(&out->text, part, bytes) != ATT_OK)
            return att_fail_memory(err);
        out->end_offsets[i] = out->text.length;
    }
    return ATT_OK;
}

att_status att_encoding_new(att_encoding *out, const att_vocab *words, const char *text,
                            size_t length, att_error *err)
{
    return (att_vocab_is_subword(words) ? encode_subwords : encode_words)(out, words, text, length,
                                                                          err);
}

void att_encoding_free(att_encoding *spelt)
{
    att_string_free(&spelt->text);
    att_ids_free(&spelt->ids);
    att_free(spelt->end_offsets);
    *spelt = (att_encoding){ 0 };
}

const char **att_encoding_token_strings(const att_encoding *spelt, int64_t first, int64_t count,
                                        att_arena *arena)
{
    const char **strings = att_arena_alloc(arena, (size_t)count, sizeof *strings);
    size_t start = att_encoding_token_start(spelt, first);
    for (int64_t i = 0; strings && i < count; i++) {
        size_t length = spelt->end_offsets[first + i] - start;
        const char *bytes = spelt->text.data + start;
        bool whole = i == count - 1 || att_utf8_valid_prefix(bytes, length) == length;
        strings[i] = att_arena_strndup(arena, bytes, whole ? length : 0);
        if (!strings[i])
            return NULL;
        start += whole ? length : 0;
    }
    return strings;
}
