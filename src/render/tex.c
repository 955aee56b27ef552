/* LaTeX escapes of a user's text: special characters, accents, Greek, mathematical symbols, and
 * fonts for other scripts (writer.h). */
#include "render/writer.h"

#include "base/minmax.h"
#include "text/unicode.h"
#include "text/utf8.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_WORD_LENGTH = 32, BREAK_EVERY = 8 };

static const char *const text_escapes[128] = {
    ['\\'] = "\\textbackslash{}",
    ['{'] = "\\{",
    ['}'] = "\\}",
    ['$'] = "\\$",
    ['&'] = "\\&",
    ['#'] = "\\#",
    ['%'] = "\\%",
    ['_'] = "\\_",
    ['^'] = "\\textasciicircum{}",
    ['~'] = "\\textasciitilde{}",
    ['<'] = "$<$",
    ['>'] = "$>$",
    ['|'] = "$|$",
    ['"'] = "''",
    ['\t'] = " ",
    /* Two of these in a row are a ligature: a dash or another quotation mark. */
    ['-'] = "{-}",
    ['`'] = "{`}",
    ['\''] = "{'}",
};

static const char *const math_escapes[128] = {
    ['\\'] = "\\backslash{}",
    ['{'] = "\\{",
    ['}'] = "\\}",
    ['$'] = "\\$",
    ['&'] = "\\&",
    ['#'] = "\\#",
    ['%'] = "\\%",
    ['_'] = "\\_",
    ['^'] = "\\wedge{}",
    ['~'] = "\\sim{}",
    ['\''] = "{'}",
    [' '] = "\\ ",
    ['\t'] = "\\ ",
    ['\n'] = "\\ ",
};

/* Symbols of prose about mathematics; in math mode without the dollars. */
static const struct tex_symbol {
    uint32_t c;
    bool math;
    const char *tex;
} tex_symbols[] = {
    { 0xA0, false, "~" },
    { 0xB0, true, "{}^{\\circ}" },
    { 0xB1, true, "\\pm" },
    { 0xB2, true, "{}^{2}" },
    { 0xB3, true, "{}^{3}" },
    { 0xB7, true, "\\cdot" },
    { 0xD7, true, "\\times" },
    { 0xDF, false, "\\ss{}" },
    { 0xE6, false, "\\ae{}" },
    { 0xC6, false, "\\AE{}" },
    { 0xF8, false, "\\o{}" },
    { 0xD8, false, "\\O{}" },
    { 0xE5, false, "\\aa{}" },
    { 0xC5, false, "\\AA{}" },
    { 0x131, false, "\\i{}" },
    { 0x141, false, "\\L{}" },
    { 0x142, false, "\\l{}" },
    { 0x152, false, "\\OE{}" },
    { 0x153, false, "\\oe{}" },
    { 0xA1, false, "!`" },
    { 0xBF, false, "?`" },
    { 0xA7, false, "\\S{}" },
    { 0x2013, false, "--" },
    { 0x2014, false, "---" },
    { 0x2018, false, "`" },
    { 0x2019, false, "'" },
    { 0x201C, false, "``" },
    { 0x201D, false, "''" },
    { 0x2026, false, "\\dots{}" },
    { 0x2022, true, "\\bullet" },
    { 0x2032, true, "'" },
    { 0x2190, true, "\\leftarrow" },
    { 0x2192, true, "\\rightarrow" },
    { 0x21D2, true, "\\Rightarrow" },
    { 0x2208, true, "\\in" },
    { 0x2211, true, "\\sum" },
    { 0x2212, true, "-" },
    { 0x221A, true, "\\surd" },
    { 0x221E, true, "\\infty" },
    { 0x2248, true, "\\approx" },
    { 0x2260, true, "\\neq" },
    { 0x2264, true, "\\leq" },
    { 0x2265, true, "\\geq" },
    { 0x2299, true, "\\odot" },
    { 0x22C5, true, "\\cdot" },
    { 0x1D40, true, "{}^{\\top}" },
    { 0x22A4, true, "\\top" },
    { 0x2070, true, "{}^{0}" },
    { 0xB9, true, "{}^{1}" },
    { 0x2074, true, "{}^{4}" },
    { 0x2075, true, "{}^{5}" },
    { 0x2076, true, "{}^{6}" },
    { 0x2077, true, "{}^{7}" },
    { 0x2078, true, "{}^{8}" },
    { 0x2079, true, "{}^{9}" },
    { 0x207A, true, "{}^{+}" },
    { 0x207B, true, "{}^{-}" },
    { 0x2080, true, "{}_{0}" },
    { 0x2081, true, "{}_{1}" },
    { 0x2082, true, "{}_{2}" },
    { 0x2083, true, "{}_{3}" },
    { 0x2084, true, "{}_{4}" },
    { 0x2085, true, "{}_{5}" },
    { 0x2086, true, "{}_{6}" },
    { 0x2087, true, "{}_{7}" },
    { 0x2088, true, "{}_{8}" },
    { 0x2089, true, "{}_{9}" },
    { 0x208A, true, "{}_{+}" },
    { 0x208B, true, "{}_{-}" },
};

