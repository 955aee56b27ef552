/* Simplifies what people write: Unicode signs, LaTeX and Markdown to plain characters. */
#include "grade/answers.h"

#include "base/minmax.h"
#include "base/string.h"
#include "text/utf8.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static const struct sign {
    uint32_t code;
    const char *plain;
} signs[] = {
    { 0x2212, "-" },    { 0x2013, "-" },    { 0x2014, "-" },    { 0x2010, "-" },
    { 0x2011, "-" },    { 0xFE63, "-" },    { 0xFF0D, "-" },    { 0x00A0, " " },
    { 0x2009, " " },    { 0x202F, " " },    { 0x2003, " " },    { 0x2002, " " },
    { 0x3000, " " },    { 0x200B, "" },     { 0xFEFF, "" },     { 0x00B7, "*" },
    { 0x00D7, "*" },    { 0x22C5, "*" },    { 0x2248, "~" },    { 0x2243, "~" },
    { 0x2245, "~" },    { 0x223C, "~" },    { 0x2259, "~" },    { 0x2192, "->" },
    { 0x21D2, "->" },   { 0x27F6, "->" },   { 0x221E, "inf" },  { 0x00BD, " 1/2" },
    { 0x00BC, " 1/4" }, { 0x00BE, " 3/4" }, { 0x2153, " 1/3" }, { 0x2154, " 2/3" },
    { 0x2044, "/" },    { 0x2215, "/" },    { 0xFF0C, "," },    { 0x3001, "," },
    { 0xFF0E, "." },    { 0xFF1D, "=" },    { 0xFF1A, ":" },    { 0x2236, ":" },
    { 0x2254, "=" },    { 0x2032, "'" },    { 0x2019, "'" },    { 0x22A4, "^T" },
    { 0x1D40, "^T" },   { 0x2022, "-" },    { 0x23A1, "[" },    { 0x23A2, "[" },
    { 0x23A3, "[" },    { 0x23A4, "]" },    { 0x23A5, "]" },    { 0x23A6, "]" },
    { 0x2502, "|" },    { 0x2501, "-" },    { 0x2500, "-" },    { 0x253C, "|" },
    { 0x27E8, "(" },    { 0x27E9, ")" },    { 0x00B1, "+-" },   { 0x2026, "..." },
};

static const char *plain_sign(uint32_t code)
{
    for (size_t i = 0; i < ATT_COUNT(signs); i++)
        if (signs[i].code == code)
            return signs[i].plain;
    return NULL;
}

/* The digit or sign of a superscript, or 0. */
static char superscript(uint32_t code)
{
    if (code == 0x2070 || (code >= 0x2074 && code <= 0x2079))
        return (char)('0' + (code - 0x2070));
    return code == 0xB9     ? '1'
           : code == 0xB2   ? '2'
           : code == 0xB3   ? '3'
           : code == 0x207B ? '-'
           : code == 0x207A ? '+'
                            : '\0';
}

/* Whether the code point is a decimal digit of another script: the blocks of ten in common use. */
static bool is_foreign_digit(uint32_t code)
{
    static const uint32_t zeros[] = { 0x660, 0x6F0,  0x7C0,  0x966,  0x9E6,  0xA66,  0xAE6,
                                      0xB66, 0xBE6,  0xC66,  0xCE6,  0xD66,  0xE50,  0xED0,
                                      0xF20, 0x1040, 0x17E0, 0x1810, 0xFF10, 0x1D7CE };
    for (size_t i = 0; i < ATT_COUNT(zeros); i++)
        if (code >= zeros[i] && code < zeros[i] + (zeros[i] == 0x1D7CE ? 50 : 10))
            return true;
    return false;
}

/* ---- LaTeX */

static const struct command {
    const char *word;
    const char *plain;
} commands[] = {
    { "approx", "~" },   { "simeq", "~" },   { "sim", "~" },         { "rightarrow", "->" },
    { "to", "->" },      { "infty", "inf" }, { "Rightarrow", "->" }, { "top", "T" },
    { "intercal", "T" }, { "times", "*" },   { "cdot", "*" },        { "cr", ";" },
    { "newline", ";" },
};

/* Skips {…} at `at`; *inner and *length are what is inside. Returns the offset behind it. */
static size_t group(const char *text, size_t length, size_t at, size_t *inner, size_t *inside)
{
    *inner = at;
    *inside = 0;
    while (at < length && text[at] == ' ')
        at++;
    if (at >= length || text[at] != '{')
        return at;
    size_t from = ++at;
    while (at < length && text[at] != '}' && text[at] != '\n')
        at++;
    *inner = from;
    *inside = at - from;
    return at < length && text[at] == '}' ? at + 1 : at;
}

