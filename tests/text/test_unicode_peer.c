/* Unicode as utf8proc has it, where that is installed in the version of our tables: every code
 * point, and texts drawn at random. Tokens came from utf8proc before the tables were in the source;
 * models trained then must read the same.
 *
 * One thing is known to differ: utf8proc 2.8 drops a U+11A7 after a Hangul syllable without a final
 * consonant. */
#include "unicode_help.h"

#ifdef ATTEND_TEST_UTF8PROC

#include "base/random.h"
#include "thin.h"

#include <string.h>
#include <utf8proc.h>

enum { DROPPED = 0x11A7, TEXTS = 300000 / THIN, TEXT_MAX = 12 };

static bool same_version(void)
{
    if (strcmp(utf8proc_unicode_version(), att_unicode_version) == 0)
        return true;
    print_message("# skipped: utf8proc has Unicode %s, not %s\n", utf8proc_unicode_version(),
                  att_unicode_version);
    return false;
}

/* ---- every code point */

/* Where terminals and utf8proc differ, the tables go with the terminals. */
static int peer_width(uint32_t code)
{
    bool inner_jamo = (code >= 0x1160 && code <= 0x11FF) || (code >= 0xD7B0 && code <= 0xD7FF);
    if (utf8proc_category((utf8proc_int32_t)code) == UTF8PROC_CATEGORY_MC)
        return 1;
    return inner_jamo ? 0 : utf8proc_charwidth((utf8proc_int32_t)code);
}

static void properties_are_those_of_utf8proc(void **state)
{
    (void)state;
    if (!same_version())
        skip();
    for (uint32_t code = 0; code < CODES; code++) {
        utf8proc_int32_t peer = (utf8proc_int32_t)code, expected[8];
        const utf8proc_property_t *of = utf8proc_get_property(peer);
        uint32_t parts[ATT_DECOMPOSED_MAX];
        int boundary = 0;
        utf8proc_ssize_t count =
            utf8proc_decompose_char(peer, expected, 8, UTF8PROC_DECOMPOSE, &boundary);
        if ((int)att_unicode_category(code) != (int)utf8proc_category(peer) ||
            att_unicode_combining_class(code) != of->combining_class ||
            att_unicode_lower(code) != (uint32_t)utf8proc_tolower(peer) ||
            att_unicode_width(code) != peer_width(code) ||
            att_unicode_decompose(code, parts) != (size_t)count ||
            memcmp(parts, expected, (size_t)count * sizeof *parts) != 0)
            fail_msg("U+%04X", code);
    }
}

/* ---- texts */

static utf8proc_int32_t change(utf8proc_int32_t code, void *lower)
{
    return *(bool *)lower ? utf8proc_tolower(code) : code;
}

static void assert_composed_alike(const uint32_t *codes, size_t count, bool lower)
{
    static att_string text, got, shown;
    const utf8proc_option_t options = UTF8PROC_STABLE | UTF8PROC_COMPOSE;
    utf8proc_int32_t buffer[CODES_MAX];
    put_codes(&text, codes, count);
    put_composed(&got, &text, lower);
    utf8proc_ssize_t size = utf8proc_decompose_custom((const utf8proc_uint8_t *)text.data,
                                                      (utf8proc_ssize_t)text.length, buffer,
                                                      CODES_MAX - 1, options, change, &lower);
    assert_in_range(size, 1, CODES_MAX - 1);
    size = utf8proc_reencode(buffer, size, options);
    if ((size_t)size != got.length || memcmp(buffer, got.data, got.length) != 0)
        fail_msg("composing %s%s", lower ? "lower case of " : "", show_codes(&shown, codes, count));
}

/* As a tokenizer goes, whose state starts anew with each cluster; ours need not. */
static void assert_broken_alike(const uint32_t *codes, size_t count)
{
    static att_string shown;
    int32_t ours = 0, theirs = 0, whole = 0;
    for (size_t i = 1; i < count; i++) {
        bool breaks = att_unicode_breaks(codes[i - 1], codes[i], &ours);
        assert_int_equal(att_unicode_breaks(codes[i - 1], codes[i], &whole), breaks);
        if (breaks != utf8proc_grapheme_break_stateful((utf8proc_int32_t)codes[i - 1],
                                                       (utf8proc_int32_t)codes[i], &theirs))
            fail_msg("before %04X in %s", codes[i], show_codes(&shown, codes, count));
        if (breaks)
            ours = theirs = 0;
    }
}