static const char *const greek[] = {
    "\\alpha", "\\beta", "\\gamma", "\\delta",    "\\epsilon", "\\zeta", "\\eta",
    "\\theta", "\\iota", "\\kappa", "\\lambda",   "\\mu",      "\\nu",   "\\xi",
    "o",       "\\pi",   "\\rho",   "\\varsigma", "\\sigma",   "\\tau",  "\\upsilon",
    "\\phi",   "\\chi",  "\\psi",   "\\omega",
};

/* From U+0391 on; the final sigma has no capital. */
static const char *const greek_capitals[] = {
    "\\mathrm{A}", "\\mathrm{B}", "\\Gamma",     "\\Delta",     "\\mathrm{E}",
    "\\mathrm{Z}", "\\mathrm{H}", "\\Theta",     "\\mathrm{I}", "\\mathrm{K}",
    "\\Lambda",    "\\mathrm{M}", "\\mathrm{N}", "\\Xi",        "\\mathrm{O}",
    "\\Pi",        "\\mathrm{P}", NULL,          "\\Sigma",     "\\mathrm{T}",
    "\\Upsilon",   "\\Phi",       "\\mathrm{X}", "\\Psi",       "\\Omega",
};

/* Combining marks and their LaTeX accents. */
static const struct {
    uint32_t mark;
    const char *accent;
} accents[] = {
    { 0x300, "\\`" }, { 0x301, "\\'" }, { 0x302, "\\^" },  { 0x303, "\\~" }, { 0x304, "\\=" },
    { 0x306, "\\u" }, { 0x307, "\\." }, { 0x308, "\\\"" }, { 0x30A, "\\r" }, { 0x30B, "\\H" },
    { 0x30C, "\\v" }, { 0x323, "\\d" }, { 0x327, "\\c" },
};

static const char *accent_of(uint32_t mark)
{
    for (size_t i = 0; i < ATT_COUNT(accents); i++)
        if (accents[i].mark == mark)
            return accents[i].accent;
    return NULL;
}

/* Decomposes an accented ASCII letter whose accents LaTeX supports: the number of code points, or
 * 0. */
static size_t accented(uint32_t c, uint32_t parts[ATT_DECOMPOSED_MAX])
{
    size_t count = att_unicode_decompose(c, parts);
    if (count < 2 || parts[0] >= 128)
        return 0;
    for (size_t i = 1; i < count; i++)
        if (!accent_of(parts[i]))
            return 0;
    return count;
}

static void put_accented(att_writer *out, const uint32_t *parts, size_t count)
{
    for (size_t i = count - 1; i > 0; i--) {
        att_put(out, accent_of(parts[i]));
        att_put(out, "{");
    }
    if (parts[0] == 'i')
        att_put(out, "\\i"); /* dotless i or j */
    else
        att_put_char(out, parts[0]);
    att_put_repeat(out, "}", (int64_t)count - 1);
}

static const struct tex_symbol *tex_symbol_of(uint32_t c)
{
    for (size_t i = 0; i < ATT_COUNT(tex_symbols); i++)
        if (tex_symbols[i].c == c)
            return &tex_symbols[i];
    return NULL;
}

static const char *greek_of(uint32_t c)
{
    if (c >= 0x391 && c < 0x391 + ATT_COUNT(greek_capitals))
        return greek_capitals[c - 0x391];
    return c >= 0x3B1 && c < 0x3B1 + ATT_COUNT(greek) ? greek[c - 0x3B1] : NULL;
}

/* Writes a character in a paragraph; false, with nothing written, if pdflatex cannot set it. */
static bool put_known(att_writer *out, uint32_t c)
{
    const struct tex_symbol *tex_symbol = tex_symbol_of(c);
    const char *letter = greek_of(c);
    uint32_t parts[ATT_DECOMPOSED_MAX];
    size_t count;
    if (c < 128 && text_escapes[c])
        att_put(out, text_escapes[c]);
    else if (c < 128)
        att_put_char(out, c);
    else if (tex_symbol && !tex_symbol->math)
        att_put(out, tex_symbol->tex);
    else if (tex_symbol || letter)
        att_putf(out, "$%s$", tex_symbol ? tex_symbol->tex : letter);
    else if ((count = accented(c, parts)) > 0)
        put_accented(out, parts, count);
    else
        return false;
    return true;
}

