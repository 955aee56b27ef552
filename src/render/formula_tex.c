/* Formulas in LaTeX's mathematics. Everything is written in math mode, words included, because
 * that is what pdflatex, MathJax and KaTeX agree on. */
#include "render/formula.h"

#include "render/tex.h"

#include <string.h>

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

/* Functions that TeX knows; the others are set upright as operators. */
static void put_function(att_writer *out, const char *name, const att_notation *notation)
{
    static const char *const known[] = { "tanh", "log", "max", "min", "sin", "cos" };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
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

#define LOOKS                                                                                      \
    {                                                                                              \
        [ATT_LOOK_ADD] = { "", " + ", "", false, false },                                          \
        [ATT_LOOK_SUBTRACT] = { "", " - ", "", false, false },                                     \
        [ATT_LOOK_PRODUCT] = { "", "\\,", "", false, false },                                      \
        [ATT_LOOK_DOT] = { "", " \\cdot ", "", false, false },                                     \
        [ATT_LOOK_DIVIDE] = { "\\frac{", "}{", "}", true, true },                                  \
        [ATT_LOOK_TIMES] = { "", " \\odot ", "", false, false },                                   \
        [ATT_LOOK_OVER] = { "", " \\oslash ", "", false, false },                                  \
        [ATT_LOOK_POWER] = { "{", "}^{", "}", false, true },                                       \
        [ATT_LOOK_NEGATE] = { "-", "", "", false, false },                                         \
        [ATT_LOOK_TRANSPOSE] = { "{", "", "}^{\\top}", false, false },                             \
        [ATT_LOOK_GROUP] = { "(", "", ")", true, false },                                          \
        [ATT_LOOK_GROUP_TALL] = { "\\left(", "", "\\right)", true, false },                        \
        [ATT_LOOK_CALL] = { "(", ",\\ ", ")", true, false },                                       \
        [ATT_LOOK_CALL_TALL] = { "\\left(", ",\\ ", "\\right)", true, false },                     \
        [ATT_LOOK_ROOT] = { "\\sqrt{", "", "}", true, false },                                     \
        [ATT_LOOK_ROOT_SIMPLE] = { "\\sqrt{", "", "}", true, false },                              \
        [ATT_LOOK_EXP] = { "e^{", "", "}", true, false },                                          \
        [ATT_LOOK_ABS] = { "\\left|", "", "\\right|", true, false },                               \
        [ATT_LOOK_MATRIX] = { "\\begin{bmatrix}", "\\\\", "\\end{bmatrix}", true, false },         \
        [ATT_LOOK_ROW] = { "", " & ", "", true, false },                                           \
        [ATT_LOOK_NUMBERS] = { "", " & ", "", true, false },                                       \
        [ATT_LOOK_LIST] = { "\\left\\{", ",\\ ", "\\right\\}", true, false },                      \
        [ATT_LOOK_INDEX] = { "{", "}", "", false, false },                                         \
        [ATT_LOOK_INDICES] = { "_{", ",", "}", true, false },                                      \
        [ATT_LOOK_SUBSCRIPT] = { "{", "}", "", false, false },                                     \
        [ATT_LOOK_FIELD] = { "", ".", "", false, false },                                          \
        [ATT_LOOK_OPTION] = { "", "=", "", false, false },                                         \
        [ATT_LOOK_RANGE] = { "", ":", "", false, false },                                          \
        [ATT_LOOK_WORDS] = { "", "\\ ", "", false, false },                                        \
    }

#define LEAVES                                                                                     \
    .ellipsis = "\\dots", .all = ":", .raised_exp = true, .name = put_name, .word = put_word,      \
    .function = put_function, .string = put_string, .number = put_number

const att_notation att_notation_tex = { .looks = LOOKS, .raw_unicode = false, LEAVES };
const att_notation att_notation_mathjax = { .looks = LOOKS, .raw_unicode = true, LEAVES };
