/* Formulas in MathML Core, for HTML. Each operand of a construct with a fixed number of children is
 * wrapped in an mrow. */
#include "render/formula.h"

#include <string.h>

static void put_escaped(att_writer *out, const char *text, size_t length)
{
    char part[256];
    while (length > 0) {
        size_t step = length < sizeof part - 1 ? length : sizeof part - 1;
        while (step < length && step > 1 && ((unsigned char)text[step] & 0xC0) == 0x80)
            step--; /* not within a character */
        memcpy(part, text, step);
        part[step] = '\0';
        att_put_xml(out, part);
        text += step;
        length -= step;
    }
}

static void put_element(att_writer *out, const char *open, const char *text, size_t length,
                        const char *close)
{
    att_put(out, open);
    put_escaped(out, text, length);
    att_put(out, close);
}

static void put_name(att_writer *out, const char *name, const att_notation *notation)
{
    (void)notation;
    att_name_parts parts = att_name_split(name);
    if (parts.index)
        att_put(out, "<msub>");
    if (parts.greek)
        put_element(out, "<mi>", parts.greek->letter, strlen(parts.greek->letter), "</mi>");
    else
        put_element(out, "<mi>", parts.base, parts.base_length, "</mi>");
    if (!parts.index)
        return;
    /* W_q_1 has the indices q and 1. */
    att_put(out, "<mrow>");
    for (const char *index = parts.index; *index;) {
        size_t length = strcspn(index, "_");
        put_element(out, "<mi>", index, length, "</mi>");
        index += length;
        if (*index)
            att_put(out, "<mo>,</mo>"), index++;
    }
    att_put(out, "</mrow></msub>");
}

static void put_word(att_writer *out, const char *word, const att_notation *notation)
{
    (void)notation;
    put_element(out, "<mtext>", word, strlen(word), "</mtext>");
}

static void put_function(att_writer *out, const char *name, const att_notation *notation)
{
    (void)notation;
    put_element(out, "<mtext>", name, strlen(name), "</mtext><mo>&#x2061;</mo>");
}

static void put_string(att_writer *out, const char *text, const att_notation *notation)
{
    (void)notation;
    put_element(out, "<mtext>“", text, strlen(text), "”</mtext>");
}

static void put_number(att_writer *out, const char *digits, const att_notation *notation)
{
    (void)notation;
    bool negative = digits[0] == '-';
    digits += negative;
    const char *exponent = strpbrk(digits, "eE");
    if (negative)
        att_put(out, "<mo form=\"prefix\">−</mo>");
    if (strcmp(digits, "inf") == 0) {
        att_put(out, "<mi>∞</mi>");
    } else if (strcmp(digits, "nan") == 0) {
        att_put(out, "<mtext>nan</mtext>");
    } else if (!exponent) {
        put_element(out, "<mn>", digits, strlen(digits), "</mn>");
    } else {
        const char *power = exponent + 1;
        put_element(out, "<mn>", digits, (size_t)(exponent - digits), "</mn><mo>×</mo>");
        att_put(out, *power == '-' ? "<msup><mn>10</mn><mn>−" : "<msup><mn>10</mn><mn>");
        power += strspn(power, "+-0");
        att_put(out, *power ? power : "0");
        att_put(out, "</mn></msup>");
    }
}

/* Stretchy brackets have wide margins in common fonts, so only brackets around tall operands
 * stretch. */
#define OPEN_ROUND  "<mrow><mo stretchy=\"false\">(</mo>"
#define CLOSE_ROUND "<mo stretchy=\"false\">)</mo></mrow>"
#define OPEN_TALL   "<mrow><mo>(</mo>"
#define CLOSE_TALL  "<mo>)</mo></mrow>"

