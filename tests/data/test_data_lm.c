/* Data of language models: tokens decode to the text. */
#include "text/text_help.h"

static const char odd[] = "  Two  spaces,\ttabs\r\nand \xC3\xA9t\xC3\xA9: \xE0\xA6\x95\xE0\xA7\x8D"
                          "\xE0\xA6\xB7 \xF0\x9F\x91\x8D\n\n\n1234 don't--stop.   \n";

static att_data load(const char *path, const char *const *given)
{
    att_data data;
    att_error err = { 0 };
    att_settings *settings = text_settings(path, given);
    if (att_data_load(&data, settings, &err) != ATT_OK)
        fail_msg("%s", err.message);
    att_settings_free(settings);
    return data;
}

static void assert_fails(const char *bytes, size_t length, const char *const *given,
                         const char *message)
{
    char path[64];
    att_data data;
    att_error err = { 0 };
    text_file(path, bytes, length);
    att_settings *settings = text_settings(path, given);
    assert_int_equal(att_data_load(&data, settings, &err), ATT_BAD_INPUT);
    assert_non_null(strstr(err.message, message));
    att_settings_free(settings);
    text_remove(path);
}

static void append(att_string *out, const att_vocab *words, const att_corpus *corpus)
{
    for (int64_t i = 0; i < corpus->target.offsets[1]; i++) {
        size_t length;
        const char *bytes = att_vocab_token_bytes(words, corpus->target.ids[i], &length);
        assert_int_equal(att_string_append(out, bytes, length), ATT_OK);
    }
}

static void the_tokens_of_a_text_decode_to_the_text(void **state)
{
    (void)state;
    static const char *const kinds[] = { "char", "word", "bpe", "byte" };
    char path[64];
    att_string text = { 0 };
    for (int i = 0; i < 20; i++)
        assert_int_equal(att_string_append(&text, odd, strlen(odd)), ATT_OK);
    text_file(path, text.data, text.length);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        att_string back = { 0 };
        att_data data = load(path, GIVEN_TEXT("tokens", kinds[k], "bpe-merges", "20"));
        append(&back, data.target_vocab, &data.train);
        append(&back, data.target_vocab, &data.valid);
        if (back.length != text.length || memcmp(back.data, text.data, text.length) != 0)
            fail_msg("%s: the text differs", kinds[k]);
        assert_int_equal(data.held_out, 1);
        assert_null(data.source_vocab);
        assert_int_equal(data.train.source.offsets[1], 0);
        att_string_free(&back);
        att_data_free(&data);
    }
    att_string_free(&text);
    text_remove(path);
}

static void characters_are_counted_whatever_the_tokens(void **state)
{
    (void)state;
    static const char text[] = "\xC3\xA9"
                               "a\n\xC3\xA9"
                               "a\n";
    char path[64];
    text_file(path, text, strlen(text));
    static const char *const kinds[] = { "char", "byte" };
    for (size_t k = 0; k < 2; k++) {
        att_data data = load(path, GIVEN_TEXT("tokens", kinds[k], "valid", path));
        assert_int_equal(data.train.stats.characters, 6);
        assert_int_equal(data.train.stats.target.tokens, k == 0 ? 6 : 8);
        assert_int_equal(data.held_out, 0);
        att_data_free(&data);
    }
    text_remove(path);
}

static void characters_that_only_the_validation_text_has_are_unknown(void **state)
{
    (void)state;
    char train[64], valid[64];
    text_file(train, "abababab", 8);
    text_file(valid, "abxb", 4);
    att_data data = load(train, GIVEN_TEXT("valid", valid));
    assert_int_equal(data.valid.stats.target.unknown_tokens, 1);
    assert_int_equal(data.valid.target.ids[2], ATT_ID_UNK);
    att_data_free(&data);
    text_remove(train);
    text_remove(valid);
}

static void valid_fraction_0_trains_on_the_whole_text(void **state)
{
    (void)state;
    char train[64], text[100];
    memset(text, 'a', sizeof text);
    text_file(train, text, sizeof text);
    att_data data = load(train, GIVEN_TEXT("valid-fraction", "0"));
    assert_int_equal(data.train.stats.target.tokens, 100);
    assert_int_equal(data.valid.stats.target.tokens, 5);
    assert_true(data.valid_in_train);
    att_data_free(&data);
    text_remove(train);
}

