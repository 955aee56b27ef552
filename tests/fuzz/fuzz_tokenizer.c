/* Any bytes as text for a tokenizer of each kind: the part before the first 0x1E is what its
 * vocabulary is built from, the rest is encoded. The first byte chooses the kind and its options.
 * Offsets must lie in the text and rise, and what is decoded must be a line. */
#include "fuzz/fuzz.h"

#include "base/utf8.h"
#include "text/encoding.h"
#include "text/lines.h"

enum { LOWER = 8, WHOLE = 16, SEPARATOR = 0x1E, MERGES = 20 };

static void check_encoding(const att_encoding *encoding, const att_vocab *vocab, size_t length)
{
    size_t before = 0, start, end, piece;
    for (size_t i = 0; i < encoding->ids.count; i++) {
        PROMISE(encoding->ids.items[i] >= 0 && encoding->ids.items[i] < att_vocab_size(vocab));
        att_encoding_source_range(encoding, i, &start, &end);
        PROMISE(start <= end && end <= length && start >= before);
        before = start;
        const char *bytes = att_encoding_piece(encoding, i, &piece);
        PROMISE(bytes >= encoding->text.data &&
                bytes + piece <= encoding->text.data + encoding->text.length);
    }
}

static void check_strings(const att_encoding *encoding)
{
    att_arena arena = { 0 };
    int64_t count = (int64_t)encoding->ids.count;
    const char **strings = att_encoding_token_strings(encoding, 0, count, &arena);
    PROMISE(count == 0 || strings != NULL);
    att_arena_free(&arena);
}

static void encode(const att_vocab *vocab, const char *text, size_t length)
{
    att_encoding encoding = { 0 };
    att_ids ids = { 0 };
    att_string decoded = { 0 };
    att_error err = { 0 };
    att_status status = att_encoding_new(&encoding, vocab, NULL, text, length, &err);
    if (status == ATT_OK) {
        check_encoding(&encoding, vocab, length);
        check_strings(&encoding);
        PROMISE(att_vocab_encode(vocab, NULL, &ids, text, length, &err) == ATT_OK);
        PROMISE(ids.count == encoding.ids.count &&
                (ids.count == 0 ||
                 memcmp(ids.items, encoding.ids.items, ids.count * sizeof *ids.items) == 0));
        PROMISE(att_encoding_decode(&decoded, vocab, ids.items, ids.count, &err) == ATT_OK);
        PROMISE(decoded.length == 0 || att_utf8_valid(decoded.data, decoded.length) ||
                att_vocab_tokenizer_kind(vocab) == ATT_TOKENIZER_BYTE);
    } else {
        check_refusal(status, &err);
    }
    att_ids_free(&ids);
    att_string_free(&decoded);
    att_encoding_free(&encoding);
}

static void build(att_vocab *vocab, att_tokenizer_kind kind, const char *text, size_t length)
{
    att_ids ids = { 0 };
    att_error err = { 0 };
    att_line_reader lines = att_line_reader_start(text, length);
    att_line_view line;
    int32_t *final = NULL;
    while (kind != ATT_TOKENIZER_BYTE && att_line_reader_next(&lines, &line)) {
        att_status status =
            att_vocab_count_line(vocab, SIZE_MAX, &ids, line.text, line.length, &err);
        if (status != ATT_OK)
            check_refusal(status, &err);
    }
    if (kind == ATT_TOKENIZER_BPE)
        PROMISE(att_vocab_train_bpe(vocab, MERGES, 1, &err) == ATT_OK);
    else if (kind != ATT_TOKENIZER_BYTE)
        PROMISE(att_vocab_finalize(vocab, 1, &final, &err) == ATT_OK);
    att_free(final);
    att_ids_free(&ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const att_tokenizer_kind kinds[] = { ATT_TOKENIZER_CHAR,  ATT_TOKENIZER_WORD,
                                                ATT_TOKENIZER_BPE,   ATT_TOKENIZER_BYTE,
                                                ATT_TOKENIZER_SPACE, ATT_TOKENIZER_LINE };
    if (size == 0)
        return 0;
    size_t live = att_alloc_live();
    att_tokenizer_kind kind = kinds[(*data & 7) % 6];
    const char *text = (const char *)data + 1;
    const char *cut = size > 1 ? memchr(text, SEPARATOR, size - 1) : NULL;
    size_t first = cut ? (size_t)(cut - text) : size - 1, rest = cut ? size - 2 - first : first;
    att_vocab *vocab;
    att_error err = { 0 };
    PROMISE(att_vocab_new(&vocab, kind, *data & LOWER, &err) == ATT_OK);
    if (*data & WHOLE && kind != ATT_TOKENIZER_SPACE && kind != ATT_TOKENIZER_LINE)
        att_vocab_set_whole_text(vocab);
    build(vocab, kind, text, first);
    encode(vocab, cut ? cut + 1 : text, rest);
    att_vocab_free(vocab);
    PROMISE(att_alloc_live() == live);
    return 0;
}
