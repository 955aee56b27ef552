/* The llama2.c tokenizer: its token ids, and which files are refused. */
#include "import/llama2c_model.h"

#include "import/llama2c_tokenizer.h"
#include "tensor/files.h"

static att_status read_tokens(att_vocab **out, const att_string *file, int64_t count,
                              att_error *err)
{
    void *copy = exact_copy(file);
    const att_llama_bytes bytes = { "tokenizer.bin", copy, file->length };
    att_status status = att_llama_tokenizer_vocab(out, &bytes, count, err);
    att_free(copy);
    return status;
}

static void token_ids_are_those_of_the_file(void **state)
{
    (void)state;
    att_string file = llama_good_tokenizer();
    att_vocab *vocab;
    att_error err = { 0 };
    if (read_tokens(&vocab, &file, LLAMA_TOKENS, &err) != ATT_OK)
        fail_msg("%s", err.message);
    assert_int_equal(att_vocab_size(vocab), LLAMA_TOKENS);
    assert_string_equal(att_vocab_token(vocab, 3 + '\n'), "<0x0A>");
    assert_string_equal(att_vocab_token(vocab, 261), "▁ab");
    att_ids ids = { 0 };
    static const int32_t expected[] = { 261, 3 + '{', 259,
                                        262 }; /* a space is prepended to the line */
    assert_int_equal(att_vocab_encode(vocab, NULL, &ids, "ab{ aa", 6, &err), ATT_OK);
    assert_int_equal(ids.count, 4);
    assert_memory_equal(ids.items, expected, sizeof expected);
    att_ids_free(&ids);
    att_vocab_free(vocab);
    att_string_free(&file);
}

static void assert_refused(const att_string *file, int64_t count, const char *message)
{
    att_vocab *vocab;
    att_error err = { 0 };
    assert_int_equal(read_tokens(&vocab, file, count, &err), ATT_BAD_INPUT);
    assert_message(err.message, message, "tokenizer");
    assert_string_equal(err.place, "tokenizer.bin");
    assert_null(vocab);
}

static void invalid_tokenizers_are_refused(void **state)
{
    (void)state;
    att_string file = llama_good_tokenizer();
    assert_refused(&file, 259, "expected more than 259 tokens in the checkpoint, found 259");
    assert_refused(&file, LLAMA_TOKENS - 1, "has 9 bytes after the 264 tokens of the checkpoint");
    assert_refused(&file, LLAMA_TOKENS + 1,
                   "ends after 3686 bytes, in the score of a token: 4 bytes of it are missing");
    for (size_t length = file.length; length-- > 0;) {
        att_string cut = { .data = file.data, .length = length };
        assert_refused(&cut, LLAMA_TOKENS, "ends after …");
    }
    att_string_free(&file);

    file = llama_tokenizer(" ", 2);
    assert_refused(&file, LLAMA_TOKENS,
                   "the score of token 264, ' ', is not below that of the token before it: "
                   "expected decreasing scores");
    att_string_free(&file);
    file = llama_tokenizer("ab", -9);
    assert_refused(&file, LLAMA_TOKENS, "the vocabulary has the piece 'ab' twice");
    att_string_free(&file);
    file = llama_good_tokenizer();
    size_t at = 0;
    while (memcmp(file.data + at, "<0x07>", 6) != 0)
        at++;
    memcpy(file.data + at, "<0x7F>", 6);
    assert_refused(&file, LLAMA_TOKENS, "token 10 is '<0x7F>', expected the byte <0x07>");
    att_string_free(&file);
    file = llama_good_tokenizer();
    file.data[file.length - 1] = '\0';
    assert_refused(&file, LLAMA_TOKENS, "token 264 contains a zero byte");
    att_string_free(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(token_ids_are_those_of_the_file),
        cmocka_unit_test(invalid_tokenizers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
