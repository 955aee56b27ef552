/* Our JSON reader against jansson, an independent one, on random texts and random changes to them:
 * both take the same texts and read the same values. Two differences are known: jansson refuses an
 * integer beyond 64 bits, which we read as a double; and jansson 2.14 skips a zero byte after a
 * number, so that no text here has one. */
#include "base/json.h"

#include "base/random.h"
#include "base/string.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { TEXTS = 2000, CHANGES = 50, DEEPEST = 6, SAME_DEPTH = 2048 /* jansson's own limit */ };

static const uint64_t seed = 7;

/* ---- random texts */

typedef struct generator {
    att_string text;
    uint64_t stream;
    uint64_t drawn;
} generator;

static uint32_t draw(generator *g, uint32_t below)
{
    return att_random_bits(seed, g->stream, g->drawn++) % below;
}

static void add(generator *g, const char *bytes, size_t length)
{
    assert_int_equal(att_string_append(&g->text, bytes, length), ATT_OK);
}

#define PICK(g, pieces) add_one(g, pieces, sizeof(pieces) / sizeof *(pieces))

static void add_one(generator *g, const char *const *pieces, size_t count)
{
    const char *piece = pieces[draw(g, (uint32_t)count)];
    add(g, piece, strlen(piece));
}

static void add_space(generator *g)
{
    static const char *const pieces[] = { "", "", "", "", " ", "\n", "\t", "\r\n  " };
    PICK(g, pieces);
}

static void add_string(generator *g)
{
    static const char *const pieces[] = { "a",
                                          "b",
                                          "key",
                                          " ",
                                          "\\n",
                                          "\\\"",
                                          "\\\\",
                                          "\\/",
                                          "\\b\\f\\r\\t",
                                          "\\u0041",
                                          "\\u00e9",
                                          "\\u20AC",
                                          "\\uD83D\\uDE00",
                                          "\\uFFFF",
                                          "\xC3\xA9",
                                          "\xE2\x82\xAC",
                                          "\xF0\x9F\x98\x80",
                                          "\x7F",
                                          "\xEF\xBF\xBF" };
    add(g, "\"", 1);
    for (uint32_t n = draw(g, 6); n > 0; n--)
        PICK(g, pieces);
    add(g, "\"", 1);
}

static void add_digits(generator *g, uint32_t most)
{
    for (uint32_t n = 1 + draw(g, most); n > 0; n--)
        add(g, &"0123456789"[draw(g, 10)], 1);
}

static void add_number(generator *g)
{
    static const char *const signs[] = { "", "", "-" }, *const exponents[] = { "e", "E", "e-", "e+",
                                                                               "E-" };
    static const char *const special[] = { "0",
                                           "-0",
                                           "9223372036854775807",
                                           "-9223372036854775808",
                                           "9223372036854775808",
                                           "1.7976931348623157e308",
                                           "1e309",
                                           "4.9e-324",
                                           "1e-400",
                                           "9007199254740993",
                                           "9007199254740993.0" };
    if (draw(g, 8) == 0) {
        PICK(g, special);
        return;
    }
    PICK(g, signs);
    if (draw(g, 4) == 0) {
        add(g, "0", 1);
    } else {
        add(g, &"123456789"[draw(g, 9)], 1);
        if (draw(g, 2))
            add_digits(g, 18);
    }
    if (draw(g, 2)) {
        add(g, ".", 1);
        add_digits(g, 20);
    }
    if (draw(g, 3) == 0) {
        PICK(g, exponents);
        add_digits(g, 3);
    }
}

static void add_value(generator *g, int depth)
{
    static const char *const words[] = { "null", "true", "false" };
    uint32_t kind = depth == DEEPEST ? draw(g, 3) : depth == 0 ? 3 + draw(g, 4) : draw(g, 7);
    add_space(g);
    if (kind == 0)
        PICK(g, words);
    else if (kind == 1)
        add_string(g);
    else if (kind == 2)
        add_number(g);
    bool object = kind < 5;
    for (uint32_t i = 0, n = kind < 3 ? 0 : draw(g, 6); kind >= 3 && i <= n; i++) {
        add(g, i > 0 ? "," : object ? "{" : "[", 1);
        if (n == 0)
            break;
        add_space(g);
        if (object) {
            add_string(g);
            add_space(g);
            add(g, ":", 1);
        }
        add_value(g, depth + 1);
    }
    if (kind >= 3)
        add(g, object ? "}" : "]", 1);
    add_space(g);
}

