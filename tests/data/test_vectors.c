/* Word vectors of other programs: what is read, and what is refused by line. */
#include "data/vectors.h"

#include "base/string.h"
#include "data/pairs_help.h"

static att_vocab *vocab_of(const char *const *words, size_t count)
{
    att_vocab *vocab;
    assert_int_equal(att_vocab_from_tokens(&vocab, ATT_TOKENIZER_SPACE, false, words, count, NULL),
                     ATT_OK);
    return vocab;
}

/* The vectors of the words the, Rome, ROME, . . . as "3/4: 1 2|-|…", or the error; the text is read
 * in pieces of `piece` bytes. */
static void read_vectors(att_string *got, const char *text, size_t piece)
{
    static const char *const words[] = { "the", "Rome", "ROME", ". .", "caf\xC3\xA9" };
    att_vocab *vocab = vocab_of(words, 5);
    att_vectors_reader in;
    att_word_vectors out = { 0 };
    att_error err = { 0 };
    size_t length = strlen(text);
    att_status status = att_vectors_start(&in, vocab, "f", &err);
    for (size_t at = 0; status == ATT_OK && at < length; at += piece)
        status = att_vectors_feed(&in, text + at, length - at < piece ? length - at : piece, &err);
    if (status == ATT_OK)
        status = att_vectors_finish(&in, &out, &err);
    att_vectors_free(&in);
    if (status != ATT_OK)
        assert_int_equal(att_string_printf(got, "%d: %s", err.line, err.message), ATT_OK);
    for (int64_t r = ATT_ID_FIRST; status == ATT_OK && r < ATT_ID_FIRST + 5; r++) {
        assert_int_equal(att_string_puts(got, out.is_found[r] ? "" : "-"), ATT_OK);
        for (int64_t i = 0; out.is_found[r] && i < out.size; i++)
            assert_int_equal(att_string_printf(got, "%s%g", i > 0 ? " " : "",
                                               (double)out.values[r * out.size + i]),
                             ATT_OK);
        assert_int_equal(att_string_puts(got, "|"), ATT_OK);
    }
    if (status == ATT_OK)
        assert_int_equal(att_string_printf(got, "%d of %d", (int)out.found, (int)out.words),
                         ATT_OK);
    att_word_vectors_free(&out);
    att_vocab_free(vocab);
}

static void assert_vectors(const char *text, const char *wanted)
{
    for (size_t piece = 1; piece < 200; piece = piece * 2 + 1) {
        size_t live = att_alloc_live();
        att_string got = { 0 };
        read_vectors(&got, text, piece);
        assert_string_equal(got.data, wanted);
        att_string_free(&got);
        assert_int_equal(att_alloc_live(), live);
    }
}

static void word2vec_glove_and_fasttext_are_read_alike(void **state)
{
    (void)state;
    assert_vectors("the 1 2\nqqq 3 4\ncaf\xC3\xA9 5 -6e-1\n", "1 2|-|-|-|5 -0.6|2 of 5");
    assert_vectors("3 2\nthe 1 2\nqqq 3 4\ncaf\xC3\xA9 5 6\n", "1 2|-|-|-|5 6|2 of 5");
    assert_vectors("2 2\r\nthe 1 2 \r\nx 3 4 \r\n", "1 2|-|-|-|-|1 of 5");
    assert_vectors("the\t1\t2", "1 2|-|-|-|-|1 of 5");
    assert_vectors("\nthe 1 2\n\n", "1 2|-|-|-|-|1 of 5");
}

static void a_word_may_contain_spaces_and_the_first_vector_counts(void **state)
{
    (void)state;
    assert_vectors("the 1 2\n. . 7 8\nthe 9 9\n", "1 2|-|-|7 8|-|2 of 5");
}

static void a_word_takes_the_vector_of_its_lowercase_form(void **state)
{
    (void)state;
    assert_vectors("the 1 2\nrome 3 4\n", "1 2|3 4|3 4|-|-|3 of 5");
    assert_vectors("rome 3 4\nRome 5 6\nrome 7 7\n", "-|5 6|3 4|-|-|2 of 5");
    assert_vectors("Rome 5 6\nrome 3 4\nThe 1 1\n", "-|5 6|3 4|-|-|2 of 5");
}

static void bad_vectors_are_named_by_line(void **state)
{
    (void)state;
    assert_vectors("the 1 2\na 1 2 3\n", "2: expected 2 numbers as in line 1, found 3");
    assert_vectors("the 1 2\na 1\n", "2: expected 2 numbers as in line 1, found 1");
    assert_vectors("2 3\nthe 1 2 3\n", "0: expected 2 vectors as its first line says, found 1");
    assert_vectors("1 1\nthe 1\nof 2\n", "0: expected 1 vector as its first line says, found 2");
    assert_vectors("2 3\nthe 1 2\n", "2: expected 3 numbers as in line 1, found 2");
    assert_vectors("the 1 x\n", "1: expected a finite number, found 'x'");
    assert_vectors("the 1 nan\n", "1: expected a finite number, found 'nan'");
    assert_vectors("the 1 inf\n", "1: expected a finite number, found 'inf'");
    assert_vectors("the 1 1e39\n", "1: expected a finite number, found '1e39'");
    assert_vectors("the\n", "1: expected a word and 1 to 65536 numbers, found 0 numbers");
    assert_vectors("2 70000\n", "1: expected a word and 1 to 65536 numbers, found 65537 numbers");
    assert_vectors("\n\n", "0: has no vectors: it is empty");
    assert_vectors("qqq 1 2\n", "0: has no vector for any of the 5 words of the training data");
}

static void files_are_read_and_refused_by_name(void **state)
{
    (void)state;
    static const char *const words[] = { "the" };
    att_vocab *vocab = vocab_of(words, 1);
    att_word_vectors out;
    att_error err = { 0 };
    put("v", "the 1 2 3\n");
    assert_int_equal(att_word_vectors_load(&out, vocab, "v", &err), ATT_OK);
    assert_int_equal(out.size, 3);
    att_word_vectors_free(&out);
    put("z", "\x1F\x8B\x08");
    assert_int_equal(att_word_vectors_load(&out, vocab, "z", &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "is compressed: unpack it, or use <(zcat FILE) instead");
    assert_int_equal(att_word_vectors_load(&out, vocab, ".", &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "is a directory, expected a file");
    assert_int_equal(att_word_vectors_load(&out, vocab, "none", &err), ATT_BAD_INPUT);
    put("e", "");
    assert_int_equal(att_word_vectors_load(&out, vocab, "e", &err), ATT_BAD_INPUT);
    assert_string_equal(err.message, "has no vectors: it is empty");
    att_vocab_free(vocab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(word2vec_glove_and_fasttext_are_read_alike),
        cmocka_unit_test(a_word_may_contain_spaces_and_the_first_vector_counts),
        cmocka_unit_test(a_word_takes_the_vector_of_its_lowercase_form),
        cmocka_unit_test(bad_vectors_are_named_by_line),
        IN_FOLDER(files_are_read_and_refused_by_name),
    };
    return cmocka_run_group_tests_name("vectors", tests, NULL, NULL);
}
