/* JSON: valid and invalid texts, error messages, and writing. */
#include "base/json.h"

#include "base/alloc.h"
#include "base/comma_locale.h"
#include "base/random.h"
#include "base/string.h"
#include "failing_memory.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { DEEP = 100000 };

/* ---- help */

/* Reads `length` bytes from a block of just that size, so that sanitizers see a step beyond it. */
static att_status read_bytes(att_json_doc *doc, const char *text, size_t length,
                             const att_json_limits *limits, att_error *err)
{
    char *copy = malloc(length ? length : 1);
    assert_non_null(copy);
    if (length > 0)
        memcpy(copy, text, length);
    att_status status = att_json_read(doc, copy, length, "test", limits, err);
    free(copy);
    return status;
}

static att_json_doc read_good(const char *text)
{
    att_json_doc doc;
    att_error err = { 0 };
    if (read_bytes(&doc, text, strlen(text), NULL, &err) != ATT_OK)
        fail_msg("refused %s: %s", text, err.message);
    return doc;
}

/* Refuses the text in the way that every refusal has: a place, one line, nothing left alive. */
static att_error read_bad(const char *text, size_t length, const att_json_limits *limits)
{
    att_json_doc doc;
    att_error err = { 0 };
    size_t live = att_alloc_live();
    if (read_bytes(&doc, text, length, limits, &err) != ATT_BAD_INPUT)
        fail_msg("took %s", text);
    assert_null(doc.root);
    assert_int_equal(att_alloc_live(), live);
    assert_int_equal(err.status, ATT_BAD_INPUT);
    assert_string_equal(err.place, "test");
    assert_true(err.message[0] && !strpbrk(err.message, "\n\r\033"));
    return err;
}

static void put_tree(att_json_writer *out, const att_json *value)
{
    switch (value->type) {
    case ATT_JSON_NULL:
        att_json_put_null(out, value->key);
        break;
    case ATT_JSON_BOOL:
        att_json_put_bool(out, value->key, value->boolean);
        break;
    case ATT_JSON_INTEGER:
        att_json_put_integer(out, value->key, value->integer);
        break;
    case ATT_JSON_NUMBER:
        att_json_put_number(out, value->key, value->number);
        break;
    case ATT_JSON_STRING:
        att_json_put_bytes(out, value->key, value->string, value->length);
        break;
    case ATT_JSON_ARRAY:
    case ATT_JSON_OBJECT:
        (value->type == ATT_JSON_ARRAY ? att_json_begin_array : att_json_begin_object)(out,
                                                                                       value->key);
        for (size_t i = 0; i < value->count; i++)
            put_tree(out, &value->items[i]);
        att_json_end(out);
    }
}

/* Reads a text and expects it, written again, to be `written`. */
static void assert_reads_as(const char *text, size_t length, const char *written)
{
    att_json_doc doc;
    att_error err = { 0 };
    att_string again = { 0 };
    if (read_bytes(&doc, text, length, NULL, &err) != ATT_OK)
        fail_msg("refused %s: %s", text, err.message);
    att_json_writer out = att_json_begin(&again, ATT_JSON_EXACT);
    put_tree(&out, doc.root);
    assert_int_equal(att_json_finish(&out, "test", &err), ATT_OK);
    assert_string_equal(again.data, written);
    att_json_free(&doc);
    att_string_free(&again);
}

static void assert_read_error(const char *text, int line, int column, const char *message)
{
    att_error err = read_bad(text, strlen(text), NULL);
    assert_string_equal(err.message, message);
    assert_int_equal(err.line, line);
    assert_int_equal(err.column, column);
}

/* ---- the grammar */

typedef struct text_case {
    const char *text;
    const char *written; /* NULL: as it stands */
} text_case;

static void assert_accepted(const text_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_reads_as(cases[i].text, strlen(cases[i].text),
                        cases[i].written ? cases[i].written : cases[i].text);
}

/* A piece of text, with its size: it may contain zero bytes. */
#define BYTES(text)                                                                                \
    {                                                                                              \
        (text), sizeof(text) - 1                                                                   \
    }
typedef struct bytes_case {
    const char *text;
    size_t length;
} bytes_case;

static void assert_refused(const bytes_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++)
        read_bad(cases[i].text, cases[i].length, NULL);
}

static void every_form_of_value_is_read_in_the_order_of_the_text(void **state)
{
    (void)state;
    static const text_case cases[] = {
        { "null", NULL },
        { "true", NULL },
        { "false", NULL },
        { "42", NULL },
        { "\"\"", NULL },
        { "[]", NULL },
        { "{}", NULL },
        { "[[]]", NULL },
        { "[{}]", NULL },
        { "{\"\":0}", NULL },
        { "[[],[[]],{}]", NULL },
        { " \t\r\n[ \t\r\n1 \t\r\n, \t\r\n2 \t\r\n] \t\r\n", "[1,2]" },
        { "{ \"a\" : [ ] , \"b\" : { } }", "{\"a\":[],\"b\":{}}" },
        { "{\"z\":1,\"a\":2,\"m\":3}", NULL },
        { "{\"a\":{\"a\":{\"a\":1}}}", NULL },
        { "[null,true,false,0,\"x\",{\"k\":[]}]", NULL },
        { "{\"title\":\"\\u041f\"}", "{\"title\":\"\xD0\x9F\"}" },
    };
    assert_accepted(cases, COUNT(cases));
}

