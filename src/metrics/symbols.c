/* Splits a line into the symbols that a metric compares: words, words of captions, or code points.
 */
#include "metrics/symbols.h"

#include "base/error.h"
#include "base/minmax.h"
#include "text/utf8.h"

#include <string.h>

bool att_is_whitespace(uint32_t code)
{
    static const uint32_t others[] = { 0x20,   0x85,   0xA0,   0x1680, 0x2028,
                                       0x2029, 0x202F, 0x205F, 0x3000 };
    if ((code >= 0x09 && code <= 0x0D) || (code >= 0x1C && code <= 0x1F) ||
        (code >= 0x2000 && code <= 0x200A))
        return true;
    for (size_t i = 0; i < ATT_COUNT(others); i++)
        if (code == others[i])
            return true;
    return false;
}

/* ---- code points */

static att_status read_characters(att_ids *out, const char *line, size_t length)
{
    for (size_t at = 0; at < length;) {
        uint32_t code;
        at += att_utf8_decode_lossy(line + at, length - at, &code);
        if (!att_is_whitespace(code))
            ATT_TRY(att_ids_add(out, (int32_t)code + ATT_ID_FIRST));
    }
    return ATT_OK;
}

/* White space between words becomes one space. */
static att_status read_line(att_ids *out, const char *line, size_t length)
{
    bool space = false;
    size_t start = out->count;
    for (size_t at = 0; at < length;) {
        uint32_t code;
        at += att_utf8_decode_lossy(line + at, length - at, &code);
        bool white = att_is_whitespace(code);
        if (!white && space && out->count > start)
            ATT_TRY(att_ids_add(out, ' ' + ATT_ID_FIRST));
        if (!white)
            ATT_TRY(att_ids_add(out, (int32_t)code + ATT_ID_FIRST));
        space = white;
    }
    return ATT_OK;
}

/* ---- words */

/* The next whitespace-separated word from *at on; false at the end. */
static bool next_word(const char *line, size_t length, size_t *at, const char **word, size_t *size)
{
    uint32_t code;
    size_t bytes = 0;
    for (; *at < length; *at += bytes) {
        bytes = att_utf8_decode_lossy(line + *at, length - *at, &code);
        if (!att_is_whitespace(code))
            break;
    }
    *word = line + *at;
    for (; *at < length; *at += bytes) {
        bytes = att_utf8_decode_lossy(line + *at, length - *at, &code);
        if (att_is_whitespace(code))
            break;
    }
    *size = (size_t)(line + *at - *word);
    return *size > 0;
}

static att_status add_word(att_ids *out, att_string_set *words, const char *word, size_t size,
                           att_error *err)
{
    size_t index;
    if (att_string_set_add(words, word, size, &index) != ATT_OK || index > INT32_MAX / 2 ||
        att_ids_add(out, (int32_t)index + ATT_ID_FIRST) != ATT_OK)
        return att_fail_memory(err);
    return ATT_OK;
}

static att_status read_words(att_ids *out, att_string_set *words, const char *line, size_t length,
                             att_error *err)
{
    const char *word;
    size_t at = 0, size;
    while (next_word(line, length, &at, &word, &size))
        ATT_TRY(add_word(out, words, word, size, err));
    return ATT_OK;
}

static bool is_chrf_punctuation(char byte)
{
    return byte > ' ' && byte < 0x7F && !(byte >= '0' && byte <= '9') &&
           !((byte | 32) >= 'a' && (byte | 32) <= 'z');
}

/* A word that ends in a punctuation mark is split before it; else a word that starts with one is
 * split after it. */
static att_status read_chrf_words(att_ids *out, att_string_set *words, const char *line,
                                  size_t length, att_error *err)
{
    const char *word;
    size_t at = 0, size;
    while (next_word(line, length, &at, &word, &size)) {
        size_t cut = 0;
        if (size > 1 && is_chrf_punctuation(word[size - 1]))
            cut = size - 1;
        else if (size > 1 && is_chrf_punctuation(word[0]))
            cut = 1;
        if (cut > 0)
            ATT_TRY(add_word(out, words, word, cut, err));
        ATT_TRY(add_word(out, words, word + cut, size - cut, err));
    }
    return ATT_OK;
}

/* ---- words of captions */

static bool is_caption_punctuation(char byte)
{
    return byte != '\0' && strchr(".,:;?!-'\"`()[]{}", byte) != NULL;
}

/* The length in bytes of a clitic at the end of a word ("n't", "'s", …), which is a separate word;
 * 0: none. */
static size_t find_clitic(const char *word, size_t size)
{
    static const char *const clitics[] = { "n't", "'re", "'ve", "'ll", "'s", "'d", "'m" };
    for (size_t i = 0; i < ATT_COUNT(clitics); i++) {
        size_t length = strlen(clitics[i]);
        if (size > length && memcmp(word + size - length, clitics[i], length) == 0)
            return length;
    }
    return 0;
}

static att_status read_caption(att_ids *out, att_string_set *words, const char *line, size_t length,
                               att_error *err)
{
    const char *word;
    size_t at = 0, size;
    while (next_word(line, length, &at, &word, &size)) {
        while (size > 0 && is_caption_punctuation(word[size - 1]))
            size--;
        /* An apostrophe before letters may belong to a clitic that is already split off: "girl 's".
         */
        for (; size > 0 && is_caption_punctuation(word[0]) && !(word[0] == '\'' && size > 1);
             size--)
            word++;
        size_t clitic = find_clitic(word, size);
        if (size > 0)
            ATT_TRY(add_word(out, words, word, size - clitic, err));
        if (clitic > 0)
            ATT_TRY(add_word(out, words, word + size - clitic, clitic, err));
    }
    return ATT_OK;
}

att_status att_symbols_parse(att_ids *out, att_symbol_kind kind, att_string_set *words,
                             const char *line, size_t length, att_error *err)
{
    if (kind == ATT_SYMBOLS_CHRF)
        return read_chrf_words(out, words, line, length, err);
    if (kind == ATT_SYMBOLS_CAPTION)
        return read_caption(out, words, line, length, err);
    if (kind == ATT_SYMBOLS_TOKENS || kind == ATT_SYMBOLS_WORDS)
        return read_words(out, words, line, length, err);
    att_status status =
        (kind == ATT_SYMBOLS_CHARACTERS ? read_characters : read_line)(out, line, length);
    return status == ATT_OK ? ATT_OK : att_fail_memory(err);
}