static att_status put_fraction(att_string *out, const char *text, size_t length, size_t *at)
{
    size_t top, top_length, bottom, bottom_length;
    *at = group(text, length, *at, &top, &top_length);
    *at = group(text, length, *at, &bottom, &bottom_length);
    ATT_TRY(att_string_append(out, " ", 1));
    ATT_TRY(att_string_append(out, text + top, top_length));
    ATT_TRY(att_string_append(out, "/", 1));
    return att_string_append(out, text + bottom, bottom_length);
}

/* \alpha, \Sigma */
static bool is_greek(const char *word, size_t length)
{
    for (uint32_t code = 0x3B1; code <= 0x3C9; code++) {
        const char *name = att_answer_greek_name(code);
        if (strlen(name) == length && strncasecmp(name, word, length) == 0)
            return true;
    }
    return false;
}

/* A command of LaTeX; *at is behind the backslash. */
static att_status put_command(att_string *out, const char *text, size_t length, size_t *at)
{
    size_t from = *at;
    if (from < length && text[from] == '\\') {
        *at += 1;
        return att_string_append(out, " ; ", 3);
    }
    while (*at < length && isalpha((unsigned char)text[*at]))
        *at += 1;
    size_t word = *at - from;
    if (word == 0) { /* \, and \; are spaces, \% and \_ themselves */
        bool kept = from < length && strchr("%_&#{}", text[from]) != NULL;
        *at += from < length && text[from] != '\n';
        return att_string_append(out, kept ? text + from : " ", 1);
    }
    if ((word == 4 && memcmp(text + from, "frac", 4) == 0) ||
        (word == 5 && memcmp(text + from + 1, "frac", 4) == 0))
        return put_fraction(out, text, length, at);
    if ((word == 5 && memcmp(text + from, "begin", 5) == 0) ||
        (word == 3 && memcmp(text + from, "end", 3) == 0)) {
        bool begin = word == 5;
        size_t inner, inside;
        *at = group(text, length, *at, &inner, &inside);
        return att_string_puts(out, begin ? "[" : "]");
    }
    for (size_t i = 0; i < ATT_COUNT(commands); i++)
        if (strlen(commands[i].word) == word && memcmp(commands[i].word, text + from, word) == 0)
            return att_string_puts(out, commands[i].plain);
    if (is_greek(text + from, word))
        return att_string_append(out, text + from, word);
    return att_string_append(out, " ", 1);
}

/* ---- The whole text */

static att_status put_code(att_string *out, const char *bytes, size_t length, uint32_t code,
                           bool *raised)
{
    char up = superscript(code);
    const char *plain = plain_sign(code);
    bool was_raised = *raised;
    *raised = up != '\0';
    if (up && !was_raised)
        ATT_TRY(att_string_append(out, "^", 1));
    if (up)
        return att_string_append(out, &up, 1);
    if (code >= 0x2080 && code <= 0x2089) { /* subscripts */
        char digit = (char)('0' + (code - 0x2080));
        return att_string_append(out, &digit, 1);
    }
    if (plain)
        return att_string_puts(out, plain);
    if (is_foreign_digit(code))
        return att_string_append(out, "\x02", 1);
    if (code == ATT_UTF8_REPLACEMENT || (code != '\n' && code < ' ') || code == 0x7F ||
        code == '`' || code == '$')
        return att_string_append(out, " ", 1);
    return att_string_append(out, bytes, length);
}

att_status att_answer_text_simplify(att_string *out, const char *text, size_t length)
{
    bool raised = false;
    for (size_t at = 0; at < length;) {
        uint32_t code;
        size_t bytes = att_utf8_decode_lossy(text + at, length - at, &code);
        if (code == '\\') {
            at++;
            ATT_TRY(put_command(out, text, length, &at));
            raised = false;
            continue;
        }
        if (code == '*' && at + 1 < length && text[at + 1] == '*') { /* bold, or a power */
            bool power = at > 0 && isdigit((unsigned char)text[at - 1]) && at + 2 < length &&
                         (text[at + 2] == '-' || isdigit((unsigned char)text[at + 2]));
            ATT_TRY(att_string_append(out, power ? "^" : "", power ? 1 : 0));
            at += 2;
            continue;
        }
        if (code == '\r') { /* "\r\n" and "\r" end a line */
            bool pair = at + 1 < length && text[at + 1] == '\n';
            ATT_TRY(att_string_append(out, "\n", 1));
            at += pair ? 2 : 1;
            continue;
        }
        ATT_TRY(put_code(out, text + at, bytes, code, &raised));
        at += bytes;
    }
    return ATT_OK;
}
