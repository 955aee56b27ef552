/* Formulas as plain text: with Unicode operators, or in ASCII as in a worksheet. */
#include "render/formula.h"

static void put_plain(att_writer *out, const char *text, const att_notation *notation)
{
    (void)notation;
    att_put_plain(out, text);
}

static void put_string(att_writer *out, const char *text, const att_notation *notation)
{
    (void)notation;
    att_put(out, "\"");
    att_put_plain(out, text);
    att_put(out, "\"");
}

#define COMMON_LOOKS                                                                               \
    [ATT_CONSTRUCT_ADD] = { "", " + ", "", false, false },                                         \
    [ATT_CONSTRUCT_SUBTRACT] = { "", " - ", "", false, false },                                    \
    [ATT_CONSTRUCT_DIVIDE] = { "", " / ", "", false, false },                                      \
    [ATT_CONSTRUCT_POWER] = { "", "^", "", false, false },                                         \
    [ATT_CONSTRUCT_NEGATE] = { "-", "", "", false, false },                                        \
    [ATT_CONSTRUCT_GROUP] = { "(", "", ")", true, false },                                         \
    [ATT_CONSTRUCT_GROUP_TALL] = { "(", "", ")", true, false },                                    \
    [ATT_CONSTRUCT_CALL] = { "(", ", ", ")", true, false },                                        \
    [ATT_CONSTRUCT_CALL_TALL] = { "(", ", ", ")", true, false },                                   \
    [ATT_CONSTRUCT_EXP] = { "exp(", "", ")", true, false },                                        \
    [ATT_CONSTRUCT_ABS] = { "|", "", "|", true, false },                                           \
    [ATT_CONSTRUCT_MATRIX] = { "[", "; ", "]", true, false },                                      \
    [ATT_CONSTRUCT_ROW] = { "", ", ", "", true, false },                                           \
    [ATT_CONSTRUCT_NUMBER_ROW] = { "", " ", "", true, false },                                     \
    [ATT_CONSTRUCT_LIST] = { "{", ", ", "}", true, false },                                        \
    [ATT_CONSTRUCT_INDEX] = { "", "", "", false, false },                                          \
    [ATT_CONSTRUCT_INDICES] = { "[", ", ", "]", true, false },                                     \
    [ATT_CONSTRUCT_SUBSCRIPT] = { "", "", "", false, false },                                      \
    [ATT_CONSTRUCT_FIELD] = { "", ".", "", false, false },                                         \
    [ATT_CONSTRUCT_OPTION] = { "", " = ", "", false, false },                                      \
    [ATT_CONSTRUCT_RANGE] = { "", ":", "", false, false },                                         \
    [ATT_CONSTRUCT_WORDS] = { "", " ", "", false, false }

#define COMMON_LEAVES                                                                              \
    .all = ":", .raw_unicode = true, .name = put_plain, .word = put_plain, .function = put_plain,  \
    .string = put_string, .number = put_plain

static const char *const low_digits[] = { "₀", "₁", "₂", "₃", "₄", "₅", "₆", "₇", "₈", "₉" };

const att_notation att_notation_unicode = {
    .constructs = {
        COMMON_LOOKS,
        [ATT_CONSTRUCT_LESS] = { "", " < ", "", false, false },
        [ATT_CONSTRUCT_LESS_EQUAL] = { "", " ≤ ", "", false, false },
        [ATT_CONSTRUCT_GREATER] = { "", " > ", "", false, false },
        [ATT_CONSTRUCT_GREATER_EQUAL] = { "", " ≥ ", "", false, false },
        [ATT_CONSTRUCT_EQUAL_TO] = { "", " == ", "", false, false },
        [ATT_CONSTRUCT_NOT_EQUAL_TO] = { "", " ≠ ", "", false, false },
        [ATT_CONSTRUCT_PRODUCT] = { "", " · ", "", false, false },
        [ATT_CONSTRUCT_NUMBER_PRODUCT] = { "", "·", "", false, false },
        [ATT_CONSTRUCT_MULTIPLY_ELEMENTWISE] = { "", " ⊙ ", "", false, false },
        [ATT_CONSTRUCT_DIVIDE_ELEMENTWISE] = { "", " ⊘ ", "", false, false },
        [ATT_CONSTRUCT_TRANSPOSE] = { "", "", "ᵀ", false, false },
        [ATT_CONSTRUCT_SQRT] = { "√(", "", ")", true, false },
        [ATT_CONSTRUCT_SQRT_SIMPLE] = { "√", "", "", true, false },
    },
    .ellipsis = "…",
    .subscripts = low_digits,
    COMMON_LEAVES,
};

const att_notation att_notation_ascii = {
    .constructs = {
        COMMON_LOOKS,
        [ATT_CONSTRUCT_LESS] = { "", " < ", "", false, false },
        [ATT_CONSTRUCT_LESS_EQUAL] = { "", " <= ", "", false, false },
        [ATT_CONSTRUCT_GREATER] = { "", " > ", "", false, false },
        [ATT_CONSTRUCT_GREATER_EQUAL] = { "", " >= ", "", false, false },
        [ATT_CONSTRUCT_EQUAL_TO] = { "", " == ", "", false, false },
        [ATT_CONSTRUCT_NOT_EQUAL_TO] = { "", " != ", "", false, false },
        [ATT_CONSTRUCT_PRODUCT] = { "", " * ", "", false, false },
        [ATT_CONSTRUCT_NUMBER_PRODUCT] = { "", "*", "", false, false },
        [ATT_CONSTRUCT_MULTIPLY_ELEMENTWISE] = { "", " .* ", "", false, false },
        [ATT_CONSTRUCT_DIVIDE_ELEMENTWISE] = { "", " ./ ", "", false, false },
        [ATT_CONSTRUCT_TRANSPOSE] = { "", "", "'", false, false },
        [ATT_CONSTRUCT_SQRT] = { "sqrt(", "", ")", true, false },
        [ATT_CONSTRUCT_SQRT_SIMPLE] = { "sqrt(", "", ")", true, false },
    },
    .ellipsis = "...",
    COMMON_LEAVES,
};
