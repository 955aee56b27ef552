/* Normalizing, splitting and joining lines; see pretokenizer.h. */
#include "text/pretokenizer.h"

#include "base/error.h"
#include "base/minmax.h"
#include "base/string.h"
#include "text/unicode.h"
#include "text/utf8.h"

#include <stdio.h>
#include <string.h>

/* X(KIND, name in settings and model files, att_tokenizer_spec): the kinds that can split a whole
 * text, and the others. */
#define DOCUMENT_TOKENIZERS(X)                                                                     \
    X(CHAR, "char", "characters", NULL, end_of_cluster, ATT_SPACES_ARE_TOKENS, .trimmed = true)    \
    X(WORD, "word", "words", is_space, end_of_word, ATT_SPACES_BETWEEN_WORDS, .words = true,       \
      .language = true)                                                                            \
    X(BPE, "bpe", "BPE tokens", NULL, end_of_piece, ATT_SPACES_BETWEEN_WORDS, .exact = true,       \
      .language = true)                                                                            \
    X(BYTE, "byte", "bytes", NULL, end_of_byte, ATT_SPACES_BETWEEN_WORDS, .exact = true)           \
    X(CODEPOINT, "codepoint", "code points", NULL, end_of_code, ATT_SPACES_ARE_TOKENS,             \
      .trimmed = true)
#define LINE_TOKENIZERS(X)                                                                         \
    X(SPACE, "space", "whitespace-separated tokens", is_ascii_space, end_of_run,                   \
      ATT_SPACES_BETWEEN_TOKENS, .words = true)                                                    \
    X(LINE, "line", "whole lines", NULL, end_of_line, ATT_SPACES_BETWEEN_TOKENS, .trimmed = true)

#define PLUS_ONE(...) +1
_Static_assert(0 DOCUMENT_TOKENIZERS(PLUS_ONE) == ATT_DOCUMENT_TOKENIZER_KINDS, "a row is missing");
_Static_assert(0 LINE_TOKENIZERS(PLUS_ONE) == ATT_TOKENIZER_KINDS - ATT_DOCUMENT_TOKENIZER_KINDS,
               "a row is missing");

#define KIND_NAME(KIND, NAME, ...) [ATT_TOKENIZER_##KIND] = (NAME),
const char *const att_tokenizer_kind_names[] = { DOCUMENT_TOKENIZERS(KIND_NAME)
                                                     LINE_TOKENIZERS(KIND_NAME) NULL };
const char *const att_document_tokenizer_names[] = { DOCUMENT_TOKENIZERS(KIND_NAME) NULL };

/* Whether all code points are below U+0100. There every text is in composed form already. */
static bool is_latin1(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] >= 0xC4) /* starts a character beyond U+00FF */
            return false;
    return true;
}

size_t att_line_valid_prefix(const char *line, size_t length)
{
    size_t good = att_utf8_valid_prefix(line, length);
    const char *zero = good > 0 ? memchr(line, '\0', good) : NULL;
    return zero ? (size_t)(zero - line) : good;
}

att_status att_line_validate(const char *line, size_t length, att_error *err)
{
    size_t good = att_line_valid_prefix(line, length), start = 0, number = 1;
    if (good == length)
        return ATT_OK;
    for (size_t i = 0; i < good; i++)
        if (line[i] == '\n') {
            start = i + 1;
            number++;
        }
    char where[32] = "the line";
    if (memchr(line, '\n', length))
        snprintf(where, sizeof where, "line %zu", number);
    return att_fail(err, ATT_BAD_INPUT, NULL, "byte %zu of %s, 0x%02X, is %s", good - start + 1,
                    where, (unsigned char)line[good], line[good] ? "not UTF-8" : "not text");
}

/* ---- normalizing */

/* Lowercases ASCII and Latin-1 in place. Lower-case letters are 32 above upper-case ones: A to Z,
 * and À to Þ except ×, which are the bytes 0x80 to 0x9E after 0xC3. */
static void lowercase_latin1(char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        bool latin =
            i > 0 && (unsigned char)text[i - 1] == 0xC3 && c >= 0x80 && c <= 0x9E && c != 0x97;
        if ((c >= 'A' && c <= 'Z') || latin)
            text[i] = (char)(c + 32);
    }
}

static att_status normalize_nfc(att_string *out, att_offset_map *offsets, const char *line,
                                size_t length, bool lower, att_error *err)
{
    out->length = 0;
    if (!is_latin1(line, length))
        ATT_TRY(att_unicode_compose(out, offsets, line, length, lower, err));
    else if (att_string_append(out, line, length) != ATT_OK)
        return att_fail_memory(err);
    if (lower)
        lowercase_latin1(out->data, out->length);
    return ATT_OK;
}

att_status att_line_normalize_nfc(att_string *out, const char *line, size_t length, bool lower,
                                  att_error *err)
{
    return normalize_nfc(out, NULL, line, length, lower, err);
}

