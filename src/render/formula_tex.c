/* Formulas in LaTeX. Everything is in math mode, words included, because pdflatex, MathJax and
 * KaTeX agree on that. */
#include "render/formula.h"

#include "base/minmax.h"

#include <ctype.h>
#include <string.h>

/* ---- Names: base, index and Greek letters, for MathML too */

static const att_greek greek[] = {
    { "alpha", "α", "\\alpha" }, { "beta", "β", "\\beta" },       { "gamma", "γ", "\\gamma" },
    { "delta", "δ", "\\delta" }, { "epsilon", "ε", "\\epsilon" }, { "eps", "ε", "\\epsilon" },
    { "zeta", "ζ", "\\zeta" },   { "eta", "η", "\\eta" },         { "theta", "θ", "\\theta" },
    { "kappa", "κ", "\\kappa" }, { "lambda", "λ", "\\lambda" },   { "mu", "μ", "\\mu" },
    { "nu", "ν", "\\nu" },       { "xi", "ξ", "\\xi" },           { "pi", "π", "\\pi" },
    { "rho", "ρ", "\\rho" },     { "sigma", "σ", "\\sigma" },     { "tau", "τ", "\\tau" },
    { "phi", "φ", "\\phi" },     { "chi", "χ", "\\chi" },         { "psi", "ψ", "\\psi" },
    { "omega", "ω", "\\omega" }, { "Gamma", "Γ", "\\Gamma" },     { "Delta", "Δ", "\\Delta" },
    { "Theta", "Θ", "\\Theta" }, { "Lambda", "Λ", "\\Lambda" },   { "Sigma", "Σ", "\\Sigma" },
    { "Phi", "Φ", "\\Phi" },     { "Psi", "Ψ", "\\Psi" },         { "Omega", "Ω", "\\Omega" },
};

static bool is(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && memcmp(text, word, length) == 0;
}

/* Whether the text behind the underscore is an index: d_model, W_q_1, head_2, but not
 * from_cut_weights, which is a phrase. */
static bool is_index(const char *name, const char *underscore)
{
    size_t base = (size_t)(underscore - name);
    size_t index = strlen(underscore + 1);
    if (base == 0 || index == 0)
        return false;
    return base <= 2 || (unsigned char)name[0] >= 0x80 || index <= 2;
}

att_name_parts att_name_split(const char *name)
{
    att_name_parts parts = { .base = name, .base_length = strlen(name) };
    const char *underscore = strchr(name, '_');
    if (underscore && is_index(name, underscore)) {
        parts.base_length = (size_t)(underscore - name);
        parts.index = underscore + 1;
    } else {
        size_t digits = parts.base_length;
        while (digits > 0 && isdigit((unsigned char)name[digits - 1]))
            digits--;
        if (digits > 0 && digits < parts.base_length && !underscore) {
            parts.base_length = digits;
            parts.index = name + digits;
        }
    }
    for (size_t i = 0; i < ATT_COUNT(greek); i++)
        if (is(name, parts.base_length, greek[i].word) ||
            is(name, parts.base_length, greek[i].letter))
            parts.greek = &greek[i];
    return parts;
}

/* ---- The notation */

static void put_length(att_writer *out, const char *style, const char *text, size_t length,
                       const att_notation *notation)
{
    att_put(out, style);
    att_put_tex_math(out, text, length, notation->raw_unicode);
    att_put(out, "}");
}

static void put_name(att_writer *out, const char *name, const att_notation *notation)
{
    att_name_parts parts = att_name_split(name);
    if (parts.greek)
        att_put(out, parts.greek->tex);
    else if (parts.base_length == 1)
        att_put_tex_math(out, parts.base, 1, notation->raw_unicode);
    else
        put_length(out, "\\mathit{", parts.base, parts.base_length, notation);
    if (!parts.index)
        return;
    /* W_q_1 has the indices q and 1. */
    att_put(out, "_{");
    for (const char *index = parts.index; *index;) {
        size_t length = strcspn(index, "_");
        if (length == 1)
            att_put_tex_math(out, index, 1, notation->raw_unicode);
        else
            put_length(out, "\\mathrm{", index, length, notation);
        index += length;
        if (*index)
            att_put(out, ","), index++;
    }
    att_put(out, "}");
}

static void put_word(att_writer *out, const char *word, const att_notation *notation)
{
    put_length(out, "\\mathrm{", word, strlen(word), notation);
}

/* Functions with a TeX command; the others are set upright as operators. */
static void put_function(att_writer *out, const char *name, const att_notation *notation)
{
    static const char *const known[] = { "tanh", "log", "max", "min", "sin", "cos" };
    for (size_t i = 0; i < ATT_COUNT(known); i++) {
        if (strcmp(known[i], name) == 0) {
            att_put(out, "\\");
            att_put(out, name);
            return;
        }
    }
    put_length(out, "\\operatorname{", name, strlen(name), notation);
}

static void put_string(att_writer *out, const char *text, const att_notation *notation)
{
    att_put(out, "\\mathtt{\"");
    att_put_tex_math(out, text, strlen(text), notation->raw_unicode);
    att_put(out, "\"}");
}

/* 4.8e-05 becomes 4.8 × 10^-5. */
static void put_number(att_writer *out, const char *digits, const att_notation *notation)
{
    const char *exponent = strpbrk(digits, "eE");
    (void)notation;
    if (strcmp(digits, "nan") == 0) {
        att_put(out, "\\mathrm{nan}");
    } else if (strstr(digits, "inf")) {
        att_put(out, digits[0] == '-' ? "-\\infty" : "\\infty");
    } else if (!exponent) {
        att_put(out, digits);
    } else {
        const char *power = exponent + 1;
        att_put_bytes(out, digits, (size_t)(exponent - digits));
        att_put(out, *power == '-' ? "{\\times}10^{-" : "{\\times}10^{");
        power += strspn(power, "+-0");
        att_put(out, *power ? power : "0");
        att_put(out, "}");
    }
}