static void a_structure_that_is_not_json_is_refused(void **state)
{
    (void)state;
    static const bytes_case cases[] = {
        BYTES(""),
        BYTES(" "),
        BYTES("\0"),
        BYTES("["),
        BYTES("]"),
        BYTES("{"),
        BYTES("}"),
        BYTES(","),
        BYTES(":"),
        BYTES("[]]"),
        BYTES("{}}"),
        BYTES("[}"),
        BYTES("{]"),
        BYTES("[1"),
        BYTES("[1,"),
        BYTES("[1,]"),
        BYTES("[,]"),
        BYTES("[,1]"),
        BYTES("[1,,2]"),
        BYTES("[1 2]"),
        BYTES("[1:2]"),
        BYTES("[1],"),
        BYTES("[1]x"),
        BYTES("[1]\0"),
        BYTES("[1] []"),
        BYTES("1 2"),
        BYTES("[\"a\" \"b\"]"),
        BYTES("[a]"),
        BYTES("{\"a\"}"),
        BYTES("{\"a\":}"),
        BYTES("{\"a\" 1}"),
        BYTES("{\"a\":1,}"),
        BYTES("{,\"a\":1}"),
        BYTES("{\"a\":1,,\"b\":2}"),
        BYTES("{\"a\":1 \"b\":2}"),
        BYTES("{\"a\"::1}"),
        BYTES("{\"a\",1}"),
        BYTES("{a:1}"),
        BYTES("{'a':1}"),
        BYTES("{1:1}"),
        BYTES("{null:1}"),
        BYTES("{[]:1}"),
        BYTES("{:1}"),
        BYTES("{\"a\":1"),
        BYTES("{\"a\""),
        BYTES("{\"a\":"),
        BYTES("{\"a\":1,"),
        BYTES("nul"),
        BYTES("nulL"),
        BYTES("Null"),
        BYTES("True"),
        BYTES("truee"),
        BYTES("tru"),
        BYTES("fals"),
        BYTES("nullnull"),
        BYTES("undefined"),
        BYTES("NaN"),
        BYTES("Infinity"),
        BYTES("-Infinity"),
        BYTES("inf"),
        BYTES("[1]// comment"),
        BYTES("/**/[1]"),
        BYTES("[1]#"),
        BYTES("\v1"),
        BYTES("\f1"),
        BYTES("[1\f]"),
        BYTES("\xC2\xA0[]"),     /* a no-break space */
        BYTES("[\xE2\x80\x83]"), /* an em space */
        BYTES("\xEF\xBB\xBF{}"), /* a byte order mark */
        BYTES("\xEF\xBB\xBF"),   /* it alone */
        BYTES("\xFF\xFE[\0]\0"), /* UTF-16 */
        BYTES("[\0]\0"),         /* the same without a mark */
        BYTES("<null>"),
        BYTES("(1)"),
        BYTES("\\u0031"),
    };
    assert_refused(cases, COUNT(cases));
}

static void a_key_that_comes_twice_is_refused(void **state)
{
    (void)state;
    static const bytes_case cases[] = {
        BYTES("{\"a\":1,\"a\":1}"),
        BYTES("{\"\":1,\"\":2}"),
        BYTES("{\"a\":1,\"\\u0061\":2}"),
        BYTES("[{\"x\":{\"b\":1,\"c\":2,\"b\":3}}]"),
    };
    assert_refused(cases, COUNT(cases));
    assert_reads_as("[{\"a\":1},{\"a\":1}]", 17, "[{\"a\":1},{\"a\":1}]");
    assert_read_error("{\"a\":1,\n \"b\\n\":2, \"b\\n\":3}", 2, 18,
                      "the object that ends here has the key \"b\\x0A\" twice");
}

/* ---- strings */

static void strings_are_decoded(void **state)
{
    (void)state;
    static const text_case cases[] = {
        { "\"plain text\"", NULL },
        { "\"\\\"\\\\\\b\\f\\n\\r\\t\"", NULL },
        { "\"\\/\"", "\"/\"" },
        { "\"\\u0041\\u00e9\\u00E9\\u20ac\"", "\"A\xC3\xA9\xC3\xA9\xE2\x82\xAC\"" },
        { "\"\\uD83D\\uDE00\"", "\"\xF0\x9F\x98\x80\"" },
        { "\"\\ud800\\udc00\\udbff\\udfff\"", "\"\xF0\x90\x80\x80\xF4\x8F\xBF\xBF\"" },
        { "\"\\uD7FF\\uE000\\uFFFF\"", "\"\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBF\"" },
        { "\"\xC2\xA0\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBF\xF0\x90\x80\x80\xF4\x8F\xBF\xBF\"", NULL },
        { "\"\\u0001\\u001f\\u007F\\u009f\"", "\"\\u0001\\u001F\\u007F\\u009F\"" },
        { "\"\x7F\xC2\x80\"", "\"\\u007F\\u0080\"" }, /* JSON allows them as they are */
        { "\"\xE2\x80\xA8\xE2\x80\xA9\"", NULL },     /* ends of lines to JavaScript alone */
        { "\"\xEF\xBB\xBF\"", NULL },                 /* inside, it is no byte order mark */
        { "\"\\\\u0000\"", NULL },
        { "\"[]{},:// \\\\\"", NULL },
        { "\"'\"", NULL },
    };
    assert_accepted(cases, COUNT(cases));
}

