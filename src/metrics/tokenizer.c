/* The tokenizers of BLEU, and lowercasing; see symbols.h. As with the regular expressions of
 * mteval, each rule is applied to the whole line before the next, without overlapping matches:
 * applying all rules in one pass would split some lines differently. */
#include "metrics/symbols.h"

#include "base/error.h"
#include "base/minmax.h"
#include "base/string.h"
#include "text/unicode.h"
#include "text/utf8.h"

#include <string.h>

const char *const att_metric_tokenizer_names[] = { "13a", "none", "char", "intl", NULL };

/* ---- Unicode categories */

static bool is_between(uint32_t code, att_category first, att_category last)
{
    att_category category = att_unicode_category(code);
    return category >= first && category <= last;
}

static bool is_number(uint32_t code)
{
    return is_between(code, ATT_CATEGORY_ND, ATT_CATEGORY_NO);
}

static bool is_punctuation(uint32_t code)
{
    return is_between(code, ATT_CATEGORY_PC, ATT_CATEGORY_PO);
}

static bool is_symbol(uint32_t code)
{
    return is_between(code, ATT_CATEGORY_SM, ATT_CATEGORY_SO);
}

static bool is_cased(uint32_t code)
{
    return is_between(code, ATT_CATEGORY_LU, ATT_CATEGORY_LT);
}

static bool is_combining(uint32_t code)
{
    att_category category = att_unicode_category(code);
    return category == ATT_CATEGORY_MN || category == ATT_CATEGORY_ME ||
           category == ATT_CATEGORY_CF || category == ATT_CATEGORY_LM ||
           category == ATT_CATEGORY_SK;
}

/* ---- lower case */

enum { DOTTED_CAPITAL_I = 0x130, CAPITAL_SIGMA = 0x3A3, FINAL_SIGMA = 0x3C2 };

/* Case_Ignorable: characters inside a word that have no case, such as accents and apostrophes. */
static bool is_case_ignorable(uint32_t code)
{
    static const uint32_t marks[] = { '\'',   '.',    ':',    '^',    '`',    0xB7,   0x387,
                                      0x55F,  0x5F4,  0x2018, 0x2019, 0x2024, 0x2027, 0xFE13,
                                      0xFE52, 0xFE55, 0xFF07, 0xFF0E, 0xFF1A };
    for (size_t i = 0; i < ATT_COUNT(marks); i++)
        if (code == marks[i])
            return true;
    return is_combining(code);
}

static bool followed_by_cased(const char *line, size_t length, size_t at)
{
    uint32_t code = 0;
    while (at < length) {
        at += att_utf8_decode_lossy(line + at, length - at, &code);
        if (!is_case_ignorable(code))
            return is_cased(code);
    }
    return false;
}

/* A capital sigma at the end of a word becomes the final form. */
static uint32_t lowercase_at(const char *line, size_t length, size_t at, size_t bytes,
                             bool after_letter)
{
    uint32_t code;
    att_utf8_decode_lossy(line + at, length - at, &code);
    if (code == CAPITAL_SIGMA && after_letter && !followed_by_cased(line, length, at + bytes))
        return FINAL_SIGMA;
    return att_unicode_lower(code);
}

att_status att_lowercase(att_string *out, const char *line, size_t length)
{
    bool after_letter = false;
    out->length = 0;
    for (size_t at = 0, bytes; at < length; at += bytes) {
        uint32_t code;
        char encoded[4];
        bytes = att_utf8_decode_lossy(line + at, length - at, &code);
        uint32_t lower = lowercase_at(line, length, at, bytes, after_letter);
        if (!is_case_ignorable(code))
            after_letter = is_cased(code);
        if (code == DOTTED_CAPITAL_I)
            ATT_TRY(att_string_puts(out, "i\xCC\x87"));
        else if (lower == code)
            ATT_TRY(att_string_append(out, line + at, bytes));
        else
            ATT_TRY(att_string_append(out, encoded, att_utf8_encode(encoded, lower)));
    }
    return ATT_OK;
}

/* ---- rules */

/* A rule matches one character, or two neighbors, and inserts text around them. */
typedef struct regex_rule {
    bool (*first)(uint32_t code);
    bool (*second)(uint32_t code); /* NULL: one character only */
    const char *before, *between, *after;
} regex_rule;

static att_status apply(att_string *out, const regex_rule *by, const char *line, size_t length)
{
    out->length = 0;
    for (size_t at = 0, bytes; at < length; at += bytes) {
        uint32_t code, next = 0;
        bytes = att_utf8_decode_lossy(line + at, length - at, &code);
        size_t more = by->second && at + bytes < length
                          ? att_utf8_decode_lossy(line + at + bytes, length - at - bytes, &next)
                          : 0;
        bool here = by->first(code) && (!by->second || (more > 0 && by->second(next)));
        if (here)
            ATT_TRY(att_string_puts(out, by->before));
        ATT_TRY(att_string_append(out, line + at, bytes));
        if (!here)
            continue;
        ATT_TRY(att_string_puts(out, by->between));
        ATT_TRY(att_string_append(out, line + at + bytes, more));
        ATT_TRY(att_string_puts(out, by->after));
        bytes += more;
    }
    return ATT_OK;
}

