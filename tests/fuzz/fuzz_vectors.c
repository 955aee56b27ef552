/* Any bytes as a file of word vectors, read in pieces of a size that the first byte chooses, with
 * the same result as in one piece. What is found is finite. */
#include "fuzz/fuzz.h"

#include "data/vectors.h"

#include <math.h>

static att_status read_pieces(att_word_vectors *out, const att_vocab *vocab, const char *text,
                              size_t length, size_t piece, att_error *err)
{
    att_vectors_reader in;
    att_status status = att_vectors_start(&in, vocab, "vectors", err);
    for (size_t at = 0; status == ATT_OK && at < length; at += piece)
        status = att_vectors_feed(&in, text + at, length - at < piece ? length - at : piece, err);
    if (status == ATT_OK)
        status = att_vectors_finish(&in, out, err);
    att_vectors_free(&in);
    return status;
}

static void check_vectors(const att_word_vectors *got, const att_word_vectors *other, int64_t rows)
{
    int64_t found = 0;
    PROMISE(got->size > 0 && got->size == other->size && got->found == other->found);
    for (int64_t r = 0; r < rows; r++)
        found += got->is_found[r];
    PROMISE(found == got->found && found > 0 && found <= got->words);
    for (int64_t i = 0; i < rows * got->size; i++)
        PROMISE(isfinite(got->values[i]) && got->values[i] == other->values[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const words[] = { "a", "A", "the", "The", "THE", ". .", "1", "\xC3\x89t" };
    if (size == 0)
        return 0;
    size_t live = att_alloc_live(), piece = 1 + (size_t)*data++;
    att_vocab *vocab;
    att_word_vectors whole = { 0 }, pieces = { 0 };
    att_error err = { 0 }, other = { 0 };
    PROMISE(att_vocab_from_tokens(&vocab, ATT_TOKENIZER_SPACE, false, words, 8, &err) == ATT_OK);
    const char *text = (const char *)data;
    att_status status = read_pieces(&whole, vocab, text, size - 1, size, &err);
    att_status again = read_pieces(&pieces, vocab, text, size - 1, piece, &other);
    if (piece >= 8) /* what begins like a compressed file is recognized in the first piece */
        PROMISE(again == status);
    if (status == ATT_OK && again == ATT_OK)
        check_vectors(&whole, &pieces, att_vocab_size(vocab));
    if (status != ATT_OK)
        check_refusal(status, &err);
    if (again != ATT_OK)
        check_refusal(again, &other);
    att_word_vectors_free(&whole);
    att_word_vectors_free(&pieces);
    att_vocab_free(vocab);
    PROMISE(att_alloc_live() == live);
    return 0;
}