att_status att_document_normalize(att_string *out, att_offset_map *offsets, att_tokenizer_kind kind,
                                  const char *text, size_t length, bool lower, att_error *err)
{
    if (!att_tokenizer_specs[kind].exact || lower)
        return normalize_nfc(out, offsets, text, length, lower, err);
    out->length = 0;
    return att_string_append(out, text, length) == ATT_OK ? ATT_OK : att_fail_memory(err);
}

att_status att_line_normalize(att_string *out, att_offset_map *offsets, att_tokenizer_kind kind,
                              const char *line, size_t length, bool lower, att_error *err)
{
    ATT_TRY(att_document_normalize(out, offsets, kind, line, length, lower, err));
    if (kind != ATT_TOKENIZER_BPE || out->length == 0)
        return ATT_OK;
    if (offsets)
        offsets->inserted = 1;
    if (att_string_append(out, " ", 1) != ATT_OK)
        return att_fail_memory(err);
    memmove(out->data + 1, out->data, out->length - 1);
    out->data[0] = ' ';
    return ATT_OK;
}

/* ---- splitting */

static bool is_ascii_space(uint32_t code)
{
    return code == ' ' || (code >= '\t' && code <= '\r');
}

static bool is_space(uint32_t code)
{
    static const uint32_t others[] = { 0x85,   0xA0,   0x1680, 0x2028, 0x2029,
                                       0x202F, 0x205F, 0x3000, 0xFEFF };
    if (is_ascii_space(code) || (code >= 0x2000 && code <= 0x200A))
        return true;
    for (size_t i = 0; i < ATT_COUNT(others); i++)
        if (code == others[i])
            return true;
    return false;
}

static size_t code_at(const att_pretokenizer *in, size_t at, uint32_t *code)
{
    if (at >= in->length) {
        *code = 0;
        return 0;
    }
    return att_utf8_decode_lossy(in->text + at, in->length - at, code);
}

static void skip_spaces(att_pretokenizer *in, bool (*is)(uint32_t code))
{
    uint32_t code;
    size_t bytes;
    while ((bytes = code_at(in, in->position, &code)) > 0 && is(code))
        in->position += bytes;
}

static size_t end_of_cluster(const att_pretokenizer *in, size_t at)
{
    uint32_t before, after;
    int32_t state = 0;
    at += code_at(in, at, &before);
    for (size_t bytes; (bytes = code_at(in, at, &after)) > 0; at += bytes) {
        if (att_unicode_breaks(before, after, &state))
            break;
        before = after;
    }
    return at;
}

static size_t end_of_code(const att_pretokenizer *in, size_t at)
{
    uint32_t code;
    return at + code_at(in, at, &code);
}

/* Letters, marks, digits and connector punctuation such as '_'. */
static bool in_word(uint32_t code)
{
    att_category category = att_unicode_category(code);
    return (category >= ATT_CATEGORY_LU && category <= ATT_CATEGORY_NO) ||
           category == ATT_CATEGORY_PC;
}

/* An apostrophe or hyphen between letters and a period or comma between digits belong to a word. */
static bool joins_word(uint32_t before, uint32_t mark, uint32_t after)
{
    static const uint32_t marks[] = { '\'', '-', 0x2010, 0x2011, 0x2019 };
    bool digits = before >= '0' && before <= '9' && after >= '0' && after <= '9';
    if (mark == '.' || mark == ',')
        return digits;
    for (size_t i = 0; i < ATT_COUNT(marks); i++)
        if (mark == marks[i])
            return in_word(after);
    return false;
}

static size_t end_of_word(const att_pretokenizer *in, size_t at)
{
    uint32_t before, code, after;
    size_t bytes = code_at(in, at, &before);
    if (!in_word(before))
        return end_of_cluster(in, at);
    for (at += bytes; (bytes = code_at(in, at, &code)) > 0; at += bytes) {
        code_at(in, at + bytes, &after);
        if (!in_word(code) && !joins_word(before, code, after))
            break;
        before = code;
    }
    return at;
}

static size_t end_of_run(const att_pretokenizer *in, size_t at)
{
    uint32_t code;
    size_t bytes;
    while ((bytes = code_at(in, at, &code)) > 0 && !is_ascii_space(code))
        at += bytes;
    return at;
}

typedef enum piece_kind { PIECE_OTHER, PIECE_ALPHABETIC, PIECE_DIGIT, PIECE_SPACE } piece_kind;

static piece_kind piece_kind_of(uint32_t code)
{
    if (code == ' ')
        return PIECE_SPACE;
    if (att_utf8_identifier_start(code))
        return PIECE_ALPHABETIC;
    return code >= '0' && code <= '9' ? PIECE_DIGIT : PIECE_OTHER;
}

/* The end of the run of characters of one kind; *kind receives the kind. */
static size_t end_of_kind(const att_pretokenizer *in, size_t at, piece_kind *kind)
{
    uint32_t code;
    size_t bytes = code_at(in, at, &code);
    *kind = piece_kind_of(code);
    while (bytes > 0 && piece_kind_of(code) == *kind) {
        at += bytes;
        bytes = code_at(in, at, &code);
    }
    return at;
}

