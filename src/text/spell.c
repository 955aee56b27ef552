/* Texts as tokens; see spell.h. */
#include "text/spell.h"

#include "base/alloc.h"
#include "base/error.h"
#include "text/tokens.h"
#include "text/utf8.h"
#include "text/vocab_words.h"

static att_status add_token(att_spelt *out, size_t *room, int32_t id, size_t end, att_error *err)
{
    if (out->ids.count == *room) {
        size_t bigger = *room > 0 ? 2 * *room : 1024;
        size_t *ends = att_realloc(out->end, *room * sizeof *ends, bigger, sizeof *ends);
        if (!ends)
            return att_fail_memory(err);
        out->end = ends;
        *room = bigger;
    }
    out->end[out->ids.count] = end;
    return att_ids_add(&out->ids, id) == ATT_OK ? ATT_OK : att_fail_memory(err);
}

/* Tokens that stand in the text one after the other. */
static att_status spell_words(att_spelt *out, const att_vocab *words, const char *text,
                              size_t length, att_error *err)
{
    size_t room = 0, bytes;
    const char *token;
    ATT_TRY(att_line_check(text, length, err));
    ATT_TRY(att_text_prepare(&out->text, words->tokens, text, length, words->lower, err));
    att_splitter in = { .text = out->text.data,
                        .length = out->text.length,
                        .tokens = words->tokens,
                        .whole = words->whole };
    while (att_split_next(&in, &token, &bytes))
        ATT_TRY(add_token(out, &room, att_vocab_find(words, token, bytes),
                          (size_t)(token - out->text.data) + bytes, err));
    return ATT_OK;
}

/* Tokens that spell the text: it is what they stand for, one after the other. */
static att_status spell_parts(att_spelt *out, const att_vocab *words, const char *text,
                              size_t length, att_error *err)
{
    ATT_TRY(att_vocab_encode(words, &out->ids, text, length, err));
    out->end = att_alloc(out->ids.count, sizeof *out->end);
    if (!out->end)
        return att_fail_memory(err);
    for (size_t i = 0; i < out->ids.count; i++) {
        size_t bytes;
        const char *part = att_vocab_bytes(words, out->ids.items[i], &bytes);
        if (att_text_add(&out->text, part, bytes) != ATT_OK)
            return att_fail_memory(err);
        out->end[i] = out->text.length;
    }
    return ATT_OK;
}

att_status att_spell(att_spelt *out, const att_vocab *words, const char *text, size_t length,
                     att_error *err)
{
    return (att_vocab_spells(words) ? spell_parts : spell_words)(out, words, text, length, err);
}

void att_spelt_free(att_spelt *spelt)
{
    att_text_free(&spelt->text);
    att_ids_free(&spelt->ids);
    att_free(spelt->end);
    *spelt = (att_spelt){ 0 };
}

const char **att_spelt_strings(const att_spelt *spelt, int64_t first, int64_t count,
                               att_arena *arena)
{
    const char **strings = att_arena_take(arena, (size_t)count, sizeof *strings);
    size_t start = att_spelt_start(spelt, first);
    for (int64_t i = 0; strings && i < count; i++) {
        size_t length = spelt->end[first + i] - start;
        const char *bytes = spelt->text.data + start;
        bool whole = i == count - 1 || att_utf8_check(bytes, length) == length;
        strings[i] = att_arena_copy(arena, bytes, whole ? length : 0);
        if (!strings[i])
            return NULL;
        start += whole ? length : 0;
    }
    return strings;
}
