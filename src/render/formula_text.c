/* Formulas as plain text: with Unicode's signs, or in ASCII as the user would type them. */
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
    [ATT_LOOK_ADD] = { "", " + ", "", false, false },                                              \
    [ATT_LOOK_SUBTRACT] = { "", " - ", "", false, false },                                         \
    [ATT_LOOK_DIVIDE] = { "", " / ", "", false, false },                                           \
    [ATT_LOOK_POWER] = { "", "^", "", false, false },                                              \
    [ATT_LOOK_NEGATE] = { "-", "", "", false, false },                                             \
    [ATT_LOOK_GROUP] = { "(", "", ")", true, false },                                              \
    [ATT_LOOK_GROUP_TALL] = { "(", "", ")", true, false },                                         \
    [ATT_LOOK_CALL] = { "(", ", ", ")", true, false },                                             \
    [ATT_LOOK_CALL_TALL] = { "(", ", ", ")", true, false },                                        \
    [ATT_LOOK_EXP] = { "exp(", "", ")", true, false },                                             \
    [ATT_LOOK_ABS] = { "|", "", "|", true, false },                                                \
    [ATT_LOOK_MATRIX] = { "[", "; ", "]", true, false },                                           \
    [ATT_LOOK_ROW] = { "", ", ", "", true, false },                                                \
    [ATT_LOOK_NUMBERS] = { "", " ", "", true, false },                                             \
    [ATT_LOOK_LIST] = { "{", ", ", "}", true, false },                                             \
    [ATT_LOOK_INDEX] = { "", "", "", false, false },                                               \
    [ATT_LOOK_INDICES] = { "[", ", ", "]", true, false },                                          \
    [ATT_LOOK_SUBSCRIPT] = { "", "", "", false, false },                                           \
    [ATT_LOOK_FIELD] = { "", ".", "", false, false },                                              \
    [ATT_LOOK_OPTION] = { "", " = ", "", false, false },                                           \
    [ATT_LOOK_RANGE] = { "", ":", "", false, false },                                              \
    [ATT_LOOK_WORDS] = { "", " ", "", false, false }

#define COMMON_LEAVES                                                                              \
    .all = ":", .raw_unicode = true, .name = put_plain, .word = put_plain, .function = put_plain,  \
    .string = put_string, .number = put_plain

static const char *const low_digits[] = { "₀", "₁", "₂", "₃", "₄", "₅", "₆", "₇", "₈", "₉" };

const att_notation att_notation_unicode = {
    .looks = {
        COMMON_LOOKS,
        [ATT_LOOK_PRODUCT] = { "", " · ", "", false, false },
        [ATT_LOOK_DOT] = { "", "·", "", false, false },
        [ATT_LOOK_TIMES] = { "", " ⊙ ", "", false, false },
        [ATT_LOOK_OVER] = { "", " ⊘ ", "", false, false },
        [ATT_LOOK_TRANSPOSE] = { "", "", "ᵀ", false, false },
        [ATT_LOOK_ROOT] = { "√(", "", ")", true, false },
        [ATT_LOOK_ROOT_SIMPLE] = { "√", "", "", true, false },
    },
    .ellipsis = "…",
    .subscripts = low_digits,
    COMMON_LEAVES,
};

const att_notation att_notation_ascii = {
    .looks = {
        COMMON_LOOKS,
        [ATT_LOOK_PRODUCT] = { "", " * ", "", false, false },
        [ATT_LOOK_DOT] = { "", "*", "", false, false },
        [ATT_LOOK_TIMES] = { "", " .* ", "", false, false },
        [ATT_LOOK_OVER] = { "", " ./ ", "", false, false },
        [ATT_LOOK_TRANSPOSE] = { "", "", "'", false, false },
        [ATT_LOOK_ROOT] = { "sqrt(", "", ")", true, false },
        [ATT_LOOK_ROOT_SIMPLE] = { "sqrt(", "", ")", true, false },
    },
    .ellipsis = "...",
    COMMON_LEAVES,
};