static void strings_that_are_not_json_are_refused(void **state)
{
    (void)state;
    static const bytes_case cases[] = {
        BYTES("\""),          BYTES("\"abc"),
        BYTES("\"\\"),        BYTES("\"\\\""),
        BYTES("[\"a"),        BYTES("{\"a"),
        BYTES("'a'"),         BYTES("\"\\a\""),
        BYTES("\"\\v\""),     BYTES("\"\\0\""),
        BYTES("\"\\x41\""),   BYTES("\"\\'\""),
        BYTES("\"\\U0041\""), BYTES("\"\\\xC3\xA9\""),
        BYTES("\"\\\0\""),    BYTES("\"\\u\""),
        BYTES("\"\\u0\""),    BYTES("\"\\u004\""),
        BYTES("\"\\u004g\""), BYTES("\"\\u 041\""),
        BYTES("\"\\u+041\""), BYTES("\"\\u004"),
        BYTES("\"\\u00"),     BYTES("\"a\0b\""),
        BYTES("\"\\u0000\""), BYTES("{\"\\u0000\":1}"),
        BYTES("\"\t\""),      BYTES("\"\n\""),
        BYTES("\"\x1F\""),    BYTES("\"\x01\""),
    };
    assert_refused(cases, COUNT(cases));
}

static void surrogates_without_a_partner_are_refused(void **state)
{
    (void)state;
    static const bytes_case cases[] = {
        BYTES("\"\\uD800\""),          BYTES("\"\\uDBFF\""),        BYTES("\"\\uDC00\""),
        BYTES("\"\\uDFFF\""),          BYTES("\"\\uD800x\""),       BYTES("\"\\uD800\\n\""),
        BYTES("\"\\uD800\\uD800\""),   BYTES("\"\\uDC00\\uD800\""), BYTES("\"\\uD800\\u0041\""),
        BYTES("\"\\uD800\\uDBFF\""),   BYTES("\"\\uD800\\uE000\""), BYTES("\"\\uD800\\u\""),
        BYTES("\"\\uD800\\uDC0\""),    BYTES("\"\\uD800\\"),        BYTES("\"\\uD800\\u"),
        BYTES("\"\\uD800\\\\uDC00\""),
    };
    assert_refused(cases, COUNT(cases));
}

static void bytes_that_are_not_utf8_are_refused(void **state)
{
    (void)state;
    static const bytes_case cases[] = {
        BYTES("\"\x80\""),                     /* a continuation alone */
        BYTES("\"\xBF\""),                     /* … the last of them */
        BYTES("\"\xC3\""),                     /* cut short by the quote */
        BYTES("\"\xE2\x82\""),                 /* … */
        BYTES("\"\xF0\x9F\x98\""),             /* … */
        BYTES("\"\xC3"),                       /* cut short by the end */
        BYTES("\"\xC0\x80\""),                 /* U+0000, overlong */
        BYTES("\"\xC0\xAF\""),                 /* '/', overlong */
        BYTES("\"\xC1\xBF\""),                 /* … */
        BYTES("\"\xE0\x80\xAF\""),             /* … */
        BYTES("\"\xE0\x9F\xBF\""),             /* … */
        BYTES("\"\xF0\x80\x80\xAF\""),         /* … */
        BYTES("\"\xF0\x8F\xBF\xBF\""),         /* … */
        BYTES("\"\xED\xA0\x80\""),             /* a surrogate */
        BYTES("\"\xED\xBF\xBF\""),             /* … */
        BYTES("\"\xED\xA0\xBD\xED\xB8\x80\""), /* a pair of them, as CESU-8 has it */
        BYTES("\"\xF4\x90\x80\x80\""),         /* beyond U+10FFFF */
        BYTES("\"\xF5\x80\x80\x80\""),         /* … */
        BYTES("\"\xF8\x88\x80\x80\x80\""),     /* five bytes */
        BYTES("\"\xFE\""),
        BYTES("\"\xFF\""),
        BYTES("\"\xE9t\xE9\""), /* Latin-1 */
        BYTES("{\"\xFF\":1}"),
        BYTES("\xE9"),
        BYTES("[\xFF]"),
        BYTES("1\xE5"),
    };
    assert_refused(cases, COUNT(cases));
}

/* ---- numbers */

static void integers_of_64_bits_are_exact(void **state)
{
    (void)state;
    static const text_case cases[] = {
        { "0", NULL },
        { "-0", "0" },
        { "-1", NULL },
        { "9007199254740993", NULL }, /* no double has this value */
        { "9223372036854775807", NULL },
        { "-9223372036854775808", NULL },
    };
    assert_accepted(cases, COUNT(cases));
    att_json_doc doc = read_good("[-0, 9007199254740993, 9223372036854775808]");
    const att_json *item = doc.root->items;
    assert_true(item[0].type == ATT_JSON_INTEGER && item[0].integer == 0);
    assert_true(item[0].number == 0 && signbit(item[0].number));
    assert_true(item[1].number == 9007199254740992.0);
    assert_true(item[2].type == ATT_JSON_NUMBER && item[2].number == 0x1p63);
    att_json_free(&doc);
}

static void numbers_are_rounded_correctly(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value;
    } cases[] = {
        { "0.1", 0.1 },
        { "-0.0", -0.0 },
        { "0e1", 0 },
        { "0E+99999", 0 },
        { "-0e-1", -0.0 },
        { "1e3", 1000 },
        { "1E+2", 100 },
        { "123.456e-78", 123.456e-78 },
        { "1e00000000000000000000000000000000000000000000000000000000000000000000000002", 100 },
        { "1.7976931348623157e308", DBL_MAX },
        { "1.7976931348623158e308", DBL_MAX },
        { "2.2250738585072011e-308", 2.2250738585072011e-308 },
        { "4.9e-324", DBL_TRUE_MIN },
        { "2e-324", 0 },
        { "1e-400", 0 },
        { "-1e-400", -0.0 },
        { "18446744073709551616", 0x1p64 },
        { "-9223372036854775809", -0x1p63 },
        { "123456789012345678901234567890", 123456789012345678901234567890.0 },
        /* halfway between two doubles, to the even one; one digit far behind decides otherwise */
        { "9007199254740993.0", 9007199254740992.0 },
        { "9007199254740993.00000000000000000000000000000000000000000000000000000000000000000001",
          9007199254740994.0 },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        att_json_doc doc = read_good(cases[i].text);
        assert_int_equal(doc.root->type, ATT_JSON_NUMBER);
        if (memcmp(&doc.root->number, &cases[i].value, sizeof(double)) != 0)
            fail_msg("%s was read as %a", cases[i].text, doc.root->number);
        att_json_free(&doc);
    }
}

