/* Texts as tokens; see spell.h. */
#include "inspect/spell.h"

#include "base/alloc.h"
#include "base/error.h"
#include "text/tokens.h"
#include "text/utf8.h"

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

att_status att_spell(att_spelt *out, const att_vocab *words, const char *text, size_t length,
                     att_error *err)
{
    att_tokens tokens = att_vocab_tokens(words);
    size_t room = 0;
    if (tokens == ATT_TOKENS_SUBWORD)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "the model reads subwords: its units cannot be shown on characters");
    ATT_TRY(att_line_check(text, length, err));
    ATT_TRY(att_line_prepare(&out->text, tokens, text, length, false, err));
    att_splitter in = { .text = out->text.data, .length = out->text.length, .tokens = tokens };
    const char *token;
    size_t bytes;
    while (att_split_next(&in, &token, &bytes))
        ATT_TRY(add_token(out, &room, att_vocab_find(words, token, bytes),
                          (size_t)(token - out->text.data) + bytes, err));
    return ATT_OK;
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