static void every_code_point_composes_as_with_utf8proc(void **state)
{
    (void)state;
    if (!same_version())
        skip();
    for (uint32_t code = 1; code < CODES; code += THIN) {
        uint32_t parts[ATT_DECOMPOSED_MAX + 1];
        if (is_surrogate(code))
            continue;
        assert_composed_alike(&code, 1, false);
        assert_composed_alike(&code, 1, true);
        size_t count = att_unicode_decompose(code, parts);
        assert_composed_alike(parts, count, false);
        parts[count] = 0x301;
        assert_composed_alike(parts, count + 1, true);
    }
}

static void every_code_point_joins_its_neighbors_as_with_utf8proc(void **state)
{
    (void)state;
    if (!same_version())
        skip();
    /* One of each class that a cluster's boundary depends on. */
    static const uint32_t classes[] = { 'x',    '\r',   '\n',   0x01,    0x301,
                                        0x200D, 0x903,  0x600,  0x1100,  0x1161,
                                        0x11A8, 0xAC00, 0xAC01, 0x1F1E6, 0x1F600 };
    for (uint32_t code = 1; code < CODES; code += THIN)
        for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
            const uint32_t codes[] = { classes[i], code, classes[i], code, code };
            assert_broken_alike(codes, 5);
        }
}

static uint32_t draw(uint64_t *at, uint32_t below)
{
    return att_random_bits(1, 0, (*at)++) % below;
}

/* A code point of a kind that composing or clusters depend on. */
static uint32_t draw_code(uint64_t *at)
{
    static const struct {
        uint32_t first, last;
    } ranges[] = {
        { 1, 0x7F },          { 0xC0, 0x24F },      { 0x300, 0x36F },     { 0x370, 0x52F },
        { 0x590, 0x6FF },     { 0x900, 0xDFF },     { 0xF00, 0xFFF },     { 0x1000, 0x10FF },
        { 0x1100, 0x11FF },   { 0x1AB0, 0x1AFF },   { 0x1E00, 0x1FFF },   { 0x200B, 0x200F },
        { 0x20D0, 0x20FF },   { 0x2190, 0x2BFF },   { 0x3040, 0x30FF },   { 0xAC00, 0xAC40 },
        { 0xFB1D, 0xFB4F },   { 0xFE00, 0xFE2F },   { 0x11080, 0x11A9F }, { 0x1D15E, 0x1D1C0 },
        { 0x1F1E0, 0x1F1FF }, { 0x1F3F0, 0x1F4FF }, { 0x1F3FB, 0x1F3FF }, { 0xE0000, 0xE01FF },
        { 1, CODES - 1 },
    };
    enum { RANGES = sizeof ranges / sizeof *ranges };
    size_t which = draw(at, RANGES);
    uint32_t width = ranges[which].last - ranges[which].first + 1;
    uint32_t code = ranges[which].first + draw(at, width);
    return is_surrogate(code) || code == DROPPED ? 0x200D : code;
}

static void texts_compose_and_break_as_with_utf8proc(void **state)
{
    (void)state;
    if (!same_version())
        skip();
    uint64_t at = 0;
    for (int i = 0; i < TEXTS; i++) {
        uint32_t codes[TEXT_MAX];
        size_t count = 1 + draw(&at, TEXT_MAX);
        for (size_t k = 0; k < count; k++)
            codes[k] = draw_code(&at);
        assert_composed_alike(codes, count, i % 2 == 0);
        assert_broken_alike(codes, count);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(properties_are_those_of_utf8proc),
        cmocka_unit_test(every_code_point_composes_as_with_utf8proc),
        cmocka_unit_test(every_code_point_joins_its_neighbors_as_with_utf8proc),
        cmocka_unit_test(texts_compose_and_break_as_with_utf8proc),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static void unicode_is_compared_with_utf8proc(void **state)
{
    (void)state;
    print_message("# skipped: no utf8proc (Debian: libutf8proc-dev)\n");
    skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(unicode_is_compared_with_utf8proc) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