static void numbers_that_are_not_json_are_refused(void **state)
{
    (void)state;
    static const bytes_case cases[] = {
        BYTES("-"),      BYTES("+1"),
        BYTES("--1"),    BYTES("+"),
        BYTES("01"),     BYTES("-01"),
        BYTES("00"),     BYTES("-00"),
        BYTES("012"),    BYTES("0.1.2"),
        BYTES("1."),     BYTES(".5"),
        BYTES("-.5"),    BYTES("."),
        BYTES("1.e1"),   BYTES("0.e1"),
        BYTES("1e"),     BYTES("1e+"),
        BYTES("1e-"),    BYTES("1E"),
        BYTES("0e"),     BYTES("0.3e"),
        BYTES("0.3e+"),  BYTES("1e1.5"),
        BYTES("1ee2"),   BYTES("1e+-2"),
        BYTES("0x1"),    BYTES("0x1p3"),
        BYTES("1_000"),  BYTES("1 000"),
        BYTES("1,5"),    BYTES("1a"),
        BYTES("-a"),     BYTES("1eE2"),
        BYTES("[-]"),    BYTES("[1.]"),
        BYTES("[-2.]"),  BYTES("[2.e3]"),
        BYTES("[1e]"),   BYTES("- 1"),
        BYTES("-\0001"), BYTES("1\000"),
        BYTES("1f"),     BYTES("1L"),
        BYTES("1e9e9"),  BYTES("\xEF\xBC\x91"), /* a full-width 1 */
    };
    assert_refused(cases, COUNT(cases));
}

static void numbers_too_large_for_a_double_are_refused(void **state)
{
    (void)state;
    char digits[401];
    memset(digits, '9', 400);
    digits[400] = '\0';
    const char *const cases[] = { "1e309",
                                  "-1e309",
                                  "1E400",
                                  "1.7976931348623159e308",
                                  "0.4e006699999999999999999999999999999999999999999999",
                                  digits };
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_read_error(cases[i], 1, 1, "a number is too large for a double");
}

/* ---- limits */

/* `count` copies of `open`, then of `close`. */
static att_string nested(const char *open, const char *middle, const char *close, size_t count)
{
    att_string text = { 0 };
    assert_int_equal(att_string_repeat(&text, open, (int64_t)count), ATT_OK);
    assert_int_equal(att_string_puts(&text, middle), ATT_OK);
    assert_int_equal(att_string_repeat(&text, close, (int64_t)count), ATT_OK);
    return text;
}

static void depth_is_limited(void **state)
{
    (void)state;
    static const struct {
        const char *open, *middle, *close;
    } forms[] = { { "[", "", "]" }, { "{\"a\":", "1", "}" }, { "[{\"a\":", "1", "}]" } };
    for (size_t i = 0; i < COUNT(forms); i++) {
        size_t levels = i == 2 ? 2 : 1;
        att_json_limits limits = { .depth = levels * DEEP };
        att_json_doc doc;
        att_string deep = nested(forms[i].open, forms[i].middle, forms[i].close, DEEP);
        assert_int_equal(read_bytes(&doc, deep.data, deep.length, &limits, NULL), ATT_OK);
        att_json_free(&doc);
        limits.depth--;
        read_bad(deep.data, deep.length, &limits);
        att_error err = read_bad(deep.data, deep.length, NULL);
        assert_string_equal(err.message,
                            "arrays and objects are nested deeper than the 64 levels allowed");
        read_bad(deep.data, deep.length / 2, &limits); /* nothing closes */
        att_string_free(&deep);
        deep = nested(forms[i].open, forms[i].middle, forms[i].close, 64 / levels);
        assert_int_equal(read_bytes(&doc, deep.data, deep.length, NULL, NULL), ATT_OK);
        att_json_free(&doc);
        att_string_free(&deep);
    }
}

static void size_and_length_of_strings_are_limited(void **state)
{
    (void)state;
    att_json_doc doc;
    att_json_limits size = { .size = 4 }, string = { .string = 3 };
    assert_int_equal(read_bytes(&doc, "1234", 4, &size, NULL), ATT_OK);
    att_json_free(&doc);
    att_error err = read_bad("1234 ", 5, &size);
    assert_string_equal(err.message, "has 5 bytes of JSON, at most 4 are allowed");
    const char *fits = "{\"\\u20ac\":[\"abc\",\"\\u0061\\u0062\\u0063\"]}";
    assert_int_equal(read_bytes(&doc, fits, strlen(fits), &string, NULL), ATT_OK);
    att_json_free(&doc);
    err = read_bad("[\"abcd\"]", 8, &string);
    assert_string_equal(err.message, "a string has 4 bytes, at most 3 are allowed");
    assert_int_equal(err.column, 2);
    read_bad("{\"abcd\":1}", 10, &string);
}