#define LOOKS(...) LOOKS_OF(__VA_ARGS__)
#define LOOKS_OF(COMMA, OPEN, CLOSE, ...)                                                          \
    {                                                                                              \
        [ATT_CONSTRUCT_ADD] = { "", " + ", "", false, false },                                     \
        [ATT_CONSTRUCT_SUBTRACT] = { "", " - ", "", false, false },                                \
        [ATT_CONSTRUCT_PRODUCT] = { "", "\\,", "", false, false },                                 \
        [ATT_CONSTRUCT_NUMBER_PRODUCT] = { "", " \\cdot ", "", false, false },                     \
        [ATT_CONSTRUCT_DIVIDE] = { __VA_ARGS__ },                                                  \
        [ATT_CONSTRUCT_MULTIPLY_ELEMENTWISE] = { "", " \\odot ", "", false, false },               \
        [ATT_CONSTRUCT_DIVIDE_ELEMENTWISE] = { "", " \\oslash ", "", false, false },               \
        [ATT_CONSTRUCT_LESS] = { "", " < ", "", false, false },                                    \
        [ATT_CONSTRUCT_LESS_EQUAL] = { "", " \\le ", "", false, false },                           \
        [ATT_CONSTRUCT_GREATER] = { "", " > ", "", false, false },                                 \
        [ATT_CONSTRUCT_GREATER_EQUAL] = { "", " \\ge ", "", false, false },                        \
        [ATT_CONSTRUCT_EQUAL_TO] = { "", " \\mathrel{==} ", "", false, false },                    \
        [ATT_CONSTRUCT_NOT_EQUAL_TO] = { "", " \\ne ", "", false, false },                         \
        [ATT_CONSTRUCT_POWER] = { "{", "}^{", "}", false, true },                                  \
        [ATT_CONSTRUCT_NEGATE] = { "-", "", "", false, false },                                    \
        [ATT_CONSTRUCT_TRANSPOSE] = { "{", "", "}^{\\top}", false, false },                        \
        [ATT_CONSTRUCT_GROUP] = { "(", "", ")", true, false },                                     \
        [ATT_CONSTRUCT_GROUP_TALL] = { OPEN, "", CLOSE, true, false },                             \
        [ATT_CONSTRUCT_CALL] = { "(", COMMA, ")", true, false },                                   \
        [ATT_CONSTRUCT_CALL_TALL] = { OPEN, COMMA, CLOSE, true, false },                           \
        [ATT_CONSTRUCT_SQRT] = { "\\sqrt{", "", "}", true, false },                                \
        [ATT_CONSTRUCT_SQRT_SIMPLE] = { "\\sqrt{", "", "}", true, false },                         \
        [ATT_CONSTRUCT_EXP] = { "e^{", "", "}", true, false },                                     \
        [ATT_CONSTRUCT_ABS] = { "\\left|", "", "\\right|", true, false },                          \
        [ATT_CONSTRUCT_MATRIX] = { "\\begin{bmatrix}", "\\\\", "\\end{bmatrix}", true, false },    \
        [ATT_CONSTRUCT_ROW] = { "", " & ", "", true, false },                                      \
        [ATT_CONSTRUCT_NUMBER_ROW] = { "", " & ", "", true, false },                               \
        [ATT_CONSTRUCT_LIST] = { "\\left\\{", ",\\ ", "\\right\\}", true, false },                 \
        [ATT_CONSTRUCT_INDEX] = { "{", "}", "", false, false },                                    \
        [ATT_CONSTRUCT_INDICES] = { "_{", ",", "}", true, false },                                 \
        [ATT_CONSTRUCT_SUBSCRIPT] = { "{", "}", "", false, false },                                \
        [ATT_CONSTRUCT_FIELD] = { "", ".", "", false, false },                                     \
        [ATT_CONSTRUCT_OPTION] = { "", "=", "", false, false },                                    \
        [ATT_CONSTRUCT_RANGE] = { "", ":", "", false, false },                                     \
        [ATT_CONSTRUCT_WORDS] = { "", "\\ ", "", false, false },                                   \
    }

#define LEAVES                                                                                     \
    .ellipsis = "\\dots", .all = ":", .exp_as_power = true, .name = put_name, .word = put_word,    \
    .function = put_function, .string = put_string, .number = put_number

#define FRACTION "\\left(", "\\right)", "\\frac{", "}{", "}", true, true
#define IN_LINE  "(", ")", "", " / ", "", false, false

/* TeX may break a line between the arguments of a call. */
#define TEX_BREAKS     ",\\ \\allowbreak "
#define MATHJAX_BREAKS ",\\ "

const att_notation att_notation_tex = { .constructs = LOOKS(TEX_BREAKS, FRACTION),
                                        .raw_unicode = false,
                                        LEAVES };
const att_notation att_notation_tex_in_line = { .constructs = LOOKS(TEX_BREAKS, IN_LINE),
                                                .raw_unicode = false,
                                                LEAVES };
const att_notation att_notation_mathjax = { .constructs = LOOKS(MATHJAX_BREAKS, FRACTION),
                                            .raw_unicode = true,
                                            LEAVES };
const att_notation att_notation_mathjax_in_line = { .constructs = LOOKS(MATHJAX_BREAKS, IN_LINE),
                                                    .raw_unicode = true,
                                                    LEAVES };
