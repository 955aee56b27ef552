/* Unicode: the tests of the standard, if Debian's package unicode-data is installed, and cases that
 * they do not cover. */
#include "unicode_help.h"

#include "failing_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FOLDER "/usr/share/unicode/"

/* ---- tests of the standard */

/* Opens a file of the standard, unpacked by bzip2 if need be. NULL, with a notice, if it is missing
 * or of another version of Unicode than the tables. */
static FILE *open_test(const char *name)
{
    char command[256], line[256] = "";
    snprintf(command, sizeof command, "cat %s%s 2>/dev/null || bzip2 -dc %s%s.bz2 2>/dev/null",
             FOLDER, name, FOLDER, name);
    FILE *file = popen(command, "r");
    assert_non_null(file);
    if (fgets(line, sizeof line, file) && strstr(line, att_unicode_version))
        return file;
    pclose(file);
    print_message("# skipped: no %s%s of Unicode %s (Debian: unicode-data, bzip2)\n", FOLDER, name,
                  att_unicode_version);
    return NULL;
}

static void clusters_break_as_the_tests_of_the_standard_say(void **state)
{
    (void)state;
    FILE *file = open_test("auxiliary/GraphemeBreakTest.txt");
    if (!file)
        skip();
    char line[1024];
    size_t cases = 0;
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "#\n")] = '\0';
        uint32_t before = 0;
        int32_t cluster = 0; /* the state is never reset */
        bool breaks = false;
        for (char *word = strtok(line, " \t"); word; word = strtok(NULL, " \t")) {
            if (word[0] == '\xC3') { /* ÷ or × */
                breaks = word[1] == '\xB7';
                continue;
            }
            uint32_t code = (uint32_t)strtoul(word, NULL, 16);
            if (before && att_unicode_breaks(before, code, &cluster) != breaks)
                fail_msg("case %zu, between %04X and %04X", cases, before, code);
            before = code;
        }
        cases += before != 0;
    }
    assert_int_equal(pclose(file), 0);
    assert_true(cases > 500);
}

static bool listed[CODES]; /* in part 1 of NormalizationTest.txt */

static void assert_composed(const att_string *from, const att_string *expected, const char *line)
{
    static att_string got;
    put_composed(&got, from, false);
    if (got.length != expected->length || memcmp(got.data, expected->data, got.length) != 0)
        fail_msg("%s", line);
}

static size_t read_column(att_string *out, char **rest)
{
    uint32_t codes[CODES_MAX];
    size_t count = 0;
    for (; **rest != ';'; *rest += **rest == ' ')
        codes[count++] = (uint32_t)strtoul(*rest, rest, 16);
    ++*rest;
    put_codes(out, codes, count);
    return count;
}

static void composed_forms_are_those_of_the_tests_of_the_standard(void **state)
{
    (void)state;
    FILE *file = open_test("NormalizationTest.txt");
    if (!file)
        skip();
    att_string column[5] = { 0 };
    char line[1024];
    size_t cases = 0;
    int part = 0;
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "@Part%d", &part) == 1 || line[0] == '#' || line[0] == '\n')
            continue;
        char *rest = line;
        for (size_t i = 0; i < 5; i++)
            if (read_column(&column[i], &rest) == 1 && i == 0 && part == 1)
                listed[strtoul(line, NULL, 16)] = true;
        /* Source, NFC, NFD, NFKC, NFKD: composed, the first three are NFC, the others NFKC. */
        for (size_t i = 0; i < 5; i++)
            assert_composed(&column[i], &column[i < 3 ? 1 : 3], line);
        cases++;
    }
    assert_int_equal(pclose(file), 0);
    assert_true(cases > 19000);
    for (uint32_t code = 1; code < CODES; code++) { /* other code points do not change */
        if (listed[code] || is_surrogate(code))
            continue;
        put_codes(&column[0], &code, 1);
        assert_composed(&column[0], &column[0], "a code point that part 1 does not list");
    }
    for (size_t i = 0; i < 5; i++)
        att_string_free(&column[i]);
}

/* ---- single cases */

static void assert_nfc(const char *from, bool lower, const char *expected)
{
    att_string text = { (char *)(uintptr_t)from, strlen(from), 0 }, got = { 0 };
    put_composed(&got, &text, lower);
    assert_string_equal(got.length > 0 ? got.data : "", expected);
    att_string_free(&got);
}

static void letters_and_marks_compose(void **state)
{
    (void)state;
    assert_nfc("", false, "");
    assert_nfc("plain", false, "plain");
    assert_nfc("cafe\u0301s", false, "caf\u00E9s");
    assert_nfc("\u212B", false, "\u00C5");                /* the sign of Ångström is the letter */
    assert_nfc("q\u0307\u0323", false, "q\u0323\u0307");  /* in order, though nothing composes */
    assert_nfc("a\u0323\u0302x", false, "\u1EADx");       /* twice */
    assert_nfc("\u0958", false, "\u0915\u093C");          /* excluded: stays decomposed */
    assert_nfc("a\u0308\u0301b", false, "\u00E4\u0301b"); /* the second of one class stays */
    assert_nfc("\u0301a", false, "\u0301a");              /* no starter before it */
}