static void memory_is_limited_and_told_apart_from_no_memory(void **state)
{
    (void)state;
    att_json_limits limits = { .memory = 50000 };
    att_json_doc doc;
    att_string many = { 0 };
    assert_int_equal(att_string_puts(&many, "[1"), ATT_OK);
    assert_int_equal(att_string_repeat(&many, ",1", 1000), ATT_OK);
    assert_int_equal(att_string_puts(&many, "]"), ATT_OK);
    assert_int_equal(read_bytes(&doc, many.data, many.length, &limits, NULL), ATT_OK);
    att_json_free(&doc);
    limits.memory = 10000;
    att_error err = read_bad(many.data, many.length, &limits);
    assert_string_equal(err.message, "the values need more memory than the 10000 bytes allowed");
    limits.memory = 100;
    read_bad(many.data, many.length / 2 * 2, &limits);
    read_bad("\"0123456789012345678901234567890123456789012345678901234567890123456789012345678"
             "901234567890123456789012345678901234567890\"",
             122, &limits);
    att_string_free(&many);
}

/* ---- errors */

static void errors_name_line_and_column_and_what_was_expected(void **state)
{
    (void)state;
    assert_read_error("", 1, 1, "expected a value, found the end of the text");
    assert_read_error("[1,\n 2,\n  x]", 3, 3, "expected a value, found 'x'");
    assert_read_error("[1 2]", 1, 4, "expected ',' or ']', found '2'");
    assert_read_error("{\"a\":1]", 1, 7, "expected ',' or '}', found ']'");
    assert_read_error("{\"a\" 1}", 1, 6, "expected ':', found '1'");
    assert_read_error("{a:1}", 1, 2, "expected a key in double quotes, found 'a'");
    assert_read_error("{\"a\":1,}", 1, 8, "expected a key in double quotes, found '}'");
    assert_read_error("{} {}", 1, 4, "expected the end of the text, found '{'");
    assert_read_error("[1.x]", 1, 4, "expected a digit, found 'x'");
    assert_read_error("[\n-01]", 2, 2, "a number must not have leading zeros");
    assert_read_error("[\"\xC3\xA9\xE2\x82\xAC\", \xC3\xBC]", 1, 8,
                      "expected a value, found '\xC3\xBC'");
    assert_read_error("[\x1B]", 1, 2, "expected a value, found '\\x1B'");
    assert_read_error("[\xFF]", 1, 2, "expected a value, found '\\xFF'");
    assert_read_error("[\"a\tb\"]", 1, 4, "a control character in a string must be escaped");
    assert_read_error("[\"ab\xFF\"]", 1, 5, "a string is not UTF-8");
    assert_read_error("[\"ab", 1, 2, "the string that starts here has no closing quote");
    assert_read_error("[\"a\\q\"]", 1, 5,
                      "expected one of \" \\ / b f n r t u after a backslash, found 'q'");
    assert_read_error("[\"\\u12x4\"]", 1, 7,
                      "expected four hexadecimal digits after \\u, found 'x'");
    assert_read_error("[\"a\\u0000\"]", 1, 4, "a string contains U+0000, which is not allowed");
    assert_read_error("[\"a\\uD800\"]", 1, 4,
                      "a surrogate has no partner: expected a pair, as \\uD83D\\uDE00");
    assert_read_error("\xEF\xBB\xBF[]", 1, 1,
                      "begins with a byte order mark, which JSON does not allow");
}

/* ---- getters */

static const char sample[] =
    "{\"steps\":12,\"rate\":0.5,\"name\":\"fox\",\"on\":true,\"none\":null,\"big\":1e3,"
    "\"words\":[\"a\",7],\"resume\":{\"epoch\":3},\"off\":false,\"last\":-1}";

static void getters_return_members_of_the_expected_type(void **state)
{
    (void)state;
    att_json_doc doc = read_good(sample);
    const att_json *value, *item;
    int64_t steps = 0, epoch = 0;
    double rate = 0, whole = 0;
    const char *name = NULL;
    bool on = false;
    assert_int_equal(att_json_get_integer(&steps, doc.root, "steps", "s", NULL), ATT_OK);
    assert_int_equal(att_json_get_number(&rate, doc.root, "rate", "s", NULL), ATT_OK);
    assert_int_equal(att_json_get_number(&whole, doc.root, "steps", "s", NULL), ATT_OK);
    assert_int_equal(att_json_get_string(&name, doc.root, "name", "s", NULL), ATT_OK);
    assert_int_equal(att_json_get_bool(&on, doc.root, "on", "s", NULL), ATT_OK);
    assert_true(steps == 12 && rate == 0.5 && whole == 12 && on);
    assert_string_equal(name, "fox");
    assert_int_equal(att_json_get(&value, doc.root, "resume", ATT_JSON_OBJECT, "s", NULL), ATT_OK);
    assert_int_equal(att_json_get_integer(&epoch, value, "epoch", "s", NULL), ATT_OK);
    assert_int_equal(epoch, 3);
    assert_int_equal(att_json_get(&value, doc.root, "words", ATT_JSON_ARRAY, "s", NULL), ATT_OK);
    assert_int_equal(att_json_get_item(&item, value, 1, ATT_JSON_NUMBER, "s", NULL), ATT_OK);
    assert_int_equal(item->integer, 7);
    assert_int_equal(att_json_expect(doc.root, ATT_JSON_OBJECT, "s", NULL), ATT_OK);
    att_json_free(&doc);
}