static bool is_known(uint32_t c)
{
    uint32_t parts[ATT_DECOMPOSED_MAX];
    return c < 128 || tex_symbol_of(c) || greek_of(c) || accented(c, parts) > 0;
}

/* Fonts by script; the last one is the default. */
static const struct {
    uint32_t first, last;
    const char *font;
    const char
        *script; /* name in fontspec: without it, the shaping rules of the font are not applied */
} fonts[] = {
    { 0x0590, 0x05FF, "Noto Sans Hebrew", "Script=Hebrew" },
    { 0x0600, 0x06FF, "Noto Sans Arabic", "Script=Arabic" },
    { 0x0900, 0x097F, "Noto Sans Devanagari", "Script=Devanagari" },
    { 0x0980, 0x09FF, "Noto Sans Bengali", "Script=Bengali" },
    { 0x0A00, 0x0A7F, "Noto Sans Gurmukhi", "Script=Gurmukhi" },
    { 0x0A80, 0x0AFF, "Noto Sans Gujarati", "Script=Gujarati" },
    { 0x0B80, 0x0BFF, "Noto Sans Tamil", "Script=Tamil" },
    { 0x0C00, 0x0C7F, "Noto Sans Telugu", "Script=Telugu" },
    { 0x0E00, 0x0E7F, "Noto Sans Thai", "Script=Thai" },
    { 0x10A0, 0x10FF, "Noto Sans Georgian", "Script=Georgian" },
    { 0x1200, 0x137F, "Noto Sans Ethiopic", "Script=Ethiopic" },
    { 0x2E80, 0xD7FF, "Noto Sans CJK JP", "Script=CJK" },
    { 0xF900, 0xFAFF, "Noto Sans CJK JP", "Script=CJK" },
    { 0xFF00, 0xFFEF, "Noto Sans CJK JP", "Script=CJK" },
    { 0x0000, 0x10FFFF, "Noto Sans", "" },
};

static size_t font_of(uint32_t c)
{
    size_t i = 0;
    while (c < fonts[i].first || c > fonts[i].last)
        i++;
    return i;
}

/* A run of characters that pdflatex cannot set, in one font, up to `end`. */
static void put_others(att_writer *out, const char **cursor, const char *end)
{
    const char *start = *cursor, *at = start, *stop = start;
    const char *space = "";
    uint32_t next = att_next_char(&at);
    size_t font = font_of(next);
    at = start;
    att_put(out, "\\attendother{");
    while (at < end && !is_known(next = att_next_char(&at)) && font_of(next) == font) {
        att_putf(out, "%sU+%04" PRIX32, space, next);
        space = " ";
        stop = at;
    }
    att_put(out, "}{");
    for (at = start; at < stop;) {
        uint32_t c = att_next_char(&at);
        att_put_char(out, c == ATT_UTF8_REPLACEMENT ? '?' : c); /* LuaTeX reports it as bad UTF-8 */
    }
    att_putf(out, "}{%s}{%s}", fonts[font].font, fonts[font].script);
    *cursor = stop;
}

void att_put_tex(att_writer *out, const char *text)
{
    const char *end = text + strlen(text);
    int word = 0; /* characters since the last blank */
    while (text < end) {
        const char *next = text;
        uint32_t c = att_next_char(&next);
        word = c == ' ' || c == '\t' || c == '\n' ? 0 : word + 1;
        if (word > MAX_WORD_LENGTH && word % BREAK_EVERY == 0)
            att_put(out, "\\allowbreak{}"); /* allow a break: the run may be wider than the page */
        if (put_known(out, c))
            text = next;
        else
            put_others(out, &text, end);
    }
}

/* A character beyond ASCII in math mode. */
static void put_math_char(att_writer *out, uint32_t c, const char **cursor, const char *start,
                          const char *end)
{
    const struct tex_symbol *tex_symbol = tex_symbol_of(c);
    const char *letter = greek_of(c);
    if ((tex_symbol && tex_symbol->math) || letter) {
        att_putf(out, "%s{}", tex_symbol && tex_symbol->math ? tex_symbol->tex : letter);
        return;
    }
    att_put(out, "\\text{");
    if (!put_known(out, c)) {
        *cursor = start;
        put_others(out, cursor, end);
    }
    att_put(out, "}");
}

void att_put_tex_math(att_writer *out, const char *text, size_t length, bool raw)
{
    const char *end = text + length;
    while (text < end) {
        const char *start = text;
        uint32_t c = att_next_char(&text);
        if (c < 128 && math_escapes[c])
            att_put(out, math_escapes[c]);
        else if (c < 128 || raw)
            att_put_char(out, c);
        else
            put_math_char(out, c, &text, start, end);
    }
}