static void hangul_composes_by_arithmetic(void **state)
{
    (void)state;
    assert_nfc("\u1112\u1161\u11AB", false, "\uD55C");
    assert_nfc("\uD558\u11AB", false, "\uD55C");
    assert_nfc("\u1100\u1161\u11A7", false, "\uAC00\u11A7"); /* just before the finals */
    assert_nfc("\uAC01\u11A8", false, "\uAC01\u11A8");       /* has a final already */
    uint32_t parts[ATT_DECOMPOSED_MAX];
    assert_int_equal(att_unicode_decompose(0xD55C, parts), 3);
    assert_int_equal(parts[0], 0x1112);
    assert_int_equal(parts[1], 0x1161);
    assert_int_equal(parts[2], 0x11AB);
    assert_int_equal(att_unicode_decompose(0xAC00, parts), 2);
}

static void lower_case_comes_before_composing(void **state)
{
    (void)state;
    assert_nfc("E\u0301\u0411 \u212A", true, "\u00E9\u0431 k");
    assert_nfc("\u0130", true, "i");      /* the simple mapping */
    assert_nfc("\u023A", true, "\u2C65"); /* longer than the capital */
    assert_int_equal(att_unicode_lower(0x1E9E), 0xDF);
    assert_int_equal(att_unicode_lower('!'), '!');
}

/* In canonical order, in linear time. */
static void a_long_run_of_marks_is_put_in_order(void **state)
{
    (void)state;
    enum { PAIRS = 100000 };
    att_string text = { 0 }, got = { 0 };
    assert_int_equal(att_string_puts(&text, "x"), ATT_OK);
    assert_int_equal(att_string_repeat(&text, "\u0301\u0323", PAIRS), ATT_OK);
    put_composed(&got, &text, false);
    assert_int_equal(got.length, text.length);
    for (size_t i = 0; i < 2 * PAIRS; i++)
        assert_memory_equal(got.data + 1 + 2 * i, i < PAIRS ? "\u0323" : "\u0301", 2);
    att_string_free(&text);
    att_string_free(&got);
}

static void bytes_that_are_not_utf8_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = { "ab\xFF", "ab\xC0\x80", "ab\xED\xA0\x80",
                                       "ab\xF4\x90\x80\x80", "ab\xE2\x82" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        att_string out = { 0 };
        att_error err = { 0 };
        assert_int_equal(att_unicode_compose(&out, NULL, bad[i], strlen(bad[i]), false, &err),
                         ATT_BAD_INPUT);
        assert_string_equal(err.message, "byte 3 is not UTF-8");
        att_string_free(&out);
    }
}

static att_status compose(void *text)
{
    att_string out = { 0 };
    att_status status = att_unicode_compose(&out, NULL, text, strlen(text), true, NULL);
    att_string_free(&out);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    char text[] = "\u0995\u09BEE\u0301xyz \u1100\u1161 x\u0301\u0302\u0303\u0304\u0305\u0306\u0307"
                  "\u0308\u0309\u030A\u030B\u030C\u030D\u030E\u030F\u0310\u0311\u0312\u0313\u0314";
    assert_true(every_allocation_fails(compose, text, 20) > 3);
}

static void properties_are_those_of_unicode(void **state)
{
    (void)state;
    static const struct {
        uint32_t code;
        att_category category;
        int combining_class, width;
    } cases[] = {
        { 'A', ATT_CATEGORY_LU, 0, 1 },
        { 0x1C5, ATT_CATEGORY_LT, 0, 1 },
        { 0x301, ATT_CATEGORY_MN, 230, 0 },
        { 0x94D, ATT_CATEGORY_MN, 9, 0 },
        { 0x9BE, ATT_CATEGORY_MC, 0, 1 },
        { 0x4E00, ATT_CATEGORY_LO, 0, 2 },
        { 0x9FFF, ATT_CATEGORY_LO, 0, 2 },
        { 0x1F600, ATT_CATEGORY_SO, 0, 2 },
        { 0x1161, ATT_CATEGORY_LO, 0, 0 },
        { 0xAD, ATT_CATEGORY_CF, 0, 1 },
        { 0x200B, ATT_CATEGORY_CF, 0, 0 },
        { 0x378, ATT_CATEGORY_CN, 0, 1 },
        { 0xE000, ATT_CATEGORY_CO, 0, 1 },
        { 0x10FFFF, ATT_CATEGORY_CN, 0, 1 },
        { 0x110000, ATT_CATEGORY_CN, 0, 1 } /* beyond Unicode */,
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(att_unicode_category(cases[i].code), cases[i].category);
        assert_int_equal(att_unicode_combining_class(cases[i].code), cases[i].combining_class);
        assert_int_equal(att_unicode_width(cases[i].code), cases[i].width);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clusters_break_as_the_tests_of_the_standard_say),
        cmocka_unit_test(composed_forms_are_those_of_the_tests_of_the_standard),
        cmocka_unit_test(letters_and_marks_compose),
        cmocka_unit_test(hangul_composes_by_arithmetic),
        cmocka_unit_test(lower_case_comes_before_composing),
        cmocka_unit_test(a_long_run_of_marks_is_put_in_order),
        cmocka_unit_test(bytes_that_are_not_utf8_are_refused),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(properties_are_those_of_unicode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