static void getters_say_what_was_expected_and_found(void **state)
{
    (void)state;
    static const struct {
        const char *key;
        att_json_type type;
        const char *message;
    } cases[] = {
        { "name", ATT_JSON_INTEGER, "expected a whole number for \"name\", found a string" },
        { "steps", ATT_JSON_STRING, "expected a string for \"steps\", found a whole number" },
        { "big", ATT_JSON_INTEGER,
          "expected a whole number for \"big\", found a number with a fraction, an exponent or too "
          "many digits" },
        { "rate", ATT_JSON_BOOL, "expected true or false for \"rate\", found a number" },
        { "on", ATT_JSON_NUMBER, "expected a number for \"on\", found true" },
        { "none", ATT_JSON_OBJECT, "expected an object for \"none\", found null" },
        { "resume", ATT_JSON_ARRAY, "expected an array for \"resume\", found an object" },
        { "words", ATT_JSON_OBJECT, "expected an object for \"words\", found an array" },
        { "wor\nds", ATT_JSON_ARRAY, "expected an array for \"wor\\x0Ads\", which is missing" },
    };
    att_json_doc doc = read_good(sample);
    const att_json *value;
    att_error err;
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(
            att_json_get(&value, doc.root, cases[i].key, cases[i].type, "settings", &err),
            ATT_BAD_INPUT);
        assert_string_equal(err.place, "settings");
        assert_string_equal(err.message, cases[i].message);
    }
    const att_json *words = att_json_find(doc.root, "words");
    assert_int_equal(att_json_get(&value, words, "x", ATT_JSON_NULL, "s", &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "expected an object for \"words\", found an array");
    assert_int_equal(att_json_get_item(&value, words, 1, ATT_JSON_STRING, "s", &err),
                     ATT_BAD_INPUT);
    assert_string_equal(err.message, "expected a string for \"words\"[1], found a whole number");
    assert_int_equal(att_json_get_item(&value, words, 2, ATT_JSON_STRING, "s", &err),
                     ATT_BAD_INPUT);
    assert_string_equal(err.message, "expected more than 2 items for \"words\", found 2");
    assert_int_equal(att_json_get_item(&value, doc.root, 0, ATT_JSON_NULL, "s", &err),
                     ATT_BAD_INPUT);
    assert_string_equal(err.message, "expected an array, found an object");
    att_json_free(&doc);
    doc = read_good("[null]");
    assert_int_equal(att_json_get_item(&value, doc.root, 0, ATT_JSON_BOOL, "s", &err),
                     ATT_BAD_INPUT);
    assert_string_equal(err.message, "expected true or false for item 0, found null");
    att_json_free(&doc);
}

static void members_are_found_in_objects_of_any_size(void **state)
{
    (void)state;
    for (int count = 0; count < 3000; count = 3 * count + 1) {
        char key[32];
        att_string text = { 0 };
        att_json_writer out = att_json_begin(&text, ATT_JSON_EXACT);
        att_json_begin_object(&out, NULL);
        for (int i = 0; i < count; i++) {
            snprintf(key, sizeof key, "%d", i * 7919 % 100003); /* in no order */
            att_json_put_integer(&out, key, i);
        }
        att_json_end(&out);
        assert_int_equal(att_json_finish(&out, NULL, NULL), ATT_OK);
        att_json_doc doc = read_good(text.data);
        assert_int_equal(doc.root->count, count);
        for (int i = 0; i < count; i++) {
            snprintf(key, sizeof key, "%d", i * 7919 % 100003);
            const att_json *found = att_json_find(doc.root, key);
            assert_ptr_equal(found, &doc.root->items[i]);
            assert_int_equal(found->integer, i);
        }
        assert_null(att_json_find(doc.root, "absent"));
        att_json_free(&doc);
        att_string_free(&text);
    }
    att_json_doc doc = read_good("[1]");
    assert_null(att_json_find(doc.root, "x"));
    assert_null(att_json_find(NULL, "x"));
    att_json_free(&doc);
    att_json_free(&doc);
}

/* ---- writing */

static void commas_keys_and_brackets_are_written_where_they_belong(void **state)
{
    (void)state;
    att_string text = { 0 };
    assert_int_equal(att_string_puts(&text, "> "), ATT_OK);
    att_json_writer out = att_json_begin(&text, ATT_JSON_EXACT);
    att_json_begin_object(&out, NULL);
    att_json_put_null(&out, "n");
    att_json_begin_array(&out, "list");
    att_json_put_bool(&out, NULL, true);
    att_json_put_bool(&out, NULL, false);
    att_json_begin_array(&out, NULL);
    att_json_end(&out);
    att_json_begin_object(&out, NULL);
    att_json_end(&out);
    att_json_put_integer(&out, NULL, INT64_MIN);
    att_json_end(&out);
    att_json_put_string(&out, "a\"b", "x\ny");
    att_json_put_string(&out, "missing", NULL);
    att_json_put_bytes(&out, "bytes", "ab\0c", 4);
    att_json_put_raw(&out, "raw", "[1,2]", 5);
    att_json_put_number(&out, "x", 0.5);
    att_json_end(&out);
    assert_int_equal(att_json_finish(&out, NULL, NULL), ATT_OK);
    assert_string_equal(text.data, "> {\"n\":null,\"list\":[true,false,[],{},-9223372036854775808],"
                                   "\"a\\\"b\":\"x\\ny\",\"missing\":null,\"bytes\":\"ab\\u0000c\","
                                   "\"raw\":[1,2],\"x\":0.5}");
    att_string_free(&text);
}