const att_notation att_notation_mathml = {
    .constructs = {
        [ATT_CONSTRUCT_ADD] = { "", "<mo>+</mo>", "", false, false },
        [ATT_CONSTRUCT_SUBTRACT] = { "", "<mo>−</mo>", "", false, false },
        [ATT_CONSTRUCT_PRODUCT] = { "", "<mo>&#x2062;</mo><mspace width=\"0.17em\"/>", "", false, false },
        [ATT_CONSTRUCT_NUMBER_PRODUCT] = { "", "<mo>·</mo>", "", false, false },
        [ATT_CONSTRUCT_DIVIDE] = { "<mfrac><mrow>", "</mrow><mrow>", "</mrow></mfrac>", true, true },
        [ATT_CONSTRUCT_MULTIPLY_ELEMENTWISE] = { "", "<mo>⊙</mo>", "", false, false },
        [ATT_CONSTRUCT_DIVIDE_ELEMENTWISE] = { "", "<mo>⊘</mo>", "", false, false },
        [ATT_CONSTRUCT_LESS] = { "", "<mo>&lt;</mo>", "", false, false },
        [ATT_CONSTRUCT_LESS_EQUAL] = { "", "<mo>≤</mo>", "", false, false },
        [ATT_CONSTRUCT_GREATER] = { "", "<mo>&gt;</mo>", "", false, false },
        [ATT_CONSTRUCT_GREATER_EQUAL] = { "", "<mo>≥</mo>", "", false, false },
        [ATT_CONSTRUCT_EQUAL_TO] = { "", "<mo>==</mo>", "", false, false },
        [ATT_CONSTRUCT_NOT_EQUAL_TO] = { "", "<mo>≠</mo>", "", false, false },
        [ATT_CONSTRUCT_POWER] = { "<msup><mrow>", "</mrow><mrow>", "</mrow></msup>", false, true },
        [ATT_CONSTRUCT_NEGATE] = { "<mo form=\"prefix\">−</mo>", "", "", false, false },
        [ATT_CONSTRUCT_TRANSPOSE] = { "<msup><mrow>", "", "</mrow><mo>⊤</mo></msup>", false, false },
        [ATT_CONSTRUCT_GROUP] = { OPEN_ROUND, "", CLOSE_ROUND, true, false },
        [ATT_CONSTRUCT_GROUP_TALL] = { OPEN_TALL, "", CLOSE_TALL, true, false },
        [ATT_CONSTRUCT_CALL] = { OPEN_ROUND, "<mo>,</mo>", CLOSE_ROUND, true, false },
        [ATT_CONSTRUCT_CALL_TALL] = { OPEN_TALL, "<mo>,</mo>", CLOSE_TALL, true, false },
        [ATT_CONSTRUCT_SQRT] = { "<msqrt><mrow>", "", "</mrow></msqrt>", true, false },
        [ATT_CONSTRUCT_SQRT_SIMPLE] = { "<msqrt><mrow>", "", "</mrow></msqrt>", true, false },
        [ATT_CONSTRUCT_EXP] = { "<msup><mi>e</mi><mrow>", "", "</mrow></msup>", true, false },
        [ATT_CONSTRUCT_ABS] = { "<mrow><mo>|</mo>", "", "<mo>|</mo></mrow>", true, false },
        [ATT_CONSTRUCT_MATRIX] = { "<mrow><mo>[</mo><mtable><mtr><mtd>", "</mtd></mtr><mtr><mtd>",
                              "</mtd></mtr></mtable><mo>]</mo></mrow>", true, false },
        [ATT_CONSTRUCT_ROW] = { "", "</mtd><mtd>", "", true, false },
        [ATT_CONSTRUCT_NUMBER_ROW] = { "", "</mtd><mtd>", "", true, false },
        [ATT_CONSTRUCT_LIST] = { "<mrow><mo>{</mo>", "<mo>,</mo>", "<mo>}</mo></mrow>", true, false },
        [ATT_CONSTRUCT_INDEX] = { "<msub><mrow>", "</mrow>", "</msub>", false, false },
        [ATT_CONSTRUCT_INDICES] = { "<mrow>", "<mo>,</mo>", "</mrow>", true, false },
        [ATT_CONSTRUCT_SUBSCRIPT] = { "<msub><mrow>", "</mrow>", "</msub>", false, false },
        [ATT_CONSTRUCT_FIELD] = { "", "<mo lspace=\"0\" rspace=\"0\">.</mo>", "", false, false },
        [ATT_CONSTRUCT_OPTION] = { "", "<mo>=</mo>", "", false, false },
        [ATT_CONSTRUCT_RANGE] = { "", "<mo>:</mo>", "", false, false },
        [ATT_CONSTRUCT_WORDS] = { "", "<mspace width=\"0.4em\"/>", "", false, false },
    },
    .ellipsis = "<mo>…</mo>",
    .all = "<mo>:</mo>",
    .exp_as_power = true,
    .raw_unicode = true,
    .name = put_name,
    .word = put_word,
    .function = put_function,
    .string = put_string,
    .number = put_number,
};