static att_status apply_all(att_string *out, const regex_rule *rules)
{
    att_string before = { 0 };
    att_status status = ATT_OK;
    for (; rules->first && status == ATT_OK; rules++) {
        const att_string swap = before;
        before = *out;
        *out = swap;
        status = apply(out, rules, before.data, before.length);
    }
    att_string_free(&before);
    return status;
}

/* ---- 13a */

static bool is_digit(uint32_t code)
{
    return code >= '0' && code <= '9';
}

static bool is_not_digit(uint32_t code)
{
    return !is_digit(code);
}

static bool is_point(uint32_t code)
{
    return code == '.' || code == ',';
}

static bool is_dash(uint32_t code)
{
    return code == '-';
}

/* ASCII punctuation, without the apostrophe and the marks of the other rules. */
static bool is_ascii_punctuation(uint32_t code)
{
    return code > ' ' && code < 0x7F && !is_digit(code) && !is_point(code) && !is_dash(code) &&
           code != '\'' && !((code | 32) >= 'a' && (code | 32) <= 'z');
}

static att_status replace(att_string *text, const char *from, const char *to)
{
    size_t size = strlen(from), kept = 0;
    for (size_t at = 0; at < text->length;) {
        bool here = at + size <= text->length && memcmp(text->data + at, from, size) == 0;
        const char *bytes = here ? to : text->data + at;
        size_t count = here ? strlen(to) : 1;
        memmove(text->data + kept, bytes,
                count); /* no replacement is longer than what it replaces */
        kept += count;
        at += here ? size : 1;
    }
    text->length = kept;
    return ATT_OK;
}

static att_status tokenize_13a(att_string *out, const char *line, size_t length)
{
    static const regex_rule rules[] = {
        { is_ascii_punctuation, NULL, " ", " ", "" },
        { is_not_digit, is_point, "", " ", " " },
        { is_point, is_not_digit, " ", " ", "" },
        { is_digit, is_dash, "", " ", " " },
        { 0 },
    };
    static const char *const entities[][2] = {
        { "<skipped>", "" }, { "&quot;", "\"" }, { "&amp;", "&" }, { "&lt;", "<" }, { "&gt;", ">" },
    };
    ATT_TRY(att_string_puts(out, " "));
    ATT_TRY(att_string_append(out, line, length));
    for (size_t i = 0; i < ATT_COUNT(entities); i++)
        ATT_TRY(replace(out, entities[i][0], entities[i][1]));
    ATT_TRY(att_string_puts(out, " "));
    return apply_all(out, rules);
}

/* ---- the others */

static bool is_not_number(uint32_t code)
{
    return !is_number(code);
}

static att_status tokenize_intl(att_string *out, const char *line, size_t length)
{
    static const regex_rule rules[] = {
        { is_not_number, is_punctuation, "", " ", " " },
        { is_punctuation, is_not_number, " ", " ", "" },
        { is_symbol, NULL, " ", " ", "" },
        { 0 },
    };
    ATT_TRY(att_string_append(out, line, length));
    return apply_all(out, rules);
}

static att_status tokenize_none(att_string *out, const char *line, size_t length)
{
    return att_string_append(out, line, length);
}

static bool is_any(uint32_t code)
{
    (void)code;
    return true;
}

static att_status tokenize_char(att_string *out, const char *line, size_t length)
{
    static const regex_rule rules[] = { { is_any, NULL, "", " ", "" }, { 0 } };
    ATT_TRY(att_string_append(out, line, length));
    return apply_all(out, rules);
}

att_status att_metric_tokenize(att_string *out, att_metric_tokenizer tokenizer, const char *line,
                               size_t length)
{
    static att_status (*const tokenizers[])(att_string *, const char *, size_t) = {
        [ATT_METRIC_TOKENIZER_13A] = tokenize_13a,
        [ATT_METRIC_TOKENIZER_NONE] = tokenize_none,
        [ATT_METRIC_TOKENIZER_CHAR] = tokenize_char,
        [ATT_METRIC_TOKENIZER_INTL] = tokenize_intl,
    };
    size_t end = 0; /* of the line without trailing white space, as intl needs it */
    for (size_t at = 0; at < length;) {
        uint32_t code;
        at += att_utf8_decode_lossy(line + at, length - at, &code);
        if (!att_is_whitespace(code))
            end = at;
    }
    out->length = 0;
    return tokenizers[tokenizer](out, line, end);
}