static void line_breaks_are_written_where_asked_for(void **state)
{
    (void)state;
    att_string text = { 0 };
    att_json_writer out = att_json_begin(&text, ATT_JSON_EXACT);
    att_json_begin_array(&out, NULL);
    for (int i = 0; i < 2; i++) {
        att_json_newline(&out);
        att_json_begin_object(&out, NULL);
        att_json_put_integer(&out, "i", i);
        att_json_end(&out);
    }
    att_json_newline(&out);
    att_json_end(&out);
    assert_int_equal(att_json_finish(&out, NULL, NULL), ATT_OK);
    assert_string_equal(text.data, "[\n{\"i\":0},\n{\"i\":1}\n]");
    att_string_free(&text);
}

static void numbers_are_written_with_the_fewest_digits(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *written;
    } cases[] = { { 0, "0" },
                  { -0.0, "-0.0" },
                  { 0.1, "0.1" },
                  { -2.5, "-2.5" },
                  { 1000, "1000" },
                  { 1e22, "1e+22" },
                  { 1e-7, "1e-07" },
                  { 1.0 / 3, "0.3333333333333333" },
                  { DBL_MAX, "1.7976931348623157e+308" },
                  { DBL_TRUE_MIN, "5e-324" } };
    for (size_t i = 0; i < COUNT(cases); i++) {
        att_string text = { 0 };
        att_json_writer out = att_json_begin(&text, ATT_JSON_EXACT);
        att_json_put_number(&out, NULL, cases[i].value);
        assert_int_equal(att_json_finish(&out, NULL, NULL), ATT_OK);
        assert_string_equal(text.data, cases[i].written);
        att_string_free(&text);
    }
}

static void what_json_cannot_hold_is_refused_or_replaced_as_asked(void **state)
{
    (void)state;
    att_error err;
    att_string text = { 0 };
    assert_int_equal(att_string_puts(&text, "before"), ATT_OK);
    for (int i = 0; i < 5; i++) {
        att_json_writer out = att_json_begin(&text, ATT_JSON_EXACT);
        att_json_begin_array(&out, NULL);
        att_json_begin_object(&out, NULL);
        if (i < 3)
            att_json_put_number(&out, "x", i == 0 ? NAN : i == 1 ? INFINITY : -INFINITY);
        else
            att_json_put_integer(&out, i == 3 ? "a\xFF" : "x", 1);
        att_json_put_string(&out, "s", i == 4 ? "\xC3" : "");
        att_json_end(&out);
        att_json_end(&out);
        assert_int_equal(att_json_finish(&out, "model", &err), ATT_BAD_INPUT);
        assert_string_equal(err.place, "model");
        assert_string_equal(err.message,
                            i < 3 ? "cannot be written as JSON: a number is infinite or NaN"
                                  : "cannot be written as JSON: a string is not UTF-8");
        assert_string_equal(text.data, "before");
    }
    text.length = 0;
    att_json_writer out = att_json_begin(&text, ATT_JSON_REPLACE);
    att_json_begin_array(&out, NULL);
    att_json_put_number(&out, NULL, NAN);
    att_json_put_number(&out, NULL, -INFINITY);
    att_json_put_string(&out, NULL, "a\xFF\xC3\xA9\xE2\x82\x1B[m\xC2\x9B");
    att_json_end(&out);
    assert_int_equal(att_json_finish(&out, "model", &err), ATT_OK);
    assert_string_equal(text.data, "[null,null,\"a\xEF\xBF\xBD\xC3\xA9\xEF\xBF\xBD\xEF\xBF\xBD"
                                   "\\u001B[m\\u009B\"]");
    att_string_free(&text);
}

static void the_writer_refuses_to_nest_too_deeply(void **state)
{
    (void)state;
    for (int extra = 0; extra < 2; extra++) {
        att_string text = { 0 };
        att_json_doc doc;
        att_json_writer out = att_json_begin(&text, ATT_JSON_EXACT);
        for (int i = 0; i < ATT_JSON_WRITE_DEPTH + extra; i++)
            (i % 2 ? att_json_begin_array : att_json_begin_object)(&out, i % 2 ? "k" : NULL);
        for (int i = 0; i < ATT_JSON_WRITE_DEPTH + extra; i++)
            att_json_end(&out);
        assert_int_equal(att_json_finish(&out, NULL, NULL), extra ? ATT_BAD_INPUT : ATT_OK);
        if (!extra) {
            assert_int_equal(read_bytes(&doc, text.data, text.length, NULL, NULL), ATT_OK);
            att_json_free(&doc);
        }
        att_string_free(&text);
    }
}

/* ---- both */