static void a_text_that_cannot_be_trained_on_is_refused(void **state)
{
    (void)state;
    assert_fails("", 0, NULL, "has 0 tokens to train on, expected at least 2");
    assert_fails("a", 1, GIVEN_TEXT("valid-fraction", "0"), "has 1 token to train on");
    assert_fails("abcd", 4, GIVEN_TEXT("valid-fraction", "0"), "has nothing left to validate on");
    assert_fails("ok\nb\xFF"
                 "c and more",
                 15, NULL, "byte 5 of the file, 0xFF, is not UTF-8");
    assert_fails("ok\nb\0c and more", 15, NULL, "byte 5 of the file, 0x00, is not text");
}

static void byte_tokens_accept_any_bytes(void **state)
{
    (void)state;
    char path[64];
    text_file(path,
              "a\0\xFF"
              "b",
              4);
    att_data data = load(path, GIVEN_TEXT("tokens", "byte", "valid", path));
    const int32_t wanted[] = { 3 + 'a', 3, 3 + 0xFF, 3 + 'b' };
    assert_int_equal(data.train.target.offsets[1], 4);
    assert_memory_equal(data.train.target.ids, wanted, sizeof wanted);
    assert_int_equal(att_vocab_size(data.target_vocab), 256 + ATT_ID_FIRST);
    assert_int_equal(data.valid.stats.characters, 4); /* bytes, since it is not UTF-8 */
    att_data_free(&data);
    text_remove(path);
}

/* A mark at the start of a text is no character of it; to bytes it is three of them. */
static void a_byte_order_mark_belongs_to_bytes_only(void **state)
{
    (void)state;
    char path[64];
    text_file(path,
              "\xEF\xBB\xBF"
              "ab\n",
              6);
    att_data data = load(path, GIVEN_TEXT("tokens", "char", "valid", path));
    assert_int_equal(data.train.target.offsets[1], 3);
    assert_string_equal(att_vocab_token(data.target_vocab, data.train.target.ids[0]), "a");
    att_data_free(&data);
    data = load(path, GIVEN_TEXT("tokens", "byte", "valid", path));
    assert_int_equal(data.train.target.offsets[1], 6);
    assert_int_equal(data.train.target.ids[0], ATT_ID_FIRST + 0xEF);
    att_data_free(&data);
    text_remove(path);
}

/* Without a line end near the place of the split, it is moved to the next character. */
static void a_text_is_not_split_inside_a_character(void **state)
{
    (void)state;
    static const char *const fractions[] = { "0.2", "0.25", "0.3", "0.35", "0.4", "0.45" };
    char path[64];
    att_string text = { 0 };
    for (int i = 0; i < 10; i++)
        assert_int_equal(att_string_append(&text, "\xE0\xA6\x95", 3), ATT_OK);
    text_file(path, text.data, text.length);
    for (size_t i = 0; i < sizeof fractions / sizeof *fractions; i++) {
        att_data data = load(path, GIVEN_TEXT("tokens", "char", "valid-fraction", fractions[i]));
        assert_int_equal(data.train.stats.characters + data.valid.stats.characters, 10);
        assert_int_equal(data.valid.stats.characters, (int64_t)(10 * strtod(fractions[i], NULL)));
        att_data_free(&data);
    }
    att_string_free(&text);
    text_remove(path);
}

static void the_report_has_the_unknown_tokens(void **state)
{
    (void)state;
    char train[64], valid[64];
    att_string report = { 0 };
    text_file(train, "abababab", 8);
    text_file(valid, "abxb", 4);
    att_data data = load(train, GIVEN_TEXT("valid", valid));
    assert_int_equal(att_data_report(&report, &data), ATT_OK);
    assert_string_equal(report.data,
                        "training    8 characters, 8 tokens\n"
                        "validation  4 characters, 4 tokens\n"
                        "tokens      characters, vocabulary size 5\n"
                        "            unknown tokens: 0 in training, 1 in validation\n");
    att_string_free(&report);
    att_data_free(&data);
    text_remove(train);
    text_remove(valid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tokens_of_a_text_decode_to_the_text),
        cmocka_unit_test(characters_are_counted_whatever_the_tokens),
        cmocka_unit_test(characters_that_only_the_validation_text_has_are_unknown),
        cmocka_unit_test(valid_fraction_0_trains_on_the_whole_text),
        cmocka_unit_test(a_text_that_cannot_be_trained_on_is_refused),
        cmocka_unit_test(byte_tokens_accept_any_bytes),
        cmocka_unit_test(a_byte_order_mark_belongs_to_bytes_only),
        cmocka_unit_test(a_text_is_not_split_inside_a_character),
        cmocka_unit_test(the_report_has_the_unknown_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
