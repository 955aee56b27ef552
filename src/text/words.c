/* The words of a line; see words.h. */
#include "text/words.h"

#include "base/error.h"
#include "text/pretokenizer.h"
#include "text/vocab_internal.h"

static size_t count_words(const att_string *text, att_tokenizer_kind kind)
{
    att_pretokenizer splitter = { .text = text->data, .length = text->length, .kind = kind };
    const char *word;
    size_t bytes, count = 0;
    while (att_pretokenizer_next(&splitter, &word, &bytes))
        count++;
    return count;
}

/* Replaces *scratch by the line as its words are written. */
static att_status normalize(att_string *scratch, const att_vocab *vocab, const char *line,
                            size_t length, att_error *err)
{
    size_t wanted = 0;
    bool may_differ = vocab->lowercase && vocab->kind != ATT_TOKENIZER_SPACE;
    if (may_differ) {
        ATT_TRY(att_line_normalize_nfc(scratch, line, length, true, err));
        wanted = count_words(scratch, vocab->kind);
    }
    ATT_TRY(att_line_normalize_nfc(scratch, line, length, false, err));
    if (!may_differ || count_words(scratch, vocab->kind) == wanted)
        return ATT_OK;
    return att_line_normalize_nfc(scratch, line, length, true, err);
}

att_status att_words_split(att_string *out, att_string *scratch, const att_vocab *vocab,
                           const char *line, size_t length, size_t count, att_error *err)
{
    ATT_TRY(normalize(scratch, vocab, line, length, err));
    att_pretokenizer splitter = { .text = scratch->data,
                                  .length = scratch->length,
                                  .kind = vocab->kind };
    const char *word = "";
    size_t bytes, found = 0;
    for (; found < count; found++) {
        if (!att_pretokenizer_next(&splitter, &word, &bytes))
            bytes = 0;
        if (att_string_append(out, word, bytes) != ATT_OK ||
            att_string_append(out, "", 1) != ATT_OK)
            return att_fail_memory(err);
    }
    return ATT_OK;
}