static double random_bits_as_double(uint64_t i)
{
    uint64_t bits = (uint64_t)att_random_bits(1, 1, i) << 32 | att_random_bits(1, 2, i);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void doubles_survive_to_the_last_bit(void **state)
{
    (void)state;
    enum { MANY = 20000 };
    att_string text = { 0 };
    att_json_writer out = att_json_begin(&text, ATT_JSON_EXACT);
    att_json_begin_array(&out, NULL);
    for (uint64_t i = 0; i < MANY; i++)
        if (isfinite(random_bits_as_double(i)))
            att_json_put_number(&out, NULL, random_bits_as_double(i));
    att_json_end(&out);
    assert_int_equal(att_json_finish(&out, NULL, NULL), ATT_OK);
    att_json_doc doc = read_good(text.data);
    size_t next = 0;
    for (uint64_t i = 0; i < MANY; i++) {
        double value = random_bits_as_double(i);
        if (!isfinite(value))
            continue;
        const att_json *item = &doc.root->items[next++];
        if (memcmp(&item->number, &value, sizeof value) != 0)
            fail_msg("number %d of seed 1: %a became %a", (int)i, value, item->number);
    }
    assert_int_equal(next, doc.root->count);
    att_json_free(&doc);
    att_string_free(&text);
}

static void a_decimal_comma_of_the_locale_changes_nothing(void **state)
{
    (void)state;
    char folder[] = COMMA_LOCALE_FOLDER;
    att_string text = { 0 };
    att_json_doc doc = { 0 };
    bool comma = comma_locale_enter(folder);
    att_json_writer out = att_json_begin(&text, ATT_JSON_EXACT);
    att_json_put_number(&out, NULL, 0.25);
    att_status wrote = att_json_finish(&out, NULL, NULL);
    att_status status = att_json_read(&doc, "[1.5,1e3]", 9, "test", NULL, NULL);
    assert_true(comma_locale_leave(folder));
    assert_true(wrote == ATT_OK && status == ATT_OK);
    assert_string_equal(text.data, "0.25");
    assert_true(doc.root->items[0].number == 1.5 && doc.root->items[1].number == 1000);
    att_json_free(&doc);
    att_string_free(&text);
    if (!comma)
        skip(); /* no localedef, or no sources of locales */
}

static att_status read_and_write(void *context)
{
    const att_string *text = context;
    att_json_doc doc = { 0 };
    att_error err = { 0 };
    att_string again = { 0 };
    att_status status = att_json_read(&doc, text->data, text->length, "test", NULL, &err);
    if (status == ATT_OK) {
        att_json_writer out = att_json_begin(&again, ATT_JSON_EXACT);
        put_tree(&out, doc.root);
        status = att_json_finish(&out, "test", &err);
    }
    assert_int_equal(err.status, status);
    if (status == ATT_OK)
        assert_string_equal(again.data, text->data);
    else
        assert_true(doc.root || again.length == 0);
    att_json_free(&doc);
    att_string_free(&again);
    return status;
}

static att_status read_only(void *context)
{
    const att_string *text = context;
    att_json_doc doc;
    att_status status = att_json_read(&doc, text->data, text->length, "test", NULL, NULL);
    att_json_free(&doc);
    return status;
}

static void every_failed_allocation_is_out_of_memory(void **state)
{
    (void)state;
    att_string text = { 0 };
    att_json_writer out = att_json_begin(&text, ATT_JSON_EXACT);
    att_json_begin_object(&out, NULL);
    att_json_begin_array(&out, "long");
    for (int i = 0; i < 3000; i++)
        att_json_put_number(&out, NULL, i / 7.0);
    att_json_end(&out);
    for (int i = 0; i < 1000; i++) {
        char key[32];
        snprintf(key, sizeof key, "key \"%d\"", i);
        att_json_put_string(&out, key, "some text\n\xE2\x82\xAC");
    }
    att_json_end(&out);
    assert_int_equal(att_json_finish(&out, NULL, NULL), ATT_OK);
    assert_true(every_allocation_fails(read_and_write, &text, 100) > 10);
    att_string_free(&text);
    /* Strings, arrays and numbers of many digits are in an arena. */
    static const char few[] = "{\"a\":[1,\"b\",{\"c\":null}],\"d\":"
                              "1.2345678901234567890123456789012345678901234567890123456789012345}";
    att_json_doc doc;
    assert_int_equal(att_json_read(&doc, few, sizeof few - 1, "few", NULL, NULL), ATT_OK);
    out = att_json_begin(&text, ATT_JSON_EXACT); /* as the writer has it, to be compared */
    put_tree(&out, doc.root);
    assert_int_equal(att_json_finish(&out, NULL, NULL), ATT_OK);
    att_json_free(&doc);
    assert_true(every_arena_allocation_fails(read_and_write, &text, 100) > 5);
    att_string_free(&text);
    att_string digits = { .data = (char *)(uintptr_t)few, .length = sizeof few - 1 };
    assert_true(every_arena_allocation_fails(read_only, &digits, 100) > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_of_value_is_read_in_the_order_of_the_text),
        cmocka_unit_test(a_structure_that_is_not_json_is_refused),
        cmocka_unit_test(a_key_that_comes_twice_is_refused),
        cmocka_unit_test(strings_are_decoded),
        cmocka_unit_test(strings_that_are_not_json_are_refused),
        cmocka_unit_test(surrogates_without_a_partner_are_refused),
        cmocka_unit_test(bytes_that_are_not_utf8_are_refused),
        cmocka_unit_test(integers_of_64_bits_are_exact),
        cmocka_unit_test(numbers_are_rounded_correctly),
        cmocka_unit_test(numbers_that_are_not_json_are_refused),
        cmocka_unit_test(numbers_too_large_for_a_double_are_refused),
        cmocka_unit_test(depth_is_limited),
        cmocka_unit_test(size_and_length_of_strings_are_limited),
        cmocka_unit_test(memory_is_limited_and_told_apart_from_no_memory),
        cmocka_unit_test(errors_name_line_and_column_and_what_was_expected),
        cmocka_unit_test(getters_return_members_of_the_expected_type),
        cmocka_unit_test(getters_say_what_was_expected_and_found),
        cmocka_unit_test(members_are_found_in_objects_of_any_size),
        cmocka_unit_test(commas_keys_and_brackets_are_written_where_they_belong),
        cmocka_unit_test(line_breaks_are_written_where_asked_for),
        cmocka_unit_test(numbers_are_written_with_the_fewest_digits),
        cmocka_unit_test(what_json_cannot_hold_is_refused_or_replaced_as_asked),
        cmocka_unit_test(the_writer_refuses_to_nest_too_deeply),
        cmocka_unit_test(doubles_survive_to_the_last_bit),
        cmocka_unit_test(a_decimal_comma_of_the_locale_changes_nothing),
        cmocka_unit_test(every_failed_allocation_is_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