static size_t end_of_piece(const att_pretokenizer *in, size_t at)
{
    piece_kind kind;
    size_t end = end_of_kind(in, at, &kind);
    if (kind != PIECE_SPACE || end == in->length)
        return end;
    return end - at > 1
               ? end - 1
               : end_of_kind(in, end, &kind); /* the last space belongs to the next piece */
}

static size_t end_of_line(const att_pretokenizer *in, size_t at)
{
    (void)at;
    return in->length;
}

static size_t end_of_byte(const att_pretokenizer *in, size_t at)
{
    (void)in;
    return at + 1;
}

/* Characters keep the spaces between them: those that end the line are cut off at the start. */
static void trim_end(att_pretokenizer *in)
{
    size_t end = 0;
    uint32_t code;
    for (size_t at = 0, bytes; (bytes = code_at(in, at, &code)) > 0; at += bytes)
        if (!is_space(code))
            end = at + bytes;
    in->length = end;
}

#define KIND_SPEC(KIND, NAME, ...) [ATT_TOKENIZER_##KIND] = { __VA_ARGS__ },
const att_tokenizer_spec att_tokenizer_specs[] = { DOCUMENT_TOKENIZERS(KIND_SPEC)
                                                       LINE_TOKENIZERS(KIND_SPEC) };

bool att_pretokenizer_next(att_pretokenizer *in, const char **token, size_t *length)
{
    const att_tokenizer_spec *spec = &att_tokenizer_specs[in->kind];
    bool trims = spec->trimmed && !in->whole_text;
    if (in->whole_text && spec->words)
        spec = &att_tokenizer_specs[ATT_TOKENIZER_BPE];
    if (in->position == 0 && trims) {
        trim_end(in);
        skip_spaces(in, is_space);
    } else if (spec->skip) {
        skip_spaces(in, spec->skip);
    }
    if (in->position >= in->length)
        return false;
    size_t end = spec->end(in, in->position);
    *token = in->text + in->position;
    *length = end - in->position;
    in->position = end;
    return true;
}

/* ---- joining */

static bool is_among_marks(uint32_t code, const char *marks)
{
    uint32_t mark;
    for (size_t bytes; *marks; marks += bytes) {
        bytes = att_utf8_decode_lossy(marks, strnlen(marks, 4), &mark);
        if (mark == code)
            return true;
    }
    return false;
}

/* The last code point of a text that is not empty. */
static uint32_t last_code(const char *text, size_t length)
{
    size_t at = length - 1;
    while (at > 0 && ((unsigned char)text[at] & 0xC0) == 0x80)
        at--;
    uint32_t code;
    att_utf8_decode_lossy(text + at, length - at, &code);
    return code;
}

static size_t count_code(const char *text, size_t length, uint32_t wanted)
{
    size_t count = 0;
    for (size_t at = 0; at < length;) {
        uint32_t code;
        at += att_utf8_decode_lossy(text + at, length - at, &code);
        count += code == wanted;
    }
    return count;
}

/* Whether a quotation mark after the text closes a quotation: straight quotes alternate, and “
 * closes after „, as in German. */
static bool closes_quote(const char *text, size_t length, uint32_t code)
{
    enum { LOW_QUOTE = 0x201E, LEFT_QUOTE = 0x201C };
    if (code == '"')
        return count_code(text, length, '"') % 2 == 1;
    return code == LEFT_QUOTE &&
           count_code(text, length, LOW_QUOTE) > count_code(text, length, LEFT_QUOTE);
}

/* Whether the last character of the line opens a bracket or quotation, so no space follows it. */
static bool opens_quote(const char *text, size_t length)
{
    uint32_t last = last_code(text, length);
    size_t bytes = 1;
    while (bytes < length && ((unsigned char)text[length - bytes] & 0xC0) == 0x80)
        bytes++;
    return (last == '"' || is_among_marks(last, "([{«“„‘¿¡")) &&
           !closes_quote(text, length - bytes, last);
}

static bool needs_space(const att_string *out, size_t start, att_tokenizer_kind kind,
                        const char *token)
{
    att_token_spacing spacing = att_tokenizer_specs[kind].spacing;
    if (out->length == start || spacing == ATT_SPACES_ARE_TOKENS || !*token)
        return false;
    if (spacing == ATT_SPACES_BETWEEN_TOKENS)
        return true;
    uint32_t first;
    att_utf8_decode_lossy(token, strnlen(token, 4), &first);
    const char *line = out->data + start;
    size_t length = out->length - start;
    return !is_among_marks(first, ".,;:!?…)]}»”’।॥。、？！") &&
           !closes_quote(line, length, first) && !opens_quote(line, length);
}

att_status att_detokenize_append(att_string *out, size_t start, att_tokenizer_kind kind,
                                 const char *token)
{
    if (needs_space(out, start, kind, token))
        ATT_TRY(att_string_puts(out, " "));
    return att_string_puts(out, token);
}