/* Replaces, removes, inserts or repeats a few bytes. */
static void change(generator *g)
{
    static const char bytes[] = "{}[],:\"\\/ \n\t0019.-+eEunrtfalsx\x01\x1F\x7F\x80\xC3\xE2\xED\xA0"
                                "\xF0\xFF";
    for (uint32_t n = 1 + draw(g, 3); n > 0 && g->text.length > 0; n--) {
        char *data = g->text.data;
        size_t length = g->text.length;
        size_t at = draw(g, (uint32_t)length), run = 1 + draw(g, 4);
        run = run < length - at ? run : length - at;
        char byte = bytes[draw(g, sizeof bytes - 1)];
        switch (draw(g, 4)) {
        case 0:
            data[at] = byte;
            break;
        case 1:
            memmove(data + at, data + at + run, length - at - run);
            g->text.length -= run;
            break;
        case 2:
            add(g, "", 1);
            memmove(g->text.data + at + 1, g->text.data + at, length - at);
            g->text.data[at] = byte;
            break;
        default: /* the room made keeps a copy of what was there */
            assert_int_equal(att_string_reserve(&g->text, run), ATT_OK);
            memmove(g->text.data + at + run, g->text.data + at, length - at);
            g->text.length += run;
        }
    }
}

/* ---- comparing */

static bool same_string(const char *ours, size_t length, const char *theirs, size_t their_length)
{
    return length == their_length && memcmp(ours, theirs, length) == 0;
}

static bool same_value(const att_json *ours, json_t *theirs)
{
    double real = json_number_value(theirs);
    size_t i = 0;
    const char *key;
    json_t *member;
    switch (ours->type) {
    case ATT_JSON_NULL:
        return json_is_null(theirs);
    case ATT_JSON_BOOL:
        return json_is_boolean(theirs) && json_boolean_value(theirs) == ours->boolean;
    case ATT_JSON_INTEGER:
        return json_is_integer(theirs) && json_integer_value(theirs) == ours->integer &&
               real == ours->number;
    case ATT_JSON_NUMBER:
        return json_is_real(theirs) && memcmp(&real, &ours->number, sizeof real) == 0;
    case ATT_JSON_STRING:
        return json_is_string(theirs) &&
               same_string(ours->string, ours->length, json_string_value(theirs),
                           json_string_length(theirs));
    case ATT_JSON_ARRAY:
        if (!json_is_array(theirs) || json_array_size(theirs) != ours->count)
            return false;
        while (i < ours->count && same_value(&ours->items[i], json_array_get(theirs, i)))
            i++;
        return i == ours->count;
    case ATT_JSON_OBJECT:
        if (!json_is_object(theirs) || json_object_size(theirs) != ours->count)
            return false;
        json_object_foreach(theirs, key, member)
        {
            if (strcmp(key, ours->items[i].key) != 0 || !same_value(&ours->items[i], member))
                return false;
            i++;
        }
        return true;
    }
    return false;
}

/* Whether both readers took the text. */
static bool compare(const att_string *text, uint64_t stream)
{
    att_json_limits limits = { .depth = SAME_DEPTH };
    att_json_doc ours;
    att_error err = { 0 };
    json_error_t why;
    att_status status = att_json_read(&ours, text->data, text->length, "test", &limits, &err);
    json_t *theirs =
        json_loadb(text->data, text->length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &why);
    bool beyond = !theirs && json_error_code(&why) == json_error_numeric_overflow;
    bool same = status == ATT_OK ? beyond || (theirs && same_value(ours.root, theirs)) : !theirs;
    if (!same)
        fail_msg("seed %d, text %d: we say '%s', jansson says '%s' of: %.*s", (int)seed,
                 (int)stream, err.message, theirs ? "" : why.text, (int)text->length, text->data);
    bool both = status == ATT_OK && theirs;
    json_decref(theirs);
    att_json_free(&ours);
    return both;
}

static void random_texts_are_read_as_jansson_reads_them(void **state)
{
    (void)state;
    int taken = 0;
    for (uint64_t i = 0; i < TEXTS; i++) {
        generator g = { .stream = i };
        add_value(&g, 0);
        taken += compare(&g.text, i);
        att_string_free(&g.text);
    }
    assert_true(taken > TEXTS / 4); /* duplicate keys are common among so short ones */
}

static void random_changes_are_judged_as_jansson_judges_them(void **state)
{
    (void)state;
    int taken = 0;
    for (uint64_t i = 0; i < TEXTS; i++) {
        generator g = { .stream = TEXTS + i }, changed;
        add_value(&g, DEEPEST - 1 - (int)draw(&g, 2));
        for (int k = 0; k < CHANGES; k++) {
            changed = (generator){ .stream = g.stream, .drawn = g.drawn };
            add(&changed, g.text.data, g.text.length);
            change(&changed);
            taken += compare(&changed.text, g.stream);
            g.drawn = changed.drawn;
            att_string_free(&changed.text);
        }
        att_string_free(&g.text);
    }
    assert_true(taken > TEXTS && taken < TEXTS * CHANGES / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_texts_are_read_as_jansson_reads_them),
        cmocka_unit_test(random_changes_are_judged_as_jansson_judges_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
